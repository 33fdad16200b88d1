//! The versions of a package for people: with their dates, statuses and sources.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::index::ListedRelease;
use crate::model::package::Package;
use crate::model::source::SourceDocument;
use crate::model::status::{ReleaseState, ReleaseStatus, StatusDocument};
use crate::model::version::Version;
use crate::storage::index_document::IndexDocument;
use crate::storage::key::IndexKey;
use terrace_base::json;
use terrace_base::sort;
use terrace_base::time::UnixTime;

/// The index [`IndexKey::Overview`].
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

impl OverviewVersion {
    /// Creates the entry of a version of which nothing else is known.
    pub fn new(version: Version) -> Self {
        Self {
            version,
            published_at: None,
            status: None,
            source: None,
            is_documented: false,
        }
    }
}

impl Overview {
    /// Returns the overview of listed releases, which may be in any order. `documented` are the versions with
    /// documentation.
    pub fn of(
        releases: &[ListedRelease],
        statuses: &StatusDocument,
        documented: &BTreeSet<Version>,
    ) -> Self {
        let version = |listed: &ListedRelease| OverviewVersion {
            published_at: listed.published,
            status: statuses.shown(&listed.version).cloned(),
            source: listed.source.clone(),
            is_documented: !listed.is_erased && documented.contains(&listed.version),
            version: listed.version.clone(),
        };
        let mut versions: Vec<OverviewVersion> = releases.iter().map(version).collect();
        sort::sort_by(&mut versions, |one, other| other.version.cmp(&one.version));
        Self {
            status: statuses.package.clone(),
            versions,
        }
    }

    /// Returns the index of a package.
    pub fn index(&self, package: &Package) -> (IndexKey, IndexDocument) {
        let key = IndexKey::Overview(package.clone());
        (key, IndexDocument::new(json::to_string(self)))
    }

    /// Returns the version that `latest` stands for: the newest one that can be installed. A prerelease is it only if
    /// there is no release, and a withdrawn version only if all others are withdrawn or revoked.
    pub fn newest(&self) -> Option<&OverviewVersion> {
        let state = |it: &OverviewVersion| it.status.as_ref().map(|status| status.state);
        let versions = self.versions.iter();
        let installable = versions.filter(|it| state(it) < Some(ReleaseState::Revoked));
        // The first one of the least rank is the newest.
        installable.min_by_key(|it| {
            let is_withdrawn = state(it) == Some(ReleaseState::Withdrawn);
            (is_withdrawn, it.version.is_prerelease())
        })
    }

    /// Returns a version.
    pub fn version(&self, version: &Version) -> Option<&OverviewVersion> {
        self.versions.iter().find(|it| it.version == *version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::assert_pinned;

    fn listed(version: &str) -> ListedRelease {
        ListedRelease::new(version.parse().unwrap())
    }

    fn statuses(version: &str, state: ReleaseState) -> StatusDocument {
        let status = ReleaseStatus {
            state,
            reason: "it deletes".parse().unwrap(),
            at: UnixTime(1),
            by: "root".to_owned(),
        };
        StatusDocument {
            versions: [(version.to_owned(), status)].into(),
            ..StatusDocument::default()
        }
    }

    fn overview(versions: &[&str], statuses: &StatusDocument) -> Overview {
        let releases: Vec<ListedRelease> = versions.iter().map(|it| listed(it)).collect();
        Overview::of(&releases, statuses, &BTreeSet::new())
    }

    #[test]
    fn the_index_is_pinned() {
        let package = Package::Module("acme/vpc/aws".parse().unwrap());
        let source = ListedRelease {
            source: Some(SourceDocument::claimed(
                "https://example.com/vpc".parse().unwrap(),
                None,
            )),
            published: Some(UnixTime(7)),
            ..listed("1.0.0")
        };
        let documented = ["1.0.0".parse().unwrap(), "9.0.0".parse().unwrap()].into();
        let releases = [source, listed("1.10.0"), listed("1.9.0")];
        let overview = Overview::of(
            &releases,
            &statuses("1.9.0", ReleaseState::Revoked),
            &documented,
        );
        let (key, document) = overview.index(&package);
        assert_eq!(key.to_string(), "modules/acme/vpc/aws/overview");
        assert_pinned(
            &document.text,
            r#"{"versions":[{"version":"1.10.0"},{"version":"1.9.0","status":{"state":"revoked","reason":"it deletes","at":1,"by":"root"}},{"version":"1.0.0","published_at":7,"source":{"url":"https://example.com/vpc","claimed":true},"is_documented":true}]}"#,
        );
        assert_eq!(
            serde_json::from_str::<Overview>(&document.text).unwrap(),
            overview
        );
    }

    #[test]
    fn the_order_of_the_releases_does_not_matter() {
        let none = StatusDocument::default();
        let one = overview(&["1.0.0", "2.0.0", "1.5.0"], &none);
        assert_eq!(one, overview(&["2.0.0", "1.5.0", "1.0.0"], &none));
    }

    #[test]
    fn the_newest_version_can_be_installed_and_is_a_prerelease_only_without_others() {
        let newest = |versions: &[&str], statuses: &StatusDocument| {
            let overview = overview(versions, statuses);
            overview.newest().map(|it| it.version.to_string())
        };
        let none = StatusDocument::default();
        let of = |version: &str| Some(version.to_owned());
        assert_eq!(newest(&["1.0.0", "2.0.0-rc.1"], &none), of("1.0.0"));
        assert_eq!(
            newest(&["2.0.0-rc.1", "2.0.0-rc.2"], &none),
            of("2.0.0-rc.2")
        );
        let revoked = statuses("2.0.0", ReleaseState::Revoked);
        assert_eq!(newest(&["1.0.0", "2.0.0"], &revoked), of("1.0.0"));
        assert_eq!(newest(&["2.0.0"], &revoked), None);
        let withdrawn = statuses("2.0.0", ReleaseState::Withdrawn);
        assert_eq!(newest(&["1.0.0", "2.0.0"], &withdrawn), of("1.0.0"));
        assert_eq!(
            newest(&["1.0.0-rc.1", "2.0.0"], &withdrawn),
            of("1.0.0-rc.1")
        );
        assert_eq!(newest(&["2.0.0"], &withdrawn), of("2.0.0"));
        let deprecated = statuses("2.0.0", ReleaseState::Deprecated);
        assert_eq!(newest(&["1.0.0", "2.0.0"], &deprecated), of("2.0.0"));
    }
}
