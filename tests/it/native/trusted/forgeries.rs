//! Forged and misused tokens. `terrace-jose` and the core have tables of all known forgeries; one of each kind goes through the
//! whole registry.

use serde_json::{Value, json};

use super::{exchange, fetches, trusting};
use crate::support::issuer::{GITHUB, GITLAB, KEY, NOW, OTHER_KEY, by, genuine, github, jwk, with};
use crate::support::registry::Response;

/// Returns a genuine token with one claim changed.
fn claiming(claim: &str, value: impl Into<Value>) -> String {
    genuine(&with(github(), claim, value))
}

/// Returns forgeries: the token, and a part of the logged reason.
fn forgeries() -> Vec<(String, &'static str)> {
    let forged = |header: Value| by(&OTHER_KEY, &header, &github());
    let own = json!({ "alg": "EdDSA", "kid": "mine", "jwk": jwk(&OTHER_KEY, "mine") });
    let year = 365 * 24 * 3_600;
    vec![
        ("token".to_owned(), "three parts"),
        ("a".repeat(20_000), "bytes long"),
        (forged(json!({ "alg": "none" })), "algorithm is \"none\""),
        (
            forged(json!({ "alg": "EdDSA", "kid": "k1" })),
            "signature is invalid",
        ),
        (forged(own), "no key"),
        (claiming("exp", NOW), "expired at"),
        (claiming("exp", NOW + year), "its lifetime is"),
        (
            claiming("iss", "https://evil.example"),
            "issuer is \"https://evil.example\"",
        ),
        (claiming("iss", GITLAB), "no rule"),
        (claiming("aud", "https://other.example"), "audience"),
        (
            claiming("repository", "\u{430}cme/terraform-aws-vpc"),
            "\\u{430}cme",
        ),
    ]
}

/// Returns everything that a caller sees of a response.
fn seen(response: &Response) -> (u16, Vec<(String, String)>, String) {
    (response.status, response.headers.clone(), response.text())
}

#[test]
fn a_forged_or_misused_token_gets_the_same_response_and_the_reason_is_logged() {
    let (memory, registry, _) = trusting();
    registry.send(&exchange(&genuine(&github()))).expect(200);
    let first = seen(&registry.send(&exchange("x")).expect(400));
    assert!(
        first
            .2
            .contains("no trusted-publishing rule matches this job, or its token is invalid"),
        "{}",
        first.2
    );
    for (token, reason) in forgeries() {
        let lines = memory.log().len();
        assert_eq!(seen(&registry.send(&exchange(&token))), first, "{reason}");
        let log = memory.log();
        assert_eq!(log.len(), lines + 1, "{reason}");
        let line = log.last().unwrap();
        assert!(line.contains(reason), "{reason}: {line}");
        assert!(line.is_ascii() && line.len() < 2_000, "{reason}: {line}");
        let parts = token.split('.').filter(|part| part.len() > 8);
        for part in parts.filter(|part| !part.starts_with("aaaa")) {
            assert!(!line.contains(part), "{reason}: {line}");
        }
    }
}

#[test]
fn an_issuer_that_no_rule_names_is_not_asked_for_keys() {
    let (memory, registry, _) = trusting();
    let evil = "https://evil.example";
    for token in [
        claiming("iss", evil),
        claiming("iss", format!("{GITHUB}.evil.example")),
        by(
            &OTHER_KEY,
            &json!({ "alg": "EdDSA", "kid": "x", "jku": evil, "x5u": evil }),
            &with(github(), "iss", evil),
        ),
        "x".to_owned(),
        // Nor is a trusted issuer, about an algorithm that has no public keys.
        by(&KEY, &json!({ "alg": "HS256", "kid": "k1" }), &github()),
    ] {
        registry.send(&exchange(&token)).expect(400);
        assert_eq!(fetches(&memory), [""; 0]);
    }
}
