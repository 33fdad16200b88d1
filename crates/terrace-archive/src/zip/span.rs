//! The bytes of a zip that its entries take.

use super::super::{ArchiveError, Entry};
use super::header::Header;
use super::local;
use terrace_base::sort;

/// The bytes an entry takes at least: its local header, its name and its content. And what only
/// those who look at them have to know.
pub(super) struct Span {
    pub(super) start: u64,
    end: u64,
    pub(super) flags: u16,
    pub(super) crc: u32,
}

impl Span {
    /// Of an entry with this header, unless its numbers are beyond all measure.
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

/// Overlapping entries are how a small zip unpacks to petabytes that no single ratio gives away.
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

/// The entries as they follow each other in the zip, each with the start of what follows it.
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
