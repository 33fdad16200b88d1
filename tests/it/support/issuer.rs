//! Token issuers that behave as GitHub and GitLab, and the tools to forge their tokens.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Map, Value, json};

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

/// The key of the issuers, and another one.
pub static KEY: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::from_bytes(&[7; 32]));
pub static OTHER_KEY: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::from_bytes(&[8; 32]));

/// Returns the public key as an issuer publishes it.
pub fn jwk(key: &SigningKey, id: &str) -> Value {
    let x = URL_SAFE_NO_PAD.encode(key.verifying_key().as_bytes());
    json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig", "x": x })
}

/// Returns a token with this header, signed by `key`.
pub fn by(key: &SigningKey, header: &Value, claims: &Claims) -> String {
    let encode = |part: String| URL_SAFE_NO_PAD.encode(part);
    let claims = Value::from(claims.clone()).to_string();
    let message = format!("{}.{}", encode(header.to_string()), encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(message.as_bytes()).to_bytes());
    format!("{message}.{signature}")
}

/// Returns a token of the issuers with these claims.
pub fn genuine(claims: &Claims) -> String {
    let header = json!({ "typ": "JWT", "alg": "EdDSA", "kid": "k1" });
    by(&KEY, &header, claims)
}

/// Returns the claims of a job that GitHub runs for a tag.
pub fn github() -> Claims {
    let claims = json!({
        "sub": "repo:acme/terraform-aws-vpc:environment:release",
        "aud": AUDIENCE,
        "ref": "refs/tags/v1.2.3",
        "sha": "c1a5d0f13f4b4f0e9a535a5d4f6b7c8df1c2a5d0",
        "repository": "acme/terraform-aws-vpc",
        "repository_owner": "acme",
        "repository_owner_id": "1001",
        "repository_id": "2002",
        "run_id": "4242",
        "workflow": "release",
        "event_name": "push",
        "ref_type": "tag",
        "environment": "release",
        "workflow_ref": "acme/terraform-aws-vpc/.github/workflows/release.yml@refs/tags/v1.2.3",
        "job_workflow_ref": "acme/terraform-aws-vpc/.github/workflows/release.yml@refs/tags/v1.2.3",
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
        "ref": "v1.2.3",
        "ref_type": "tag",
        "ref_protected": "true",
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
        let issuers = Self {
            keys: Rc::new(RefCell::new(vec![jwk(&KEY, "k1")])),
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
