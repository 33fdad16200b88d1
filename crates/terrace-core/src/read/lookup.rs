//! A read of an index, from its key to the answer.

use super::composed::Composed;
use super::download::{Urls, mirror_packages, module_download, provider_download};
use super::lists::{newest_module, origin_versions};
use super::oci::tags;
use super::pulled::Freshness;
use super::{IndexRequest, StoredIndex, StoredIndices, for_method, matches_etag, parse};
use crate::auth::access::Visibility;
use crate::config::Config;
use crate::http::method::Method;
use crate::http::problem::Problem;
use crate::http::reply::{CachePolicy, Reply};
use crate::model::address::{MirroredAddress, ModuleAddress};
use crate::model::package::Package;
use crate::model::platform::Platform;
use crate::model::token_id::TokenId;
use crate::model::version::Version;
use crate::oci::TagPage;
#[cfg(doc)]
use crate::read::KEYS_OF_READ;
use crate::storage::archive_url::ArchiveUrls;
use crate::storage::failover::ServingBucket;
use crate::storage::index_document::IndexMetadata;
use crate::storage::key::IndexKey;
use crate::upstream::pull::PullPolicy;
use terrace_base::time::UnixTime;

/// A read of an index, or of a few in one operation.
#[derive(Debug)]
pub struct Lookup {
    /// The key of the index that decides whether there is anything to answer.
    pub key: IndexKey,
    /// The keys of other indices that the answer is built from; empty for each route of a protocol. Together
    /// with the first there are at most [`KEYS_OF_READ`], and all values are read as text.
    pub others: Vec<IndexKey>,
    /// The form of the value.
    pub form: IndexForm,
    /// How long the edge may cache the value, in seconds.
    pub cache_seconds: u32,
    /// The token that must not have been revoked.
    pub token: Option<TokenId>,
    /// The requested key, if it is hidden from the caller; [`Lookup::key`] is then a key under which nothing
    /// is stored.
    pub(super) requested_key: Option<IndexKey>,
    pub(super) is_private: bool,
    pub(super) projection: Projection,
    pub(super) method: Method,
    pub(super) if_none_match: Option<String>,
    /// The header `Range` of a request for bytes.
    pub range: Option<String>,
    /// The bucket that the URLs of the answer lead to.
    pub serving: ServingBucket,
}

/// How a read needs the value of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexForm {
    /// It is passed on unparsed.
    Stream,
    /// It is parsed.
    Text,
}

/// The answer that a read makes of its index.
#[derive(Debug)]
pub(super) enum Projection {
    Versions,
    Tags(Option<TagPage>, String),
    Manifest,
    Blob,
    Composed(Composed),
    /// A web page, which is not made here: see [`PageRead`](super::page::PageRead).
    Page,
    ProviderDownload(Package, Version, Platform),
    MirrorPackages,
    ModuleDownload(Checksum),
    NewestModule(ModuleAddress),
    OriginVersions,
}

/// The presence of `checksum=` after the signed query of a module's location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checksum {
    /// The client verifies the parameter and removes it before the request (clients.md 4.7).
    Appended,
    /// The client may request the location unchanged, and the bucket rejects a parameter that is not signed.
    Omitted,
}

/// The result of answering from an index.
#[derive(Debug)]
pub enum ReadOutcome<S> {
    /// The answer.
    Fresh(Reply<S>),
    /// The answer. After it, the origin should be asked for newer versions.
    Stale(Reply<S>, MirroredAddress),
    /// The index may not be served: it is too old, or was made under other rules than those of this
    /// deployment.
    Unfit,
    /// The index is not the output of an index function; rebuild it from the facts.
    Corrupt,
}

/// The result of a read other than a reply: a corrupt index, or an error response.
#[derive(Debug)]
pub enum FinishError {
    /// The index is not the output of an index function; rebuild it from the facts.
    Corrupt,
    /// The answer is this problem.
    Problem(Problem),
}

