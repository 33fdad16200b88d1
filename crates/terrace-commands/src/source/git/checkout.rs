//! Directories of a commit, written to disk with the ignore files above them.
//!
//! Trees of a strange repository may have names that lead out of the directory, or the same name twice: nothing is ever
//! written over something, or through a link.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Entry, EntryKind, Objects};
use crate::archive::pack::{Extent, below, joined};
use crate::source::local_paths::{Place, directory_of, resolve};

/// The names of files that exclude others from a package.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".terraformignore"];

/// Maximum number of files and directories, as when a directory is packed.
pub(super) const MOST_ENTRIES: usize = 25_000;

/// Maximum number of bytes of all files: no registry accepts such a module.
pub(super) const TOTAL_BYTES: usize = 1024 * 1024 * 1024;

/// The start of a file that stands for a large one in another store.
pub(super) const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";

/// Directories of a commit on disk. They are removed with the value.
pub(crate) struct Checkout {
    /// The directory that stands for the top of the repository.
    top: TempDir,
    /// The directory of the package.
    pub(crate) directory: PathBuf,
}

/// The state of writing.
struct Writer<'o> {
    objects: &'o Objects,
    entries: usize,
    bytes: usize,
    /// Links, which are written last.
    links: Vec<Link>,
}

/// A symbolic link to write.
struct Link {
    path: PathBuf,
    /// The path in the repository.
    name: String,
    target: Vec<u8>,
}

impl Checkout {
    /// Writes the parts of the directory `package` of a tree, and the targets of links that are elsewhere in that directory.
    ///
    /// # Errors
    /// A file cannot be read, is not part of the repository, or cannot be written.
    pub(crate) fn write(
        objects: &Objects,
        tree: &str,
        package: &str,
        extent: &Extent,
    ) -> Result<Self, String> {
        let top = tempfile::tempdir();
        let top = top.map_err(|error| format!("{}: {error}", std::env::temp_dir().display()))?;
        let mut writer = Writer {
            objects,
            entries: 0,
            bytes: 0,
            links: Vec::new(),
        };
        // The ignore files of a repository count up to its top, which this directory shows.
        writer.create_directory(&top.path().join(".git"), ".git")?;
        let directories = extent.directories();
        let extent = Extent::of(directories.map(|part| joined(package, part)));
        writer.parts(top.path(), tree, "", &extent)?;
        writer.targets(top.path(), tree, package, &extent)?;
        for Link { path, name, target } in &writer.links {
            link(path, target).map_err(|error| format!("{name}: {error}"))?;
        }
        let directory = top.path().join(package);
        Ok(Self { top, directory })
    }

    /// Returns a message about files on disk as one about the files of the repository.
    pub(crate) fn in_repository(&self, message: &str) -> String {
        let real = fs::canonicalize(self.top.path()).unwrap_or_default();
        let places = [real.as_path(), self.top.path()];
        places.iter().fold(message.to_owned(), |message, place| {
            let place = place.display().to_string();
            message
                .replace(&format!("{place}/"), "")
                .replace(&place, ".")
        })
    }
}

