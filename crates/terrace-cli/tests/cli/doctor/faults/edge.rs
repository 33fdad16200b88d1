//! Faults of a firewall in front of the registry.

use super::{DISCOVERY, found, found_in};
use crate::doctor::sound::Build;
use crate::support::http::Response;

#[test]
fn w1_a_firewall_that_decides_by_the_user_agent_is_found() {
    found("W1", Build::default(), |head, response| {
        let agent = head.headers.get("user-agent");
        match agent.is_some_and(|it| it.starts_with("Go-http-client")) {
            true => Response::new(403, "error code: 1010"),
            false => response,
        }
    });
    found_in("W1", DISCOVERY, |it| it.with("cf-mitigated", "challenge"));
}
