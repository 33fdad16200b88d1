//! The read machine. It is synchronous: the code that drives it does the IO.
//!
//! Every request starts in [`begin`], which finds its route. It answers the request, or names the index to read, or
//! leaves the request and its route to a handler. [`Lookup::answer`] turns the index that was read into the answer.
//! Native tests drive the machine over a map. The Worker drives it from its entry, and from its fetch event if a read
//! needs more than its index.
//!
//! # Cost of a read
//! Answers that are known without storage, such as discovery, cost nothing. Every other read costs one KV read. A
//! version list is streamed. The document of one version is parsed, because URLs are signed into the answer: three for a
//! package download, one for each platform in the mirror. Two lists that only other tools request are parsed as well. A
//! read may name up to three keys ([`limits::KEYS_OF_READ`]), which one operation reads; each route of a protocol names
//! one.

mod download;
mod gate;
mod lists;
mod oci;
mod package;
mod plan;
mod view;

use crate::api::endpoint::{Action, Endpoint, ErrorFormat};
use crate::api::route::{ApiRoute, HandledRoute, Route};
#[cfg(doc)]
use crate::auth::access::Access;
use crate::auth::access::CredentialsError;
use crate::config::Config;
use crate::http::method::Method;
use crate::http::oci_error::{OciCode, OciError};
use crate::http::problem::Problem;
use crate::http::reply::{Body, CachePolicy, Reply};
use crate::limits;
use crate::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use crate::model::oci::Digest;
use crate::model::own_hosts::OwnHosts;
use crate::model::package::Package;
use crate::model::platform::Platform;
use crate::model::token_id::TokenId;
use crate::model::version::Version;
use crate::oci::TagPage;
use crate::storage::archive_url::ArchiveUrls;
use crate::storage::index_document::{IndexMetadata, short_etag};
use crate::storage::key::{IndexKey, PushedIndex};
use crate::upstream::pull::{PullPolicy, blocked};
use download::{Urls, mirror_packages, module_download, provider_download};
pub use gate::{invalid_credentials_reply, unauthorized_reply};
use lists::{newest_module, origin_versions};
pub use oci::{CONTENT_DIGEST, oci_base, referrers};
use oci::{is_oci, tags};
use plan::plan;
use terrace_base::time::UnixTime;

/// The result of [`begin`].
#[derive(Debug)]
pub enum Decision<S> {
    /// The answer is known.
    Answer(Reply<S>),
    /// The answer is known, unless this token has been revoked.
    AnswerUnlessRevoked(TokenId, Reply<S>),
    /// The credentials are invalid, and this is the answer.
    InvalidCredentials(CredentialsError, Reply<S>),
    /// Read this, then [`Lookup::answer`].
    Read(Box<Lookup>),
    /// The request is not an indexed read: a handler answers it.
    Handle(HandledRoute, &'static Action),
}

/// A read of an index, or of a few in one operation.
#[derive(Debug)]
pub struct Lookup {
    /// The key of the index that decides whether there is anything to answer.
    pub key: IndexKey,
    /// The keys of other indices that the answer is built from; empty for each route of a protocol. Together
    /// with the first there are at most [`limits::KEYS_OF_READ`], and all values are read as text.
    pub others: Vec<IndexKey>,
    /// The form of the value.
    pub form: IndexForm,
    /// How long the edge may cache the value, in seconds.
    pub cache_seconds: u32,
    /// The token that must not have been revoked.
    pub token: Option<TokenId>,
    /// The requested key, if it is hidden from the caller; [`Lookup::key`] is then a key under which nothing
    /// is stored.
    requested_key: Option<IndexKey>,
    is_private: bool,
    projection: Projection,
    method: Method,
    if_none_match: Option<String>,
    range: Option<String>,
}

/// How a read needs the value of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexForm {
    /// It is passed on unparsed.
    Stream,
    /// It is parsed.
    Text,
}

