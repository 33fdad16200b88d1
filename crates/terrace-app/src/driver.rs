//! The driver of the read machine: it begins each request, and finishes the reads that one index answers.
//!
//! No code here waits or writes. Between [`begin`] and [`PendingRead::finish`] the host reads the index:
//! natively in the [pipeline](crate::pipeline), on Workers in JavaScript. A request that takes more than that
//! is [`Unfinished`], and the pipeline [resumes](crate::pipeline::resume) it. The log line and the download
//! to count are created here, and nowhere else.

use std::borrow::Cow;

use terrace_base::time::UnixTime;
use terrace_core::api::endpoint::Action;
use terrace_core::api::route::{
    ADMIN_PREFIX, McpScope, Route, is_open_to_websites, needs_security_headers,
};
use terrace_core::api::subject::Subject;
use terrace_core::auth::access::{Caller, CredentialsError, Session};
use terrace_core::config::Config;
use terrace_core::http::log_fields;
use terrace_core::http::log_fields::LogField;
use terrace_core::http::method::Method;
use terrace_core::http::reply::{Body, Reply};
use terrace_core::http::request_line::{
    ClientProduct, IndexState, OperationStats, RequestLine, Usage,
};
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::token_id::TokenId;
use terrace_core::model::version::Version;
use terrace_core::read;
use terrace_core::read::{
    CookieHeader, Decision, IndexForm, Lookup, ReadOutcome, RequestHead, StoredIndex, StoredIndices,
};
use terrace_core::storage::key::IndexKey;

use crate::cache::Cache;
use crate::host::{DownloadEvent, StoreError};

/// The next step of a request. `S` is the host's stream.
#[derive(Debug)]
pub enum RequestStep<S> {
    /// Send this answer.
    Answer(Answer<S>),
    /// Read the index, then [`PendingRead::finish`].
    Read(PendingRead),
    /// Continue in the pipeline.
    Continue(Box<Unfinished<S>>),
}

/// An answer, with the facts that are logged and counted.
#[derive(Debug)]
pub struct Answer<S> {
    /// The reply.
    pub reply: Reply<S>,
    record: Record,
    millis: u64,
    lookup: Option<Box<Lookup>>,
}

/// A read that waits for its index, or for several.
#[derive(Debug)]
pub struct PendingRead {
    record: Record,
    lookup: Box<Lookup>,
    origin: String,
    /// The time at which the read of the index began, in milliseconds since 1970.
    read_at: u64,
}

/// The values that KV has for a read; `None` if it has none for a key.
#[derive(Debug)]
pub struct ReadIndices<S> {
    /// The index of [`PendingRead::key`].
    pub first: Option<StoredIndex<S>>,
    /// The indices of [`PendingRead::others`], in the same order.
    pub others: Vec<Option<StoredIndex<S>>>,
}

/// A request that takes more than its indices, with its state so far.
#[derive(Debug)]
pub struct Unfinished<S> {
    pub(crate) record: Record,
    pub(crate) remaining: RemainingWork<S>,
}

