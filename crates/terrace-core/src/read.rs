//! Reads, decided: a synchronous machine that is driven by whoever has the IO.
//!
//! [`begin`] looks at a request and either answers it, or names the one index to read, or says
//! that this is not a read. [`Lookup::finish`] turns what was read into the answer. Native tests
//! drive it over a map, the Worker from its fetch event.
//!
//! # What a read costs
//! Discovery: nothing. Every other read: one KV read. A version list is streamed through; the
//! document of one version is parsed, because URLs are signed into the answer: three for a package
//! download, one for each platform in the mirror.

mod download;
mod oci;

use crate::address::MirroredAddress;
use crate::archive_url::ArchiveUrls;
use crate::index::IndexMetadata;
use crate::key::{IndexKey, Package, PushedIndex};
use crate::limits;
use crate::oci::pushed::PushedRequest;
use crate::oci::{Digest, OciCode, OciError, OciRequest, TagPage};
use crate::own_hosts::OwnHosts;
use crate::platform::Platform;
use crate::problem::Problem;
use crate::pull::PullPolicy;
use crate::reply::{Body, CachePolicy, Reply};
use crate::route::{Method, Route};
use crate::time::UnixTime;
use crate::version::Version;
use download::{Urls, mirror_packages, module_download, provider_download};
pub use oci::{CONTENT_DIGEST, oci_base, referrers};
use oci::{begin_oci, begin_pushed, is_oci, tags};

/// What [`begin`] makes of a request.
#[derive(Debug)]
pub enum Begun<S> {
    /// The answer is known.
    Answer(Reply<S>),
    /// Read this, then [`Lookup::finish`].
    Read(Box<Lookup>),
    /// Not a read.
    Other(Route, Method),
}

/// One index to read.
#[derive(Debug)]
pub struct Lookup {
    /// Which.
    pub key: IndexKey,
    /// How the value is wanted.
    pub form: IndexForm,
    /// How long the edge may keep it, in seconds.
    pub cache_seconds: u32,
    wanted: Wanted,
    method: Method,
    if_none_match: Option<String>,
    range: Option<String>,
}

/// How an index is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexForm {
    /// To be passed on unread.
    Stream,
    /// To be looked into.
    Text,
}

#[derive(Debug)]
enum Wanted {
    Versions,
    Tags(Option<TagPage>, String),
    Manifest,
    Blob,
    ProviderDownload(Package, Version, Platform),
    MirrorPackages,
    ModuleDownload,
}

/// What was read.
#[derive(Debug)]
pub struct Found<S> {
    /// The key's metadata.
    pub metadata: IndexMetadata,
    /// The value, in the form that was wanted.
    pub body: Body<S>,
}

/// Whether a list may be answered.
#[derive(Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It may.
    Fresh,
    /// It may, and its origin should be asked after the answer whether there is more.
    Stale(MirroredAddress),
    /// It may not: it is too old, or was made by other rules than those of this deployment.
    Unfit,
}

/// Why no answer can be made of what was read.
#[derive(Debug)]
pub enum FinishError {
    /// It is not what an index function writes: make it anew from the facts.
    Corrupt,
    /// The answer is this problem.
    Problem(Problem),
}

