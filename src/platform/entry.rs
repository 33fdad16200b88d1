//! The reads that `entry.js` drives, with as few calls into wasm as possible. Only text passes between the
//! two.

use std::cell::OnceCell;

use terrace_app::cache::Cache;
use terrace_app::driver;
use terrace_app::driver::{Answer, PendingRead, ReadIndices, RequestStep, Unfinished};
use terrace_app::host::StoreError;
use terrace_base::json::push_escaped;
use terrace_core::config::Config;
use terrace_core::http::reply::{Body, Reply};
use terrace_core::read::{CookieHeader, RequestHead};
use terrace_core::storage::key::IndexKey;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen::{JsCast as _, JsValue};
use worker::wasm_bindgen_futures::future_to_promise;
use worker::{Context, Env, console_error, js_sys, web_sys, worker_sys};

use super::archive_cache::ArchiveCache;
use super::clock::whole;
use super::http::Url;
use super::tickets::Tickets;
use super::{CACHE, Cloudflare, analytics, answer_cache, config, kv, serve};

/// The first character of each text that `entry.js` receives, which repeats these constants.
mod tag {
    /// An [answer](super::lines).
    pub(super) const ANSWER: char = 'a';
    /// A [read](super::read) to do.
    pub(super) const READ: char = 'r';
    /// The ticket of a request to continue with [`Machine::resume`](super::Machine::resume).
    pub(super) const CONTINUE: char = 'c';
    /// Nothing: the fetch event must answer the request from its beginning.
    pub(super) const FETCH: char = 'f';
}

/// Maximum number of bytes of a request that are kept while it waits. A client that disconnects during the
/// read of KV leaves them in memory, and they must not fill the isolate. Clients send a tenth of it.
const MAX_WAITING_BYTES: usize = 1024;

thread_local! {
    static ENTRY: OnceCell<Entry<'static>> = const { OnceCell::new() };
}

/// The functions that `entry.js` calls. They are methods of a class because worker-build exports nothing
/// else.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Machine;

#[wasm_bindgen]
impl Machine {
    /// Reads the configuration, and returns whether it is new and valid. Otherwise the first request of an
    /// isolate would wait until the code of the whole registry is compiled.
    pub fn start(env: &Env) -> bool {
        ENTRY.with(|entry| {
            entry.get().is_none()
                && Entry::start(env).is_some_and(|started| entry.set(started).is_ok())
        })
    }

    /// Begins to answer a GET or HEAD. The result begins with a [tag].
    pub fn begin(
        method: &str,
        url: String,
        if_none_match: Option<String>,
        authorization: Option<String>,
        user_agent: Option<String>,
        now: f64,
    ) -> String {
        let url = Url::new(url);
        let head = RequestHead {
            method,
            origin: url.origin(),
            path: url.path(),
            query: url.query(),
            if_none_match: if_none_match.as_deref(),
            authorization: authorization.as_deref(),
            cookies: CookieHeader::Unread,
            user_agent: user_agent.as_deref(),
        };
        ENTRY.with(|entry| match entry.get() {
            Some(entry) => entry.begin(&head, whole(now)),
            None => tag::FETCH.into(),
        })
    }

    /// Completes a read with the value that KV has: its metadata in JSON, and the value itself if it was
    /// requested in bytes. The result begins with a [tag], and is not another read.
    pub fn finish(
        ticket: u32,
        metadata: &str,
        value: Option<Vec<u8>>,
        range: Option<String>,
        now: f64,
    ) -> String {
        ENTRY.with(|entry| match entry.get() {
            Some(entry) => entry.finish(ticket, metadata, value, range, whole(now)),
            None => tag::FETCH.into(),
        })
    }

    /// Completes a read with the values that KV has for several keys, in their order and in JSON:
    /// `[["…",{…}],[null,null]]`, each a value and its metadata. The result begins with a [tag], and is not
    /// another read.
    pub fn finish_several(ticket: u32, found: &str, now: f64) -> String {
        ENTRY.with(|entry| match entry.get() {
            Some(entry) => entry.finish_several(ticket, found, whole(now)),
            None => tag::FETCH.into(),
        })
    }

