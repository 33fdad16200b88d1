//! What operators ask for: repair, verification, garbage, copies.

use serde::{Deserialize, Serialize};

use super::MissingArchive;
use terrace_base::time::UnixTime;

/// The body of `POST /admin/v1/reindex`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReindexBody {
    /// The cursor that the step before has ended with; none for the first step. `behind` is its older name.
    #[serde(default, alias = "behind", skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The address of the only package to look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Releases, as `ADDRESS@VERSION`, whose loss is accepted: the indices that are left of them are removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept_loss: Vec<String>,
}

/// Its answer: what one step did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReindexAnswer {
    /// How many indices were compared with the facts.
    pub looked_at: u32,
    /// Those that were not what the facts say, or missing, and are written anew.
    #[serde(default)]
    pub rewritten: Vec<String>,
    /// Those of which there is no fact, and that are removed.
    #[serde(default)]
    pub removed: Vec<String>,
    /// What could not be looked at or written; the log of the registry says why.
    #[serde(default)]
    pub failed: Vec<String>,
    /// Releases, as `ADDRESS@VERSION`, that are missing although an index tells that they were published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// Where the next step begins; none after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The body of `POST /admin/v1/verify`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyBody {
    /// The key that the step before has ended with; none for the first step. `behind` is its older name.
    #[serde(default, alias = "behind", skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Its answer: stored bytes, hashed again.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct VerifyAnswer {
    /// How many objects were hashed.
    pub looked_at: u32,
    /// How many bytes these are.
    pub bytes: u64,
    /// Those that are not what their keys say.
    #[serde(default)]
    pub wrong: Vec<WrongBytes>,
    /// The key that the next step begins after; none after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Stored bytes that are not what their key says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WrongBytes {
    /// Where they lie.
    pub key: String,
    /// Their digest, if they are still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A stored document, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactBody {
    /// Its key.
    pub key: String,
    /// Its text.
    pub document: String,
}

/// The answer of `GET /admin/v1/facts`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FactsAnswer {
    /// Ascending by their keys.
    pub facts: Vec<FactBody>,
    /// Keys that this version of the registry knows nothing about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Keys of documents that are no text: they are damaged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// If there are more: `?after=` this key gets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The body of `PUT /admin/v1/facts`: documents of a copy, to be created where there are none.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestoreBody {
    /// What a document refers to must be there before it.
    pub facts: Vec<FactBody>,
}

/// Its answer; each key is in one of these.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RestoreAnswer {
    /// Created now.
    #[serde(default)]
    pub created: Vec<String>,
    /// There before, with the same bytes.
    #[serde(default)]
    pub unchanged: Vec<String>,
    /// There before, with other bytes: nothing was changed.
    #[serde(default)]
    pub conflicts: Vec<String>,
    /// What must not be stored, and why.
    #[serde(default)]
    pub refused: Vec<RefusedFact>,
}

/// A document that must not be stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RefusedFact {
    /// Its key.
    pub key: String,
    /// Why.
    pub reason: String,
}

/// The answer of `GET /admin/v1/archives`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StoredAnswer {
    /// The registry's time.
    pub now: UnixTime,
    /// Ascending by their keys.
    pub archives: Vec<StoredArchive>,
    /// Keys that this version of the registry knows nothing about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// If there are more: `?after=` this key gets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Bytes as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredArchive {
    /// Where they lie.
    pub key: String,
    /// How many there are.
    pub size: u64,
    /// Since when.
    pub stored_at: UnixTime,
    /// Where to fetch them from, if that was asked for. It is a secret for as long as it is good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The body of `POST /admin/v1/archives`: bytes of a copy, which may be missing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UploadsBody {
    /// Some of them.
    pub archives: Vec<UploadBody>,
}

/// Bytes of a copy.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UploadBody {
    /// Where they lie.
    pub key: String,
    /// How many there are.
    pub size: u64,
}

/// Its answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct UploadsAnswer {
    /// What is to be sent; called by its key.
    pub missing: Vec<MissingArchive>,
}

/// The body of `POST /admin/v1/garbage`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GarbageBody {
    /// Archives that nothing refers to: they may be removed in an hour.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mark: Vec<String>,
    /// Archives that something refers to after all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Archives that were marked then, and that nothing has referred to since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<MarkedBody>,
}

/// An archive that was marked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkedBody {
    /// Where it lies.
    pub key: String,
    /// When it was marked.
    pub marked_at: UnixTime,
}

/// Its answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct GarbageAnswer {
    /// Archives that are marked now.
    #[serde(default)]
    pub marked: Vec<String>,
    /// Archives that are no garbage any more.
    #[serde(default)]
    pub kept: Vec<String>,
    /// Archives that are gone.
    #[serde(default)]
    pub removed: Vec<String>,
    /// Archives that a publish has found meanwhile, or whose time has not come.
    #[serde(default)]
    pub spared: Vec<String>,
}
