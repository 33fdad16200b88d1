//! The read machine, through whose [`begin`] every request goes: a synchronous machine, driven by code that has the IO.
//!
//! [`begin`] finds the route of a request and either answers it, or names the one index to read, or leaves it, with its
//! route, to a handler. [`Lookup::answer`] turns what was found into the answer. Native tests
//! drive it over a map, the Worker from its entry, and from its fetch event where a read needs more than that.
//!
//! # What a read costs
//! Answers that are known without storage, such as discovery: nothing. Every other read: one KV read. A version list is streamed through; the
//! document of one version is parsed, because URLs are signed into the answer: three for a package
//! download, one for each platform in the mirror. Two lists that only other tools ask for are parsed as well. A read may
//! name up to three keys ([`limits::KEYS_OF_READ`]), which one operation reads; each route of a protocol names one.

mod details;
mod download;
mod gate;
mod lists;
mod oci;
mod plan;
mod view;

use crate::api::endpoint::{Action, Endpoint, Errors};
use crate::api::route::{HandledRoute, Route};
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
use crate::storage::index_document::IndexMetadata;
use crate::storage::key::{IndexKey, PushedIndex};
use crate::upstream::pull::{PullPolicy, blocked};
use details::provider_version;
use download::{Urls, mirror_packages, module_download, provider_download};
pub use gate::{refusal, refused};
use lists::{newest_module, origin_versions};
pub use oci::{CONTENT_DIGEST, oci_base, referrers};
use oci::{is_oci, tags};
use plan::plan;
use terrace_base::time::UnixTime;

/// What [`begin`] makes of a request.
#[derive(Debug)]
pub enum Begun<S> {
    /// The answer is known.
    Answer(Reply<S>),
    /// The answer is known, unless this token has been revoked.
    AnswerTo(TokenId, Reply<S>),
    /// The credentials are of no use, and this is the answer.
    Refused(CredentialsError, Reply<S>),
    /// Read this, then [`Lookup::answer`].
    Read(Box<Lookup>),
    /// Not a read.
    Other(HandledRoute, &'static Action),
}

/// A read of an index, or of a few in one operation.
#[derive(Debug)]
pub struct Lookup {
    /// The key of the index that decides whether there is anything to answer.
    pub key: IndexKey,
    /// The keys of other indices that the answer is made of; empty for each route of a protocol. With the first, they are
    /// at most [`limits::KEYS_OF_READ`], and all values are read as text.
    pub others: Vec<IndexKey>,
    /// The form of the value.
    pub form: IndexForm,
    /// How long the edge may keep it, in seconds.
    pub cache_seconds: u32,
    /// Which token must not have been revoked.
    pub token: Option<TokenId>,
    /// What was asked for, where that is hidden from the caller, and [`Lookup::key`] leads to nothing.
    told: Option<IndexKey>,
    is_private: bool,
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
    ProviderVersion(ProviderAddress, Version),
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
    /// The client verifies it and takes it off before the request (clients.md 4.7).
    Appended,
    /// The client may request the location as it stands, and the bucket refuses a parameter that is not signed.
    Omitted,
}

/// What was read.
#[derive(Debug)]
pub struct Found<S> {
    /// The key's metadata.
    pub metadata: IndexMetadata,
    /// The value, in the form that was wanted.
    pub body: Body<S>,
}

/// The indices of a read.
#[derive(Debug)]
pub struct FoundIndices<S> {
    /// The index of [`Lookup::key`].
    pub first: Found<S>,
    /// The indices of [`Lookup::others`], in the same order; `None` if the facts hold nothing for one.
    pub others: Vec<Option<Found<S>>>,
}

impl<S> From<Found<S>> for FoundIndices<S> {
    fn from(first: Found<S>) -> Self {
        let others = Vec::new();
        Self { first, others }
    }
}

/// Whether a list may be answered.
#[derive(Debug, PartialEq, Eq)]
enum Freshness {
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

/// What a read makes of the index that it has found.
#[derive(Debug)]
pub enum Answered<S> {
    /// The answer.
    Fresh(Reply<S>),
    /// The answer, and after it the origin should be asked whether there is more.
    Stale(Reply<S>, MirroredAddress),
    /// It may not be answered: it is too old, or was made by other rules than those of this deployment.
    Unfit,
    /// It is not what an index function writes: make it anew from the facts.
    Corrupt,
}

/// A request, as far as a read depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
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
    /// The header `Authorization`, where [`Access::guards_reads`].
    pub authorization: Option<&'a str>,
    /// The header `User-Agent`.
    pub user_agent: Option<&'a str>,
}

/// What [`begin`] calls the route of a path that is none.
pub const NO_ROUTE: &str = "none";

/// Begins to answer a request; tells the [name](Endpoint::name) of its route, too. `now` is asked only for
/// one with a token.
pub fn begin<S>(
    asked: &Asked<'_>,
    config: &Config,
    now: impl FnOnce() -> UnixTime,
) -> (&'static str, Begun<S>) {
    let path = asked.path;
    match Route::parse(path) {
        Ok(route) => {
            let endpoint = route.endpoint();
            (endpoint.name, begin_at(route, endpoint, asked, config, now))
        }
        Err(problem) => {
            let reply = match problem {
                problem if is_module_download(path) => problem.text_reply(),
                problem if is_oci(path) => problem.oci_reply(),
                problem => problem.reply(),
            };
            (NO_ROUTE, Begun::Answer(reply))
        }
    }
}

fn begin_at<S>(
    route: Route,
    endpoint: &Endpoint,
    asked: &Asked<'_>,
    config: &Config,
    now: impl FnOnce() -> UnixTime,
) -> Begun<S> {
    let action = match endpoint.requested(asked.method) {
        Ok(action) => action,
        Err(problem) if endpoint.errors == Errors::Oci => {
            return Begun::Answer(problem.oci_reply());
        }
        Err(problem) => return Begun::Answer(problem.reply()),
    };
    let own = OwnHosts::new(asked.origin, &config.hostnames);
    gate::pass(
        plan(route, action.method, asked, &own, config.login.is_some()),
        action,
        asked,
        config,
        now,
    )
}

/// Whether the error of this path is read by a person (clients.md 3.7), although the path is no
/// route.
fn is_module_download(path: &str) -> bool {
    path.starts_with("/v1/modules/") && path.ends_with("/download")
}

impl Lookup {
    /// All keys of the read, at most [`limits::KEYS_OF_READ`].
    pub fn keys(&self) -> impl Iterator<Item = &IndexKey> {
        std::iter::once(&self.key).chain(&self.others)
    }

