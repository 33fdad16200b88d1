//! Incremental reader of the list of entries of a tar, as Go's `archive/tar` reads it.
//!
//! It reads V7, ustar, GNU and star headers; GNU long names and links; pax headers, of which a global one
//! changes nothing. Where Go guesses (sparse maps, broken GNU time fields), it refuses the archive.

mod header;
mod pax;

use header::{Header, HeaderError};
use pax::Pax;

use super::bytes::take;
use super::{ArchiveError, Entry, EntryKind, Method, limits};

const BLOCK_BYTES: usize = 512;

/// A reader of tar blocks.
#[derive(Default)]
pub(super) struct Tar {
    state: State,
    /// The bytes of the incomplete block.
    block: Vec<u8>,
    /// Values from extension headers for the next entry.
    coming: Coming,
    entries: Vec<Entry>,
    names_bytes: u64,
}

#[derive(Default)]
enum State {
    /// Expects a header.
    #[default]
    Header,
    /// Skips this many bytes of content and padding.
    Skip(u64),
    /// Reads the body of an extension header, then skips its padding.
    Meta {
        meta: Meta,
        left: u64,
        padding: u64,
        body: Vec<u8>,
    },
    /// Expects the second zero block of the end marker.
    EndMark,
    /// After the end marker, where only zeros may follow.
    Ended,
}

#[derive(Clone, Copy)]
enum Meta {
    Pax,
    GlobalPax,
    LongName,
    LongLink,
}

#[derive(Default)]
struct Coming {
    pax: Option<Pax>,
    long_name: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
}

