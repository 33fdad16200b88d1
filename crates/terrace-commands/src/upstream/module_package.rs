//! The package of a module: an archive as its origin has it, or a packed commit of a repository.

use std::io::Read as _;
use std::net::{IpAddr, ToSocketAddrs as _};

use terrace_archive::ArchiveFormat;
use terrace_core::http::guard::UrlParts;
use terrace_core::model::name::Hostname;
use terrace_core::model::source_url::SourceUrl;
use terrace_core::model::subdir::Subdir;
use terrace_core::upstream::origin::Fetch;
use url::{Host, Url};

use super::module_location::{ArchiveLocation, ModuleLocation, RepositoryLocation};
use super::{AttemptError, Upstream};
use crate::archive::{Archive, Source};
use crate::error::Failure;
use crate::source::git::{Absent, Remote, RemoteCommit, pack_tree};
use crate::source::repository::ReleaseSource;

/// The request that git begins a fetch with, below the URL of a repository.
const FIRST_REQUEST: &str = "/info/refs?service=git-upload-pack";

/// The port of SSH.
const SSH_PORT: u16 = 22;

/// A package that can be downloaded, and that is known as far as this is possible before.
pub(crate) enum LocatedModule {
    Archive(ArchiveLocation),
    Commit {
        location: RepositoryLocation,
        remote: Remote,
        commit: RemoteCommit,
    },
}

/// The package of a module.
pub(crate) struct ModulePackage {
    pub(crate) archive: Archive,
    pub(crate) format: ArchiveFormat,
    /// The directory of the module in the archive.
    pub(crate) subdir: Option<Subdir>,
    pub(crate) source: ReleaseSource,
    /// The paths of which the archive lacks what a clone has.
    pub(crate) absent: Vec<Absent>,
}

impl LocatedModule {
    /// Returns the source of a package from a repository, which is known before it is downloaded.
    pub(crate) fn source(&self) -> Result<Option<ReleaseSource>, Failure> {
        match self {
            Self::Archive(_) => Ok(None),
            Self::Commit {
                location, commit, ..
            } => source_of(location, commit).map(Some),
        }
    }
}

impl Upstream<'_> {
    /// Finds the commit that the location of a repository means.
    pub(crate) fn located(
        &self,
        location: ModuleLocation,
        hostname: &Hostname,
    ) -> Result<LocatedModule, Failure> {
        let location = match location {
            ModuleLocation::Archive(location) => return Ok(LocatedModule::Archive(location)),
            ModuleLocation::Repository(location) => location,
        };
        let remote = self.remote(&location.url, hostname)?;
        let commit = remote.commit(location.reference.as_deref());
        Ok(LocatedModule::Commit {
            commit: commit.map_err(Failure::refused)?,
            location,
            remote,
        })
    }

    /// Downloads a package.
    pub(crate) fn module_package(
        &self,
        located: &LocatedModule,
        hostname: &Hostname,
        filename: String,
    ) -> Result<ModulePackage, Failure> {
        let (location, remote, commit) = match located {
            LocatedModule::Archive(location) => {
                return self.archived_module(location, hostname, &filename);
            }
            LocatedModule::Commit {
                location,
                remote,
                commit,
            } => (location, remote, commit),
        };
        let repository = remote.fetch(commit, self.output);
        let repository = repository.map_err(Failure::refused)?;
        let packed = repository.objects().and_then(|objects| {
            let tree = objects.tree_of(&commit.id)?;
            pack_tree(&objects, &tree)
        });
        let packed =
            packed.map_err(|reason| Failure::refused(format!("{}: {reason}", remote.url)))?;
        let archive = Archive::read(filename, Source::Temporary(packed.zip))
            .map_err(|error| Failure::Local(format!("reading the packed repository: {error}")))?;
        Ok(ModulePackage {
            archive,
            format: ArchiveFormat::Zip,
            subdir: parsed(location.subdir.as_deref())?,
            source: source_of(location, commit)?,
            absent: packed.absent,
        })
    }

    fn archived_module(
        &self,
        location: &ArchiveLocation,
        hostname: &Hostname,
        filename: &str,
    ) -> Result<ModulePackage, Failure> {
        let archive = self.download(&location.fetch, hostname, filename, location.sha256)?;
        let format = format(&archive, location.format)?;
        let subdir = subdir(&archive, format, location.subdir.as_deref())?;
        let url = location.fetch.reference.split('?').next();
        Ok(ModulePackage {
            archive,
            format,
            source: ReleaseSource {
                // Otherwise the registry says which rule the URL breaks.
                url: url.and_then(|url| url.parse().ok()),
                directory: parsed(subdir.as_ref().map(Subdir::as_str))?,
                commit: None,
                tree: None,
            },
            subdir,
            absent: Vec::new(),
        })
    }

    /// Returns a repository that git may contact: the guard allows its host and its addresses. Git follows no redirect, so the URL
    /// is the one that the first request of git is redirected to.
    fn remote(&self, url: &str, hostname: &Hostname) -> Result<Remote, Failure> {
        let fetch = Fetch {
            base: None,
            reference: format!("{url}{FIRST_REQUEST}"),
            max_bytes: 0,
            with_token: false,
            what: "repository",
        };
        let url = match url.starts_with("https://") {
            // A repository that needs a password may redirect to a page.
            true => {
                let asked = self.retrying(|| Ok(self.follow(&fetch, hostname)?.1))?;
                asked.strip_suffix(FIRST_REQUEST).unwrap_or(url).to_owned()
            }
            false => url.to_owned(),
        };
        let malformed = || Failure::refused("the URL of the repository is malformed");
        let parsed = Url::parse(&url).map_err(|_| malformed())?;
        let host = parsed.host_str().ok_or_else(malformed)?;
        let port = parsed.port_or_known_default().unwrap_or(SSH_PORT);
        let guarded = |error| {
            let option = format!("--archive-host {host}:{port}");
            AttemptError::guarded(fetch.what, &error, &option).failure
        };
        let parts = UrlParts {
            scheme: "https",
            has_userinfo: false,
            host,
            port: Some(port),
        };
        self.guard.check(parts).map_err(guarded)?;
        // A name that cannot be resolved here may be one that a proxy resolves, or an alias of SSH.
        let is_name = !matches!(parsed.host(), Some(Host::Ipv4(_) | Host::Ipv6(_)));
        let is_resolved = is_name && self.agent.config().proxy().is_none();
        let found = is_resolved.then(|| (host, port).to_socket_addrs().ok());
        let mut listed = Vec::new();
        for address in found.flatten().into_iter().flatten().map(|it| it.ip()) {
            let checked = self.guard.check_address(host, Some(port), address);
            checked.map_err(guarded)?;
            listed.push(match address {
                IpAddr::V4(address) => address.to_string(),
                IpAddr::V6(address) => format!("[{address}]"),
            });
        }
        let is_pinned = !listed.is_empty() && parsed.scheme() == "https";
        let addresses = is_pinned.then(|| format!("{host}:{port}:{}", listed.join(",")));
        Ok(Remote::new(url, addresses))
    }
}

