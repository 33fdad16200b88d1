//! The list of entries of a zip, from its end record and central directory, and whether the contents
//! are what the directory says, where that is wanted.
//!
//! The rules are those of Go's `archive/zip`, made strict: where Go guesses (a wrong offset, bytes
//! in front, a record that is not where it should be), other readers guess differently, so the zip
//! is refused. What writers really make needs no guessing.

mod contents;
mod fault;
mod local;

pub(super) use contents::are_checked;
pub use fault::ContentFault;

use contents::Contents;

use super::bytes::Fields;
use super::{ArchiveError, Entry, EntryKind, Method, limits};

const END_BYTES: usize = 22;
const LOCATOR_BYTES: usize = 20;
const END64_BYTES: usize = 56;
const HEADER_BYTES: u64 = 46;

const END_SIGNATURE: &[u8] = b"PK\x05\x06";
const LOCATOR_SIGNATURE: &[u8] = b"PK\x06\x07";
const END64_SIGNATURE: &[u8] = b"PK\x06\x06";
const HEADER_SIGNATURE: &[u8] = b"PK\x01\x02";

/// What a [`ZipInspector`] wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Read exactly these bytes of the archive and feed them.
    Read {
        /// The first byte.
        offset: u64,
        /// How many; never zero, and at most [`limits::DIRECTORY_BYTES`].
        len: u64,
    },
    /// Nothing: call [`ZipInspector::finish`].
    Done,
}

/// Lists the entries of a zip by two reads at most: its tail, and its central directory where that is not
/// in the tail. Made [`with_contents`](Self::with_contents), it then reads the entries themselves.
///
/// It reads what it asked for and decides what to ask next; the caller does the reading.
#[derive(Debug)]
pub struct ZipInspector {
    size: u64,
    /// How much of the contents is read at once, if they are.
    contents: Option<u64>,
    state: State,
}

#[derive(Debug)]
enum State {
    Tail,
    Directory(Directory),
    Contents(Box<Contents>, Vec<Entry>),
    Finished(Vec<Entry>),
    Failed(ArchiveError),
}

/// Where the central directory is, after everything that locates it agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Directory {
    offset: u64,
    size: u64,
    entries: usize,
}

impl ZipInspector {
    /// Begins the inspection of the list of entries of a zip of `size` bytes.
    pub fn new(size: u64) -> Self {
        Self::begin(size, None)
    }

    /// Begins an inspection that also unpacks every entry, in reads of [`limits::READ_BYTES`] that
    /// follow each other, and refuses a zip whose contents are not what its directory says.
    ///
    /// One that has or unpacks to more than [`limits::ZIP_CONTENTS_BYTES`] is only listed.
    pub fn with_contents(size: u64) -> Self {
        Self::begin(size, Some(limits::READ_BYTES))
    }

    fn begin(size: u64, contents: Option<u64>) -> Self {
        let state = if size < END_BYTES as u64 {
            State::Failed(ArchiveError::ZipNoEndRecord)
        } else {
            State::Tail
        };
        Self {
            size,
            contents,
            state,
        }
    }

    /// What to do next.
    pub fn next(&self) -> Step {
        match &self.state {
            State::Tail => {
                let len = self.size.min(limits::ZIP_TAIL_BYTES);
                Step::Read {
                    offset: self.size.saturating_sub(len),
                    len,
                }
            }
            State::Directory(directory) => Step::Read {
                offset: directory.offset,
                len: directory.size,
            },
            State::Contents(contents, _) => {
                let (offset, left) = contents.unread();
                Step::Read {
                    offset,
                    len: left.min(self.contents.unwrap_or(limits::READ_BYTES)),
                }
            }
            State::Finished(_) | State::Failed(_) => Step::Done,
        }
    }

