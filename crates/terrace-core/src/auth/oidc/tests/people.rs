//! People who sign in.

use super::forge::*;
use crate::auth::oidc::{LoginRules, SignIn, UnverifiedToken};
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
    match verified.and_then(|claims| rules().scopes(claims.members())) {
        Ok(scopes) => Ok(scopes.iter().map(ToString::to_string).collect()),
        Err(refusal) => {
            let debug = format!("{refusal:?}");
            Err(debug.split([' ', '(']).next().unwrap().to_owned())
        }
    }
}

#[test]
fn a_person_is_granted_what_their_groups_and_their_address_open() {
    let granted = sign_in(&ann(), NONCE).unwrap();
    assert_eq!(granted, ["read", "publish:acme", "publish:tools"]);
    let one = with(ann(), "groups", "staff");
    assert_eq!(sign_in(&one, NONCE).unwrap(), ["read", "publish:tools"]);
}

#[test]
fn an_address_that_is_not_verified_opens_nothing() {
    let granted = |claims| sign_in(&claims, NONCE).unwrap();
    let said = with(ann(), "email_verified", "true");
    assert!(granted(said).contains(&"publish:tools".to_owned()));
    for claims in [
        without(ann(), "email_verified"),
        with(ann(), "email_verified", false),
        with(ann(), "email_verified", "false"),
        with(ann(), "email_verified", 1),
        with(ann(), "email_verified", Value::Null),
        with(ann(), "email", "ann@acme.example.evil.example"),
        with(ann(), "email", "ann@ACME.example"),
    ] {
        assert_eq!(granted(claims), ["read", "publish:acme"]);
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
fn what_was_issued_to_another_client_is_refused() {
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
fn who_is_in_no_group_that_a_rule_names_is_refused() {
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
