//! Group W: what stands in front of the registry: a firewall.

use super::outcome::Outcome;
use super::target::{DISCOVERY, Target};
use crate::http::{ProbeError, Seen};

/// The user agents of clients, the last of which is that of Go programs without their own.
const AGENTS: [&str; 6] = [
    "Terraform/1.13.4 (+https://www.terraform.io)",
    "OpenTofu/1.12.0 (+https://www.opentofu.org)",
    "Go-http-client/2.0",
    "Go-http-client/1.1",
    "curl/8.5.0",
    "python-requests/2.32.3",
];

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
