//! The registry's own look into an archive, taken before it is sent.

use std::io;

use terrace_core::archive::{ArchiveFormat, Entry, Step, TarGzInspector, ZipInspector};
use terrace_core::package_hash::PackageHash;
use terrace_core::publish::ExpectedArchive;

use crate::error::Failure;
use crate::source::{Archive, hash};

/// Bytes of a tar that are inspected at once.
const CHUNK_BYTES: u64 = 1024 * 1024;

/// What a client would refuse about an archive, and what its user may regret.
pub(crate) fn inspect(
    archive: &Archive,
    expected: &ExpectedArchive,
) -> Result<(Vec<String>, Vec<String>), Failure> {
    let entries = match expected.format() {
        ArchiveFormat::Zip => zip_entries(archive),
        ArchiveFormat::TarGz => tar_gz_entries(archive),
    };
    match entries.map_err(|error| Failure::refused(format!("{}: {error}", expected.filename)))? {
        Ok(entries) => Ok((expected.refusals(&entries), expected.remarks(&entries))),
        Err(reason) => Ok((vec![format!("{}: {reason}", expected.filename)], Vec::new())),
    }
}

fn zip_entries(archive: &Archive) -> io::Result<Result<Vec<Entry>, String>> {
    let mut zip = ZipInspector::new(archive.size);
    while let Step::Read { offset, len } = zip.next() {
        if let Err(error) = zip.feed(&archive.read(offset, len)?) {
            return Ok(Err(error.to_string()));
        }
    }
    Ok(zip.finish().map_err(|error| error.to_string()))
}

fn tar_gz_entries(archive: &Archive) -> io::Result<Result<Vec<Entry>, String>> {
    let mut tar = TarGzInspector::new();
    let mut offset = 0;
    while offset < archive.size {
        if let Err(error) = tar.feed(&archive.read(offset, CHUNK_BYTES)?) {
            return Ok(Err(error.to_string()));
        }
        offset += CHUNK_BYTES;
    }
    Ok(tar.finish().map_err(|error| error.to_string()))
}

/// The `h1:` hash of a zip. It unpacks every entry, so a damaged one is found here.
pub(crate) fn h1(archive: &Archive, name: &str) -> Result<PackageHash, Failure> {
    let refused = |error: &dyn std::fmt::Display| Failure::refused(format!("{name}: {error}"));
    let reader = archive.source.open().map_err(|error| refused(&error))?;
    let mut zip =
        zip::ZipArchive::new(io::BufReader::new(reader)).map_err(|error| refused(&error))?;
    let mut files = Vec::new();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|error| refused(&error))?;
        let (digest, _) = hash(&mut entry).map_err(|error| refused(&error))?;
        let name = entry.name().map_err(|error| refused(&error))?;
        files.push((name.into_owned(), digest));
    }
    PackageHash::h1_of(files).map_err(|error| refused(&error))
}
