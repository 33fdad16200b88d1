//! Token issuers that behave as GitHub and GitLab, and the tools to forge their tokens.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use p256::ecdsa::signature::hazmat::PrehashSigner as _;
use rsa::pkcs8::EncodePublicKey as _;
use rsa::traits::PublicKeyParts as _;
use rsa::{BigUint, Pkcs1v15Sign, RsaPrivateKey};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::memory::Memory;
use super::people::ok;
use super::registry::Response;

pub const GITHUB: &str = "https://token.actions.githubusercontent.com";
pub const GITLAB: &str = "https://gitlab.com";
/// The origin of a registry in memory.
pub const AUDIENCE: &str = "https://registry.test";
/// The time at which the clock of a [`Memory`](super::memory::Memory) starts, in Unix seconds.
pub const NOW: u64 = 1_800_000_000;

pub type Claims = Map<String, Value>;

/// A private key.
pub enum Signer {
    Ed25519(ed25519_dalek::SigningKey),
    P256(p256::ecdsa::SigningKey),
    Rsa(Box<RsaPrivateKey>),
}

pub static RSA: LazyLock<Signer> = LazyLock::new(|| {
    let primes = PRIMES.map(|hex| BigUint::parse_bytes(hex.as_bytes(), 16).unwrap());
    let key = RsaPrivateKey::from_primes(primes.to_vec(), BigUint::from(65_537_u32));
    Signer::Rsa(Box::new(key.unwrap()))
});
pub static P256: LazyLock<Signer> = LazyLock::new(|| p256_of(7));
pub static OTHER_P256: LazyLock<Signer> = LazyLock::new(|| p256_of(8));
pub static ED25519: LazyLock<Signer> =
    LazyLock::new(|| Signer::Ed25519(ed25519_dalek::SigningKey::from_bytes(&[7; 32])));

fn p256_of(seed: u8) -> Signer {
    Signer::P256(p256::ecdsa::SigningKey::from_slice(&[seed; 32]).unwrap())
}

/// The primes of a key that `openssl genrsa 2048` generated for these tests.
const PRIMES: [&str; 2] = [
    "fdefa5fe791a34ba3e205451633df4ea727670263bb303f9f3a63c03b56ffaacf5c713dc27330fc48840c6757b114332c0dbf0aee8fcb418eafa7c5031c0bc565c53ce4c20a44e1dc5ef595ec9242c63bacfce31567cc7e6ce58451040230c9b832b4cca5a41addc8d76846a34f4699d999cfcba539732055ba5788e06fbeb53",
    "e4a886bed31c92c31448e8e27e730632da4f26e609539fc8bb84135dfb119391beba54695cbd132f6df35aee0abb6f1905098e1e7918b636e68c9305e73d9c8e57518828aae57bebb17920ad1716abd74317c5524e7e78ad7865ef24fbbf5e59694014a95f7beee91ffd430f763752ad86f9c389fa55d2d841abc09217e865f9",
];

pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    /// Returns the public key as an issuer publishes it.
    pub fn jwk(&self, id: &str) -> Value {
        match self {
            Self::Ed25519(key) => json!({
                "kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig",
                "x": encode(key.verifying_key().as_bytes()),
            }),
            Self::P256(key) => {
                let point = key.verifying_key().to_sec1_point(false);
                let (x, y) = point.as_bytes()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "x": encode(x), "y": encode(y) })
            }
            Self::Rsa(key) => json!({
                "kty": "RSA", "kid": id, "use": "sig",
                "n": encode(key.n().to_bytes_be()), "e": encode(key.e().to_bytes_be()),
            }),
        }
    }

    /// Returns a signature by the algorithm that fits the key, with SHA-256.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        use ed25519_dalek::Signer as _;
        let digest = Sha256::digest(message);
        match self {
            Self::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
            Self::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign_prehash(&digest).unwrap();
                signature.to_bytes().to_vec()
            }
            Self::Rsa(key) => {
                let padding = Pkcs1v15Sign::new::<rsa::sha2::Sha256>();
                key.sign(padding, &digest).unwrap()
            }
        }
    }
}

/// Returns the public key of [`RSA`] as PEM, which some libraries have mistaken for a shared secret.
pub fn public_pem() -> String {
    let Signer::Rsa(key) = &*RSA else {
        panic!("it is an RSA key")
    };
    let public = key.to_public_key();
    public.to_public_key_pem(Default::default()).unwrap()
}

/// Returns a signed token with this header and these claims.
pub fn compact(header: &str, claims: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let message = format!("{}.{}", encode(header), encode(claims));
    let signature = encode(sign(message.as_bytes()));
    format!("{message}.{signature}")
}

/// Returns a token with this header, signed by `signer`.
pub fn by(signer: &Signer, header: &Value, claims: &Claims) -> String {
    let claims = Value::from(claims.clone()).to_string();
    compact(&header.to_string(), &claims, |message| signer.sign(message))
}

pub fn hs256(secret: &[u8], claims: &Claims) -> String {
    let header = json!({ "alg": "HS256", "kid": "rsa-1" }).to_string();
    compact(
        &header,
        &Value::from(claims.clone()).to_string(),
        |message| {
            let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
            mac.update(message);
            mac.finalize().into_bytes().to_vec()
        },
    )
}

