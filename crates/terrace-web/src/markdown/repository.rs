//! The web pages of repositories.

use std::borrow::Cow;

use terrace_base::percent::{Plus, decoded, encode_segments};
use terrace_core::model::provenance::Provenance;
use terrace_core::model::source::SourceDocument;

use super::TargetKind;

/// The revision of a repository if the commit is unknown: its default branch.
const DEFAULT_REVISION: &str = "HEAD";

/// The number of parts between the slashes of `https://{host}/{owner}/{name}`.
const REPOSITORY_PARTS: usize = 5;

/// The end of the issuer of a GitHub Enterprise Server's tokens.
const ENTERPRISE_ISSUER: &str = "/_services/token";

/// A repository with the code of a module, at a revision.
#[derive(Debug, Clone)]
pub struct Repository {
    /// The URL of its page, such as `https://github.com/acme/terraform-aws-vpc`.
    url: String,
    /// The commit, tag or branch; `None` if it is unknown.
    revision: Option<String>,
    /// The directory of the module; empty for the top.
    directory: String,
    /// The form of URLs, if it is known.
    form: Option<Form>,
}

/// The URLs that a host has for files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    AzureDevOps,
    Bitbucket,
    BitbucketServer,
    Gitea,
    GitHub,
    GitLab,
}

impl Repository {
    /// Creates the repository of a release, which this job published. A URL of a tree in it names a revision and a
    /// directory as well.
    pub fn of(source: &SourceDocument, job: Option<&Provenance>) -> Self {
        let url = source.url.as_str().trim_end_matches('/');
        let tree = url.split_once("/-/tree/").or(url.split_once("/tree/"));
        // An owner may have the name, too.
        let (url, tree) = match tree.filter(|(url, _)| url.split('/').count() >= REPOSITORY_PARTS) {
            Some((url, tree)) => (url, Some(tree.split_once('/').unwrap_or((tree, "")))),
            None => (url, None),
        };
        let commit = source.commit.as_ref().map(ToString::to_string);
        let directory = source.directory.as_ref().map(ToString::to_string);
        Self {
            url: url.strip_suffix(".git").unwrap_or(url).to_owned(),
            revision: commit.or(tree.map(|(revision, _)| revision.to_owned())),
            directory: directory.unwrap_or_else(|| {
                let written = tree.map_or("", |(_, directory)| directory);
                let directory = decoded(written, Plus::Plus);
                directory.map_or_else(|| written.to_owned(), Cow::into_owned)
            }),
            form: Form::of(url, job),
        }
    }

    /// Returns the directory of the module; empty for the top.
    pub(super) fn directory(&self) -> &str {
        &self.directory
    }

    /// Returns the URL of a file or a directory, whose path is relative to the top. Where the form of the host's URLs is
    /// unknown, a link leads to the repository itself, and an image nowhere.
    pub(super) fn file(&self, path: &str, kind: TargetKind) -> Option<String> {
        match (self.form, kind) {
            (Some(form), TargetKind::Image) => Some(self.page(form, form.words().1, path)),
            (Some(form), TargetKind::Link) => Some(self.page(form, form.words().0, path)),
            (None, TargetKind::Image) => None,
            (None, TargetKind::Link) => Some(self.url.clone()),
        }
    }

    /// Returns the URL of the module's directory.
    pub fn source(&self) -> String {
        let is_page = self.revision.is_some() || !self.directory.is_empty();
        match self.form.filter(|_| is_page) {
            Some(form) => self.page(form, form.words().2, &self.directory),
            None => self.url.clone(),
        }
    }

    /// Returns the URL of a page of this kind, by one of the host's words.
    fn page(&self, form: Form, kind: &str, path: &str) -> String {
        let (url, path) = (&self.url, encode_segments(path));
        let revision = self.revision.as_deref().unwrap_or(DEFAULT_REVISION);
        let page = match form {
            Form::AzureDevOps => return self.azure_devops(kind, &path),
            Form::BitbucketServer => return self.bitbucket_server(kind, &path),
            _ => format!("{url}/{kind}/{revision}/{path}"),
        };
        page.trim_end_matches('/').to_owned()
    }

