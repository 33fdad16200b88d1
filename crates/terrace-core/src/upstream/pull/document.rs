//! The state of a provider as last seen at its origin.

use serde::{Deserialize, Serialize};

use super::PullPolicy;
use crate::model::address::MirroredAddress;
use crate::model::platform::Platform;
use crate::model::version::Version;
use crate::storage::release::SigningKeyDocument;
use crate::upstream::origin::{OriginVersions, PublishedVersion, check_pin};
use crate::upstream::pull::PULL_ABSENCE_SECONDS;
use crate::upstream::pull::PULL_CHECK_SECONDS;
use terrace_base::sort;
use terrace_base::time::UnixTime;

/// Time for which a version may be missing from its origin's list and still count as the same version when it
/// returns, in seconds.
const PULL_MISSING_SECONDS: u64 = 86_400;

/// The schema of the documents written here.
const SCHEMA: u32 = 1;

/// The state of a provider as last seen at its origin. One document per provider, with all versions that its origin lists and
/// their platforms, changed by compare-and-swap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginDocument {
    schema: u32,
    /// The time of the last successful request to the origin.
    pub checked_at: UnixTime,
    /// The versions that its origin listed then, and those that it listed until recently, ascending.
    pub versions: Vec<KnownVersion>,
    /// The keys that may sign its versions: the key of the first pulled version, and the keys that an
    /// administrator added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<SigningKeyDocument>,
}

/// A version that an origin lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownVersion {
    /// The version of the provider.
    pub version: Version,
    /// The platforms that are listed for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<Platform>,
    /// The time when it was first listed. For a version that existed when the provider was first looked up, 0, or the
    /// time of its publish if it was recent and the origin gives it; the protocol does not contain that time.
    pub first_seen: UnixTime,
    /// The time since which it is no longer listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_since: Option<UnixTime>,
}

impl KnownVersion {
    /// Returns whether it has been missing for so long that it counts as new if it returns.
    fn is_delisted(&self, now: UnixTime) -> bool {
        self.missing_since
            .is_some_and(|since| now.since(since) >= PULL_MISSING_SECONDS)
    }
}

impl Default for OriginDocument {
    /// The state before the first look-up.
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            checked_at: UnixTime(0),
            versions: Vec::new(),
            keys: Vec::new(),
        }
    }
}

impl OriginDocument {
    /// Parses a stored document.
    ///
    /// # Errors
    /// If it is not JSON of this shape, or was written by a newer Terrace, with another schema.
    pub fn from_document(bytes: &[u8]) -> Result<Self, String> {
        let mut document: Self = serde_json::from_slice(bytes).map_err(|it| it.to_string())?;
        if document.schema != SCHEMA {
            let schema = document.schema;
            return Err(format!(
                "its schema is {schema}, but only schema {SCHEMA} is known"
            ));
        }
        document.sort();
        Ok(document)
    }

    /// Returns the state after its origin has listed these versions; an empty list means that the origin has
    /// no such provider. Known versions keep the time when they were first seen, even if they were missing
    /// for a short time: if an origin loses its list for an hour, no version becomes new.
    pub fn after(before: Option<&Self>, listed: &OriginVersions, now: UnixTime) -> Self {
        let asked_before = before.filter(|before| before.was_asked());
        let first_seen = |version: &Version| match asked_before {
            None => UnixTime(0),
            Some(before) => before
                .place(version)
                .filter(|seen| !seen.is_delisted(now))
                .map_or(now, |seen| seen.first_seen),
        };
        let versions = listed.versions.iter().map(|listed| KnownVersion {
            version: listed.version.clone(),
            platforms: listed.platforms.clone(),
            first_seen: first_seen(&listed.version),
            missing_since: None,
        });
        let mut after = Self {
            schema: SCHEMA,
            checked_at: now,
            versions: versions.collect(),
            keys: before.map(|before| before.keys.clone()).unwrap_or_default(),
        };
        after.sort();
        let missing = asked_before.map(|before| before.missing(&after, now));
        after.versions.extend(missing.unwrap_or_default());
        after.sort();
        after
    }

