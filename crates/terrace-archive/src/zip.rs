//! Reader of the list of entries of a zip, from its end record and central directory, which on request
//! also checks that the contents match the directory.
//!
//! The rules are those of Go's `archive/zip`, made strict. Where Go guesses (a wrong offset, bytes in
//! front, a record in an unexpected place), other readers guess differently, so the zip is refused.
//! Zips that real writers create need no guessing.

mod contents;
mod directory;
mod end;
mod error;
mod header;
mod local;
mod span;

pub(super) use contents::are_checked;
pub use error::ContentError;

use contents::Contents;
use directory::read_directory;
use end::{Directory, END_BYTES, locate_directory};

use super::{ArchiveError, Entry, limits};

/// The next step of a [`ZipInspector`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Read exactly these bytes of the archive, and feed them.
    Read {
        /// The offset of the first byte.
        offset: u64,
        /// The number of bytes; never zero, and at most [`limits::DIRECTORY_BYTES`].
        len: u64,
    },
    /// Nothing is left to read: call [`ZipInspector::finish`].
    Done,
}

/// Lists the entries of a zip with at most two reads: its tail, and its central directory if that is
/// outside the tail. Created [`with_contents`](Self::with_contents), it then reads the entries themselves.
///
/// It decides from the bytes read so far which bytes it needs next; the caller does the reading.
pub struct ZipInspector {
    size: u64,
    /// The size of one read of the contents; `None` if they are not read.
    contents: Option<u64>,
    state: State,
}

enum State {
    Tail,
    Directory(Directory),
    Contents(Box<Contents>, Vec<Entry>),
    Finished(Vec<Entry>),
    Failed(ArchiveError),
}

impl ZipInspector {
    /// Starts the inspection of the list of entries of a zip of `size` bytes.
    pub fn new(size: u64) -> Self {
        Self::begin(size, None)
    }

    /// Starts an inspection that also unpacks every entry, with consecutive reads of
    /// [`limits::READ_BYTES`], and refuses a zip with contents that do not match its directory.
    ///
    /// A zip that has or unpacks to more than [`limits::ZIP_CONTENTS_BYTES`] is only listed.
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

    /// Returns the next step.
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
    /// The first fault of the zip, or a wrong number of bytes. Every call after an error fails too.
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

    /// Returns the entries, in the order of the central directory.
    ///
    /// # Errors
    /// The first fault of the zip, or [`ArchiveError::Unfinished`].
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
        let listed = read_directory(bytes, directory, self.size)?;
        let is_checked =
            self.contents.is_some() && are_checked(self.size, listed.iter().map(|it| &it.entry));
        let contents = is_checked.then(|| Contents::new(&listed, directory.offset));
        let entries = listed.into_iter().map(|it| it.entry).collect();
        Ok(match contents {
            Some(contents) => State::Contents(Box::new(contents), entries),
            None => State::Finished(entries),
        })
    }

    /// Feeds the contents from the tail, if it holds all of the bytes that they need.
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

/// Returns these bytes of the archive, if the tail that starts at `tail_offset` holds them all.
fn within(tail: &[u8], tail_offset: u64, offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset.checked_sub(tail_offset)?).ok()?;
    tail.get(start..)?.get(..usize::try_from(size).ok()?)
}

#[cfg(test)]
mod tests;