    /// Takes the bytes that [`next`](Self::next) asked for.
    ///
    /// # Errors
    /// What is wrong with the zip, or with the number of bytes. Everything after an error fails too.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        let advanced = self.advance(bytes);
        match advanced {
            Ok(state) => {
                self.state = state;
                Ok(())
            }
            Err(error) => {
                self.state = State::Failed(error.clone());
                Err(error)
            }
        }
    }

    /// The entries, in the order of the central directory.
    ///
    /// # Errors
    /// What is wrong with the zip, or [`ArchiveError::Unfinished`].
    pub fn finish(self) -> Result<Vec<Entry>, ArchiveError> {
        match self.state {
            State::Finished(entries) => Ok(entries),
            State::Failed(error) => Err(error),
            State::Tail | State::Directory(_) | State::Contents(..) => {
                Err(ArchiveError::Unfinished)
            }
        }
    }

    fn advance(&mut self, bytes: &[u8]) -> Result<State, ArchiveError> {
        let got = bytes.len() as u64;
        let (offset, asked) = match self.next() {
            Step::Read { offset, len } => (offset, len),
            Step::Done => (0, 0),
        };
        if got != asked {
            return Err(ArchiveError::WrongRead { asked, got });
        }
        match std::mem::replace(&mut self.state, State::Failed(ArchiveError::Unfinished)) {
            State::Tail => {
                let directory = locate_directory(bytes, offset)?;
                match within(bytes, offset, directory.offset, directory.size) {
                    Some(listed) => {
                        let state = self.list(listed, directory)?;
                        self.reread(state, bytes, offset)
                    }
                    None => Ok(State::Directory(directory)),
                }
            }
            State::Directory(directory) => self.list(bytes, directory),
            State::Contents(contents, entries) => unpack(contents, entries, bytes),
            State::Failed(error) => Err(error),
            State::Finished(_) => Err(ArchiveError::WrongRead { asked, got }),
        }
    }

    fn list(&self, bytes: &[u8], directory: Directory) -> Result<State, ArchiveError> {
        let (entries, spans) = read_directory(bytes, directory, self.size)?;
        if self.contents.is_some() && are_checked(self.size, &entries) {
            let contents = Contents::new(&spans, &entries, directory.offset);
            Ok(State::Contents(Box::new(contents), entries))
        } else {
            Ok(State::Finished(entries))
        }
    }

    /// Gives the contents what the tail already holds of them, if that is all they want to read.
    fn reread(&self, state: State, tail: &[u8], offset: u64) -> Result<State, ArchiveError> {
        let State::Contents(contents, entries) = state else {
            return Ok(state);
        };
        let (start, size) = contents.unread();
        match within(tail, offset, start, size) {
            Some(bytes) if Some(size) <= self.contents => unpack(contents, entries, bytes),
            _ => Ok(State::Contents(contents, entries)),
        }
    }
}

fn unpack(
    mut contents: Box<Contents>,
    entries: Vec<Entry>,
    bytes: &[u8],
) -> Result<State, ArchiveError> {
    contents.feed(bytes)?;
    if contents.finished()? {
        Ok(State::Finished(entries))
    } else {
        Ok(State::Contents(contents, entries))
    }
}

/// These bytes of the archive, if the tail that begins at `tail_offset` holds them all.
fn within(tail: &[u8], tail_offset: u64, offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset.checked_sub(tail_offset)?).ok()?;
    tail.get(start..)?.get(..usize::try_from(size).ok()?)
}

/// The end record, or the zip64 one: what both say about the directory.
#[derive(Debug, Clone, Copy)]
struct End {
    disk: u32,
    directory_disk: u32,
    entries_here: u64,
    entries: u64,
    size: u64,
    offset: u64,
}

fn locate_directory(tail: &[u8], tail_offset: u64) -> Result<Directory, ArchiveError> {
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
    // Also keeps a read of no bytes from being asked for.
    if end.size < HEADER_BYTES.saturating_mul(end.entries) {
        return Err(ArchiveError::ZipDirectoryMalformed(1));
    }
    Ok(Directory {
        offset: end.offset,
        size: end.size,
        entries,
    })
}

/// Finds the end record nearest the end, as Go does, and wants its comment to be all that follows:
/// then a second record hidden in the comment, or in front, is nobody's choice.
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

/// Reads the zip64 end record, and tells where in the tail it begins.
///
/// It must stand right before its locator and have no extension: then it is in the tail, and every
/// reader finds the same one.
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
            "the zip64 end record is not right before its locator",
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

/// The zip64 record, once every field of the old one either agrees or says "too large for me".
/// Go asks the zip64 record only if some field says so, others always do.
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
        Err(ArchiveError::Zip64("their numbers differ"))
    }
}