    /// The URL of contents is that of <https://learn.microsoft.com/en-us/rest/api/azure/devops/git/items/get>.
    fn azure_devops(&self, kind: &str, path: &str) -> String {
        let path = path.replace('&', "%26").replace('+', "%2B");
        let revision = self.revision.as_deref();
        match (self.url.split_once("/_git/"), kind) {
            (Some((project, name)), "items") => {
                let version = revision.map_or_else(String::new, |it| {
                    format!("&versionDescriptor.versionType=commit&versionDescriptor.version={it}")
                });
                format!(
                    "{project}/_apis/git/repositories/{name}/items?path=/{path}{version}&api-version=7.1"
                )
            }
            _ => {
                let version = revision.map_or_else(String::new, |it| format!("&version=GC{it}"));
                format!("{}?path=/{path}{version}", self.url)
            }
        }
    }

    /// A repository is `/scm/{project}/{name}` over HTTPS, `/{project}/{name}` over SSH, and
    /// `/projects/{project}/repos/{name}` in a browser.
    fn bitbucket_server(&self, kind: &str, path: &str) -> String {
        let parts: Vec<&str> = self.url.rsplitn(3, '/').collect();
        let url = match parts.as_slice() {
            [name, project, base] if !self.url.contains("/repos/") => {
                let base = base.strip_suffix("/scm").unwrap_or(base);
                format!("{base}/projects/{project}/repos/{name}")
            }
            _ => self.url.trim_end_matches("/browse").to_owned(),
        };
        let at = self.revision.as_ref();
        let at = at.map_or_else(String::new, |revision| format!("?at={revision}"));
        format!("{url}/{kind}/{path}{at}")
    }
}

impl Form {
    /// Returns the words for the page of a file or a directory, for the contents of a file, and for the page of a directory.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::AzureDevOps => ("_git", "items", "_git"),
            Self::Bitbucket => ("src", "raw", "src"),
            Self::BitbucketServer => ("browse", "raw", "browse"),
            Self::Gitea => ("src/commit", "raw/commit", "src/commit"),
            Self::GitHub => ("blob", "raw", "tree"),
            Self::GitLab => ("-/blob", "-/raw", "-/tree"),
        }
    }

    /// Returns the form of a host's URLs, by its name or by the system of the job that it ran.
    fn of(url: &str, job: Option<&Provenance>) -> Option<Self> {
        let host = host(url).to_ascii_lowercase();
        let is_named = |names: &[&str]| {
            let mut words = host.split(['.', '-', ':']);
            words.any(|word| names.iter().any(|name| word.starts_with(name)))
        };
        let is_enterprise = |job: &Provenance| {
            let is_own = job
                .url
                .as_ref()
                .is_some_and(|it| self::host(it.as_str()) == host);
            is_own && job.issuer.to_string().ends_with(ENTERPRISE_ISSUER)
        };
        match host.as_str() {
            _ if url.contains("/_git/") => Some(Self::AzureDevOps),
            "bitbucket.org" => Some(Self::Bitbucket),
            _ if is_named(&["github"]) || host.ends_with(".ghe.com") => Some(Self::GitHub),
            _ if is_named(&["gitlab"]) => Some(Self::GitLab),
            _ if is_named(&["gitea", "forgejo", "codeberg"]) => Some(Self::Gitea),
            _ if is_named(&["bitbucket"]) => Some(Self::BitbucketServer),
            _ => job.is_some_and(is_enterprise).then_some(Self::GitHub),
        }
    }
}

