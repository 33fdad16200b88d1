//! The admin API's JSON, for the Worker that reads it and the command that writes it.
//!
//! Wire types only: they hold the unvalidated values. [`crate::publish`] validates them.

mod doctor;
mod documentation;
mod failover;
mod operations;
mod rules;
mod webhooks;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::auth::access::{Caller, IssuedUnder, KeyMark, Resource, TokenDocument, TokenKeys};
use crate::model::provenance::Provenance;
use crate::model::status::KeyStatus;
use crate::model::token_id::TokenId;
use crate::storage::archive_url::Upload;
use crate::storage::release::{MirroredRelease, PackageDocument};
use terrace_base::sort;
use terrace_base::time::UnixTime;
use terrace_openpgp::{KeyId, SigningKey};

pub use doctor::*;
pub use documentation::*;
pub use failover::*;
pub use operations::*;
pub use rules::*;
pub use webhooks::*;

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
    /// The packages, one for each platform.
    pub packages: Vec<PackageBody>,
    /// The URL of the release's source repository, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The commit in that repository that the release was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether SHA256SUMS lists a manifest that the publisher does not have, because the registry that the release
    /// comes from does not serve it. The release records this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub manifest_missing: bool,
}

/// One platform's zip within [`ProviderBody`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageBody {
    /// The operating system, such as `linux`.
    pub os: String,
    /// The architecture, such as `amd64`.
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
    /// Plugin protocols, such as `5.0`, if known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<String>,
    /// The checksums signed by the provider's origin, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<SignedBody>,
    /// The packages, one for each platform to mirror; others may follow later.
    pub packages: Vec<PackageBody>,
    /// The reason for which the packages may replace a stored version that they contradict. Needs the scope `admin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<String>,
}

/// The signed checksums from the origin of a mirrored provider, within [`MirrorBody`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedBody {
    /// The exact text of the SHA256SUMS file. It may list platforms that are not mirrored.
    pub shasums: String,
    /// Its detached OpenPGP signature: base64 of the binary form, or ASCII armour.
    pub signature: String,
    /// The signing key, in ASCII armour.
    pub signing_key: String,
}

/// The response of `GET /admin/v1/mirror/{hostname}/{namespace}/{type}/{version}`: the mirrored release.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MirroredBody {
    /// Plugin protocols, if known.
    pub protocols: Vec<String>,
    /// Whether the origin's signed checksums of each package are stored.
    pub signed: bool,
    /// The stored packages, one for each platform.
    pub packages: Vec<PackageBody>,
}

/// The body of `PUT /admin/v1/modules/{namespace}/{name}/{system}/{version}`, and with the hostname of its registry before the
/// namespace that of a mirrored module, which needs `source`, and `commit` or `tree`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleBody {
    /// The module's archive.
    pub archive: ModuleArchiveBody,
    /// The directory in the archive that contains the module, if not the top one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subdir: Option<String>,
    /// The URL of the release's source repository, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The commit in that repository that the release was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The directory of the module in that repository, if it is known and not the top one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The SHA-256 of the files of a mirrored module, in hexadecimal, if its registry names an archive and no commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// The archive within [`ModuleBody`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleArchiveBody {
    /// The format: `zip` or `tar.gz`.
    pub format: String,
    /// The digest of the archive, in hexadecimal.
    pub sha256: String,
    /// The length of the archive in bytes.
    pub size: u64,
}

/// The response to a well-formed publish request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PublishAnswer {
    /// 201: the release is now published.
    Created(Published),
    /// 200: the release was already published, with the same bytes.
    Unchanged(Published),
    /// 202: the client must upload these archives and then repeat the request.
    Incomplete {
        /// The archives that are not stored yet.
        missing: Vec<MissingArchive>,
    },
    /// 409: the release was already published, with other bytes.
    Conflict {
        /// The differences.
        errors: Vec<String>,
    },
    /// 422: the release cannot be published.
    Invalid {
        /// All reasons.
        errors: Vec<String>,
    },
}

/// A published release.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Published {
    /// The address: `namespace/type`, `hostname/namespace/type` or `namespace/name/system`.
    pub address: String,
    /// The published version.
    pub version: String,
    /// The job that published it first, if it was a job with a verified identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Conditions that are accepted now but will not always be, such as an expired key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// An archive that must be uploaded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MissingArchive {
    /// The publisher's name for the file.
    pub filename: String,
    /// The digest of the archive, in hexadecimal.
    pub sha256: String,
    /// The length of the archive in bytes.
    pub size: u64,
    /// The upload request to send.
    pub upload: UploadRequest,
}

