//! Tokens without a valid signature, in forms that other libraries have accepted.

use super::forge::*;
use crate::TokenError;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

fn header_with(name: &str, value: impl Into<Value>) -> Value {
    let mut header = header();
    header[name] = value.into();
    header
}

fn by_rsa(header: &Value) -> String {
    by(&RSA, header, &job())
}

fn hs256(secret: &[u8]) -> String {
    let header = header_with("alg", "HS256").to_string();
    let claims = Value::from(job()).to_string();
    compact(&header, &claims, |message| {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
        mac.update(message);
        mac.finalize().into_bytes().to_vec()
    })
}

#[test]
fn unsigned_tokens_and_shared_secrets_are_refused() {
    use rsa::pkcs1::EncodeRsaPublicKey as _;
    use rsa::pkcs8::EncodePublicKey as _;
    let Signer::Rsa(key) = &*RSA else {
        panic!("it is an RSA key")
    };
    let public = key.to_public_key();
    let pem = public.to_public_key_pem(Default::default()).unwrap();
    let der = public.to_public_key_der().unwrap();
    let pkcs1 = public.to_pkcs1_der().unwrap();
    let jwk = RSA.jwk("rsa-1");
    let unsigned = |algorithm: &str| {
        let header = header_with("alg", algorithm).to_string();
        compact(&header, &Value::from(job()).to_string(), |_| Vec::new())
    };
    let mut without_algorithm = header();
    without_algorithm.as_object_mut().unwrap().remove("alg");
    assert_refused(&[
        ("alg none", unsigned("none"), "Algorithm"),
        ("alg None", unsigned("None"), "Algorithm"),
        ("alg nOnE", unsigned("nOnE"), "Algorithm"),
        ("alg empty", unsigned(""), "Algorithm"),
        (
            "alg none, signed",
            by_rsa(&header_with("alg", "none")),
            "Algorithm",
        ),
        ("HS256 with the PEM", hs256(pem.as_bytes()), "Algorithm"),
        (
            "HS256 with the trimmed PEM",
            hs256(pem.trim().as_bytes()),
            "Algorithm",
        ),
        ("HS256 with the DER", hs256(der.as_bytes()), "Algorithm"),
        (
            "HS256 with the PKCS #1 DER",
            hs256(pkcs1.as_bytes()),
            "Algorithm",
        ),
        (
            "HS256 with n",
            hs256(jwk["n"].as_str().unwrap().as_bytes()),
            "Algorithm",
        ),
        (
            "HS256 with the JWK",
            hs256(jwk.to_string().as_bytes()),
            "Algorithm",
        ),
        ("HS256 with nothing", hs256(b""), "Algorithm"),
        ("alg missing", by_rsa(&without_algorithm), "Algorithm"),
        (
            "alg null",
            by_rsa(&header_with("alg", Value::Null)),
            "Algorithm",
        ),
        (
            "alg a list",
            by_rsa(&header_with("alg", json!(["RS256"]))),
            "Algorithm",
        ),
        (
            "alg in lower case",
            by_rsa(&header_with("alg", "rs256")),
            "Algorithm",
        ),
        (
            "alg with a space",
            by_rsa(&header_with("alg", "RS256 ")),
            "Algorithm",
        ),
        (
            "alg PS256",
            by_rsa(&header_with("alg", "PS256")),
            "Algorithm",
        ),
        ("alg RS1", by_rsa(&header_with("alg", "RS1")), "Algorithm"),
        ("alg dir", by_rsa(&header_with("alg", "dir")), "Algorithm"),
    ]);
}

