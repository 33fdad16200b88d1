//! Tokens of real issuers' forms are accepted.

use super::forge::*;
use serde_json::{Value, json};

#[test]
fn every_allowed_algorithm_is_verified() {
    for (signer, algorithm, id) in [
        (&RSA, "RS256", "rsa-1"),
        (&OTHER_RSA, "RS256", "rsa-2"),
        (&RSA, "RS384", "rsa-1"),
        (&RSA, "RS512", "rsa-1"),
        (&P256, "ES256", "p256"),
        (&P384, "ES384", "p384"),
        (&ED25519, "EdDSA", "ed25519"),
    ] {
        let header = json!({ "alg": algorithm, "kid": id });
        let granted = verify(&by(signer, &header, &job()));
        assert!(granted.is_ok(), "{algorithm}: {:?}", granted.unwrap_err());
    }
}

#[test]
fn a_token_without_a_key_id_is_verified_with_the_only_key_that_fits() {
    for (signer, algorithm) in [(&P256, "ES256"), (&P384, "ES384"), (&ED25519, "EdDSA")] {
        let token = by(signer, &json!({ "alg": algorithm }), &job());
        assert!(verify(&token).is_ok(), "{algorithm}");
    }
}

#[test]
fn a_token_is_accepted_with_type_jwt_or_without_a_type() {
    for kind in ["JWT", "jwt", "at+jwt"] {
        let mut header = header();
        header["typ"] = Value::from(kind);
        assert!(verify(&by(&RSA, &header, &job())).is_ok(), "{kind}");
    }
}

#[test]
fn keys_in_the_header_are_ignored() {
    let mut header = header();
    header["jwk"] = OTHER_RSA.jwk("rsa-1");
    header["jku"] = Value::from("https://evil.example/jwks");
    header["x5u"] = Value::from("https://evil.example/chain.pem");
    header["x5c"] = json!(["MIIB"]);
    assert!(verify(&by(&RSA, &header, &job())).is_ok());
}

#[test]
fn one_of_several_audiences_is_enough() {
    let claims = with(job(), "aud", json!(["https://other.example", AUDIENCE]));
    assert!(verify(&genuine(&claims)).is_ok());
}

#[test]
fn a_clock_difference_of_a_minute_is_accepted() {
    for (name, value) in [
        ("exp", NOW.0 - 59),
        ("nbf", NOW.0 + 60),
        ("iat", NOW.0 + 60),
    ] {
        let claims = with(job(), name, value);
        assert!(verify(&genuine(&claims)).is_ok(), "{name}");
    }
}

#[test]
fn whole_seconds_written_as_fractions_and_a_missing_nbf_are_accepted() {
    let claims = with(job(), "exp", (NOW.0 + 300) as f64);
    let claims = without(with(claims, "iat", (NOW.0 - 10) as f64), "nbf");
    let token = genuine(&claims);
    assert_eq!(verify(&token).unwrap().expires().0, NOW.0 + 300);
}
