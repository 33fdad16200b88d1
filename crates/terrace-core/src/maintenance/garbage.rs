//! Garbage collection: the marks of archives and blobs that may be removed.
//!
//! # Why no archive is removed that a release refers to
//! An archive without a release is either left over from an interrupted publish, or about to be referred to by
//! a release. Only time distinguishes the two, so an archive is removed in two phases:
//!
//! 1. It is **marked**: a [`GarbageDocument`] is created if there is none.
//! 2. An hour ([`GARBAGE_SECONDS`]) later, every release is searched for references again. If there is
//!    none, the mark that was read before this search becomes *removing* by compare-and-swap, the archive is
//!    removed, and then the mark.
//!
//! A publish (or any other request that is about to refer to an archive) looks up marks **before** it looks up
//! archives. If an archive is marked, the mark becomes *kept* by compare-and-swap. If an archive is being
//! removed, it counts as missing, and the publish does not commit to it. The marks that a publish has read are
//! valid for a quarter of an hour ([`FENCE_SECONDS`]). After that it does not commit: the response is a
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
//!
//! # Blobs
//! Pushed blobs are marked and removed in the same way. Their references are the links of repositories, and manifests. The commit
//! of a push or a mount is the link, and it reads the mark of its blob right before that.
//!
//! # Erased archives
//! An operator can erase an archive: its mark becomes *erased*, by compare-and-swap, whatever its state was, and stays for
//! ever. So does the mark of its digest, which covers archives, blobs and manifests. Then the archive is removed, and
//! again whenever it was stored again. Storage has no conditional removal of a mark. So a request that removes a mark
//! first writes it, by compare-and-swap, and then has half a minute ([`MARK_REMOVAL_SECONDS`]) to remove it. An
//! erasure waits until a mark that may be removed is older than a minute.
//!
//! A publish that has read the marks before the erasure may still commit to the archive, for a quarter of an hour. That
//! version cannot be installed, because its archive is removed.

use serde::{Deserialize, Serialize};

use crate::model::status::Reason;
use terrace_base::time::UnixTime;

/// Time for which an archive must have been marked before it is removed, in seconds: much longer than
/// [`FENCE_SECONDS`], as [`crate::maintenance::garbage`] explains.
pub const GARBAGE_SECONDS: u64 = 3_600;

/// Time for which no request makes the tombstone of an archive from a garbage mark that another request may be about to remove, in
/// seconds. The mark is removed within half of that time or not at all, and one operation of storage takes less than the other
/// half.
pub const MARK_REMOVAL_SECONDS: u64 = 60;

/// Time for which a publish may rely on its snapshot of the garbage marks, in seconds. After that it does not
/// commit: the response is a 503, and the retry takes a new snapshot.
pub const FENCE_SECONDS: u64 = 900;

/// The mark of an archive that may be removed, or the tombstone of one that was erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GarbageDocument {
    /// The state of the removal.
    pub state: GarbageState,
    /// The time since which the mark is in this state.
    pub since: UnixTime,
    /// The reason of an erasure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// The metadata name of `GarbageDocument::state`.
const STATE: &str = "state";

/// The state of an archive that nothing referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GarbageState {
    /// The archive will be removed, unless something refers to it soon.
    Marked,
    /// A publish has found the archive.
    Kept,
    /// The archive is being removed: nothing may refer to it.
    Removing,
    /// An operator has erased the archive: it must never be stored again. An older Worker rejects the mark as a damaged
    /// document.
    Erased,
}

impl GarbageState {
    const ALL: [Self; 4] = [Self::Marked, Self::Kept, Self::Removing, Self::Erased];

    /// Returns the name, as documents have it.
    fn as_str(self) -> &'static str {
        match self {
            Self::Marked => "marked",
            Self::Kept => "kept",
            Self::Removing => "removing",
            Self::Erased => "erased",
        }
    }
}

impl GarbageDocument {
    /// Creates the mark of an archive that nothing refers to.
    pub fn marked(now: UnixTime) -> Self {
        Self::becomes(GarbageState::Marked, now)
    }

    /// Creates the tombstone of an archive.
    pub fn erased(reason: Reason, now: UnixTime) -> Self {
        Self {
            reason: Some(reason),
            ..Self::becomes(GarbageState::Erased, now)
        }
    }

    /// Creates the mark of the same archive in another state, from now on.
    pub fn becomes(state: GarbageState, now: UnixTime) -> Self {
        Self {
            state,
            since: now,
            reason: None,
        }
    }

    /// Returns the state as the metadata of the object, so that a listing contains it.
    pub fn to_metadata(&self) -> [(&'static str, String); 1] {
        [(STATE, self.state.as_str().to_owned())]
    }

    /// Returns the state in metadata; `None` if an earlier version wrote the mark, or a copy of the bucket has lost it.
    pub fn state_in(metadata: &[(String, String)]) -> Option<GarbageState> {
        let (_, state) = metadata.iter().find(|(name, _)| name == STATE)?;
        let mut states = GarbageState::ALL.into_iter();
        states.find(|known| known.as_str() == state)
    }

    /// Returns whether another request may remove the mark at any moment.
    pub fn is_being_removed(&self, now: UnixTime) -> bool {
        match self.state {
            GarbageState::Kept | GarbageState::Removing => {
                now.since(self.since) <= MARK_REMOVAL_SECONDS
            }
            GarbageState::Marked | GarbageState::Erased => false,
        }
    }

    /// Returns whether the mark has been in its state long enough that every request that read an earlier state has
    /// ended.
    pub fn is_settled(&self, now: UnixTime) -> bool {
        now.since(self.since) >= GARBAGE_SECONDS
    }
}

const _: () = assert!(
    GARBAGE_SECONDS >= 2 * FENCE_SECONDS,
    "a publish must end before an archive is removed whose mark it has not seen"
);

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
            (GarbageState::Marked, "marked"),
            (GarbageState::Erased, "erased"),
        ] {
            let document = GarbageDocument::becomes(state, UnixTime(2));
            assert_eq!(document.to_metadata(), [("state", text.to_owned())]);
            let text = format!(r#"{{"state":"{text}","since":2}}"#);
            assert_eq!(
                serde_json::from_str::<GarbageDocument>(&text).unwrap(),
                document
            );
        }
        let [(name, state)] = marked.to_metadata();
        let metadata = [(name.to_owned(), state)];
        assert_eq!(
            GarbageDocument::state_in(&metadata),
            Some(GarbageState::Marked)
        );
        assert_eq!(GarbageDocument::state_in(&[]), None);
        let erased = GarbageDocument::erased("a leaked key".parse().unwrap(), UnixTime(3));
        let text = r#"{"state":"erased","since":3,"reason":"a leaked key"}"#;
        assert_eq!(serde_json::to_string(&erased).unwrap(), text);
        assert_eq!(
            serde_json::from_str::<GarbageDocument>(text).unwrap(),
            erased
        );
    }
}
