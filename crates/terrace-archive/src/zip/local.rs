//! The records around the content of an entry: its local header and its data descriptor.
//!
//! Go reads only the signature of the header and the checksum of the descriptor. Readers that do not
//! start from the directory read all fields, so all of them must agree.

use super::super::Method;
use super::super::bytes::Fields;
use super::ContentError;
use super::header::{method, zip64_field};
use super::span::Listed;

/// The length of the local header up to its name.
pub(super) const HEADER_BYTES: usize = 30;
/// The maximum length of a data descriptor: signature, checksum and two sizes of eight bytes.
pub(super) const DESCRIPTOR_BYTES: usize = 24;

const HEADER_SIGNATURE: &[u8] = b"PK\x03\x04";
const DESCRIPTOR_SIGNATURE: &[u8] = b"PK\x07\x08";

const DESCRIPTOR: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;
/// The flags for encrypted, data descriptor, strongly encrypted and masked headers. All other flags are
/// hints.
const READING: u16 = 1 | DESCRIPTOR | 1 << 6 | 1 << 13;

/// The part of a local header with a fixed length.
#[derive(Debug)]
pub(super) struct LocalHeader {
    flags: u16,
    method: u16,
    crc: u32,
    compressed: u32,
    uncompressed: u32,
    name_bytes: u16,
    extra_bytes: u16,
}

impl LocalHeader {
    /// Reads a header; `None` if the bytes are not one.
    pub(super) fn read(header: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(header);
        if fields.take(HEADER_SIGNATURE.len())? != HEADER_SIGNATURE {
            return None;
        }
        fields.u16()?; // version needed
        let (flags, method) = (fields.u16()?, fields.u16()?);
        fields.take(4)?; // time, date
        Some(Self {
            flags,
            method,
            crc: fields.u32()?,
            compressed: fields.u32()?,
            uncompressed: fields.u32()?,
            name_bytes: fields.u16()?,
            extra_bytes: fields.u16()?,
        })
    }

    /// Returns the length of the name and the extra fields that follow.
    pub(super) fn more_bytes(&self) -> usize {
        usize::from(self.name_bytes) + usize::from(self.extra_bytes)
    }

    /// Compares the header, and the name and extra fields after it, with the directory.
    pub(super) fn check(&self, more: &[u8], declared: &Listed) -> Result<(), ContentError> {
        let (name, extra) = more
            .split_at_checked(self.name_bytes.into())
            .ok_or(ContentError::LocalName)?;
        if name != declared.entry.name.as_bytes() {
            return Err(ContentError::LocalName);
        }
        self.check_flags(declared)?;
        if method(self.method) != declared.entry.method {
            let directory = number(declared.entry.method);
            return Err(differs("method", self.method.into(), directory.into()));
        }
        if has_descriptor(declared.flags) {
            // With a descriptor, the fields are zeros or the writer's estimates, and readers ignore them.
            return Ok(());
        }
        if self.crc != declared.crc {
            return Err(differs("CRC32", self.crc.into(), declared.crc.into()));
        }
        let entry = &declared.entry;
        let (uncompressed, compressed) = self.sizes(extra);
        if compressed != entry.compressed {
            return Err(differs("compressed size", compressed, entry.compressed));
        }
        if uncompressed != entry.uncompressed {
            return Err(differs("size", uncompressed, entry.uncompressed));
        }
        Ok(())
    }

    fn check_flags(&self, declared: &Listed) -> Result<(), ContentError> {
        // An ASCII name reads the same in every encoding.
        let count = if declared.entry.name.is_ascii() {
            READING
        } else {
            READING | UTF8
        };
        if (self.flags ^ declared.flags) & count == 0 {
            Ok(())
        } else {
            Err(ContentError::LocalFlags {
                local: self.flags,
                directory: declared.flags,
            })
        }
    }

    /// Returns the uncompressed and the compressed size, taken from the zip64 field where they are "too
    /// large".
    fn sizes(&self, extra: &[u8]) -> (u64, u64) {
        let mut sizes = [self.uncompressed, self.compressed].map(u64::from);
        if let Some(mut field) = zip64_field(extra) {
            for size in &mut sizes {
                if *size == u64::from(u32::MAX) {
                    *size = field.u64().unwrap_or(*size);
                }
            }
        }
        let [uncompressed, compressed] = sizes;
        (uncompressed, compressed)
    }
}

fn differs(field: &'static str, local: u64, directory: u64) -> ContentError {
    ContentError::Local {
        field,
        local,
        directory,
    }
}

fn number(method: Method) -> u16 {
    match method {
        Method::Stored => 0,
        Method::Deflate => 8,
        Method::Unsupported(number) => number,
    }
}

/// Returns whether the flags announce a data descriptor after the content, with its checksum and sizes.
pub(super) fn has_descriptor(flags: u16) -> bool {
    flags & DESCRIPTOR != 0
}

/// Checks the data descriptor at the start of the bytes after a content.
///
/// Its sizes have four or eight bytes, and no field indicates which. A value that equals the signature
/// is taken for it, as in Go.
pub(super) fn check_descriptor(behind: &[u8], declared: &Listed) -> Result<(), ContentError> {
    let fields = behind.strip_prefix(DESCRIPTOR_SIGNATURE).unwrap_or(behind);
    let wanted = (
        declared.crc,
        declared.entry.compressed,
        declared.entry.uncompressed,
    );
    if descriptor_fields(fields).any(|fields| fields == wanted) {
        Ok(())
    } else {
        Err(ContentError::Descriptor)
    }
}

/// Returns checksum, compressed and uncompressed size, read with both widths.
fn descriptor_fields(descriptor: &[u8]) -> impl Iterator<Item = (u32, u64, u64)> {
    let narrow = || {
        let mut fields = Fields::new(descriptor);
        Some((fields.u32()?, fields.u32()?.into(), fields.u32()?.into()))
    };
    let wide = || {
        let mut fields = Fields::new(descriptor);
        Some((fields.u32()?, fields.u64()?, fields.u64()?))
    };
    narrow().into_iter().chain(wide())
}