/// An HTTP request that uploads an archive as its body.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UploadRequest {
    /// The method, `PUT`.
    pub method: String,
    /// The URL, which is a secret while it is valid.
    pub url: String,
    /// The headers, all of which must be sent unchanged.
    pub headers: std::collections::BTreeMap<String, String>,
}

impl From<Upload> for UploadRequest {
    fn from(upload: Upload) -> Self {
        let headers = upload.headers.into_iter();
        Self {
            method: "PUT".to_owned(),
            url: upload.url,
            headers: sort::map(headers.map(|(name, value)| (name.to_owned(), value))),
        }
    }
}

/// The body of `PUT /admin/v1/…/status`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusBody {
    /// The status: `deprecated`, `withdrawn`, `revoked`, or `active`, which lifts the others.
    pub state: String,
    /// The reason, in one line.
    pub reason: String,
}

/// The response of `PUT /admin/v1/namespaces/{namespace}/keys/{key_id}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyChangeAnswer {
    /// The keys of the namespace after the change.
    pub keys: SigningKeysAnswer,
    /// The cursor if more releases must be processed: repeat the request with `?after=` this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The body of `POST /admin/v1/tokens`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    /// The display name of the token.
    pub name: String,
    /// The scopes of the token: `admin`, `read`, `read:acme`, `publish:acme`.
    pub scopes: Vec<String>,
    /// The lifetime in seconds; without it, the token never expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
}

/// The body of `POST /admin/v1/tokens/{id}/rotation`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotationBody {
    /// The time for which the old token stays valid, in seconds.
    #[serde(default)]
    pub overlap: u64,
}

/// A token in a list, or, with its text, directly after creation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TokenAnswer {
    /// The ID, by which the token is revoked.
    pub id: String,
    /// The display name.
    pub name: String,
    /// The scopes.
    pub scopes: Vec<String>,
    /// The time of creation (RFC 3339).
    pub created: String,
    /// The name of the caller who created it.
    pub created_by: String,
    /// The time of expiry, if it expires (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The time from which it is revoked (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// The ID of the token that replaces it, if it was rotated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<TokenId>,
    /// The admin token that it was issued under; `None` if an earlier version issued it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_under: Option<IssuedUnder>,
    /// The only resource that accepts it, if an MCP client got it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Resource>,
    /// The text of the token, which only the response that creates it contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The token that it replaces; only in the response to a rotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Box<TokenAnswer>>,
}

impl TokenAnswer {
    /// Describes a token for a response.
    pub fn new(id: TokenId, document: &TokenDocument, keys: Option<&TokenKeys>) -> Self {
        let time = |time: UnixTime| time.to_string();
        Self {
            id: id.to_string(),
            name: document.name.to_string(),
            scopes: document.scopes.iter().map(ToString::to_string).collect(),
            created: time(document.created),
            created_by: document.by.clone(),
            expires: document.expires.map(time),
            revoked: document.revoked.map(time),
            successor: document.successor,
            issued_under: keys
                .zip(document.key)
                .map(|(keys, key)| keys.issued_under(key)),
            resource: document.resource.clone(),
            token: None,
            replaced: None,
        }
    }
}

/// The response of `GET /admin/v1/audit`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AuditPage {
    /// The stored entries, byte for byte: their digests form the hash chain.
    pub entries: Vec<String>,
    /// The cursor if there are more entries: continue with `?after=` this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// The number of the newest known entry.
    pub newest: u64,
}

/// The response of `DELETE /admin/v1/tokens/{id}`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct RevokedToken {
    /// Whether a stored token has this ID. Short-lived tokens from an exchange are not stored, so their IDs
    /// are unknown.
    pub known: bool,
}

/// The response of `GET /api/v1/token` and of `DELETE /api/v1/token`: the token of the request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PresentedToken {
    /// The ID; `None` for the admin token.
    pub id: Option<String>,
    /// The display name; `root` for the admin token.
    pub name: String,
    /// The scopes.
    pub scopes: Vec<String>,
    /// The time of expiry, if it expires (RFC 3339).
    pub expires: Option<String>,
    /// The mark of the admin token's key, by which the audit log names it; absent for other tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether a person got it by signing in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sign_in: bool,
    /// The job that it was issued to, if it was issued to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