/// Begins to answer a request.
///
/// `path` and `query` are those sent; `if_none_match` is that header; `own` are the registry's
/// hostnames.
pub fn begin<S>(
    method: &str,
    path: &str,
    query: &str,
    if_none_match: Option<&str>,
    own: &OwnHosts<'_>,
) -> Begun<S> {
    let route = match Route::parse(path) {
        Ok(route) => route,
        Err(problem) if is_module_download(path) => return Begun::Answer(problem.text_reply()),
        Err(problem) if is_oci(path) => return Begun::Answer(problem.oci_reply()),
        Err(problem) => return Begun::Answer(problem.reply()),
    };
    let method = match route.method(method) {
        Ok(method) => method,
        Err(problem) if is_oci(path) => return Begun::Answer(problem.oci_reply()),
        Err(problem) => return Begun::Answer(problem.reply()),
    };
    let is_mirror = matches!(route, Route::MirrorVersions(_));
    let if_none_match = if_none_match.map(str::to_owned);
    let (package, version, wanted) = match route {
        Route::Home => return Begun::Answer(sized(home(), method)),
        Route::Discovery => return Begun::Answer(sized(discovery(), method)),
        Route::ProviderVersions(address) => (Package::Provider(address), None, Wanted::Versions),
        Route::MirrorHome => return Begun::Answer(sized(mirror_home(), method)),
        Route::MirrorVersions(address) => (own.package(address), None, Wanted::Versions),
        Route::MirrorPackages(address, version) => {
            (own.package(address), Some(version), Wanted::MirrorPackages)
        }
        Route::ModuleVersions(address) => (Package::Module(address), None, Wanted::Versions),
        Route::ProviderDownload(address, version, platform) => {
            let package = Package::Provider(address);
            let wanted = Wanted::ProviderDownload(package.clone(), version.clone(), platform);
            (package, Some(version), wanted)
        }
        Route::ModuleDownload(address, version) => (
            Package::Module(address),
            Some(version),
            Wanted::ModuleDownload,
        ),
        Route::Pushed(PushedRequest { repository, path }) => {
            let page = TagPage::parse(query);
            return begin_pushed(repository, path, page, method, if_none_match);
        }
        Route::Oci(OciRequest { repository, path }) => {
            let package = repository.package(own);
            let page = TagPage::parse(query);
            return begin_oci(package, path, page, method, if_none_match);
        }
        other @ (Route::Archive(..)
        | Route::Pull(..)
        | Route::OciBase
        | Route::OciToken
        | Route::PublishProvider(..)
        | Route::MirroredRelease(..)
        | Route::PublishModule(..)
        | Route::SigningKeys(..)
        | Route::SigningKey(..)) => return Begun::Other(other, method),
    };
    let (key, form, cache_seconds) = match version {
        None => (
            if is_mirror {
                IndexKey::MirrorVersions(package)
            } else {
                IndexKey::Versions(package)
            },
            IndexForm::Stream,
            limits::LIST_CACHE_SECONDS,
        ),
        Some(version) => {
            let cache_seconds = match package {
                // It may gain platforms.
                Package::Mirrored(_) => limits::LIST_CACHE_SECONDS,
                Package::Provider(_) | Package::Module(_) => limits::VERSION_CACHE_SECONDS,
            };
            let key = IndexKey::Version(package, version);
            (key, IndexForm::Text, cache_seconds)
        }
    };
    Begun::Read(Box::new(Lookup {
        key,
        form,
        cache_seconds,
        wanted,
        method,
        if_none_match,
        range: None,
    }))
}

/// Whether the error of this path is read by a person (clients.md 3.7), although the path is no
/// route.
fn is_module_download(path: &str) -> bool {
    path.starts_with("/v1/modules/") && path.ends_with("/download")
}

impl Lookup {
    /// Whether the answer leads to bytes, of which a part may be asked for.
    pub fn leads_to_bytes(&self) -> bool {
        matches!(self.wanted, Wanted::Blob)
    }

    /// The same for a request with this `Range` header.
    pub fn set_range(&mut self, range: Option<String>) {
        self.range = range;
    }

