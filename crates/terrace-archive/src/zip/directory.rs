//! Parser of the central directory: converts its headers to entries, and checks them together.

use super::super::bytes::Fields;
use super::super::{ArchiveError, limits};
use super::contents::unpacked;
use super::end::Directory;
use super::header::read_header;
use super::local;
use super::span::{Listed, check_spans};

/// Reads the entries from the directory of a zip of `archive` bytes.
pub(super) fn read_directory(
    bytes: &[u8],
    directory: Directory,
    archive: u64,
) -> Result<Vec<Listed>, ArchiveError> {
    let mut fields = Fields::new(bytes);
    let mut entries = Vec::with_capacity(directory.entries);
    for number in 1..=directory.entries {
        let header = read_header(&mut fields).ok_or(ArchiveError::ZipDirectoryMalformed(number))?;
        let name = entry_name(header.name)?;
        if header.disk != 0 {
            return Err(ArchiveError::ZipSplit);
        }
        let header_bytes = (local::HEADER_BYTES + header.name.len()) as u64;
        let length = header.compressed.checked_add(header_bytes);
        let end = length.and_then(|length| header.offset.checked_add(length));
        let end = end.ok_or_else(|| ArchiveError::ZipOverlap(name.clone()))?;
        entries.push(header.listed(name, end));
    }
    if !fields.is_empty() {
        return Err(ArchiveError::ZipDirectoryMalformed(directory.entries + 1));
    }
    check_spans(&entries, directory.offset)?;
    check_total(unpacked(entries.iter().map(|it| &it.entry)), archive)?;
    Ok(entries)
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

fn check_total(total: u64, archive: u64) -> Result<(), ArchiveError> {
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
