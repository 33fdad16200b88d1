//! ID tokens of people who sign in.

use super::forge::*;
use crate::{SignIn, UnverifiedToken};
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
        "auth_time": NOW.0 - 5,
        "email": "ann@acme.example",
        "email_verified": true,
        "groups": ["staff", "platform"],
    });
    claims.as_object().unwrap().clone()
}

fn sign_in(claims: &Map<String, Value>, nonce: &str) -> Result<(), String> {
    let text = genuine(claims);
    let token = UnverifiedToken::parse(&text).unwrap();
    let sign_in = SignIn {
        client_id: CLIENT,
        nonce,
        now: NOW,
    };
    match sign_in.verify(&token, &keys(PROVIDER)) {
        Ok(_) => Ok(()),
        Err(error) => Err(variant(&error)),
    }
}

#[test]
fn the_answer_to_another_sign_in_is_refused() {
    let refused = |claims, nonce| sign_in(&claims, nonce).unwrap_err();
    assert_eq!(refused(ann(), "another"), "Nonce");
    assert_eq!(refused(ann(), ""), "Nonce");
    assert_eq!(refused(without(ann(), "nonce"), NONCE), "Nonce");
    assert_eq!(refused(without(ann(), "nonce"), ""), "Nonce");
    assert_eq!(refused(with(ann(), "nonce", ""), ""), "Nonce");
    assert_eq!(refused(with(ann(), "nonce", [NONCE]), NONCE), "Nonce");
}

#[test]
fn a_token_issued_to_another_client_is_refused() {
    let refused = |claims| sign_in(&claims, NONCE).unwrap_err();
    assert_eq!(refused(with(ann(), "aud", "other")), "Audience");
    assert_eq!(refused(with(ann(), "azp", "other")), "AuthorizedParty");
    assert_eq!(refused(with(ann(), "azp", Value::Null)), "AuthorizedParty");
    let several = with(ann(), "aud", json!([CLIENT, "other"]));
    assert!(sign_in(&several, NONCE).is_ok());
    assert_eq!(refused(without(several, "azp")), "AuthorizedParty");
    assert!(sign_in(&without(ann(), "azp"), NONCE).is_ok());
}

#[test]
fn the_answer_to_this_sign_in_is_verified() {
    assert!(sign_in(&ann(), NONCE).is_ok());
}
