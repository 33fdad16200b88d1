//! The documentation of versions.

use serde::{Deserialize, Serialize};

use super::MissingArchive;
use crate::storage::documentation::{DocumentationArchive, DocumentationChange};

/// The body of `PUT /admin/v1/…/{version}/documentation`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentationBody {
    /// The digest of the archive, in hexadecimal.
    pub sha256: String,
    /// The length of the archive in bytes.
    pub size: u64,
    /// The length of its first member in bytes.
    pub head_length: u64,
    /// The licence of the documentation, as an SPDX expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// The URL of the page that it was taken from, for another registry's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// The response to a well-formed description of documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum DocumentationAnswer {
    /// 201: the version had no documentation.
    Created(Documented),
    /// 200: the documentation replaces an earlier one.
    Changed(Documented),
    /// 200: the version already had this documentation.
    Unchanged(Documented),
    /// 202: the client must upload the archive and then repeat the request.
    Incomplete {
        /// The archive, which is not stored yet.
        missing: Vec<MissingArchive>,
    },
}

/// A documented version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Documented {
    /// The address of the package.
    pub address: String,
    /// The version.
    pub version: String,
    /// The number of this state of its documentation, from 1.
    pub sequence: u64,
    /// Whether the version is published. Until then, readers do not see its documentation.
    pub is_published: bool,
}

/// The response of `GET /admin/v1/…/{version}/documentation`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DocumentationState {
    /// The address of the package.
    pub address: String,
    /// The version.
    pub version: String,
    /// The number of this state of its documentation, from 1.
    pub sequence: u64,
    /// The archive.
    #[serde(flatten)]
    pub archive: DocumentationArchive,
    /// The changes, the newest first.
    pub history: Vec<DocumentationChange>,
}

/// The response of `DELETE /admin/v1/…/{version}/documentation`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemovedDocumentation {
    /// The address of the package.
    pub address: String,
    /// The version, which has no documentation any more.
    pub version: String,
}

/// The response of `GET /admin/v1/documentation`: the archives that documented versions refer to.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DocumentedAnswer {
    /// The documented versions, in ascending order of their keys.
    pub documented: Vec<DocumentedArchive>,
    /// Keys of documents that this version of the registry cannot read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The cursor if there are more: continue with `?after=` this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The archive of a documented version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DocumentedArchive {
    /// The storage key of the document about the documentation.
    pub key: String,
    /// The storage key of its archive.
    pub archive: String,
}
