//! People who sign in.

use super::forge::*;
use crate::auth::oidc::LoginRules;
use serde_json::{Map, Value, json};
use terrace_jose::{SignIn, UnverifiedToken};

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

fn rules() -> LoginRules {
    let rules = json!([
        { "scopes": ["read"], "claims": { "groups": "staff" } },
        { "scopes": ["publish:acme"], "claims": { "groups": "platform" } },
        { "scopes": ["publish:tools"], "claims": { "email": "*@acme.example" } },
        { "scopes": ["admin"], "claims": { "email": "root@acme.example" } },
    ]);
    rules.to_string().parse().unwrap()
}

fn sign_in(claims: &Map<String, Value>, nonce: &str) -> Result<Vec<String>, String> {
    let text = genuine(claims);
    let token = UnverifiedToken::parse(&text).unwrap();
    let sign_in = SignIn {
        client_id: CLIENT,
        nonce,
        now: NOW,
    };
    let verified = sign_in.verify(&token, &keys(PROVIDER));
    let scopes = rules().scopes(verified.unwrap().members());
    match scopes {
        Ok(granted) => Ok(granted.scopes.iter().map(ToString::to_string).collect()),
        Err(error) => Err(variant(&error)),
    }
}

#[test]
fn a_person_is_granted_the_scopes_of_their_groups_and_address() {
    let granted = sign_in(&ann(), NONCE).unwrap();
    assert_eq!(granted, ["read", "publish:acme", "publish:tools"]);
    let one = with(ann(), "groups", "staff");
    assert_eq!(sign_in(&one, NONCE).unwrap(), ["read", "publish:tools"]);
}

#[test]
fn an_unverified_address_grants_nothing() {
    let granted = |claims| sign_in(&claims, NONCE).unwrap();
    for claims in [
        with(ann(), "email", "ann@ACME.Example"),
        with(ann(), "email_verified", "true"),
    ] {
        assert!(granted(claims).contains(&"publish:tools".to_owned()));
    }
    for claims in [
        without(ann(), "email_verified"),
        with(ann(), "email_verified", false),
        with(ann(), "email_verified", "false"),
        with(ann(), "email_verified", 1),
        with(ann(), "email_verified", Value::Null),
        with(ann(), "email", "ann@acme.example.evil.example"),
    ] {
        assert_eq!(granted(claims), ["read", "publish:acme"]);
    }
}

#[test]
fn a_person_without_a_matching_group_is_rejected() {
    let stranger = without(ann(), "email");
    for groups in [
        json!([]),
        json!(["Staff"]),
        json!(["staff-evil"]),
        json!([["staff"]]),
        json!({ "staff": true }),
        json!("staff,platform"),
        Value::Null,
    ] {
        let claims = with(stranger.clone(), "groups", groups);
        assert_eq!(sign_in(&claims, NONCE).unwrap_err(), "NoRule");
    }
}
