//! An issuer with a key of each kind, and the tools of an attacker.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::hazmat::PrehashSigner as _;
use rsa::traits::PublicKeyParts as _;
use rsa::{BigUint, Pkcs1v15Sign, RsaPrivateKey};
use serde_json::{Map, Value, json};
use sha2::Digest as _;

use crate::{Claims, IssuerKeys, TokenError, UnverifiedToken};
use terrace_base::time::UnixTime;

pub(super) const ISSUER: &str = "https://token.actions.githubusercontent.com";
pub(super) const AUDIENCE: &str = "https://registry.example.com";
pub(super) const NOW: UnixTime = UnixTime(1_800_000_000);

/// A private key.
pub(super) enum Signer {
    Ed25519(ed25519_dalek::SigningKey),
    P256(p256::ecdsa::SigningKey),
    P384(p384::ecdsa::SigningKey),
    Rsa(Box<RsaPrivateKey>),
}

pub(super) static RSA: LazyLock<Signer> = LazyLock::new(|| rsa(PRIMES[0]));
pub(super) static OTHER_RSA: LazyLock<Signer> = LazyLock::new(|| rsa(PRIMES[1]));
pub(super) static P256: LazyLock<Signer> =
    LazyLock::new(|| Signer::P256(p256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap()));
pub(super) static P384: LazyLock<Signer> =
    LazyLock::new(|| Signer::P384(p384::ecdsa::SigningKey::from_slice(&[7; 48]).unwrap()));
pub(super) static ED25519: LazyLock<Signer> =
    LazyLock::new(|| Signer::Ed25519(ed25519_dalek::SigningKey::from_bytes(&[7; 32])));

/// The primes were created for these tests by `openssl genrsa 2048`.
const PRIMES: [[&str; 2]; 2] = [
    [
        "fdefa5fe791a34ba3e205451633df4ea727670263bb303f9f3a63c03b56ffaacf5c713dc27330fc48840c6757b114332c0dbf0aee8fcb418eafa7c5031c0bc565c53ce4c20a44e1dc5ef595ec9242c63bacfce31567cc7e6ce58451040230c9b832b4cca5a41addc8d76846a34f4699d999cfcba539732055ba5788e06fbeb53",
        "e4a886bed31c92c31448e8e27e730632da4f26e609539fc8bb84135dfb119391beba54695cbd132f6df35aee0abb6f1905098e1e7918b636e68c9305e73d9c8e57518828aae57bebb17920ad1716abd74317c5524e7e78ad7865ef24fbbf5e59694014a95f7beee91ffd430f763752ad86f9c389fa55d2d841abc09217e865f9",
    ],
    [
        "e11236e235c074d5761d5f6e408a3c8210f1be4624da7d7ec41f53f1e011704d3431a0aae563553d315583042bdae0e893d2ecac10728087d1affbc53844a8c97a4d8722f7e54302fedef7df46eda11aa6f2d859d68058a8c70dc93844091a62115a667d634777f445c811d82a918c6efcc8397d69862dd637da924bb5e7fcd5",
        "cd3b3ba3c9bb81567ec9033bc83c7b8b513dd5ca6f60c46b3e61f875bfd29fc2bbedcd1c11edb2372ea98052fc915c73cc155b0c2cb93305a07cad40d7f74f81f05119dc380a09e3694eafe9001f3de3b989fad96fade474d390f4b48487760060d0b247c85cac9398fa921c923564315b7d847a6082379bcf056ce339d79407",
    ],
];

fn rsa(primes: [&str; 2]) -> Signer {
    let primes = primes.map(|hex| BigUint::parse_bytes(hex.as_bytes(), 16).unwrap());
    let key = RsaPrivateKey::from_primes(primes.to_vec(), BigUint::from(65_537_u32));
    Signer::Rsa(Box::new(key.unwrap()))
}

pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    /// Returns the public key, as an issuer publishes it.
    pub(super) fn jwk(&self, id: &str) -> Value {
        match self {
            Self::Ed25519(key) => json!({
                "kty": "OKP", "crv": "Ed25519", "kid": id, "alg": "EdDSA", "use": "sig",
                "x": encode(key.verifying_key().as_bytes()),
            }),
            Self::P256(key) => ec(
                "P-256",
                id,
                key.verifying_key().to_sec1_point(false).as_bytes(),
            ),
            Self::P384(key) => ec(
                "P-384",
                id,
                key.verifying_key().to_sec1_point(false).as_bytes(),
            ),
            Self::Rsa(key) => json!({
                "kty": "RSA", "kid": id, "use": "sig",
                "n": encode(key.n().to_bytes_be()), "e": encode(key.e().to_bytes_be()),
            }),
        }
    }

    /// Returns a signature with the algorithm of the key, or with this algorithm for RSA.
    pub(super) fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        use ed25519_dalek::Signer as _;
        let sha256 = sha2::Sha256::digest(message);
        let sha384 = sha2::Sha384::digest(message);
        let sha512 = sha2::Sha512::digest(message);
        match self {
            Self::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
            Self::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign_prehash(&sha256).unwrap();
                signature.to_bytes().to_vec()
            }
            Self::P384(key) => {
                let signature: p384::ecdsa::Signature = key.sign_prehash(&sha384).unwrap();
                signature.to_bytes().to_vec()
            }
            Self::Rsa(key) => match algorithm {
                "RS384" => key.sign(Pkcs1v15Sign::new::<rsa::sha2::Sha384>(), &sha384),
                "RS512" => key.sign(Pkcs1v15Sign::new::<rsa::sha2::Sha512>(), &sha512),
                _ => key.sign(Pkcs1v15Sign::new::<rsa::sha2::Sha256>(), &sha256),
            }
            .unwrap(),
        }
    }
}