    /// Answers a request of the cache of archives.
    pub fn archive(method: String, url: String, env: Env) -> js_sys::Promise {
        promised(async move { answer_cache(&method, url, env).await })
    }

    /// Continues a request with the value that KV has. If its ticket has no waiting value, because others
    /// have overwritten it or the instance was replaced, the request is answered from its beginning.
    pub fn resume(
        request: web_sys::Request,
        env: Env,
        context: worker_sys::Context,
        ticket: u32,
        value: JsValue,
    ) -> js_sys::Promise {
        let waiting = ENTRY.with(|entry| entry.get()?.take(ticket));
        let unfinished = waiting.map(|it| it.with_stream(|| value.unchecked_into()));
        promised(serve(request, env, Context::new(context), unfinished))
    }
}

/// Returns the promise of an answer, and logs its error.
fn promised(
    answer: impl Future<Output = worker::Result<web_sys::Response>> + 'static,
) -> js_sys::Promise {
    future_to_promise(async move {
        answer.await.map(JsValue::from).map_err(|error| {
            console_error!("{error}");
            error.into()
        })
    })
}

/// The requests of one instance that JavaScript drives.
struct Entry<'a> {
    config: &'a Config,
    cache: &'a Cache,
    counts_downloads: bool,
    waiting: Tickets<Waiting>,
}

/// A request that waits for JavaScript.
enum Waiting {
    /// A read that waits for its index.
    Read(PendingRead),
    /// A request to resume.
    Rest(Box<Unfinished<()>>),
}

impl Entry<'static> {
    /// Returns `None` if the configuration cannot be used. The fetch event reports the reason.
    fn start(env: &Env) -> Option<Self> {
        let config = config(env).ok()?;
        // Fails unless all bindings exist.
        Cloudflare::new(env.clone(), ArchiveCache::default()).ok()?;
        Some(Self {
            config,
            cache: CACHE.with(|cache| *cache),
            counts_downloads: analytics::counts(env),
            waiting: Tickets::new(random()),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is a positive number below 2³²"
)]
fn random() -> u32 {
    (js_sys::Math::random() * f64::from(u32::MAX)) as u32
}

impl Entry<'_> {
    fn begin(&self, head: &RequestHead<'_>, now: u64) -> String {
        let kept = [Some(head.origin), Some(head.query), head.if_none_match];
        if kept.iter().flatten().map(|it| it.len()).sum::<usize>() > MAX_WAITING_BYTES {
            return tag::FETCH.into();
        }
        match driver::begin(head, self.config, self.cache, now) {
            RequestStep::Answer(answer) => self.answer(answer),
            RequestStep::Read(pending) => self.to_read(pending),
            RequestStep::Continue(unfinished) => {
                to_continue(self.waiting.keep(Waiting::Rest(unfinished)))
            }
        }
    }

    fn finish(
        &self,
        ticket: u32,
        metadata: &str,
        value: Option<Vec<u8>>,
        range: Option<String>,
        now: u64,
    ) -> String {
        let found = |pending: &PendingRead| match metadata {
            "null" => Ok(None.into()),
            metadata => {
                kv::found(pending.key(), metadata, || body(value)).map(|found| Some(found).into())
            }
        };
        self.finish_with(ticket, found, range, now)
    }

    fn finish_several(&self, ticket: u32, found: &str, now: u64) -> String {
        self.finish_with(ticket, |_| kv::found_several(found), None, now)
    }

    fn finish_with(
        &self,
        ticket: u32,
        found: impl FnOnce(&PendingRead) -> Result<ReadIndices<()>, StoreError>,
        range: Option<String>,
        now: u64,
    ) -> String {
        let Some(Waiting::Read(pending)) = self.waiting.take(ticket) else {
            return tag::FETCH.into();
        };
        let found = found(&pending);
        match pending.finish(found, range, self.config, self.cache, now) {
            Ok(answer) => self.answer(answer),
            Err(unfinished) => {
                self.waiting.keep_as(ticket, Waiting::Rest(unfinished));
                to_continue(ticket)
            }
        }
    }

    fn take(&self, ticket: u32) -> Option<Box<Unfinished<()>>> {
        match self.waiting.take(ticket)? {
            Waiting::Rest(unfinished) => Some(unfinished),
            Waiting::Read(_) => None,
        }
    }

    fn to_read(&self, pending: PendingRead) -> String {
        let keys: Vec<String> = pending.keys().map(IndexKey::to_string).collect();
        let kind = kv::kind(pending.form());
        let (cache_seconds, takes_range) = (pending.cache_seconds(), pending.takes_range());
        let ticket = self.waiting.keep(Waiting::Read(pending));
        read(ticket, &keys, kind, cache_seconds, takes_range)
    }

    fn answer(&self, answer: Answer<()>) -> String {
        let line = answer.line().logged(self.config.logged_requests);
        let download = answer.download().filter(|_| self.counts_downloads);
        let point = download.map(|it| analytics::data_point(&it));
        lines(answer.reply, line, point)
    }
}

