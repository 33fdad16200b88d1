//! Streaming gunzip, member by member, as Go's `compress/gzip` reads.

use crc32fast::Hasher;

use super::inflate::Inflater;
use super::{ArchiveError, limits};

const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const HEADER_CRC: u8 = 1 << 1;

pub(super) struct Gunzip {
    part: Part,
    inflater: Inflater,
    header_crc: Hasher,
    flags: u8,
    members: u64,
}

/// The part of a member that the next byte belongs to.
#[derive(Clone, Copy)]
enum Part {
    /// The first ten bytes, of which `got` are present.
    Fixed {
        bytes: [u8; 10],
        got: usize,
    },
    ExtraLength {
        bytes: [u8; 2],
        got: usize,
    },
    Extra {
        left: u16,
    },
    Name {
        got: usize,
    },
    Comment {
        got: usize,
    },
    HeaderCrc {
        bytes: [u8; 2],
        got: usize,
    },
    Deflated,
    Trailer {
        bytes: [u8; 8],
        got: usize,
    },
}

const START: Part = Part::Fixed {
    bytes: [0; 10],
    got: 0,
};

impl Gunzip {
    pub(super) fn new() -> Self {
        Self {
            part: START,
            inflater: Inflater::new(),
            header_crc: Hasher::new(),
            flags: 0,
            members: 0,
        }
    }

    /// Inflates `bytes`, and passes each inflated piece to `out`.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        while let Some((&byte, rest)) = bytes.split_first() {
            if let Part::Deflated = self.part {
                bytes = self.inflate(bytes, out)?;
            } else {
                self.part = self.framing(byte)?;
                bytes = rest;
            }
        }
        Ok(())
    }

    /// Checks that the bytes fed end where a member ends.
    pub(super) fn finish(&self) -> Result<(), ArchiveError> {
        match self.part {
            Part::Fixed { got: 0, .. } if self.members > 0 => Ok(()),
            _ => Err(ArchiveError::Truncated),
        }
    }

    /// Inflates a piece, and returns the remaining input.
    fn inflate<'a>(
        &mut self,
        bytes: &'a [u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), ArchiveError>,
    ) -> Result<&'a [u8], ArchiveError> {
        let inflated = self
            .inflater
            .inflate(bytes)
            .map_err(|_| ArchiveError::GzipCorrupt)?;
        out(inflated.piece)?;
        if inflated.ended {
            self.part = Part::Trailer {
                bytes: [0; 8],
                got: 0,
            };
        }
        let read = inflated.read;
        bytes.get(read..).ok_or(ArchiveError::GzipCorrupt)
    }

    /// Takes one byte of a header or trailer, and returns the part that the next byte belongs to.
    fn framing(&mut self, byte: u8) -> Result<Part, ArchiveError> {
        if !matches!(self.part, Part::HeaderCrc { .. } | Part::Trailer { .. }) {
            self.header_crc.update(&[byte]);
        }
        match self.part {
            Part::Fixed { bytes, got } => match put(bytes, got, byte) {
                Ok(header) => self.header(header),
                Err((bytes, got)) => self
                    .check_magic(byte, got)
                    .map(|()| Part::Fixed { bytes, got }),
            },
            Part::ExtraLength { bytes, got } => Ok(match put(bytes, got, byte) {
                Ok(length) => match u16::from_le_bytes(length) {
                    0 => self.after(EXTRA),
                    left => Part::Extra { left },
                },
                Err((bytes, got)) => Part::ExtraLength { bytes, got },
            }),
            Part::Extra { left } => Ok(match left {
                0 | 1 => self.after(EXTRA),
                _ => Part::Extra { left: left - 1 },
            }),
            Part::Name { .. } if byte == 0 => Ok(self.after(NAME)),
            Part::Comment { .. } if byte == 0 => Ok(self.after(COMMENT)),
            // Go's buffer also holds the final NUL.
            Part::Name { got } | Part::Comment { got } if got + 1 >= limits::GZIP_TEXT_BYTES => {
                Err(ArchiveError::GzipHeader)
            }
            Part::Name { got } => Ok(Part::Name { got: got + 1 }),
            Part::Comment { got } => Ok(Part::Comment { got: got + 1 }),
            Part::HeaderCrc { bytes, got } => match put(bytes, got, byte) {
                Ok(crc)
                    if u32::from(u16::from_le_bytes(crc))
                        == self.header_crc.clone().finalize() & 0xffff =>
                {
                    Ok(self.after(HEADER_CRC))
                }
                Ok(_) => Err(ArchiveError::GzipHeader),
                Err((bytes, got)) => Ok(Part::HeaderCrc { bytes, got }),
            },
            Part::Trailer { bytes, got } => match put(bytes, got, byte) {
                Ok(trailer) => self.end_member(u64::from_le_bytes(trailer)),
                Err((bytes, got)) => Ok(Part::Trailer { bytes, got }),
            },
            Part::Deflated => Ok(Part::Deflated),
        }
    }

    /// Checks the magic number byte by byte, so that input that is not gzip, or that follows gzip data, is
    /// refused at its first wrong byte.
    fn check_magic(&self, byte: u8, got: usize) -> Result<(), ArchiveError> {
        let fits = match got {
            1 => byte == 0x1f,
            2 => byte == 0x8b,
            3 => byte == 8,
            _ => true,
        };
        match (fits, self.members) {
            (true, _) => Ok(()),
            (false, 0) => Err(ArchiveError::GzipHeader),
            (false, _) => Err(ArchiveError::GzipTrailing),
        }
    }

    fn header(&mut self, header: [u8; 10]) -> Result<Part, ArchiveError> {
        let [_, _, _, flags, ..] = header;
        self.flags = flags;
        Ok(self.after(0))
    }

    /// Returns the part that follows the part with this flag, in the order of the format.
    fn after(&mut self, done: u8) -> Part {
        let order = [
            (
                EXTRA,
                Part::ExtraLength {
                    bytes: [0; 2],
                    got: 0,
                },
            ),
            (NAME, Part::Name { got: 0 }),
            (COMMENT, Part::Comment { got: 0 }),
            (
                HEADER_CRC,
                Part::HeaderCrc {
                    bytes: [0; 2],
                    got: 0,
                },
            ),
        ];
        let behind = order
            .iter()
            .position(|(flag, _)| *flag == done)
            .map_or(0, |at| at + 1);
        let next = order
            .iter()
            .skip(behind)
            .find(|(flag, _)| self.flags & flag != 0);
        next.map_or(Part::Deflated, |(_, part)| *part)
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
        Ok(START)
    }
}

/// Stores the next byte. Returns all bytes if they are now complete, or else the new state.
fn put<const N: usize>(
    mut bytes: [u8; N],
    got: usize,
    byte: u8,
) -> Result<[u8; N], ([u8; N], usize)> {
    if let Some(place) = bytes.get_mut(got) {
        *place = byte;
    }
    if got + 1 >= N {
        Ok(bytes)
    } else {
        Err((bytes, got + 1))
    }
}
