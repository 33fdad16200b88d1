//! The fact that a version has documentation, and which.
//!
//! The document changes, by compare-and-swap: documentation can be corrected without a new version. It may be stored
//! before the release, so that the publish writes every index once. Its object's metadata names the archive, so that one
//! listing finds all archives in use.

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::storage::key::{ArchiveKey, ArchiveKind};
use terrace_base::digest::Sha256;
use terrace_base::json;
use terrace_base::time::UnixTime;

/// Time for which documentation that a request or a repair has begun to remove is not replaced, in seconds. It is removed
/// within half of that time or not at all, and one operation of storage takes less than the other half.
pub const DOCUMENTATION_REMOVAL_SECONDS: u64 = 60;

/// Maximum length of the gzip member of a head; see `PAGE_MEMBER_BYTES`.
const DOCUMENTATION_HEAD_MEMBER_BYTES: u64 = limits::DOCUMENTATION_HEAD_BYTES as u64 + 64 * 1024;

/// Number of changes of a version's documentation that its document remembers: every reader of the documentation reads
/// them, and older ones stay in the audit log.
const DOCUMENTATION_HISTORY: usize = 10;

/// The schema of the documents written here.
const SCHEMA: u32 = 1;

/// The metadata name of the archive's digest.
pub const ARCHIVE: &str = "archive";

/// The documentation of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentationDocument {
    schema: u32,
    /// The number of this documentation of the version, from 1: each other archive has the next one.
    pub sequence: u64,
    /// The archive.
    #[serde(flatten)]
    pub archive: DocumentationArchive,
    /// The changes, the newest first; at most `DOCUMENTATION_HISTORY`. Sending the same documentation again is no
    /// change; if it is stored again, the newest entry has the time and the caller of that.
    pub history: Vec<DocumentationChange>,
    /// The time at which a request, or a repair, began to remove it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    removal: Option<UnixTime>,
    /// Whether its text must not be readable any more: an archive of the version was erased.
    // The stored name stays: an earlier version of Terrace would ignore another one, and show the text.
    #[serde(
        default,
        rename = "withdrawn",
        skip_serializing_if = "std::ops::Not::not"
    )]
    is_hidden: bool,
}

/// A documentation archive, as its publisher describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentationArchive {
    /// The digest of the archive.
    pub sha256: Sha256,
    /// Its length in bytes.
    pub size: u64,
    /// The length of its first member, in bytes.
    pub head_length: u64,
    /// The licence of the documentation, as an SPDX expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// The page that it was taken from, for another registry's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// A change of documentation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentationChange {
    /// The archive from then on.
    pub archive: Sha256,
    /// The time of the change.
    pub at: UnixTime,
    /// The name of the caller who made it.
    pub by: String,
}

impl DocumentationDocument {
    /// Returns the state after `archive` became the documentation, at first or in place of `earlier`.
    pub fn after(
        earlier: Option<Self>,
        archive: DocumentationArchive,
        at: UnixTime,
        by: String,
    ) -> Self {
        let (sequence, earlier) = earlier.map_or((0, Vec::new()), |it| (it.sequence, it.history));
        let change = DocumentationChange {
            archive: archive.sha256,
            at,
            by,
        };
        let mut history = vec![change];
        history.extend(earlier);
        history.truncate(DOCUMENTATION_HISTORY);
        Self {
            schema: SCHEMA,
            sequence: sequence + 1,
            archive,
            history,
            removal: None,
            is_hidden: false,
        }
    }

    /// Returns the state after the same documentation was sent again: it is as new as after a change, and not about to be
    /// removed.
    #[must_use]
    pub fn renewed(self, at: UnixTime, by: String) -> Self {
        let renewal = DocumentationChange {
            archive: self.archive.sha256,
            at,
            by,
        };
        let mut history = vec![renewal];
        history.extend(self.history.into_iter().skip(1));
        Self {
            history,
            removal: None,
            is_hidden: false,
            ..self
        }
    }

