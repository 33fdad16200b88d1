//! The regular files in an archive, with their contents, among them secrets and configuration, which decide whether a module may be
//! published.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;
use terrace_archive::limits::UNCOMPRESSED_BYTES;
use terrace_archive::{ArchiveFormat, SecretFile, secret_file};
use terrace_base::digest::Sha256;
use terrace_core::model::package_hash::PackageHash;
use zip::ZipArchive;

use crate::archive::secrets::secret_in;
use crate::archive::{Archive, BUFFER_BYTES, hash};

/// The part of each file that is searched for secrets.
const SEARCHED_BYTES: u64 = 16 * 1024 * 1024;

/// The contents of an archive.
#[derive(Debug, Default)]
pub(crate) struct PackageContents {
    /// The files that hold secrets, with their kinds, in the order of the archive.
    pub(crate) secrets: Vec<(String, SecretFile)>,
    /// The files that `is_wanted` selects.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

impl Archive {
    /// Reads the contents of a module's archive, and keeps the files for which `is_wanted` holds.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub(crate) fn contents(
        &self,
        format: ArchiveFormat,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<PackageContents, String> {
        let mut contents = PackageContents::default();
        let read = self.each_file(format, |path, reader| {
            let mut bytes = Vec::new();
            reader.take(SEARCHED_BYTES).read_to_end(&mut bytes)?;
            let kind = secret_file(path).or_else(|| secret_in(&bytes));
            contents
                .secrets
                .extend(kind.map(|kind| (path.to_owned(), kind)));
            if is_wanted(path) {
                contents.files.push((path.to_owned(), bytes));
            }
            Ok(())
        });
        read.map_err(|error| format!("{}: {error}", self.filename))?;
        Ok(contents)
    }

    /// Returns the digest of the names and contents of all files, which does not depend on how they are packed.
    ///
    /// # Errors
    /// The archive cannot be read, or has a file twice.
    pub(crate) fn tree(&self, format: ArchiveFormat) -> Result<Sha256, String> {
        let mut files = Vec::new();
        let read = self.each_file(format, |path, reader| {
            let (digest, _) = hash(&mut { reader })?;
            files.push((path.to_owned(), digest));
            Ok(())
        });
        let about = |reason: &dyn ToString| format!("{}: {}", self.filename, reason.to_string());
        read.map_err(|error| about(&error))?;
        match PackageHash::h1_of(files).map_err(|error| about(&error))? {
            PackageHash::H1(digest) | PackageHash::Zh(digest) => Ok(digest),
        }
    }

    /// Calls `visit` with each regular file and its path, in the order of the archive.
    ///
    /// # Errors
    /// The archive cannot be read or is too large unpacked, or `visit` fails.
    pub(crate) fn each_file(
        &self,
        format: ArchiveFormat,
        visit: impl FnMut(&str, &mut dyn Read) -> io::Result<()>,
    ) -> io::Result<()> {
        let file = BufReader::with_capacity(BUFFER_BYTES, self.source.open()?);
        match format {
            ArchiveFormat::Zip => each_of_zip(ZipArchive::new(file)?, visit),
            ArchiveFormat::TarGz => {
                let unpacked = Limited {
                    reader: MultiGzDecoder::new(file),
                    left: UNCOMPRESSED_BYTES,
                };
                each_of_tar(tar::Archive::new(unpacked), visit)
            }
        }
    }
}

fn each_of_zip(
    mut zip: ZipArchive<impl Read + io::Seek>,
    mut visit: impl FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let mut left = UNCOMPRESSED_BYTES;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index)?;
        let Some(path) = path(entry.name_raw()) else {
            continue;
        };
        if entry.is_file() {
            let mut limited = Limited {
                reader: &mut entry,
                left,
            };
            visit(&path, &mut limited)?;
            left = limited.left;
        }
    }
    Ok(())
}

fn each_of_tar(
    mut tar: tar::Archive<impl Read>,
    mut visit: impl FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    for entry in tar.entries()? {
        let mut entry = entry?;
        let Some(path) = path(&entry.path_bytes()) else {
            continue;
        };
        let kind = entry.header().entry_type();
        // Clients unpack a contiguous file like any other.
        if kind.is_file() || kind.is_contiguous() {
            visit(&path, &mut entry)?;
        }
    }
    Ok(())
}

/// A reader that fails after its limit, because a small archive may unpack to any number of bytes.
struct Limited<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let left = self.left.checked_sub(count as u64);
        self.left = left.ok_or_else(|| {
            let most = UNCOMPRESSED_BYTES >> 30;
            io::Error::other(format!("its files have more than {most} GiB"))
        })?;
        Ok(count)
    }
}

/// Returns a path without a leading `./`, if it is UTF-8.
fn path(bytes: &[u8]) -> Option<String> {
    let path = str::from_utf8(bytes).ok()?;
    Some(path.strip_prefix("./").unwrap_or(path).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_unpacks_to_more_than_the_limit_fails() {
        let mut files = Limited {
            reader: io::repeat(0),
            left: 10,
        };
        assert!(io::copy(&mut files.by_ref().take(10), &mut io::sink()).is_ok());
        let error = io::copy(&mut files, &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("more than 4 GiB"), "{error}");
    }
}
