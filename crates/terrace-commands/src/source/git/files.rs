//! The files of a commit, read from its objects: packed as a client's clone has them, or written to disk, to be packed without
//! those that ignore files exclude.
//!
//! A link becomes what it leads to, because clients unpack links badly or not at all. Trees of a strange repository may have
//! names that lead out of a directory, or the same name twice: nothing is ever written over something else, and no link is.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use tempfile::TempDir;
use terrace_archive::limits::DEPTH;

use super::{Entry, EntryKind, Objects, temporary};
use crate::archive::pack::{Extent, IGNORE_FILES, ZipWriter, below, is_left_out, joined};
use crate::source::local_paths::{Place, directory_of, resolve};

/// The most files and directories of a package, of which ignore files may exclude a part.
const MOST_ENTRIES: usize = 50_000;

/// The most bytes of all files: no registry accepts such a module.
const TOTAL_BYTES: usize = 1024 * 1024 * 1024;

/// The most links that lead to each other.
const MOST_LINKS: usize = 8;

/// The start of a file that stands for a large one in another store.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";

/// A packed commit.
pub(crate) struct PackedCommit {
    /// The archive, in a temporary file.
    pub(crate) zip: File,
    /// The paths of which the archive lacks what a clone has.
    pub(crate) absent: Vec<Absent>,
}

/// A path of which a package lacks what a clone has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Absent {
    pub(crate) path: String,
    pub(crate) why: &'static str,
}

/// The reason for files that are part of another repository.
const SUBMODULE: &str = "is a submodule of git, whose files are in another repository";

/// The reason for a file that Git LFS has elsewhere.
const LFS: &str = "is stored by Git LFS, and the repository has only a pointer to it";

/// The reason for a link without a file in the package.
const LINK: &str = "is a link that leads out of the package, in a circle, or nowhere";

/// Packs the tree of a commit. No ignore file and no attribute counts, and nothing is left out for what it contains.
///
/// # Errors
/// An object cannot be read, or there are too many or too large ones.
pub(crate) fn pack_tree(objects: &Objects, tree: &str) -> Result<PackedCommit, String> {
    let whole = Extent::whole();
    let mut found = Found::walk(objects, tree, &whole, &|_| true)?;
    let failed = |error: io::Error| format!("packing: {error}");
    let zip = tempfile::tempfile().map_err(failed)?;
    let mut zip = ZipWriter::new(BufWriter::new(zip));
    found.each(|path, is_executable, mut contents| {
        zip.add(path, is_executable, &mut contents).map_err(failed)
    })?;
    let zip = zip.finish().map_err(failed)?.into_inner();
    Ok(PackedCommit {
        zip: zip.map_err(|error| failed(error.into_error()))?,
        absent: found.absent,
    })
}

/// Writes the parts of the directory `package` of a tree below a directory that stands for the top of the repository, with
/// the ignore files above them.
///
/// # Errors
/// A file cannot be read, is not part of the package, or cannot be written.
pub(crate) fn check_out(
    objects: &Objects,
    tree: &str,
    package: &str,
    extent: &Extent,
) -> Result<TempDir, String> {
    let parts = extent.directories().map(|part| joined(package, part));
    let parts = Extent::of(parts);
    let is_packed =
        |path: &str| below(path, package).is_some() && !path.split('/').any(is_left_out);
    let mut found = Found::walk(objects, tree, &parts, &is_packed)?;
    let top = temporary()?;
    // The ignore files of a repository count up to its top, which this directory shows.
    fs::create_dir(top.path().join(".git")).map_err(|error| format!(".git: {error}"))?;
    found.each(|path, is_executable, contents| {
        let written = write(&top.path().join(path), is_executable, contents);
        written.map_err(|error| format!("{path}: {error}"))
    })?;
    match found.absent.first() {
        None => Ok(top),
        Some(Absent { path, why }) => Err(format!(
            "{path} {why}: put the files themselves in its place, or publish a working tree that has them, with --version"
        )),
    }
}

fn write(path: &Path, is_executable: bool, contents: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut file = File::create_new(path)?;
    file.write_all(contents)?;
    match is_executable {
        true => make_executable(&file),
        false => Ok(()),
    }
}

