//! Group L: this machine.

use std::env;

use url::Url;

use super::machine::Machine;
use super::outcome::Outcome;
use super::target::Target;
use crate::credentials::TokenHost;
use crate::http::{Authorities, certificate_files};
use crate::output::plural;

/// L1
pub(super) fn files(machine: &Machine, _: Option<&Target>) -> Outcome {
    let configuration = &machine.configuration;
    if let Some(path) = &configuration.missing {
        return Outcome::warn(
            format!("TF_CLI_CONFIG_FILE names {path}, which does not exist"),
            "terraform and tofu then read no configuration, and so no token and no mirror",
            "correct the variable, or unset it",
        );
    }
    match configuration.problems.as_slice() {
        [] => Outcome::pass(match configuration.files.as_slice() {
            [] => "none".to_owned(),
            files => files.join(", "),
        }),
        problems => Outcome::fail(
            problems.join("; "),
            "terraform and tofu ignore or reject the whole file",
            "correct the line that is named",
        ),
    }
}

/// L2
pub(super) fn variables(machine: &Machine, target: Option<&Target>) -> Outcome {
    let variables = &machine.configuration.variables;
    let hostless = variables.iter().find(|(_, host)| host.is_none());
    if let Some((name, _)) = hostless {
        return Outcome::warn(
            format!("{name} names no host"),
            "its name must be TF_TOKEN_ and the hostname, with _ in place of each dot and __ in place of each dash",
            "correct the name of the variable",
        );
    }
    let hosts = variables
        .iter()
        .filter_map(|(name, host)| Some((name, host.as_ref()?)));
    if let Some(target) = target {
        let own = target.token_host();
        let has_own = hosts.clone().any(|(_, host)| *host == own);
        let mut similar = hosts.clone().filter(|(_, host)| is_similar(host, &own));
        if let (false, Some((name, host))) = (has_own, similar.next()) {
            return Outcome::warn(
                format!("{name} is the token for {host}, and the registry is {own}"),
                "in the name of the variable, _ is a dot and __ a dash; a port cannot be written in most shells",
                format!("name it {}, or use a credentials block", variable_of(&own)),
            );
        }
    }
    let hosts: Vec<String> = hosts.map(|(_, host)| host.to_string()).collect();
    match hosts.as_slice() {
        [] => Outcome::pass("none"),
        hosts => Outcome::pass(hosts.join(", ")),
    }
}

/// Returns whether the names of two hosts differ only in dots, dashes and ports.
fn is_similar(one: &TokenHost, other: &TokenHost) -> bool {
    let folded = |host: &TokenHost| {
        let host = host.to_string().replace(['-', '.'], "_");
        host.split(':').next().unwrap_or_default().to_owned()
    };
    one != other && folded(one) == folded(other)
}

/// Returns the name of the variable with the token for a host.
fn variable_of(host: &TokenHost) -> String {
    let host = host.to_string().replace('-', "__").replace('.', "_");
    format!("TF_TOKEN_{host}")
}

/// L3
pub(super) fn stored_tokens(machine: &Machine, _: Option<&Target>) -> Outcome {
    match &machine.configuration.unread_tokens {
        Some(reason) => Outcome::warn(
            reason,
            "a variable replaces all other files of the clients, that of `login` included",
            "unset TF_CLI_CONFIG_FILE, or copy the credentials block into the file that it names",
        ),
        None => Outcome::pass(match machine.configuration.hosts.len() {
            0 => "none".to_owned(),
            count => format!("for {}", plural(count, "host")),
        }),
    }
}

/// L5
pub(super) fn mirrors(machine: &Machine, _: Option<&Target>) -> Outcome {
    let mirrors = &machine.configuration.mirrors;
    match mirrors.iter().find_map(|text| fault_of_mirror(text)) {
        Some(outcome) => outcome,
        None if mirrors.is_empty() => Outcome::pass("none"),
        None => {
            let urls = mirrors.iter().filter_map(|text| mirror_url(text));
            let shown: Vec<String> = urls.map(|url| without_secrets(&url)).collect();
            Outcome::pass(shown.join(", "))
        }
    }
}

/// Returns the URL of a network mirror. A text without a host is not one for clients, and neither is `https:HOST`, which
/// this parser completes.
fn mirror_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    url.filter(|_| text.contains("://"))
}

/// Returns the scheme, the host, the port and the path of a URL: its other parts may be secrets.
fn without_secrets(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}"));
    format!(
        "{}://{}{}{}",
        url.scheme(),
        url.host_str().unwrap_or_default(),
        port.unwrap_or_default(),
        url.path()
    )
}