/// Returns the description of a read of KV, in JSON:
/// `{"ticket":7,"key":"…","options":{"type":"stream","cacheTtl":30},"takes_range":false}`
/// (<https://developers.cloudflare.com/kv/api/read-key-value-pairs/#reference>). Several keys are an array,
/// and KV returns their values as text.
fn read(ticket: u32, keys: &[String], kind: &str, cache_seconds: u32, takes_range: bool) -> String {
    let (open, kind, close) = match keys {
        [_] => ("\"", kind, "\""),
        _ => ("[\"", "text", "\"]"),
    };
    let mut text = String::with_capacity(USUAL_HEAD_BYTES);
    let mut digits = itoa::Buffer::new();
    text.push(tag::READ);
    text.push_str("{\"ticket\":");
    text.push_str(digits.format(ticket));
    text.push_str(",\"key\":");
    let mut before = open;
    for key in keys {
        text.push_str(before);
        push_escaped(&mut text, key);
        before = "\",\"";
    }
    text.push_str(close);
    text.push_str(",\"options\":{\"type\":\"");
    text.push_str(kind);
    text.push_str("\",\"cacheTtl\":");
    text.push_str(digits.format(cache_seconds));
    text.push_str(match takes_range {
        true => "},\"takes_range\":true}",
        false => "},\"takes_range\":false}",
    });
    text
}

/// Returns an answer: its head, its log line and its point for the dataset of downloads, each followed by a
/// line feed, and then the text of its body. The log line and the point may be empty. The head is
/// `{"status":200,"headers":{…},"body":…}`, where the body is `"text"` (the text that follows), `"value"` (the
/// value that was read from KV) or `null` (none). Every reply has a header.
fn lines(reply: Reply<()>, line: Option<String>, point: Option<String>) -> String {
    let (body, content) = match reply.body {
        Body::Empty => ("null", String::new()),
        Body::Text(text) => ("\"text\"", text),
        Body::Stream(()) => ("\"value\"", String::new()),
    };
    let mut text = String::with_capacity(USUAL_HEAD_BYTES + content.len());
    text.push(tag::ANSWER);
    text.push_str("{\"status\":");
    text.push_str(itoa::Buffer::new().format(reply.status));
    let mut before = ",\"headers\":{\"";
    for (name, value) in &reply.headers {
        text.push_str(before);
        text.push_str(name);
        text.push_str("\":\"");
        push_escaped(&mut text, value);
        before = "\",\"";
    }
    text.push_str("\"},\"body\":");
    text.push_str(body);
    text.push('}');
    for line in [line, point] {
        text.push('\n');
        text.push_str(&line.unwrap_or_default());
    }
    text.push('\n');
    text.push_str(&content);
    text
}

fn to_continue(ticket: u32) -> String {
    format!("{}{ticket}", tag::CONTINUE)
}

/// Returns a value that JavaScript has read: as bytes, or else as a stream that stays in JavaScript.
fn body(value: Option<Vec<u8>>) -> Body<()> {
    match value {
        Some(bytes) => kv::text(bytes),
        None => Body::Stream(()),
    }
}

