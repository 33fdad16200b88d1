//! The versions of a package for people: with their dates, statuses and sources.

use serde::{Deserialize, Serialize};

use crate::model::source::SourceDocument;
use crate::model::status::{ReleaseState, ReleaseStatus};
use crate::model::version::Version;
use terrace_base::time::UnixTime;

/// The index [`IndexKey::Overview`](crate::storage::key::IndexKey::Overview).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// The status of the whole package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ReleaseStatus>,
    /// All versions, the newest first.
    pub versions: Vec<OverviewVersion>,
}

/// A version in an [`Overview`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverviewVersion {
    /// The version.
    pub version: Version,
    /// The time of its publish; `None` if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_at: Option<UnixTime>,
    /// Its status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ReleaseStatus>,
    /// The repository that it was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceDocument>,
    /// Whether it has documentation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_documented: bool,
}

impl Overview {
    /// Returns the version that `latest` stands for: the newest one that can be installed, and a prerelease only if
    /// there is no other.
    pub fn newest(&self) -> Option<&OverviewVersion> {
        let is_installable = |it: &&OverviewVersion| {
            let status = it.status.as_ref();
            status.is_none_or(|status| status.state != ReleaseState::Revoked)
        };
        let installable = || self.versions.iter().filter(is_installable);
        installable()
            .find(|it| !it.version.is_prerelease())
            .or_else(|| installable().next())
    }

    /// Returns a version.
    pub fn version(&self, version: &Version) -> Option<&OverviewVersion> {
        self.versions.iter().find(|it| it.version == *version)
    }
}
