//! The byte ranges of a zip's entries.

use super::super::{ArchiveError, Entry};
use super::header::Header;
use super::local;
use terrace_base::sort;

/// The minimum bytes that an entry occupies: its local header, its name and its content. It also carries the
/// fields that only the check of the contents needs.
pub(super) struct Span {
    pub(super) start: u64,
    end: u64,
    pub(super) flags: u16,
    pub(super) crc: u32,
}

impl Span {
    /// Returns the span of an entry with this header; `None` if its numbers overflow.
    pub(super) fn of(header: &Header<'_>) -> Option<Self> {
        let length =
            ((local::HEADER_BYTES + header.name.len()) as u64).checked_add(header.compressed)?;
        Some(Self {
            start: header.offset,
            end: header.offset.checked_add(length)?,
            flags: header.flags,
            crc: header.crc,
        })
    }
}

/// Checks that entries do not overlap. Overlaps let a small zip unpack to petabytes without any single
/// suspicious ratio.
pub(super) fn check_spans(
    spans: &[Span],
    entries: &[Entry],
    directory: u64,
) -> Result<(), ArchiveError> {
    let spans = in_order(spans, entries, directory);
    for (span, entry, next) in &spans {
        if span.end > *next {
            return Err(ArchiveError::ZipOverlap(entry.name.clone()));
        }
    }
    match spans.first() {
        Some((span, ..)) if span.start > 0 => Err(ArchiveError::ZipPrepended(span.start)),
        _ => Ok(()),
    }
}

/// Returns the entries in their order in the zip, each with the start of the next entry or of the directory.
pub(super) fn in_order<'a>(
    spans: &'a [Span],
    entries: &'a [Entry],
    directory: u64,
) -> Vec<(&'a Span, &'a Entry, u64)> {
    let mut ordered: Vec<(&Span, &Entry, u64)> = spans
        .iter()
        .zip(entries)
        .map(|(span, entry)| (span, entry, directory))
        .collect();
    sort::sort_by(&mut ordered, |(one, ..), (other, ..)| {
        one.start.cmp(&other.start)
    });
    let nexts: Vec<u64> = ordered
        .iter()
        .skip(1)
        .map(|(span, ..)| span.start)
        .collect();
    for ((.., end), next) in ordered.iter_mut().zip(nexts) {
        *end = next;
    }
    ordered
}
