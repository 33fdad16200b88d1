//! The admin API's JSON, for the Worker that reads it and the command that writes it.
//!
//! Wire types only: they hold what was sent. [`crate::publish`] makes sense of them.

mod operations;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::auth::access::TokenDocument;
use crate::model::status::KeyStatement;
use crate::model::token_id::TokenId;
use crate::storage::release::{MirroredRelease, PackageDocument};
use terrace_base::time::UnixTime;
use terrace_openpgp::KeyId;

pub use operations::*;

/// The body of `PUT /admin/v1/providers/{namespace}/{type}/{version}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderBody {
    /// Plugin protocols, such as `5.0`.
    pub protocols: Vec<String>,
    /// The exact text of the SHA256SUMS file.
    pub shasums: String,
    /// Its detached OpenPGP signature: base64 of the binary form, or ASCII armour.
    pub signature: String,
    /// One for each platform.
    pub packages: Vec<PackageBody>,
    /// The URL of the repository it was made from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// One platform's zip within [`ProviderBody`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageBody {
    /// Such as `linux`.
    pub os: String,
    /// Such as `amd64`.
    pub arch: String,
    /// The name of the zip, as in SHA256SUMS.
    pub filename: String,
    /// The digest of the zip, in hexadecimal.
    pub sha256: String,
    /// The length of the zip in bytes.
    pub size: u64,
    /// The `h1:` hash of the zip's contents, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h1: Option<String>,
}

/// The body of `PUT /admin/v1/mirror/{hostname}/{namespace}/{type}/{version}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MirrorBody {
    /// Plugin protocols, such as `5.0`, where they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<String>,
    /// What the provider's origin signed, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<SignedBody>,
    /// One for each platform to mirror; others may follow later.
    pub packages: Vec<PackageBody>,
}

/// What the origin of a mirrored provider signed, within [`MirrorBody`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedBody {
    /// The exact text of the SHA256SUMS file. It may list platforms that are not mirrored.
    pub shasums: String,
    /// Its detached OpenPGP signature: base64 of the binary form, or ASCII armour.
    pub signature: String,
    /// The key that made it, in ASCII armour.
    pub signing_key: String,
}

/// The answer of `GET /admin/v1/mirror/{hostname}/{namespace}/{type}/{version}`: what is mirrored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MirroredBody {
    /// Plugin protocols, where they are known.
    pub protocols: Vec<String>,
    /// Whether what the origin signed is stored.
    pub signed: bool,
    /// One for each platform that is stored.
    pub packages: Vec<PackageBody>,
}

/// The body of `PUT /admin/v1/modules/{namespace}/{name}/{system}/{version}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleBody {
    /// The archive.
    pub archive: ModuleArchiveBody,
    /// Where in the archive the module begins, if not at its top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subdir: Option<String>,
    /// The URL of the repository it was made from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The archive within [`ModuleBody`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleArchiveBody {
    /// `zip` or `tar.gz`.
    pub format: String,
    /// Its digest, in hexadecimal.
    pub sha256: String,
    /// Its length in bytes.
    pub size: u64,
}

/// The answer to a publish that was understood.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PublishAnswer {
    /// 201: it is published now.
    Created(Published),
    /// 200: it was published before, with the same bytes.
    Unchanged(Published),
    /// 202: send these archives, then the same request again.
    Incomplete {
        /// What is not stored yet.
        missing: Vec<MissingArchive>,
    },
    /// 409: it was published before, with other bytes.
    Conflict {
        /// What differs.
        errors: Vec<String>,
    },
    /// 422: it cannot be published.
    Invalid {
        /// Everything that is wrong with it.
        errors: Vec<String>,
    },
}

/// What was published.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Published {
    /// `namespace/type`, `hostname/namespace/type` or `namespace/name/system`.
    pub address: String,
    /// The version.
    pub version: String,
    /// What is accepted now but will not be for ever, such as an expired key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// An archive that has to be sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MissingArchive {
    /// What the publisher called it.
    pub filename: String,
    /// Its digest, in hexadecimal.
    pub sha256: String,
    /// Its length in bytes.
    pub size: u64,
    /// How to send it.
    pub upload: UploadRequest,
}