    /// Whether the answer leads to bytes, of which a part may be asked for.
    pub fn leads_to_bytes(&self) -> bool {
        matches!(self.wanted, Wanted::Blob)
    }

    /// Which version of what is downloaded by an answer with this status, where this is the request that tells
    /// so: of a provider, of a module, of what the network mirror has, or of an artifact by its tag.
    pub fn download(&self, status: u16) -> Option<(&Package, &Version)> {
        match (&self.wanted, &self.key, self.method) {
            _ if status != 200 => None,
            (_, _, Method::Head) => None,
            (
                Wanted::ProviderDownload(..) | Wanted::ModuleDownload(_) | Wanted::MirrorPackages,
                IndexKey::Version(package, version),
                _,
            )
            | (Wanted::Manifest, IndexKey::Tag(package, version), _) => Some((package, version)),
            _ => None,
        }
    }

    /// From now on the request has this header `Range`.
    pub fn set_range(&mut self, range: Option<String>) {
        self.range = range;
    }

    /// Returns the answer from the indices that were found, if it may be answered. The registry's own `origin` is
    /// as the client reached it: `https://host`.
    pub fn answer<S>(
        &self,
        found: FoundIndices<S>,
        config: &Config,
        origin: &str,
        now: UnixTime,
    ) -> Answered<S> {
        let metadata = &found.first.metadata;
        if !metadata.is_sendable() {
            return Answered::Corrupt;
        }
        let stale = match self.freshness(metadata, &config.pull, now) {
            Freshness::Fresh => None,
            Freshness::Stale(address) => Some(address),
            Freshness::Unfit => return Answered::Unfit,
        };
        let urls = config.archive_urls.as_ref();
        let reply = match self.blocked(&config.pull, Some(metadata)) {
            Some(reply) => reply,
            None => match self.finish(found, urls, origin, &config.pull, now) {
                Ok(reply) => reply,
                Err(FinishError::Problem(problem)) => self.problem(&problem),
                Err(FinishError::Corrupt) => return Answered::Corrupt,
            },
        };
        match stale {
            None => Answered::Fresh(reply),
            Some(address) => Answered::Stale(reply, address),
        }
    }

