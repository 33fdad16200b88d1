//! Issuers with one key, and their tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Map, Value, json};

use crate::auth::oidc::{GrantedScopes, TrustedPublishers};
use terrace_base::time::UnixTime;
use terrace_jose::{Claims, IssuerKeys, UnverifiedToken};

pub(super) const GITHUB: &str = "https://token.actions.githubusercontent.com";
pub(super) const GITLAB: &str = "https://gitlab.com";
pub(super) const AUDIENCE: &str = "https://registry.example.com";
pub(super) const NOW: UnixTime = UnixTime(1_800_000_000);

fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns a token with these claims, from the issuer that they name.
pub(super) fn genuine(claims: &Map<String, Value>) -> String {
    let header = json!({ "typ": "JWT", "alg": "EdDSA", "kid": "ed25519" }).to_string();
    let claims = Value::from(claims.clone()).to_string();
    let message = format!("{}.{}", encode(header), encode(claims));
    let signature = encode(key().sign(message.as_bytes()).to_bytes());
    format!("{message}.{signature}")
}

/// Returns the claims of a job that GitHub runs for a tag.
pub(super) fn github() -> Map<String, Value> {
    let claims = json!({
        "sub": "repo:acme/terraform-provider-widget:environment:release",
        "aud": AUDIENCE,
        "ref": "refs/tags/v1.2.3",
        "sha": "c1a5d0f13f4b4f0e9a535a5d4f6b7c8df1c2a5d0",
        "repository": "acme/terraform-provider-widget",
        "repository_owner": "acme",
        "repository_owner_id": "1001",
        "run_id": "4242",
        "workflow": "release",
        "ref_protected": "true",
        "ref_type": "tag",
        "environment": "release",
        "workflow_ref":
            "acme/terraform-provider-widget/.github/workflows/release.yml@refs/tags/v1.2.3",
        "iss": GITHUB,
        "nbf": NOW.0 - 600,
        "exp": NOW.0 + 300,
        "iat": NOW.0 - 10,
    });
    claims.as_object().unwrap().clone()
}

/// Returns the claims of a job that GitLab runs for a tag.
pub(super) fn gitlab() -> Map<String, Value> {
    let claims = json!({
        "project_path": "acme/infra/terraform-aws-network",
        "pipeline_id": "574",
        "ref": "v1.2.3",
        "ref_type": "tag",
        "ref_path": "refs/tags/v1.2.3",
        "ref_protected": "true",
        "environment": "release",
        "sha": "714a629c0b401fdce83e847fc9589983fc6f46bc",
        "ci_config_ref_uri": "gitlab.com/acme/infra/terraform-aws-network//.gitlab-ci.yml@refs/tags/v1.2.3",
        "iat": NOW.0 - 10,
        "nbf": NOW.0 - 15,
        "exp": NOW.0 + 3_590,
        "iss": GITLAB,
        "sub": "project_path:acme/infra/terraform-aws-network:ref_type:tag:ref:v1.2.3",
        "aud": AUDIENCE,
    });
    claims.as_object().unwrap().clone()
}

/// Replaces one claim.
pub(super) fn with(
    mut claims: Map<String, Value>,
    name: &str,
    value: impl Into<Value>,
) -> Map<String, Value> {
    claims.insert(name.to_owned(), value.into());
    claims
}

/// Removes one claim.
pub(super) fn without(mut claims: Map<String, Value>, name: &str) -> Map<String, Value> {
    claims.remove(name).unwrap();
    claims
}

/// Returns the keys of an issuer.
fn keys(issuer: &str) -> IssuerKeys {
    let x = encode(key().verifying_key().as_bytes());
    let key = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "ed25519", "use": "sig", "x": x });
    let body = json!({ "keys": [key] }).to_string();
    IssuerKeys::parse(&issuer.parse().unwrap(), body.as_bytes()).unwrap()
}

/// Returns the trusted publishers of the tests' registry.
pub(super) fn publishers() -> TrustedPublishers {
    let rules = json!([
        {
            "scopes": ["publish:acme"],
            "issuer": GITHUB,
            "claims": {
                "repository": "acme/terraform-provider-widget",
                "ref": "refs/tags/v*",
                "environment": "release",
            },
        },
        {
            "scopes": ["publish:infra", "read:infra"],
            "issuer": GITLAB,
            "claims": {
                "project_path": "acme/infra/terraform-*",
                "ref": "v*",
                "ref_type": "tag",
                "ref_protected": "true",
            },
        },
    ]);
    rules.to_string().parse().unwrap()
}

/// Exchanges a token as the endpoint of the tests' registry does.
pub(super) fn exchange(token: &str) -> Result<(Claims, GrantedScopes), String> {
    exchange_by(&publishers(), token)
}

/// Exchanges a token in a registry with these rules.
pub(super) fn exchange_by(
    rules: &TrustedPublishers,
    token: &str,
) -> Result<(Claims, GrantedScopes), String> {
    let token = UnverifiedToken::parse(token).unwrap();
    let issuer = rules.issuer_of(&token).unwrap();
    let claims = rules.verify(&token, &keys(issuer.as_str()), AUDIENCE, NOW);
    let claims = claims.map_err(|error| error.to_string())?;
    let granted = rules.grant(&claims, AUDIENCE)?;
    Ok((claims, granted))
}

/// Asserts that a token with each of these values of a claim is rejected for this reason.
pub(super) fn assert_refused<V: Into<Value>>(
    reason: &str,
    claims: &Map<String, Value>,
    claim: &str,
    values: impl IntoIterator<Item = V>,
) {
    for value in values {
        let value = value.into();
        let name = format!("{claim}={value}");
        let line = match exchange(&genuine(&with(claims.clone(), claim, value))) {
            Ok((_, granted)) => panic!("{name} is granted {:?}", granted.scopes),
            Err(line) => line,
        };
        assert!(line.starts_with(reason), "{name}: {line}");
        assert!(
            line.is_ascii() && !line.contains(char::is_control),
            "{line:?}"
        );
        assert!(line.len() < 4_000, "{line}");
    }
}
