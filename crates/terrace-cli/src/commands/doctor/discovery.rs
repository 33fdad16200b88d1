//! Group S: the discovery document.

use serde_json::Value;
use terrace_core::upstream::origin::{Fetched, Service};
use url::Url;

use super::check::Outcome;
use super::target::{DISCOVERY, Discovery, Gap, Known, Target};
use crate::http::{ProbeError, Seen};

/// The paths at which tools that skip discovery look for the services.
const USUAL_PATHS: [(&str, &str); 2] = [
    ("providers.v1", "/v1/providers/"),
    ("modules.v1", "/v1/modules/"),
];

/// Requests the discovery document as clients do.
pub(super) fn find(target: &Target) -> Known<Discovery> {
    let gap = |id, outcome| Err(Gap::new(id, outcome));
    let (seen, passed) = match target.probe.follow(&target.get(DISCOVERY)) {
        Ok(found) => found,
        Err(error @ ProbeError::Redirects) => return gap("S1", loops(&error)),
        Err(ProbeError::Guarded(error)) => {
            let cause =
                "discovery is redirected to another host, which this command does not contact";
            return gap("S1", Outcome::fail(error, cause, NO_REDIRECT));
        }
        Err(error) => return gap("S1", unanswered(&error)),
    };
    if seen.status != 200 {
        return gap("S1", refused(&seen));
    }
    let fetched = Fetched {
        status: seen.status,
        final_url: seen.url.clone(),
        content_type: seen.header("content-type").map(str::to_owned),
        body: seen.body.clone(),
    };
    let modules = match Service::read_modules(&fetched) {
        Ok(modules) => modules,
        Err(error) => return gap("S2", foreign(&seen, &error.to_string())),
    };
    let document: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
    let providers = match document.get("providers.v1") {
        Some(_) => match Service::read(&fetched) {
            Ok(service) => Some(service),
            Err(error) => return gap("S3", unusable(&error.to_string())),
        },
        None => None,
    };
    if providers.is_none() && modules.is_none() {
        return gap(
            "S3",
            unusable("it names neither providers.v1 nor modules.v1"),
        );
    }
    Ok(Discovery {
        seen,
        passed,
        document,
        providers,
        modules,
    })
}

const NO_REDIRECT: &str = "serve the document at this host itself, and exempt /.well-known/ from redirects and sign-in pages";

fn loops(error: &ProbeError) -> Outcome {
    let cause = "discovery is redirected in a circle, as by two rules that contradict each other";
    Outcome::fail(error, cause, NO_REDIRECT)
}

fn unanswered(error: &ProbeError) -> Outcome {
    let cause = "the server accepts connections and does not answer this path completely";
    Outcome::fail(
        error,
        cause,
        "look at the server's log for /.well-known/terraform.json",
    )
}

fn refused(seen: &Seen) -> Outcome {
    let status = format!("status {}", seen.status);
    match seen.status {
        401 | 403 => Outcome::fail(
            status,
            "discovery requires a token, or a firewall refuses the request; clients need it before they have a token",
            "allow /.well-known/terraform.json without credentials",
        ),
        404 => Outcome::fail(
            status,
            "the registry is not at the root of this host, or something else answers here",
            "route the whole hostname to the registry: a path prefix is not possible",
        ),
        500..=599 => Outcome::fail(
            status,
            "the registry or the proxy in front of it fails",
            "look at the registry's log; after a change of settings, run `terrace config check`",
        ),
        _ => Outcome::fail(status, "clients accept 200 only", NO_REDIRECT),
    }
}

fn foreign(seen: &Seen, error: &str) -> Outcome {
    let is_page =
        seen.media_type().contains("html") || seen.body.trim_ascii_start().starts_with(b"<");
    let cause = match is_page {
        true => {
            "a web page answers: a sign-in page, a captive portal, a proxy's error, or another program"
        }
        false => "the server sends another type or another document than clients accept",
    };
    Outcome::fail(
        error,
        cause,
        "send one JSON object as application/json, with status 200",
    )
}

fn unusable(error: &str) -> Outcome {
    let cause = "clients find no service in it, and report that the host offers no registry";
    let fix = "name \"providers.v1\" and \"modules.v1\", each with a path or an https URL";
    Outcome::fail(error, cause, fix)
}

/// S1
pub(super) fn answers(target: &Target) -> Outcome {
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        // The document arrived.
        Err(gap) if gap.is_of(&["S2", "S3"]) => return Outcome::pass("status 200"),
        Err(gap) => return gap.outcome("S1"),
    };
    let asked = target.base().url().host_str();
    let last = Url::parse(&discovery.seen.url).ok();
    let last = last.as_ref().and_then(Url::host_str);
    match discovery.passed.len() {
        0 => Outcome::pass("status 200"),
        _ if last == asked => Outcome::pass("status 200 after a redirect on this host"),
        _ => Outcome::warn(
            format!("redirected to {}", last.unwrap_or_default()),
            "clients follow, but send this host's token to the other one never, and some tools do not follow",
            NO_REDIRECT,
        ),
    }
}

