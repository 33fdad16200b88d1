//! Writing a download to a file.

use std::io::{self, Read, Write};

use sha2::Digest as _;
use terrace_base::digest::Sha256;

use crate::archive::each_chunk;

/// The reason that a download failed.
#[derive(Debug)]
pub(crate) enum DownloadError {
    /// This machine failed to write the file; the sender is not the cause.
    Local(io::Error),
    /// The connection broke off.
    Remote(io::Error),
    TooLong,
}

/// Writes everything from a reader, at most `most` bytes, to a file, and passes each piece to `take`. Returns the digest and
/// the length.
pub(crate) fn download(
    reader: impl Read,
    most: u64,
    file: &mut impl Write,
    mut take: impl FnMut(&[u8]),
) -> Result<(Sha256, u64), DownloadError> {
    let mut reader = reader.take(most.saturating_add(1));
    let mut hasher = sha2::Sha256::new();
    let size = each_chunk(&mut reader, DownloadError::Remote, |chunk| {
        file.write_all(chunk).map_err(DownloadError::Local)?;
        hasher.update(chunk);
        take(chunk);
        Ok(())
    })?;
    match size > most {
        true => Err(DownloadError::TooLong),
        false => Ok((Sha256::from_bytes(hasher.finalize().into()), size)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    const TEN: [u8; 10] = [7; 10];

    #[test]
    fn an_oversized_download_stops_at_the_limit() {
        let mut endless = io::repeat(7).take(1_000_000);
        let error = download(&mut endless, 9, &mut io::sink(), |_| {}).unwrap_err();
        assert!(matches!(error, DownloadError::TooLong), "{error:?}");
        assert_eq!(endless.limit(), 1_000_000 - 10);
    }

    #[test]
    fn a_write_error_is_distinguished_from_a_failing_sender() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut unwritable = File::open(file.path()).unwrap();
        let error = download(&TEN[..], 10, &mut unwritable, |_| {}).unwrap_err();
        assert!(matches!(error, DownloadError::Local(_)), "{error:?}");

        let error = download(Broken(&TEN), 100, &mut io::sink(), |_| {}).unwrap_err();
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
