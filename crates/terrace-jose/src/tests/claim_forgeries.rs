//! Genuine tokens for another purpose, or with a similar but different subject.

use super::forge::*;
use serde_json::{Map, Value, json};

type Claims = Map<String, Value>;

/// Returns genuine tokens with one claim changed.
fn changed<'n>(
    claim: &str,
    reason: &'static str,
    values: impl IntoIterator<Item = (&'n str, Value)>,
) -> Vec<(&'n str, String, &'static str)> {
    let token = |value| genuine(&with(job(), claim, value));
    let values = values.into_iter();
    values
        .map(|(name, value)| (name, token(value), reason))
        .collect()
}

fn texts<'n>(texts: &[&'n str]) -> Vec<(&'n str, Value)> {
    texts
        .iter()
        .map(|text| (*text, Value::from(*text)))
        .collect()
}

#[test]
fn other_issuers_are_refused_for_any_subject() {
    assert_refused(&changed(
        "iss",
        "Issuer",
        texts(&[
            "https://evil.example",
            "https://token.actions.githubusercontent.com/",
            "https://TOKEN.actions.githubusercontent.com",
            "https://token.actions.githubusercontent.com:443",
            "https://token.actions.githubusercontent.com/acme",
            "https://token.actions.githubusercontent.com.evil.example",
            "https://token.actions.githubusercontent.com@evil.example",
            "https://token.actions.githubusercontent.com?",
            "http://token.actions.githubusercontent.com",
            " https://token.actions.githubusercontent.com",
            "token.actions.githubusercontent.com",
            "",
        ]),
    ));
    assert_refused(&changed(
        "iss",
        "Issuer",
        [
            ("a number", json!(1)),
            ("a list", json!([ISSUER])),
            ("null", Value::Null),
        ],
    ));
    assert_refused(&[("no issuer", genuine(&without(job(), "iss")), "Issuer")]);
}

#[test]
fn the_keys_of_one_issuer_verify_no_token_of_another() {
    let text = genuine(&with(job(), "iss", "https://gitlab.com"));
    let refusal = verify(&text).unwrap_err().to_string();
    assert!(
        refusal.contains("its issuer is \"https://gitlab.com\""),
        "{refusal}"
    );
}

#[test]
fn other_audiences_are_refused() {
    assert_refused(&changed(
        "aud",
        "Audience",
        texts(&[
            "https://other.example",
            "https://registry.example.com/",
            "https://registry.example.co",
            "https://registry.example.com.evil.example",
            "https://REGISTRY.example.com",
            "https://github.com/acme",
            "*",
            "",
        ]),
    ));
    assert_refused(&changed(
        "aud",
        "Audience",
        [
            ("a list without it", json!(["https://other.example"])),
            ("an empty list", json!([])),
            (
                "a list with the beginning of it",
                json!(["https://registry"]),
            ),
        ],
    ));
    assert_refused(&changed(
        "aud",
        "Claim",
        [
            ("a number", json!(1)),
            ("null", Value::Null),
            ("an object", json!({ AUDIENCE: true })),
            ("a list with a number", json!([AUDIENCE, 1])),
            ("a list in a list", json!([[AUDIENCE]])),
        ],
    ));
    assert_refused(&[("no audience", genuine(&without(job(), "aud")), "Claim")]);
}

#[test]
fn tokens_outside_their_validity_are_refused() {
    let forgery = |name: &'static str, claims: Claims, reason| (name, genuine(&claims), reason);
    assert_refused(&[
        forgery("expired", with(job(), "exp", NOW.0 - 60), "Expired"),
        forgery("expired long ago", with(job(), "exp", 1), "Expired"),
        forgery("exp 0", with(job(), "exp", 0), "Expired"),
        forgery("exp missing", without(job(), "exp"), "Claim"),
        forgery("exp null", with(job(), "exp", Value::Null), "Claim"),
        forgery(
            "exp a text",
            with(job(), "exp", (NOW.0 + 300).to_string()),
            "Claim",
        ),
        forgery("exp negative", with(job(), "exp", -1), "Claim"),
        forgery("exp of 64 bits", with(job(), "exp", u64::MAX), "Claim"),
        forgery(
            "exp of 64 bits, signed",
            with(job(), "exp", i64::MAX),
            "Claim",
        ),
        forgery("exp 1e300", with(job(), "exp", 1e300), "Claim"),
        forgery(
            "exp in milliseconds",
            with(job(), "exp", (NOW.0 + 300) * 1_000),
            "Claim",
        ),
        forgery(
            "exp with a half",
            with(job(), "exp", NOW.0 as f64 + 0.5),
            "Claim",
        ),
        forgery("exp true", with(job(), "exp", true), "Claim"),
        forgery(
            "exp a list",
            with(job(), "exp", json!([NOW.0 + 300])),
            "Claim",
        ),
        forgery(
            "nbf in the future",
            with(job(), "nbf", NOW.0 + 61),
            "NotYet",
        ),
        forgery("nbf a text", with(job(), "nbf", "0"), "Claim"),
        forgery("nbf null", with(job(), "nbf", Value::Null), "Claim"),
        forgery(
            "iat in the future",
            with(job(), "iat", NOW.0 + 61),
            "IssuedInFuture",
        ),
        forgery("iat missing", without(job(), "iat"), "Claim"),
    ]);
    let claims = Value::from(job()).to_string();
    let exp = format!("\"exp\":{}", NOW.0 + 300);
    let beyond = claims.replace(&exp, "\"exp\":1e999");
    assert_ne!(beyond, claims);
    let token = compact(&header().to_string(), &beyond, |m| RSA.sign("RS256", m));
    assert_refused(&[("exp beyond any number", token, "Malformed")]);
}

#[test]
fn tokens_without_a_subject_are_refused() {
    assert_refused(&changed(
        "sub",
        "NoSubject",
        [
            ("empty", json!("")),
            ("a space", json!(" ")),
            ("a number", json!(1)),
            ("null", Value::Null),
            ("a list", json!(["repo:acme/terraform-provider-widget"])),
        ],
    ));
    assert_refused(&[("no subject", genuine(&without(job(), "sub")), "NoSubject")]);
}