    /// Makes the answer of what was read.
    ///
    /// `origin` is the registry's own, as the client reached it: `https://host`; `policy` says whose
    /// offers may be pulled.
    ///
    /// # Errors
    /// When the index cannot be used, or the answer is an error; see [`FinishError`].
    pub fn finish<S>(
        &self,
        found: Found<S>,
        urls: Option<&ArchiveUrls>,
        origin: &str,
        policy: &PullPolicy,
        now: UnixTime,
    ) -> Result<Reply<S>, FinishError> {
        let pull = found.metadata.pull.as_ref();
        if pull.is_some_and(|pull| pull.is_empty) {
            return Err(FinishError::Problem(self.missing()));
        }
        let reply = match &self.wanted {
            Wanted::Versions => self.versions(found),
            Wanted::Tags(None, _) => self.versions(found),
            Wanted::Tags(Some(page), name) => tags(page, name, &found)?,
            Wanted::Manifest => self.manifest(found)?,
            Wanted::Blob => self.blob(&found, &Urls::new(urls, origin, now)?)?,
            Wanted::ProviderDownload(package, version, platform) => {
                let index = parse(&found)?;
                let urls = Urls::new(urls, origin, now)?;
                provider_download(index, package, version, platform, &urls)?
            }
            Wanted::MirrorPackages => {
                let index = parse(&found)?;
                let urls = Urls::new(urls, origin, now)?;
                let reply = mirror_packages(index, self.offerer(policy), &urls)?;
                reply.ok_or_else(|| FinishError::Problem(self.missing()))?
            }
            Wanted::ModuleDownload => {
                let index = parse(&found)?;
                module_download(&index, &Urls::new(urls, origin, now)?)?
            }
        };
        Ok(sized(reply, self.method))
    }

    /// The answer for a mirrored version that the operator does not want to be served. Of which
    /// version something with a digest is, only its `metadata` tells.
    pub fn blocked<S>(
        &self,
        policy: &PullPolicy,
        metadata: Option<&IndexMetadata>,
    ) -> Option<Reply<S>> {
        let (address, version) = match &self.key {
            IndexKey::Version(Package::Mirrored(address), version)
            | IndexKey::Tag(Package::Mirrored(address), version) => (address, version),
            IndexKey::Content(Package::Mirrored(address), _) => {
                (address, metadata?.content.as_ref()?.version.as_ref()?)
            }
            _ => return None,
        };
        let is_blocked = policy.blocks(address, version);
        is_blocked.then(|| self.problem(&Problem::blocked(address, version)))
    }

    /// What to do with the list that was found, if it depends on more than releases.
    pub fn freshness(
        &self,
        metadata: &IndexMetadata,
        policy: &PullPolicy,
        now: impl FnOnce() -> UnixTime,
    ) -> Freshness {
        let (IndexKey::MirrorVersions(Package::Mirrored(address))
        | IndexKey::Tags(Package::Mirrored(address))) = &self.key
        else {
            return Freshness::Fresh;
        };
        let made_by = metadata.pull.as_ref();
        if !policy.has_made(made_by) {
            return Freshness::Unfit;
        }
        let checked_at = match made_by {
            Some(made_by) if policy.pulls(address) => made_by.checked_at,
            _ => return Freshness::Fresh,
        };
        match now().0.saturating_sub(checked_at) {
            age if age < limits::PULL_CHECK_SECONDS => Freshness::Fresh,
            age if age < limits::PULL_STALE_SECONDS => Freshness::Stale(address.clone()),
            _ => Freshness::Unfit,
        }
    }

    /// Whose offers are handed out, and of which version.
    fn offerer(&self, policy: &PullPolicy) -> Option<(&MirroredAddress, &Version)> {
        match &self.key {
            IndexKey::Version(Package::Mirrored(address), version) if policy.pulls(address) => {
                Some((address, version))
            }
            _ => None,
        }
    }

    /// The answer when there is nothing of this name.
    pub fn not_found<S>(&self) -> Reply<S> {
        self.problem(&self.missing())
    }

