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

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::address::MirroredAddress;
use crate::archive::ArchiveFormat;
use crate::archive_url::ArchiveUrls;
use crate::index::{IndexMetadata, IndexedPackage, PackagesIndex, ProviderVersionIndex};
use crate::key::{ArchiveKey, ArchiveKind, IndexKey, Package};
use crate::limits;
use crate::oci::{
    self, Digest, MediaType, OciCode, OciError, OciPath, OciRequest, Reference, Repository, TagPage,
};
use crate::own_hosts::OwnHosts;
use crate::package_hash::PackageHash;
use crate::platform::Platform;
use crate::problem::Problem;
use crate::pull::PullPolicy;
use crate::release::ModuleArchiveDocument;
use crate::reply::{Body, CachePolicy, Reply};
use crate::route::{Method, OCI_PREFIX, Route};
use crate::signed_path::PulledPackage;
use crate::time::UnixTime;
use crate::version::Version;

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
        Route::OciBase => return Begun::Answer(sized(oci_base(), method)),
        Route::Oci(OciRequest { repository, path }) => {
            let package = repository.package(own);
            let page = TagPage::parse(query);
            return begin_oci(package, path, page, method, if_none_match);
        }
        other @ (Route::Archive(..)
        | Route::Pull(..)
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
    }))
}

fn begin_oci<S>(
    package: Package,
    path: OciPath,
    page: Option<TagPage>,
    method: Method,
    if_none_match: Option<String>,
) -> Begun<S> {
    let changes = !matches!(package, Package::Provider(_) | Package::Module(_));
    let (key, form, cache_seconds, wanted) = match path {
        OciPath::Tags => {
            let form = match page {
                Some(_) => IndexForm::Text,
                None => IndexForm::Stream,
            };
            let wanted = Wanted::Tags(page, Repository::of(&package));
            let key = IndexKey::Tags(package);
            (key, form, limits::LIST_CACHE_SECONDS, wanted)
        }
        OciPath::Manifest(Reference::Tag(version)) => {
            let seconds = if changes {
                limits::LIST_CACHE_SECONDS
            } else {
                limits::VERSION_CACHE_SECONDS
            };
            let key = IndexKey::Tag(package, version);
            (key, IndexForm::Stream, seconds, Wanted::Manifest)
        }
        OciPath::Manifest(Reference::Digest(digest)) => (
            IndexKey::Content(package, digest),
            IndexForm::Stream,
            limits::CONTENT_CACHE_SECONDS,
            Wanted::Manifest,
        ),
        OciPath::Blob(digest) if digest == oci::empty_config() => {
            return Begun::Answer(sized(empty_config(), method));
        }
        OciPath::Blob(digest) => (
            IndexKey::Content(package, digest),
            IndexForm::Stream,
            limits::CONTENT_CACHE_SECONDS,
            Wanted::Blob,
        ),
        OciPath::Referrers(_) => return Begun::Answer(sized(no_referrers(), method)),
    };
    Begun::Read(Box::new(Lookup {
        key,
        form,
        cache_seconds,
        wanted,
        method,
        if_none_match,
    }))
}

/// Whether the error of this path is read by an OCI client.
fn is_oci(path: &str) -> bool {
    path == "/v2" || path.starts_with(OCI_PREFIX)
}

/// Whether the error of this path is read by a person (clients.md 3.7), although the path is no
/// route.
fn is_module_download(path: &str) -> bool {
    path.starts_with("/v1/modules/") && path.ends_with("/download")
}

impl Lookup {
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
                (address, &metadata?.content.as_ref()?.version)
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
                let (kind, address, digest) = (kind(package), package.address(), Digest(*digest));
                format!("this registry has nothing with the digest {digest} of {kind} {address}")
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

    /// A manifest, with every header that is fatal to miss (clients.md 6.5).
    fn manifest<S>(&self, found: Found<S>) -> Result<Reply<S>, FinishError> {
        let IndexMetadata { etag, content, .. } = found.metadata;
        let content = content.ok_or(FinishError::Corrupt)?;
        let Some(media_type) = content.media_type else {
            return Err(self.unknown());
        };
        if self.is_unchanged(&etag) {
            return Ok(Reply::new(304, CachePolicy::Revalidate).with("etag", etag));
        }
        Ok(Reply::new(200, CachePolicy::Revalidate)
            .with("content-type", media_type.as_str())
            .with("content-length", content.size.to_string())
            .with(CONTENT_DIGEST, Digest(content.sha256).to_string())
            .with("etag", etag)
            .with_body(found.body))
    }

