//! A copy of a registry as a directory.
//!
//! ```text
//! export.json                          a summary, and the digest of SHA256SUMS once the copy is complete
//! SHA256SUMS                           every file of the copy, as sha256sum writes and checks it
//! facts/{key}.json                     a document, byte for byte; any character but a letter, a digit and
//!                                      . _ + - / is escaped, as in %3A, and %/ splits a long segment
//! new/…                                the new documents, until the export is complete
//! archives/{sha256}.{extension}        the published archives
//! oci/blobs/{algorithm}/{digits}       the pushed blobs
//! ```

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use terrace_base::digest::Sha256;
use terrace_core::storage::copy::fact_at;

use super::stored::Log;
use crate::error::Failure;

/// The format that this version writes and reads.
const EXPORT_FORMAT: &str = "terrace export 1";

const SUMMARY: &str = "export.json";
const SUMS: &str = "SHA256SUMS";
const STAGING: &str = "new";

/// The maximum size of a file that is read into memory: a [`SUMS`] file of some hundred thousand files fits.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// The contents of [`SUMMARY`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Summary {
    format: String,
    /// The URL of the registry.
    pub(super) registry: String,
    /// The number of documents.
    pub(super) documents: u64,
    /// The number of archives and blobs.
    pub(super) archives: u64,
    /// The total size of the archives and blobs, in bytes.
    pub(super) bytes: u64,
    /// The digest of [`SUMS`]; missing until everything else is in the copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sha256sums: Option<Sha256>,
}

/// The digests of files, by their paths in the copy.
pub(super) type Sums = BTreeMap<String, Sha256>;

/// A copy of a registry.
#[derive(Debug)]
pub(crate) struct Backup {
    root: PathBuf,
}

impl Summary {
    pub(super) fn new(registry: &str) -> Self {
        Self {
            format: EXPORT_FORMAT.to_owned(),
            registry: registry.to_owned(),
            documents: 0,
            archives: 0,
            bytes: 0,
            sha256sums: None,
        }
    }
}

impl Backup {
    fn new(root: &Path) -> Self {
        let root = root.to_owned();
        Self { root }
    }