    /// Returns the answer from the indices that were read.
    ///
    /// `origin` is the registry's own, as the client reached it: `https://host`; `policy` says whose
    /// offers may be pulled.
    ///
    /// # Errors
    /// When the index cannot be used, or the answer is an error; see [`FinishError`].
    pub fn finish<S>(
        &self,
        found: FoundIndices<S>,
        urls: Option<&ArchiveUrls>,
        origin: &str,
        policy: &PullPolicy,
        now: UnixTime,
    ) -> Result<Reply<S>, FinishError> {
        #[cfg(test)]
        if matches!(self.wanted, Wanted::Joined) {
            return Ok(tests::joined(found));
        }
        let found = found.first;
        if let Some(reason) = &found.metadata.gone {
            return Err(FinishError::Problem(self.gone(reason)));
        }
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
            Wanted::ProviderVersion(address, version) => {
                provider_version(&parse(&found)?, address, version)?
            }
            Wanted::ProviderDownload(package, version, platform) => {
                let index = parse(&found)?;
                let urls = Urls::new(urls, origin, now)?;
                provider_download(&index, package, version, platform, &urls)?
            }
            Wanted::MirrorPackages => {
                let index = parse(&found)?;
                let urls = Urls::new(urls, origin, now)?;
                let reply = mirror_packages(index, self.offerer(policy), &urls)?;
                reply.ok_or_else(|| FinishError::Problem(self.missing()))?
            }
            Wanted::ModuleDownload(checksum) => {
                let index = parse(&found)?;
                module_download(&index, *checksum, &Urls::new(urls, origin, now)?)?
            }
            Wanted::NewestModule(address) => {
                let reply = newest_module(address, &found)?;
                reply.ok_or_else(|| FinishError::Problem(self.missing()))?
            }
            Wanted::OriginVersions => origin_versions(&found)?,
            #[cfg(test)]
            Wanted::Joined => return Err(FinishError::Corrupt),
        };
        let reply = sized(reply, self.method);
        Ok(if self.is_private {
            reply.made_private()
        } else {
            reply
        })
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
        is_blocked.then(|| self.problem(&blocked(address, version)))
    }

    /// What to do with the list that was found, if it depends on more than releases.
    fn freshness(&self, metadata: &IndexMetadata, policy: &PullPolicy, now: UnixTime) -> Freshness {
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
        match now.since(checked_at) {
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

    fn gone(&self, reason: &str) -> Problem {
        Problem::Gone(match &self.key {
            IndexKey::Version(package, version) | IndexKey::Tag(package, version) => {
                format!("{} {version} is revoked: {reason}", package.address())
            }
            _ => format!("this version is revoked: {reason}"),
        })
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
        let told = match self.told.as_ref().unwrap_or(&self.key) {
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
                format!("{kind} {address} has no content with the digest {digest}")
            }
            IndexKey::Revocations => "this registry has no such path: check the URL".to_owned(),
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
            Wanted::ModuleDownload(_) | Wanted::NewestModule(_) => problem.text_reply(),
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

fn parse<'f, S, T: serde::Deserialize<'f>>(found: &'f Found<S>) -> Result<T, FinishError> {
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

    /// The answer of a read with several keys: the texts of its indices, in the order of the keys.
    pub(super) fn joined<S>(found: FoundIndices<S>) -> Reply<S> {
        let FoundIndices { first, others } = found;
        let text = |found: Option<Found<S>>| match found.map(|found| found.body) {
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
            told: None,
            is_private: false,
            wanted: Wanted::Joined,
            method: Method::Get,
            if_none_match: None,
            range: None,
        }
    }

    fn found(text: &str) -> Found<()> {
        let metadata = serde_json::from_str(r#"{"etag":"\"e\""}"#).unwrap();
        let body = Body::Text(text.to_owned());
        Found { metadata, body }
    }

    #[test]
    fn a_read_with_several_keys_is_answered_from_all_their_indices() {
        let lookup = several();
        assert_eq!(lookup.keys().count(), limits::KEYS_OF_READ);
        let found = FoundIndices {
            first: found("one"),
            others: vec![Some(found("two")), None],
        };
        let answered = lookup.answer(found, &config(), "https://registry.test", NOW);
        let Answered::Fresh(reply) = answered else {
            panic!("{answered:?}");
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