/// Parses a path of a location.
fn parsed<T: std::str::FromStr<Err: ToString>>(path: Option<&str>) -> Result<Option<T>, Failure> {
    let parsed = path.map(str::parse).transpose();
    parsed.map_err(|error: T::Err| Failure::refused(error.to_string()))
}

fn source_of(
    location: &RepositoryLocation,
    commit: &RemoteCommit,
) -> Result<ReleaseSource, Failure> {
    Ok(ReleaseSource {
        url: Some(repository_page(&location.url)?),
        commit: parsed(Some(&commit.id))?,
        directory: parsed(location.subdir.as_deref())?,
        tree: None,
    })
}

/// Returns the URL under which people find a repository.
fn repository_page(url: &str) -> Result<SourceUrl, Failure> {
    let page = match url.strip_prefix("ssh://") {
        None => url.to_owned(),
        Some(rest) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = authority.rsplit('@').next().unwrap_or_default();
            let host = host.split(':').next().unwrap_or_default();
            format!("https://{host}/{path}")
        }
    };
    page.parse()
        .map_err(|error| Failure::refused(format!("{page}: {error}")))
}

/// Returns the format that the location names, or else the one that the bytes begin as.
fn format(archive: &Archive, named: Option<ArchiveFormat>) -> Result<ArchiveFormat, Failure> {
    if let Some(named) = named {
        return Ok(named);
    }
    let mut start = [0; 4];
    let file = archive.source.open();
    let read = file.and_then(|mut file| file.read_exact(&mut start));
    match (read, start) {
        (Ok(()), [b'P', b'K', 3, 4]) => Ok(ArchiveFormat::Zip),
        (Ok(()), [0x1f, 0x8b, ..]) => Ok(ArchiveFormat::TarGz),
        _ => Err(Failure::refused(
            "the origin's location is neither a zip nor a tar.gz, nor a repository of git that it names with git::",
        )),
    }
}

/// Returns the directory of the module in the archive. A `*` in it means the only directory there, as for clients.
fn subdir(
    archive: &Archive,
    format: ArchiveFormat,
    named: Option<&str>,
) -> Result<Option<Subdir>, Failure> {
    let Some(named) = named else {
        return Ok(None);
    };
    let refused = |reason: &dyn ToString| Failure::refused(reason.to_string());
    let path = match named.strip_prefix('*') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let top = archive.only_directory(format).map_err(|it| refused(&it))?;
            format!("{top}{rest}")
        }
        _ => named.to_owned(),
    };
    parsed(Some(&path))
}