#[derive(Debug)]
enum Projection {
    Versions,
    Tags(Option<TagPage>, String),
    Manifest,
    Blob,
    /// The details of a version of a provider in the shape of the public registry.
    PublicProvider(ProviderAddress, Version),
    /// The details of a version of a module in the shape of the public registry.
    PublicModule(ModuleAddress, Version),
    /// A redirect to the path of the newest version below this one.
    Newest(String),
    /// A redirect to the newest version, in place of `latest` in this route.
    Latest(ApiRoute),
    /// The details of a package.
    Package(Package),
    /// The details of a version.
    Version(Package, Version),
    /// The documents of a version.
    Navigation(Package, Version),
    ProviderDownload(Package, Version, Platform),
    MirrorPackages,
    ModuleDownload(Checksum),
    NewestModule(ModuleAddress),
    OriginVersions,
    /// The texts of all indices, for the tests of reads with several keys.
    #[cfg(test)]
    Joined,
}

/// Whether the location of a module's archive carries `checksum=` after a signed query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checksum {
    /// The client verifies the parameter and removes it before the request (clients.md 4.7).
    Appended,
    /// The client may request the location unchanged, and the bucket rejects a parameter that is not signed.
    Omitted,
}

/// An index that was read.
#[derive(Debug)]
pub struct StoredIndex<S> {
    /// The key's metadata.
    pub metadata: IndexMetadata,
    /// The value, in the form of the lookup.
    pub body: Body<S>,
}

/// The indices of a read.
#[derive(Debug)]
pub struct StoredIndices<S> {
    /// The index of [`Lookup::key`].
    pub first: StoredIndex<S>,
    /// The indices of [`Lookup::others`], in the same order; `None` if the facts hold nothing for one.
    pub others: Vec<Option<StoredIndex<S>>>,
}

impl<S> From<StoredIndex<S>> for StoredIndices<S> {
    fn from(first: StoredIndex<S>) -> Self {
        let others = Vec::new();
        Self { first, others }
    }
}

/// Whether a list may be served.
#[derive(Debug, PartialEq, Eq)]
enum Freshness {
    /// It may.
    Fresh,
    /// It may. After the answer, its origin should be asked for newer versions.
    Stale(MirroredAddress),
    /// It may not: it is too old, or was made under other rules than those of this deployment.
    Unfit,
}

/// The result of a read other than a reply: a corrupt index, or an error response.
#[derive(Debug)]
pub enum FinishError {
    /// The index is not the output of an index function; rebuild it from the facts.
    Corrupt,
    /// The answer is this problem.
    Problem(Problem),
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

/// The parts of a request that a read depends on.
#[derive(Debug, Clone, Copy)]
pub struct RequestHead<'a> {
    /// The method as sent.
    pub method: &'a str,
    /// The registry's origin as the client reached it: `https://host[:port]`.
    pub origin: &'a str,
    /// The path as sent.
    pub path: &'a str,
    /// The query as sent, without its `?`.
    pub query: &'a str,
    /// The header `If-None-Match`.
    pub if_none_match: Option<&'a str>,
    /// The header `Authorization`, if [`Access::guards_reads`], or if pages of other websites may read the answer to a
    /// request without it.
    pub authorization: Option<&'a str>,
    /// The header `User-Agent`.
    pub user_agent: Option<&'a str>,
}

/// The name that [`begin`] returns for a path without a route.
pub const NO_ROUTE: &str = "none";

/// Begins to answer a request. Also returns the [name](Endpoint::name) of its route. `now` is called only for
/// a request with a token.
pub fn begin<S>(
    head: &RequestHead<'_>,
    config: &Config,
    now: impl FnOnce() -> UnixTime,
) -> (&'static str, Decision<S>) {
    let path = head.path;
    match Route::parse(path) {
        Ok(route) => {
            let endpoint = route.endpoint();
            (endpoint.name, begin_at(route, endpoint, head, config, now))
        }
        Err(problem) => {
            let reply = match problem {
                problem if is_module_download(path) => problem.text_reply(),
                problem if is_oci(path) => problem.oci_reply(),
                problem => problem.reply(),
            };
            (NO_ROUTE, Decision::Answer(reply))
        }
    }
}

fn begin_at<S>(
    route: Route,
    endpoint: &Endpoint,
    head: &RequestHead<'_>,
    config: &Config,
    now: impl FnOnce() -> UnixTime,
) -> Decision<S> {
    let action = match endpoint.requested_action(head.method) {
        Ok(action) => action,
        Err(problem) if endpoint.errors == ErrorFormat::Oci => {
            return Decision::Answer(problem.oci_reply());
        }
        Err(problem) => return Decision::Answer(problem.reply()),
    };
    let own = OwnHosts::new(head.origin, &config.hostnames);
    gate::decide(
        plan(route, action.method, head, &own, config.login.is_some()),
        action,
        head,
        config,
        now,
    )
}