/// Judges the URL of a network mirror. The advice is the URL without any of its faults.
fn fault_of_mirror(text: &str) -> Option<Outcome> {
    const EXAMPLE: &str = "https://registry.example.com/mirror/";
    let Some(url) = mirror_url(text) else {
        let shown = match text.contains(['@', '?', '#']) {
            true => "a network mirror".to_owned(),
            false => format!("the network mirror {text:?}"),
        };
        return Some(Outcome::fail(
            format!("{shown} is not a URL with a host"),
            "the clients reject the whole configuration",
            format!("write the URL of the mirror, such as {EXAMPLE}"),
        ));
    };
    let has_rest = url.query().is_some() || url.fragment().is_some();
    let (fault, cause) = if url.scheme() != "https" {
        (
            "is not https",
            "the clients use network mirrors over TLS only",
        )
    } else if has_rest {
        (
            "has something after its path",
            "the clients append paths to the URL, and leave out the rest",
        )
    } else if !url.path().ends_with('/') {
        (
            "does not end with a slash",
            "the clients replace what follows the last slash, and request other addresses",
        )
    } else {
        return None;
    };
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}"));
    let (port, path) = (port.unwrap_or_default(), url.path().trim_end_matches('/'));
    Some(Outcome::fail(
        format!("the network mirror {} {fault}", without_secrets(&url)),
        cause,
        format!("write https://{host}{port}{path}/"),
    ))
}

/// L7
pub(super) fn netrc(machine: &Machine, target: Option<&Target>) -> Outcome {
    let Some((path, hosts)) = machine.netrc() else {
        return Outcome::pass("none");
    };
    let path = path.display();
    let Some(target) = target else {
        return Outcome::pass(plural(hosts.len(), "host"));
    };
    let ours = target.hosts();
    let hit = hosts
        .iter()
        .find(|host| ours.contains(host) || *host == "default");
    match hit {
        Some(host) => Outcome::warn(
            format!("{path} has an entry for {host}"),
            "clients send its user and password with downloads, which breaks signed URLs, and in place of no token",
            "remove the entry",
        ),
        None => Outcome::pass("no entry for this registry"),
    }
}

/// L8
pub(super) fn proxies(machine: &Machine, target: Option<&Target>) -> Outcome {
    let proxies = machine.proxies();
    for (name, value) in &proxies {
        let with_scheme = match value.contains("://") {
            true => value.clone(),
            false => format!("http://{value}"),
        };
        let url = Url::parse(&with_scheme);
        let is_proxy = |url: &Url| matches!(url.scheme(), "http" | "https" | "socks5" | "socks5h");
        if !url.is_ok_and(|url| is_proxy(&url) && url.has_host()) {
            return Outcome::fail(
                format!("{name} is not the URL of a proxy"),
                "the clients then reach no registry at all",
                format!("write {name}=http://HOST:PORT, or unset it"),
            );
        }
    }
    let names: Vec<&str> = proxies.iter().map(|(name, _)| *name).collect();
    let no_proxy = ["NO_PROXY", "no_proxy"]
        .iter()
        .find_map(|name| env::var(name).ok());
    let no_proxy = no_proxy.unwrap_or_default();
    let is_direct = target.is_some_and(|target| {
        let mut named = no_proxy
            .split(',')
            .map(|name| name.trim().trim_start_matches('.'));
        named.any(|name| !name.is_empty() && target.url_host().ends_with(name))
    });
    match names.as_slice() {
        [] => Outcome::pass("none"),
        _ if is_direct => Outcome::pass("not for this registry"),
        names => Outcome::pass(format!("set by {}", names.join(", "))),
    }
}

/// L9
pub(super) fn certificates(_: &Machine, _: Option<&Target>) -> Outcome {
    match certificate_files() {
        Ok(Authorities { count: 0, .. }) => Outcome::warn(
            "the system trusts no certificate authority",
            "clients reject every TLS connection",
            "install the package ca-certificates, or set SSL_CERT_FILE",
        ),
        Ok(Authorities { count, by }) => Outcome::pass(match by.as_slice() {
            [] => plural(count, "authority"),
            by => format!("{} by {}", plural(count, "authority"), by.join(" and ")),
        }),
        Err(reason) => Outcome::fail(
            reason,
            "clients that read this variable do not trust the authority that it was set for",
            "name PEM certificates that can be read, or unset the variable",
        ),
    }
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
            let fault = fault_of_mirror(text).unwrap();
            assert_eq!(fault.fix, "write https://r.example.com/mirror/", "{text}");
            assert!(!fault.observed.contains("hunter2"), "{fault:?}");
        }
        for text in [
            "https://r.example.com/mirror/",
            "HTTPS://r.example.com/",
            "https://r.example.com:8443/m/",
        ] {
            assert_eq!(fault_of_mirror(text), None, "{text}");
        }
        for text in [
            "",
            "r.example.com/mirror/",
            "file:///mirror/",
            "https://",
            "https:r.example.com/mirror/",
        ] {
            let fix = fault_of_mirror(text).unwrap().fix;
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
            let fault = fault_of_mirror(text).unwrap();
            assert!(fault.observed.contains(shown), "{text}: {fault:?}");
            assert!(!format!("{fault:?}").contains("hunter2"), "{fault:?}");
        }
        let url = mirror_url("https://ann:hunter2@r.example.com/@team/").unwrap();
        assert_eq!(without_secrets(&url), "https://r.example.com/@team/");
    }
}