#[test]
fn tokens_not_signed_by_the_named_key_are_refused() {
    let by_other = |header: &Value| by(&OTHER_RSA, header, &job());
    let of = |algorithm: &str, id: &str| json!({ "alg": algorithm, "kid": id });
    let mut no_id = header();
    no_id.as_object_mut().unwrap().remove("kid");
    assert_refused(&[
        (
            "another key with the same ID",
            by_other(&header()),
            "Signature",
        ),
        (
            "the ID of the other key",
            by_rsa(&of("RS256", "rsa-2")),
            "Signature",
        ),
        ("an unknown ID", by_rsa(&of("RS256", "rsa-3")), "UnknownKey"),
        (
            "an ID in upper case",
            by_rsa(&of("RS256", "RSA-1")),
            "UnknownKey",
        ),
        (
            "an ID with a path",
            by_rsa(&of("RS256", "../../dev/null")),
            "UnknownKey",
        ),
        ("an empty ID", by_rsa(&of("RS256", "")), "UnknownKey"),
        (
            "an ID that is a number",
            by_rsa(&header_with("kid", 1)),
            "Malformed",
        ),
        (
            "an ID that is null",
            by_rsa(&header_with("kid", Value::Null)),
            "Malformed",
        ),
        ("no ID and two RSA keys", by_rsa(&no_id), "AmbiguousKey"),
        (
            "RS256 with an EC key",
            by_rsa(&of("RS256", "p256")),
            "UnknownKey",
        ),
        (
            "RS256 with an Ed25519 key",
            by_rsa(&of("RS256", "ed25519")),
            "UnknownKey",
        ),
        (
            "ES256 with an RSA key",
            by(&P256, &of("ES256", "rsa-1"), &job()),
            "UnknownKey",
        ),
        (
            "ES256 with P-384",
            by(&P384, &of("ES256", "p384"), &job()),
            "UnknownKey",
        ),
        (
            "ES384 with P-256",
            by(&P256, &of("ES384", "p256"), &job()),
            "UnknownKey",
        ),
        (
            "EdDSA with P-256",
            by(&ED25519, &of("EdDSA", "p256"), &job()),
            "UnknownKey",
        ),
        (
            "RS512 that is RS256",
            {
                let claims = Value::from(job()).to_string();
                let header = of("RS512", "rsa-1").to_string();
                compact(&header, &claims, |message| RSA.sign("RS256", message))
            },
            "Signature",
        ),
    ]);
}

#[test]
fn keys_and_extensions_in_a_header_are_refused_or_ignored() {
    let by_other = |header: &Value| by(&OTHER_RSA, header, &job());
    assert_refused(&[
        (
            "jwk",
            by_other(&header_with("jwk", OTHER_RSA.jwk("rsa-1"))),
            "Signature",
        ),
        (
            "jku",
            by_other(&header_with("jku", "https://evil.example/jwks")),
            "Signature",
        ),
        (
            "x5u",
            by_other(&header_with("x5u", "https://evil.example/c.pem")),
            "Signature",
        ),
        (
            "x5c",
            by_other(&header_with("x5c", json!(["MIIB"]))),
            "Signature",
        ),
        (
            "crit",
            by_rsa(&header_with("crit", json!(["exp"]))),
            "Critical",
        ),
        (
            "crit, empty",
            by_rsa(&header_with("crit", json!([]))),
            "Critical",
        ),
        (
            "crit for b64",
            {
                let mut header = header_with("crit", json!(["b64"]));
                header["b64"] = Value::from(false);
                by_rsa(&header)
            },
            "Critical",
        ),
        (
            "typ of a logout token",
            by_rsa(&header_with("typ", "logout+jwt")),
            "Type",
        ),
        (
            "typ of a proof",
            by_rsa(&header_with("typ", "dpop+jwt")),
            "Type",
        ),
        (
            "typ that is a list",
            by_rsa(&header_with("typ", json!(["JWT"]))),
            "Type",
        ),
    ]);
}

/// Returns a valid token with its signature changed.
fn resigned(signer: &Signer, header: &Value, change: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let algorithm = header["alg"].as_str().unwrap();
    let claims = Value::from(job()).to_string();
    compact(&header.to_string(), &claims, |message| {
        change(signer.sign(algorithm, message))
    })
}

