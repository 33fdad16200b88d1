//! Streaming gunzip, member by member, as Go's `compress/gzip` reads.

use std::mem;

use crc32fast::Hasher;

use super::inflate::Inflater;
use super::{ArchiveError, limits};

/// The flags of a header, each with the part that it announces, in the order of the format.
const OPTIONAL: [(u8, Part); 4] = [
    (1 << 2, Part::ExtraLength),
    (1 << 3, Part::Text),
    (1 << 4, Part::Text),
    (1 << 1, Part::HeaderCrc),
];

#[derive(Default)]
pub(super) struct Gunzip {
    part: Part,
    /// The bytes of the part that have arrived.
    held: Vec<u8>,
    inflater: Inflater,
    header_crc: Hasher,
    /// The flags of the parts of the header that have not begun.
    flags: u8,
    members: u64,
}

/// The part of a member that the next byte belongs to.
#[derive(Default, Clone, Copy)]
enum Part {
    /// The first ten bytes.
    #[default]
    Fixed,
    ExtraLength,
    Extra(u16),
    /// The name or the comment, which ends with a NUL.
    Text,
    HeaderCrc,
    Deflated,
    Trailer,
}

impl Gunzip {
    /// Inflates `bytes`, and passes each inflated piece to `out`.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        while let Some((&byte, rest)) = bytes.split_first() {
            if let Part::Deflated = self.part {
                bytes = self.inflate(bytes, out)?;
                continue;
            }
            bytes = rest;
            let mut held = mem::take(&mut self.held);
            held.push(byte);
            match self.framing(&held)? {
                Some(part) => self.part = part,
                None => self.held = held,
            }
        }
        Ok(())
    }

    /// Checks that the bytes fed end where a member ends.
    pub(super) fn finish(&self) -> Result<(), ArchiveError> {
        match self.part {
            Part::Fixed if self.held.is_empty() && self.members > 0 => Ok(()),
            _ => Err(ArchiveError::Truncated),
        }
    }

    /// Inflates a piece, and returns the remaining input.
    fn inflate<'a>(
        &mut self,
        bytes: &'a [u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), ArchiveError>,
    ) -> Result<&'a [u8], ArchiveError> {
        let inflated = self.inflater.inflate(bytes);
        let inflated = inflated.map_err(|_| ArchiveError::GzipCorrupt)?;
        out(inflated.piece)?;
        if inflated.ended {
            self.part = Part::Trailer;
        }
        let read = inflated.read;
        bytes.get(read..).ok_or(ArchiveError::GzipCorrupt)
    }

    /// Takes the bytes of a part of a header, or of a trailer, up to the last one that has arrived. Returns the part that
    /// the next byte belongs to, if it is another one. The first wrong byte of the magic number is refused.
    fn framing(&mut self, held: &[u8]) -> Result<Option<Part>, ArchiveError> {
        if !matches!(self.part, Part::HeaderCrc | Part::Trailer) {
            let last = held.len().saturating_sub(1);
            self.header_crc.update(held.get(last..).unwrap_or_default());
        }
        match (self.part, held) {
            (Part::Fixed, [0x1f] | [0x1f, 0x8b] | [0x1f, 0x8b, 8]) => Ok(None),
            (Part::Fixed, [0x1f, 0x8b, 8, flags, rest @ ..]) => {
                self.flags = *flags;
                Ok((rest.len() == 6).then(|| self.next()))
            }
            (Part::Fixed, _) if self.members == 0 => Err(ArchiveError::GzipHeader),
            (Part::Fixed, _) => Err(ArchiveError::GzipTrailing),
            (Part::ExtraLength, [low, high]) => Ok(Some(match u16::from_le_bytes([*low, *high]) {
                0 => self.next(),
                length => Part::Extra(length),
            })),
            (Part::Extra(length), held) if held.len() == usize::from(length) => {
                Ok(Some(self.next()))
            }
            (Part::Text, [.., 0]) => Ok(Some(self.next())),
            // Go's buffer also holds the final NUL.
            (Part::Text, held) if held.len() >= limits::GZIP_TEXT_BYTES => {
                Err(ArchiveError::GzipHeader)
            }
            (Part::HeaderCrc, [low, high]) => {
                let declared = u32::from(u16::from_le_bytes([*low, *high]));
                match declared == self.header_crc.clone().finalize() & 0xffff {
                    true => Ok(Some(self.next())),
                    false => Err(ArchiveError::GzipHeader),
                }
            }
            (Part::Trailer, held) => match <[u8; 8]>::try_from(held) {
                Ok(trailer) => self.end_member(u64::from_le_bytes(trailer)).map(Some),
                Err(_) => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Returns the next part of the header.
    fn next(&mut self) -> Part {
        let mut parts = OPTIONAL.into_iter();
        let announced = parts.find(|(flag, _)| self.flags & flag != 0);
        announced.map_or(Part::Deflated, |(flag, part)| {
            self.flags &= !flag;
            part
        })
    }

    fn end_member(&mut self, trailer: u64) -> Result<Part, ArchiveError> {
        // The trailer is the CRC, then the length modulo 2³², both little-endian.
        let inflater = &mut self.inflater;
        if trailer != u64::from(inflater.amount()) << 32 | u64::from(inflater.crc()) {
            return Err(ArchiveError::GzipChecksum);
        }
        self.members += 1;
        inflater.reset();
        self.header_crc.reset();
        Ok(Part::Fixed)
    }
}