/// The rest of the work on a request.
#[derive(Debug)]
pub(crate) enum RemainingWork<S> {
    /// A read that needs more than its index.
    Read(Suspension<S>),
    /// The whole request, by a handler: it is not an indexed read.
    Handle(Route, &'static Action),
    /// The whole request, from its beginning: the answer may depend on its cookies, which were not read.
    ReadCookies,
}

/// The reason why a read needs more than its index.
#[derive(Debug)]
pub(crate) enum Suspension<S> {
    /// The credentials are invalid. This is the answer, unless the client's address has sent too many invalid
    /// credentials.
    InvalidCredentials(CredentialsError, Reply<S>),
    /// This is the answer, unless the token has been revoked.
    AnswerUnlessRevoked(TokenId, Reply<S>),
    /// The index may be read, unless the token has been revoked.
    ReadUnlessRevoked(TokenId, Box<Lookup>),
    /// The index may be read, once the isolate knows which bucket serves downloads.
    ReadOnceServingIsKnown(Box<Lookup>),
    /// The index was read, and does not give an answer.
    IndexMiss(Box<Lookup>, MissReason),
    /// This is the answer. After it, the origin of the provider should be asked for newer versions.
    Stale(Box<Lookup>, Reply<S>, MirroredAddress),
}

/// The reason why an index does not give an answer.
#[derive(Debug)]
pub(crate) enum MissReason {
    /// KV has no index under these keys, of which there may be several.
    Absent(Vec<IndexKey>),
    /// It could not be read.
    Failed(StoreError),
    /// It is too old, or was made under other rules than those of this deployment.
    Unfit,
    /// It is not the output of an index function.
    Corrupt,
}

/// The facts about a request that are logged.
#[derive(Debug)]
pub(crate) struct Record {
    route: &'static str,
    method: Option<Method>,
    client: ClientProduct,
    /// The time at which the request arrived, in milliseconds since 1970.
    began: u64,
    usage: Usage,
    index: Option<IndexState>,
    shows_usage: bool,
    needs_security_headers: bool,
    is_open_to_websites: bool,
    varies_by_cookie: bool,
    /// The members of optional fields in the log line: those of the subject, and then those of the caller; empty if the
    /// deployment logs none.
    members: String,
    /// The length of the members of the subject.
    subject_length: usize,
}

/// Begins to answer a request that arrived at `now`, in milliseconds since 1970.
pub fn begin<S>(
    head: &RequestHead<'_>,
    config: &Config,
    cache: &Cache,
    now: u64,
) -> RequestStep<S> {
    let time = UnixTime(now / 1000);
    let (route, decision) = read::begin(head, config, || time);
    let mut record = Record::new(head, route, now);
    if !config.log_fields.is_empty() {
        (record.members, record.subject_length) = members(head, config, time);
    }
    // The numbers of operations tell how much there is of others.
    if head.path.starts_with(ADMIN_PREFIX) {
        let access = &config.access;
        let caller = access.caller_at(head.authorization, None, || time);
        record.shows_usage = caller.is_ok_and(|caller| caller.is_admin());
    }
    let is_valid = |token| cache.is_known_valid(token, time);
    let remaining = match decision {
        Decision::Answer(reply) => return RequestStep::Answer(record.answer(reply, None, now)),
        Decision::AnswerUnlessRevoked(token, reply) if is_valid(token) => {
            return RequestStep::Answer(record.answer(reply, None, now));
        }
        Decision::AnswerUnlessRevoked(token, reply) => {
            RemainingWork::Read(Suspension::AnswerUnlessRevoked(token, reply))
        }
        Decision::InvalidCredentials(bad, reply) => {
            RemainingWork::Read(Suspension::InvalidCredentials(bad, reply))
        }
        Decision::Read(lookup) => match lookup.token {
            Some(token) if !is_valid(token) => {
                RemainingWork::Read(Suspension::ReadUnlessRevoked(token, lookup))
            }
            _ => return look_up(record, lookup, head.origin, (config, cache), now),
        },
        Decision::Handle(route, action) => RemainingWork::Handle(route, action),
        Decision::ReadCookies => RemainingWork::ReadCookies,
    };
    RequestStep::Continue(Box::new(Unfinished { record, remaining }))
}

/// Returns the next step of a read by an authorised caller.
pub(crate) fn look_up<S>(
    record: Record,
    mut lookup: Box<Lookup>,
    origin: &str,
    (config, cache): (&Config, &Cache),
    now: u64,
) -> RequestStep<S> {
    if config.fallback.is_some() && lookup.signs_urls() {
        match cache.known_serving(UnixTime(now / 1000)) {
            Some(serving) => lookup.serving = serving,
            None => {
                let remaining = RemainingWork::Read(Suspension::ReadOnceServingIsKnown(lookup));
                return RequestStep::Continue(Box::new(Unfinished { record, remaining }));
            }
        }
    }
    look_up_at(record, lookup, origin, config, now)
}

/// Returns the next step of a read by an authorised caller. The lookup knows the bucket that serves downloads.
pub(crate) fn look_up_at<S>(
    record: Record,
    lookup: Box<Lookup>,
    origin: &str,
    config: &Config,
    now: u64,
) -> RequestStep<S> {
    if let Some(reply) = lookup.blocked(&config.pull, None) {
        return RequestStep::Answer(record.answer(reply, Some(lookup), now));
    }
    RequestStep::Read(PendingRead {
        record,
        lookup,
        origin: origin.to_owned(),
        read_at: now,
    })
}

impl<S> RequestStep<S> {
    /// Returns the same as a later step of the request with this record.
    pub(crate) fn after(mut self, earlier: &Record) -> Self {
        let record = match &mut self {
            Self::Answer(answer) => &mut answer.record,
            Self::Read(pending) => &mut pending.record,
            Self::Continue(unfinished) => &mut unfinished.record,
        };
        record.began = earlier.began;
        record.add(earlier.usage);
        self
    }
}

impl PendingRead {
    /// All keys of the read, which one operation reads.
    pub fn keys(&self) -> impl Iterator<Item = &IndexKey> {
        self.lookup.keys()
    }

