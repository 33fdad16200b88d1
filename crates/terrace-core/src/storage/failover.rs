//! The state of the failover: the bucket whose URLs downloads get.
//!
//! The state is a fact with an index, like revocations: isolates read the index. There is one difference. While R2 takes no
//! writes, the fact cannot change, so a change is written to the index first, and counts. The fact follows when R2 answers
//! again. Of two states, the one with the later [`since`](FailoverDocument::since) counts.
//! [`limits::FAILOVER_SECONDS`] and [`limits::LIST_CACHE_SECONDS`] together are the maximum time for which an isolate may
//! still sign URLs of the other bucket.

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::limits;
use crate::storage::index_document::IndexDocument;
use terrace_base::json;
use terrace_base::time::UnixTime;

/// The bucket whose URLs downloads get.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServingBucket {
    /// The bucket that is bound to the Worker, with all facts and archives.
    #[default]
    Main,
    /// The second bucket, with copies of the archives. Nothing can be changed meanwhile.
    Fallback,
}

impl ServingBucket {
    /// Returns the other bucket.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Main => Self::Fallback,
            Self::Fallback => Self::Main,
        }
    }

    /// Returns the name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Fallback => "fallback",
        }
    }
}

impl fmt::Display for ServingBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The account in [`FailoverDocument::by`] of changes that the probe of the scheduled event made.
pub const PROBE: &str = "probe";

/// The state of the failover, as stored in the fact and in the index. Without one, the main bucket serves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailoverDocument {
    /// The bucket that serves downloads.
    pub serving: ServingBucket,
    /// The time of the change.
    pub since: UnixTime,
    /// The name of the administrator who changed it, or [`PROBE`].
    pub by: String,
    /// The reason, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl FailoverDocument {
    /// Returns whether this state was set after another one. Without one, the main bucket has served since 1970.
    pub fn is_newer_than(&self, other: Option<&Self>) -> bool {
        self.since > other.map_or_else(UnixTime::default, |other| other.since)
    }

    /// Returns the time of a change of this state: now, and never that of the state.
    pub fn time_of_change(&self, now: UnixTime) -> UnixTime {
        now.max(self.since.plus(1))
    }

    /// Returns whether the probe set this state. Only then does a probe end it.
    pub fn is_by_probe(&self) -> bool {
        self.by == PROBE
    }

    /// Returns the index of the state.
    pub fn index(&self) -> IndexDocument {
        IndexDocument::new(json::to_string(self))
    }
}

/// The number of consecutive probes whose result speaks against the bucket that serves downloads. It has an index of its own,
/// without a fact: a probe that counts must not bring back a state that an administrator has just changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeCount {
    /// The bucket that served downloads when they were counted.
    pub serving: ServingBucket,
    /// Their number.
    pub contrary: u32,
}

impl ProbeCount {
    /// Returns the count after another such probe, while this bucket serves downloads.
    #[must_use]
    pub fn after_one_more(self, serving: ServingBucket) -> Self {
        let counted = match self.serving == serving {
            true => self.contrary,
            false => 0,
        };
        Self {
            serving,
            contrary: counted.saturating_add(1),
        }
    }

    /// Returns the index of the count.
    pub fn index(&self) -> IndexDocument {
        IndexDocument::new(json::to_string(self))
    }
}

/// The progress of the copy in the second bucket: a walk over all archives and blobs, which begins again at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FallbackCopyDocument {
    /// The storage key after which the next step continues; none at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The counts of the current walk so far.
    #[serde(default)]
    pub current: CopyCounts,
    /// The counts of the last complete walk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<CopyCounts>,
    /// The reason why the last step failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl FallbackCopyDocument {
    /// Returns whether the walk has begun, or the last one has left something uncopied.
    pub fn is_behind(&self) -> bool {
        self.next.is_some() || self.last.as_ref().is_none_or(|last| last.missing > 0)
    }
}

/// The result of comparing the second bucket with the main one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyCounts {
    /// The time of the last step of the walk.
    pub at: UnixTime,
    /// The number of archives and blobs in the main bucket.
    pub stored: u64,
    /// The number of archives and blobs that the walk left uncopied.
    pub missing: u64,
    /// Their bytes.
    pub missing_bytes: u64,
    /// The number of archives and blobs that the walk copied.
    pub copied: u64,
    /// The number of erased archives and blobs that the walk removed.
    pub removed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::assert_pinned;

    fn failed_over() -> FailoverDocument {
        FailoverDocument {
            serving: ServingBucket::Fallback,
            since: UnixTime(1_800_000_000),
            by: PROBE.to_owned(),
            reason: "R2 does not answer".to_owned(),
        }
    }

    #[test]
    fn the_documents_are_pinned() {
        assert_pinned(
            &json::to_string(&failed_over()),
            r#"{"serving":"fallback","since":1800000000,"by":"probe","reason":"R2 does not answer"}"#,
        );
        let counted = ProbeCount::default().after_one_more(ServingBucket::Main);
        assert_pinned(
            &json::to_string(&counted),
            r#"{"serving":"main","contrary":1}"#,
        );
        let copy = FallbackCopyDocument {
            next: Some("archives/a.zip".to_owned()),
            current: CopyCounts {
                at: UnixTime(1_800_000_000),
                stored: 5,
                missing: 4,
                missing_bytes: 3,
                copied: 2,
                removed: 1,
            },
            last: None,
            error: Some("the second bucket cannot list: it answers with status 403".to_owned()),
        };
        assert_pinned(
            &json::to_string(&copy),
            r#"{"next":"archives/a.zip","current":{"at":1800000000,"stored":5,"missing":4,"missing_bytes":3,"copied":2,"removed":1},"error":"the second bucket cannot list: it answers with status 403"}"#,
        );
    }

    #[test]
    fn probes_of_another_state_are_not_counted() {
        let twice = ProbeCount::default()
            .after_one_more(ServingBucket::Main)
            .after_one_more(ServingBucket::Main);
        assert_eq!(twice.contrary, 2);
        assert_eq!(twice.after_one_more(ServingBucket::Fallback).contrary, 1);
    }

    #[test]
    fn the_later_of_two_states_counts() {
        let first = failed_over();
        let second = FailoverDocument {
            since: first.since.plus(1),
            ..FailoverDocument::default()
        };
        assert!(second.is_newer_than(Some(&first)) && first.is_newer_than(None));
        assert!(!first.is_newer_than(Some(&second)) && !first.is_newer_than(Some(&first)));
        assert!(!FailoverDocument::default().is_newer_than(None));
        assert_eq!(first.time_of_change(first.since), second.since);
    }
}
