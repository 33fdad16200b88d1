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
    let name = |algorithm: Value| by_rsa(&header_with("alg", algorithm));
    assert_refused(
        "its algorithm is",
        [
            ("alg none", unsigned("none")),
            ("alg nOnE", unsigned("nOnE")),
            ("alg empty", unsigned("")),
            ("alg none, signed", name(json!("none"))),
            ("HS256 with the PEM", hs256(pem.as_bytes())),
            ("HS256 with the trimmed PEM", hs256(pem.trim().as_bytes())),
            ("HS256 with the DER", hs256(der.as_bytes())),
            ("HS256 with the PKCS #1 DER", hs256(pkcs1.as_bytes())),
            ("HS256 with the JWK", hs256(jwk.to_string().as_bytes())),
            ("HS256 with nothing", hs256(b"")),
            ("alg missing", by_rsa(&without_algorithm)),
            ("alg null", name(Value::Null)),
            ("alg a list", name(json!(["RS256"]))),
            ("alg in lower case", name(json!("rs256"))),
            ("alg with a space", name(json!("RS256 "))),
            ("alg PS256", name(json!("PS256"))),
            ("alg RS1", name(json!("RS1"))),
        ],
    );
}

#[test]
fn tokens_not_signed_by_the_named_key_are_refused() {
    let by_other = |header: &Value| by(&OTHER_RSA, header, &job());
    let of = |algorithm: &str, id: &str| json!({ "alg": algorithm, "kid": id });
    let mut no_id = header();
    no_id.as_object_mut().unwrap().remove("kid");
    let rs512 = of("RS512", "rsa-1").to_string();
    let claims = Value::from(job()).to_string();
    let rs256 = compact(&rs512, &claims, |message| RSA.sign("RS256", message));
    assert_refused(
        "its signature is invalid",
        [
            ("another key with the same ID", by_other(&header())),
            ("the ID of the other key", by_rsa(&of("RS256", "rsa-2"))),
            ("RS512 that is RS256", rs256),
        ],
    );
    let es256 = by(&P256, &of("ES256", "rsa-1"), &job());
    assert_refused(
        "the issuer has no key for",
        [
            ("an unknown ID", by_rsa(&of("RS256", "rsa-3"))),
            ("an ID in upper case", by_rsa(&of("RS256", "RSA-1"))),
            ("an ID with a path", by_rsa(&of("RS256", "../../dev/null"))),
            ("an empty ID", by_rsa(&of("RS256", ""))),
            ("RS256 with an EC key", by_rsa(&of("RS256", "p256"))),
            ("RS256 with an Ed25519 key", by_rsa(&of("RS256", "ed25519"))),
            ("ES256 with an RSA key", es256),
            ("ES256 with P-384", by(&P384, &of("ES256", "p384"), &job())),
            ("ES384 with P-256", by(&P256, &of("ES384", "p256"), &job())),
            (
                "EdDSA with P-256",
                by(&ED25519, &of("EdDSA", "p256"), &job()),
            ),
        ],
    );
    let ids = [json!(1), Value::Null].map(|id| ("not a text", by_rsa(&header_with("kid", id))));
    assert_refused(MALFORMED, ids);
    assert_refused(
        "the issuer has several keys for RS256 with no ID",
        [("no ID, two keys", by_rsa(&no_id))],
    );
}