    /// Returns the state after the first look-up, with the times at which its origin published some of the versions.
    #[must_use]
    pub fn with_dates(mut self, dates: &[PublishedVersion]) -> Self {
        for date in dates {
            let mut versions = self.versions.iter_mut();
            if let Some(seen) = versions.find(|seen| seen.version == date.version) {
                seen.first_seen = date.published_at;
            }
        }
        self
    }

    /// Returns the versions that are missing in `after`, except those missing for long.
    fn missing(&self, after: &Self, now: UnixTime) -> Vec<KnownVersion> {
        let is_missing = |seen: &&KnownVersion| after.place(&seen.version).is_none();
        let missing = self.versions.iter().filter(is_missing);
        missing
            .map(|seen| KnownVersion {
                missing_since: Some(seen.missing_since.unwrap_or(now)),
                ..seen.clone()
            })
            .filter(|seen| !seen.is_delisted(now))
            .collect()
    }

    fn sort(&mut self) {
        sort::sort_by(&mut self.versions, |a, b| a.version.cmp(&b.version));
    }

    fn place(&self, version: &Version) -> Option<&KnownVersion> {
        let place = self
            .versions
            .binary_search_by(|seen| seen.version.cmp(version));
        self.versions.get(place.ok()?)
    }

    /// Returns whether its origin has ever responded.
    pub fn was_asked(&self) -> bool {
        self.checked_at > UnixTime(0)
    }

    /// Returns a version if its origin lists it.
    pub fn find(&self, version: &Version) -> Option<&KnownVersion> {
        self.place(version)
            .filter(|seen| seen.missing_since.is_none())
    }

    /// Returns the versions that `policy` shows, as of the last request to the origin.
    pub fn admitted(
        &self,
        policy: &PullPolicy,
        address: &MirroredAddress,
    ) -> impl Iterator<Item = &Version> {
        let at = self.checked_at;
        self.versions
            .iter()
            .filter(move |seen| seen.missing_since.is_none() && policy.admits(address, seen, at))
            .map(|seen| &seen.version)
    }

    /// Returns the document with this key among those that may sign versions.
    #[must_use]
    pub fn with_key(mut self, key: &SigningKeyDocument) -> Self {
        if check_pin(&self.keys, key).is_err() || self.keys.is_empty() {
            self.keys.push(key.clone());
        }
        self
    }

