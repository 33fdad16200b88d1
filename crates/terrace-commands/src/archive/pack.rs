//! Packing of a module's directory: the same files always result in the same bytes.
//!
//! Publishing the same version again from the same files must be recognised as unchanged, on another machine
//! and after years. So entries are sorted, have one time and one of two modes, and directories have no
//! entries; and the bytes are written by [`zip`] here and one compressor.
//!
//! The format is zip and not `tar.gz`, because the registry reads a zip's list of entries from its end alone,
//! and because packages of OpenTofu in OCI registries have to be zips.

mod extent;
mod files;
mod zip;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::archive::pack::files::{Packable, find};
use crate::archive::{Archive, Source};
use crate::error::Failure;

pub(crate) use self::zip::ZipWriter;
pub(crate) use extent::{Extent, below, joined};
pub(crate) use files::{IGNORE_FILES, is_left_out};

/// A packed directory.
pub(crate) struct Packed {
    pub(crate) archive: Archive,
    /// The number of files in it.
    pub(crate) files: usize,
    /// The names of files that are left out although no ignore file excludes them.
    pub(crate) left_out: Vec<String>,
}

/// Returns the files of a directory that would be packed, by their names in the archive.
///
/// # Errors
/// All files that cannot be packed.
pub(crate) fn packable_files(directory: &Path) -> Result<Vec<(String, PathBuf)>, Vec<String>> {
    let files = find(directory, &Extent::whole())?.files.into_iter();
    Ok(files.map(|(name, file)| (name, file.path)).collect())
}

/// Packs the parts of a directory without the files that ignore files exclude.
///
/// # Errors
/// All files that cannot be packed.
pub(crate) fn pack(directory: &Path, extent: &Extent) -> Result<Packed, Failure> {
    let found = find(directory, extent).map_err(Failure::Refused)?;
    let has_files = |part: &&str| found.files.keys().any(|name| below(name, part).is_some());
    if let Some(empty) = extent.directories().find(|part| !has_files(part)) {
        let place = match empty {
            "" => directory.to_owned(),
            part => directory.join(part),
        };
        return Err(Failure::refused(format!(
            "{} contains no files to pack, or ignore files exclude all of them",
            place.display()
        )));
    }
    let failed = |error: std::io::Error| {
        Failure::Unexpected(format!(
            "packing into {}: {error}",
            std::env::temp_dir().display()
        ))
    };
    let zip = BufWriter::new(tempfile::tempfile().map_err(failed)?);
    let mut zip = ZipWriter::new(zip);
    for (name, Packable { path, executable }) in &found.files {
        let refused = |error| Failure::refused(format!("{}: {error}", path.display()));
        let mut content = File::open(path).map_err(refused)?;
        zip.add(name, *executable, &mut content).map_err(refused)?;
    }
    let zip = zip.finish().map_err(failed)?.into_inner();
    let zip = zip.map_err(|error| failed(error.into_error()))?;
    let place = directory.display().to_string();
    Ok(Packed {
        archive: Archive::read(place, Source::Temporary(zip)).map_err(failed)?,
        files: found.files.len(),
        left_out: found.left_out,
    })
}
