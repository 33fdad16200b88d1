//! Forged and misused tokens. `terrace-jose` and the core have tables of all known forgeries; one of each kind goes through the
//! whole registry.

use serde_json::{Value, json};

use super::{exchange, fetches, trusting};
use crate::support::issuer::{
    GITHUB, GITLAB, NOW, OTHER_P256, RSA, by, compact, genuine, github, gitlab, header, hs256,
    public_pem, with, without,
};
use crate::support::registry::Response;

/// Returns a genuine token with one claim changed.
fn claiming(claim: &str, value: impl Into<Value>) -> String {
    genuine(&with(github(), claim, value))
}

/// Returns forgeries: the token, and a part of the logged reason.
fn forgeries() -> Vec<(String, &'static str)> {
    let claims = Value::from(github()).to_string();
    let unsigned = json!({ "alg": "none" }).to_string();
    let twice = claims.replacen('{', r#"{"repository":"evil/evil","#, 1);
    let by_rsa = |claims: &str| compact(&header().to_string(), claims, |m| RSA.sign(m));
    let of = |id: &str, name: &str, value: Value| {
        let mut header = json!({ "alg": "ES256", "kid": id });
        header[name] = value;
        by(&OTHER_P256, &header, &github())
    };
    let year = 365 * 24 * 3_600;
    vec![
        (
            compact(&unsigned, &claims, |_| Vec::new()),
            "algorithm is \"none\"",
        ),
        (
            hs256(public_pem().as_bytes(), &github()),
            "algorithm is \"HS256\"",
        ),
        (of("p256", "x", Value::Null), "signature is invalid"),
        (of("mine", "jwk", OTHER_P256.jwk("mine")), "no key"),
        (
            of("mine", "jku", json!("https://evil.example/keys")),
            "no key",
        ),
        (of("../../dev/null", "x", Value::Null), "no key"),
        (of("p256", "crit", json!(["exp"])), "crit"),
        (of("p256", "typ", json!("logout+jwt")), "type is"),
        ("token".to_owned(), "three parts"),
        (format!("{}==", genuine(&github())), "base64url"),
        (by_rsa(&twice), "distinct members"),
        (by_rsa("[]"), "claims"),
        ("a".repeat(20_000), "bytes long"),
        (claiming("exp", NOW), "expired at"),
        (claiming("exp", "2000000000"), "claim exp"),
        (claiming("nbf", NOW + 61), "not valid before"),
        (claiming("iat", NOW + 61), "issued at"),
        (claiming("exp", NOW + year), "its lifetime is"),
        (
            claiming("iss", "https://evil.example"),
            "issuer is \"https://evil.example\"",
        ),
        (genuine(&without(github(), "iss")), "issuer is \"\""),
        (claiming("iss", GITLAB), "no rule"),
        (claiming("aud", "https://other.example"), "audience"),
        (genuine(&without(github(), "sub")), "sub"),
        (
            claiming("repository", "acme/terraform-aws-vpc-evil"),
            "no rule",
        ),
        (
            claiming("repository", "\u{430}cme/terraform-aws-vpc"),
            "\\u{430}cme",
        ),
        (claiming("ref", "refs/heads/main"), "no rule"),
        (claiming("ref", "refs/tags/v1\nrefs/heads/main"), "no rule"),
        (genuine(&without(github(), "environment")), "no rule"),
        (
            genuine(&with(gitlab(), "ref_protected", "false")),
            "no rule",
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
            &OTHER_P256,
            &json!({ "alg": "ES256", "kid": "x", "jku": evil, "x5u": evil }),
            &with(github(), "iss", evil),
        ),
        "x".to_owned(),
        hs256(b"", &github()),
    ] {
        registry.send(&exchange(&token)).expect(400);
        assert_eq!(fetches(&memory), [""; 0]);
    }
}
