//! Checks that the entries of a zip match its directory, in one pass over their bytes.

use std::iter::Peekable;
use std::{mem, vec};

use super::super::bytes::take;
use super::super::inflate::Inflater;
use super::super::{ArchiveError, Entry, EntryKind, Method, limits};
use super::ContentError;
use super::local::{self, LocalHeader};
use super::span::{Listed, in_order};

/// Returns whether the contents of a zip of this size with these entries are small enough to be checked.
pub(crate) fn are_checked<'e>(size: u64, entries: impl IntoIterator<Item = &'e Entry>) -> bool {
    size.max(unpacked(entries)) <= limits::ZIP_CONTENTS_BYTES
}

/// Returns the number of bytes that entries declare to unpack to.
pub(super) fn unpacked<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> u64 {
    let sizes = entries.into_iter().map(|entry| entry.uncompressed);
    sizes.fold(0, u64::saturating_add)
}

/// Walks over everything before the directory, fed in pieces, and unpacks each entry.
///
/// It keeps the directory's declarations and one inflated piece, never the content of an entry.
pub(super) struct Contents {
    /// Each ends at the start of the next one, or of the directory.
    places: Peekable<vec::IntoIter<Listed>>,
    /// The offset of the next byte to be fed.
    at: u64,
    /// The offset of the directory.
    end: u64,
    part: Part,
    /// The bytes of an incomplete header or descriptor.
    held: Vec<u8>,
    inflater: Inflater,
}

/// The part of the zip that the next byte belongs to.
enum Part {
    /// Bytes of no entry, or of an entry that is not unpacked.
    Between,
    Header(Listed),
    /// The name and the extra fields of a local header.
    Names(Listed, LocalHeader),
    Content(Open),
    Descriptor(Open),
}

/// An entry that is being unpacked.
struct Open {
    place: Listed,
    /// The bytes of its content not fed yet.
    left: u64,
    /// The bytes from the end of its content to the next entry.
    room: u64,
    unpacked: u64,
    /// Whether the deflated data have ended.
    ended: bool,
}

impl Contents {
    /// Starts at the first byte.
    pub(super) fn new(entries: &[Listed], directory: u64) -> Self {
        let places = in_order(entries, directory).into_iter();
        let places = places.map(|(listed, end)| Listed {
            end,
            ..listed.clone()
        });
        Self {
            places: places.collect::<Vec<_>>().into_iter().peekable(),
            at: 0,
            end: directory,
            part: Part::Between,
            held: Vec::new(),
            inflater: Inflater::default(),
        }
    }

    /// Returns the offset of the next byte to be fed, and the number of bytes from there on.
    pub(super) fn unread(&self) -> (u64, u64) {
        (self.at, self.end.saturating_sub(self.at))
    }

    /// Returns whether all bytes were fed.
    pub(super) fn finished(&mut self) -> Result<bool, ArchiveError> {
        if self.at < self.end {
            return Ok(false);
        }
        match self.part {
            Part::Between if self.places.peek().is_none() => Ok(true),
            _ => Err(ArchiveError::Truncated),
        }
    }