impl Lookup {
    /// Creates the lookup for a request, of the keys that the caller may see.
    pub(super) fn new(request: IndexRequest, visibility: Visibility, method: Method) -> Self {
        let IndexRequest { key, others, .. } = request;
        let (key, others, requested_key) = match visibility {
            Visibility::Hidden => {
                let others = others.iter().map(IndexKey::hidden).collect();
                (key.hidden(), others, Some(key))
            }
            _ => (key, others, None),
        };
        Self {
            key,
            others,
            form: request.form,
            cache_seconds: request.cache_seconds,
            token: None,
            requested_key,
            is_private: visibility == Visibility::Private,
            projection: request.projection,
            method,
            if_none_match: None,
            range: None,
            serving: ServingBucket::Main,
        }
    }

    /// Returns all keys of the read, at most [`KEYS_OF_READ`].
    pub fn keys(&self) -> impl Iterator<Item = &IndexKey> {
        std::iter::once(&self.key).chain(&self.others)
    }

    /// Returns whether the answer redirects to bytes, of which a client may request a range.
    pub fn leads_to_bytes(&self) -> bool {
        matches!(self.projection, Projection::Blob)
    }

    /// Returns whether the answer contains URLs of archives or blobs.
    pub fn signs_urls(&self) -> bool {
        matches!(
            self.projection,
            Projection::Blob
                | Projection::ProviderDownload(..)
                | Projection::MirrorPackages
                | Projection::ModuleDownload(_)
        )
    }

    /// Returns the version that counts as downloaded by an answer with this status: of a provider, in the
    /// registry or in the network mirror, of a module, or of an artifact by its tag. `None` if this request
    /// does not count as a download.
    pub fn download(&self, status: u16) -> Option<(&Package, &Version)> {
        match (&self.projection, &self.key, self.method) {
            _ if status != 200 => None,
            (_, _, Method::Head) => None,
            (
                Projection::ProviderDownload(..)
                | Projection::ModuleDownload(_)
                | Projection::MirrorPackages,
                IndexKey::Version(package, version),
                _,
            )
            | (Projection::Manifest, IndexKey::Tag(package, version), _) => {
                Some((package, version))
            }
            _ => None,
        }
    }

    /// Returns the package of another registry that was asked for and is not served, with its version if the request names
    /// one: it is not mirrored, or the rules of the deployment refuse it.
    pub fn refused(&self, status: u16) -> Option<(&Package, Option<&Version>)> {
        let found = match self.requested_key.as_ref().unwrap_or(&self.key) {
            _ if status != 404 => return None,
            IndexKey::Versions(package)
            | IndexKey::MirrorVersions(package)
            | IndexKey::Tags(package) => (package, None),
            IndexKey::Version(package, version) | IndexKey::Tag(package, version) => {
                (package, Some(version))
            }
            _ => return None,
        };
        found.0.origin().is_some().then_some(found)
    }

    /// Returns the key of the requested list of a package, and whether it is hidden from the caller. `None` for all other
    /// reads, and for a provider that may be fetched from its origin.
    pub fn package_list(&self, policy: &PullPolicy) -> Option<(&IndexKey, bool)> {
        let requested = self.requested_key.as_ref().unwrap_or(&self.key);
        let package = match requested {
            IndexKey::Versions(package)
            | IndexKey::MirrorVersions(package)
            | IndexKey::Overview(package)
            | IndexKey::Tags(package) => package,
            _ => return None,
        };
        match package {
            Package::Mirrored(address) if policy.pulls(address) => None,
            _ => Some((requested, self.requested_key.is_some())),
        }
    }