fn ec(curve: &str, id: &str, point: &[u8]) -> Value {
    let (x, y) = point[1..].split_at(point.len() / 2);
    json!({ "kty": "EC", "crv": curve, "kid": id, "use": "sig", "x": encode(x), "y": encode(y) })
}

/// Returns a signed token of these two texts.
pub(super) fn compact(header: &str, claims: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let message = format!("{}.{}", encode(header), encode(claims));
    let signature = encode(sign(message.as_bytes()));
    format!("{message}.{signature}")
}

/// Returns a token with this header, signed by that key.
pub(super) fn by(signer: &Signer, header: &Value, claims: &Map<String, Value>) -> String {
    let algorithm = header["alg"].as_str().unwrap_or_default();
    let claims = Value::from(claims.clone()).to_string();
    compact(&header.to_string(), &claims, |message| {
        signer.sign(algorithm, message)
    })
}

/// Returns the header of GitHub's tokens.
pub(super) fn header() -> Value {
    json!({ "typ": "JWT", "alg": "RS256", "x5t": "eBZ_cn3sXYAd0ch4THBKHIgOwOE", "kid": "rsa-1" })
}

/// Returns a token of the issuer with these claims.
pub(super) fn genuine(claims: &Map<String, Value>) -> String {
    by(&RSA, &header(), claims)
}

/// Returns claims as GitHub puts them into the token of a job.
pub(super) fn job() -> Map<String, Value> {
    let claims = json!({
        "jti": "f1c2a5d0-3f4b-4f0e-9a53-5a5d4f6b7c8d",
        "sub": "repo:acme/terraform-provider-widget:environment:release",
        "aud": AUDIENCE,
        "repository": "acme/terraform-provider-widget",
        "run_id": "4242",
        "iss": ISSUER,
        "nbf": NOW.0 - 600,
        "exp": NOW.0 + 300,
        "iat": NOW.0 - 10,
    });
    claims.as_object().unwrap().clone()
}

/// Returns the claims with one of them changed.
pub(super) fn with(
    mut claims: Map<String, Value>,
    name: &str,
    value: impl Into<Value>,
) -> Map<String, Value> {
    claims.insert(name.to_owned(), value.into());
    claims
}

/// Returns the claims without one of them.
pub(super) fn without(mut claims: Map<String, Value>, name: &str) -> Map<String, Value> {
    claims.remove(name).unwrap();
    claims
}

/// Returns the keys of an issuer that has one of each kind, and two for RSA.
pub(super) fn keys(issuer: &str) -> IssuerKeys {
    let keys = [
        RSA.jwk("rsa-1"),
        OTHER_RSA.jwk("rsa-2"),
        P256.jwk("p256"),
        P384.jwk("p384"),
        ED25519.jwk("ed25519"),
    ];
    keys_of(issuer, keys.to_vec())
}

pub(super) fn keys_of(issuer: &str, keys: Vec<Value>) -> IssuerKeys {
    let body = json!({ "keys": keys }).to_string();
    IssuerKeys::parse(&issuer.parse().unwrap(), body.as_bytes()).unwrap()
}

/// Verifies a token of the issuer for the tests' registry.
pub(super) fn verify(token: &str) -> Result<Claims, TokenError> {
    verify_with(token, &keys(ISSUER))
}

/// Verifies a token with these keys.
pub(super) fn verify_with(token: &str, keys: &IssuerKeys) -> Result<Claims, TokenError> {
    UnverifiedToken::parse(token)?.verify(keys, &[AUDIENCE], NOW)
}

/// Asserts that each of the named tokens is refused for this reason.
pub(super) fn assert_refused<'n>(
    reason: &str,
    forgeries: impl IntoIterator<Item = (&'n str, String)>,
) {
    for (name, token) in forgeries {
        let refusal = match verify(&token) {
            Ok(_) => panic!("{name} is accepted"),
            Err(refusal) => refusal,
        };
        assert_is(&refusal, reason, name);
        assert_tells_little(&refusal, &token);
    }
}

/// Asserts that an error contains one of these texts, separated by `|`.
#[track_caller]
pub(super) fn assert_is(error: &TokenError, reason: &str, name: &str) {
    let line = error.to_string();
    let is_it = reason.split('|').any(|part| line.contains(part));
    assert!(is_it, "{name}: {line}, and not {reason}");
}

/// The reasons for which a text is no token.
pub(super) const MALFORMED: &str =
    "have three parts|JSON object with distinct members|is not in base64url|ID is not a string";

/// Asserts that the log line is one line and reveals nothing that could be used as a credential.
fn assert_tells_little(refusal: &TokenError, token: &str) {
    let line = refusal.to_string();
    assert!(
        line.is_ascii() && !line.contains(|c: char| c.is_control()),
        "{line:?}"
    );
    assert!(line.len() < 4_000, "{line}");
    for part in token.split('.').filter(|part| part.len() > 8) {
        assert!(!line.contains(part), "{line}");
    }
}
