//! One commit of a repository elsewhere, fetched without its history.
//!
//! The URL comes from another registry. So git follows no redirect, asks no question, and connects to no other address than the
//! one that was checked; its own credentials, such as those of a helper or an SSH agent, are used.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::{Repository, run, temporary};
use crate::output::{Output, bytes};

/// The most bytes of a repository that are fetched: half of those that the files of a package may have, because git compresses
/// them. A fetch without history rarely has more than 20 MB.
const FETCHED_BYTES: u64 = 512 * 1024 * 1024;

/// How often the size of a fetch is measured.
const MEASURED_EVERY: Duration = Duration::from_millis(100);

/// The time in seconds after which a transfer that stands still ends.
const STALL_SECONDS: u32 = 60;

/// The time after which a transfer ends that goes on: a server may send a byte now and then for ever.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// The name that the fetched commit has here.
const FETCHED: &str = "refs/terrace/fetched";

/// A repository elsewhere.
#[derive(Debug)]
pub(crate) struct Remote {
    /// The URL, of https or ssh.
    pub(crate) url: String,
    /// The addresses that git may connect to, as `HOST:PORT:ADDRESSES`; `None` if a proxy or SSH resolves the name.
    addresses: Option<String>,
    protocols: &'static [&'static str],
    /// The most bytes that are fetched.
    most: u64,
    /// The time after which a command of git is ended.
    longest: Duration,
}

/// A commit of a repository elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteCommit {
    /// The name under which the repository has it; `None` for one that is known by its ID alone.
    name: Option<String>,
    /// The ID.
    pub(crate) id: String,
}

impl Remote {
    pub(crate) fn new(url: String, addresses: Option<String>) -> Self {
        Self {
            url,
            addresses,
            protocols: &["https", "ssh"],
            most: FETCHED_BYTES,
            longest: LONGEST,
        }
    }

    /// Returns the commit that a tag, a branch or an ID names; without any, that of `HEAD`. An annotated tag names the commit
    /// that it is a tag of.
    ///
    /// # Errors
    /// Git cannot read the repository, or it has no such name.
    pub(crate) fn commit(&self, reference: Option<&str>) -> Result<RemoteCommit, String> {
        let is_id = |name: &&str| {
            matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        if let Some(id) = reference.filter(is_id) {
            return Ok(RemoteCommit {
                name: None,
                id: id.to_ascii_lowercase(),
            });
        }
        let names = match reference {
            None => vec!["HEAD".to_owned()],
            Some(name) => vec![format!("refs/tags/{name}"), format!("refs/heads/{name}")],
        };
        let failed = |reason: String| format!("{}: {reason}", self.url);
        let place = temporary()?;
        let mut git = self.git();
        git.args(["ls-remote", "--quiet", "--", &self.url]);
        for name in &names {
            git.args([name, &format!("{name}^{{}}")]);
        }
        let answered = self.run_within(git, place.path()).map_err(failed)?;
        let text = answered.map_err(failed)?;
        let id_of = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once('\t'));
            lines
                .find(|(_, of)| *of == name)
                .map(|(id, _)| id.to_owned())
        };
        let mut found = names.into_iter().filter_map(|name| {
            let id = id_of(&format!("{name}^{{}}")).or_else(|| id_of(&name))?;
            Some(RemoteCommit {
                name: Some(name),
                id,
            })
        });
        found.next().ok_or_else(|| {
            let name = reference.unwrap_or("HEAD");
            format!(
                "{}: the repository has no tag and no branch {name:?}",
                self.url
            )
        })
    }

    /// Fetches a commit. Servers that do not send one alone send all tags and branches.
    ///
    /// # Errors
    /// The repository is too large, git cannot fetch it, or it has another commit under the name by now.
    pub(crate) fn fetch(
        &self,
        commit: &RemoteCommit,
        output: &Output,
    ) -> Result<Repository, String> {
        let failed = |reason: String| format!("{}: {reason}", self.url);
        output.progress(&format!("fetching {} of {}", commit.id, self.url));
        let place = temporary()?;
        let mut init = Command::new("git");
        run(init
            .args(["init", "--quiet", "--bare", "--template="])
            .arg(place.path()))?;
        let repository = Repository {
            directory: place.path().to_owned(),
            _clone: Some(place),
        };
        let name = commit.name.as_ref().unwrap_or(&commit.id);
        let alone = format!("+{name}:{FETCHED}");
        let fetch = |what: &[&str]| {
            let mut git = self.git();
            git.arg("-C").arg(&repository.directory);
            git.args(["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"]);
            git.args(what);
            self.run_within(git, &repository.directory).map_err(failed)
        };
        if let Err(reason) = fetch(&["--depth=1", "--", &self.url, &alone])? {
            output.detail(&failed(reason));
            let branches = "+refs/heads/*:refs/heads/*";
            let all = ["--", &self.url, branches, "+refs/tags/*:refs/tags/*"];
            fetch(&all)?.map_err(failed)?;
        }
        let named = repository.commit(FETCHED);
        let named = named.or_else(|| repository.commit(name));
        match named {
            Some(id) if id == commit.id => Ok(repository),
            Some(id) => Err(failed(format!(
                "{name} was the commit {}, and the fetch has {id}: it was moved in the meantime",
                commit.id
            ))),
            None => Err(failed(format!("it has no commit {}", commit.id))),
        }
    }

    /// Runs git, which writes into a directory. Returns its answer or its failure.
    ///
    /// # Errors
    /// There are too many bytes, it takes too long, or git is missing.
    fn run_within(&self, mut git: Command, place: &Path) -> Result<Result<String, String>, String> {
        let failed = |error: std::io::Error| format!("git cannot be started: {error}");
        // What a server says counts as well.
        let (answered, said) = (place.join("answered"), place.join("said"));
        git.stdin(Stdio::null());
        git.stdout(File::create(&answered).map_err(failed)?);
        git.stderr(File::create(&said).map_err(failed)?);
        let mut waited = Duration::ZERO;
        let mut process = git.spawn().map_err(failed)?;
        let status = loop {
            let ended = process.try_wait().map_err(failed)?;
            let excess = if size_of(place) > self.most {
                let most = bytes(self.most);
                Some(format!(
                    "the repository has more than {most}: it is too large to be a module"
                ))
            } else if waited >= self.longest {
                let longest = humantime::format_duration(self.longest);
                Some(format!("the transfer did not end within {longest}"))
            } else {
                None
            };
            if let Some(reason) = excess {
                let _ = process.kill();
                let _ = process.wait();
                return Err(reason);
            }
            match ended {
                Some(status) => break status,
                None => {
                    thread::sleep(MEASURED_EVERY);
                    waited += MEASURED_EVERY;
                }
            }
        };
        Ok(match status.success() {
            true => Ok(fs::read_to_string(&answered).unwrap_or_default()),
            false => Err(super::failure(&fs::read(&said).unwrap_or_default())),
        })
    }

    fn git(&self) -> Command {
        let mut git = super::remote_git(self.protocols);
        let stall = format!("http.lowSpeedTime={STALL_SECONDS}");
        for setting in [
            "http.followRedirects=false",
            "http.lowSpeedLimit=1",
            &stall,
            "fetch.unpackLimit=1",
            "gc.auto=0",
        ] {
            git.args(["-c", setting]);
        }
        if let Some(addresses) = &self.addresses {
            git.arg("-c")
                .arg(format!("http.curloptResolve={addresses}"));
        }
        // Other requests of this program trust these authorities.
        if let (Some(file), None) = (
            std::env::var_os("SSL_CERT_FILE"),
            std::env::var_os("GIT_SSL_CAINFO"),
        ) {
            git.env("GIT_SSL_CAINFO", file);
        }
        git
    }
}

