//! ID tokens of people who sign in.

use super::forge::*;
use crate::UnverifiedToken;
use serde_json::{Map, Value, json};

const PROVIDER: &str = "https://login.example.com:8443/realms/acme";
const CLIENT: &str = "terrace";
const NONCE: &str = "n-0S6_WzA2Mj";

fn ann() -> Map<String, Value> {
    let claims = json!({
        "iss": PROVIDER,
        "sub": "248289761001",
        "aud": CLIENT,
        "azp": CLIENT,
        "nonce": NONCE,
        "exp": NOW.0 + 3_600,
        "iat": NOW.0,
    });
    claims.as_object().unwrap().clone()
}

/// Returns the reason for which a token does not answer the sign-in with this nonce.
fn refusal(claims: &Map<String, Value>, nonce: &str) -> Option<String> {
    let text = genuine(claims);
    let token = UnverifiedToken::parse(&text).unwrap();
    let verified = token.verify_sign_in(&keys(PROVIDER), CLIENT, nonce, NOW);
    verified.err().map(|error| error.to_string())
}

#[test]
fn the_answer_to_another_sign_in_is_refused() {
    assert_eq!(refusal(&ann(), NONCE), None);
    for (claims, nonce) in [
        (ann(), "another"),
        (ann(), ""),
        (without(ann(), "nonce"), NONCE),
        (without(ann(), "nonce"), ""),
        (with(ann(), "nonce", ""), ""),
        (with(ann(), "nonce", [NONCE]), NONCE),
    ] {
        let refused = refusal(&claims, nonce).expect(nonce);
        assert_eq!(refused, "its nonce does not match this sign-in");
    }
}

#[test]
fn a_token_issued_to_another_client_is_refused() {
    let several = with(ann(), "aud", json!([CLIENT, "other"]));
    assert_eq!(refusal(&several, NONCE), None);
    assert_eq!(refusal(&without(ann(), "azp"), NONCE), None);
    for (claims, reason) in [
        (with(ann(), "aud", "other"), "its audience is \"other\""),
        (with(ann(), "azp", "other"), "it was issued to \"other\""),
        (with(ann(), "azp", Value::Null), "it was issued to null"),
        (without(several, "azp"), "it was issued to nothing"),
    ] {
        let refused = refusal(&claims, NONCE).expect(reason);
        assert!(refused.starts_with(reason), "{refused}");
    }
}
