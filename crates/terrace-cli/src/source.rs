//! Where an archive's bytes come from.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;

use sha2::Digest as _;
use terrace_core::digest::Sha256;

use crate::error::Failure;

/// How much is read at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// An archive to send, with what its description says about it.
#[derive(Debug, Clone)]
pub(crate) struct Archive {
    pub(crate) source: Source,
    pub(crate) sha256: Sha256,
    pub(crate) size: u64,
}

/// Bytes on disk or in memory.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Bytes(Vec<u8>),
    File(PathBuf),
}

/// What can be read from anywhere.
pub(crate) trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

impl Source {
    pub(crate) fn open(&self) -> io::Result<Box<dyn ReadSeek + '_>> {
        match self {
            Self::Bytes(bytes) => Ok(Box::new(Cursor::new(bytes.as_slice()))),
            Self::File(path) => Ok(Box::new(File::open(path)?)),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Bytes(_) => "the packed archive".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

impl Archive {
    /// Hashes the bytes; they are never in memory all at once.
    pub(crate) fn of(source: Source) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::refused(format!("{}: {error}", source.name()));
        let mut reader = source.open().map_err(failed)?;
        let (sha256, size) = hash(&mut reader).map_err(failed)?;
        drop(reader);
        Ok(Self {
            source,
            sha256,
            size,
        })
    }

    /// `length` bytes from `offset` on, or as many as there are.
    pub(crate) fn read(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut reader = self.source.open()?;
        reader.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        reader.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The digest and the length of everything a reader gives.
pub(crate) fn hash(reader: &mut impl Read) -> io::Result<(Sha256, u64)> {
    let mut hasher = sha2::Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut size = 0;
    loop {
        let count = reader.read(&mut buffer)?;
        if count == 0 {
            return Ok((Sha256::from_bytes(hasher.finalize().into()), size));
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
        size += u64::try_from(count).unwrap_or_default();
    }
}