#[cfg(unix)]
fn make_executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &File) -> io::Result<()> {
    Ok(())
}

/// The files of a part of a tree by their paths.
struct Found<'o> {
    objects: &'o Objects,
    top: &'o str,
    extent: &'o Extent,
    /// Whether a link may lead to a path.
    may_lead_to: &'o dyn Fn(&str) -> bool,
    files: BTreeMap<String, Entry>,
    absent: Vec<Absent>,
    entries: usize,
}

impl<'o> Found<'o> {
    fn walk(
        objects: &'o Objects,
        top: &'o str,
        extent: &'o Extent,
        may_lead_to: &'o dyn Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let mut found = Self {
            objects,
            top,
            extent,
            may_lead_to,
            files: BTreeMap::new(),
            absent: Vec::new(),
            entries: 0,
        };
        found.directory(top, "", "", 0)?;
        Ok(found)
    }

    /// Passes each file to `take`: its path, whether it is executable, and its contents.
    fn each(
        &mut self,
        mut take: impl FnMut(&str, bool, &[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut total = 0;
        for (path, entry) in &self.files {
            let contents = self.objects.blob(&entry.id)?;
            total += contents.len();
            if total > TOTAL_BYTES {
                return Err(format!(
                    "the package has more than {} MiB of files: it is no module",
                    TOTAL_BYTES >> 20
                ));
            }
            if contents.starts_with(LFS_POINTER) {
                let (path, why) = (path.clone(), LFS);
                self.absent.push(Absent { path, why });
            }
            take(path, entry.kind == EntryKind::Executable, &contents)?;
        }
        Ok(())
    }

    /// Adds the files of the directory `real` under a path, to which `links` links have led.
    fn directory(
        &mut self,
        tree: &str,
        path: &str,
        real: &str,
        links: usize,
    ) -> Result<(), String> {
        for entry in self.objects.tree(tree)?.iter() {
            let name = joined(path, &entry.name);
            let leads_to_part = match entry.kind {
                EntryKind::Directory => self.extent.is_below(&name),
                EntryKind::File => IGNORE_FILES.contains(&entry.name.as_str()),
                _ => false,
            };
            // Git itself does not write `.git`.
            let is_git = entry.name.eq_ignore_ascii_case(".git");
            if is_git || !(leads_to_part || self.extent.has(&name)) {
                continue;
            }
            check_name(&entry.name, &name)?;
            if name.matches('/').count() > DEPTH {
                return Err(format!(
                    "the repository has directories nested more than {DEPTH} deep: it is no module"
                ));
            }
            self.entry(entry, name, &joined(real, &entry.name), links)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        entry: &Entry,
        path: String,
        real: &str,
        links: usize,
    ) -> Result<(), String> {
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(format!(
                "the package has more than {MOST_ENTRIES} files and directories, where the target of a link counts once \
                 for each link: it is no module"
            ));
        }
        let why = match entry.kind {
            EntryKind::Directory => return self.directory(&entry.id, &path, real, links),
            EntryKind::File | EntryKind::Executable => {
                return match self.files.insert(path, entry.clone()) {
                    None => Ok(()),
                    Some(_) => Err(format!("{real}: the repository has this name twice")),
                };
            }
            EntryKind::Submodule => SUBMODULE,
            EntryKind::Link => match self.target(entry, real)? {
                Some((target, real)) if links < MOST_LINKS => {
                    return self.entry(&target, path, &real, links + 1);
                }
                _ => LINK,
            },
        };
        self.absent.push(Absent { path, why });
        Ok(())
    }

    /// Returns the entry that a link leads to, and its path, unless the link is in it.
    fn target(&self, link: &Entry, path: &str) -> Result<Option<(Entry, String)>, String> {
        let target = self.objects.blob(&link.id)?;
        let target = String::from_utf8_lossy(&target);
        let place = match resolve(directory_of(path), &target) {
            Place::Inside(place) if !target.starts_with('/') => place,
            _ => return Ok(None),
        };
        if below(path, &place).is_some() || !(self.may_lead_to)(&place) {
            return Ok(None);
        }
        let entry = self.objects.entry(self.top, &place)?;
        Ok(entry.map(|entry| (entry, place)))
    }
}

/// Checks that a name stays in its directory on every system.
fn check_name(name: &str, path: &str) -> Result<(), String> {
    let leads_away = matches!(name, "" | "." | "..") || name.contains(['/', '\\', '\0', ':']);
    match leads_away {
        true => Err(format!("{path:?} has a name that leads to another place")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::source::git::{Repository, git_at, git_in as git};

    #[test]
    fn a_name_that_leads_to_another_place_is_refused() {
        for name in ["", ".", "..", "a/b", "..\\b", "c:d"] {
            check_name(name, name).unwrap_err();
        }
        check_name("main.tf", "main.tf").unwrap();
    }

    #[test]
    fn a_tree_that_is_nested_too_deeply_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path();
        git(top, &["init", "--quiet"]);
        let stream = top.join("stream");
        let deep = "a/".repeat(3_000);
        let commit = format!(
            "commit HEAD\ncommitter a <a@b.example> 0 +0000\ndata 0\nM 644 inline {deep}f\ndata 0\n\n"
        );
        std::fs::write(&stream, commit).unwrap();
        let mut import = git_at(top);
        import.args(["fast-import", "--quiet"]);
        let stream = File::open(stream).unwrap();
        assert!(import.stdin(stream).status().unwrap().success());
        let objects = Repository::at(top).unwrap().objects().unwrap();
        let tree = objects.tree_of("HEAD").unwrap();
        let error = pack_tree(&objects, &tree).err().unwrap();
        assert!(error.contains("nested more than 64 deep"), "{error}");
    }

    #[test]
    fn a_package_has_every_file_of_a_clone_and_the_targets_of_its_links() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path();
        git(top, &["init", "--quiet"]);
        let pointer = "version https://git-lfs.github.com/spec/v1\n";
        for (path, text) in [
            ("main.tf", "# main"),
            ("secret.tfvars", "a = 1"),
            (".terraform/kept", ""),
            (".gitignore", "*.tfvars\n.terraform\n"),
            (
                ".gitattributes",
                "tests export-ignore\nmain.tf ident eol=crlf\n",
            ),
            ("tests/a.tf", ""),
            ("shared/deep/a.txt", "deep"),
            ("shared/b.txt", "b"),
            ("image.bin", pointer),
        ] {
            let path = top.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        symlink("../shared/deep", top.join("tests/deep")).unwrap();
        symlink("../b.txt", top.join("shared/deep/b")).unwrap();
        symlink("..", top.join("tests/circle")).unwrap();
        symlink("/etc/passwd", top.join("outside")).unwrap();
        git(top, &["add", "--force", "."]);
        let id = "160000,".to_owned() + &"a".repeat(40) + ",sub";
        git(top, &["update-index", "--add", "--cacheinfo", &id]);
        git(top, &["commit", "--quiet", "-m", "all"]);
        let objects = Repository::at(top).unwrap().objects().unwrap();
        let tree = objects.tree_of("HEAD").unwrap();
        let packed = pack_tree(&objects, &tree).unwrap();
        let mut zip = zip::ZipArchive::new(packed.zip).unwrap();
        let names: BTreeSet<String> = zip
            .file_names()
            .map(|it| it.unwrap().into_owned())
            .collect();
        let expected = [
            ".gitattributes",
            ".gitignore",
            ".terraform/kept",
            "image.bin",
            "main.tf",
            "secret.tfvars",
            "shared/b.txt",
            "shared/deep/a.txt",
            "shared/deep/b",
            "tests/a.tf",
            "tests/deep/a.txt",
            "tests/deep/b",
        ];
        assert_eq!(names, expected.map(str::to_owned).into());
        let mut text = String::new();
        let mut linked = zip.by_name("tests/deep/b").unwrap();
        linked.read_to_string(&mut text).unwrap();
        assert_eq!(text, "b");
        let absent = packed.absent.iter().map(|it| (it.path.as_str(), it.why));
        let absent: Vec<(&str, &str)> = absent.collect();
        let expected = [
            ("outside", LINK),
            ("sub", SUBMODULE),
            ("tests/circle", LINK),
            ("image.bin", LFS),
        ];
        assert_eq!(absent, expected);
    }
}