/// Returns the host of a URL, with its port.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "1111111111111111111111111111111111111111";

    fn repository(url: &str, commit: Option<&str>) -> Repository {
        let commit = commit.map(|it| it.parse().unwrap());
        let source = SourceDocument::claimed(url.parse().unwrap(), commit);
        Repository::of(&source.with_directory(Some("m/a b".parse().unwrap())), None)
    }

    #[test]
    fn each_kind_of_host_has_its_own_urls_for_files_images_and_the_directory() {
        for (url, file, image, source) in [
            (
                "https://github.corp.example/a/b.git",
                "https://github.corp.example/a/b/blob/@/m/x.md",
                "https://github.corp.example/a/b/raw/@/m/x.md",
                "https://github.corp.example/a/b/tree/@/m/a%20b",
            ),
            (
                "https://my-gitlab.example:8443/a/b/c",
                "https://my-gitlab.example:8443/a/b/c/-/blob/@/m/x.md",
                "https://my-gitlab.example:8443/a/b/c/-/raw/@/m/x.md",
                "https://my-gitlab.example:8443/a/b/c/-/tree/@/m/a%20b",
            ),
            (
                "https://codeberg.org/a/b",
                "https://codeberg.org/a/b/src/commit/@/m/x.md",
                "https://codeberg.org/a/b/raw/commit/@/m/x.md",
                "https://codeberg.org/a/b/src/commit/@/m/a%20b",
            ),
            (
                "https://bitbucket.org/a/b",
                "https://bitbucket.org/a/b/src/@/m/x.md",
                "https://bitbucket.org/a/b/raw/@/m/x.md",
                "https://bitbucket.org/a/b/src/@/m/a%20b",
            ),
            (
                "https://bitbucket.corp.example/scm/KEY/b",
                "https://bitbucket.corp.example/projects/KEY/repos/b/browse/m/x.md?at=@",
                "https://bitbucket.corp.example/projects/KEY/repos/b/raw/m/x.md?at=@",
                "https://bitbucket.corp.example/projects/KEY/repos/b/browse/m/a%20b?at=@",
            ),
            (
                "https://dev.azure.com/a/p/_git/b",
                "https://dev.azure.com/a/p/_git/b?path=/m/x.md&version=GC@",
                "https://dev.azure.com/a/p/_apis/git/repositories/b/items?path=/m/x.md&versionDescriptor.versionType=commit&versionDescriptor.version=@&api-version=7.1",
                "https://dev.azure.com/a/p/_git/b?path=/m/a%20b&version=GC@",
            ),
        ] {
            let repository = repository(url, Some(COMMIT));
            let shown = |found: Option<String>| found.unwrap().replace(COMMIT, "@");
            assert_eq!(shown(repository.file("m/x.md", TargetKind::Link)), file);
            assert_eq!(shown(repository.file("m/x.md", TargetKind::Image)), image);
            assert_eq!(shown(Some(repository.source())), source);
        }
    }

    #[test]
    fn a_file_at_an_unknown_host_is_somewhere_in_the_repository() {
        let found = repository("https://git.example.com/a/b", Some(COMMIT));
        assert_eq!(found.source(), "https://git.example.com/a/b");
        let file = |kind| found.file("x", kind);
        assert_eq!(
            file(TargetKind::Link),
            Some("https://git.example.com/a/b".into())
        );
        assert_eq!(file(TargetKind::Image), None);
    }

    #[test]
    fn a_job_tells_the_form_of_its_own_host() {
        let job = r#"{"issuer":"https://git.example.com/_services/token","url":"https://git.example.com/a/b"}"#;
        let job: Provenance = serde_json::from_str(job).unwrap();
        let of = |url: &str| Form::of(url, Some(&job));
        assert_eq!(of("https://git.example.com/a/b"), Some(Form::GitHub));
        assert_eq!(of("https://git.example.org/a/b"), None);
    }

    #[test]
    fn the_url_of_a_tree_names_its_revision_and_its_directory() {
        let source = SourceDocument::claimed(
            "https://github.com/a/b/tree/main/m%20x".parse().unwrap(),
            None,
        );
        let repository = Repository::of(&source, None);
        assert_eq!(repository.directory(), "m x");
        assert_eq!(
            repository.source(),
            "https://github.com/a/b/tree/main/m%20x"
        );
    }
}