    /// Opens a directory that is new or empty, or contains an older copy of the same registry. A new directory is created
    /// with its first file, so an export that fails before leaves nothing.
    pub(super) fn create(root: &Path, registry: &str) -> Result<Self, Failure> {
        let copy = Self::new(root);
        let is_empty = match fs::read_dir(root) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(local(root, &error)),
        };
        if !is_empty {
            if !Self::is_at(root) {
                return Err(Failure::refused(format!(
                    "{} contains other files, and no copy of a registry: choose a new or empty directory, or one that \
                     `terrace admin export` wrote",
                    root.display()
                )));
            }
            copy.promote_staged()?;
            let of = copy.summary()?.registry;
            if of != registry {
                let message = format!("{} is a copy of {of}, not of {registry}", root.display());
                return Err(Failure::refused(message));
            }
        }
        let unfinished = root.join(STAGING);
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(|error| local(&unfinished, &error))?;
        }
        Ok(copy)
    }

    /// Opens a complete copy. Returns it with the digests of all of its files.
    pub(super) fn open(root: &Path) -> Result<(Self, Summary, Sums), Failure> {
        let copy = Self::new(root);
        copy.promote_staged()?;
        let summary = copy.summary()?;
        // An export compares with a copy that was complete, and so does not replace this one.
        let incomplete = || {
            Failure::refused(format!(
                "{} is an incomplete Terrace export, or {SUMS} is not the one that {SUMMARY} states: run the export again (terrace admin \
                 export), copy the whole directory again, or export to a new one",
                root.display()
            ))
        };
        if !root.join(SUMS).exists() {
            return Err(incomplete());
        }
        let bytes = copy.read(SUMS)?;
        if summary.sha256sums != Some(Sha256::of(&bytes)) {
            return Err(incomplete());
        }
        let unreadable = || Failure::refused(format!("{SUMS} is malformed"));
        let text = String::from_utf8(bytes).map_err(|_| unreadable())?;
        let sums: Option<Sums> = text.lines().map(read_line).collect();
        let sums = sums.ok_or_else(unreadable)?;
        Ok((copy, summary, sums))
    }

    /// Returns the audit log of a complete copy, entry by entry.
    pub(crate) fn open_log(root: &Path) -> Result<Vec<String>, Failure> {
        let (copy, _, sums) = Self::open(root)?;
        copy.entries(&sums)
    }

    /// Returns whether a directory contains a copy that was complete once.
    pub(super) fn is_finished(root: &Path) -> Result<bool, Failure> {
        Ok(Self::is_at(root) && Self::new(root).summary()?.sha256sums.is_some())
    }

    /// Returns whether a directory contains a copy.
    pub(super) fn is_at(root: &Path) -> bool {
        root.join(SUMMARY).is_file()
    }

    fn summary(&self) -> Result<Summary, Failure> {
        let refused = |reason: &dyn ToString| {
            let place = self.root.join(SUMMARY);
            Failure::refused(format!("{}: {}", place.display(), reason.to_string()))
        };
        let bytes = fs::read(self.root.join(SUMMARY)).map_err(|error| {
            refused(&format!(
                "{error}: this is not a directory that `terrace admin export` wrote"
            ))
        })?;
        let summary: Summary = serde_json::from_slice(&bytes).map_err(|error| refused(&error))?;
        match summary.format == EXPORT_FORMAT {
            true => Ok(summary),
            false => Err(refused(&format!(
                "its format is {:?}, but only {EXPORT_FORMAT:?} is supported",
                summary.format
            ))),
        }
    }

    fn write_summary(&self, path: &str, summary: &Summary) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(summary).unwrap_or_default();
        self.write(path, format!("{text}\n").as_bytes())
    }

    /// Writes the summary, which names the registry, if there is none yet.
    pub(super) fn begin_with(&self, summary: &Summary) -> Result<(), Failure> {
        match Self::is_at(&self.root) {
            true => Ok(()),
            false => self.write_summary(SUMMARY, summary),
        }
    }

    /// Writes a document next to the one that it will replace when the export is complete. Until then the
    /// older copy stays intact.
    pub(super) fn stage(&self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.place(path)?;
        match fs::read(place).is_ok_and(|there| there == bytes) {
            true => Ok(()),
            false => self.write(&staged(path), bytes),
        }
    }

    /// Completes the copy: the staged files replace the older ones.
    pub(super) fn finish(&self, mut summary: Summary, sums: &Sums) -> Result<(), Failure> {
        let lines = sums
            .iter()
            .map(|(path, sha256)| format!("{sha256}  {path}\n"));
        let text: String = lines.collect();
        self.write(&staged(SUMS), text.as_bytes())?;
        summary.sha256sums = Some(Sha256::of(text.as_bytes()));
        self.write_summary(&staged(SUMMARY), &summary)?;
        self.promote_staged()
    }

    /// Moves the staged files into place if all of them are there. This also finishes an export that was
    /// stopped while it did so.
    fn promote_staged(&self) -> Result<(), Failure> {
        let Ok(summary) = self.read(&staged(SUMMARY)) else {
            return Ok(());
        };
        // Once the sums are moved into place, they are no longer staged.
        let sums = self.read(&staged(SUMS)).or_else(|_| self.read(SUMS))?;
        let summary: Option<Summary> = serde_json::from_slice(&summary).ok();
        if summary.and_then(|summary| summary.sha256sums) != Some(Sha256::of(&sums)) {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&sums);
        let paths = text.lines().filter_map(read_line).map(|(path, _)| path);
        for path in paths.chain([SUMS.to_owned(), SUMMARY.to_owned()]) {
            let (from, to) = (self.place(&staged(&path))?, self.place(&path)?);
            if !from.is_file() {
                continue;
            }
            let parent = to.parent().unwrap_or(&self.root);
            let moved = fs::create_dir_all(parent).and_then(|()| fs::rename(&from, &to));
            moved.map_err(|error| local(&to, &error))?;
        }
        let empty = self.root.join(STAGING);
        fs::remove_dir_all(&empty).map_err(|error| local(&empty, &error))
    }

    /// Writes a file, unless it has these bytes already.
    pub(super) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.place(path)?;
        if fs::read(&place).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        let written = self.begin(&place).and_then(|mut file| {
            file.write_all(bytes)?;
            file.persist(&place).map_err(|error| error.error)
        });
        written.map(drop).map_err(|error| local(&place, &error))
    }

    /// Creates a temporary file in the directory of its final path.
    pub(super) fn begin(&self, place: &Path) -> io::Result<tempfile::NamedTempFile> {
        let parent = place.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent)?;
        tempfile::Builder::new()
            .prefix(".part-")
            .tempfile_in(parent)
    }

    /// Reads a file.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let place = self.place(path)?;
        let refused = |message: &dyn std::fmt::Display| {
            Failure::refused(format!("{}: {message}", place.display()))
        };
        if place.exists() && self.size(path).is_none_or(|size| size > MOST_BYTES) {
            return Err(refused(&format!(
                "it is not a regular file, or has more than {MOST_BYTES} bytes"
            )));
        }
        let mut bytes = Vec::new();
        let read =
            File::open(&place).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
        read.map(|_| bytes).map_err(|error| refused(&error))
    }

    /// Reads a document and checks its digest.
    pub(super) fn document(&self, path: &str, sha256: &Sha256) -> Result<String, Failure> {
        let bytes = self.read(path)?;
        if Sha256::of(&bytes) != *sha256 {
            return Err(Failure::refused(format!("{path} is damaged in the copy")));
        }
        String::from_utf8(bytes).map_err(|error| Failure::refused(format!("{path}: {error}")))
    }

    /// Returns the entries of the audit log, in order.
    fn entries(&self, sums: &Sums) -> Result<Vec<String>, Failure> {
        let is_entry = |path: &&String| fact_at(path).is_some_and(|key| Log::has(&key));
        let entries = sums.iter().filter(|(path, _)| is_entry(path));
        entries
            .map(|(path, sha256)| self.document(path, sha256))
            .collect()
    }

    /// Reads the whole audit log.
    pub(super) fn log(&self, sums: &Sums) -> Result<Log, Failure> {
        let mut log = Log::default();
        for entry in self.entries(sums)? {
            log.add(&entry);
        }
        Ok(log)
    }

    /// Removes a file.
    pub(super) fn remove(&self, path: &str) -> Result<(), Failure> {
        let place = self.place(path)?;
        fs::remove_file(&place).map_err(|error| local(&place, &error))
    }

    /// Returns the paths of all files below a directory of the copy, those that no list contains as well.
    pub(super) fn paths_below(&self, directory: &str) -> Result<Vec<String>, Failure> {
        let mut paths = Vec::new();
        let mut directories = vec![directory.to_owned()];
        while let Some(directory) = directories.pop() {
            let place = self.place(&directory)?;
            let listed = match fs::read_dir(&place) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                listed => listed.map_err(|error| local(&place, &error))?,
            };
            for entry in listed {
                let entry = entry.map_err(|error| local(&place, &error))?;
                let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
                let kind = entry.file_type().map_err(|error| local(&place, &error))?;
                match kind.is_dir() {
                    true => directories.push(path),
                    false => paths.push(path),
                }
            }
        }
        Ok(paths)
    }

    /// Returns the size of a file, if it exists.
    pub(super) fn size(&self, path: &str) -> Option<u64> {
        let metadata = fs::metadata(self.place(path).ok()?).ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    /// Returns the path of a file on disk. A path that leads out of the copy is rejected.
    pub(super) fn place(&self, path: &str) -> Result<PathBuf, Failure> {
        let is_plain =
            |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains(['\\', '\0']);
        if path.split('/').all(is_plain) {
            return Ok(path
                .split('/')
                .fold(self.root.clone(), |place, it| place.join(it)));
        }
        Err(Failure::refused(format!(
            "{path:?} is not a path in a copy"
        )))
    }
}

/// Returns the path of a file while it is staged.
fn staged(path: &str) -> String {
    format!("{STAGING}/{path}")
}

fn read_line(line: &str) -> Option<(String, Sha256)> {
    let (sha256, path) = line.split_once("  ")?;
    Some((path.to_owned(), sha256.parse().ok()?))
}

pub(super) fn local(place: &Path, error: &io::Error) -> Failure {
    Failure::Local(format!("{}: {error}", place.display()))
}
