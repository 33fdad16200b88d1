//! Writing a download to a temporary file.

use std::fs::File;
use std::io::{self, Read, Write as _};

use terrace_base::digest::Sha256;

use crate::archive::hash;

/// A complete download.
#[derive(Debug)]
pub(crate) struct Download {
    pub(crate) file: File,
    pub(crate) size: u64,
    pub(crate) sha256: Sha256,
}

/// The reason that a download failed.
#[derive(Debug)]
pub(crate) enum DownloadError {
    /// This machine failed to write the file; the sender is not the cause.
    Local(io::Error),
    /// The connection broke off.
    Remote(io::Error),
    TooLong,
}

/// Writes everything from a reader, at most `most` bytes, to a temporary file, and reports each piece to
/// `progress`.
pub(crate) fn download(
    reader: impl Read,
    most: u64,
    progress: impl Fn(usize),
) -> Result<Download, DownloadError> {
    let file = tempfile::tempfile().map_err(DownloadError::Local)?;
    download_into(file, reader, most, progress)
}

fn download_into(
    file: File,
    reader: impl Read,
    most: u64,
    progress: impl Fn(usize),
) -> Result<Download, DownloadError> {
    let mut copier = Copier {
        reader: reader.take(most.saturating_add(1)),
        file,
        progress,
        is_unwritten: false,
    };
    match hash(&mut copier) {
        Ok((_, size)) if size > most => Err(DownloadError::TooLong),
        Ok((sha256, size)) => Ok(Download {
            file: copier.file,
            size,
            sha256,
        }),
        Err(error) if copier.is_unwritten => Err(DownloadError::Local(error)),
        Err(error) => Err(DownloadError::Remote(error)),
    }
}

/// Copies everything that is read to a file.
struct Copier<R, P> {
    reader: R,
    file: File,
    progress: P,
    /// Whether the error is one of the file.
    is_unwritten: bool,
}

impl<R: Read, P: Fn(usize)> Read for Copier<R, P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let written = self.file.write_all(buffer.get(..count).unwrap_or_default());
        self.is_unwritten = written.is_err();
        written?;
        (self.progress)(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: [u8; 10] = [7; 10];

    #[test]
    fn a_download_is_stored_with_its_digest() {
        let download = download(&TEN[..], 10, |_| {}).unwrap();
        assert_eq!((download.size, download.sha256), (10, Sha256::of(&TEN)));
    }

    #[test]
    fn an_oversized_download_stops_at_the_limit() {
        let mut endless = io::repeat(7).take(1_000_000);
        let error = download(&mut endless, 9, |_| {}).unwrap_err();
        assert!(matches!(error, DownloadError::TooLong), "{error:?}");
        assert_eq!(endless.limit(), 1_000_000 - 10);
    }

    #[test]
    fn a_write_error_is_distinguished_from_a_failing_sender() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "").unwrap();
        let unwritable = File::open(&path).unwrap();
        let error = download_into(unwritable, &TEN[..], 10, |_| {}).unwrap_err();
        assert!(matches!(error, DownloadError::Local(_)), "{error:?}");

        let broken = Broken(&TEN);
        let error = download(broken, 100, |_| {}).unwrap_err();
        assert!(matches!(error, DownloadError::Remote(_)), "{error:?}");
    }

    /// Returns its bytes, then an error.
    struct Broken<'a>(&'a [u8]);

    impl Read for Broken<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::ErrorKind::ConnectionReset.into()),
                count => Ok(count),
            }
        }
    }
}