    /// Returns the answer from the indices that were found, if they may be served. `origin` is the registry's
    /// own, as the client reached it: `https://host`.
    pub fn answer<S>(
        &self,
        found: StoredIndices<S>,
        config: &Config,
        origin: &str,
        now: UnixTime,
    ) -> ReadOutcome<S> {
        let metadata = &found.first.metadata;
        if !metadata.is_sendable() {
            return ReadOutcome::Corrupt;
        }
        let stale = match self.freshness(metadata, &config.pull, now) {
            Freshness::Fresh => None,
            Freshness::Stale(address) => Some(address),
            Freshness::Unfit => return ReadOutcome::Unfit,
        };
        let urls = config.download_urls(self.serving);
        let reply = match self.blocked(&config.pull, Some(metadata)) {
            Some(reply) => reply,
            None => match self.finish(found, urls, origin, &config.pull, now) {
                Ok(reply) => reply,
                Err(FinishError::Problem(problem)) => self.problem(&problem),
                Err(FinishError::Corrupt) => return ReadOutcome::Corrupt,
            },
        };
        match stale {
            None => ReadOutcome::Fresh(reply),
            Some(address) => ReadOutcome::Stale(reply, address),
        }
    }

    /// Returns the answer from the indices that were read. The functions for the projections are never inlined: a first
    /// request compiles the one that it needs.
    ///
    /// `origin` is the registry's own, as the client reached it: `https://host`; `policy` names the providers
    /// that may be pulled.
    ///
    /// # Errors
    /// If the index cannot be used, or the answer is an error; see [`FinishError`].
    pub fn finish<S>(
        &self,
        found: StoredIndices<S>,
        urls: Option<&ArchiveUrls>,
        origin: &str,
        policy: &PullPolicy,
        now: UnixTime,
    ) -> Result<Reply<S>, FinishError> {
        let pull = found.first.metadata.pull.as_ref();
        if pull.is_some_and(|pull| pull.is_empty) {
            return Err(FinishError::Problem(self.missing()));
        }
        if let Projection::Composed(composed) = &self.projection {
            self.check_provider(&found)?;
            return self.finish_composed(composed, &found);
        }
        let found = found.first;
        if let Some(reason) = &found.metadata.revoked {
            let problem = self.refusal_problem(reason, found.metadata.is_blocked);
            return Err(FinishError::Problem(problem));
        }
        let reply = match &self.projection {
            Projection::Versions => self.versions(found),
            Projection::Tags(None, _) => self.versions(found),
            Projection::Tags(Some(page), name) => tags(page, name, &found)?,
            Projection::Manifest => self.manifest(found)?,
            Projection::Blob => self.blob(&found, &Urls::new(urls, origin, now)?)?,
            Projection::ProviderDownload(package, version, platform) => {
                let index = parse(&found)?;
                let urls = Urls::new(urls, origin, now)?;
                provider_download(&index, package, version, platform, &urls)?
            }
            Projection::MirrorPackages => {
                let index = parse(&found)?;
                let urls = Urls::new(urls, origin, now)?;
                let reply = mirror_packages(index, self.offerer(policy), &urls)?;
                reply.ok_or_else(|| FinishError::Problem(self.missing()))?
            }
            Projection::ModuleDownload(checksum) => {
                let index = parse(&found)?;
                module_download(&index, *checksum, &Urls::new(urls, origin, now)?)?
            }
            Projection::NewestModule(address) => {
                let reply = newest_module(address, &found)?;
                reply.ok_or_else(|| FinishError::Problem(self.missing()))?
            }
            Projection::OriginVersions => origin_versions(&found)?,
            Projection::Composed(_) | Projection::Page => return Err(FinishError::Corrupt),
        };
        Ok(self.sent(reply))
    }

    /// Returns the reply for the method and the caller of this request.
    pub(super) fn sent<S>(&self, reply: Reply<S>) -> Reply<S> {
        let reply = for_method(reply, self.method);
        if self.is_private {
            reply.private()
        } else {
            reply
        }
    }

    /// Returns whether the client has the answer with this entity tag.
    pub(super) fn is_unchanged(&self, etag: &str) -> bool {
        let header = self.if_none_match.as_deref();
        header.is_some_and(|header| matches_etag(header, etag))
    }

    fn versions<S>(&self, found: StoredIndex<S>) -> Reply<S> {
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