    /// Takes the next bytes, in pieces of any size.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> Result<(), ArchiveError> {
        while !bytes.is_empty() {
            let before = bytes.len();
            self.part = match mem::replace(&mut self.part, Part::Between) {
                Part::Between => self.between(&mut bytes),
                Part::Header(place) => self.header(place, &mut bytes)?,
                Part::Names(place, header) => self.names(place, header, &mut bytes)?,
                Part::Content(open) => self.content(open, &mut bytes)?,
                Part::Descriptor(open) => self.descriptor(open, &mut bytes)?,
            };
            self.at += (before - bytes.len()) as u64;
        }
        Ok(())
    }

    fn between(&mut self, bytes: &mut &[u8]) -> Part {
        let start = self.places.peek().map_or(self.end, |place| place.start);
        let gap = start.saturating_sub(self.at);
        if gap > 0 {
            take(bytes, gap);
            return Part::Between;
        }
        match self.places.next() {
            Some(place) => Part::Header(place),
            None => {
                *bytes = &[];
                Part::Between
            }
        }
    }

    fn header(&mut self, place: Listed, bytes: &mut &[u8]) -> Result<Part, ArchiveError> {
        let Some(header) = self.hold(local::HEADER_BYTES, bytes) else {
            return Ok(Part::Header(place));
        };
        match LocalHeader::read(&header) {
            Some(header) => self.names(place, header, bytes),
            None => Err(place.fault(ContentError::NoLocalHeader(place.start))),
        }
    }

    fn names(
        &mut self,
        place: Listed,
        header: LocalHeader,
        bytes: &mut &[u8],
    ) -> Result<Part, ArchiveError> {
        let length = local::HEADER_BYTES + header.more_bytes();
        let taken = (length as u64).saturating_add(place.entry.compressed);
        let Some(room) = place.end.saturating_sub(place.start).checked_sub(taken) else {
            return Err(ArchiveError::ZipOverlap(place.entry.name));
        };
        let Some(more) = self.hold(header.more_bytes(), bytes) else {
            return Ok(Part::Names(place, header));
        };
        header
            .check(&more, &place)
            .map_err(|fault| place.fault(fault))?;
        if !place.is_unpacked() {
            return Ok(Part::Between);
        }
        self.inflater.reset();
        let open = Open {
            left: place.entry.compressed,
            room,
            unpacked: 0,
            ended: false,
            place,
        };
        self.content(open, bytes)
    }

    fn content(&mut self, mut open: Open, bytes: &mut &[u8]) -> Result<Part, ArchiveError> {
        let content = take(bytes, open.left);
        open.left = open.left.saturating_sub(content.len() as u64);
        let unpacked = match open.place.entry.method {
            Method::Deflate => self.inflate(&mut open, content),
            Method::Stored | Method::Unsupported(_) => self.copy(&mut open, content),
        };
        unpacked.map_err(|fault| open.place.fault(fault))?;
        if open.left > 0 {
            return Ok(Part::Content(open));
        }
        self.check(&open).map_err(|fault| open.place.fault(fault))?;
        if local::has_descriptor(open.place.flags) {
            self.descriptor(open, bytes)
        } else {
            Ok(Part::Between)
        }
    }

    fn inflate(&mut self, open: &mut Open, mut content: &[u8]) -> Result<(), ContentError> {
        while !open.ended {
            let inflated = self
                .inflater
                .inflate(content)
                .map_err(|_| ContentError::Corrupt)?;
            open.add(inflated.piece.len())?;
            open.ended = inflated.ended;
            // All of the input may be read while output is still pending.
            let exhausted = content.is_empty() && inflated.piece.is_empty();
            content = content.get(inflated.read..).unwrap_or_default();
            if exhausted {
                return Ok(());
            }
        }
        match content.len() as u64 + open.left {
            0 => Ok(()),
            unused => Err(ContentError::EndsEarly(unused)),
        }
    }

    fn copy(&mut self, open: &mut Open, content: &[u8]) -> Result<(), ContentError> {
        self.inflater.copy(content);
        open.add(content.len())
    }

    /// Checks the totals after the last byte of a content.
    fn check(&self, open: &Open) -> Result<(), ContentError> {
        let entry = &open.place.entry;
        let (declared, unpacked) = (open.place.crc, self.inflater.crc());
        if entry.method == Method::Deflate && !open.ended {
            Err(ContentError::CutOff(entry.compressed))
        } else if open.unpacked != entry.uncompressed {
            Err(ContentError::TooShort {
                declared: entry.uncompressed,
                unpacked: open.unpacked,
            })
        } else if declared != unpacked {
            Err(ContentError::Checksum { declared, unpacked })
        } else {
            Ok(())
        }
    }

    fn descriptor(&mut self, open: Open, bytes: &mut &[u8]) -> Result<Part, ArchiveError> {
        let room = usize::try_from(open.room).unwrap_or(usize::MAX);
        let Some(behind) = self.hold(room.min(local::DESCRIPTOR_BYTES), bytes) else {
            return Ok(Part::Descriptor(open));
        };
        local::check_descriptor(&behind, &open.place).map_err(|fault| open.place.fault(fault))?;
        Ok(Part::Between)
    }

    /// Keeps bytes until there are `wanted` of them.
    fn hold(&mut self, wanted: usize, bytes: &mut &[u8]) -> Option<Vec<u8>> {
        let missing = wanted.saturating_sub(self.held.len());
        self.held.extend(take(bytes, missing as u64));
        (self.held.len() >= wanted).then(|| mem::take(&mut self.held))
    }
}

impl Listed {
    /// Go accepts a directory with compressed bytes. Entries that no client unpacks are refused by the check
    /// of the list.
    fn is_unpacked(&self) -> bool {
        let readable = matches!(self.entry.method, Method::Stored | Method::Deflate);
        self.entry.kind != EntryKind::Directory && !self.entry.encrypted && readable
    }

    fn fault(&self, fault: ContentError) -> ArchiveError {
        ArchiveError::ZipContent {
            name: self.entry.name.clone(),
            fault,
        }
    }
}

impl Open {
    fn add(&mut self, unpacked: usize) -> Result<(), ContentError> {
        self.unpacked = self.unpacked.saturating_add(unpacked as u64);
        let declared = self.place.entry.uncompressed;
        if self.unpacked > declared {
            Err(ContentError::TooLong(declared))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
