//! The objects of a repository, read from one `git cat-file --batch`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

/// The length of the largest object that is read.
const OBJECT_BYTES: u64 = 256 * 1024 * 1024;

/// The objects of a repository. The process ends with the value.
pub(crate) struct Objects {
    process: Child,
    pipes: RefCell<Pipes>,
    trees: RefCell<BTreeMap<String, Rc<Vec<Entry>>>>,
    /// The length of the largest object that is read.
    most: u64,
}

struct Pipes {
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: EntryKind,
    /// The ID of the object.
    pub(crate) id: String,
}

/// The kind of an entry of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Directory,
    File,
    Executable,
    Link,
    /// A commit of another repository.
    Submodule,
}

impl Objects {
    pub(super) fn open(mut git: Command) -> Result<Self, String> {
        let failed = |error: &dyn ToString| format!("git cannot be started: {}", error.to_string());
        git.args(["cat-file", "--batch"]);
        git.stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = git.spawn().map_err(|error| failed(&error))?;
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(failed(&"it has no pipes"));
        };
        Ok(Self {
            process,
            pipes: RefCell::new(Pipes {
                requests,
                answers: BufReader::new(answers),
            }),
            trees: RefCell::default(),
            most: OBJECT_BYTES,
        })
    }

    /// Returns the ID of the tree of a commit.
    pub(crate) fn tree_of(&self, commit: &str) -> Result<String, String> {
        let (id, _, _) = self.object(&format!("{commit}^{{tree}}"))?;
        Ok(id)
    }

    /// Returns the entries of a tree.
    pub(crate) fn tree(&self, id: &str) -> Result<Rc<Vec<Entry>>, String> {
        if let Some(tree) = self.trees.borrow().get(id) {
            return Ok(Rc::clone(tree));
        }
        let (_, kind, bytes) = self.object(id)?;
        if kind != "tree" {
            return Err(format!("{id} is a {kind} and not a tree"));
        }
        let entries = entries(&bytes, id.len() / 2);
        let tree = Rc::new(entries.ok_or_else(|| format!("the tree {id} is malformed"))?);
        self.trees
            .borrow_mut()
            .insert(id.to_owned(), Rc::clone(&tree));
        Ok(tree)
    }

    /// Returns the contents of a file.
    pub(crate) fn blob(&self, id: &str) -> Result<Vec<u8>, String> {
        let (_, kind, bytes) = self.object(id)?;
        match kind == "blob" {
            true => Ok(bytes),
            false => Err(format!("{id} is a {kind} and not a file")),
        }
    }

    /// Returns the entry at a path below a tree, if there is one. The top has no entry.
    pub(crate) fn entry(&self, tree: &str, path: &str) -> Result<Option<Entry>, String> {
        let mut parts = path.split('/').peekable();
        let mut tree = tree.to_owned();
        while let Some(part) = parts.next() {
            let entries = self.tree(&tree)?;
            let Some(entry) = entries.iter().find(|entry| entry.name == part) else {
                return Ok(None);
            };
            match (parts.peek(), entry.kind) {
                (None, _) => return Ok(Some(entry.clone())),
                (Some(_), EntryKind::Directory) => tree.clone_from(&entry.id),
                (Some(_), _) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Returns the ID, the type and the contents of an object.
    fn object(&self, name: &str) -> Result<(String, String, Vec<u8>), String> {
        let failed = |reason: &dyn ToString| {
            format!("git cannot read the object {name}: {}", reason.to_string())
        };
        let mut pipes = self.pipes.borrow_mut();
        let requests = &mut pipes.requests;
        let written = writeln!(requests, "{name}").and_then(|()| requests.flush());
        written.map_err(|error| failed(&error))?;
        let mut line = String::new();
        pipes
            .answers
            .read_line(&mut line)
            .map_err(|error| failed(&error))?;
        let mut words = line.split_whitespace();
        let (Some(id), Some(kind), Some(size)) = (words.next(), words.next(), words.next()) else {
            return Err(failed(&"it is missing"));
        };
        let size: u64 = size.parse().map_err(|error| failed(&error))?;
        // A line feed ends the contents.
        let mut contents = pipes.answers.by_ref().take(size.saturating_add(1));
        if size > self.most {
            // Otherwise they would be read as the answer to the next request: the repository could pretend to have other
            // objects.
            io::copy(&mut contents, &mut io::sink()).map_err(|error| failed(&error))?;
            return Err(failed(&format!(
                "it has {size} bytes, and at most {} are read",
                self.most
            )));
        }
        let mut bytes = Vec::new();
        let read = contents.read_to_end(&mut bytes);
        read.map_err(|error| failed(&error))?;
        if bytes.pop() != Some(b'\n') || u64::try_from(bytes.len()).ok() != Some(size) {
            return Err(failed(&"it is cut off"));
        }
        Ok((id.to_owned(), kind.to_owned(), bytes))
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Parses a tree: for each entry its mode, a space, its name, a zero byte, and the digest of its object.
fn entries(mut bytes: &[u8], digest_bytes: usize) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let (mode, rest) = bytes.split_at_checked(space)?;
        let rest = rest.get(1..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (name, rest) = rest.split_at_checked(end)?;
        let (digest, rest) = rest.get(1..)?.split_at_checked(digest_bytes)?;
        let kind = match mode {
            b"40000" | b"040000" => EntryKind::Directory,
            b"100755" => EntryKind::Executable,
            b"120000" => EntryKind::Link,
            b"160000" => EntryKind::Submodule,
            _ => EntryKind::File,
        };
        entries.push(Entry {
            name: String::from_utf8(name.to_vec()).ok()?,
            kind,
            id: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        });
        bytes = rest;
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use crate::source::git::{Repository, git_in};

    #[test]
    fn an_object_that_is_too_large_says_nothing_about_the_next_one() {
        let directory = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| git_in(directory.path(), arguments);
        git(&["init", "--quiet"]);
        let store = |name: &str, contents: &str| {
            std::fs::write(directory.path().join(name), contents).unwrap();
            git(&["hash-object", "-w", name])
        };
        let pretended = format!("{} blob 6\nforged\n", "a".repeat(40));
        let (large, small) = (store("large", &pretended), store("small", "real\n"));
        let repository = Repository::at(directory.path()).unwrap();
        let mut objects = repository.objects().unwrap();
        objects.most = 8;
        let error = objects.blob(&large).unwrap_err();
        assert!(error.contains("at most 8 are read"), "{error}");
        assert_eq!(objects.blob(&small).unwrap(), b"real\n");
    }
}
