//! The steps of the Worker's `entry.js`, over memory: KV is read between the steps of the driver, which never
//! sees the value that it passes on.

use std::borrow::Cow;

use futures_util::FutureExt as _;
use terrace_app::driver;
use terrace_app::driver::{Answer, ReadIndices, RequestStep, Unfinished};
use terrace_app::host::{Host as _, Indices as _};
use terrace_core::config::Config;
use terrace_core::http::reply::Body;
use terrace_core::read::{CookieHeader, RequestHead, StoredIndex};
use terrace_core::storage::key::IndexKey;

use super::Response;
use super::memory::{Memory, counted};
use super::registry::Sent;

/// A response from the entry alone.
pub struct ByEntry {
    pub response: Response,
    pub line: Option<String>,
    pub download: Option<String>,
}

/// Returns the entry's response to a request. Its KV read takes `kv_millis` milliseconds.
///
/// # Errors
/// Returns the request, with the value that was read, if it needs the application.
pub fn by_entry(
    memory: &Memory,
    config: &Config,
    sent: &Sent,
    kv_millis: u64,
) -> Result<ByEntry, Box<Unfinished<Vec<u8>>>> {
    let header = |name: &str| {
        let found = sent.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    let (path, query) = sent.target.split_once('?').unwrap_or((&sent.target, ""));
    let head = RequestHead {
        method: &sent.method,
        origin: "https://registry.test",
        path,
        query,
        if_none_match: header("if-none-match"),
        authorization: header("authorization"),
        cookies: CookieHeader::Unread,
        user_agent: header("user-agent"),
    };
    let pending = match driver::begin(&head, config, memory.cache(), memory.now_ms()) {
        RequestStep::Answer(answer) => return Ok(made(config, answer, Vec::new())),
        RequestStep::Continue(unfinished) => return Err(unfinished.with_stream(Vec::new)),
        RequestStep::Read(pending) => pending,
    };
    let mut value = Vec::new();
    let mut of_javascript = |StoredIndex { metadata, body }| {
        let body = match body {
            Body::Stream(stream) => {
                value = stream;
                Body::Stream(())
            }
            Body::Text(text) => Body::Text(text),
            Body::Empty => Body::Empty,
        };
        StoredIndex { metadata, body }
    };
    let is_single = pending.others().is_empty();
    let found = if is_single {
        let found = memory.get(pending.key(), pending.form(), pending.cache_seconds());
        let found = done(found);
        found.map(|found| ReadIndices::from(found.map(&mut of_javascript)))
    } else {
        let keys: Vec<&IndexKey> = pending.keys().collect();
        let found = done(memory.get_all(&keys, pending.cache_seconds()));
        found.map(|found| {
            let mut found = found.into_iter().map(|it| it.map(&mut of_javascript));
            ReadIndices {
                first: found.next().flatten(),
                others: found.collect(),
            }
        })
    };
    memory.advance_ms(kv_millis);
    let range = header("range").filter(|_| is_single && pending.takes_range());
    let range = range.map(str::to_owned);
    match pending.finish(found, range, config, memory.cache(), memory.now_ms()) {
        Ok(answer) => Ok(made(config, answer, value)),
        Err(unfinished) => Err(unfinished.with_stream(|| value)),
    }
}

fn done<T>(read: impl Future<Output = T>) -> T {
    let done = read.now_or_never();
    done.expect("operations in memory are immediate")
}

fn made(config: &Config, answer: Answer<()>, value: Vec<u8>) -> ByEntry {
    let own = |(name, value): &(&str, Cow<'static, str>)| ((*name).to_owned(), value.to_string());
    let line = answer.line().logged(config.logged_requests);
    let download = answer.download().map(|download| counted(&download));
    let reply = answer.reply;
    let response = Response {
        status: reply.status,
        headers: reply.headers.iter().map(own).collect(),
        body: match reply.body {
            Body::Empty => Vec::new(),
            Body::Text(text) => text.into_bytes(),
            Body::Stream(()) => value,
        },
    };
    ByEntry {
        response,
        line,
        download,
    }
}