    /// The key of the index that decides whether there is anything to answer.
    pub fn key(&self) -> &IndexKey {
        &self.lookup.key
    }

    /// The keys of the other indices, which the same operation reads as text.
    pub fn others(&self) -> &[IndexKey] {
        &self.lookup.others
    }

    /// The form in which the value is needed.
    pub fn form(&self) -> IndexForm {
        self.lookup.form
    }

    /// How long the edge may cache the value, in seconds.
    pub fn cache_seconds(&self) -> u32 {
        self.lookup.cache_seconds
    }

    /// Returns whether the header `Range` is honoured.
    pub fn takes_range(&self) -> bool {
        self.lookup.leads_to_bytes()
    }

    /// Completes the read with the index that was found, or with those of [`PendingRead::key`] and
    /// [`PendingRead::others`], in this order. `range` is the header of this name, if it is honoured.
    ///
    /// # Errors
    /// The request, if the index does not answer it.
    pub fn finish<S>(
        self,
        found: Result<ReadIndices<S>, StoreError>,
        range: Option<String>,
        config: &Config,
        cache: &Cache,
        now: u64,
    ) -> Result<Answer<S>, Box<Unfinished<S>>> {
        let Self {
            mut record,
            mut lookup,
            origin,
            read_at,
        } = self;
        lookup.range = range;
        let kv = OperationStats {
            operations: 1,
            millis: now.saturating_sub(read_at),
        };
        record.add(Usage {
            kv,
            ..Usage::default()
        });
        let outcome = match found {
            Ok(read) => match read.into_stored(&lookup) {
                Ok(found) => lookup.answer(found, config, &origin, UnixTime(now / 1000)),
                Err(absent) if is_known_absent(&lookup, &absent, config, cache, now) => {
                    record.index = Some(IndexState::Miss);
                    let reply = lookup.not_found();
                    return Ok(record.answer(reply, Some(lookup), now));
                }
                Err(absent) => {
                    return Err(record.suspend_on_miss(lookup, MissReason::Absent(absent)));
                }
            },
            Err(error) => return Err(record.suspend_on_miss(lookup, MissReason::Failed(error))),
        };
        match outcome {
            ReadOutcome::Fresh(reply) => {
                record.index = Some(IndexState::Hit);
                Ok(record.answer(reply, Some(lookup), now))
            }
            ReadOutcome::Stale(reply, address) => {
                record.index = Some(IndexState::Hit);
                let remaining = RemainingWork::Read(Suspension::Stale(lookup, reply, address));
                Err(Box::new(Unfinished { record, remaining }))
            }
            ReadOutcome::Unfit => Err(record.suspend_on_miss(lookup, MissReason::Unfit)),
            ReadOutcome::Corrupt => Err(record.suspend_on_miss(lookup, MissReason::Corrupt)),
        }
    }
}

/// Returns whether R2 is known to have nothing for a list that KV does not have either.
#[inline(never)]
fn is_known_absent(
    lookup: &Lookup,
    absent: &[IndexKey],
    config: &Config,
    cache: &Cache,
    now: u64,
) -> bool {
    let list = lookup.package_list(&config.pull);
    let now = UnixTime(now / 1000);
    absent.contains(&lookup.key) && list.is_some_and(|list| cache.absences().contain(list, now))
}

impl<S> From<Option<StoredIndex<S>>> for ReadIndices<S> {
    fn from(first: Option<StoredIndex<S>>) -> Self {
        let others = Vec::new();
        Self { first, others }
    }
}

impl<S> ReadIndices<S> {
    /// Returns all indices of a read, or the keys of the absent ones.
    pub(crate) fn into_stored(self, lookup: &Lookup) -> Result<StoredIndices<S>, Vec<IndexKey>> {
        let Self { first, mut others } = self;
        others.resize_with(lookup.others.len(), || None);
        let is_absent = std::iter::once(first.is_none()).chain(others.iter().map(Option::is_none));
        let absent = lookup
            .keys()
            .zip(is_absent)
            .filter(|(_, is_absent)| *is_absent);
        let absent: Vec<IndexKey> = absent.map(|(key, _)| key.clone()).collect();
        match first {
            Some(first) if absent.is_empty() => Ok(StoredIndices { first, others }),
            _ => Err(absent),
        }
    }
}

impl<S> Answer<S> {
    /// The log line.
    pub fn line(&self) -> RequestLine<'_> {
        let mut line = self.record.line(self.reply.status, self.millis);
        let lookup = self.lookup.as_ref();
        let refused = lookup.and_then(|it| it.refused(self.reply.status));
        if let Some(refused) = refused {
            let of_caller = self.record.members.get(self.record.subject_length..);
            let of_caller = of_caller.unwrap_or_default();
            line.members = Cow::Owned(refused_members(refused) + of_caller);
        }
        line
    }

