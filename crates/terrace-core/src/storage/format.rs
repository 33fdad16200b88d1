//! The fact `format`: the oldest version of Terrace that may change the stored documents.
//!
//! If an older version would damage the documents of a newer one, the newer one raises the oldest version before its
//! first change. Older Workers and commands continue to read, and reject changes, repair, garbage collection and import.
//! An optional field that is absent when unknown needs no raise.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::http::problem::Problem;
use crate::model::version::Version;
use terrace_base::time::UnixTime;

/// Time for which an isolate remembers that it may change the stored documents, in seconds. Its changes take
/// at most one read of R2 for this in that time. A newer version waits as long before it writes documents
/// that older ones would damage.
pub const FORMAT_SECONDS: u64 = 60;

/// The document of [`FactKey::Format`](super::key::FactKey::Format). Without one, any version may write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatDocument {
    /// The oldest version that may write.
    pub oldest_writer: Version,
    /// The time of the last raise; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised_at: Option<UnixTime>,
}

/// A version of Terrace that writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// The writer's own version.
    pub version: Version,
    /// The oldest version that may write to the same registry.
    pub oldest: Version,
}

/// The running version, and the oldest one that understands every document that it writes. The first is also
/// in `Cargo.toml`; a test compares them.
static CURRENT: LazyLock<Writer> = LazyLock::new(|| Writer {
    version: Version::new(0, 1, 0),
    oldest: Version::new(0, 1, 0),
});

/// The decision whether a writer may change the stored documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteDecision {
    /// It may.
    Allowed,
    /// It may after this document is stored: at once if that is the registry's first, otherwise after a wait.
    Store(FormatDocument),
    /// It may after this number of seconds, because isolates of an older version still remember the previous
    /// document.
    Wait(u64),
    /// It may not: it is older than this version.
    Refused(Version),
}

impl Writer {
    /// Returns the running version.
    pub fn current() -> &'static Self {
        &CURRENT
    }

    /// Decides whether this version may change a registry with the `stored` document.
    pub fn decide(&self, stored: Option<&FormatDocument>, now: UnixTime) -> WriteDecision {
        let Some(stored) = stored else {
            return WriteDecision::Store(FormatDocument {
                oldest_writer: self.oldest.clone(),
                raised_at: None,
            });
        };
        if stored.oldest_writer > self.version {
            return WriteDecision::Refused(stored.oldest_writer.clone());
        }
        if stored.oldest_writer < self.oldest {
            return WriteDecision::Store(FormatDocument {
                oldest_writer: self.oldest.clone(),
                raised_at: Some(now),
            });
        }
        let age = stored.raised_at.map(|raised_at| now.since(raised_at));
        match age {
            Some(age) if age < FORMAT_SECONDS => WriteDecision::Wait(FORMAT_SECONDS - age),
            _ => WriteDecision::Allowed,
        }
    }

    /// Returns the error for a change that needs a newer version than this.
    pub fn refusal(&self, oldest: &Version) -> Problem {
        let version = &self.version;
        Problem::Conflict(vec![format!(
            "this registry can only be changed by Terrace {oldest} or newer, because a newer version has written documents \
             that Terrace {version} would damage; reading still works; to write, deploy Terrace {oldest} or newer"
        )])
    }
}

impl FormatDocument {
    /// Returns the new document of a registry into which a copy with the document `other` is imported; `None`
    /// if the document does not change.
    pub fn raised_to(&self, other: &Self, now: UnixTime) -> Option<Self> {
        (self.oldest_writer < other.oldest_writer).then(|| Self {
            oldest_writer: other.oldest_writer.clone(),
            raised_at: Some(now),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn document(oldest: &str, raised_at: Option<UnixTime>) -> FormatDocument {
        FormatDocument {
            oldest_writer: oldest.parse().unwrap(),
            raised_at,
        }
    }

    fn writer() -> Writer {
        Writer {
            version: "1.3.0".parse().unwrap(),
            oldest: "1.2.0".parse().unwrap(),
        }
    }

    #[test]
    fn the_current_version_is_that_of_the_package() {
        let version = &Writer::current().version;
        assert_eq!(version.to_string(), env!("CARGO_PKG_VERSION"));
        assert!(Writer::current().oldest <= *version);
    }

    #[test]
    fn the_first_change_of_a_registry_stores_the_oldest_writer() {
        let first = document("1.2.0", None);
        let decision = writer().decide(None, NOW);
        assert_eq!(decision, WriteDecision::Store(first.clone()));
        let decision = writer().decide(Some(&first), NOW);
        assert_eq!(decision, WriteDecision::Allowed);
    }

    #[test]
    fn a_version_older_than_the_oldest_writer_is_refused() {
        for (oldest, is_refused) in [("1.3.1", true), ("2.0.0", true), ("1.3.0", false)] {
            let decision = writer().decide(Some(&document(oldest, None)), NOW);
            let refused = WriteDecision::Refused(oldest.parse().unwrap());
            assert_eq!(decision == refused, is_refused, "{oldest}");
        }
    }

    #[test]
    fn a_raise_waits_until_no_isolate_remembers_the_document_before() {
        let raised = document("1.2.0", Some(NOW));
        let decision = writer().decide(Some(&document("1.1.9", None)), NOW);
        assert_eq!(decision, WriteDecision::Store(raised.clone()));
        let decide = |seconds| writer().decide(Some(&raised), NOW.plus(seconds));
        assert_eq!(decide(0), WriteDecision::Wait(60));
        assert_eq!(decide(59), WriteDecision::Wait(1));
        assert_eq!(decide(60), WriteDecision::Allowed);
    }

    #[test]
    fn an_import_raises_the_oldest_writer_and_never_lowers_it() {
        let (older, newer) = (document("1.0.0", None), document("1.2.0", None));
        assert_eq!(newer.raised_to(&older, NOW), None);
        assert_eq!(newer.raised_to(&newer, NOW), None);
        let raised = document("1.2.0", Some(NOW));
        assert_eq!(older.raised_to(&newer, NOW), Some(raised));
    }
}
