//! Group S: the discovery document.

use std::collections::BTreeSet;

use url::Url;

use super::outcome::Outcome;
use super::target::{DISCOVERY, NO_REDIRECT, Target, USUAL_PATHS, services};

/// S1
pub(super) fn answers(target: &Target) -> Outcome {
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        // The document arrived.
        Err(gap) if gap.is_of(&["S2", "S3", "S4"]) => return Outcome::pass("status 200"),
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
        Err(gap) if gap.is_of(&["S3", "S4"]) => Outcome::pass("application/json"),
        Err(gap) => gap.outcome("S2"),
    }
}

/// S3
pub(super) fn names_services(target: &Target) -> Outcome {
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        Err(gap) if gap.is_of(&["S4"]) => return Outcome::pass(""),
        Err(gap) => return gap.outcome("S3"),
    };
    let names: Vec<&str> = services(discovery).iter().map(|(name, _)| *name).collect();
    Outcome::pass(names.join(", "))
}

/// S4
pub(super) fn names_itself(target: &Target) -> Outcome {
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        Err(gap) => return gap.outcome("S4"),
    };
    let base = Url::parse(&discovery.seen.url).ok();
    let joined = |text: &str| Some(base.as_ref()?.join(text).ok()?.host_str()?.to_owned());
    let services = services(discovery);
    let hosts: BTreeSet<String> = services
        .iter()
        .filter_map(|(_, text)| joined(text))
        .collect();
    Outcome::pass(Vec::from_iter(hosts).join(", "))
}

/// S5
pub(super) fn uses_usual_paths(target: &Target) -> Outcome {
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        Err(gap) => return gap.outcome("S5"),
    };
    let Ok(base) = Url::parse(&discovery.seen.url) else {
        return Outcome::skip_after("S1");
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
        Err(error) => {
            Outcome::unanswered(&error, "no answer to a request with a token", NO_REDIRECT)
        }
    }
}
