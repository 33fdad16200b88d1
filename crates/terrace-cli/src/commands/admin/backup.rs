//! A copy of a registry as a directory.
//!
//! ```text
//! export.json                          what it is, and the digest of SHA256SUMS, once it is whole
//! SHA256SUMS                           every file of it, as sha256sum writes and checks it
//! facts/{key}.json                     a document, byte for byte; what is no letter, digit or . _ + - /
//!                                      stands there as %3A and the like, and a long segment is cut by %/
//! new/…                                what is to take the place of documents, until all of it has come
//! archives/{sha256}.{extension}        what is published
//! oci/blobs/{algorithm}/{digits}       what is pushed
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use terrace_base::digest::Sha256;

use super::stored::Log;
use crate::archive::hash;
use crate::error::Failure;
use crate::output::plural;

/// The format that is written here.
const EXPORT_FORMAT: &str = "terrace export 1";

const SUMMARY: &str = "export.json";
const SUMS: &str = "SHA256SUMS";
const FACTS: &str = "facts/";
const STAGING: &str = "new";
const JSON: &str = ".json";

/// The longest file that is read whole: [`SUMS`] of some hundred thousand files.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// Bytes of a segment of a path, of which file systems take 255 with what comes before and behind.
const SEGMENT_BYTES: usize = 200;

