//! A zip writer. Its output depends only on names, contents and executable bits.
//!
//! General zip writers include their own version and the current time, and compress with the backend that the
//! build as a whole selects. This writer supports one kind of entry.

use std::io::{self, Read, Seek, SeekFrom, Write};

use miniz_oxide::deflate::core::CompressorOxide;
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

/// The number of bytes that are compressed at once. Another number would result in other bytes.
const CHUNK_BYTES: u64 = 64 * 1024;

const LEVEL: u8 = 6;
/// The minimum version to extract: 2.0 of the format, which added deflate.
const NEEDS: u16 = 20;
/// The version of the writer: the same, on Unix, so that modes have an effect.
const MADE_BY: u16 = 3 << 8 | NEEDS;
/// The flag that names are UTF-8.
const FLAGS: u16 = 1 << 11;
const DEFLATED: u16 = 8;
/// The date 1980-01-01T00:00:00, the earliest that a zip can represent.
const DATE: u16 = 1 << 5 | 1;
const TIME: u16 = 0;
/// The offset in a local header of the sizes, which are only known after the content.
const SIZES_OFFSET: u64 = 14;

/// A writer of zips smaller than 4 GiB, which is more than a registry accepts.
pub(crate) struct ZipWriter<W> {
    out: W,
    offset: u64,
    directory: Vec<u8>,
    entries: u16,
}

/// The fields of a header about its content.
struct Sizes {
    crc: u32,
    compressed: u64,
    uncompressed: u64,
}

impl<W: Write + Seek> ZipWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out,
            offset: 0,
            directory: Vec::new(),
            entries: 0,
        }
    }

    /// Adds a file.
    pub(crate) fn add(
        &mut self,
        name: &str,
        executable: bool,
        content: &mut impl Read,
    ) -> io::Result<()> {
        let name_bytes = u16::try_from(name.len()).map_err(|_| too_large("its name"))?;
        let mut common = Vec::new();
        for field in [NEEDS, FLAGS, DEFLATED, TIME, DATE] {
            common.extend(field.to_le_bytes());
        }
        let start = self.offset;
        self.write(b"PK\x03\x04")?;
        self.write(&common)?;
        self.write(&[0; 12])?;
        self.write(&name_bytes.to_le_bytes())?;
        self.write(&[0; 2])?;
        self.write(name.as_bytes())?;
        let sizes = self.compress(content)?.to_bytes()?;
        self.out.seek(SeekFrom::Start(start + SIZES_OFFSET))?;
        self.out.write_all(&sizes)?;
        self.out.seek(SeekFrom::Start(self.offset))?;

        let mode: u32 = if executable { 0o100_755 } else { 0o100_644 };
        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(MADE_BY.to_le_bytes());
        self.directory.extend(common);
        self.directory.extend(sizes);
        self.directory.extend(name_bytes.to_le_bytes());
        // No extra field, no comment, the first disk, and no flag for text.
        self.directory.extend([0; 8]);
        self.directory.extend((mode << 16).to_le_bytes());
        self.directory.extend(small(start)?.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.entries = self
            .entries
            .checked_add(1)
            .ok_or_else(|| too_large("the number of files"))?;
        Ok(())
    }

    /// Completes the zip.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let directory = std::mem::take(&mut self.directory);
        let start = small(self.offset)?;
        self.write(&directory)?;
        self.write(b"PK\x05\x06\0\0\0\0")?;
        self.write(&self.entries.to_le_bytes())?;
        self.write(&self.entries.to_le_bytes())?;
        self.write(&small(directory.len() as u64)?.to_le_bytes())?;
        self.write(&start.to_le_bytes())?;
        self.write(&[0; 2])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn compress(&mut self, content: &mut impl Read) -> io::Result<Sizes> {
        let mut compressor = CompressorOxide::default();
        compressor.set_format_and_level(DataFormat::Raw, LEVEL);
        let start = self.offset;
        let mut crc = crc32fast::Hasher::new();
        let mut uncompressed = 0;
        loop {
            let mut chunk = Vec::new();
            let length = content.take(CHUNK_BYTES).read_to_end(&mut chunk)? as u64;
            crc.update(&chunk);
            uncompressed += length;
            let is_last = length < CHUNK_BYTES;
            self.compress_chunk(&mut compressor, &chunk, is_last)?;
            if is_last {
                return Ok(Sizes {
                    crc: crc.finalize(),
                    compressed: self.offset - start,
                    uncompressed,
                });
            }
        }
    }

    fn compress_chunk(
        &mut self,
        compressor: &mut CompressorOxide,
        chunk: &[u8],
        is_last: bool,
    ) -> io::Result<()> {
        let flush = if is_last {
            MZFlush::Finish
        } else {
            MZFlush::None
        };
        let mut buffer = vec![0; 64 * 1024];
        let mut rest = chunk;
        loop {
            let done = deflate(compressor, rest, &mut buffer, flush);
            self.write(buffer.get(..done.bytes_written).unwrap_or_default())?;
            rest = rest.get(done.bytes_consumed..).unwrap_or_default();
            match done.status {
                Ok(MZStatus::StreamEnd) => return Ok(()),
                // The compressor needs more input than this chunk.
                Err(MZError::Buf) if !is_last && rest.is_empty() => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(io::Error::other(format!("{error:?}"))),
            }
        }
    }
}

