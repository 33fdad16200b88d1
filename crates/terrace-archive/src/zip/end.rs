//! Parser of the end record and its zip64 form, which locate the central directory.

use super::super::bytes::Fields;
use super::super::{ArchiveError, limits};
use super::header;

/// The length of the end record, without its comment.
pub(super) const END_BYTES: usize = 22;

const LOCATOR_BYTES: usize = 20;
const END64_BYTES: usize = 56;

const END_SIGNATURE: &[u8] = b"PK\x05\x06";
const LOCATOR_SIGNATURE: &[u8] = b"PK\x06\x07";
const END64_SIGNATURE: &[u8] = b"PK\x06\x06";

/// The position of the central directory, after all records that locate it agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) entries: usize,
}

/// The fields that the end record and the zip64 end record share.
#[derive(Debug, Clone, Copy)]
struct End {
    disk: u32,
    directory_disk: u32,
    entries_here: u64,
    entries: u64,
    size: u64,
    offset: u64,
}

/// Locates the directory from the tail of a zip, which starts at `tail_offset`.
pub(super) fn locate_directory(tail: &[u8], tail_offset: u64) -> Result<Directory, ArchiveError> {
    let (before, record) = split_at_end_record(tail)?;
    let mut fields = Fields::new(record);
    let end = read_end(&mut fields).ok_or(ArchiveError::ZipNoEndRecord)?;
    let locator_at = before.len().checked_sub(LOCATOR_BYTES);
    let (end, records) = match locator_at.and_then(|at| before.split_at_checked(at)) {
        Some((before, locator)) if locator.starts_with(LOCATOR_SIGNATURE) => {
            let (end64, records) = read_end64(before, locator, tail_offset)?;
            (agreed(end, end64)?, records)
        }
        _ => (end, before.len()),
    };
    if end.disk != 0 || end.directory_disk != 0 || end.entries_here != end.entries {
        return Err(ArchiveError::ZipSplit);
    }
    if end.entries == 0 {
        return Err(ArchiveError::Empty);
    }
    if end.size > limits::DIRECTORY_BYTES {
        return Err(ArchiveError::ZipDirectoryTooLarge(end.size));
    }
    let entries = usize::try_from(end.entries).unwrap_or(usize::MAX);
    if entries > limits::ENTRIES {
        return Err(ArchiveError::TooManyEntries);
    }
    let records = tail_offset + records as u64;
    if end.offset.checked_add(end.size) != Some(records) {
        return Err(ArchiveError::ZipDirectoryMisplaced {
            offset: end.offset,
            size: end.size,
            end: records,
        });
    }
    // This check also prevents a request for a read of zero bytes.
    if end.size < header::BYTES.saturating_mul(end.entries) {
        return Err(ArchiveError::ZipDirectoryMalformed(1));
    }
    Ok(Directory {
        offset: end.offset,
        size: end.size,
        entries,
    })
}

/// Finds the last end record, as Go does, and requires its comment to be everything that follows. Then no
/// reader chooses a second record hidden in the comment or in front.
fn split_at_end_record(tail: &[u8]) -> Result<(&[u8], &[u8]), ArchiveError> {
    let at = tail
        .windows(END_BYTES)
        .rposition(|window| window.starts_with(END_SIGNATURE))
        .ok_or(ArchiveError::ZipNoEndRecord)?;
    let (before, record) = tail
        .split_at_checked(at)
        .ok_or(ArchiveError::ZipNoEndRecord)?;
    let (record, comment) = record
        .split_at_checked(END_BYTES)
        .ok_or(ArchiveError::ZipNoEndRecord)?;
    let declared = record
        .last_chunk()
        .map_or(0, |length| u64::from(u16::from_le_bytes(*length)));
    let present = comment.len() as u64;
    if declared > present {
        Err(ArchiveError::ZipCommentCut { declared, present })
    } else if declared < present {
        Err(ArchiveError::ZipTrailing(present - declared))
    } else {
        Ok((before, record))
    }
}

fn read_end(fields: &mut Fields<'_>) -> Option<End> {
    fields.take(END_SIGNATURE.len())?;
    Some(End {
        disk: fields.u16()?.into(),
        directory_disk: fields.u16()?.into(),
        entries_here: fields.u16()?.into(),
        entries: fields.u16()?.into(),
        size: fields.u32()?.into(),
        offset: fields.u32()?.into(),
    })
}

/// Reads the zip64 end record, and returns its position in the tail.
///
/// It must be directly before its locator and have no extension: then it is in the tail, and every
/// reader finds the same record.
fn read_end64(
    before: &[u8],
    locator: &[u8],
    tail_offset: u64,
) -> Result<(End, usize), ArchiveError> {
    let malformed = || ArchiveError::Zip64("a record is malformed");
    let mut fields = Fields::new(locator);
    fields.take(LOCATOR_SIGNATURE.len()).ok_or_else(malformed)?;
    let disk = fields.u32().ok_or_else(malformed)?;
    let offset = fields.u64().ok_or_else(malformed)?;
    let disks = fields.u32().ok_or_else(malformed)?;
    if disk != 0 || disks != 1 {
        return Err(ArchiveError::ZipSplit);
    }
    let at = before
        .len()
        .checked_sub(END64_BYTES)
        .ok_or_else(malformed)?;
    if offset != tail_offset + at as u64 {
        return Err(ArchiveError::Zip64(
            "the zip64 end record does not immediately precede its locator",
        ));
    }
    let record = before
        .get(at..)
        .filter(|record| record.starts_with(END64_SIGNATURE))
        .ok_or_else(malformed)?;
    let end = read_end64_fields(record)
        .ok_or(ArchiveError::Zip64("the zip64 end record has an extension"))?;
    Ok((end, at))
}

fn read_end64_fields(record: &[u8]) -> Option<End> {
    let mut fields = Fields::new(record);
    fields.take(END64_SIGNATURE.len())?;
    let rest = fields.u64()?;
    if rest != (END64_BYTES - 12) as u64 {
        return None;
    }
    fields.take(4)?; // versions
    Some(End {
        disk: fields.u32()?,
        directory_disk: fields.u32()?,
        entries_here: fields.u64()?,
        entries: fields.u64()?,
        size: fields.u64()?,
        offset: fields.u64()?,
    })
}

/// Returns the zip64 record if every field of the old one either agrees or has the value that means "too
/// large". Go reads the zip64 record only if some field has that value; other readers always do.
fn agreed(end: End, end64: End) -> Result<End, ArchiveError> {
    let short = |old: u64, new: u64| old == new || old == u64::from(u16::MAX);
    let long = |old: u64, new: u64| old == new || old == u64::from(u32::MAX);
    let agree = short(end.disk.into(), end64.disk.into())
        && short(end.directory_disk.into(), end64.directory_disk.into())
        && short(end.entries_here, end64.entries_here)
        && short(end.entries, end64.entries)
        && long(end.size, end64.size)
        && long(end.offset, end64.offset);
    if agree {
        Ok(end64)
    } else {
        Err(ArchiveError::Zip64(
            "their entry counts, sizes or offsets differ",
        ))
    }
}
