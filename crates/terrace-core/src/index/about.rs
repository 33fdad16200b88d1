//! Everything about one version for people, with its documentation.

use serde::{Deserialize, Serialize};

use crate::documentation::Head;
use crate::model::source::SourceDocument;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;

/// The index [`IndexKey::About`](crate::storage::key::IndexKey::About). The platforms and the signing key of a provider
/// are in the index of the version, the status in the overview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The time of the commit.
    pub published_at: UnixTime,
    /// The repository that it was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceDocument>,
    /// Its documentation, if it has any that can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation: Option<AboutDocumentation>,
}

/// The documentation of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutDocumentation {
    /// The digest of the archive.
    pub archive: Sha256,
    /// The length of the archive's first member, in bytes: the places of pages are counted from there.
    pub head_length: u64,
    /// The time of the last change.
    pub changed_at: UnixTime,
    /// How often the documentation was changed after it was first added.
    #[serde(default)]
    pub changes: u32,
    /// The SPDX identifier of its licence, if it differs from that of the package or is shown for another registry's
    /// provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// The page that it was taken from, for another registry's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The details of the module, or the navigation of the provider.
    #[serde(flatten)]
    pub head: Head,
}
