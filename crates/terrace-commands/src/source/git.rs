//! A git repository: its tags, and the objects that they name.
//!
//! Everything is read by the program `git`. Objects are requested by their IDs and never by names of the repository, so
//! that no name is taken for an option or another revision.
//!
//! `git archive` and checkouts are not used: they follow `export-ignore` and `export-subst`, convert line ends and run filters. The
//! bytes of a blob are the same on every machine, so a repeated publish finds every version unchanged.

mod files;
mod objects;
mod remote;

use std::path::{Path, PathBuf};
use std::process::{Command, Output as ProcessOutput, Stdio};

use tempfile::TempDir;

use crate::output::Output;

pub(crate) use files::{Absent, check_out, pack_tree};
pub(crate) use objects::{Entry, EntryKind, Objects};
pub(crate) use remote::{Remote, RemoteCommit};

/// The protocols that a repository is cloned by. Others are unencrypted, or run programs.
const PROTOCOLS: [&str; 3] = ["https", "ssh", "file"];

/// A repository on this machine.
#[derive(Debug)]
pub(crate) struct Repository {
    /// The directory of the working tree, or of the bare repository.
    pub(crate) directory: PathBuf,
    /// The clone that is removed in the end, if it is one.
    _clone: Option<TempDir>,
}

/// A tag of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) name: String,
    /// The ID of the tagged commit.
    pub(crate) commit: String,
}

/// Returns whether a text is the URL of a repository, and not a directory of this machine.
pub(crate) fn is_url(text: &str) -> bool {
    let is_scp = || {
        let host = text.split_once(':').map(|(host, _)| host);
        host.is_some_and(|host| host.len() > 1 && !host.contains(['/', '\\']))
    };
    text.contains("://") || (!Path::new(text).exists() && is_scp())
}

/// Checks that a repository is cloned by an encrypted protocol that runs no program of the URL's choice.
///
/// # Errors
/// The protocol is not allowed.
pub(crate) fn check_url(url: &str) -> Result<(), String> {
    let scheme = url.split_once("://").map_or("ssh", |(scheme, _)| scheme);
    let is_allowed = PROTOCOLS.contains(&scheme.to_ascii_lowercase().as_str());
    match is_allowed && !url.contains("::") {
        true => Ok(()),
        false => Err(format!(
            "{url}: a repository is cloned over {} only: clone it by other means, and name its directory",
            PROTOCOLS.join(", ")
        )),
    }
}

impl Repository {
    /// Returns the repository that has this directory as its top or as its bare repository.
    pub(crate) fn at(directory: &Path) -> Option<Self> {
        let is_bare = || directory.join("HEAD").is_file() && directory.join("objects").is_dir();
        let is_top = directory.join(".git").exists() || is_bare();
        is_top.then(|| Self {
            directory: directory.to_owned(),
            _clone: None,
        })
    }

    /// Returns the top of the repository around a directory.
    pub(crate) fn around(directory: &Path) -> Option<PathBuf> {
        let real = std::fs::canonicalize(directory).ok()?;
        let top = real.ancestors().find(|place| place.join(".git").exists())?;
        Some(top.to_owned())
    }

    /// Clones a repository with its tags, without a working tree.
    ///
    /// # Errors
    /// Git cannot clone the repository.
    pub(crate) fn clone(url: &str, output: &Output) -> Result<Self, String> {
        output.progress(&format!("cloning {url}"));
        let place = temporary()?;
        let mut command = remote_git(&PROTOCOLS);
        command.args(["clone", "--quiet", "--bare", "--", url]);
        run(command.arg(place.path())).map_err(|reason| format!("{url}: {reason}"))?;
        Ok(Self {
            directory: place.path().to_owned(),
            _clone: Some(place),
        })
    }

    /// Returns the tags of commits, ascending by name.
    ///
    /// # Errors
    /// Git is missing, or it cannot read the repository.
    pub(crate) fn tags(&self) -> Result<Vec<Tag>, String> {
        const FORMAT: &str =
            "%(objecttype) %(objectname) %(*objecttype) %(*objectname) %(refname:lstrip=2)";
        let format = format!("--format={FORMAT}");
        let output = run(self.git().args(["for-each-ref", &format, "refs/tags"]))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(tag).collect())
    }

    /// Returns the ID of the commit that a revision names, if there is one.
    pub(crate) fn commit(&self, revision: &str) -> Option<String> {
        let mut git = self.git();
        git.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        let output = run(git.arg(format!("{revision}^{{commit}}"))).ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Opens the objects of the repository.
    ///
    /// # Errors
    /// Git is missing.
    pub(crate) fn objects(&self) -> Result<Objects, String> {
        Objects::open(self.git())
    }

    fn git(&self) -> Command {
        let mut command = git_at(&self.directory);
        command.env("GIT_NO_REPLACE_OBJECTS", "1");
        // A bare repository may be part of a strange repository's files, with a configuration that names programs: git would
        // run them to fetch an object that is missing. `.git` is never part of files.
        if !self.directory.join(".git").exists() {
            command.env("GIT_ALLOW_PROTOCOL", "none");
        }
        command
    }
}