/// An HTTP request that sends an archive's bytes as its body.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UploadRequest {
    /// `PUT`.
    pub method: String,
    /// Where to. It is a secret for as long as it is good.
    pub url: String,
    /// Exactly these headers must be sent.
    pub headers: std::collections::BTreeMap<String, String>,
}

/// The body of `PUT /admin/v1/…/standing`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingBody {
    /// `deprecated`, `withdrawn`, `revoked`, or `active`, which takes back what was said.
    pub state: String,
    /// Why: one line.
    pub reason: String,
}

/// The answer of `PUT /admin/v1/namespaces/{namespace}/keys/{key_id}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyChangeAnswer {
    /// The keys of the namespace now.
    pub keys: SigningKeysDocument,
    /// If there are more releases to look at: the same request with `?after=` this goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The body of `POST /admin/v1/tokens`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    /// What it is called.
    pub name: String,
    /// What it is good for: `admin`, `read`, `read:acme`, `publish:acme`.
    pub scopes: Vec<String>,
    /// For how long, in seconds; for ever if that is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
}

/// The body of `POST /admin/v1/tokens/{id}/rotation`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotationBody {
    /// How long the old one stays good, in seconds.
    #[serde(default)]
    pub overlap: u64,
}

/// A token as it is listed, or, with its text, as it was just made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TokenAnswer {
    /// By which it is revoked.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it is good for.
    pub scopes: Vec<String>,
    /// When it was made (RFC 3339).
    pub created: String,
    /// By whom.
    pub created_by: String,
    /// When it stops being good, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// From when on it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// The token itself, which is told once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl TokenAnswer {
    /// What is told of a token.
    pub fn new(id: TokenId, document: &TokenDocument, token: Option<String>) -> Self {
        let time = |time: UnixTime| time.to_string();
        Self {
            id: id.to_string(),
            name: document.name.to_string(),
            scopes: document.scopes.iter().map(ToString::to_string).collect(),
            created: time(document.created),
            created_by: document.by.clone(),
            expires: document.expires.map(time),
            revoked: document.revoked.map(time),
            token,
        }
    }
}

/// The answer of `GET /admin/v1/audit`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AuditPage {
    /// Each as it is stored, byte for byte: the chain is made of their digests.
    pub entries: Vec<String>,
    /// If there are more: `?after=` this number gets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// The number of the newest entry, as far as is known.
    pub newest: u64,
}

/// The answer of `DELETE /admin/v1/tokens/{id}`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct RevokedToken {
    /// Whether a token with this id was made here: what was given to somebody for a while is not known.
    pub known: bool,
}

/// The answer of `GET /admin/v1/tokens`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TokenPage {
    /// Ascending by their ids.
    pub tokens: Vec<TokenAnswer>,
    /// If there are more: `?after=` this id gets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The signing keys of a namespace, as stored and as answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningKeysDocument {
    /// One element for each key, in the order they were added.
    pub keys: Vec<crate::storage::release::SigningKeyDocument>,
    /// What is said of keys, by their ids; also of those that were removed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statements: BTreeMap<KeyId, KeyStatement>,
}

/// Any other error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorBody {
    /// One line each.
    pub errors: Vec<String>,
}

impl From<&MirroredRelease> for MirroredBody {
    fn from(release: &MirroredRelease) -> Self {
        let package = |package: &PackageDocument| PackageBody {
            os: package.platform.os().to_owned(),
            arch: package.platform.arch().to_owned(),
            filename: package.filename.clone(),
            sha256: package.sha256.to_string(),
            size: package.size,
            h1: package.h1.map(|h1| h1.to_string()),
        };
        Self {
            protocols: release.protocols.iter().map(ToString::to_string).collect(),
            signed: release.signed.is_some(),
            packages: release.packages.iter().map(package).collect(),
        }
    }
}
