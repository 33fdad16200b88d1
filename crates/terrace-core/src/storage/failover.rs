//! The state of the failover: the bucket whose URLs downloads get.
//!
//! The state is a fact with an index, like revocations: isolates read the index. There is one difference. While R2 takes no
//! writes, the fact cannot change, so a change is written to the index first, and counts. The fact follows when R2 answers
//! again. Of two states, the one with the later [`since`](FailoverDocument::since) counts.
//! `REVOCATIONS_SECONDS` and [`LIST_CACHE_SECONDS`](crate::limits::LIST_CACHE_SECONDS) together are the maximum time for which an isolate may
//! still sign URLs of the other bucket.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::storage::fallback::{COPY_SECONDS, FallbackBucket};
use crate::storage::index_document::IndexDocument;
use terrace_base::json;
use terrace_base::time::UnixTime;

/// Time after which a run begins no further copy, in seconds.
pub const COPY_RUN_SECONDS: u64 = 60;

/// Time after which a step of the copy that has not ended is taken to be interrupted, in seconds: the last copy may begin just
/// before [`COPY_RUN_SECONDS`], and no removal begins more than `COPY_SECONDS` later.
pub const COPY_STEP_SECONDS: u64 = COPY_RUN_SECONDS + COPY_SECONDS as u64 + 60;

/// Time by which a state of the failover may be ahead of the clock, in seconds: clocks differ, and changes within a second are counted
/// on. One further ahead is damaged, and would outrank every later change.
const FAILOVER_AHEAD_SECONDS: u32 = 300;

/// Maximum age of the last complete comparison of the two buckets for the second one to serve downloads, in seconds. Copies do not
/// become invalid, so it is long: the comparison of a million archives takes days.
const COPY_RECORD_SECONDS: u64 = 7 * 86_400;

/// Time after which a comparison with the same result is recorded again, in seconds: KV allows 1,000 writes a day on the free plan
/// (<https://developers.cloudflare.com/kv/platform/limits/>).
const COPY_RECORD_RENEWAL_SECONDS: u64 = 3_600;

/// The second bucket may lack one in this number of archives when it begins to serve downloads: new archives wait for their copy
/// for some minutes.
const COPY_GAP: u64 = 10;

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

/// The state of the failover, as stored in the fact and in the index. Without one, the main bucket serves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailoverDocument {
    /// The bucket that serves downloads.
    pub serving: ServingBucket,
    /// The URL of the second bucket, if that serves downloads. With settings of another one, or of none, the state has no effect.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bucket: String,
    /// The time of the change.
    pub since: UnixTime,
    /// The name of the administrator who changed it.
    pub by: String,
    /// The reason, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl FailoverDocument {
    /// Returns the state as it takes effect with this second bucket: the main one serves downloads if it names another.
    #[must_use]
    pub fn in_effect(self, fallback: Option<&FallbackBucket>) -> Self {
        let is_of_other = || fallback.is_none_or(|fallback| fallback.url() != self.bucket);
        match self.serving == ServingBucket::Fallback && is_of_other() {
            true => Self {
                since: self.since,
                ..Self::default()
            },
            false => self,
        }
    }

    /// Returns whether this state was set after another one. Without one, the main bucket has served since 1970.
    pub fn is_newer_than(&self, other: Option<&Self>) -> bool {
        self.since > other.map_or_else(UnixTime::default, |other| other.since)
    }

    /// Returns whether this state may be valid at this time. One from the future is damaged.
    pub fn is_plausible(&self, now: UnixTime) -> bool {
        self.since <= now.plus(FAILOVER_AHEAD_SECONDS)
    }

    /// Returns the time of a change of this state: now, and never that of the state.
    pub fn time_of_change(&self, now: UnixTime) -> UnixTime {
        now.max(self.since.plus(1))
    }

    /// Returns the index of the state.
    pub fn index(&self) -> IndexDocument {
        IndexDocument::new(json::to_string(self))
    }
}