    /// The download to count, if the answer is one.
    pub fn download(&self) -> Option<DownloadEvent<'_>> {
        let (package, version) = self.lookup.as_ref()?.download(self.reply.status)?;
        Some(DownloadEvent {
            package,
            version,
            route: self.record.route,
            client: &self.record.client,
        })
    }
}

impl Unfinished<()> {
    /// Returns the same with the value that was read, for which `()` stands.
    pub fn with_stream<S>(self: Box<Self>, stream: impl FnOnce() -> S) -> Box<Unfinished<S>> {
        let Self { record, remaining } = *self;
        let remaining = match remaining {
            RemainingWork::Read(suspension) => RemainingWork::Read(suspension.with_stream(stream)),
            RemainingWork::Handle(route, action) => RemainingWork::Handle(route, action),
            RemainingWork::ReadCookies => RemainingWork::ReadCookies,
        };
        Box::new(Unfinished { record, remaining })
    }
}

impl Suspension<()> {
    fn with_stream<S>(self, stream: impl FnOnce() -> S) -> Suspension<S> {
        match self {
            Self::InvalidCredentials(bad, reply) => {
                Suspension::InvalidCredentials(bad, with_stream(reply, stream))
            }
            Self::AnswerUnlessRevoked(token, reply) => {
                Suspension::AnswerUnlessRevoked(token, with_stream(reply, stream))
            }
            Self::ReadUnlessRevoked(token, lookup) => Suspension::ReadUnlessRevoked(token, lookup),
            Self::ReadOnceServingIsKnown(lookup) => Suspension::ReadOnceServingIsKnown(lookup),
            Self::IndexMiss(lookup, miss) => Suspension::IndexMiss(lookup, miss),
            Self::Stale(lookup, reply, address) => {
                Suspension::Stale(lookup, with_stream(reply, stream), address)
            }
        }
    }
}

fn with_stream<S>(reply: Reply<()>, stream: impl FnOnce() -> S) -> Reply<S> {
    let Reply {
        status,
        headers,
        body,
    } = reply;
    let body = match body {
        Body::Empty => Body::Empty,
        Body::Text(text) => Body::Text(text),
        Body::Stream(()) => Body::Stream(stream()),
    };
    Reply {
        status,
        headers,
        body,
    }
}

impl MissReason {
    fn state(&self) -> IndexState {
        match self {
            Self::Absent(_) | Self::Failed(_) => IndexState::Miss,
            Self::Unfit => IndexState::Unfit,
            Self::Corrupt => IndexState::Corrupt,
        }
    }
}

