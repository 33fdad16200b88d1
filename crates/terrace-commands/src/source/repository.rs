//! The repository and the commit that a release is built from: as given, or from the CI job and git.

use std::env;
use std::path::Path;

use terrace_base::digest::Sha256;
use terrace_core::model::commit::CommitId;
use terrace_core::model::relative_path::RelativePath;
use terrace_core::model::source_url::SourceUrl;
use url::Url;

use crate::output::Output;
use crate::source::git::git_at;

/// The repository and the commit that a request names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReleaseSource {
    /// The URL of the repository, if known.
    pub(crate) url: Option<SourceUrl>,
    /// The commit in that repository, if known.
    pub(crate) commit: Option<CommitId>,
    /// The directory of the module in that repository; `None` for the top, or if it is unknown.
    pub(crate) directory: Option<RelativePath>,
    /// The digest of the unpacked files of an archive, which belong to no commit.
    pub(crate) tree: Option<Sha256>,
}

impl ReleaseSource {
    /// Returns the source of a module in a directory of a checkout: with the directory, and with the commit unless one is
    /// given or the files differ from it. Another repository than the checkout's may have other directories.
    pub(crate) fn in_checkout(self, directory: &Path) -> Self {
        let Some(url) = &self.url else {
            return self;
        };
        let is_own = remotes(directory)
            .iter()
            .any(|remote| url.is_within(remote));
        // A directory that is not part of the commit was generated.
        if !is_own || git(directory, &["rev-parse", "--verify", "--quiet", "HEAD:./"]).is_none() {
            return self;
        }
        let is_clean = || {
            let status = git(
                directory,
                &[
                    "status",
                    "--porcelain",
                    "--untracked-files=normal",
                    "--",
                    ".",
                ],
            );
            status.is_some_and(|changes| changes.is_empty())
        };
        let head = || git(directory, &["rev-parse", "HEAD"])?.parse().ok();
        let prefix = git(directory, &["rev-parse", "--show-prefix"]);
        Self {
            directory: prefix.and_then(|it| it.trim_end_matches('/').parse().ok()),
            commit: self.commit.or_else(|| is_clean().then(head)?),
            ..self
        }
    }
}

/// Finds the URL of the repository that `directory` belongs to. Returns `None` if neither the CI job nor git
/// names one, or if they disagree.
pub(crate) fn detected(directory: &Path, output: &Output) -> Option<SourceUrl> {
    let of_job = of_job(|name| env::var(name).ok());
    let of_git = of_git(directory);
    match (of_job, of_git) {
        (Some(job), Some(git)) if !job.as_str().eq_ignore_ascii_case(git.as_str()) => {
            output.progress(&format!(
                "no source URL is published: the CI job belongs to {job}, but the git remote is {git}; choose one \
                 with --source"
            ));
            None
        }
        (Some(job), _) => {
            output.progress(&format!(
                "the source URL is {job}; omit it with --no-source"
            ));
            Some(job)
        }
        // Unlike the repository of a job, the remote may be on an internal host, which a public registry
        // would disclose.
        (None, Some(git)) => {
            output.warning(&format!(
                "the source URL {git}, which is the git remote, is published to all users of the registry; omit it \
                 with --no-source, or confirm it with --source {git}"
            ));
            Some(git)
        }
        (None, None) => None,
    }
}

/// Returns the repository of a job of GitHub Actions
/// (<https://docs.github.com/en/actions/reference/workflows-and-actions/variables>) or GitLab CI
/// (<https://docs.gitlab.com/ci/variables/predefined_variables/>).
fn of_job(variable: impl Fn(&str) -> Option<String>) -> Option<SourceUrl> {
    let github = || {
        let server = variable("GITHUB_SERVER_URL")?;
        let repository = variable("GITHUB_REPOSITORY")?;
        format!("{server}/{repository}").parse().ok()
    };
    github().or_else(|| variable("CI_PROJECT_URL")?.parse().ok())
}

/// Returns the only remote of the git repository around a directory.
fn of_git(directory: &Path) -> Option<SourceUrl> {
    let names = git(directory, &["remote"])?;
    match remotes(directory).as_slice() {
        [only] if names.lines().count() == 1 => Some(only.clone()),
        _ => None,
    }
}

/// Returns the remotes of the git repository around a directory, without those that have no URL in a browser.
fn remotes(directory: &Path) -> Vec<SourceUrl> {
    let names = git(directory, &["remote"]).unwrap_or_default();
    let url = |name| web_url(&git(directory, &["remote", "get-url", name])?);
    names.lines().filter_map(url).collect()
}

/// Returns the output of a git command; `None` without git or a repository.
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let directory = if directory.is_dir() {
        directory
    } else {
        directory.parent()?
    };
    let output = git_at(directory).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Converts the URL of a git remote to the URL for a browser: `git@github.com:acme/vpc.git` and the forms of