/// The usual size of an answer without its text, in bytes.
const USUAL_HEAD_BYTES: usize = 768;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use terrace_core::http::reply::CachePolicy;

    use super::*;

    const DOWNLOAD: &str = "/v1/modules/acme/vpc/aws/1.0.0/download";
    const LIST: &str = "/v1/modules/acme/vpc/aws/versions";

    fn head(target: &str) -> RequestHead<'_> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        RequestHead {
            method: "GET",
            origin: "https://registry.test",
            path,
            query,
            if_none_match: None,
            authorization: None,
            cookies: CookieHeader::Unread,
            user_agent: None,
        }
    }

    fn with_entry(test: impl FnOnce(&mut Entry<'_>)) {
        let config = Config::from_vars(&[
            ("TERRACE_S3_ENDPOINT", "https://bucket.test"),
            ("TERRACE_S3_BUCKET", "terrace"),
            ("TERRACE_S3_ACCESS_KEY_ID", "id"),
            ("TERRACE_S3_SECRET_ACCESS_KEY", "secret"),
        ]);
        test(&mut Entry {
            config: &config.unwrap(),
            cache: &Cache::default(),
            counts_downloads: true,
            waiting: Tickets::new(7),
        });
    }

    /// Returns the JSON after the tag of `text`.
    #[track_caller]
    fn after(tag: char, text: &str) -> Value {
        let line = text.lines().next().unwrap();
        let json = line.strip_prefix(tag).unwrap_or_else(|| panic!("{text}"));
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_read_names_its_key_and_options() {
        with_entry(|entry| {
            let list = entry.begin(&head(LIST), 0);
            let options = json!({ "type": "stream", "cacheTtl": 30 });
            let key = "modules/acme/vpc/aws/versions";
            let expected =
                json!({ "ticket": 7, "key": key, "options": options, "takes_range": false });
            assert_eq!(after(tag::READ, &list), expected);
            let blob = format!("/v2/team/tools/blobs/sha256:{}", "0".repeat(64));
            let blob = after(tag::READ, &entry.begin(&head(&blob), 0));
            assert_eq!(
                (&blob["ticket"], &blob["takes_range"]),
                (&json!(8), &json!(true))
            );
            let download = after(tag::READ, &entry.begin(&head(DOWNLOAD), 0));
            assert_eq!(download["options"]["type"], "arrayBuffer");
        });
    }

    #[test]
    fn a_read_of_several_keys_names_them_in_an_array_and_is_text() {
        let keys = ["one".to_owned(), "t\"wo".to_owned(), "three".to_owned()];
        let options = json!({ "type": "text", "cacheTtl": 30 });
        let expected =
            json!({ "ticket": 7, "key": keys, "options": options, "takes_range": false });
        assert_eq!(
            after(tag::READ, &read(7, &keys, "stream", 30, false)),
            expected
        );
    }

    #[test]
    fn several_indices_are_read_back_in_order_without_those_that_are_absent_or_unreadable() {
        let index = json!(["one", { "etag": "\"e\"" }]);
        let json = json!([index, [null, null], ["one", null], index]).to_string();
        let ReadIndices { first, others } = kv::found_several::<()>(&json).unwrap();
        let text = |found: Option<terrace_core::read::StoredIndex<()>>| match found?.body {
            Body::Text(text) => Some(text),
            Body::Empty | Body::Stream(()) => None,
        };
        assert_eq!(text(first), Some("one".to_owned()));
        let others: Vec<_> = others.into_iter().map(text).collect();
        assert_eq!(others, [None, None, Some("one".to_owned())]);
        assert!(kv::found_several::<()>("no JSON").is_err());
        let other = json!([["one", {}]]).to_string();
        assert!(kv::found_several::<()>(&other).is_err(), "no etag");
    }

    #[test]
    fn an_answer_is_three_lines_and_a_text() {
        let reply = |body| {
            let reply = Reply::new(200, CachePolicy::NoStore).with("etag", "\"a\"");
            reply.with_body(body)
        };
        for (body, shown, text) in [
            (Body::Text("one\ntwo".to_owned()), json!("text"), "one\ntwo"),
            (Body::Stream(()), json!("value"), ""),
            (Body::Empty, json!(null), ""),
        ] {
            let answer = lines(reply(body), Some("a line".to_owned()), None);
            let parts: Vec<&str> = answer.splitn(4, '\n').collect();
            let answer_head = after(tag::ANSWER, parts[0]);
            assert_eq!(
                (&answer_head["status"], &answer_head["body"]),
                (&json!(200), &shown)
            );
            assert_eq!(answer_head["headers"]["etag"], "\"a\"");
            assert_eq!(answer_head["headers"]["cache-control"], "no-store");
            assert_eq!(parts[1..], ["a line", "", text]);
        }
    }

    #[test]
    fn a_read_that_finds_its_index_is_an_answer() {
        with_entry(|entry| {
            entry.begin(&head(LIST), 0);
            let metadata = r#"{"etag":"\"e\""}"#;
            let answer = entry.finish(7, metadata, None, None, 3);
            let answer_head = after(tag::ANSWER, &answer);
            assert_eq!(
                (&answer_head["status"], &answer_head["body"]),
                (&json!(200), &json!("value"))
            );
            let line: Value = serde_json::from_str(answer.lines().nth(1).unwrap()).unwrap();
            assert_eq!((&line["ms"], &line["kv_ms"]), (&json!(3), &json!(3)));
            assert!(entry.take(7).is_none());
            assert_eq!(entry.finish(7, metadata, None, None, 3), "f", "only once");
        });
    }

    #[test]
    fn a_download_is_a_point_where_downloads_are_counted() {
        with_entry(|entry| {
            let mut point = |ticket, counts_downloads| {
                entry.counts_downloads = counts_downloads;
                entry.begin(&head(DOWNLOAD), 0);
                let index =
                    json!({ "format": "zip", "sha256": "0".repeat(64), "size": 156 }).to_string();
                let metadata = r#"{"etag":"\"e\""}"#;
                let answer = entry.finish(ticket, metadata, Some(index.into()), None, 0);
                assert_eq!(after(tag::ANSWER, &answer)["status"], 200);
                answer.split('\n').nth(2).unwrap().to_owned()
            };
            assert_eq!(point(7, false), "");
            let point: Value = serde_json::from_str(&point(8, true)).unwrap();
            assert_eq!(point["indexes"], json!(["acme/vpc/aws"]));
        });
    }

    #[test]
    fn a_read_that_its_index_does_not_answer_is_continued_once() {
        with_entry(|entry| {
            for (ticket, metadata, value) in [
                (7, "null", None),
                (8, "no JSON", Some(&b"{}"[..])),
                (9, r#"{"etag":"e"}"#, Some(b"no JSON")),
                (10, r#"{"etag":"e"}"#, Some(b"\xff")),
            ] {
                entry.begin(&head(DOWNLOAD), 0);
                let value = value.map(<[u8]>::to_vec);
                let finished = entry.finish(ticket, metadata, value, None, 0);
                assert_eq!(finished, format!("c{ticket}"));
                assert_eq!(entry.finish(ticket, "null", None, None, 0), "f");
                entry.begin(&head(DOWNLOAD), 0);
            }
        });
    }

    #[test]
    fn a_request_that_is_no_read_is_continued() {
        with_entry(|entry| {
            for (target, ticket) in [("/healthz", 7), ("/admin/v1/tokens", 8)] {
                assert_eq!(entry.begin(&head(target), 0), format!("c{ticket}"));
                assert!(entry.take(ticket).is_some());
                assert!(entry.take(ticket).is_none(), "only once");
            }
        });
    }

    #[test]
    fn a_read_that_waits_for_its_index_is_not_resumed() {
        with_entry(|entry| {
            entry.begin(&head(LIST), 0);
            assert!(entry.take(7).is_none());
        });
    }

    #[test]
    fn an_overwritten_read_is_left_to_the_fetch_event() {
        with_entry(|entry| {
            (0..=1024).for_each(|_| drop(entry.begin(&head(LIST), 0)));
            assert_eq!(entry.finish(7, "null", None, None, 0), "f");
            assert_eq!(entry.finish(8, "null", None, None, 0), "c8");
        });
    }

    /// The parts of a request that wait stay in memory if the client disconnects.
    #[test]
    fn a_read_that_would_hold_much_memory_is_left_to_the_fetch_event() {
        with_entry(|entry| {
            let long = "x".repeat(2_000);
            let query = format!("/v2/team/tools/tags/list?last={long}");
            assert_eq!(entry.begin(&head(&query), 0), "f");
            let head = RequestHead {
                if_none_match: Some(&long),
                ..head(LIST)
            };
            assert_eq!(entry.begin(&head, 0), "f");
        });
    }
}
