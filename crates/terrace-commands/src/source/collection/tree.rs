//! A directory tree that modules are found in: that of a commit, or one on disk.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use crate::archive::pack::joined;
use crate::source::documentation::is_configuration;
use crate::source::git::{Entry, EntryKind, Objects};

/// The largest configuration file that is read.
const FILE_BYTES: u64 = 1024 * 1024;

/// A directory tree. Paths have `/` between their parts; the top is the empty path.
pub(crate) trait Tree {
    /// Returns the names in a directory, and whether each is a directory itself; nothing if the directory does not exist.
    fn names(&self, directory: &str) -> Result<Vec<(String, bool)>, String>;

    /// Returns the contents of a file, unless it is too large for a configuration file.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;

    /// Returns whether a directory has configuration files itself.
    fn has_configuration(&self, directory: &str) -> Result<bool, String> {
        let names = self.names(directory)?;
        Ok(names
            .iter()
            .any(|(name, is_directory)| !is_directory && is_configuration(name)))
    }

    /// Returns the configuration files of a directory with their contents.
    fn configuration(&self, directory: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut files = Vec::new();
        for (name, is_directory) in self.names(directory)? {
            if !is_directory && is_configuration(&name) {
                let path = joined(directory, &name);
                let contents = self.read(&path)?;
                files.push((path, contents));
            }
        }
        Ok(files)
    }
}

/// The tree of a commit.
pub(crate) struct CommitTree<'o> {
    objects: &'o Objects,
    /// The ID of the tree.
    pub(crate) id: String,
}

impl<'o> CommitTree<'o> {
    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn at(objects: &'o Objects, commit: &str) -> Result<Self, String> {
        let id = objects.tree_of(commit)?;
        Ok(Self { objects, id })
    }

    /// Returns the entries of a directory; none if the directory does not exist.
    fn entries(&self, directory: &str) -> Result<Rc<Vec<Entry>>, String> {
        let id = match directory {
            "" => self.id.clone(),
            path => match self.objects.entry(&self.id, path)? {
                Some(entry) if entry.kind == EntryKind::Directory => entry.id,
                _ => return Ok(Rc::default()),
            },
        };
        self.objects.tree(&id)
    }
}

impl Tree for CommitTree<'_> {
    /// Copies no names: a repository has thousands of tags, each with hundreds of directories.
    fn has_configuration(&self, directory: &str) -> Result<bool, String> {
        let entries = self.entries(directory)?;
        let is_file =
            |entry: &&Entry| !matches!(entry.kind, EntryKind::Directory | EntryKind::Submodule);
        let mut files = entries.iter().filter(is_file);
        Ok(files.any(|entry| is_configuration(&entry.name)))
    }

    fn names(&self, directory: &str) -> Result<Vec<(String, bool)>, String> {
        let tree = self.entries(directory)?;
        let names = tree
            .iter()
            .filter(|entry| entry.kind != EntryKind::Submodule);
        Ok(names
            .map(|entry| (entry.name.clone(), entry.kind == EntryKind::Directory))
            .collect())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        match self.objects.entry(&self.id, path)? {
            Some(entry) if matches!(entry.kind, EntryKind::File | EntryKind::Executable) => {
                self.objects.blob(&entry.id)
            }
            // The target of a link is found by its own path.
            _ => Ok(Vec::new()),
        }
    }
}

/// A tree on disk.
pub(crate) struct DiskTree<'p> {
    pub(crate) top: &'p Path,
}

impl Tree for DiskTree<'_> {
    fn names(&self, directory: &str) -> Result<Vec<(String, bool)>, String> {
        let Ok(entries) = fs::read_dir(self.top.join(directory)) else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            if let Ok(name) = entry.file_name().into_string() {
                // A link to a directory may lead to one above, so it is none here.
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                names.push((name, is_directory));
            }
        }
        names.sort();
        Ok(names)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let path = self.top.join(path);
        let is_small = fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= FILE_BYTES);
        match is_small {
            true => fs::read(&path).map_err(|error| format!("{}: {error}", path.display())),
            false => Ok(Vec::new()),
        }
    }
}
