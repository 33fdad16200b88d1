//! Group S: the discovery document.

use std::collections::BTreeSet;

use url::Url;

use super::outcome::Outcome;
use super::target::{NO_REDIRECT, Target, services};

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
