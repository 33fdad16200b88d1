//! The regular files in an archive, with their contents.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;
use terrace_archive::ArchiveFormat;
use zip::ZipArchive;

use crate::archive::{Archive, BUFFER_BYTES};

impl Archive {
    /// Calls `visit` with each regular file and its path, in the order of the archive.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub(crate) fn each_file(
        &self,
        format: ArchiveFormat,
        visit: impl FnMut(&str, &mut dyn Read),
    ) -> io::Result<()> {
        let file = BufReader::with_capacity(BUFFER_BYTES, self.source.open()?);
        match format {
            ArchiveFormat::Zip => each_of_zip(ZipArchive::new(file)?, visit),
            ArchiveFormat::TarGz => {
                each_of_tar(tar::Archive::new(MultiGzDecoder::new(file)), visit)
            }
        }
    }

    /// Returns the paths of the symbolic links in an archive. Only a tar may have some.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub(crate) fn links(&self, format: ArchiveFormat) -> io::Result<Vec<String>> {
        let mut links = Vec::new();
        if format == ArchiveFormat::Zip {
            return Ok(links);
        }
        let file = BufReader::with_capacity(BUFFER_BYTES, self.source.open()?);
        for entry in tar::Archive::new(MultiGzDecoder::new(file)).entries()? {
            let entry = entry?;
            if entry.header().entry_type().is_symlink() {
                links.extend(path(&entry.path_bytes()));
            }
        }
        Ok(links)
    }
}

fn each_of_zip(
    mut zip: ZipArchive<impl Read + io::Seek>,
    mut visit: impl FnMut(&str, &mut dyn Read),
) -> io::Result<()> {
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index)?;
        let Some(path) = path(entry.name_raw()) else {
            continue;
        };
        if entry.is_file() {
            visit(&path, &mut entry);
        }
    }
    Ok(())
}

fn each_of_tar(
    mut tar: tar::Archive<impl Read>,
    mut visit: impl FnMut(&str, &mut dyn Read),
) -> io::Result<()> {
    for entry in tar.entries()? {
        let mut entry = entry?;
        let Some(path) = path(&entry.path_bytes()) else {
            continue;
        };
        let kind = entry.header().entry_type();
        // Clients unpack a contiguous file like any other.
        if kind.is_file() || kind.is_contiguous() {
            visit(&path, &mut entry);
        }
    }
    Ok(())
}

/// Returns a path without a leading `./`, if it is UTF-8.
fn path(bytes: &[u8]) -> Option<String> {
    let path = str::from_utf8(bytes).ok()?;
    Some(path.strip_prefix("./").unwrap_or(path).to_owned())
}