/// The progress of the copy in the second bucket: a walk over all archives and blobs, which begins again at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FallbackCopyDocument {
    /// The URL of the second bucket.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bucket: String,
    /// The time at which the step that is running began to copy or to remove.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<UnixTime>,
    /// The storage key after which the next step continues; none at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The counts of the current walk so far.
    #[serde(default)]
    pub current: CopyCounts,
    /// The counts of the last complete walk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<CopyCounts>,
    /// The reason why the last step failed. That of a single object is in the counts of its walk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl FallbackCopyDocument {
    /// Adds a page to the walk. Without a next page, the walk is complete.
    pub fn add_page(&mut self, counts: CopyCounts, next: Option<String>, now: UnixTime) {
        self.current.add(counts);
        self.current.at = now;
        self.next = next;
        if self.next.is_none() {
            self.last = Some(std::mem::take(&mut self.current));
        }
    }

    /// Returns the reason of the last failure: of a step, or of an object in the current or in the last complete walk.
    pub fn last_error(&self) -> Option<&String> {
        let of_last = self.last.as_ref().and_then(|last| last.error.as_ref());
        self.error
            .as_ref()
            .or(self.current.error.as_ref())
            .or(of_last)
    }

    /// Returns the progress in the second bucket with this URL: this one, or none if it belongs to another bucket.
    #[must_use]
    pub fn of_bucket(self, bucket: String) -> Self {
        match self.bucket == bucket {
            true => self,
            false => Self {
                bucket,
                ..Self::default()
            },
        }
    }

    /// Returns whether another step is running. One that was interrupted blocks others only for a while, and one from the future never.
    pub fn is_taken(&self, now: UnixTime) -> bool {
        let lasts = |begun: UnixTime| {
            let is_plausible = begun <= now.plus(FAILOVER_AHEAD_SECONDS);
            is_plausible && now.since(begun) < COPY_STEP_SECONDS
        };
        self.begun.is_some_and(lasts)
    }

    /// Checks that the second bucket with this URL had copies of at least nine in ten archives, and of one at least, at the end
    /// of the last walk, which was not long ago.
    ///
    /// # Errors
    /// The reason why it should not serve downloads.
    pub fn check_copies(&self, bucket: &str, now: UnixTime) -> Result<(), String> {
        let last = self.last.as_ref().filter(|_| self.bucket == bucket);
        let last = last.filter(|last| last.at <= now.plus(FAILOVER_AHEAD_SECONDS));
        let Some(CopyCounts {
            at,
            stored,
            missing,
            ..
        }) = last
        else {
            let never = "no comparison of it with the main bucket has been completed";
            return Err(never.to_owned());
        };
        if now.since(*at) > COPY_RECORD_SECONDS {
            let days = COPY_RECORD_SECONDS / 86_400;
            return Err(format!(
                "it was last compared with the main bucket at {at}, more than {days} days ago"
            ));
        }
        let copies = stored.saturating_sub(*missing);
        match copies == 0 || missing.saturating_mul(COPY_GAP) > *stored {
            true => Err(format!(
                "at {at} it had copies of {copies} of {stored} archives, fewer than nine in ten"
            )),
            false => Ok(()),
        }
    }

    /// Returns whether its last walk has the same result as that of an older document, which is not too old to be kept.
    pub fn repeats(&self, older: &Self) -> bool {
        let counts = |it: &CopyCounts| (it.stored, it.missing);
        match (&self.last, &older.last) {
            (Some(last), Some(known)) => {
                let is_recent =
                    known.at <= last.at && last.at.since(known.at) < COPY_RECORD_RENEWAL_SECONDS;
                is_recent && self.bucket == older.bucket && counts(last) == counts(known)
            }
            _ => false,
        }
    }

    /// Returns the index of the document, as it is when a walk has ended: a change needs the result while R2 does not answer.
    pub fn index(&self) -> IndexDocument {
        IndexDocument::new(json::to_string(self))
    }

    /// Returns whether there is something to copy that can be copied: in the first walk, and as long as objects are copied. Those that
    /// fail wait for their turn.
    pub fn is_incomplete(&self) -> bool {
        let last = self.last.as_ref();
        self.current.copied > 0 || last.is_none_or(|last| last.missing > 0 && last.copied > 0)
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
    /// The number of erased archives and blobs that the walk has left in the second bucket, with those whose removal is in progress.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub erased: u64,
    /// The number of other archives and blobs that only the second bucket has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub surplus: u64,
    /// The reason why an object could not be copied or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl CopyCounts {
    /// Adds the counts of another page. Of several errors the first one stays.
    fn add(&mut self, page: Self) {
        self.stored += page.stored;
        self.missing += page.missing;
        self.missing_bytes += page.missing_bytes;
        self.copied += page.copied;
        self.erased += page.erased;
        self.surplus += page.surplus;
        self.error = self.error.take().or(page.error);
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::assert_pinned;

    fn failed_over() -> FailoverDocument {
        FailoverDocument {
            serving: ServingBucket::Fallback,
            bucket: "https://copies.test/copies/".to_owned(),
            since: UnixTime(1_800_000_000),
            by: "root".to_owned(),
            reason: "R2 does not answer".to_owned(),
        }
    }

    #[test]
    fn the_documents_are_pinned() {
        assert_pinned(
            &json::to_string(&failed_over()),
            r#"{"serving":"fallback","bucket":"https://copies.test/copies/","since":1800000000,"by":"root","reason":"R2 does not answer"}"#,
        );
        let copy = FallbackCopyDocument {
            bucket: "https://copies.test/copies/".to_owned(),
            begun: Some(UnixTime(1_800_000_000)),
            next: Some("archives/a.zip".to_owned()),
            current: CopyCounts {
                at: UnixTime(1_800_000_000),
                stored: 5,
                missing: 4,
                missing_bytes: 3,
                copied: 2,
                erased: 1,
                surplus: 6,
                error: Some("the second bucket cannot store it".to_owned()),
            },
            last: None,
            error: Some("the second bucket cannot list: it answers with status 403".to_owned()),
        };
        assert_pinned(
            &json::to_string(&copy),
            r#"{"bucket":"https://copies.test/copies/","begun":1800000000,"next":"archives/a.zip","current":{"at":1800000000,"stored":5,"missing":4,"missing_bytes":3,"copied":2,"erased":1,"surplus":6,"error":"the second bucket cannot store it"},"error":"the second bucket cannot list: it answers with status 403"}"#,
        );
    }

    fn walked(stored: u64, missing: u64) -> FallbackCopyDocument {
        FallbackCopyDocument {
            bucket: "https://copies.test/copies/".to_owned(),
            last: Some(CopyCounts {
                at: UnixTime(1_800_000_000),
                stored,
                missing,
                ..CopyCounts::default()
            }),
            ..FallbackCopyDocument::default()
        }
    }

    #[test]
    fn a_bucket_may_serve_with_nine_in_ten_copies_according_to_a_recent_comparison() {
        let at = UnixTime(1_800_000_000);
        let check = |document: &FallbackCopyDocument, now: UnixTime| {
            document.check_copies("https://copies.test/copies/", now)
        };
        assert_eq!(check(&walked(100, 10), at), Ok(()));
        let late = UnixTime(at.0 + COPY_RECORD_SECONDS + 1);
        let outdated = check(&walked(100, 10), late).unwrap_err();
        assert!(outdated.ends_with("more than 7 days ago"), "{outdated}");
        let never = "no comparison of it with the main bucket has been completed".to_owned();
        let early = UnixTime(at.0 - u64::from(FAILOVER_AHEAD_SECONDS) - 1);
        assert_eq!(check(&walked(100, 10), early), Err(never.clone()));
        let other = walked(100, 10).check_copies("https://other.test/copies/", at);
        assert_eq!(other, Err(never.clone()));
        assert_eq!(check(&FallbackCopyDocument::default(), at), Err(never));
        for (stored, missing) in [(100, 11), (0, 0), (1, 1), (9, 1)] {
            let gap = check(&walked(stored, missing), at).unwrap_err();
            let copies = format!("had copies of {} of {stored} archives", stored - missing);
            assert!(gap.contains(&copies), "{gap}");
        }
    }

    #[test]
    fn a_comparison_with_the_same_result_is_recorded_again_after_an_hour() {
        let known = walked(100, 10);
        let mut later = walked(100, 10);
        assert!(later.repeats(&known) && !walked(100, 9).repeats(&known));
        assert!(!later.repeats(&FallbackCopyDocument::default()));
        let mut future = walked(100, 10);
        future.last.as_mut().unwrap().at = UnixTime(1_900_000_000);
        assert!(!later.repeats(&future), "its time is wrong");
        let at = UnixTime(1_800_000_000 + COPY_RECORD_RENEWAL_SECONDS);
        later.last.as_mut().unwrap().at = at;
        assert!(!later.repeats(&known));
    }

    #[test]
    fn a_step_that_was_interrupted_blocks_others_only_for_a_while() {
        let begun = UnixTime(1_800_000_000);
        let taken = FallbackCopyDocument {
            begun: Some(begun),
            ..FallbackCopyDocument::default()
        };
        assert!(taken.is_taken(begun) && !FallbackCopyDocument::default().is_taken(begun));
        assert!(!taken.is_taken(UnixTime(begun.0 + COPY_STEP_SECONDS)));
        assert!(taken.is_taken(UnixTime(begun.0 - 1)) && !taken.is_taken(UnixTime(1_700_000_000)));
    }

    #[test]
    fn the_progress_in_another_bucket_does_not_count() {
        let walked = FallbackCopyDocument {
            bucket: "https://copies.test/copies/".to_owned(),
            last: Some(CopyCounts::default()),
            ..FallbackCopyDocument::default()
        };
        let same = walked.clone().of_bucket(walked.bucket.clone());
        assert_eq!(same, walked);
        let other = walked.of_bucket("https://other.test/copies/".to_owned());
        assert_eq!(other.last, None);
    }

    #[test]
    fn a_state_from_the_future_is_damaged() {
        let state = failed_over();
        let earliest = UnixTime(state.since.0 - u64::from(FAILOVER_AHEAD_SECONDS));
        assert!(state.is_plausible(state.since) && state.is_plausible(earliest));
        assert!(!state.is_plausible(UnixTime(earliest.0 - 1)));
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
