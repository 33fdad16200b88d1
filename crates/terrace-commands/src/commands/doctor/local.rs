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
        return Err(Finding::warn(
            format!("TF_CLI_CONFIG_FILE names {path}, which does not exist"),
            "terraform and tofu then read no configuration, and so no token and no mirror",
            "correct the variable, or unset it",
        ));
    }
    if !configuration.problems.is_empty() {
        return Err(Finding::fail(
            configuration.problems.join("; "),
            "terraform and tofu ignore or reject the whole file",
            "correct the line that is named",
        ));
    }
    if let Some(reason) = &configuration.unread_tokens {
        return Err(Finding::warn(
            reason,
            "a variable replaces all other files of the clients, that of `login` included",
            "unset TF_CLI_CONFIG_FILE, or copy the credentials block into the file that it names",
        ));
    }
    Ok(or_none(&configuration.files))
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
        let Some(host) = host else {
            return Err(Finding::warn(
                format!("{name} names no host"),
                "its name must be TF_TOKEN_ and the hostname, with _ in place of each dot and __ in place of each dash",
                "correct the name of the variable",
            ));
        };
        hosts.push((name, host));
    }
    if let Some(own) = target.map(|target| TokenHost::of(target.base()))
        && !hosts.iter().any(|(_, host)| **host == own)
        && let Some((name, host)) = hosts.iter().find(|(_, host)| is_similar(host, &own))
    {
        let variable = own.to_string().replace('-', "__").replace('.', "_");
        return Err(Finding::warn(
            format!("{name} is the token for {host}, and the registry is {own}"),
            "in the name of the variable, _ is a dot and __ a dash; a port cannot be written in most shells",
            format!("name it TF_TOKEN_{variable}, or use a credentials block"),
        ));
    }
    let hosts: Vec<String> = hosts.iter().map(|(_, host)| host.to_string()).collect();
    Ok(or_none(&hosts))
}

/// Returns whether the names of two hosts differ only in dots, dashes and ports.
fn is_similar(one: &TokenHost, other: &TokenHost) -> bool {
    let folded = |host: &TokenHost| {
        let host = host.to_string().replace(['-', '.'], "_");
        host.split(':').next().unwrap_or_default().to_owned()
    };
    one != other && folded(one) == folded(other)
}

/// L5
pub(super) fn mirrors(configuration: &ClientConfiguration, _: Option<&Target>) -> Judged {
    let mirrors = configuration.mirrors.iter().map(|text| mirror(text));
    mirrors
        .collect::<Judged<Vec<String>>>()
        .map(|it| or_none(&it))
}

/// Judges the URL of a network mirror. Returns its scheme, host, port and path: its other parts may be secrets. The advice is
/// the URL without any of its faults.
fn mirror(text: &str) -> Judged {
    // A text without a host is no URL for clients, and neither is `https:HOST`, which this parser completes.
    let url = Url::parse(text)
        .ok()
        .filter(|it| it.has_host() && text.contains("://"));
    let Some(url) = url else {
        let shown = match text.contains(['@', '?', '#']) {
            true => "a network mirror".to_owned(),
            false => format!("the network mirror {text:?}"),
        };
        return Err(Finding::fail(
            format!("{shown} is not a URL with a host"),
            "the clients reject the whole configuration",
            "write the URL of the mirror, such as https://registry.example.com/mirror/",
        ));
    };
    let host = url.host_str().unwrap_or_default();
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    let (scheme, path) = (url.scheme(), url.path());
    let shown = format!("{scheme}://{host}{port}{path}");
    let (fault, cause) = if scheme != "https" {
        (
            "is not https",
            "the clients use network mirrors over TLS only",
        )
    } else if url.query().is_some() || url.fragment().is_some() {
        (
            "has something after its path",
            "the clients append paths to the URL, and leave out the rest",
        )
    } else if !path.ends_with('/') {
        (
            "does not end with a slash",
            "the clients replace what follows the last slash, and request other addresses",
        )
    } else {
        return Ok(shown);
    };
    Err(Finding::fail(
        format!("the network mirror {shown} {fault}"),
        cause,
        format!("write https://{host}{port}{}/", path.trim_end_matches('/')),
    ))
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
        return Err(Finding::warn(
            format!(
                "the block host {host:?} names no providers.v1, and no mirror has the providers of {host}"
            ),
            "a host block replaces all services of its hostname, so the clients find no provider of it",
            "add a network_mirror for its providers to provider_installation, or providers.v1 to the block",
        ));
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
            return Err(Finding::warn(
                format!(
                    "the block host {host:?} replaces {lost} of {host}, for which a token is stored"
                ),
                "`cloud`, remote state and `login` of the host do not work, and its token is sent to the services in the block",
                "remove the block, or the token if it is not that of the registry in the block",
            ));
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
        let (seen, _) = probe.follow(&ask).ok()?;
        let document: Map<String, Value> = serde_json::from_slice(&seen.body).ok()?;
        Some(document.into_iter().map(|(service, _)| service).collect())
    };
    find().unwrap_or_default()
}