    /// Where a zip is. Its URL is good for GET alone, so HEAD is answered here.
    fn blob<S>(&self, found: &Found<S>, urls: &Urls<'_>) -> Result<Reply<S>, FinishError> {
        let content = found.metadata.content.as_ref();
        let content = content.ok_or(FinishError::Corrupt)?;
        if content.media_type.is_some() {
            return Err(self.unknown());
        }
        let digest = Digest(content.sha256).to_string();
        if self.method == Method::Head {
            return Ok(Reply::new(200, CachePolicy::NoStore)
                .with("content-type", "application/octet-stream")
                .with("content-length", content.size.to_string())
                .with(CONTENT_DIGEST, digest));
        }
        let zip = ArchiveKey {
            digest: content.sha256,
            kind: ArchiveKind::Archive(ArchiveFormat::Zip),
        };
        Ok(Reply::new(307, CachePolicy::NoStore)
            .with("location", urls.of(zip))
            .with(CONTENT_DIGEST, digest))
    }

    /// What was found is of another kind than what was asked for.
    fn unknown(&self) -> FinishError {
        let (code, told) = match self.wanted {
            Wanted::Blob => (OciCode::BlobUnknown, "this is a manifest"),
            _ => (OciCode::ManifestUnknown, "this is a blob"),
        };
        FinishError::Problem(Problem::Oci(OciError::new(code, told)))
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

fn sized<S>(reply: Reply<S>, method: Method) -> Reply<S> {
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

/// What the digest of an answer is told by.
const CONTENT_DIGEST: &str = "docker-content-digest";

/// "Determining Support" of OCI Distribution; OpenTofu asks it first (clients.md 6.1).
fn oci_base<S>() -> Reply<S> {
    Reply::json(200, CachePolicy::Short, "{}".to_owned())
        .with("docker-distribution-api-version", "registry/2.0")
}

/// The config that all manifests of all repositories share.
fn empty_config<S>() -> Reply<S> {
    let text = oci::EMPTY_CONFIG.to_owned();
    Reply::new(200, CachePolicy::Short)
        .with("content-type", "application/octet-stream")
        .with(CONTENT_DIGEST, Digest(oci::empty_config()).to_string())
        .with_body(Body::Text(text))
}

/// Nothing refers to what is published. The type is exact (clients.md 11.7).
fn no_referrers<S>() -> Reply<S> {
    let media_type = MediaType::Index.as_str();
    let text = format!(r#"{{"schemaVersion":2,"mediaType":"{media_type}","manifests":[]}}"#);
    Reply::new(200, CachePolicy::NoStore)
        .with("content-type", media_type)
        .with_body(Body::Text(text))
}

/// A part of a list of tags. The next part is named by a path, which is of this origin whatever that
/// is called (clients.md 6.3).
fn tags<S>(page: &TagPage, name: &str, found: &Found<S>) -> Result<Reply<S>, FinishError> {
    let Body::Text(text) = &found.body else {
        return Err(FinishError::Corrupt);
    };
    let (text, next) = page.of(text).map_err(|_| FinishError::Corrupt)?;
    let reply = Reply::json(200, CachePolicy::Revalidate, text);
    Ok(match (page.n, next) {
        (Some(n), Some(last)) => {
            let next = format!("<{OCI_PREFIX}{name}/tags/list?n={n}&last={last}>; rel=\"next\"");
            reply.with("link", next)
        }
        _ => reply,
    })
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

/// What is needed to sign URLs now.
struct Urls<'a> {
    urls: &'a ArchiveUrls,
    origin: &'a str,
    now: UnixTime,
}

impl<'a> Urls<'a> {
    fn new(
        urls: Option<&'a ArchiveUrls>,
        origin: &'a str,
        now: UnixTime,
    ) -> Result<Self, FinishError> {
        let urls = urls.ok_or_else(|| {
            let message = "no secret is set that could sign download URLs: \
                           set TERRACE_ADMIN_TOKEN, TERRACE_URL_SECRET or the TERRACE_S3_… variables";
            FinishError::Problem(Problem::Misconfigured(message.to_owned()))
        })?;
        Ok(Self { urls, origin, now })
    }

    fn of(&self, archive: ArchiveKey) -> String {
        self.urls.download(self.origin, archive, self.now)
    }
}

/// The answer of the provider registry protocol's "Find a Provider Package".
#[derive(Serialize)]
struct ProviderDownload<'a> {
    protocols: &'a [crate::protocol_version::ProtocolVersion],
    os: &'a str,
    arch: &'a str,
    filename: &'a str,
    download_url: String,
    shasums_url: String,
    shasums_signature_url: String,
    shasum: crate::digest::Sha256,
    signing_keys: SigningKeys<'a>,
    packages: BTreeMap<String, DownloadPackage>,
}

/// What OpenTofu 1.12 checks besides (clients.md 2.4). Of the hashes only `zh:` is told: that and
/// the size are what this registry has itself verified; `h1:` is its publisher's word.
#[derive(Serialize)]
struct DownloadPackage {
    hashes: [PackageHash; 1],
    package_size: u64,
}

#[derive(Serialize)]
struct SigningKeys<'a> {
    gpg_public_keys: [GpgPublicKey<'a>; 1],
}

#[derive(Serialize)]
struct GpgPublicKey<'a> {
    key_id: &'a str,
    ascii_armor: &'a str,
}

fn provider_download<S>(
    index: ProviderVersionIndex,
    package: &Package,
    version: &Version,
    platform: &Platform,
    urls: &Urls<'_>,
) -> Result<Reply<S>, FinishError> {
    let found = index
        .packages
        .iter()
        .find(|candidate| candidate.platform == *platform);
    let Some(IndexedPackage {
        filename, sha256, ..
    }) = found
    else {
        let known: Vec<String> = index
            .packages
            .iter()
            .map(|p| p.platform.to_string())
            .collect();
        return Err(FinishError::Problem(Problem::NotFound(format!(
            "version {version} of {} has no package for {platform}; it has {}",
            package.address(),
            known.join(", ")
        ))));
    };
    let zip = ArchiveKind::Archive(crate::archive::ArchiveFormat::Zip);
    let key = |digest, kind| ArchiveKey { digest, kind };
    let answer = ProviderDownload {
        protocols: &index.protocols,
        os: platform.os(),
        arch: platform.arch(),
        filename,
        download_url: urls.of(key(*sha256, zip)),
        shasums_url: urls.of(key(index.shasums, ArchiveKind::Shasums)),
        shasums_signature_url: urls.of(key(index.signature, ArchiveKind::Signature)),
        shasum: *sha256,
        signing_keys: SigningKeys {
            gpg_public_keys: [GpgPublicKey {
                key_id: &index.signing_key.key_id,
                ascii_armor: &index.signing_key.ascii_armor,
            }],
        },
        packages: index.packages.iter().map(download_package).collect(),
    };
    let text = serde_json::to_string(&answer).map_err(|_| FinishError::Corrupt)?;
    Ok(Reply::json(200, CachePolicy::NoStore, text))
}

fn download_package(package: &IndexedPackage) -> (String, DownloadPackage) {
    let verified = DownloadPackage {
        hashes: [PackageHash::zh(package.sha256)],
        package_size: package.size,
    };
    (package.platform.to_string(), verified)
}

/// The answer of the network mirror protocol's "List Available Installation Packages", in one piece:
/// `{"archives":{"linux_amd64":{"url":"…","hashes":["zh:…","h1:…"]}}}` (clients.md 5.4, 5.8); `None` if
/// there is none.
fn mirror_packages<S>(
    index: PackagesIndex,
    offerer: Option<(&MirroredAddress, &Version)>,
    urls: &Urls<'_>,
) -> Result<Option<Reply<S>>, FinishError> {
    let offered = index.offered.into_iter().filter_map(|offer| {
        let (address, version) = offerer?;
        let name = offer.platform.to_string();
        let package = PulledPackage {
            address: address.clone(),
            version: version.clone(),
            platform: offer.platform,
        };
        let archive = MirrorArchive {
            url: urls.urls.pull(urls.origin, package, urls.now)?,
            hashes: vec![PackageHash::zh(offer.sha256)],
        };
        Some((name, archive))
    });
    let archives = index.packages.into_iter().map(|package| {
        let zip = ArchiveKind::Archive(crate::archive::ArchiveFormat::Zip);
        let key = ArchiveKey {
            digest: package.sha256,
            kind: zip,
        };
        let hashes = [Some(PackageHash::zh(package.sha256)), package.h1];
        let archive = MirrorArchive {
            url: urls.of(key),
            hashes: hashes.into_iter().flatten().collect(),
        };
        (package.platform.to_string(), archive)
    });
    let answer = MirrorArchives {
        archives: archives.chain(offered).collect(),
    };
    if answer.archives.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_string(&answer).map_err(|_| FinishError::Corrupt)?;
    Ok(Some(Reply::json(200, CachePolicy::NoStore, text)))
}

#[derive(Serialize)]
struct MirrorArchives {
    archives: BTreeMap<String, MirrorArchive>,
}

#[derive(Serialize)]
struct MirrorArchive {
    url: String,
    hashes: Vec<PackageHash>,
}

/// The answer of the module registry protocol's "Download Source Code".
#[derive(Serialize)]
struct ModuleLocation<'a> {
    location: &'a str,
}

/// The location both in the body, which OpenTofu reads, and in the header, which Terraform reads
/// (clients.md 3.4). The checksum is appended behind the signature: go-getter verifies it and
/// takes it off before it asks (4.7).
fn module_download<S>(
    index: &ModuleArchiveDocument,
    urls: &Urls<'_>,
) -> Result<Reply<S>, FinishError> {
    let url = urls.of(index.archive_key());
    let (path, query) = url.split_once('?').unwrap_or((url.as_str(), ""));
    let mut location = path.to_owned();
    if let Some(subdir) = &index.subdir {
        location.push_str("//");
        location.push_str(subdir.as_str());
    }
    location.push('?');
    if !query.is_empty() {
        location.push_str(query);
        location.push('&');
    }
    write!(location, "checksum=sha256:{}", index.sha256).map_err(|_| FinishError::Corrupt)?;
    let body = ModuleLocation {
        location: &location,
    };
    let text = serde_json::to_string(&body).map_err(|_| FinishError::Corrupt)?;
    Ok(Reply::json(200, CachePolicy::NoStore, text).with("x-terraform-get", location))
}