/// Returns the header of GitHub's tokens.
pub fn header() -> Value {
    json!({ "typ": "JWT", "alg": "RS256", "x5t": "eBZ_cn3sXYAd0ch4THBKHIgOwOE", "kid": "rsa-1" })
}

/// Returns a token with these claims, signed and headed as GitHub's and GitLab's are.
pub fn genuine(claims: &Claims) -> String {
    by(&RSA, &header(), claims)
}

/// Returns the claims of a job that GitHub runs for a tag.
pub fn github() -> Claims {
    let claims = json!({
        "jti": "f1c2a5d0-3f4b-4f0e-9a53-5a5d4f6b7c8d",
        "sub": "repo:acme/terraform-aws-vpc:environment:release",
        "aud": AUDIENCE,
        "ref": "refs/tags/v1.2.3",
        "sha": "c1a5d0f13f4b4f0e9a535a5d4f6b7c8df1c2a5d0",
        "repository": "acme/terraform-aws-vpc",
        "repository_owner": "acme",
        "repository_owner_id": "1001",
        "repository_id": "2002",
        "run_id": "4242",
        "actor": "ann",
        "workflow": "release",
        "event_name": "push",
        "ref_type": "tag",
        "environment": "release",
        "workflow_ref": "acme/terraform-aws-vpc/.github/workflows/release.yml@refs/tags/v1.2.3",
        "job_workflow_ref": "acme/terraform-aws-vpc/.github/workflows/release.yml@refs/tags/v1.2.3",
        "runner_environment": "github-hosted",
        "iss": GITHUB,
        "nbf": NOW - 600,
        "exp": NOW + 300,
        "iat": NOW - 10,
    });
    claims.as_object().unwrap().clone()
}

/// Returns the claims of a job that GitLab runs for a tag.
pub fn gitlab() -> Claims {
    let claims = json!({
        "namespace_path": "acme/infra",
        "project_id": "20",
        "project_path": "acme/infra/terraform-aws-vpc",
        "user_login": "ann",
        "pipeline_source": "push",
        "ref": "v1.2.3",
        "ref_type": "tag",
        "ref_protected": "true",
        "runner_id": 1,
        "jti": "235b3a54-b797-45c7-ae9a-f72d7bc6ef5b",
        "iat": NOW - 10,
        "nbf": NOW - 15,
        "exp": NOW + 3_590,
        "iss": GITLAB,
        "sub": "project_path:acme/infra/terraform-aws-vpc:ref_type:tag:ref:v1.2.3",
        "aud": AUDIENCE,
    });
    claims.as_object().unwrap().clone()
}

/// Replaces one claim.
pub fn with(mut claims: Claims, name: &str, value: impl Into<Value>) -> Claims {
    claims.insert(name.to_owned(), value.into());
    claims
}

/// Removes one claim.
pub fn without(mut claims: Claims, name: &str) -> Claims {
    claims.remove(name).unwrap();
    claims
}

/// Returns the trust rules of the tests' registry.
pub fn rules() -> String {
    let rules = json!([
        {
            "scopes": ["publish:acme"],
            "issuer": GITHUB,
            "claims": { "repository": "acme/terraform-aws-vpc", "ref": "refs/tags/v*", "environment": "release" },
        },
        {
            "scopes": ["publish:infra", "read:acme"],
            "issuer": GITLAB,
            "claims": { "project_path": "acme/infra/terraform-*", "ref_type": "tag", "ref_protected": "true" },
        },
    ]);
    rules.to_string()
}

/// An internet that consists of GitHub's and GitLab's issuers.
#[derive(Clone)]
pub struct Issuers {
    keys: Rc<RefCell<Vec<Value>>>,
    /// The response that replaces the key set.
    instead: Rc<RefCell<Option<Response>>>,
    is_down: Rc<Cell<bool>>,
}

impl Issuers {
    pub fn connected_to(memory: &Memory) -> Self {
        let keys = [RSA.jwk("rsa-1"), P256.jwk("p256"), ED25519.jwk("ed25519")];
        let issuers = Self {
            keys: Rc::new(RefCell::new(keys.to_vec())),
            instead: Rc::default(),
            is_down: Rc::default(),
        };
        let answering = issuers.clone();
        memory.connect(move |url| answering.answer(url));
        issuers
    }

    /// Adds a key that the issuers sign with.
    pub fn add_key(&self, jwk: Value) {
        self.keys.borrow_mut().push(jwk);
    }

    /// Replaces the key set by another response.
    pub fn answer_instead(&self, response: Response) {
        *self.instead.borrow_mut() = Some(response);
    }

    pub fn go_down(&self) {
        self.is_down.set(true);
    }

    pub fn come_back(&self) {
        self.is_down.set(false);
    }

    fn answer(&self, url: &str) -> Option<Response> {
        if self.is_down.get() {
            return None;
        }
        let issuer = [GITHUB, GITLAB]
            .into_iter()
            .find(|issuer| url.starts_with(&format!("{issuer}/")))?;
        let jwks = format!("{issuer}/keys");
        if url == jwks {
            let keys = json!({ "keys": *self.keys.borrow() });
            return Some(self.instead.borrow().clone().unwrap_or_else(|| ok(&keys)));
        }
        (url == format!("{issuer}/.well-known/openid-configuration"))
            .then(|| ok(&json!({ "issuer": issuer, "jwks_uri": jwks })))
    }
}