/// What [`SUMMARY`] says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Summary {
    format: String,
    /// Which registry it is of.
    pub(super) registry: String,
    /// How many documents it has.
    pub(super) documents: u64,
    /// How many archives and blobs.
    pub(super) archives: u64,
    /// How many bytes these have.
    pub(super) bytes: u64,
    /// The digest of [`SUMS`]; not there until everything else is.
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
    /// A directory that is new or empty, or has an older copy of the same registry.
    pub(super) fn create(root: &Path, registry: &str) -> Result<Self, Failure> {
        let copy = Self {
            root: root.to_owned(),
        };
        fs::create_dir_all(root).map_err(|error| local(root, &error))?;
        let is_empty = fs::read_dir(root)
            .map_err(|error| local(root, &error))?
            .next()
            .is_none();
        if !is_empty {
            copy.promote_staged()?;
            let of = copy.summary()?.registry;
            if of != registry {
                let told = format!(
                    "{} is a copy of {of}, and not of {registry}",
                    root.display()
                );
                return Err(Failure::refused(told));
            }
        }
        let unfinished = root.join(STAGING);
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(|error| local(&unfinished, &error))?;
        }
        Ok(copy)
    }

    /// A whole copy, with the digests of all of its files.
    pub(super) fn open(root: &Path) -> Result<(Self, Summary, Sums), Failure> {
        let copy = Self {
            root: root.to_owned(),
        };
        copy.promote_staged()?;
        let summary = copy.summary()?;
        let bytes = copy.read(SUMS)?;
        if summary.sha256sums != Some(Sha256::of(&bytes)) {
            return Err(Failure::refused(format!(
                "{}: the copy is not whole: run `terrace admin export` again",
                root.display()
            )));
        }
        let unreadable = || Failure::refused(format!("{SUMS} cannot be read"));
        let text = String::from_utf8(bytes).map_err(|_| unreadable())?;
        let sums: Option<Sums> = text.lines().map(read_line).collect();
        let sums = sums.ok_or_else(unreadable)?;
        let is_document = |path: &&String| fact_at(path).is_some();
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let documents = count(sums.keys().filter(is_document).count());
        let archives = count(sums.len()) - documents;
        if (documents, archives) != (summary.documents, summary.archives) {
            return Err(Failure::refused(format!(
                "{SUMS} names {} and {}, and {SUMMARY} says {} and {}",
                plural(documents, "document"),
                plural(archives, "archive"),
                summary.documents,
                summary.archives
            )));
        }
        Ok((copy, summary, sums))
    }

    /// The audit log of a whole copy, entry by entry.
    pub(crate) fn open_log(root: &Path) -> Result<Vec<String>, Failure> {
        let (copy, _, sums) = Self::open(root)?;
        copy.entries(&sums)
    }

    /// Whether a directory has a copy that was whole once.
    pub(super) fn is_finished(root: &Path) -> Result<bool, Failure> {
        if !Self::is_at(root) {
            return Ok(false);
        }
        let copy = Self {
            root: root.to_owned(),
        };
        Ok(copy.summary()?.sha256sums.is_some())
    }

    /// Whether a directory is a copy.
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
                "{error}: this is no directory that `terrace admin export` wrote"
            ))
        })?;
        let summary: Summary = serde_json::from_slice(&bytes).map_err(|error| refused(&error))?;
        match summary.format == EXPORT_FORMAT {
            true => Ok(summary),
            false => Err(refused(&format!(
                "its format is {:?}, and {EXPORT_FORMAT:?} is known",
                summary.format
            ))),
        }
    }

    pub(super) fn write_summary(&self, summary: &Summary) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(summary).unwrap_or_default();
        self.write(SUMMARY, format!("{text}\n").as_bytes())
    }

    /// Says whose copy it is going to be, where there is none yet.
    pub(super) fn begin_with(&self, summary: &Summary) -> Result<(), Failure> {
        match Self::is_at(&self.root) {
            true => Ok(()),
            false => self.write_summary(summary),
        }
    }

    /// Writes a document beside the one whose place it is to take when all have come: until then the older
    /// copy is as good as it was.
    pub(super) fn stage(&self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.place(path)?;
        match fs::read(place).is_ok_and(|there| there == bytes) {
            true => Ok(()),
            false => self.write(&staged(path), bytes),
        }
    }

    /// Makes it whole: what was staged takes its place.
    pub(super) fn finish(&self, mut summary: Summary, sums: &Sums) -> Result<(), Failure> {
        let lines = sums
            .iter()
            .map(|(path, sha256)| format!("{sha256}  {path}\n"));
        let text: String = lines.collect();
        self.write(&staged(SUMS), text.as_bytes())?;
        summary.sha256sums = Some(Sha256::of(text.as_bytes()));
        let text = serde_json::to_string_pretty(&summary).unwrap_or_default();
        self.write(&staged(SUMMARY), format!("{text}\n").as_bytes())?;
        self.promote_staged()
    }

    /// Puts what was staged into its place, if all of it had come: also what somebody else was stopped at.
    fn promote_staged(&self) -> Result<(), Failure> {
        let Ok(summary) = self.read(&staged(SUMMARY)) else {
            return Ok(());
        };
        // Once the sums are in their place they are not here any more.
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

    /// A file without a name yet, beside where it is going to be.
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
        let refused =
            |told: &dyn std::fmt::Display| Failure::refused(format!("{}: {told}", place.display()));
        if place.exists() && self.size(path).is_none_or(|size| size > MOST_BYTES) {
            return Err(refused(&format!(
                "it is no file, or has more than {MOST_BYTES} bytes"
            )));
        }
        let mut bytes = Vec::new();
        let read =
            File::open(&place).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
        read.map(|_| bytes).map_err(|error| refused(&error))
    }

    /// Reads a document, which must have this digest.
    pub(super) fn document(&self, path: &str, sha256: &Sha256) -> Result<String, Failure> {
        let bytes = self.read(path)?;
        if Sha256::of(&bytes) != *sha256 {
            return Err(Failure::refused(format!("{path} is damaged in the copy")));
        }
        String::from_utf8(bytes).map_err(|error| Failure::refused(format!("{path}: {error}")))
    }

    /// The entries of the audit log, in their order.
    fn entries(&self, sums: &Sums) -> Result<Vec<String>, Failure> {
        let is_entry = |path: &&String| fact_at(path).is_some_and(|key| Log::has(&key));
        let entries = sums.iter().filter(|(path, _)| is_entry(path));
        entries
            .map(|(path, sha256)| self.document(path, sha256))
            .collect()
    }

    /// The audit log, read to its end.
    pub(super) fn log(&self, sums: &Sums) -> Result<Log, Failure> {
        let mut log = Log::default();
        for entry in self.entries(sums)? {
            log.add(&entry);
        }
        Ok(log)
    }

    /// The digest and length of a file, if it is there.
    pub(super) fn hash(&self, path: &str) -> Option<(Sha256, u64)> {
        let mut file = File::open(self.place(path).ok()?).ok()?;
        hash(&mut file).ok()
    }

    /// The length of a file, if it is there.
    pub(super) fn size(&self, path: &str) -> Option<u64> {
        let metadata = fs::metadata(self.place(path).ok()?).ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    /// Where a file is. A path that leads out of the copy is refused.
    pub(super) fn place(&self, path: &str) -> Result<PathBuf, Failure> {
        let is_plain =
            |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains(['\\', '\0']);
        if path.split('/').all(is_plain) {
            return Ok(path
                .split('/')
                .fold(self.root.clone(), |place, it| place.join(it)));
        }
        Err(Failure::refused(format!("{path:?} is no path in a copy")))
    }
}

/// Where a file waits for others.
fn staged(path: &str) -> String {
    format!("{STAGING}/{path}")
}

fn read_line(line: &str) -> Option<(String, Sha256)> {
    let (sha256, path) = line.split_once("  ")?;
    Some((path.to_owned(), sha256.parse().ok()?))
}

/// Where a document is.
pub(super) fn path_of_fact(key: &str) -> String {
    let mut path = FACTS.to_owned();
    let mut length = 0;
    for byte in key.bytes() {
        let part = match byte {
            b'/' => {
                length = 0;
                path.push('/');
                continue;
            }
            byte if byte.is_ascii_alphanumeric() || b"._+-".contains(&byte) => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        };
        if length + part.len() > SEGMENT_BYTES {
            path.push_str("%/");
            length = 0;
        }
        length += part.len();
        path.push_str(&part);
    }
    path.push_str(JSON);
    path
}

/// The key of a document by its path, if it is one's.
pub(super) fn fact_at(path: &str) -> Option<String> {
    let name = path.strip_prefix(FACTS)?.strip_suffix(JSON)?;
    let mut key = Vec::new();
    let name = name.replace("%/", "");
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        key.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    let key = String::from_utf8(key).ok()?;
    (path_of_fact(&key) == path).then_some(key)
}