/// <https://git-scm.com/docs/git-clone#_git_urls>. Credentials are left out. A path on this machine has no
/// such URL.
fn web_url(remote: &str) -> Option<SourceUrl> {
    let url = if remote.contains("://") {
        Url::parse(remote).ok()?
    } else {
        of_scp(remote)?
    };
    let (scheme, port) = match url.scheme() {
        scheme @ ("https" | "http") => (scheme, url.port()),
        // The URL's port is that of SSH or of git.
        "ssh" | "git" | "git+ssh" => ("https", None),
        _ => return None,
    };
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let host = url.host_str()?;
    let path = url.path().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    // A name without a dot is an alias of this machine's SSH configuration.
    let is_public = host.contains('.') && !path.is_empty();
    let is_plain = url.query().is_none() && url.fragment().is_none();
    if let ("ssh.dev.azure.com" | "vs-ssh.visualstudio.com", Some(path)) =
        (host, path.strip_prefix("v3/"))
    {
        let (project, name) = path.rsplit_once('/')?;
        return format!("https://dev.azure.com/{project}/_git/{name}")
            .parse()
            .ok();
    }
    (is_public && is_plain).then(|| format!("{scheme}://{host}{port}/{path}").parse().ok())?
}

/// Converts `user@host:path`, which is not a URL, to one.
fn of_scp(remote: &str) -> Option<Url> {
    let (authority, path) = remote.split_once(':')?;
    let is_host = !authority.contains(['/', '\\']) && authority.len() > 1;
    let url = || format!("ssh://{authority}/{}", path.trim_start_matches('/'));
    is_host.then(|| Url::parse(&url()).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_becomes_the_url_in_a_browser_if_others_can_open_it() {
        for (remote, url) in [
            (
                "https://me:secret@git.test/a/vpc.git",
                "https://git.test/a/vpc",
            ),
            ("http://git.test:3000/vpc/", "http://git.test:3000/vpc"),
            ("git@github.com:acme/vpc.git", "https://github.com/acme/vpc"),
            ("ssh://git@git.test:2222/vpc.git", "https://git.test/vpc"),
            ("git://git.test/vpc.git", "https://git.test/vpc"),
            (
                "git@ssh.dev.azure.com:v3/acme/my%20infra/vpc",
                "https://dev.azure.com/acme/my%20infra/_git/vpc",
            ),
            ("", ""),
            ("../vpc.git", ""),
            ("file:///srv/git/vpc.git", ""),
            ("C:\\git\\vpc", ""),
            ("work:acme/vpc.git", ""),
            ("https://github.com", ""),
            ("codecommit::eu-west-1://vpc", ""),
        ] {
            let found = web_url(remote).map_or_else(String::new, |it| it.to_string());
            assert_eq!(found, url, "{remote}");
        }
    }

    #[test]
    fn the_place_of_files_in_a_checkout_is_known_if_it_is_of_the_same_repository() {
        let top = tempfile::tempdir().unwrap();
        let directory = top.path().join("modules/a b");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("main.tf"), "").unwrap();
        for line in [
            "init --quiet",
            "remote add origin git@github.com:acme/infra.git",
            "add .",
            "-c user.name=a -c user.email=a@b commit --quiet -m a",
        ] {
            let arguments: Vec<&str> = line.split(' ').collect();
            git(top.path(), &arguments).unwrap();
        }
        let place = |url: &str, directory: &Path| {
            let url = Some(url.parse().unwrap());
            let source = ReleaseSource {
                url,
                ..ReleaseSource::default()
            };
            let found = source.in_checkout(directory);
            (
                found.directory.map(|it| it.to_string()),
                found.commit.is_some(),
            )
        };
        let url = "https://github.com/acme/infra";
        let known = |is_clean| (Some("modules/a b".to_owned()), is_clean);
        assert_eq!(place(url, &directory), known(true));
        assert_eq!(place(url, top.path()), (None, true));
        let other = "https://github.com/acme/other";
        assert_eq!(place(other, &directory), (None, false));
        std::fs::write(top.path().join("elsewhere"), "").unwrap();
        assert_eq!(place(url, &directory), known(true));
        std::fs::write(directory.join("new.tf"), "").unwrap();
        assert_eq!(place(url, &directory), known(false));
        let generated = top.path().join("dist");
        std::fs::create_dir(&generated).unwrap();
        assert_eq!(place(url, &generated), (None, false));
    }

    #[test]
    fn a_job_names_its_repository() {
        let of = |variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            of_job(variable).map_or_else(String::new, |url| url.to_string())
        };
        let server = ("GITHUB_SERVER_URL", "https://github.com");
        let github = [server, ("GITHUB_REPOSITORY", "acme/vpc")];
        assert_eq!(of(&github), "https://github.com/acme/vpc");
        let url = "https://gitlab.com/acme/infra/vpc";
        assert_eq!(of(&[("CI_PROJECT_URL", url)]), url);
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[("CI_PROJECT_URL", "")]), "");
    }
}
