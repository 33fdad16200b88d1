//! The entries with the bytes that they occupy.

use super::super::{ArchiveError, Entry};
use terrace_base::sort;

/// An entry, with what else the directory declares about it.
#[derive(Clone)]
pub(super) struct Listed {
    pub(super) entry: Entry,
    pub(super) flags: u16,
    pub(super) crc: u32,
    pub(super) start: u64,
    /// The end of the minimum bytes that it occupies: its local header, its name and its content. In `Contents`, the end
    /// of the maximum: the start of the next entry, or of the directory.
    pub(super) end: u64,
}

/// Checks that entries do not overlap. Overlaps let a small zip unpack to petabytes without any single
/// suspicious ratio.
pub(super) fn check_spans(entries: &[Listed], directory: u64) -> Result<(), ArchiveError> {
    let ordered = in_order(entries, directory);
    for (listed, next) in &ordered {
        if listed.end > *next {
            return Err(ArchiveError::ZipOverlap(listed.entry.name.clone()));
        }
    }
    match ordered.first() {
        Some((listed, _)) if listed.start > 0 => Err(ArchiveError::ZipPrepended(listed.start)),
        _ => Ok(()),
    }
}

/// Returns the entries in their order in the zip, each with the start of the next entry or of the directory.
pub(super) fn in_order(entries: &[Listed], directory: u64) -> Vec<(&Listed, u64)> {
    let mut ordered: Vec<&Listed> = entries.iter().collect();
    sort::sort_by(&mut ordered, |one, other| one.start.cmp(&other.start));
    let nexts: Vec<u64> = ordered.iter().skip(1).map(|next| next.start).collect();
    let nexts = nexts.into_iter().chain([directory]);
    ordered.into_iter().zip(nexts).collect()
}