/// L7
pub(super) fn netrc(_: &ClientConfiguration, target: Option<&Target>) -> Judged {
    let Some((path, hosts)) = netrc_hosts() else {
        return Ok("none".to_owned());
    };
    let Some(target) = target else {
        return Ok(plural(hosts.len(), "host"));
    };
    let ours = target.hosts();
    match hosts
        .iter()
        .find(|host| ours.contains(host) || *host == "default")
    {
        Some(host) => Err(Finding::warn(
            format!("{} has an entry for {host}", path.display()),
            "clients send its user and password with downloads, which breaks signed URLs, and in place of no token",
            "remove the entry",
        )),
        None => Ok("no entry for this registry".to_owned()),
    }
}

/// Returns the `.netrc` file of the user, and the hosts that it has entries for; `None` if there is none.
fn netrc_hosts() -> Option<(PathBuf, Vec<String>)> {
    let named = std::env::var_os("NETRC").map(PathBuf::from);
    let name = if cfg!(windows) { "_netrc" } else { ".netrc" };
    let path = named.or_else(|| Some(std::env::home_dir()?.join(name)))?;
    let mut bytes = Vec::new();
    let file = File::open(&path).ok()?;
    file.take(READ_BYTES).read_to_end(&mut bytes).ok()?;
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
    Some((path, hosts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_about_a_mirror_has_none_of_its_faults() {
        for text in [
            "https://r.example.com/mirror",
            "http://r.example.com/mirror",
            "http://r.example.com/mirror/",
            "https://r.example.com/mirror/?a=b",
            "https://r.example.com/mirror/#x/",
            "HTTP://r.example.com/mirror",
            "https://user:hunter2hunter2@r.example.com/mirror",
        ] {
            let fault = mirror(text).unwrap_err();
            assert_eq!(fault.fix, "write https://r.example.com/mirror/", "{text}");
        }
        for text in [
            "https://r.example.com/mirror/",
            "HTTPS://r.example.com/",
            "https://r.example.com:8443/m/",
        ] {
            mirror(text).unwrap();
        }
        for text in [
            "",
            "r.example.com/mirror/",
            "file:///mirror/",
            "https://",
            "https:r.example.com/mirror/",
        ] {
            let fix = mirror(text).unwrap_err().fix;
            assert!(
                fix.contains("https://registry.example.com/mirror/"),
                "{text}: {fix}"
            );
        }
    }

    #[test]
    fn the_url_of_a_mirror_is_shown_without_its_secrets() {
        for (text, shown) in [
            (
                "https://r.example.com/mirror/?token=hunter2",
                "https://r.example.com/mirror/ has something",
            ),
            (
                "https://r.example.com/mirror/#hunter2",
                "https://r.example.com/mirror/ has something",
            ),
            (
                "http://ann:hunter2@r.example.com:8443/m/",
                "http://r.example.com:8443/m/ is not https",
            ),
            (
                "http://r.example.com/@team/mirror/",
                "http://r.example.com/@team/mirror/ is not https",
            ),
            (
                "https:ann:hunter2@r.example.com/m",
                "a network mirror is not",
            ),
            ("ann:hunter2@r.example.com/m/", "a network mirror is not"),
            ("r.example.com/m/?token=hunter2", "a network mirror is not"),
            (
                "r.example.com/m/",
                "the network mirror \"r.example.com/m/\" is not",
            ),
        ] {
            let fault = mirror(text).unwrap_err();
            assert!(fault.observed.contains(shown), "{text}: {fault:?}");
            assert!(!format!("{fault:?}").contains("hunter2"), "{fault:?}");
        }
        let shown = mirror("https://ann:hunter2@r.example.com/@team/").unwrap();
        assert_eq!(shown, "https://r.example.com/@team/");
    }
}
