//! Parser of the central directory: converts its headers to entries, and checks them together.

use super::super::bytes::Fields;
use super::super::{ArchiveError, Entry, limits};
use super::end::Directory;
use super::header::read_header;
use super::span::{Span, check_spans};

/// Reads the entries, and the bytes that each of them occupies, from the directory of a zip of `archive`
/// bytes.
pub(super) fn read_directory(
    bytes: &[u8],
    directory: Directory,
    archive: u64,
) -> Result<(Vec<Entry>, Vec<Span>), ArchiveError> {
    let mut fields = Fields::new(bytes);
    let mut entries = Vec::with_capacity(directory.entries);
    let mut spans = Vec::with_capacity(directory.entries);
    for number in 1..=directory.entries {
        let header = read_header(&mut fields).ok_or(ArchiveError::ZipDirectoryMalformed(number))?;
        let name = entry_name(header.name)?;
        if header.disk != 0 {
            return Err(ArchiveError::ZipSplit);
        }
        spans.push(Span::of(&header).ok_or_else(|| ArchiveError::ZipOverlap(name.clone()))?);
        entries.push(header.into_entry(name));
    }
    if !fields.is_empty() {
        return Err(ArchiveError::ZipDirectoryMalformed(directory.entries + 1));
    }
    check_spans(&spans, &entries, directory.offset)?;
    check_total(&entries, archive)?;
    Ok((entries, spans))
}

fn entry_name(name: &[u8]) -> Result<String, ArchiveError> {
    let text = String::from_utf8_lossy(name);
    if name.len() > limits::NAME_BYTES {
        return Err(ArchiveError::NameTooLong(
            text.chars().take(limits::NAME_BYTES).collect(),
        ));
    }
    match text {
        std::borrow::Cow::Borrowed(text) => Ok(text.to_owned()),
        std::borrow::Cow::Owned(replaced) => Err(ArchiveError::NameNotUtf8(replaced)),
    }
}

fn check_total(entries: &[Entry], archive: u64) -> Result<(), ArchiveError> {
    let total = entries.iter().fold(0u64, |total, entry| {
        total.saturating_add(entry.uncompressed)
    });
    if total > limits::UNCOMPRESSED_BYTES {
        Err(ArchiveError::UncompressedTooLarge)
    } else if total > limits::RATIO_FREE_BYTES && total > archive.saturating_mul(limits::RATIO) {
        Err(ArchiveError::Bomb {
            compressed: archive,
            uncompressed: total,
        })
    } else {
        Ok(())
    }
}
