//! The selection of usable keys from a set.

use super::forge::*;
use crate::{IssuerKeys, limits};
use serde_json::{Value, json};

fn parse(body: &str) -> Result<IssuerKeys, String> {
    IssuerKeys::parse(&ISSUER.parse().unwrap(), body.as_bytes())
}

/// Returns a set with only this key.
fn alone(key: &Value) -> Result<IssuerKeys, String> {
    parse(&json!({ "keys": [key] }).to_string())
}

fn changed(signer: &Signer, name: &str, value: impl Into<Value>) -> Value {
    let mut key = signer.jwk("key");
    key[name] = value.into();
    key
}

fn rsa_of_bits(bits: usize) -> Value {
    let mut modulus = vec![0xff; bits / 8];
    modulus[0] >>= bits.next_multiple_of(8) - bits;
    changed(&RSA, "n", encode(modulus))
}

#[test]
fn keys_of_each_kind_are_read_and_others_skipped() {
    for signer in [&RSA, &P256, &P384, &ED25519] {
        let unknown = json!({ "kty": "AKP", "alg": "ML-DSA-44", "pub": "AAAA" });
        let keys = json!({ "keys": [unknown, 1, null, [], {}, signer.jwk("key")], "more": true });
        assert!(parse(&keys.to_string()).is_ok());
    }
}

#[test]
fn keys_for_other_uses_and_unusable_keys_are_skipped() {
    let Value::String(x) = &P256.jwk("key")["x"] else {
        panic!("x is a text")
    };
    let mut infinity = changed(&P256, "x", encode([0; 32]));
    infinity["y"] = Value::from(encode([0; 32]));
    for key in [
        json!({ "kty": "oct", "k": "AAAA", "alg": "HS256" }),
        json!({ "n": "AQAB", "e": "AQAB" }),
        changed(&RSA, "kty", "rsa"),
        changed(&RSA, "use", "enc"),
        changed(&RSA, "use", json!(["sig"])),
        changed(&RSA, "use", Value::Null),
        changed(&RSA, "key_ops", json!(["sign", "encrypt"])),
        changed(&RSA, "key_ops", "verify"),
        changed(&RSA, "kid", 1),
        changed(&RSA, "alg", json!(["RS256"])),
        rsa_of_bits(1024),
        rsa_of_bits(2047),
        rsa_of_bits(8200),
        changed(&RSA, "n", ""),
        // An even modulus, and one with padding.
        changed(&RSA, "n", encode([0xfe; 256])),
        changed(&RSA, "n", format!("{}=", encode([0xff; 256]))),
        // The exponents 1 and 0, an even one, and one of 33 bits.
        changed(&RSA, "e", "AQ"),
        changed(&RSA, "e", "AA"),
        changed(&RSA, "e", encode([1, 0, 0])),
        changed(&RSA, "e", encode([1, 0, 0, 0, 1])),
        changed(&RSA, "e", 65_537),
        changed(&P256, "crv", "P-521"),
        changed(&P256, "crv", "P-384"),
        changed(&P256, "crv", "secp256k1"),
        // A point off the curve, and that at infinity.
        changed(&P256, "y", x.as_str()),
        infinity,
        changed(&P256, "x", encode([1; 31])),
        changed(&P256, "x", format!("AA{x}")),
        changed(&ED25519, "crv", "X25519"),
        changed(&ED25519, "x", encode([1; 31])),
    ] {
        let error = alone(&key).unwrap_err();
        assert_eq!(error, "none of the 1 keys can verify signatures", "{key}");
    }
    assert!(alone(&rsa_of_bits(2048)).is_ok());
    assert!(alone(&rsa_of_bits(8192)).is_ok());
    assert!(alone(&changed(&RSA, "key_ops", json!(["sign", "verify"]))).is_ok());
}

#[test]
fn a_key_is_used_only_with_the_algorithm_that_it_declares() {
    let fits = |declared: &str| {
        let keys = keys_of(ISSUER, vec![changed(&RSA, "alg", declared)]);
        let text = by(&RSA, &json!({ "alg": "RS256", "kid": "key" }), &job());
        verify_with(&text, &keys).is_ok()
    };
    assert!(fits("RS256"));
    for other in ["RS512", "RSA-OAEP", "HS256", "none", ""] {
        assert!(!fits(other), "{other:?}");
    }
}

#[test]
fn two_keys_with_one_id_are_ambiguous_only_if_both_fit() {
    let text = by(&RSA, &json!({ "alg": "RS256", "kid": "key" }), &job());
    let verify = |others: Vec<Value>| {
        let keys = [vec![RSA.jwk("key")], others].concat();
        verify_with(&text, &keys_of(ISSUER, keys))
    };
    assert!(verify(vec![P256.jwk("key"), ED25519.jwk("key")]).is_ok());
    let refusal = verify(vec![OTHER_RSA.jwk("key")]).unwrap_err().to_string();
    assert!(refusal.contains("several keys for RS256"), "{refusal}");
}

#[test]
fn a_leading_zero_of_a_modulus_is_ignored() {
    let Signer::Rsa(key) = &*RSA else {
        panic!("it is an RSA key")
    };
    let n = rsa::traits::PublicKeyParts::n(&**key).to_bytes_be();
    let keys = keys_of(
        ISSUER,
        vec![changed(&RSA, "n", encode([vec![0], n].concat()))],
    );
    let text = by(&RSA, &json!({ "alg": "RS256", "kid": "key" }), &job());
    assert!(verify_with(&text, &keys).is_ok());
}

#[test]
fn a_document_that_is_not_a_key_set_is_refused() {
    let many = vec![RSA.jwk("key"); limits::KEYS + 1];
    let many = json!({ "keys": many }).to_string();
    let long = " ".repeat(limits::KEYS_BYTES + 1);
    for (body, reason) in [
        ("", "not valid JSON"),
        ("[]x", "not valid JSON"),
        ("{\"keys\":[],\"keys\":[]}", "not valid JSON"),
        ("null", "no list"),
        ("{\"keys\":{}}", "no list"),
        ("{\"keys\":[]}", "none of the 0 keys"),
        (&many, "there are 101 keys"),
        (&long, "bytes long"),
    ] {
        let error = parse(body).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}