impl PresentedToken {
    /// Returns whether the token allows everything.
    pub fn is_admin(&self) -> bool {
        self.id.is_none() || self.scopes.iter().any(|it| it == "admin")
    }

    /// Describes the token of a caller; `None` if the caller has none. `key` is the mark of an admin token's key, and
    /// `document` the stored document of an API token: a rotated token ends when it is revoked, if it does not expire earlier.
    pub fn of(
        caller: &Caller,
        key: Option<KeyMark>,
        document: Option<&TokenDocument>,
    ) -> Option<Self> {
        match caller {
            Caller::Anonymous | Caller::Browser(_) | Caller::Client(_) => None,
            Caller::Root(_) => Some(Self {
                id: None,
                name: caller.name(),
                scopes: vec!["admin".to_owned()],
                expires: None,
                key: key.map(|key| key.to_string()),
                sign_in: false,
                provenance: None,
            }),
            Caller::Bearer(token) => Some(Self {
                id: Some(token.id.to_string()),
                name: token.name.to_string(),
                scopes: token.scopes.iter().map(ToString::to_string).collect(),
                expires: [token.expires, document.and_then(|it| it.revoked)]
                    .into_iter()
                    .flatten()
                    .min()
                    .map(|time| time.to_string()),
                key: None,
                sign_in: document.is_some_and(TokenDocument::is_of_sign_in),
                provenance: caller.provenance(),
            }),
        }
    }
}

/// The response of `GET /admin/v1/tokens`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TokenPage {
    /// The tokens, in ascending order of their IDs.
    pub tokens: Vec<TokenAnswer>,
    /// The cursor if there are more tokens: continue with `?after=` this ID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The signing keys of a namespace, as stored and as returned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningKeysDocument {
    /// The keys, in the order in which they were added.
    pub keys: Vec<crate::storage::release::SigningKeyDocument>,
    /// The status of keys by ID, including those of removed keys.
    #[serde(
        default,
        rename = "statements",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub statuses: BTreeMap<KeyId, KeyStatus>,
    /// The additions of the keys by ID. Earlier versions recorded none, and drop them when they change the document.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub added: BTreeMap<KeyId, KeyAddition>,
    /// The last additions that changed a registered key, by ID.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub updated: BTreeMap<KeyId, KeyAddition>,
    /// The last copies of removed keys, for the versions that they signed. No response has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<crate::storage::release::SigningKeyDocument>,
}

/// The signing keys of a namespace in a response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SigningKeysAnswer {
    /// The keys as stored.
    #[serde(flatten)]
    pub document: SigningKeysDocument,
    /// The validity of the keys by ID.
    #[serde(default)]
    pub validity: BTreeMap<KeyId, KeyValidity>,
    /// The cursor if more releases must be processed: repeat the request with `?after=` this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The validity of a key as clients see it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyValidity {
    /// The time at which it expires, and with it its subkeys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<UnixTime>,
    /// The subkeys that may sign and are not revoked.
    pub signing_subkeys: Vec<SubkeyValidity>,
}

/// The validity of a subkey that may sign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubkeyValidity {
    /// Its ID.
    pub key_id: KeyId,
    /// The time at which it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<UnixTime>,
}

impl SigningKeysDocument {
    /// Returns the validity of the keys by ID.
    pub fn validity(&self) -> BTreeMap<KeyId, KeyValidity> {
        let parsed = self.keys.iter().filter_map(|key| {
            let parsed = SigningKey::from_stored(&key.ascii_armor).ok()?;
            let subkeys = parsed.signing_subkeys().into_iter();
            let validity = KeyValidity {
                expires: parsed.expires(),
                signing_subkeys: subkeys
                    .map(|(key_id, expires)| SubkeyValidity { key_id, expires })
                    .collect(),
            };
            Some((key.key_id, validity))
        });
        sort::map(parsed)
    }

    /// Returns the response about these keys.
    pub fn answer(mut self, next: Option<String>) -> SigningKeysAnswer {
        self.removed.clear();
        SigningKeysAnswer {
            validity: self.validity(),
            document: self,
            next,
        }
    }
}

/// The addition of a signing key to a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyAddition {
    /// The time of the addition.
    pub at: UnixTime,
    /// The name of the caller who added the key.
    pub by: String,
}

/// The body of any other error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorBody {
    /// The error messages, one line each.
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
            signed: !release.packages.is_empty()
                && release.packages.iter().all(|it| it.shasums.is_some()),
            packages: release.packages.iter().map(package).collect(),
        }
    }
}