    fn missing(&self) -> Problem {
        let kind = |package: &Package| match package {
            Package::Provider(_) | Package::Mirrored(_) => "provider",
            Package::Module(_) => "module",
        };
        let told = match &self.key {
            IndexKey::Versions(package)
            | IndexKey::MirrorVersions(package)
            | IndexKey::Tags(package) => {
                let (kind, address) = (kind(package), package.address());
                format!("this registry has no {kind} {address}")
            }
            IndexKey::Version(package, version) | IndexKey::Tag(package, version) => {
                let (kind, address) = (kind(package), package.address());
                format!("this registry has no version {version} of {kind} {address}")
            }
            IndexKey::Content(package, digest) => {
                let (kind, address) = (kind(package), package.address());
                let digest = Digest::Sha256(*digest);
                format!("this registry has nothing with the digest {digest} of {kind} {address}")
            }
            IndexKey::Pushed(index) => {
                let repository = index.repository();
                match index {
                    PushedIndex::Tags(_) => format!("there is no repository {repository}"),
                    PushedIndex::Tag(_, tag) => format!("{repository} has no tag {tag}"),
                    PushedIndex::Manifest(_, digest) => {
                        format!("{repository} has no manifest {digest}")
                    }
                    PushedIndex::Blob(_, digest) => format!("{repository} has no blob {digest}"),
                }
            }
        };
        match &self.wanted {
            Wanted::Tags(..) => Problem::Oci(OciError::new(OciCode::NameUnknown, told)),
            Wanted::Manifest => Problem::Oci(OciError::new(OciCode::ManifestUnknown, told)),
            Wanted::Blob => Problem::Oci(OciError::new(OciCode::BlobUnknown, told)),
            _ => Problem::NotFound(told),
        }
    }

    /// The answer to this request when something is wrong, in the form its client shows.
    pub fn problem<S>(&self, problem: &Problem) -> Reply<S> {
        let reply = match self.wanted {
            Wanted::ModuleDownload => problem.text_reply(),
            Wanted::Tags(..) | Wanted::Manifest | Wanted::Blob => problem.oci_reply(),
            _ => problem.reply(),
        };
        sized(reply, self.method)
    }

    fn is_unchanged(&self, etag: &str) -> bool {
        let header = self.if_none_match.as_deref();
        header.is_some_and(|header| matches_etag(header, etag))
    }

    fn versions<S>(&self, found: Found<S>) -> Reply<S> {
        let IndexMetadata { etag, .. } = found.metadata;
        if self.is_unchanged(&etag) {
            return Reply::new(304, CachePolicy::Revalidate).with("etag", etag);
        }
        Reply::new(200, CachePolicy::Revalidate)
            .with("content-type", "application/json")
            .with("etag", etag)
            .with_body(found.body)
    }
}

/// Whether an `If-None-Match` header names this entity tag (RFC 9110, section 13.1.2: weakly).
fn matches_etag(header: &str, etag: &str) -> bool {
    header.split(',').map(str::trim).any(|candidate| {
        candidate == "*" || candidate.strip_prefix("W/").unwrap_or(candidate) == etag
    })
}

/// The answer to this method: without its body to HEAD.
pub fn sized<S>(reply: Reply<S>, method: Method) -> Reply<S> {
    if method == Method::Head {
        reply.into_head()
    } else {
        reply
    }
}

fn home<S>() -> Reply<S> {
    Reply::text(
        200,
        CachePolicy::Short,
        "This is a Terrace registry for Terraform and OpenTofu.\n\
         Use its hostname in a source address: <hostname>/<namespace>/<type> for a provider, \
         <hostname>/<namespace>/<name>/<system> for a module.\n"
            .to_owned(),
    )
}

fn mirror_home<S>() -> Reply<S> {
    Reply::text(
        200,
        CachePolicy::Short,
        "This is the provider network mirror of a Terrace registry. Name it in the CLI configuration \
         (.terraformrc or .tofurc), with https and the slash at its end:\n\n\
         provider_installation {\n  network_mirror {\n    url = \"https://<this registry>/mirror/\"\n  }\n}\n"
            .to_owned(),
    )
}

/// The services of this registry. Absolute paths with a final slash work for every client and are
/// the same under every hostname (clients.md 1.3, 1.4).
fn discovery<S>() -> Reply<S> {
    let text = r#"{"providers.v1":"/v1/providers/","modules.v1":"/v1/modules/"}"#;
    Reply::json(200, CachePolicy::Short, text.to_owned())
}

fn parse<S, T: serde::de::DeserializeOwned>(found: &Found<S>) -> Result<T, FinishError> {
    match &found.body {
        Body::Text(text) => serde_json::from_str(text).map_err(|_| FinishError::Corrupt),
        Body::Empty | Body::Stream(_) => Err(FinishError::Corrupt),
    }
}
