//! What `entry.js` drives: the reads of [`Reads`], with all that they take and give in as few crossings as
//! there can be.

use std::borrow::Cow;
use std::cell::OnceCell;

use serde::Serialize;
use terrace_core::index::IndexMetadata;
use terrace_core::read::{Asked, Found};
use terrace_core::reply::Body;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::{Env, js_sys};

use super::clock::whole;
use super::http::Url;
use super::{Cloudflare, ISOLATE, config, figures, kv};
use crate::reads::{Answer, Reads, Step, Wanted};

thread_local! {
    static DRIVEN: OnceCell<Driven> = const { OnceCell::new() };
}

struct Driven {
    reads: Reads<'static>,
    counts_downloads: bool,
}

impl Driven {
    /// `None`: the configuration cannot be used, and whoever answers tells why.
    fn new(env: &Env) -> Option<Self> {
        let config = config(env).ok()?;
        // Whether all bindings are there.
        Cloudflare::new(env.clone()).ok()?;
        let isolate = ISOLATE.with(|isolate| *isolate);
        Some(Self {
            reads: Reads::new(config, isolate, ticket()),
            counts_downloads: figures::counts(env),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is a positive number below 2³²"
)]
fn ticket() -> u32 {
    (js_sys::Math::random() * f64::from(u32::MAX)) as u32
}

/// Has functions only, because worker-build exports nothing but classes.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Machine;

#[wasm_bindgen]
impl Machine {
    /// Lets reads be driven by this instance; whether it has not let them before. The first request of an
    /// isolate would otherwise wait until the code of the whole registry is compiled.
    pub fn start(env: &Env) -> bool {
        DRIVEN.with(|driven| {
            driven.get().is_none()
                && Driven::new(env).is_some_and(|started| driven.set(started).is_ok())
        })
    }

    /// Begins to answer a GET or HEAD. What comes back is empty where the whole registry has to answer; a
    /// [`ToRead`] in JSON; or an answer: a [`Head`] in JSON, the line for the log and the point for the dataset
    /// of downloads, each of which may be empty, with a line feed behind each, and then the text of the body.
    pub fn begin(
        method: &str,
        url: String,
        if_none_match: Option<String>,
        authorization: Option<String>,
        user_agent: Option<String>,
        now: f64,
    ) -> String {
        let url = Url::new(url);
        let asked = Asked {
            method,
            origin: url.origin(),
            path: url.path(),
            query: url.query(),
            if_none_match: if_none_match.as_deref(),
            authorization: authorization.as_deref(),
        };
        let begun = DRIVEN.with(|driven| {
            let Driven { reads, .. } = driven.get()?;
            reads.begin(&asked, user_agent.as_deref(), whole(now))
        });
        match begun {
            Some(Step::Answer(answer)) => lines(answer),
            Some(Step::Read(wanted)) => to_json(&ToRead::from(wanted)),
            None => String::new(),
        }
    }

    /// Finishes with what KV has: its metadata in JSON, and its value where that was wanted in bytes. What comes
    /// back is an answer, as of [`begin`], or empty where the whole registry has to answer.
    pub fn finish(
        ticket: u32,
        metadata: &str,
        value: Option<Vec<u8>>,
        range: Option<String>,
        now: f64,
    ) -> String {
        let answer = DRIVEN.with(|driven| {
            let driven = driven.get()?;
            let found = found(metadata, value);
            let counts = driven.counts_downloads;
            driven
                .reads
                .finish(ticket, found, range, counts, whole(now))
        });
        answer.map(lines).unwrap_or_default()
    }
}

/// What was found; `None` where that is nothing, or no index.
fn found(metadata: &str, value: Option<Vec<u8>>) -> Option<Found<()>> {
    let metadata: IndexMetadata = serde_json::from_str(metadata).ok()?;
    let body = match value {
        Some(bytes) => Body::Text(String::from_utf8(bytes).ok()?),
        None => Body::Stream(()),
    };
    Some(Found { metadata, body })
}

/// What is to be read, and how.
#[derive(Serialize)]
struct ToRead {
    ticket: u32,
    key: String,
    options: Options,
    takes_range: bool,
}

/// As KV takes them
/// (<https://developers.cloudflare.com/kv/api/read-key-value-pairs/#reference>).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    r#type: &'static str,
    cache_ttl: u32,
}

impl From<Wanted> for ToRead {
    fn from(wanted: Wanted) -> Self {
        Self {
            ticket: wanted.ticket,
            key: wanted.key,
            options: Options {
                r#type: kv::kind(wanted.form),
                cache_ttl: wanted.cache_seconds,
            },
            takes_range: wanted.takes_range,
        }
    }
}

type Headers = Vec<(&'static str, Cow<'static, str>)>;

/// An answer without the text of its body.
#[derive(Serialize)]
struct Head {
    status: u16,
    #[serde(serialize_with = "as_map")]
    headers: Headers,
    body: Option<&'static str>,
}

fn as_map<S: serde::Serializer>(headers: &Headers, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(headers.iter().map(|(name, value)| (name, value)))
}

fn lines(answer: Answer) -> String {
    let Answer { reply, line, point } = answer;
    let (body, text) = match reply.body {
        Body::Empty => (None, String::new()),
        Body::Text(text) => (Some("text"), text),
        Body::Stream(()) => (Some("value"), String::new()),
    };
    let mut lines = Vec::with_capacity(USUAL_HEAD_BYTES + text.len());
    let head = Head {
        status: reply.status,
        headers: reply.headers,
        body,
    };
    // Into memory nothing fails.
    let _ = serde_json::to_writer(&mut lines, &head);
    for part in [line, point] {
        lines.push(b'\n');
        lines.extend_from_slice(part.unwrap_or_default().as_bytes());
    }
    lines.push(b'\n');
    lines.extend_from_slice(text.as_bytes());
    String::from_utf8(lines).unwrap_or_default()
}

/// What the lines of an answer usually take, in bytes, besides its text.
const USUAL_HEAD_BYTES: usize = 768;

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
