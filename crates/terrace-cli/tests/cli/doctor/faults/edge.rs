//! Faults of a proxy or a firewall in front of the registry.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{DISCOVERY, found, found_in};
use crate::doctor::sound::{Build, set};
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

#[test]
fn w2_a_limit_of_requests_is_found() {
    let count = Arc::new(AtomicUsize::new(0));
    found("W2", Build::default(), move |head, response| {
        let is_counted = head.target == "/v1/providers/acme/hello/versions";
        match is_counted && count.fetch_add(1, Ordering::SeqCst) > 10 {
            true => Response::new(429, "{}"),
            false => response,
        }
    });
}

#[test]
fn w3_and_w4_a_cache_and_a_compression_in_front_are_found() {
    let description = "/download/linux/amd64";
    found_in("W3", description, |it| it.with("cf-cache-status", "HIT"));
    found_in("W3", description, |it| it.with("age", "30"));
    found_in("W3", description, |it| {
        set(it, "cache-control", "max-age=14400")
    });
    found("W4", Build::default(), |head, response| {
        let encoding = head.headers.get("accept-encoding");
        match head.target == DISCOVERY && encoding.is_some_and(|it| it == "identity") {
            true => response.with("content-encoding", "br"),
            false => response,
        }
    });
}