impl Writer<'_> {
    /// Writes the parts of a directory, and the ignore files above them.
    fn parts(
        &mut self,
        place: &Path,
        tree: &str,
        path: &str,
        extent: &Extent,
    ) -> Result<(), String> {
        if extent.has(path) {
            return self.directory(place, tree, path);
        }
        self.ignore_files(place, tree)?;
        for entry in self.objects.tree(tree)?.iter() {
            let name = joined(path, &entry.name);
            if entry.kind == EntryKind::Directory && extent.is_below(&name) {
                let place = place.join(checked(&entry.name, &name)?);
                self.create_directory(&place, &name)?;
                self.parts(&place, &entry.id, &name, extent)?;
            }
        }
        Ok(())
    }

    /// Writes the files and directories that links lead to, as in a working tree, from which they would be packed in place
    /// of the links. The links themselves are not written yet, so nothing is written through one.
    fn targets(
        &mut self,
        top: &Path,
        tree: &str,
        package: &str,
        extent: &Extent,
    ) -> Result<(), String> {
        let mut written: Vec<String> = extent.directories().map(str::to_owned).collect();
        let mut next = 0;
        while let Some(Link { name, target, .. }) = self.links.get(next) {
            next += 1;
            let target = String::from_utf8_lossy(target);
            let path = match resolve(directory_of(name), &target) {
                Place::Inside(path) if !target.starts_with('/') => path,
                _ => continue,
            };
            let is_git = path
                .split('/')
                .any(|part| part.eq_ignore_ascii_case(".git"));
            if is_git
                || below(&path, package).is_none()
                || written.iter().any(|it| below(&path, it).is_some())
            {
                continue;
            }
            let Some(entry) = self.objects.entry(tree, &path)? else {
                continue;
            };
            let mut place = top.to_owned();
            for part in path.split('/') {
                place.push(checked(part, &path)?);
            }
            if place.exists() {
                return Err(format!(
                    "{name}: this link leads to {path}, of which only a part is packed: replace the link by the files"
                ));
            }
            fs::create_dir_all(place.parent().unwrap_or(top))
                .map_err(|error| format!("{path}: {error}"))?;
            match entry.kind {
                EntryKind::Directory => {
                    self.create_directory(&place, &path)?;
                    self.directory(&place, &entry.id, &path)?;
                }
                EntryKind::File | EntryKind::Executable => self.file(&place, &entry, &path)?,
                EntryKind::Link | EntryKind::Submodule => {}
            }
            written.push(path);
        }
        Ok(())
    }

    fn directory(&mut self, place: &Path, tree: &str, path: &str) -> Result<(), String> {
        for entry in self.objects.tree(tree)?.iter() {
            let name = joined(path, &entry.name);
            // Never packed, and git itself does not write it.
            if entry.name.eq_ignore_ascii_case(".git") {
                continue;
            }
            let place = place.join(checked(&entry.name, &name)?);
            self.count(0)?;
            match entry.kind {
                EntryKind::Directory => {
                    self.create_directory(&place, &name)?;
                    self.directory(&place, &entry.id, &name)?;
                }
                EntryKind::File | EntryKind::Executable => self.file(&place, entry, &name)?,
                EntryKind::Link => {
                    let target = self.objects.blob(&entry.id)?;
                    self.links.push(Link {
                        path: place,
                        name,
                        target,
                    });
                }
                EntryKind::Submodule => {
                    return Err(format!(
                        "{name} is a submodule of git, whose files are not part of the repository: publish it as a \
                         module of its own, or copy its files into the repository"
                    ));
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, entry: &Entry, name: &str) -> Result<(), String> {
        let contents = self.objects.blob(&entry.id)?;
        self.count(contents.len())?;
        if contents.starts_with(LFS_POINTER) {
            return Err(format!(
                "{name} is stored by Git LFS, and the repository only has a pointer to it: publish from a working tree \
                 with --version"
            ));
        }
        let failed = |error| format!("{name}: {error}");
        let mut file = File::create_new(path).map_err(failed)?;
        file.write_all(&contents).map_err(failed)?;
        if entry.kind == EntryKind::Executable {
            make_executable(&file).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes the ignore files of a directory above the package.
    fn ignore_files(&mut self, place: &Path, tree: &str) -> Result<(), String> {
        for entry in self.objects.tree(tree)?.iter() {
            let is_file = matches!(entry.kind, EntryKind::File | EntryKind::Executable);
            if is_file && IGNORE_FILES.contains(&entry.name.as_str()) {
                self.file(&place.join(&entry.name), entry, &entry.name)?;
            }
        }
        Ok(())
    }

    fn create_directory(&self, path: &Path, name: &str) -> Result<(), String> {
        fs::create_dir(path).map_err(|error| format!("{name}: {error}"))
    }

    fn count(&mut self, bytes: usize) -> Result<(), String> {
        self.entries += 1;
        self.bytes += bytes;
        match self.entries > 2 * MOST_ENTRIES || self.bytes > TOTAL_BYTES {
            true => Err(format!(
                "the package has more than {MOST_ENTRIES} files and directories, or {} MiB: it is no module",
                TOTAL_BYTES >> 20
            )),
            false => Ok(()),
        }
    }
}

/// Returns a name that stays in its directory on every system.
pub(super) fn checked<'n>(name: &'n str, place: &str) -> Result<&'n str, String> {
    let leads_away = matches!(name, "" | "." | "..") || name.contains(['/', '\\', '\0', ':']);
    match leads_away {
        true => Err(format!("{place:?} has a name that leads to another place")),
        false => Ok(name),
    }
}

#[cfg(unix)]
fn link(path: &Path, target: &[u8]) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(target), path)
}

/// Links need a privilege on other systems.
#[cfg(not(unix))]
fn link(_: &Path, _: &[u8]) -> std::io::Result<()> {
    Err(std::io::Error::other(
        "the repository has symbolic links here: replace them by their targets",
    ))
}

#[cfg(unix)]
fn make_executable(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_to_another_place_is_refused() {
        for name in ["", ".", "..", "a/b", "..\\b", "c:d"] {
            assert!(checked(name, name).is_err(), "{name:?}");
        }
        assert!(checked("main.tf", "main.tf").is_ok());
    }
}
