//! Writing what is downloaded into a file without a name.

use std::fs::File;
use std::io::{self, Read, Write as _};

use terrace_base::digest::Sha256;

use crate::archive::hash;

/// What came.
#[derive(Debug)]
pub(crate) struct Download {
    pub(crate) file: File,
    pub(crate) size: u64,
    pub(crate) sha256: Sha256,
}

/// Why it is not kept.
#[derive(Debug)]
pub(crate) enum DownloadError {
    /// This machine cannot keep it; its sender has no part in that.
    Local(io::Error),
    /// It broke off.
    Remote(io::Error),
    TooLong,
}

/// Keeps everything that a reader gives, which may be `most` bytes, and tells `progress` of each
/// piece.
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

/// Writes what is read into a file.
struct Copier<R, P> {
    reader: R,
    file: File,
    progress: P,
    /// Whether it is the file that has failed.
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
    fn what_comes_is_kept_with_its_digest() {
        let download = download(&TEN[..], 10, |_| {}).unwrap();
        assert_eq!((download.size, download.sha256), (10, Sha256::of(&TEN)));
    }

    #[test]
    fn no_more_is_read_than_shows_that_it_is_too_long() {
        let mut endless = io::repeat(7).take(1_000_000);
        let error = download(&mut endless, 9, |_| {}).unwrap_err();
        assert!(matches!(error, DownloadError::TooLong), "{error:?}");
        assert_eq!(endless.limit(), 1_000_000 - 10);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_from_a_sender_that_fails() {
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

    /// Gives its bytes, and fails.
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
