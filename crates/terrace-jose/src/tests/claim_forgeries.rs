//! Genuine tokens for another purpose, or with a similar but different subject.

use super::forge::*;
use serde_json::{Value, json};

/// Asserts that genuine tokens with one claim changed are refused.
fn assert_changed_refused(claim: &str, reason: &str, values: impl IntoIterator<Item = Value>) {
    for value in values {
        let name = value.to_string();
        let token = genuine(&with(job(), claim, value));
        assert_refused(reason, [(name.as_str(), token)]);
    }
}

/// Asserts that a genuine token without a claim is refused.
fn assert_missing_refused(claim: &str, reason: &str) {
    assert_refused(reason, [(claim, genuine(&without(job(), claim)))]);
}

#[test]
fn other_issuers_are_refused_for_any_subject() {
    let texts = [
        "https://evil.example",
        "https://token.actions.githubusercontent.com/",
        "https://TOKEN.actions.githubusercontent.com",
        "https://token.actions.githubusercontent.com:443",
        "https://token.actions.githubusercontent.com/acme",
        "https://token.actions.githubusercontent.com.evil.example",
        "https://token.actions.githubusercontent.com@evil.example",
        "http://token.actions.githubusercontent.com",
        " https://token.actions.githubusercontent.com",
        "token.actions.githubusercontent.com",
        "https://gitlab.com",
        "",
    ];
    assert_changed_refused("iss", "its issuer is", texts.map(Value::from));
    assert_changed_refused(
        "iss",
        "its issuer is",
        [json!(1), json!([ISSUER]), Value::Null],
    );
    assert_missing_refused("iss", "its issuer is");
}

#[test]
fn other_audiences_are_refused() {
    let others = [
        json!("https://other.example"),
        json!("https://registry.example.com/"),
        json!("https://registry.example.co"),
        json!("https://registry.example.com.evil.example"),
        json!("https://REGISTRY.example.com"),
        json!("*"),
        json!(""),
        json!(["https://other.example"]),
        json!([]),
        json!(["https://registry"]),
    ];
    assert_changed_refused("aud", "its audience is", others);
    let invalid = [
        json!(1),
        Value::Null,
        json!({ AUDIENCE: true }),
        json!([AUDIENCE, 1]),
        json!([[AUDIENCE]]),
    ];
    assert_changed_refused("aud", "its claim aud is", invalid);
    assert_missing_refused("aud", "its claim aud is");
}

#[test]
fn tokens_outside_their_validity_are_refused() {
    assert_changed_refused("exp", "it expired at", [NOW.0 - 60, 1, 0].map(Value::from));
    let invalid = [
        Value::Null,
        json!((NOW.0 + 300).to_string()),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MAX),
        json!(1e300),
        json!((NOW.0 + 300) * 1_000),
        json!(NOW.0 as f64 + 0.5),
        json!(true),
        json!([NOW.0 + 300]),
    ];
    assert_changed_refused("exp", "its claim exp is", invalid);
    assert_missing_refused("exp", "its claim exp is");
    assert_changed_refused("nbf", "it is not valid before", [json!(NOW.0 + 61)]);
    assert_changed_refused("nbf", "its claim nbf is", [json!("0"), Value::Null]);
    assert_changed_refused("iat", "it was issued at", [json!(NOW.0 + 61)]);
    assert_missing_refused("iat", "its claim iat is");
    let claims = Value::from(job()).to_string();
    let exp = format!("\"exp\":{}", NOW.0 + 300);
    let beyond = claims.replace(&exp, "\"exp\":1e999");
    assert_ne!(beyond, claims);
    let token = compact(&header().to_string(), &beyond, |m| RSA.sign("RS256", m));
    assert_refused(MALFORMED, [("exp beyond any number", token)]);
}

#[test]
fn tokens_without_a_subject_are_refused() {
    let subjects = [
        json!(""),
        json!(" "),
        json!(1),
        Value::Null,
        json!([ISSUER]),
    ];
    assert_changed_refused("sub", "its claim sub is missing", subjects);
    assert_missing_refused("sub", "its claim sub is missing");
}