    /// Returns the state in which it is removed: storage has no conditional removal, so this state is stored first, by
    /// compare-and-swap.
    #[must_use]
    pub fn in_removal(self, now: UnixTime) -> Self {
        Self {
            removal: Some(now),
            ..self
        }
    }

    /// Returns the state in which it is removed after an erasure: from now on no index shows its text, and the document
    /// still leads an interrupted request back to the version.
    #[must_use]
    pub fn hidden(self, now: UnixTime) -> Self {
        Self {
            is_hidden: true,
            ..self.in_removal(now)
        }
    }

    /// Returns whether its text must not be readable any more.
    pub fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// Returns whether its removal has begun, and perhaps was interrupted.
    pub fn is_in_removal(&self) -> bool {
        self.removal.is_some()
    }

    /// Returns whether it may still be removed at any moment.
    pub fn is_being_removed(&self, now: UnixTime) -> bool {
        let is_recent = |since: UnixTime| now.since(since) <= DOCUMENTATION_REMOVAL_SECONDS;
        self.removal.is_some_and(is_recent)
    }

    /// Parses a stored document.
    ///
    /// # Errors
    /// The reason why it is not one.
    pub fn from_document(bytes: &[u8]) -> Result<Self, String> {
        let document: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("not a document about documentation: {error}"))?;
        if document.schema != SCHEMA {
            return Err(format!(
                "the document about documentation has schema {}, but this version of Terrace reads only schema {SCHEMA}",
                document.schema
            ));
        }
        Ok(document)
    }

    /// Returns the document as it is stored.
    pub fn to_document(&self) -> String {
        json::to_string(self)
    }

    /// Returns the time of the last change or renewal.
    pub fn changed_at(&self) -> UnixTime {
        let newest = self.history.first();
        newest.map_or_else(UnixTime::default, |change| change.at)
    }

    /// Returns the metadata of its object.
    pub fn metadata(&self) -> Vec<(&'static str, String)> {
        vec![(ARCHIVE, self.archive.sha256.to_string())]
    }
}

impl DocumentationArchive {
    /// Checks the lengths of an archive and of its first member against their limits.
    ///
    /// # Errors
    /// The first length that is not possible, with its rule.
    pub fn check_lengths(size: u64, head_length: u64) -> Result<(), String> {
        let max = limits::DOCUMENTATION_BYTES;
        if !(1..=max).contains(&size) {
            return Err(format!(
                "size is {size}: an archive of documentation has 1 to {max} bytes"
            ));
        }
        let max = DOCUMENTATION_HEAD_MEMBER_BYTES;
        if !(1..=size.min(max)).contains(&head_length) {
            return Err(format!(
                "head_length is {head_length}: the first member of the archive has 1 to {max} bytes, and ends within the archive"
            ));
        }
        Ok(())
    }

    /// Returns the number of bytes after the first member.
    pub fn after_head(&self) -> u64 {
        self.size.saturating_sub(self.head_length)
    }

