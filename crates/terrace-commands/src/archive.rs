//! An archive on disk, and its digest.

mod files;
mod inspect;
pub(crate) mod pack;
mod secrets;

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::{Path, PathBuf};

use sha2::Digest as _;
use terrace_base::digest::Sha256;

/// The number of bytes that are read at once.
pub(crate) const BUFFER_BYTES: usize = 256 * 1024;

/// The source of an archive's bytes, which are never in memory all at once.
#[derive(Debug)]
pub(crate) enum Source {
    /// A file of the user.
    File(PathBuf),
    /// A temporary file, which is removed when this program ends.
    Temporary(File),
}

/// An archive that may be sent.
#[derive(Debug)]
pub(crate) struct Archive {
    pub(crate) filename: String,
    pub(crate) source: Source,
    pub(crate) size: u64,
    pub(crate) sha256: Sha256,
}

impl Source {
    /// Opens the archive at its start. Only one reader at a time: the readers of a temporary file share a
    /// position.
    pub(crate) fn open(&self) -> io::Result<File> {
        match self {
            Self::File(path) => File::open(path),
            Self::Temporary(file) => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                Ok(file)
            }
        }
    }
}

impl Archive {
    /// Reads and hashes an archive.
    pub(crate) fn read(filename: String, source: Source) -> io::Result<Self> {
        let (sha256, size) = hash(&mut source.open()?)?;
        Ok(Self {
            filename,
            source,
            size,
            sha256,
        })
    }
}

/// Opens a file of the user. An error names the file.
pub(crate) fn read_file(path: &Path, filename: String) -> Result<Archive, String> {
    // A pipe or a device may be endless.
    if std::fs::metadata(path).is_ok_and(|it| !it.is_file()) {
        return Err(format!("{}: it is not a regular file", path.display()));
    }
    Archive::read(filename, Source::File(path.to_owned()))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the digest and the length of all bytes from a reader.
pub(crate) fn hash(reader: &mut impl Read) -> io::Result<(Sha256, u64)> {
    let mut hasher = sha2::Sha256::new();
    let size = each_chunk(
        reader,
        |error| error,
        |chunk| {
            hasher.update(chunk);
            Ok(())
        },
    )?;
    Ok((Sha256::from_bytes(hasher.finalize().into()), size))
}

/// Passes all bytes from a reader to `take`, piece by piece. Returns their number, or the first error, which `failed` converts if it
/// is that of the reader.
pub(crate) fn each_chunk<E>(
    reader: &mut impl Read,
    failed: impl Fn(io::Error) -> E,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut size = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(size),
            Ok(count) => {
                take(buffer.get(..count).unwrap_or_default())?;
                size += u64::try_from(count).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}