impl Record {
    /// Creates the record of a request for this route that arrived at `now`, in milliseconds since 1970.
    pub(crate) fn new(head: &RequestHead<'_>, route: &'static str, now: u64) -> Self {
        let has_session =
            matches!(head.cookies, CookieHeader::Read(Some(cookies)) if Session::is_in(cookies));
        let is_anonymous = head.authorization.is_none() && !has_session;
        Self {
            route,
            method: Method::parse(head.method),
            client: ClientProduct::of_user_agent(head.user_agent),
            began: now,
            usage: Usage::default(),
            index: None,
            shows_usage: false,
            needs_security_headers: needs_security_headers(head.path),
            is_open_to_websites: is_anonymous && is_open_to_websites(head.path),
            varies_by_cookie: matches!(head.cookies, CookieHeader::Read(_)),
            members: String::new(),
            subject_length: 0,
        }
    }

    /// Adds operations of the request.
    pub(crate) fn add(&mut self, usage: Usage) {
        let add = |sum: &mut OperationStats, took: OperationStats| {
            sum.operations = sum.operations.saturating_add(took.operations);
            sum.millis = sum.millis.saturating_add(took.millis);
        };
        add(&mut self.usage.kv, usage.kv);
        add(&mut self.usage.r2, usage.r2);
        add(&mut self.usage.origin, usage.origin);
        self.usage.cache = self.usage.cache.or(usage.cache);
    }

    /// Creates the answer at `now`, in milliseconds since 1970. A read has a lookup.
    pub(crate) fn answer<S>(
        self,
        reply: Reply<S>,
        lookup: Option<Box<Lookup>>,
        now: u64,
    ) -> Answer<S> {
        let millis = now.saturating_sub(self.began);
        let mut reply = reply;
        if self.needs_security_headers {
            reply = reply.with_security_headers();
        }
        if self.is_open_to_websites {
            reply = reply.open_to_websites();
        }
        if self.varies_by_cookie {
            reply = reply.varying_by("cookie");
        }
        if self.shows_usage {
            let timing = self.line(reply.status, millis).server_timing();
            reply = reply.with("server-timing", timing);
        }
        Answer {
            reply,
            record: self,
            millis,
            lookup,
        }
    }

    fn suspend_on_miss<S>(mut self, lookup: Box<Lookup>, miss: MissReason) -> Box<Unfinished<S>> {
        self.index = Some(miss.state());
        let remaining = RemainingWork::Read(Suspension::IndexMiss(lookup, miss));
        Box::new(Unfinished {
            record: self,
            remaining,
        })
    }

    fn line(&self, status: u16, millis: u64) -> RequestLine<'_> {
        RequestLine {
            route: self.route,
            method: self.method,
            status,
            millis,
            usage: self.usage,
            index: self.index,
            client: &self.client,
            members: Cow::Borrowed(&self.members),
        }
    }
}

/// Returns the members of optional fields in the log line of a request, and the length of those of its subject, which come
/// first. Credentials that are not valid name no caller.
#[inline(never)]
fn members(head: &RequestHead<'_>, config: &Config, now: UnixTime) -> (String, usize) {
    let own = OwnHosts::new(head.origin, &config.hostnames);
    let Subject { package, version } = Subject::of_path(head.path, &own);
    let fields = &config.log_fields;
    let caller = match (head.cookies, head.authorization) {
        _ if !log_fields::include_caller(fields) => Caller::Anonymous,
        (CookieHeader::Read(cookies), None) => config.caller_of_cookies(cookies, || now),
        (_, authorization) => {
            let resource = McpScope::at(head.path).map(|scope| scope.resource(head.origin));
            let caller = config
                .access
                .caller_at(authorization, resource.as_ref(), || now);
            caller.unwrap_or(Caller::Anonymous)
        }
    };
    let subject = [(LogField::Package, package), (LogField::Version, version)];
    let mut members = log_fields::members(fields, &subject);
    let subject_length = members.len();
    let token = caller.token().map(|id| id.to_string());
    let name = config.access.logged_name(&caller);
    let of_caller = [(LogField::Token, token), (LogField::Caller, name)];
    members += &log_fields::members(fields, &of_caller);
    (members, subject_length)
}

/// Returns the members that name a refused version. They are logged whatever the deployment has chosen.
#[inline(never)]
fn refused_members((package, version): (&Package, Option<&Version>)) -> String {
    let Subject { package, version } = Subject::of(package, version);
    let subject = [(LogField::Package, package), (LogField::Version, version)];
    log_fields::members(&log_fields::SUBJECT, &subject)
}