fn read_directory(
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

/// One header of the central directory, with its zip64 fields resolved.
struct Header<'a> {
    made_by: u16,
    flags: u16,
    method: u16,
    crc: u32,
    compressed: u64,
    uncompressed: u64,
    disk: u16,
    attributes: u32,
    offset: u64,
    name: &'a [u8],
}

fn read_header<'a>(fields: &mut Fields<'a>) -> Option<Header<'a>> {
    if fields.take(HEADER_SIGNATURE.len())? != HEADER_SIGNATURE {
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
        // With a zip64 field, "too large" stands for the disk number of that field. Nobody splits zips.
        disk: if disk == u16::MAX { 0 } else { disk },
        attributes,
        offset: offset.into(),
        name,
    };
    resolve_zip64(&mut header, extra)?;
    Some(header)
}

/// Replaces the fields that say "too large for me" by those of the first zip64 extra field.
///
/// Extra fields that are cut off are skipped, as Go does: old writers pad with zeros.
fn resolve_zip64(header: &mut Header<'_>, extra: &[u8]) -> Option<()> {
    const ZIP64_TAG: u16 = 1;
    let too_large = u64::from(u32::MAX);
    let mut fields = Fields::new(extra);
    while let Some((tag, length)) = fields.u16().zip(fields.u16()) {
        let Some(field) = fields.take(length.into()) else {
            break;
        };
        if tag != ZIP64_TAG {
            continue;
        }
        let mut field = Fields::new(field);
        for value in [
            &mut header.uncompressed,
            &mut header.compressed,
            &mut header.offset,
        ] {
            if *value == too_large {
                *value = field.u64()?;
            }
        }
        return Some(());
    }
    // Without the field, Go takes an uncompressed size literally and refuses the other two.
    (header.compressed != too_large && header.offset != too_large).then_some(())
}

impl Header<'_> {
    fn into_entry(self, name: String) -> Entry {
        /// Encrypted, strongly encrypted, and "directory is masked".
        const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
        let unix_mode = matches!(self.made_by >> 8, 3 | 19).then_some(self.attributes >> 16);
        Entry {
            kind: kind(&name, unix_mode, self.made_by, self.attributes),
            name,
            unix_mode,
            compressed: self.compressed,
            uncompressed: self.uncompressed,
            method: method(self.method),
            encrypted: self.flags & ENCRYPTED != 0,
            link_target: None,
        }
    }
}

fn method(number: u16) -> Method {
    match number {
        0 => Method::Stored,
        8 => Method::Deflate,
        other => Method::Unsupported(other),
    }
}

/// As Go's `FileHeader.Mode`: a slash at the end makes a directory whatever the attributes say.
fn kind(name: &str, unix_mode: Option<u32>, made_by: u16, attributes: u32) -> EntryKind {
    const DOS_DIRECTORY: u32 = 0x10;
    if name.ends_with('/') {
        return EntryKind::Directory;
    }
    match unix_mode.map(|mode| mode & 0o170_000) {
        Some(0o040_000) => EntryKind::Directory,
        Some(0o120_000) => EntryKind::Symlink,
        Some(0 | 0o100_000) => EntryKind::File,
        Some(_) => EntryKind::Other,
        None if matches!(made_by >> 8, 0 | 11 | 14) && attributes & DOS_DIRECTORY != 0 => {
            EntryKind::Directory
        }
        None => EntryKind::File,
    }
}

/// The bytes an entry takes at least: its local header, its name and its content. And what only
/// those who look at them have to know.
struct Span {
    start: u64,
    end: u64,
    flags: u16,
    crc: u32,
}

impl Span {
    fn of(header: &Header<'_>) -> Option<Self> {
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
fn check_spans(spans: &[Span], entries: &[Entry], directory: u64) -> Result<(), ArchiveError> {
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
fn in_order<'a>(
    spans: &'a [Span],
    entries: &'a [Entry],
    directory: u64,
) -> Vec<(&'a Span, &'a Entry, u64)> {
    let mut ordered: Vec<(&Span, &Entry, u64)> = spans
        .iter()
        .zip(entries)
        .map(|(span, entry)| (span, entry, directory))
        .collect();
    ordered.sort_unstable_by_key(|(span, ..)| span.start);
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

#[cfg(test)]
mod tests;