#[test]
fn keys_and_extensions_in_a_header_are_refused_or_ignored() {
    let by_other = |name, value| (name, by(&OTHER_RSA, &header_with(name, value), &job()));
    let by_own = |name, value| (name, by_rsa(&header_with(name, value)));
    assert_refused(
        "its signature is invalid",
        [
            by_other("jwk", OTHER_RSA.jwk("rsa-1")),
            by_other("jku", json!("https://evil.example/jwks")),
            by_other("x5u", json!("https://evil.example/c.pem")),
            by_other("x5c", json!(["MIIB"])),
        ],
    );
    let criticals = [json!(["exp"]), json!([]), json!(["b64"])];
    assert_refused(
        "its header has \"crit\"",
        criticals.map(|names| by_own("crit", names)),
    );
    let types = [json!("logout+jwt"), json!("dpop+jwt"), json!(["JWT"])];
    assert_refused("its type is", types.map(|name| by_own("typ", name)));
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
    let of_ones = |_: Vec<u8>| {
        let mut ones = vec![0; 64];
        (ones[31], ones[63]) = (1, 1);
        ones
    };
    let of_n = |_: Vec<u8>| {
        let n = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
        let n = rsa::BigUint::parse_bytes(n.as_bytes(), 16).unwrap();
        n.to_bytes_be().repeat(2)
    };
    let in_der = |s: Vec<u8>| {
        let signature = p256::ecdsa::Signature::from_slice(&s).unwrap();
        signature.to_der().as_bytes().to_vec()
    };
    let not_reduced = |mut s: Vec<u8>| {
        s[63] |= 0xf0;
        s
    };
    let es384 = |change: fn(Vec<u8>) -> Vec<u8>| resigned(&P384, &es384, change);
    assert_refused(
        "its signature is invalid",
        [
            ("RS256, empty", rsa(|_| Vec::new())),
            ("RS256, one byte", rsa(|_| vec![1])),
            ("RS256, truncated", rsa(shortened)),
            ("RS256, with a byte appended", rsa(lengthened)),
            ("RS256, with a zero before", rsa(padded)),
            ("RS256, zero", rsa(zeros)),
            ("RS256, 0xff", rsa(|s| vec![0xff; s.len()])),
            ("ES256, empty", p256(|_| Vec::new())),
            ("ES256, r = 0 and s = 0", p256(zeros)),
            ("ES256, r = 1 and s = 1", p256(of_ones)),
            ("ES256, r = n and s = n", p256(of_n)),
            ("ES256, in DER", p256(in_der)),
            ("ES256, truncated", p256(shortened)),
            ("ES256, with a byte appended", p256(lengthened)),
            ("ES256, exchanged", p256(|s| [&s[32..], &s[..32]].concat())),
            ("ES384, zero", es384(zeros)),
            ("ES384 as long as ES256", es384(|s| s[..64].to_vec())),
            ("EdDSA, empty", ed(|_| Vec::new())),
            ("EdDSA, zero", ed(zeros)),
            ("EdDSA, truncated", ed(shortened)),
            ("EdDSA, with a byte appended", ed(lengthened)),
            ("EdDSA, s not reduced", ed(not_reduced)),
        ],
    );
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
    let es256 = resigned(&P256, &es256, longer);
    assert_refused(
        "its signature is invalid",
        [("RS256", rsa), ("ES256", es256)],
    );
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
    let refused = verify_with(&text, &keys).unwrap_err();
    assert_is(&refused, "its signature is invalid", "the weak key");
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
    let of_rsa = |claims: &str| signed(&header().to_string(), claims);
    let tail = signature.get(2..).unwrap();
    assert!(verify(&good).is_ok());
    assert_refused(
        MALFORMED,
        [
            ("nothing", String::new()),
            ("two dots", "..".to_owned()),
            ("a word", "token".to_owned()),
            ("two parts", format!("{head}.{body}")),
            ("no header", format!(".{body}.{signature}")),
            ("no claims", format!("{head}..{signature}")),
            ("four parts", format!("{good}.{signature}")),
            (
                "as if encrypted",
                format!("{head}.e30.e30.{body}.{signature}"),
            ),
            ("a dot appended", format!("{good}.")),
            ("the flattened JSON form", json_form.to_string()),
            ("padding", format!("{good}==")),
            (
                "padding in the header",
                format!("{head}=.{body}.{signature}"),
            ),
            ("stray bits", stray_bits),
            ("a space appended", format!("{good} ")),
            ("a space before", format!(" {good}")),
            ("a line break within", good.replacen("eyJ", "eyJ\n", 1)),
            ("the other base64", format!("{head}.{body}.+/{tail}")),
            ("Bearer before it", format!("Bearer {good}")),
            ("a claim twice", of_rsa(&twice)),
            ("a claim twice, escaped", of_rsa(&escaped)),
            ("alg twice", signed(&head_twice, &claims)),
            ("header a list", signed("[]", &claims)),
            ("header not UTF-8", {
                format!("{}.{body}.{signature}", encode(b"{\"alg\":\"\xff\"}"))
            }),
            ("claims a list", of_rsa("[]")),
            ("claims two objects", of_rsa(&format!("{claims}{{}}"))),
            ("claims nested deeply", of_rsa(&"[".repeat(5_000))),
        ],
    );
    let other = by(&RSA, &header_with("alg", "RS384"), &job());
    let other_head = other.split('.').next().unwrap();
    let other_body = encode(Value::from(with(job(), "run_id", "1")).to_string());
    assert_refused(
        "its signature is invalid",
        [
            ("another header", format!("{other_head}.{body}.{signature}")),
            ("other claims", format!("{head}.{other_body}.{signature}")),
        ],
    );
    assert_refused("bytes long", [("a megabyte", "a".repeat(1 << 20))]);
}

#[test]
fn errors_that_newer_keys_could_resolve_are_marked() {
    let unknown = verify(&by_rsa(&json!({ "alg": "RS256", "kid": "new" }))).unwrap_err();
    assert!(matches!(unknown, TokenError::Key(_)));
    let wrong = verify(&by(&OTHER_RSA, &header(), &job())).unwrap_err();
    assert!(matches!(wrong, TokenError::Key(_)));
    let mut no_id = header();
    no_id.as_object_mut().unwrap().remove("kid");
    let ambiguous = verify(&by_rsa(&no_id)).unwrap_err();
    assert!(matches!(ambiguous, TokenError::Key(_)));
    let unsigned = verify(&by_rsa(&json!({ "alg": "none" }))).unwrap_err();
    assert!(matches!(unsigned, TokenError::Token(_)));
}
