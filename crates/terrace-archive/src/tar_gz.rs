//! Reader of the list of entries of a gzipped tar, in one pass over its bytes.

use super::gzip::Gunzip;
use super::tar::Tar;
use super::{ArchiveError, Entry, limits};

/// Lists the entries of a gzipped tar, fed in pieces.
///
/// It keeps the list and at most one extension header, never the content of an entry: about 100 KiB
/// besides the names, whatever the size of the archive.
#[derive(Default)]
pub struct TarGzInspector {
    gunzip: Gunzip,
    tar: Tar,
    compressed: u64,
    uncompressed: u64,
    failed: Option<ArchiveError>,
}

impl TarGzInspector {
    /// Takes the next bytes of the archive, in pieces of any size.
    ///
    /// # Errors
    /// The first fault of the archive. Every call after an error returns the same error.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), ArchiveError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.advance(chunk)
            .inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// Returns the entries, in the order of the tar.
    ///
    /// # Errors
    /// The first fault of the archive, or that it is truncated.
    pub fn finish(self) -> Result<Vec<Entry>, ArchiveError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.gunzip.finish()?;
        let allowed = limits::RATIO_FREE_BYTES.max(self.compressed.saturating_mul(limits::RATIO));
        if self.uncompressed > allowed {
            return Err(ArchiveError::Bomb {
                compressed: self.compressed,
                uncompressed: self.uncompressed,
            });
        }
        self.tar.finish()
    }

    fn advance(&mut self, chunk: &[u8]) -> Result<(), ArchiveError> {
        let Self {
            gunzip,
            tar,
            compressed,
            uncompressed,
            ..
        } = self;
        *compressed = compressed.saturating_add(chunk.len() as u64);
        gunzip.feed(chunk, &mut |piece| {
            *uncompressed = uncompressed.saturating_add(piece.len() as u64);
            if *uncompressed > limits::UNCOMPRESSED_BYTES {
                return Err(ArchiveError::UncompressedTooLarge);
            }
            let allowed =
                limits::RATIO_AHEAD_BYTES.saturating_add(compressed.saturating_mul(limits::RATIO));
            if *uncompressed > allowed {
                return Err(ArchiveError::Bomb {
                    compressed: *compressed,
                    uncompressed: *uncompressed,
                });
            }
            tar.feed(piece)
        })
    }
}

#[cfg(test)]
mod tests;