pub(super) fn local(place: &Path, error: &io::Error) -> Failure {
    Failure::Local(format!("{}: {error}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_path_and_a_path_is_a_key() {
        for (key, path) in [
            (
                "releases/providers/hosted/acme/widget/1.0.0-RC.1+b",
                "facts/releases/providers/hosted/acme/widget/1.0.0-RC.1+b.json",
            ),
            (
                "oci/tags/team/app:Latest",
                "facts/oci/tags/team/app%3ALatest.json",
            ),
        ] {
            assert_eq!(path_of_fact(key), path);
            assert_eq!(fact_at(path).as_deref(), Some(key));
        }
        let long = format!(
            "oci/links/team/{}:sha512:{}",
            "a".repeat(190),
            "b".repeat(128)
        );
        let path = path_of_fact(&long);
        assert!(path.split('/').all(|segment| segment.len() < 230), "{path}");
        assert_eq!(fact_at(&path), Some(long));
        for path in [
            "facts/a",
            "a.json",
            "facts/%zz.json",
            "facts/%3a.json",
            "facts/a%41.json",
            "facts/a%/b.json",
        ] {
            assert_eq!(fact_at(path), None, "{path}");
        }
    }

    #[test]
    fn a_path_stays_in_the_copy() {
        let root = tempfile::tempdir().unwrap();
        let copy = Backup::create(root.path(), "https://a.test").unwrap();
        for path in ["../x", "facts/../../x", "/x", "a//b", "a\\b", ""] {
            assert!(copy.place(path).is_err(), "{path}");
        }
    }

    const KEYS: &str = "facts/keys/acme.json";

    /// A copy of one document.
    fn copied(root: &Path, document: &[u8]) -> (Backup, Sums) {
        let copy = Backup::create(root, "https://a.test").unwrap();
        let mut summary = Summary::new("https://a.test");
        summary.documents = 1;
        copy.begin_with(&summary).unwrap();
        copy.stage(KEYS, document).unwrap();
        let sums = Sums::from([(KEYS.to_owned(), Sha256::of(document))]);
        copy.finish(summary, &sums).unwrap();
        (copy, sums)
    }

    #[test]
    fn a_copy_is_whole_when_it_says_so() {
        let root = tempfile::tempdir().unwrap();
        let copy = Backup::create(root.path(), "https://a.test").unwrap();
        copy.begin_with(&Summary::new("https://a.test")).unwrap();
        assert!(Backup::open(root.path()).is_err());
        let (copy, sums) = (copy, copied(root.path(), b"{}").1);
        let (_, _, read) = Backup::open(root.path()).unwrap();
        assert_eq!(read, sums);
        assert!(!root.path().join(STAGING).exists());
        copy.write(SUMS, b"").unwrap();
        assert!(Backup::open(root.path()).is_err());
        assert!(Backup::create(root.path(), "https://b.test").is_err());
        Backup::create(root.path(), "https://a.test").unwrap();
    }

    #[test]
    fn an_older_copy_is_as_good_as_it_was_until_the_new_one_is_whole() {
        let root = tempfile::tempdir().unwrap();
        let (_, sums) = copied(root.path(), b"old");
        let copy = Backup::create(root.path(), "https://a.test").unwrap();
        copy.begin_with(&Summary::new("https://a.test")).unwrap();
        copy.stage(KEYS, b"new").unwrap();
        let (copy, _, read) = Backup::open(root.path()).unwrap();
        assert_eq!(read, sums);
        assert_eq!(copy.document(KEYS, &Sha256::of(b"old")).unwrap(), "old");
        // What broke off is begun anew.
        Backup::create(root.path(), "https://a.test").unwrap();
        assert!(!root.path().join(STAGING).exists());
    }

    #[test]
    fn a_copy_that_was_stopped_while_it_took_its_place_is_whole() {
        for moved in [&[][..], &[KEYS], &[KEYS, SUMS]] {
            let root = tempfile::tempdir().unwrap();
            copied(root.path(), b"old");
            let newer = tempfile::tempdir().unwrap();
            let (_, sums) = copied(newer.path(), b"new");
            for path in [KEYS, SUMS, SUMMARY] {
                let to = if moved.contains(&path) {
                    path.to_owned()
                } else {
                    staged(path)
                };
                let to = root.path().join(to);
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::copy(newer.path().join(path), to).unwrap();
            }
            let (copy, _, read) = Backup::open(root.path()).unwrap();
            assert_eq!(read, sums, "{moved:?}");
            assert_eq!(copy.document(KEYS, &sums[KEYS]).unwrap(), "new");
            assert!(!root.path().join(STAGING).exists());
        }
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let (copy, _) = copied(root.path(), b"{}");
        fs::create_dir(root.path().join("facts/odd.json")).unwrap();
        assert!(copy.read("facts/odd.json").is_err());
    }

    #[test]
    fn a_directory_of_something_else_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("thesis.txt"), "").unwrap();
        assert!(Backup::create(root.path(), "https://a.test").is_err());
    }
}