    /// The key under which its bytes are stored.
    pub fn archive_key(&self) -> ArchiveKey {
        ArchiveKey {
            digest: self.sha256,
            kind: ArchiveKind::Documentation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::assert_pinned;

    fn archive(byte: u8) -> DocumentationArchive {
        DocumentationArchive {
            sha256: Sha256::from_bytes([byte; 32]),
            size: 100,
            head_length: 40,
            license: Some("MPL-2.0".to_owned()),
            origin: None,
        }
    }

    fn changed(earlier: Option<DocumentationDocument>, byte: u8) -> DocumentationDocument {
        DocumentationDocument::after(earlier, archive(byte), UnixTime(7), "root".to_owned())
    }

    #[test]
    fn the_document_is_pinned() {
        let document = changed(None, 0);
        let digest = Sha256::from_bytes([0; 32]);
        assert_pinned(
            &document.to_document(),
            &format!(
                r#"{{"schema":1,"sequence":1,"sha256":"{digest}","size":100,"head_length":40,"license":"MPL-2.0","history":[{{"archive":"{digest}","at":7,"by":"root"}}]}}"#
            ),
        );
        let read = DocumentationDocument::from_document(document.to_document().as_bytes());
        assert_eq!(read.unwrap(), document);
    }

    #[test]
    fn a_document_in_removal_is_pinned_and_ends_with_the_next_state() {
        let document = changed(None, 0).in_removal(UnixTime(9));
        let text = document.to_document();
        assert!(text.ends_with(r#""by":"root"}],"removal":9}"#), "{text}");
        let read = DocumentationDocument::from_document(text.as_bytes());
        assert_eq!(read.unwrap(), document);
        let last = 9 + DOCUMENTATION_REMOVAL_SECONDS;
        assert!(document.is_being_removed(UnixTime(last)));
        assert!(!document.is_being_removed(UnixTime(last + 1)));
        assert!(!changed(Some(document), 0).is_in_removal());
    }

    #[test]
    fn a_hidden_document_keeps_its_stored_name_and_is_shown_again_once_renewed() {
        let document = changed(None, 0).hidden(UnixTime(9));
        let text = document.to_document();
        assert!(text.ends_with(r#""removal":9,"withdrawn":true}"#), "{text}");
        let read = DocumentationDocument::from_document(text.as_bytes()).unwrap();
        assert!(read.is_hidden() && read.is_in_removal());
        assert!(!read.renewed(UnixTime(10), "ci".to_owned()).is_hidden());
    }

    #[test]
    fn the_history_keeps_the_newest_changes() {
        let mut document = None;
        for byte in 0..20 {
            document = Some(changed(document, byte));
        }
        let document = document.unwrap();
        assert_eq!(document.sequence, 20);
        assert_eq!(document.history.len(), DOCUMENTATION_HISTORY);
        assert_eq!(document.history[0].archive, Sha256::from_bytes([19; 32]));
        assert_eq!(document.history[9].archive, Sha256::from_bytes([10; 32]));
    }

    #[test]
    fn a_renewal_replaces_the_newest_entry_of_the_history() {
        let first = changed(None, 0);
        let second = changed(Some(first.clone()), 1);
        let renewed = second
            .clone()
            .in_removal(UnixTime(8))
            .renewed(UnixTime(9), "ci".to_owned());
        assert_eq!((renewed.sequence, renewed.changed_at()), (2, UnixTime(9)));
        assert_eq!(renewed.archive, second.archive);
        assert_eq!(renewed.history[0].by, "ci");
        assert_eq!(renewed.history[1..], first.history);
        assert!(!renewed.is_in_removal());
    }

    #[test]
    fn an_archive_has_a_head_and_a_bounded_length() {
        let check = DocumentationArchive::check_lengths;
        let (most, longest) = (limits::DOCUMENTATION_BYTES, DOCUMENTATION_HEAD_MEMBER_BYTES);
        for (size, head_length) in [(1, 1), (100, 40), (most, 1), (most, longest)] {
            assert_eq!(check(size, head_length), Ok(()));
        }
        for (size, head_length) in [(0, 0), (most + 1, 1)] {
            let error = check(size, head_length).unwrap_err();
            assert!(error.starts_with(&format!("size is {size}:")), "{error}");
        }
        for (size, head_length) in [(100, 0), (100, 101), (most, longest + 1)] {
            let error = check(size, head_length).unwrap_err();
            let start = format!("head_length is {head_length}:");
            assert!(error.starts_with(&start), "{error}");
        }
    }

    #[test]
    fn a_document_of_a_newer_schema_is_rejected() {
        let text = changed(None, 0)
            .to_document()
            .replace("\"schema\":1", "\"schema\":2");
        let error = DocumentationDocument::from_document(text.as_bytes()).unwrap_err();
        assert!(error.contains("has schema 2"), "{error}");
    }
}