fn temporary() -> Result<TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("{}: {error}", std::env::temp_dir().display()))
}

/// Returns git for requests to a repository elsewhere, by these protocols.
fn remote_git(protocols: &[&str]) -> Command {
    let mut command = git_at(Path::new(""));
    command.args(["-c", "protocol.allow=never"]);
    for protocol in protocols {
        command
            .arg("-c")
            .arg(format!("protocol.{protocol}.allow=always"));
    }
    // A question of git would wait for an answer: in a CI job, for ever.
    command.env("GIT_TERMINAL_PROMPT", "0");
    command.env_remove("GIT_ALLOW_PROTOCOL");
    command
}

/// Returns git in a directory, for the repository that the directory belongs to.
pub(super) fn git_at(directory: &Path) -> Command {
    let mut command = Command::new("git");
    // An empty path is the current directory.
    if !directory.as_os_str().is_empty() {
        command.arg("-C").arg(directory);
    }
    // Variables of a hook that runs this program name another repository.
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
    ] {
        command.env_remove(name);
    }
    command
}

/// Parses a line of the list of tags: that of a commit has one ID, an annotated one also that of its commit.
fn tag(line: &str) -> Option<Tag> {
    let mut parts = line.splitn(5, ' ');
    let mut next = || parts.next();
    let (kind, id, inner_kind, inner_id, name) = (next()?, next()?, next()?, next()?, next()?);
    let commit = match (kind, inner_kind) {
        ("commit", _) => id,
        ("tag", "commit") => inner_id,
        _ => return None,
    };
    Some(Tag {
        name: name.to_owned(),
        commit: commit.to_owned(),
    })
}

/// Runs git to its end.
fn run(command: &mut Command) -> Result<ProcessOutput, String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("git cannot be started: {error}"))?;
    match output.status.success() {
        true => Ok(output),
        false => Err(failure(&output.stderr)),
    }
}

/// Returns what git says about its failure.
fn failure(said: &[u8]) -> String {
    let message = String::from_utf8_lossy(said);
    let lines = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    format!("git failed: {}", lines.collect::<Vec<_>>().join("; "))
}

/// Runs git in a directory, and returns its answer.
#[cfg(test)]
fn git_in(directory: &Path, arguments: &[&str]) -> String {
    let mut command = git_at(directory);
    command.args(["-c", "user.name=a", "-c", "user.email=a@b.example"]);
    let output = run(command.args(arguments)).unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_apart_from_directories() {
        for url in [
            "https://git.example.com/modules.git",
            "git@git.example.com:acme/modules.git",
            "file:///srv/modules.git",
        ] {
            assert!(is_url(url), "{url}");
        }
        for path in [".", "modules", "/srv/modules.git", "C:\\modules"] {
            assert!(!is_url(path), "{path}");
        }
    }

    #[test]
    fn a_protocol_that_runs_programs_or_sends_plain_text_is_refused() {
        for start in ["ext::sh -c ", "http://", "git://", "https::ext://"] {
            check_url(&format!("{start}git.example.com/a")).unwrap_err();
        }
    }

    #[test]
    fn a_bare_repository_runs_no_program_to_fetch_a_missing_object() {
        let directory = tempfile::tempdir().unwrap();
        let proof = directory.path().join("proof");
        let place = directory.path().join("modules.git");
        let git = |arguments: &[&str]| git_in(directory.path(), arguments);
        git(&["init", "--quiet", "--bare", "modules.git"]);
        let program = format!("touch '{}'; false", proof.display());
        for (name, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.url", "ssh://git.example.com/modules"),
            ("protocol.ssh.allow", "always"),
            ("core.sshCommand", &program),
        ] {
            git(&["-C", "modules.git", "config", name, value]);
        }
        let objects = Repository::at(&place).unwrap().objects().unwrap();
        objects.blob(&"ab".repeat(20)).unwrap_err();
        assert!(!proof.exists());
    }
}