/// Whether people read the errors of this path (clients.md 3.7), even if it is not a route.
fn is_module_download(path: &str) -> bool {
    path.starts_with("/v1/modules/") && path.ends_with("/download")
}

impl Lookup {
    /// Returns all keys of the read, at most [`limits::KEYS_OF_READ`].
    pub fn keys(&self) -> impl Iterator<Item = &IndexKey> {
        std::iter::once(&self.key).chain(&self.others)
    }

    /// Whether the answer redirects to bytes, of which a client may request a range.
    pub fn leads_to_bytes(&self) -> bool {
        matches!(self.projection, Projection::Blob)
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

    /// Sets the header `Range` of the request.
    pub fn set_range(&mut self, range: Option<String>) {
        self.range = range;
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
        let urls = config.archive_urls.as_ref();
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

    /// Returns the answer from the indices that were read.
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
        #[cfg(test)]
        if matches!(self.projection, Projection::Joined) {
            return Ok(tests::joined(found));
        }
        if self.is_composed() {
            return self.finish_composed(&found);
        }
        let found = found.first;
        if let Some(reason) = &found.metadata.revoked {
            return Err(FinishError::Problem(self.revoked_problem(reason)));
        }
        let pull = found.metadata.pull.as_ref();
        if pull.is_some_and(|pull| pull.is_empty) {
            return Err(FinishError::Problem(self.missing()));
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
            Projection::PublicProvider(..)
            | Projection::PublicModule(..)
            | Projection::Newest(_)
            | Projection::Latest(_)
            | Projection::Package(_)
            | Projection::Version(..)
            | Projection::Navigation(..) => return Err(FinishError::Corrupt),
            #[cfg(test)]
            Projection::Joined => return Err(FinishError::Corrupt),
        };
        Ok(self.sent(reply))
    }

    /// Returns the reply for the method and the caller of this request.
    fn sent<S>(&self, reply: Reply<S>) -> Reply<S> {
        let reply = for_method(reply, self.method);
        if self.is_private {
            reply.private()
        } else {
            reply
        }
    }

    /// Whether the answer is composed for people, from one index or several. Such an answer has an entity tag of its
    /// own, and shows revoked versions.
    fn is_composed(&self) -> bool {
        matches!(
            self.projection,
            Projection::PublicProvider(..)
                | Projection::PublicModule(..)
                | Projection::Newest(_)
                | Projection::Latest(_)
                | Projection::Package(_)
                | Projection::Version(..)
                | Projection::Navigation(..)
        )
    }

    fn finish_composed<S>(&self, found: &StoredIndices<S>) -> Result<Reply<S>, FinishError> {
        let etag = composed_etag(found);
        let is_redirect = matches!(
            self.projection,
            Projection::Newest(_) | Projection::Latest(_)
        );
        if !is_redirect && found.first.metadata.revoked.is_none() && self.is_unchanged(&etag) {
            let reply = Reply::new(304, CachePolicy::Revalidate).with("etag", etag);
            return Ok(self.sent(reply));
        }
        let reply = self.composed(found)?;
        let reply = if is_redirect {
            reply
        } else {
            reply.with("etag", etag)
        };
        Ok(self.sent(reply))
    }

    fn composed<S>(&self, found: &StoredIndices<S>) -> Result<Reply<S>, FinishError> {
        let StoredIndices { first, others } = found;
        let other = |at: usize| others.get(at).unwrap_or(&None);
        let missing = || FinishError::Problem(self.missing());
        match &self.projection {
            Projection::Package(address) => package::package(address, first),
            Projection::Latest(route) => package::latest(route, first)?.ok_or_else(missing),
            Projection::Newest(path) => package::newest(path, first)?.ok_or_else(missing),
            Projection::Version(address, version) => {
                package::version(address, version, first, [other(0), other(1)])
            }
            Projection::Navigation(address, version) => {
                package::navigation(address, version, first)
            }
            Projection::PublicModule(address, version) => {
                package::public_module(address, version, first, other(0))
            }
            Projection::PublicProvider(address, version) => match &first.metadata.revoked {
                Some(reason) => Err(FinishError::Problem(self.revoked_problem(reason))),
                None => package::public_provider(address, version, first, [other(0), other(1)]),
            },
            _ => Err(FinishError::Corrupt),
        }
    }

    /// Returns the answer for a mirrored version that the operator blocks; `None` for any other. The version
    /// of content that is named by its digest is only in its `metadata`.
    pub fn blocked<S>(
        &self,
        policy: &PullPolicy,
        metadata: Option<&IndexMetadata>,
    ) -> Option<Reply<S>> {
        let (address, version) = match &self.key {
            IndexKey::Version(Package::Mirrored(address), version)
            | IndexKey::About(Package::Mirrored(address), version)
            | IndexKey::Tag(Package::Mirrored(address), version) => (address, version),
            IndexKey::Content(Package::Mirrored(address), _) => {
                (address, metadata?.content.as_ref()?.version.as_ref()?)
            }
            _ => return None,
        };
        let is_blocked = policy.blocks(address, version);
        is_blocked.then(|| self.problem(&blocked(address, version)))
    }

    /// Returns whether the list that was found may be served. A list that depends on releases alone always
    /// may.
    fn freshness(&self, metadata: &IndexMetadata, policy: &PullPolicy, now: UnixTime) -> Freshness {
        let (IndexKey::MirrorVersions(Package::Mirrored(address))
        | IndexKey::Overview(Package::Mirrored(address))
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
        match now.since(checked_at) {
            age if age < limits::PULL_CHECK_SECONDS => Freshness::Fresh,
            age if age < limits::PULL_STALE_SECONDS => Freshness::Stale(address.clone()),
            _ => Freshness::Unfit,
        }
    }

    /// Returns the version whose offers are served, with its provider.
    fn offerer(&self, policy: &PullPolicy) -> Option<(&MirroredAddress, &Version)> {
        match &self.key {
            IndexKey::Version(Package::Mirrored(address), version) if policy.pulls(address) => {
                Some((address, version))
            }
            _ => None,
        }
    }

    fn revoked_problem(&self, reason: &str) -> Problem {
        Problem::Gone(match &self.key {
            IndexKey::Version(package, version) | IndexKey::Tag(package, version) => {
                format!("{} {version} is revoked: {reason}", package.address())
            }
            _ => format!("this version is revoked: {reason}"),
        })
    }

    /// Returns the answer if nothing of this name exists.
    pub fn not_found<S>(&self) -> Reply<S> {
        self.problem(&self.missing())
    }

    fn missing(&self) -> Problem {
        let kind = |package: &Package| match package {
            Package::Provider(_) | Package::Mirrored(_) => "provider",
            Package::Module(_) => "module",
        };
        let message = match self.requested_key.as_ref().unwrap_or(&self.key) {
            IndexKey::Versions(package)
            | IndexKey::MirrorVersions(package)
            | IndexKey::Overview(package)
            | IndexKey::Tags(package) => {
                let (kind, address) = (kind(package), package.address());
                format!("this registry has no {kind} {address}")
            }
            IndexKey::Version(package, version)
            | IndexKey::About(package, version)
            | IndexKey::Tag(package, version) => {
                let (kind, address) = (kind(package), package.address());
                format!("this registry has no version {version} of {kind} {address}")
            }
            IndexKey::Content(package, digest) => {
                let (kind, address) = (kind(package), package.address());
                let digest = Digest::Sha256(*digest);
                format!("{kind} {address} has no content with the digest {digest}")
            }
            IndexKey::Catalog(owner) | IndexKey::Symbols(owner) => {
                format!("this registry has no packages of {owner}")
            }
            IndexKey::Revocations | IndexKey::MergedCatalog(_) => {
                "this registry has no such path: check the URL".to_owned()
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
        match &self.projection {
            Projection::Tags(..) => Problem::Oci(OciError::new(OciCode::NameUnknown, message)),
            Projection::Manifest => Problem::Oci(OciError::new(OciCode::ManifestUnknown, message)),
            Projection::Blob => Problem::Oci(OciError::new(OciCode::BlobUnknown, message)),
            _ => Problem::NotFound(message),
        }
    }

    /// Returns the answer for a problem, in the form that the client of this request shows.
    pub fn problem<S>(&self, problem: &Problem) -> Reply<S> {
        let reply = match self.projection {
            Projection::ModuleDownload(_) | Projection::NewestModule(_) => problem.text_reply(),
            Projection::Tags(..) | Projection::Manifest | Projection::Blob => problem.oci_reply(),
            _ => problem.reply(),
        };
        for_method(reply, self.method)
    }

    fn is_unchanged(&self, etag: &str) -> bool {
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

/// Returns the entity tag of an answer that is composed from these indices by this version of Terrace.
fn composed_etag<S>(found: &StoredIndices<S>) -> String {
    let mut text = env!("CARGO_PKG_VERSION").to_owned();
    let others = found.others.iter().map(Option::as_ref);
    for index in std::iter::once(Some(&found.first)).chain(others) {
        text.push(' ');
        text.push_str(index.map_or("", |index| index.metadata.etag.as_str()));
    }
    short_etag(&text)
}

/// Whether an `If-None-Match` header contains this entity tag (RFC 9110, section 13.1.2: weak comparison).
pub fn matches_etag(header: &str, etag: &str) -> bool {
    header.split(',').map(str::trim).any(|candidate| {
        candidate == "*" || candidate.strip_prefix("W/").unwrap_or(candidate) == etag
    })
}

/// Returns the reply to this method: without its body for HEAD.
pub fn for_method<S>(reply: Reply<S>, method: Method) -> Reply<S> {
    if method == Method::Head {
        reply.into_head()
    } else {
        reply
    }
}

fn parse<'f, S, T: serde::Deserialize<'f>>(found: &'f StoredIndex<S>) -> Result<T, FinishError> {
    match &found.body {
        Body::Text(text) => {
            serde_json::from_slice(text.as_bytes()).map_err(|_| FinishError::Corrupt)
        }
        Body::Empty | Body::Stream(_) => Err(FinishError::Corrupt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_base::time::UnixTime;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    /// Returns the answer of a read with several keys: the texts of its indices, in the order of the keys.
    pub(super) fn joined<S>(found: StoredIndices<S>) -> Reply<S> {
        let StoredIndices { first, others } = found;
        let text = |found: Option<StoredIndex<S>>| match found.map(|found| found.body) {
            Some(Body::Text(text)) => text,
            Some(_) => "not text".to_owned(),
            None => "nothing".to_owned(),
        };
        let others = others.into_iter().map(text);
        let texts: Vec<String> = std::iter::once(text(Some(first))).chain(others).collect();
        Reply::text(200, CachePolicy::NoStore, texts.join(" "))
    }

    fn config() -> Config {
        let vars: [(&str, &str); 0] = [];
        Config::from_vars(&vars).unwrap()
    }

    fn several() -> Lookup {
        let key = |text| IndexKey::parse(text).unwrap();
        Lookup {
            key: key("providers/hosted/acme/widget/versions"),
            others: vec![
                key("providers/hosted/acme/widget/version/1.0.0"),
                key("providers/hosted/acme/widget/tags"),
            ],
            form: IndexForm::Text,
            cache_seconds: 30,
            token: None,
            requested_key: None,
            is_private: false,
            projection: Projection::Joined,
            method: Method::Get,
            if_none_match: None,
            range: None,
        }
    }

    fn found(text: &str) -> StoredIndex<()> {
        let metadata = serde_json::from_str(r#"{"etag":"\"e\""}"#).unwrap();
        let body = Body::Text(text.to_owned());
        StoredIndex { metadata, body }
    }

    #[test]
    fn a_read_with_several_keys_is_answered_from_all_their_indices() {
        let lookup = several();
        assert_eq!(lookup.keys().count(), limits::KEYS_OF_READ);
        let found = StoredIndices {
            first: found("one"),
            others: vec![Some(found("two")), None],
        };
        let outcome = lookup.answer(found, &config(), "https://registry.test", NOW);
        let ReadOutcome::Fresh(reply) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(matches!(reply.body, Body::Text(text) if text == "one two nothing"));
    }

    #[test]
    fn a_hidden_read_with_several_keys_names_none_of_them() {
        let hidden = several();
        let is_the_same = |key: &IndexKey| key.hidden() == *key;
        assert!(!hidden.keys().any(is_the_same));
        assert!(
            hidden
                .keys()
                .map(IndexKey::hidden)
                .all(|key| is_the_same(&key))
        );
    }
}
