//! Group L: this machine.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use url::Url;

use super::finding::{Finding, Judged};
use super::target::Target;
use crate::credentials::{ClientConfiguration, TokenHost};
use crate::http::{Ask, BaseUrl, Probe};
use crate::output::plural;

/// The time that another host has for its discovery document.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// The most bytes that are read of a file.
const READ_BYTES: u64 = 256 * 1024;

/// L1
pub(super) fn files(configuration: &ClientConfiguration, _: Option<&Target>) -> Judged {
    if let Some(path) = &configuration.missing {
        return Err(Finding::warn(format!(
            "TF_CLI_CONFIG_FILE names {path}, which does not exist"
        )));
    }
    if !configuration.problems.is_empty() {
        return Err(Finding::fail(configuration.problems.join("; ")));
    }
    match &configuration.unread_tokens {
        Some(reason) => Err(Finding::warn(reason)),
        None => Ok(or_none(&configuration.files)),
    }
}

fn or_none(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

/// L2
pub(super) fn variables(configuration: &ClientConfiguration, target: Option<&Target>) -> Judged {
    let mut hosts = Vec::new();
    for (name, host) in &configuration.variables {
        let host = host.as_ref();
        hosts.push(host.ok_or_else(|| Finding::warn(format!("{name} names no host")))?);
    }
    if let Some(own) = target.map(|target| TokenHost::of(target.base()))
        && !hosts.contains(&&own)
        && let Some(host) = hosts.iter().find(|host| is_similar(host, &own))
    {
        return Err(Finding::warn(format!(
            "a variable has the token for {host}, and the registry is {own}"
        )));
    }
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    Ok(or_none(&hosts))
}

/// Returns whether the names of two hosts differ only in dots, dashes and ports.
fn is_similar(one: &TokenHost, other: &TokenHost) -> bool {
    let folded = |host: &TokenHost| {
        let host = host.to_string().replace(['-', '.'], "_");
        host.split(':').next().unwrap_or_default().to_owned()
    };
    folded(one) == folded(other)
}

/// L5
pub(super) fn mirrors(configuration: &ClientConfiguration, _: Option<&Target>) -> Judged {
    let mirrors = configuration.mirrors.iter().map(|text| mirror(text));
    mirrors
        .collect::<Judged<Vec<String>>>()
        .map(|it| or_none(&it))
}

/// Judges the URL of a network mirror. Returns its host and path: its other parts may be secrets.
fn mirror(text: &str) -> Judged {
    // The clients refuse `https:HOST`, which this parser completes.
    let url = Url::parse(text).ok();
    let url = url.filter(|it| it.has_host() && text.contains("://"));
    let url = url.ok_or_else(|| Finding::fail("a network mirror has no URL with a host"))?;
    let host = url.host_str().unwrap_or_default();
    let shown = format!("{host}{}", url.path());
    let is_plain = url.query().is_none() && url.fragment().is_none();
    match url.scheme() == "https" && is_plain && url.path().ends_with('/') {
        true => Ok(shown),
        false => Err(Finding::fail(format!("the network mirror {shown}"))),
    }
}

/// The services of a host that its `host` block may switch off: sign-in, and those of HCP Terraform.
const OTHER_SERVICES: [&str; 2] = ["login.v1", "tfe.v2"];

/// The host of HCP Terraform.
const HCP: &str = "app.terraform.io";

/// L8
pub(super) fn hosts(configuration: &ClientConfiguration, _: Option<&Target>) -> Judged {
    let services = &configuration.services;
    let without_providers = services.iter().find(|(host, services)| {
        !services.contains("providers.v1") && !configuration.mirrors_providers_of(host)
    });
    if let Some((host, _)) = without_providers {
        return Err(Finding::warn(format!(
            "the block host {host:?} names no providers.v1, and no mirror has the providers of {host}"
        )));
    }
    let hosts: Vec<String> = services.keys().map(ToString::to_string).collect();
    Ok(or_none(&hosts))
}

/// L9
pub(super) fn signed_in_hosts(configuration: &ClientConfiguration, _: Option<&Target>) -> Judged {
    let hosts = configuration.services.iter();
    let hosts = hosts.filter(|(host, _)| configuration.token_hosts.contains(host));
    let mut checked = Vec::new();
    for (host, services) in hosts {
        let own = match host.to_string() {
            name if name == HCP => OTHER_SERVICES.map(str::to_owned).to_vec(),
            name => services_of(&name),
        };
        let is_lost =
            |name: &&&str| own.iter().any(|it| it == **name) && !services.contains(**name);
        if let Some(lost) = OTHER_SERVICES.iter().find(is_lost) {
            return Err(Finding::warn(format!(
                "the block host {host:?} replaces {lost} of {host}, for which a token is stored"
            )));
        }
        checked.push(host.to_string());
    }
    Ok(or_none(&checked))
}

/// Returns the services that a host names itself; none if it does not answer.
fn services_of(host: &str) -> Vec<String> {
    let find = || {
        let url = BaseUrl::parse(&format!("https://{host}")).ok()?;
        let probe = Probe::new(&url, &[], DISCOVERY_TIMEOUT).ok()?;
        let ask = Ask::get(format!("https://{host}/.well-known/terraform.json"));
        let seen = probe.follow(&ask).ok()?;
        let document: Map<String, Value> = serde_json::from_slice(&seen.body).ok()?;
        Some(document.into_iter().map(|(service, _)| service).collect())
    };
    find().unwrap_or_default()
}

/// L7
pub(super) fn netrc(_: &ClientConfiguration, target: Option<&Target>) -> Judged {
    let hosts = netrc_hosts();
    let Some(target) = target else {
        return Ok(plural(hosts.len(), "host"));
    };
    let ours = target.hosts();
    let is_ours = |host: &&String| ours.contains(host) || *host == "default";
    match hosts.iter().find(is_ours) {
        Some(host) => Err(Finding::warn(format!("an entry for {host}"))),
        None => Ok("no entry for this registry".to_owned()),
    }
}

/// Returns the hosts that the `.netrc` file of the user has entries for.
fn netrc_hosts() -> Vec<String> {
    let name = if cfg!(windows) { "_netrc" } else { ".netrc" };
    let home = || Some(std::env::home_dir()?.join(name));
    let path = std::env::var_os("NETRC").map(PathBuf::from).or_else(home);
    let mut bytes = Vec::new();
    if let Some(file) = path.and_then(|path| File::open(path).ok()) {
        // What cannot be read has no entries for clients either.
        let _ = file.take(READ_BYTES).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut words = text.split_whitespace();
    let mut hosts = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "machine" => hosts.extend(words.next().map(str::to_owned)),
            "default" => hosts.push("default".to_owned()),
            _ => {}
        }
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_mirror_needs_tls_and_a_slash_and_is_shown_without_its_secrets() {
        for text in [
            "https://r.example.com/mirror",
            "https:r.example.com/mirror/",
            "http://r.example.com/mirror/",
            "https://ann:hunter2@r.example.com/mirror/?token=hunter2",
            "https://r.example.com/mirror/#hunter2",
            "ann:hunter2@r.example.com/m/",
            "",
        ] {
            let fault = mirror(text).unwrap_err();
            assert!(!format!("{fault:?}").contains("hunter2"), "{fault:?}");
        }
        mirror("https://r.example.com:8443/m/").unwrap();
    }
}
