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
//! read may name up to five keys ([`KEYS_OF_READ`]), which one operation reads; each route of a protocol names
//! one.

mod composed;
mod download;
mod gate;
mod lists;
mod lookup;
mod oci;
mod page;
mod plan;
mod problems;
mod pulled;
mod stored;
mod view;

use crate::api::endpoint::{Action, Endpoint, ErrorFormat};
use crate::api::route::Route;
#[cfg(doc)]
use crate::auth::access::Access;
use crate::auth::access::CredentialsError;
use crate::config::Config;
use crate::http::method::Method;
use crate::http::reply::Reply;
use crate::limits;
use crate::model::own_hosts::OwnHosts;
use crate::model::package::Package;
use crate::model::token_id::TokenId;
use crate::storage::key::IndexKey;
use composed::Composed;
pub use gate::{invalid_credentials_reply, unauthorized_reply};
use lookup::{Checksum, Projection};
pub use lookup::{FinishError, IndexForm, Lookup, ReadOutcome};
use oci::is_oci;
pub use oci::{CONTENT_DIGEST, oci_base, referrers};
pub use page::{PageRead, PageSubject, PageView, VersionView};
use plan::plan;
pub use pulled::Freshness;
use stored::parse;
pub use stored::{StoredIndex, StoredIndices};
use terrace_base::time::UnixTime;

/// Maximum number of indices that one read names. One KV operation reads them; its own limit is
/// `INDICES_AT_ONCE`.
pub const KEYS_OF_READ: usize = 5;

/// Cache time of the documents of one immutable version, in seconds. For this long, a revoked version may
/// still be served somewhere.
pub const VERSION_CACHE_SECONDS: u32 = 300;

/// The plan for a request.
enum ReadPlan<S> {
    /// This is the answer to every caller.
    Answer(Reply<S>),
    /// This is the answer to callers that may read from the package's repository.
    AnswerToReaders(Package, Reply<S>),
    /// An index must be read.
    Read(IndexRequest),
    /// It is not a read.
    Handle(Route),
}

/// An index to read, and its purpose.
struct IndexRequest {
    key: IndexKey,
    /// See [`Lookup::others`](Lookup::others).
    others: Vec<IndexKey>,
    form: IndexForm,
    cache_seconds: u32,
    projection: Projection,
}

impl IndexRequest {
    /// Creates the request for one index, cached as briefly as a list.
    fn new(key: IndexKey, form: IndexForm, projection: Projection) -> Self {
        Self {
            key,
            others: Vec::new(),
            form,
            cache_seconds: limits::LIST_CACHE_SECONDS,
            projection,
        }
    }
}

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
    Handle(Route, &'static Action),
    /// The answer may depend on the session of a browser: begin again with [`CookieHeader::Read`].
    ReadCookies,
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
    /// The header `Authorization`, if [`Access::guards_reads`], if the log names callers, or if pages of other websites may
    /// read the answer to a request without it.
    pub authorization: Option<&'a str>,
    /// The header `Cookie`.
    pub cookies: CookieHeader<'a>,
    /// The header `User-Agent`.
    pub user_agent: Option<&'a str>,
}

/// The header `Cookie`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CookieHeader<'a> {
    /// It has not been read: most requests do not depend on it.
    #[default]
    Unread,
    /// It has been read after [`Decision::ReadCookies`].
    Read(Option<&'a str>),
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
    let is_anonymous = head.authorization.is_none();
    if action.reads_session
        && is_anonymous
        && head.cookies == CookieHeader::Unread
        && config.reads_sessions()
    {
        return Decision::ReadCookies;
    }
    let own = OwnHosts::new(head.origin, &config.hostnames);
    gate::decide(
        plan(route, action.method, head, &own, config.login.is_some()),
        action,
        head,
        config,
        now,
    )
}

/// Returns whether people read the errors of this path (clients.md 3.7), even if it is not a route.
fn is_module_download(path: &str) -> bool {
    let is_of_module = path.starts_with("/v1/modules/")
        || (path.starts_with("/origins/") && path.contains("/v1/modules/"));
    is_of_module && path.ends_with("/download")
}

/// Returns whether an `If-None-Match` header contains this entity tag (RFC 9110, section 13.1.2: weak comparison).
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
