//! Garbage collection: the marks of archives that may be removed.
//!
//! # Why no archive is removed that a release refers to
//! An archive without a release is either left over from an interrupted publish, or about to be referred to by
//! a release. Only time distinguishes the two, so an archive is removed in two phases:
//!
//! 1. It is **marked**: a [`GarbageDocument`] is created if there is none.
//! 2. An hour ([`limits::GARBAGE_SECONDS`]) later, every release is searched for references again. If there is
//!    none, the mark that was read before this search becomes *removing* by compare-and-swap, the archive is
//!    removed, and then the mark.
//!
//! A publish (or any other request that is about to refer to an archive) looks up marks **before** it looks up
//! archives. If an archive is marked, the mark becomes *kept* by compare-and-swap. If an archive is being
//! removed, it counts as missing, and the publish does not commit to it. The marks that a publish has read are
//! valid for a quarter of an hour ([`limits::FENCE_SECONDS`]). After that it does not commit: the response is a
//! 503, and the retry reads the marks again.
//!
//! So consider a commit that refers to an archive, and the swap to *removing* for the same archive:
//!
//! - The publish read the marks before this mark was made. Then its commit was at most a quarter of an hour
//!   later, and the second search, an hour after the mark, has found the release.
//! - It read them between the mark and the swap. Then the mark is *kept*, and the swap fails.
//! - It read them after the swap and before the mark was removed. Then it has not committed.
//! - It read them after that. Then the archive was removed before the publish looked up archives, and the
//!   client has to upload it again.
//!
//! An interrupted removal is resumed after an hour: as long as the mark exists, nothing commits to the archive,
//! so a copy that was stored again in the meantime can be removed, too.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits;
use terrace_base::time::UnixTime;

/// The mark of an archive that may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GarbageDocument {
    /// The state of the removal.
    pub state: GarbageState,
    /// The time since which the mark is in this state.
    pub since: UnixTime,
}

/// The state of an archive that nothing referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GarbageState {
    /// The archive will be removed, unless something refers to it soon.
    Marked,
    /// A publish has found the archive.
    Kept,
    /// The archive is being removed: nothing may refer to it.
    Removing,
}

/// Error: a text that is not the state of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the state must be marked, kept or removing")]
pub struct GarbageStateError;

impl FromStr for GarbageState {
    type Err = GarbageStateError;

    fn from_str(text: &str) -> Result<Self, GarbageStateError> {
        match text {
            "marked" => Ok(Self::Marked),
            "kept" => Ok(Self::Kept),
            "removing" => Ok(Self::Removing),
            _ => Err(GarbageStateError),
        }
    }
}

impl fmt::Display for GarbageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Marked => "marked",
            Self::Kept => "kept",
            Self::Removing => "removing",
        })
    }
}

impl GarbageDocument {
    /// Creates the mark of an archive that nothing refers to.
    pub fn marked(now: UnixTime) -> Self {
        Self {
            state: GarbageState::Marked,
            since: now,
        }
    }

    /// Creates the mark of the same archive in another state, from now on.
    pub fn becomes(state: GarbageState, now: UnixTime) -> Self {
        Self { state, since: now }
    }

    /// Returns whether the mark has been in its state long enough that every request that read an earlier state has
    /// ended.
    pub fn is_settled(&self, now: UnixTime) -> bool {
        now.since(self.since) >= limits::GARBAGE_SECONDS
    }
}

const _: () = assert!(
    limits::GARBAGE_SECONDS >= 2 * limits::FENCE_SECONDS,
    "a publish must end before an archive is removed whose mark it has not seen"
);

terrace_base::text_serde!(GarbageState);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_pinned() {
        let marked = GarbageDocument::marked(UnixTime(1));
        assert_eq!(
            serde_json::to_string(&marked).unwrap(),
            r#"{"state":"marked","since":1}"#
        );
        for (state, text) in [
            (GarbageState::Kept, "kept"),
            (GarbageState::Removing, "removing"),
        ] {
            let text = format!(r#"{{"state":"{text}","since":2}}"#);
            let document = GarbageDocument::becomes(state, UnixTime(2));
            assert_eq!(
                serde_json::from_str::<GarbageDocument>(&text).unwrap(),
                document
            );
        }
    }
}