#[test]
fn malformed_signatures_are_refused() {
    let es256 = json!({ "alg": "ES256", "kid": "p256" });
    let es384 = json!({ "alg": "ES384", "kid": "p384" });
    let eddsa = json!({ "alg": "EdDSA", "kid": "ed25519" });
    let rsa = |change: fn(Vec<u8>) -> Vec<u8>| resigned(&RSA, &header(), change);
    let p256 = |change: fn(Vec<u8>) -> Vec<u8>| resigned(&P256, &es256, change);
    let ed = |change: fn(Vec<u8>) -> Vec<u8>| resigned(&ED25519, &eddsa, change);
    let shortened = |mut signature: Vec<u8>| {
        signature.pop();
        signature
    };
    let lengthened = |signature: Vec<u8>| [signature, vec![0]].concat();
    let padded = |signature: Vec<u8>| [vec![0], signature].concat();
    let zeros = |signature: Vec<u8>| vec![0; signature.len()];
    assert_refused(&[
        ("RS256, empty", rsa(|_| Vec::new()), "Signature"),
        ("RS256, one byte", rsa(|_| vec![1]), "Signature"),
        ("RS256, truncated", rsa(shortened), "Signature"),
        ("RS256, with a byte appended", rsa(lengthened), "Signature"),
        ("RS256, with a zero before", rsa(padded), "Signature"),
        ("RS256, zero", rsa(zeros), "Signature"),
        ("RS256, 0xff", rsa(|s| vec![0xff; s.len()]), "Signature"),
        ("ES256, empty", p256(|_| Vec::new()), "Signature"),
        ("ES256, r = 0 and s = 0", p256(zeros), "Signature"),
        (
            "ES256, r = 1 and s = 1",
            p256(|_| {
                let mut one = vec![0; 64];
                (one[31], one[63]) = (1, 1);
                one
            }),
            "Signature",
        ),
        (
            "ES256, r = n and s = n",
            p256(|_| {
                let n = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
                let n = rsa::BigUint::parse_bytes(n.as_bytes(), 16)
                    .unwrap()
                    .to_bytes_be();
                [n.clone(), n].concat()
            }),
            "Signature",
        ),
        (
            "ES256, in DER",
            p256(|s| {
                let signature = p256::ecdsa::Signature::from_slice(&s).unwrap();
                signature.to_der().as_bytes().to_vec()
            }),
            "Signature",
        ),
        ("ES256, truncated", p256(shortened), "Signature"),
        ("ES256, with a byte appended", p256(lengthened), "Signature"),
        (
            "ES256, halves exchanged",
            p256(|s| [&s[32..], &s[..32]].concat()),
            "Signature",
        ),
        ("ES384, zero", resigned(&P384, &es384, zeros), "Signature"),
        (
            "ES384 as long as ES256",
            resigned(&P384, &es384, |s| s[..64].to_vec()),
            "Signature",
        ),
        ("EdDSA, empty", ed(|_| Vec::new()), "Signature"),
        ("EdDSA, zero", ed(zeros), "Signature"),
        ("EdDSA, truncated", ed(shortened), "Signature"),
        ("EdDSA, with a byte appended", ed(lengthened), "Signature"),
        (
            "EdDSA, s not reduced",
            ed(|mut s| {
                s[63] |= 0xf0;
                s
            }),
            "Signature",
        ),
    ]);
}

#[test]
fn leading_zeros_count_toward_the_length_of_a_signature() {
    let es256 = json!({ "alg": "ES256", "kid": "p256" });
    let longer = |s: Vec<u8>| [&s[..32], &[0], &s[32..]].concat();
    let shorter = |signature: Vec<u8>| {
        assert_eq!(signature[0], 0, "look for another run_id");
        signature[1..].to_vec()
    };
    // One of 256 RSA signatures starts with a zero: with this run ID it does.
    let claims = Value::from(with(job(), "run_id", 42)).to_string();
    let rsa = compact(&header().to_string(), &claims, |message| {
        shorter(RSA.sign("RS256", message))
    });
    assert_refused(&[
        ("RS256, without its first zero", rsa, "Signature"),
        (
            "ES256, with a zero before s",
            resigned(&P256, &es256, longer),
            "Signature",
        ),
    ]);
}

#[test]
fn signatures_by_a_small_order_key_are_refused() {
    let mut identity = [0; 32];
    identity[0] = 1;
    let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "weak", "x": encode(identity) });
    let keys = keys_of(ISSUER, vec![jwk]);
    let header = json!({ "alg": "EdDSA", "kid": "weak" }).to_string();
    let claims = Value::from(job()).to_string();
    let text = compact(&header, &claims, |_| [identity, [0; 32]].concat());
    assert_eq!(verify_with(&text, &keys), Err(TokenError::Signature));
}

