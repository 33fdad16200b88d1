//! The operators' requests: repair, verification, garbage collection, backups.

use serde::{Deserialize, Serialize};

use super::MissingArchive;
use terrace_base::time::UnixTime;

/// The body of `POST /admin/v1/reindex`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReindexBody {
    /// The cursor returned by the previous step; none for the first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The address of the only package to repair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Releases, as `ADDRESS@VERSION`, that are accepted as lost: their remaining indices are removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept_loss: Vec<String>,
    /// Whether the indices of every version are compared, and not only those of packages with lists that
    /// differ. With `package` they always are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
}

/// The response of a repair step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReindexAnswer {
    /// The number of indices that were compared with the facts.
    pub looked_at: u32,
    /// Indices that differed from the facts or were missing, and are rebuilt.
    #[serde(default)]
    pub rewritten: Vec<String>,
    /// Indices without a fact, which are removed.
    #[serde(default)]
    pub removed: Vec<String>,
    /// Indices that could not be checked or written; the registry's log states the reason.
    #[serde(default)]
    pub failed: Vec<String>,
    /// Releases, as `ADDRESS@VERSION`, that are missing although an index shows that they were published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// The cursor of the next step; none after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The body of `POST /admin/v1/verify`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyBody {
    /// The key returned by the previous step; none for the first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// The response of a verification step, which hashes stored bytes again.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct VerifyAnswer {
    /// The number of objects that were hashed.
    pub looked_at: u32,
    /// The number of bytes that were hashed.
    pub bytes: u64,
    /// Objects with bytes that do not match their keys.
    #[serde(default)]
    pub wrong: Vec<WrongBytes>,
    /// The key after which the next step starts; none after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Stored bytes that do not match the digest in their key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WrongBytes {
    /// The storage key.
    pub key: String,
    /// The actual digest, if the object still exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A stored document, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactBody {
    /// The storage key.
    pub key: String,
    /// The text of the document.
    pub document: String,
}

/// The response of `GET /admin/v1/facts`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FactsAnswer {
    /// The documents, in ascending order of their keys.
    pub facts: Vec<FactBody>,
    /// Keys that this version of the registry does not recognise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Keys of documents that are not UTF-8 text: they are damaged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// The cursor if there are more documents: continue with `?after=` this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The body of `PUT /admin/v1/facts`: documents of a backup, created if they do not exist.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestoreBody {
    /// The documents. Everything that a document refers to must exist before it.
    pub facts: Vec<FactBody>,
}

/// The response to a restore request. Each key is in exactly one list.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RestoreAnswer {
    /// Documents that were created.
    pub created: Vec<String>,
    /// Documents that already existed with the same bytes.
    pub unchanged: Vec<String>,
    /// Documents that already existed with other bytes; nothing was changed.
    pub conflicts: Vec<String>,
    /// Documents that must not be stored, with the reasons.
    pub refused: Vec<RefusedFact>,
    /// Documents of erased versions and archives, which stay out, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub erased: Vec<RefusedFact>,
}

/// A document that must not be stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RefusedFact {
    /// The storage key.
    pub key: String,
    /// The reason why it must not be stored.
    pub reason: String,
}

/// The response of `GET /admin/v1/archives`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StoredAnswer {
    /// The registry's current time.
    pub now: UnixTime,
    /// The archives, in ascending order of their keys.
    pub archives: Vec<StoredArchive>,
    /// Keys that this version of the registry does not recognise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The cursor if there are more archives: continue with `?after=` this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A stored object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredArchive {
    /// The storage key.
    pub key: String,
    /// The length in bytes.
    pub size: u64,
    /// The time when the object was stored.
    pub stored_at: UnixTime,
    /// The download URL, if requested. It is a secret while it is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The download URL of the copy in the second bucket, if the registry has one. It is a secret as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_url: Option<String>,
}

/// The body of `POST /admin/v1/archives`: objects of a backup, some of which may be missing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UploadsBody {
    /// Some objects of the backup.
    pub archives: Vec<UploadBody>,
}

/// An object of a backup.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UploadBody {
    /// The storage key.
    pub key: String,
    /// The length in bytes.
    pub size: u64,
}

/// The response with the missing objects.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct UploadsAnswer {
    /// The objects to upload, named by their keys.
    pub missing: Vec<MissingArchive>,
}

/// The body of `POST /admin/v1/garbage`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GarbageBody {
    /// Archives without references: they may be removed in an hour.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mark: Vec<String>,
    /// Archives that turned out to have references.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Archives that were marked earlier and have had no references since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<MarkedBody>,
}

/// A marked archive.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkedBody {
    /// The storage key.
    pub key: String,
    /// The time when it was marked.
    pub marked_at: UnixTime,
}

/// The response of a garbage collection step.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GarbageAnswer {
    /// Archives that are now marked.
    pub marked: Vec<String>,
    /// Archives that are no longer garbage.
    pub kept: Vec<String>,
    /// Archives that are removed.
    pub removed: Vec<String>,
    /// Archives that a publish has claimed in the meantime, or that must wait longer.
    pub spared: Vec<String>,
}

/// The body of `POST /admin/v1/erasures`: a version, archives, pushed content, or several of them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErasureBody {
    /// The address of the package of which a version is erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The version to erase, with its documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The reason, which users and publishers see.
    pub reason: String,
    /// The storage keys of the archives to erase, whatever refers to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archives: Vec<String>,
    /// Pushed content to erase, with the repositories that have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<ErasedContent>,
}

/// A blob or manifest to erase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErasedContent {
    /// The digest.
    pub digest: String,
    /// The repositories in which it is linked, or a manifest. The client has looked for all of them.
    #[serde(default)]
    pub repositories: Vec<String>,
}

/// The response to an erasure; the same for a repeated request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureAnswer {
    /// The erased version, as `ADDRESS@VERSION`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The erased archives and digests.
    pub erased: Vec<String>,
    /// The archives of the version that stay, because the request does not name them.
    #[serde(default)]
    pub kept: Vec<String>,
    /// The time until which URLs that were signed before may upload an erased archive again. The repair removes it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uploads_end: Option<UnixTime>,
    /// The keys of objects that are still in the second bucket, because it did not answer or refused their removal. The scheduled copy removes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_in_fallback: Vec<String>,
}