/// Returns the number of bytes of the files in a directory and below it.
fn size_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(it) if it.is_dir() => size_of(&entry.path()),
        Ok(it) => it.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::super::git_in as git;
    use super::*;
    use crate::output::Verbosity;

    fn remote(directory: &Path) -> Remote {
        Remote {
            protocols: &["file"],
            ..Remote::new(format!("file://{}", directory.display()), None)
        }
    }

    #[test]
    fn a_name_or_an_id_is_fetched_as_its_commit_up_to_a_limit() {
        let output = Output::new(false, Verbosity::Quiet, Default::default());
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        git(place, &["init", "--quiet", "--initial-branch=main"]);
        git(place, &["commit", "--quiet", "--allow-empty", "-m", "one"]);
        let first = git(place, &["rev-parse", "HEAD"]);
        git(place, &["tag", "-a", "v1", "-m", "annotated"]);
        git(place, &["tag", "-f", "old"]);
        fs::write(place.join("large"), "x".repeat(100_000)).unwrap();
        git(place, &["add", "."]);
        git(place, &["commit", "--quiet", "-m", "two"]);
        let second = git(place, &["rev-parse", "HEAD"]);
        let remote = remote(place);
        for (name, id) in [
            (Some("v1"), &first),
            (Some("main"), &second),
            (None, &second),
            (Some(first.as_str()), &first),
        ] {
            let commit = remote.commit(name).unwrap();
            assert_eq!(commit.id, *id, "{name:?}");
            let repository = remote.fetch(&commit, &output).unwrap();
            repository.objects().unwrap().tree_of(id).unwrap();
        }
        let error = remote.commit(Some("v2")).unwrap_err();
        assert!(error.contains("no tag and no branch \"v2\""), "{error}");
        let moved = RemoteCommit {
            id: second,
            ..remote.commit(Some("old")).unwrap()
        };
        let error = remote.fetch(&moved, &output).unwrap_err();
        assert!(error.contains("moved in the meantime"), "{error}");
        let commit = remote.commit(None).unwrap();
        let small = Remote { most: 10, ..remote };
        let error = small.fetch(&commit, &output).unwrap_err();
        assert!(error.contains("too large"), "{error}");
        assert!(small.commit(None).unwrap_err().contains("too large"));
        let hasty = Remote {
            most: FETCHED_BYTES,
            longest: Duration::ZERO,
            ..small
        };
        let error = hasty.commit(None).unwrap_err();
        assert!(error.contains("did not end within"), "{error}");
    }
}