#[test]
fn forms_other_than_three_canonical_parts_are_refused() {
    let good = genuine(&job());
    let [head, body, signature] = good.split('.').collect::<Vec<_>>()[..] else {
        panic!("it has three parts")
    };
    let claims = Value::from(job()).to_string();
    let twice = claims.replacen('{', r#"{"repository":"evil/evil","#, 1);
    let escaped = claims.replacen('{', r#"{"\u0072epository":"evil/evil","#, 1);
    let head_twice = header().to_string().replacen('{', r#"{"alg":"none","#, 1);
    let signed = |header: &str, claims: &str| compact(header, claims, |m| RSA.sign("RS256", m));
    let stray_bits = {
        // 256 bytes are 342 characters, and the last one has four meaningless bits.
        let last = signature.chars().last().unwrap();
        let next = char::from(u8::try_from(last).unwrap() + 1);
        format!(
            "{head}.{body}.{}{next}",
            signature.strip_suffix(last).unwrap()
        )
    };
    let json_form = json!({ "payload": body, "protected": head, "signature": signature });
    let general = json!({ "payload": body, "signatures": [
        { "protected": head, "signature": signature },
    ]});
    assert!(verify(&good).is_ok());
    assert_refused(&[
        ("nothing", String::new(), "Malformed"),
        ("two dots", "..".to_owned(), "Malformed"),
        ("a word", "token".to_owned(), "Malformed"),
        ("two parts", format!("{head}.{body}"), "Malformed"),
        ("no header", format!(".{body}.{signature}"), "Malformed"),
        ("no claims", format!("{head}..{signature}"), "Malformed"),
        ("four parts", format!("{good}.{signature}"), "Malformed"),
        (
            "five parts, as if encrypted",
            format!("{head}.e30.e30.{body}.{signature}"),
            "Malformed",
        ),
        ("a dot appended", format!("{good}."), "Malformed"),
        (
            "the flattened JSON form",
            json_form.to_string(),
            "Malformed",
        ),
        ("the general JSON form", general.to_string(), "Malformed"),
        ("padding", format!("{good}=="), "Malformed"),
        (
            "padding in the header",
            format!("{head}=.{body}.{signature}"),
            "Malformed",
        ),
        ("stray bits", stray_bits, "Malformed"),
        ("a space appended", format!("{good} "), "Malformed"),
        ("a space before", format!(" {good}"), "Malformed"),
        (
            "a line break within",
            good.replacen("eyJ", "eyJ\n", 1),
            "Malformed",
        ),
        (
            "the other base64",
            format!("{head}.{body}.+/{}", signature.get(2..).unwrap()),
            "Malformed",
        ),
        ("Bearer before it", format!("Bearer {good}"), "Malformed"),
        (
            "a claim twice",
            signed(&header().to_string(), &twice),
            "Malformed",
        ),
        (
            "a claim twice, escaped",
            signed(&header().to_string(), &escaped),
            "Malformed",
        ),
        ("alg twice", signed(&head_twice, &claims), "Malformed"),
        ("header a list", signed("[]", &claims), "Malformed"),
        (
            "header not UTF-8",
            format!("{}.{body}.{signature}", encode(b"{\"alg\":\"\xff\"}")),
            "Malformed",
        ),
        (
            "claims a list",
            signed(&header().to_string(), "[]"),
            "Malformed",
        ),
        (
            "claims two objects",
            signed(&header().to_string(), &format!("{claims}{{}}")),
            "Malformed",
        ),
        (
            "claims nested deeply",
            signed(&header().to_string(), &"[".repeat(5_000)),
            "Malformed",
        ),
        (
            "a header of another token",
            {
                let other = by(&RSA, &header_with("alg", "RS384"), &job());
                format!("{}.{body}.{signature}", other.split('.').next().unwrap())
            },
            "Signature",
        ),
        (
            "claims of another token",
            {
                let other = encode(Value::from(with(job(), "run_id", "1")).to_string());
                format!("{head}.{other}.{signature}")
            },
            "Signature",
        ),
        ("a megabyte", "a".repeat(1 << 20), "TooLong"),
    ]);
}

#[test]
fn errors_that_newer_keys_could_resolve_are_marked() {
    let unknown = verify(&by_rsa(&json!({ "alg": "RS256", "kid": "new" }))).unwrap_err();
    assert!(unknown.is_cured_by_newer_keys());
    let wrong = verify(&by(&OTHER_RSA, &header(), &job())).unwrap_err();
    assert!(wrong.is_cured_by_newer_keys());
    let unsigned = verify(&by_rsa(&json!({ "alg": "none" }))).unwrap_err();
    assert!(!unsigned.is_cured_by_newer_keys());
}