impl Sizes {
    fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let fields = [self.crc, small(self.compressed)?, small(self.uncompressed)?];
        Ok(fields.into_iter().flat_map(u32::to_le_bytes).collect())
    }
}

fn small(number: u64) -> io::Result<u32> {
    u32::try_from(number).map_err(|_| too_large("the archive"))
}

fn too_large(what: &str) -> io::Error {
    io::Error::other(format!("{what} is too large for a module"))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use terrace_base::digest::Sha256;

    /// Returns at most a fixed number of bytes for each read.
    struct Dribble<'a>(&'a [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len()).min(self.0.len());
            let (now, later) = self.0.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn contents() -> Vec<(&'static str, bool, Vec<u8>)> {
        let noise = |length: u32| (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8);
        vec![
            ("empty.tf", false, Vec::new()),
            ("main.tf", false, b"variable \"x\" {}\n".repeat(20_000)),
            ("größe/noise.bin", false, noise(300_000).collect()),
            ("run.sh", true, b"#!/bin/sh\n".to_vec()),
            ("whole-chunk", false, noise(65_536).collect()),
        ]
    }

    const PINNED: &str = "b2af962bd287e9513800e0091952d0e9f00b93262bc52d1db54f8485601e6cf0";

    fn zip(at_once: usize) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, executable, content) in contents() {
            zip.add(name, executable, &mut Dribble(&content, at_once))
                .unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn packed_files_unpack_unchanged() {
        let mut archive = ::zip::ZipArchive::new(Cursor::new(zip(usize::MAX))).unwrap();
        for (index, (name, executable, content)) in contents().into_iter().enumerate() {
            let mut entry = archive.by_index(index).unwrap();
            assert_eq!(entry.name().unwrap(), name);
            let mode = if executable { 0o100_755 } else { 0o100_644 };
            assert_eq!(entry.unix_mode(), Some(mode));
            let mut unpacked = Vec::new();
            entry.read_to_end(&mut unpacked).unwrap();
            assert_eq!(unpacked, content, "{name}");
        }
    }

    /// If this test fails, modules that an earlier version of this program published can no longer be
    /// published again as unchanged. That may be worth a release note, but must never be an accident.
    #[test]
    fn bytes_are_the_same_in_every_build_however_files_are_read() {
        for at_once in [usize::MAX, 1_000] {
            assert_eq!(Sha256::of(&zip(at_once)).to_string(), PINNED);
        }
    }
}