    /// Returns whether its origin should be asked again. The absence of a provider is cached for a shorter time,
    /// because it may be about to be published.
    pub fn is_due(&self, now: UnixTime) -> bool {
        let is_listed = |seen: &KnownVersion| seen.missing_since.is_none();
        let kept = if !self.versions.iter().any(is_listed) {
            PULL_ABSENCE_SECONDS
        } else {
            PULL_CHECK_SECONDS
        };
        now.since(self.checked_at) >= kept
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// Returns the state at a time: versions, each with the time when it was first seen.
    pub(in crate::upstream::pull) fn seen_at(
        checked_at: u64,
        versions: &[(&str, u64)],
    ) -> OriginDocument {
        let seen = |(version, first_seen): &(&str, u64)| KnownVersion {
            version: version.parse().unwrap(),
            platforms: Vec::new(),
            first_seen: UnixTime(*first_seen),
            missing_since: None,
        };
        OriginDocument {
            schema: SCHEMA,
            checked_at: UnixTime(checked_at),
            versions: versions.iter().map(seen).collect(),
            keys: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::assert_pinned;
    use crate::upstream::origin::OriginVersion;

    fn listed(versions: &[&str]) -> OriginVersions {
        let version = |text: &&str| OriginVersion {
            version: text.parse().unwrap(),
            protocols: Vec::new(),
            platforms: vec!["linux_amd64".parse().unwrap()],
        };
        OriginVersions {
            versions: versions.iter().map(version).collect(),
            skipped: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn first_seen(document: &OriginDocument) -> Vec<(String, u64)> {
        let pair = |seen: &KnownVersion| (seen.version.to_string(), seen.first_seen.0);
        document.versions.iter().map(pair).collect()
    }

    /// The stored document: changing a byte of the format needs a migration.
    #[test]
    fn the_stored_format_is_pinned() {
        let document = OriginDocument::after(None, &listed(&["1.0.0"]), UnixTime(9));
        let text = r#"{"schema":1,"checked_at":9,"versions":[{"version":"1.0.0","platforms":["linux_amd64"],"first_seen":0}]}"#;
        assert_pinned(&serde_json::to_string(&document).unwrap(), text);
        let read = OriginDocument::from_document(text.as_bytes()).unwrap();
        assert_eq!(read, document);
        let newer = text.replace("\"schema\":1", "\"schema\":2");
        assert!(OriginDocument::from_document(newer.as_bytes()).is_err());
    }

    #[test]
    fn a_version_that_is_missing_for_a_short_time_is_not_new_afterwards() {
        let first = OriginDocument::after(None, &listed(&["1.0.0", "1.1.0"]), UnixTime(100_000));
        let lost = OriginDocument::after(Some(&first), &listed(&[]), UnixTime(200_000));
        assert_eq!(lost.find(&"1.0.0".parse().unwrap()), None);
        let soon = UnixTime(200_000 + PULL_MISSING_SECONDS - 1);
        let back = OriginDocument::after(Some(&lost), &listed(&["1.0.0", "1.1.0"]), soon);
        assert_eq!(
            first_seen(&back),
            [("1.0.0".to_owned(), 0), ("1.1.0".to_owned(), 0)]
        );
        // After a long time, an old number may be a different release.
        let still = OriginDocument::after(Some(&lost), &listed(&["1.1.0"]), soon);
        let late = UnixTime(soon.0 + 1);
        let late = OriginDocument::after(Some(&still), &listed(&["1.0.0", "1.1.0"]), late);
        assert_eq!(
            first_seen(&late),
            [("1.0.0".to_owned(), soon.0 + 1), ("1.1.0".to_owned(), 0)]
        );
    }

    #[test]
    fn versions_listed_first_are_old_and_later_ones_are_new() {
        let after = |before: Option<&OriginDocument>, versions: &[&str], at: u64| {
            OriginDocument::after(before, &listed(versions), UnixTime(at))
        };
        let pairs = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
            pairs.iter().map(|(v, at)| ((*v).to_owned(), *at)).collect()
        };
        // A document from before the first request makes no version new.
        for before in [None, Some(&OriginDocument::default())] {
            let first = after(before, &["1.0.0"], 10);
            assert_eq!(first_seen(&first), pairs(&[("1.0.0", 0)]));
            let second = after(Some(&first), &["1.0.0", "1.1.0"], 20);
            assert_eq!(first_seen(&second), pairs(&[("1.0.0", 0), ("1.1.0", 20)]));
            let third = after(Some(&second), &["1.1.0", "1.2.0"], 30);
            assert_eq!(third.versions[0].missing_since, Some(UnixTime(30)));
            assert_eq!(
                first_seen(&third),
                pairs(&[("1.0.0", 0), ("1.1.0", 20), ("1.2.0", 30)])
            );
        }
        // The first release of a provider that was missing is new.
        let nothing = after(None, &[], 10);
        let then = after(Some(&nothing), &["1.0.0"], 20);
        assert_eq!(first_seen(&then), pairs(&[("1.0.0", 20)]));
    }

    #[test]
    fn an_origin_without_versions_is_asked_again_sooner() {
        let some = OriginDocument::after(None, &listed(&["1.0.0"]), UnixTime(1_000));
        let none = OriginDocument::after(None, &listed(&[]), UnixTime(1_000));
        const { assert!(PULL_ABSENCE_SECONDS < PULL_CHECK_SECONDS) };
        for (document, kept) in [(&some, PULL_CHECK_SECONDS), (&none, PULL_ABSENCE_SECONDS)] {
            assert!(!document.is_due(UnixTime(1_000 + kept - 1)));
            assert!(document.is_due(UnixTime(1_000 + kept)));
        }
    }
}
