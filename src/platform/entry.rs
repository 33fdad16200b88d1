//! What `entry.js` drives: the reads of [`Reads`], with all that they take and give in as few crossings as
//! there can be.

use std::cell::OnceCell;

use terrace_core::http::reply::Body;
use terrace_core::read::{Asked, Found};
use terrace_core::storage::index_document::IndexMetadata;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::{Env, js_sys};

use super::clock::whole;
use super::http::Url;
use super::{CACHE, Cloudflare, config, figures, kv};
use terrace_app::reads::{Answer, Reads, Step, Wanted};

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
        let cache = CACHE.with(|cache| *cache);
        Some(Self {
            reads: Reads::new(config, cache, ticket()),
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

    /// Begins to answer a GET or HEAD. What comes back is empty where the whole registry has to answer; what is
    /// [to be read](to_read); or an answer: its [head](lines), the line for the log and the point for the
    /// dataset of downloads, each of which may be empty, with a line feed behind each, and then the text of the
    /// body.
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
            user_agent: user_agent.as_deref(),
        };
        let begun = DRIVEN.with(|driven| {
            let Driven { reads, .. } = driven.get()?;
            reads.begin(&asked, whole(now))
        });
        match begun {
            Some(Step::Answer(answer)) => lines(answer),
            Some(Step::Read(wanted)) => to_read(&wanted),
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

/// What is to be read, and how KV is to give it, in JSON:
/// `{"ticket":7,"key":"…","options":{"type":"stream","cacheTtl":30},"takes_range":false}`
/// (<https://developers.cloudflare.com/kv/api/read-key-value-pairs/#reference>).
fn to_read(wanted: &Wanted) -> String {
    let mut json = String::with_capacity(USUAL_HEAD_BYTES);
    let mut digits = itoa::Buffer::new();
    json.push_str("{\"ticket\":");
    json.push_str(digits.format(wanted.ticket));
    json.push_str(",\"key\":\"");
    push_escaped(&mut json, &wanted.key);
    json.push_str("\",\"options\":{\"type\":\"");
    json.push_str(kv::kind(wanted.form));
    json.push_str("\",\"cacheTtl\":");
    json.push_str(digits.format(wanted.cache_seconds));
    json.push_str(match wanted.takes_range {
        true => "},\"takes_range\":true}",
        false => "},\"takes_range\":false}",
    });
    json
}

/// An answer, as of [`Machine::begin`]. Its head is `{"status":200,"headers":{…},"body":…}`, where the body is
/// `"text"`, `"value"` or `null`. There is no reply without a header.
fn lines(answer: Answer) -> String {
    let Answer { reply, line, point } = answer;
    let (body, text) = match reply.body {
        Body::Empty => ("null", String::new()),
        Body::Text(text) => ("\"text\"", text),
        Body::Stream(()) => ("\"value\"", String::new()),
    };
    let mut lines = String::with_capacity(USUAL_HEAD_BYTES + text.len());
    lines.push_str("{\"status\":");
    lines.push_str(itoa::Buffer::new().format(reply.status));
    let mut before = ",\"headers\":{\"";
    for (name, value) in &reply.headers {
        lines.push_str(before);
        lines.push_str(name);
        lines.push_str("\":\"");
        push_escaped(&mut lines, value);
        before = "\",\"";
    }
    lines.push_str("\"},\"body\":");
    lines.push_str(body);
    lines.push('}');
    for line in [line, point] {
        lines.push('\n');
        lines.push_str(&line.unwrap_or_default());
    }
    lines.push('\n');
    lines.push_str(&text);
    lines
}

/// Text between quotes of JSON. A serialiser writes it in many small pieces, each by a call.
fn push_escaped(json: &mut String, text: &str) {
    let is_special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    let mut rest = text;
    while let Some(at) = rest.bytes().position(is_special) {
        let (plain, special) = rest.split_at(at);
        json.push_str(plain);
        let (special, behind) = special.split_at(1);
        match special {
            "\"" => json.push_str("\\\""),
            "\\" => json.push_str("\\\\"),
            control => {
                let code = control.bytes().next().unwrap_or_default();
                json.push_str(&format!("\\u{code:04x}"));
            }
        }
        rest = behind;
    }
    json.push_str(rest);
}

/// What the lines of an answer usually take, in bytes, besides its text.
const USUAL_HEAD_BYTES: usize = 768;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use terrace_core::http::reply::{CachePolicy, Reply};
    use terrace_core::read::IndexForm;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_escaped_as_json_wants_it(text in any::<String>()) {
            let mut json = String::from("\"");
            push_escaped(&mut json, &text);
            json.push('"');
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    #[test]
    fn what_is_to_be_read_is_json() {
        let wanted = Wanted {
            ticket: 7,
            key: "a \"key\"".to_owned(),
            form: IndexForm::Text,
            cache_seconds: 30,
            takes_range: true,
        };
        let options = json!({ "type": "arrayBuffer", "cacheTtl": 30 });
        let expected =
            json!({ "ticket": 7, "key": wanted.key, "options": options, "takes_range": true });
        let told = to_read(&wanted);
        assert!(
            told.starts_with("{\"ticket\""),
            "entry.js tells it by that: {told}"
        );
        assert_eq!(serde_json::from_str::<Value>(&told).unwrap(), expected);
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
            let line = Some("a line".to_owned());
            let told = lines(Answer {
                reply: reply(body),
                line,
                point: None,
            });
            let parts: Vec<&str> = told.splitn(4, '\n').collect();
            let head: Value = serde_json::from_str(parts[0]).unwrap();
            assert_eq!((&head["status"], &head["body"]), (&json!(200), &shown));
            assert_eq!(head["headers"]["etag"], "\"a\"");
            assert_eq!(head["headers"]["cache-control"], "no-store");
            assert_eq!(parts[1..], ["a line", "", text]);
        }
    }
}
