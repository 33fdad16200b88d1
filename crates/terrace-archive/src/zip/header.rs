//! Parser of a header of the central directory.

use super::super::bytes::Fields;
use super::super::{Entry, EntryKind, Method};
use super::span::Listed;

/// The length of a header, without its name, extra fields and comment.
pub(super) const BYTES: u64 = 46;

const SIGNATURE: &[u8] = b"PK\x01\x02";

/// One header of the central directory, with its zip64 fields resolved.
pub(super) struct Header<'a> {
    made_by: u16,
    flags: u16,
    method: u16,
    crc: u32,
    pub(super) compressed: u64,
    uncompressed: u64,
    pub(super) disk: u16,
    attributes: u32,
    pub(super) offset: u64,
    pub(super) name: &'a [u8],
}

/// Reads the next header; `None` if the bytes are not one.
pub(super) fn read_header<'a>(fields: &mut Fields<'a>) -> Option<Header<'a>> {
    if fields.take(SIGNATURE.len())? != SIGNATURE {
        return None;
    }
    let made_by = fields.u16()?;
    fields.u16()?; // version needed
    let flags = fields.u16()?;
    let method = fields.u16()?;
    fields.take(4)?; // time, date
    let crc = fields.u32()?;
    let compressed = fields.u32()?;
    let uncompressed = fields.u32()?;
    let name_length = fields.u16()?;
    let extra_length = fields.u16()?;
    let comment_length = fields.u16()?;
    let disk = fields.u16()?;
    fields.u16()?; // internal attributes
    let attributes = fields.u32()?;
    let offset = fields.u32()?;
    let name = fields.take(name_length.into())?;
    let extra = fields.take(extra_length.into())?;
    fields.take(comment_length.into())?;

    let mut header = Header {
        made_by,
        flags,
        method,
        crc,
        compressed: compressed.into(),
        uncompressed: uncompressed.into(),
        // With a zip64 field, "too large" refers to the disk number of that field. Split zips are not
        // supported.
        disk: if disk == u16::MAX { 0 } else { disk },
        attributes,
        offset: offset.into(),
        name,
    };
    resolve_zip64(&mut header, extra)?;
    Some(header)
}

/// Replaces the fields that have the value for "too large" by those of the zip64 field.
fn resolve_zip64(header: &mut Header<'_>, extra: &[u8]) -> Option<()> {
    let too_large = u64::from(u32::MAX);
    let Some(mut field) = zip64_field(extra) else {
        // Without it, Go takes the uncompressed size literally and refuses the other two.
        let is_known = header.compressed != too_large && header.offset != too_large;
        return is_known.then_some(());
    };
    for value in [
        &mut header.uncompressed,
        &mut header.compressed,
        &mut header.offset,
    ] {
        if *value == too_large {
            *value = field.u64()?;
        }
    }
    Some(())
}

/// Returns the first zip64 extra field. Truncated extra fields are skipped, as in Go: old writers pad with zeros.
pub(super) fn zip64_field(extra: &[u8]) -> Option<Fields<'_>> {
    const ZIP64_TAG: u16 = 1;
    let mut fields = Fields::new(extra);
    loop {
        let (tag, length) = fields.u16().zip(fields.u16())?;
        let field = fields.take(length.into())?;
        if tag == ZIP64_TAG {
            return Some(Fields::new(field));
        }
    }
}

impl Header<'_> {
    /// Returns the entry that the header describes, with this name and this end.
    pub(super) fn listed(self, name: String, end: u64) -> Listed {
        /// The flags for encrypted, strongly encrypted, and masked headers.
        const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
        let unix_mode = unix_mode(self.made_by, self.attributes);
        let kind = kind(&name, unix_mode, self.attributes);
        let entry = Entry {
            kind,
            name,
            // Clients give the directories of a zip a mode of their own.
            unix_mode: unix_mode.filter(|_| kind != EntryKind::Directory),
            compressed: self.compressed,
            uncompressed: self.uncompressed,
            method: method(self.method),
            encrypted: self.flags & ENCRYPTED != 0,
            link_target: None,
        };
        Listed {
            entry,
            flags: self.flags,
            crc: self.crc,
            start: self.offset,
            end,
        }
    }
}

/// Returns the method for a number, as used here and in a local header.
pub(super) fn method(number: u16) -> Method {
    match number {
        0 => Method::Stored,
        8 => Method::Deflate,
        other => Method::Unsupported(other),
    }
}

/// Follows Go's `FileHeader.Mode`. FAT, NTFS and VFAT have no modes, and their files are readable; for
/// systems that Go does not know, every file has mode 0.
fn unix_mode(made_by: u16, attributes: u32) -> Option<u32> {
    match made_by >> 8 {
        3 | 19 => Some(attributes >> 16),
        0 | 11 | 14 => None,
        _ => Some(0),
    }
}

/// Follows Go's `FileHeader.Mode`: a trailing slash makes a directory, whatever the attributes are.
fn kind(name: &str, unix_mode: Option<u32>, attributes: u32) -> EntryKind {
    const DOS_DIRECTORY: u32 = 0x10;
    if name.ends_with('/') {
        return EntryKind::Directory;
    }
    match unix_mode.map(|mode| mode & 0o170_000) {
        Some(0o040_000) => EntryKind::Directory,
        Some(0o120_000) => EntryKind::Symlink,
        Some(0 | 0o100_000) => EntryKind::File,
        Some(_) => EntryKind::Other,
        None if attributes & DOS_DIRECTORY != 0 => EntryKind::Directory,
        None => EntryKind::File,
    }
}