/// S2
pub(super) fn is_json(target: &Target) -> Outcome {
    match target.discovery() {
        Ok(discovery) => Outcome::pass(discovery.seen.media_type()),
        Err(gap) if gap.is_of(&["S3"]) => Outcome::pass("application/json"),
        Err(gap) => gap.outcome("S2"),
    }
}

/// S3
pub(super) fn names_services(target: &Target) -> Outcome {
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        Err(gap) => return gap.outcome("S3"),
    };
    let services = services(discovery);
    let slashless = services.iter().find(|(_, url)| !url.ends_with('/'));
    if let Some((name, url)) = slashless {
        return Outcome::fail(
            format!("{name} is {url}, without a slash at its end"),
            "clients then look for packages one level too high",
            "add the slash",
        );
    }
    let names: Vec<&str> = services.iter().map(|(name, _)| *name).collect();
    Outcome::pass(names.join(", "))
}

/// Returns the services that the document names, with their URLs as written.
fn services(discovery: &Discovery) -> Vec<(&'static str, &str)> {
    let named = |name| Some((name, discovery.document.get(name)?.as_str()?));
    USUAL_PATHS
        .into_iter()
        .filter_map(|(name, _)| named(name))
        .collect()
}

/// S4
pub(super) fn names_itself(target: &Target) -> Outcome {
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        Err(gap) => return gap.outcome("S4"),
    };
    let Ok(base) = Url::parse(&discovery.seen.url) else {
        return Outcome::skip("S1 failed");
    };
    let mut hosts = Vec::new();
    for (name, text) in services(discovery) {
        let Ok(url) = base.join(text) else {
            return Outcome::skip("S3 failed");
        };
        let is_local = |url: &Url| crate::http::is_loopback(url);
        if base.scheme() == "https" && url.scheme() != "https" {
            return Outcome::fail(
                format!("{name} is {text}"),
                "the registry does not know that a proxy in front of it speaks TLS; clients accept https only",
                "configure the registry's own URL, or name the services by paths",
            );
        }
        if is_local(&url) && !is_local(&base) {
            return Outcome::fail(
                format!("{name} is {text}"),
                "the registry takes the address that it listens at for the one that clients use",
                "configure the registry's own URL, or name the services by paths",
            );
        }
        hosts.extend(url.host_str().map(str::to_owned));
    }
    hosts.sort();
    hosts.dedup();
    Outcome::pass(hosts.join(", "))
}

/// S5
pub(super) fn uses_usual_paths(target: &Target) -> Outcome {
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        Err(gap) => return gap.outcome("S5"),
    };
    let Ok(base) = Url::parse(&discovery.seen.url) else {
        return Outcome::skip("S1 failed");
    };
    for (name, text) in services(discovery) {
        let usual = USUAL_PATHS.iter().find(|(known, _)| *known == name);
        let url = base.join(text).ok();
        let is_usual = usual.is_some_and(|(_, path)| {
            url.as_ref()
                .is_some_and(|url| url.path() == *path && url.host() == base.host())
        });
        if !is_usual {
            return Outcome::warn(
                format!("{name} is {text}"),
                "the protocol allows it, but tools that skip discovery look below /v1/providers/ and /v1/modules/",
                "serve the usual paths as well, if you use such tools (trivy and checkov are two)",
            );
        }
    }
    Outcome::pass("/v1/")
}

/// S6
pub(super) fn ignores_tokens(target: &Target) -> Outcome {
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        Err(gap) => return gap.outcome("S6"),
    };
    let ask = target.get(DISCOVERY).with("authorization", "Bearer wrong");
    match target.probe.follow(&ask) {
        Ok((seen, _)) if seen.status == 200 && seen.body == discovery.seen.body => {
            Outcome::pass("a wrong token changes nothing")
        }
        Ok((seen, _)) if seen.status == 200 => Outcome::warn(
            "another document with a token",
            "discovery depends on the token, and clients cache it",
            "answer discovery the same for everyone",
        ),
        Ok((seen, _)) => Outcome::fail(
            format!("status {} with a token that is not valid", seen.status),
            "clients send their token with discovery; an expired one then ends the run with a message about the host",
            "ignore credentials on /.well-known/terraform.json",
        ),
        Err(error) => Outcome::fail(error, "no answer to a request with a token", NO_REDIRECT),
    }
}