impl Tar {
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> Result<(), ArchiveError> {
        while !bytes.is_empty() {
            match &mut self.state {
                State::Skip(left) => {
                    *left -= take(&mut bytes, *left).len() as u64;
                    if *left == 0 {
                        self.state = State::Header;
                    }
                }
                State::Meta { left, body, .. } => {
                    let taken = take(&mut bytes, *left);
                    body.extend_from_slice(taken);
                    *left -= taken.len() as u64;
                    self.end_meta()?;
                }
                State::Ended if bytes.iter().any(|byte| *byte != 0) => {
                    return Err(ArchiveError::TarTrailing);
                }
                State::Ended => return Ok(()),
                State::Header | State::EndMark => {
                    let missing = BLOCK_BYTES.saturating_sub(self.block.len());
                    self.block.extend(take(&mut bytes, missing as u64));
                    if self.block.len() == BLOCK_BYTES {
                        let block = std::mem::take(&mut self.block);
                        self.take_block(&block)?;
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Vec<Entry>, ArchiveError> {
        match self.state {
            // Go accepts a tar with one zero block at the end, or with none. Without any, the writer was
            // never closed, so its last entries may be missing.
            State::Ended => {}
            State::EndMark if self.block.is_empty() => {}
            _ => return Err(ArchiveError::Truncated),
        }
        if self.entries.is_empty() {
            Err(ArchiveError::Empty)
        } else {
            Ok(self.entries)
        }
    }

    fn take_block(&mut self, block: &[u8]) -> Result<(), ArchiveError> {
        let zeros = block.iter().all(|byte| *byte == 0);
        self.state = match (&self.state, zeros) {
            (State::EndMark, true) => State::Ended,
            (State::EndMark, false) => return Err(ArchiveError::TarTrailing),
            // Extension headers belong to an entry, so an end marker after one is premature.
            (_, true) if self.coming.is_some() => return Err(ArchiveError::Truncated),
            (_, true) => State::EndMark,
            (_, false) => self.take_header(block)?,
        };
        Ok(())
    }

    fn take_header(&mut self, block: &[u8]) -> Result<State, ArchiveError> {
        let after = self.entries.len();
        let header = Header::read(block).map_err(|fault| match fault {
            HeaderError::Checksum => ArchiveError::TarChecksum(after),
            HeaderError::Number(field) => ArchiveError::TarNumber { after, field },
        })?;
        let meta = match header.type_flag {
            b'x' => Meta::Pax,
            b'g' => Meta::GlobalPax,
            b'L' => Meta::LongName,
            b'K' => Meta::LongLink,
            _ => return self.take_entry(header),
        };
        let size = header.size;
        if size > limits::TAR_META_BYTES {
            return Err(ArchiveError::TarMetaTooLarge(size));
        }
        self.state = State::Meta {
            meta,
            left: size,
            padding: padding(size),
            body: Vec::new(),
        };
        self.end_meta()?;
        // `end_meta` has either set the next state or left this one.
        Ok(std::mem::replace(&mut self.state, State::Header))
    }

    /// Applies an extension header if its body is complete.
    fn end_meta(&mut self) -> Result<(), ArchiveError> {
        let State::Meta {
            meta,
            left: 0,
            padding,
            body,
        } = &mut self.state
        else {
            return Ok(());
        };
        let (meta, padding, body) = (*meta, *padding, std::mem::take(body));
        let read_pax =
            |body: &[u8]| Pax::read(body).ok_or(ArchiveError::TarPax(self.entries.len()));
        match meta {
            Meta::Pax => self.coming.pax = Some(read_pax(&body)?),
            // Go returns a global header as an entry of its own, which clients skip, and drops the extension
            // headers before it.
            Meta::GlobalPax => {
                read_pax(&body)?;
                self.coming = Coming::default();
            }
            Meta::LongName => self.coming.long_name = Some(until_nul(&body).to_vec()),
            Meta::LongLink => self.coming.long_link = Some(until_nul(&body).to_vec()),
        }
        self.state = if padding == 0 {
            State::Header
        } else {
            State::Skip(padding)
        };
        Ok(())
    }

    fn take_entry(&mut self, header: Header) -> Result<State, ArchiveError> {
        let Coming {
            pax,
            long_name,
            long_link,
        } = std::mem::take(&mut self.coming);
        let pax = pax.unwrap_or_default();
        let or = |long: Option<Vec<u8>>, pax: Vec<u8>, short: Vec<u8>| {
            long.filter(|name| !name.is_empty())
                .unwrap_or(if pax.is_empty() { short } else { pax })
        };
        let name = self.text(or(long_name, pax.path, header.name))?;
        let link = or(long_link, pax.linkpath, header.link);
        if pax.sparse || header.type_flag == b'S' {
            return Err(ArchiveError::TarSparse(name));
        }
        if self.entries.len() >= limits::ENTRIES {
            return Err(ArchiveError::TooManyEntries);
        }

        let kind = kind(header.type_flag, header.mode, &name);
        let size = if has_content(header.type_flag, kind) {
            pax.size.unwrap_or(header.size)
        } else {
            0
        };
        let link_target = match kind {
            EntryKind::Symlink | EntryKind::HardLink => Some(self.text(link)?),
            _ => None,
        };
        self.entries.push(Entry {
            name,
            kind,
            unix_mode: Some(header.mode),
            compressed: size,
            uncompressed: size,
            method: Method::Stored,
            encrypted: false,
            link_target,
        });
        // A size is below 2⁶³, so this does not overflow.
        let skip = size.saturating_add(padding(size));
        Ok(if skip == 0 {
            State::Header
        } else {
            State::Skip(skip)
        })
    }

    fn text(&mut self, bytes: Vec<u8>) -> Result<String, ArchiveError> {
        self.names_bytes = self.names_bytes.saturating_add(bytes.len() as u64);
        if self.names_bytes > limits::DIRECTORY_BYTES {
            return Err(ArchiveError::TarNamesTooLarge);
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            ArchiveError::NameNotUtf8(String::from_utf8_lossy(error.as_bytes()).into_owned())
        })?;
        if text.len() > limits::NAME_BYTES {
            Err(ArchiveError::NameTooLong(text))
        } else {
            Ok(text)
        }
    }
}

impl Coming {
    fn is_some(&self) -> bool {
        self.pax.is_some() || self.long_name.is_some() || self.long_link.is_some()
    }
}

/// Returns whether content follows a header, as Go's `isHeaderOnlyType`; a V7 directory has the type of a
/// file.
fn has_content(type_flag: u8, kind: EntryKind) -> bool {
    !matches!(
        (type_flag, kind),
        (b'1'..=b'6', _) | (0, EntryKind::Directory)
    )
}

fn kind(type_flag: u8, mode: u32, name: &str) -> EntryKind {
    let kind = match type_flag {
        0 if name.ends_with('/') => EntryKind::Directory,
        0 | b'0' | b'7' => EntryKind::File,
        b'1' => EntryKind::HardLink,
        b'2' => EntryKind::Symlink,
        b'5' => EntryKind::Directory,
        _ => EntryKind::Other,
    };
    // Some writers also put the file type into the mode, and Go accepts both.
    match (mode & !0o7777, kind) {
        (0, kind) => kind,
        (0o100_000, EntryKind::File | EntryKind::HardLink) => kind,
        (0o040_000, EntryKind::Directory) | (0o120_000, EntryKind::Symlink) => kind,
        _ => EntryKind::Other,
    }
}

fn padding(size: u64) -> u64 {
    let block = BLOCK_BYTES as u64;
    (block - size % block) % block
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}
