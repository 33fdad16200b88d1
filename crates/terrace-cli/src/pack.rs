//! Packing a module's directory: the same files always make the same bytes.
//!
//! A zip, because every client unpacks one and OpenTofu's OCI packages have to be one. Entries are
//! sorted, have one time, and their modes are 0644 or 0755; directories have no entries.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::error::Failure;

/// Never part of a module, whatever the ignore files say.
const ALWAYS_IGNORED: [&str; 2] = [".git", ".terraform"];

/// A packed directory.
pub(crate) struct Packed {
    pub(crate) zip: Vec<u8>,
    pub(crate) files: usize,
}

/// Packs a directory without what its `.gitignore` and `.terraformignore` files exclude.
///
/// # Errors
/// A file that cannot be read, or a link that leads out of the directory.
pub(crate) fn pack(directory: &Path) -> Result<Packed, Failure> {
    let files = files(directory)?;
    let failed = |error: &dyn std::fmt::Display| Failure::Unexpected(format!("packing: {error}"));
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, path) in &files {
        let content = fs::read(path).map_err(|error| Failure::file(path, &error))?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(6))
            .last_modified_time(DateTime::default())
            .unix_permissions(if is_executable(path) { 0o755 } else { 0o644 });
        zip.start_file(name.as_str(), options)
            .map_err(|error| failed(&error))?;
        zip.write_all(&content).map_err(|error| failed(&error))?;
    }
    let zip = zip.finish().map_err(|error| failed(&error))?.into_inner();
    Ok(Packed {
        zip,
        files: files.len(),
    })
}

/// The files to pack by their name in the archive, sorted.
fn files(directory: &Path) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let top = directory
        .canonicalize()
        .map_err(|error| Failure::file(directory, &error))?;
    let walk = WalkBuilder::new(&top)
        .hidden(false)
        .ignore(false)
        .git_global(false)
        .git_exclude(false)
        .require_git(false)
        .follow_links(true)
        .add_custom_ignore_filename(".terraformignore")
        .filter_entry(|entry| !ALWAYS_IGNORED.iter().any(|name| entry.file_name() == *name))
        .build();
    let mut files = BTreeMap::new();
    for entry in walk {
        let entry = entry.map_err(|error| Failure::refused(error.to_string()))?;
        let path = entry.path();
        // Clients do not create links, so what they point to is packed; only from inside.
        if entry.path_is_symlink() {
            let target = path
                .canonicalize()
                .map_err(|error| Failure::file(path, &error))?;
            if !target.starts_with(&top) {
                return Err(Failure::refused(format!(
                    "{} links to {}, which is outside of the module",
                    path.display(),
                    target.display()
                )));
            }
        }
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            files.insert(name_in_archive(&top, path)?, path.to_owned());
        }
    }
    Ok(files)
}

fn name_in_archive(top: &Path, path: &Path) -> Result<String, Failure> {
    let relative = path.strip_prefix(top).unwrap_or(path);
    let mut parts = Vec::new();
    for part in relative.components() {
        let text = part.as_os_str().to_str();
        parts.push(text.ok_or_else(|| {
            Failure::refused(format!("the name of {} is not UTF-8", path.display()))
        })?);
    }
    Ok(parts.join("/"))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}
