//! Group W: what stands in front of the registry: a firewall, a cache, a proxy.

use super::outcome::Outcome;
use super::target::{DISCOVERY, Target};
use crate::http::{Ask, ProbeError, Seen, at_once};

/// The user agents of clients, the last of which is that of Go programs without their own.
const AGENTS: [&str; 6] = [
    "Terraform/1.13.4 (+https://www.terraform.io)",
    "OpenTofu/1.12.0 (+https://www.opentofu.org)",
    "Go-http-client/2.0",
    "Go-http-client/1.1",
    "curl/8.5.0",
    "python-requests/2.32.3",
];

/// The number of requests at the same time, as a runner with many modules sends them.
const BURST: usize = 20;

/// W1
pub(super) fn treats_agents_alike(target: &Target) -> Outcome {
    let expected = match target.probe.send(&target.get(DISCOVERY)) {
        Ok(seen) => seen,
        Err(error) => return Outcome::skip(error),
    };
    if is_challenge(&expected) {
        return blocked("this command", &expected);
    }
    for agent in AGENTS {
        let name = agent.split(['/', ' ']).next().unwrap_or_default();
        match target
            .probe
            .send(&target.get(DISCOVERY).with("user-agent", agent))
        {
            Ok(seen) if seen.status != expected.status || is_challenge(&seen) => {
                return blocked(name, &seen);
            }
            Ok(_) => {}
            Err(error @ ProbeError::Limited(_)) => return Outcome::skip(error),
            Err(error) => {
                return Outcome::fail(
                    format!("{name}: {error}"),
                    "a firewall drops the connections of this client",
                    FIREWALL,
                );
            }
        }
    }
    Outcome::pass(format!("{} user agents", AGENTS.len()))
}

const FIREWALL: &str = "exempt the hostname from Browser Integrity Check, bot protection and managed challenges (a WAF rule that skips them)";

/// Returns whether a response is the challenge or the refusal of a firewall.
fn is_challenge(seen: &Seen) -> bool {
    let start = String::from_utf8_lossy(&seen.body);
    seen.header("cf-mitigated").is_some() || start.trim_start().starts_with("error code: 10")
}

fn blocked(who: &str, seen: &Seen) -> Outcome {
    let text = String::from_utf8_lossy(&seen.body);
    let is_code = text.trim_start().starts_with("error code: 10");
    let code: String = text.trim_start().chars().take(16).collect();
    let what = match (seen.header("cf-mitigated"), is_code) {
        (Some(mitigated), _) => format!(", cf-mitigated {mitigated}"),
        (None, true) => format!(", {code}"),
        (None, false) => String::new(),
    };
    Outcome::fail(
        format!("status {} for {who}{what}", seen.status),
        "a firewall decides by the user agent, or shows a challenge that only browsers can pass",
        FIREWALL,
    )
}

/// W2
pub(super) fn bears_bursts(target: &Target) -> Outcome {
    let path = match target.provider() {
        Ok(sample) => sample.url.clone(),
        Err(_) => DISCOVERY.to_owned(),
    };
    let expected = match target.probe.send(&target.get_as_caller(&path)) {
        Ok(seen) => seen.status,
        Err(error) => return Outcome::skip(error),
    };
    let answers = at_once(&target.probe, &target.get_as_caller(&path), BURST);
    let others: Vec<String> = answers
        .iter()
        .filter_map(|answer| match answer {
            Ok(seen) if seen.status == expected => None,
            Ok(seen) => Some(format!("status {}", seen.status)),
            Err(error) => Some(error.to_string()),
        })
        .collect();
    match others.first() {
        None => Outcome::pass(format!("{BURST} at once")),
        Some(first) => Outcome::fail(
            format!("{} of {BURST} requests at once: {first}", others.len()),
            "a rate limit or a firewall; clients report 401, 403 and 429 as missing credentials or a missing provider",
            "raise the limit for the hostname, or exempt it",
        ),
    }
}

/// W3
pub(super) fn caches_nothing_signed(target: &Target) -> Outcome {
    let sample = match target.package() {
        Ok(sample) => sample,
        Err(gap) => return gap.outcome("W3"),
    };
    let url = &sample.description.url;
    let again = match target.probe.send(&target.get_as_caller(url)) {
        Ok(seen) => seen,
        Err(error) => return Outcome::skip(error),
    };
    let is_hit = |seen: &Seen| {
        let status = seen
            .header("cf-cache-status")
            .or_else(|| seen.header("x-cache"));
        let is_hit = status.is_some_and(|it| it.to_ascii_uppercase().starts_with("HIT"));
        let age = seen.header("age").and_then(|it| it.parse::<u64>().ok());
        is_hit || age.is_some_and(|it| it > 0)
    };
    if is_hit(&sample.description) || is_hit(&again) {
        return Outcome::fail(
            "the description of a package comes from a cache",
            "its URLs expire after minutes, and belong to one caller: a cache hands them out later and to others",
            "remove the cache rule for the hostname (Cache Everything), or exempt /v1/ from it",
        );
    }
    let control = again.header("cache-control").unwrap_or_default();
    match control.contains("no-store") || control.contains("private") || !target.is_terrace() {
        true => Outcome::pass(if control.is_empty() {
            "not cached"
        } else {
            control
        }),
        false => Outcome::fail(
            format!("Cache-Control is {control:?}"),
            "something replaces the registry's no-store, so that caches may keep URLs that expire",
            "remove the rule that sets Cache-Control (Browser Cache TTL: Respect Existing Headers)",
        ),
    }
}

/// W4
pub(super) fn encodes_on_request(target: &Target) -> Outcome {
    let ask: Ask = target.get(DISCOVERY).with("accept-encoding", "identity");
    match target.probe.send(&ask) {
        Ok(seen) => match seen.header("content-encoding") {
            None | Some("identity") => Outcome::pass("none"),
            Some(encoding) => Outcome::fail(
                format!("Content-Encoding {encoding}, which was not asked for"),
                "clients without support for it read binary data in place of JSON",
                "let the proxy compress only what Accept-Encoding allows",
            ),
        },
        Err(error) => Outcome::skip(error),
    }
}
