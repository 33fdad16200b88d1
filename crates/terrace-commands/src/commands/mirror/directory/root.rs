//! A directory with protection against links that lead out of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directory, as given and with all links resolved.
#[derive(Debug)]
pub(super) struct Root {
    given: PathBuf,
    real: PathBuf,
}

/// An entry of a directory.
#[derive(Debug)]
pub(super) struct Child {
    /// The file name, with replacement characters for bytes that are not UTF-8; no name of a mirror has one.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) kind: ChildKind,
}

/// The kind of a directory entry, after all links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildKind {
    Directory,
    /// A link to a file or directory outside of the root.
    Outside,
    /// A file, a broken link or a device.
    Other,
}

impl Root {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let refused = |error: io::Error| {
            format!(
                "{}: {error}. Specify the directory that terraform providers mirror wrote",
                path.display()
            )
        };
        fs::read_dir(path).map_err(refused)?;
        Ok(Self {
            given: path.to_owned(),
            real: fs::canonicalize(path).map_err(refused)?,
        })
    }

    /// Returns the entries of a directory below the root, sorted by name.
    pub(super) fn children(&self, directory: &Path) -> Result<Vec<Child>, String> {
        let refused = |error: io::Error| format!("{}: {error}", directory.display());
        let mut children = Vec::new();
        for entry in fs::read_dir(directory).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            let path = entry.path();
            children.push(Child {
                name: entry.file_name().to_string_lossy().into_owned(),
                kind: self.kind(&path),
                path,
            });
        }
        children.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(children)
    }

    fn kind(&self, path: &Path) -> ChildKind {
        match fs::canonicalize(path) {
            Ok(real) if !real.starts_with(&self.real) => ChildKind::Outside,
            Ok(real) if real.is_dir() => ChildKind::Directory,
            _ => ChildKind::Other,
        }
    }

    /// Checks that a path leads to a file below the root.
    pub(super) fn check_file(&self, path: &Path) -> Result<(), String> {
        let real = fs::canonicalize(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("{} does not exist", path.display()),
            _ => format!("{}: {error}", path.display()),
        })?;
        if !real.starts_with(&self.real) {
            Err(self.leaves(path))
        } else if real.is_file() {
            Ok(())
        } else {
            Err(format!("{} is not a file", path.display()))
        }
    }

    /// Describes a link that leads out of the root.
    pub(super) fn leaves(&self, path: &Path) -> String {
        let (path, given) = (path.display(), self.given.display());
        format!("{path} is a link that leads out of {given}: replace it by its target")
    }
}
