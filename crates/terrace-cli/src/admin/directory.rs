//! A copy of a registry as a directory.
//!
//! ```text
//! export.json                          what it is, and the digest of SHA256SUMS, once it is whole
//! SHA256SUMS                           every file of it, as sha256sum writes and checks it
//! facts/{key}.json                     a document, byte for byte; what is no letter, digit or . _ + - /
//!                                      stands there as %3A and the like
//! archives/{sha256}.{extension}        what is published
//! oci/blobs/{algorithm}/{digits}       what is pushed
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use terrace_core::digest::Sha256;

use super::stored::Log;
use crate::archive::hash;
use crate::error::Failure;

/// The format that is written here.
const FORMAT: &str = "terrace export 1";

const SUMMARY: &str = "export.json";
const SUMS: &str = "SHA256SUMS";
const FACTS: &str = "facts/";
const JSON: &str = ".json";

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
            format: FORMAT.to_owned(),
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
            let of = copy.summary()?.registry;
            if of != registry {
                let told = format!(
                    "{} is a copy of {of}, and not of {registry}",
                    root.display()
                );
                return Err(Failure::refused(told));
            }
        }
        Ok(copy)
    }

    /// A whole copy, with the digests of all of its files.
    pub(super) fn open(root: &Path) -> Result<(Self, Summary, Sums), Failure> {
        let copy = Self {
            root: root.to_owned(),
        };
        let summary = copy.summary()?;
        let bytes = copy.read(SUMS)?;
        if summary.sha256sums != Some(Sha256::of(&bytes)) {
            return Err(Failure::refused(format!(
                "{}: the copy is not whole: run `terrace admin export` again",
                root.display()
            )));
        }
        let text = String::from_utf8(bytes).unwrap_or_default();
        let sums: Option<Sums> = text.lines().map(read_line).collect();
        let sums = sums.ok_or_else(|| Failure::refused(format!("{SUMS} cannot be read")))?;
        Ok((copy, summary, sums))
    }

    /// The audit log of a whole copy, entry by entry.
    pub(crate) fn open_log(root: &Path) -> Result<Vec<String>, Failure> {
        let (copy, _, sums) = Self::open(root)?;
        copy.entries(&sums)
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
        match summary.format == FORMAT {
            true => Ok(summary),
            false => Err(refused(&format!(
                "its format is {:?}, and {FORMAT:?} is known",
                summary.format
            ))),
        }
    }

    pub(super) fn write_summary(&self, summary: &Summary) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(summary).unwrap_or_default();
        self.write(SUMMARY, format!("{text}\n").as_bytes())
    }

    /// Writes what makes it whole.
    pub(super) fn finish(&self, mut summary: Summary, sums: &Sums) -> Result<(), Failure> {
        let lines = sums
            .iter()
            .map(|(path, sha256)| format!("{sha256}  {path}\n"));
        let text: String = lines.collect();
        self.write(SUMS, text.as_bytes())?;
        summary.sha256sums = Some(Sha256::of(text.as_bytes()));
        self.write_summary(&summary)
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
        let mut bytes = Vec::new();
        let read = File::open(&place).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map(|_| bytes)
            .map_err(|error| Failure::refused(format!("{}: {error}", place.display())))
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

fn read_line(line: &str) -> Option<(String, Sha256)> {
    let (sha256, path) = line.split_once("  ")?;
    Some((path.to_owned(), sha256.parse().ok()?))
}

/// Where a document is.
pub(super) fn path_of_fact(key: &str) -> String {
    let mut path = FACTS.to_owned();
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"._+-/".contains(&byte) {
            path.push(byte.into());
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path.push_str(JSON);
    path
}

/// The key of a document by its path, if it is one's.
pub(super) fn fact_at(path: &str) -> Option<String> {
    let name = path.strip_prefix(FACTS)?.strip_suffix(JSON)?;
    let mut key = Vec::new();
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
        for path in [
            "facts/a",
            "a.json",
            "facts/%zz.json",
            "facts/%3a.json",
            "facts/a%41.json",
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

    #[test]
    fn a_copy_is_whole_when_it_says_so() {
        let root = tempfile::tempdir().unwrap();
        let copy = Backup::create(root.path(), "https://a.test").unwrap();
        let summary = Summary::new("https://a.test");
        copy.write_summary(&summary).unwrap();
        assert!(Backup::open(root.path()).is_err());
        copy.write("facts/keys/acme.json", b"{}").unwrap();
        let sums = Sums::from([("facts/keys/acme.json".to_owned(), Sha256::of(b"{}"))]);
        copy.finish(summary, &sums).unwrap();
        let (_, _, read) = Backup::open(root.path()).unwrap();
        assert_eq!(read, sums);
        copy.write(SUMS, b"").unwrap();
        assert!(Backup::open(root.path()).is_err());
        assert!(Backup::create(root.path(), "https://b.test").is_err());
        Backup::create(root.path(), "https://a.test").unwrap();
    }

    #[test]
    fn a_directory_of_something_else_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("thesis.txt"), "").unwrap();
        assert!(Backup::create(root.path(), "https://a.test").is_err());
    }
}
