//! What the Worker's `entry.js` does, over memory.

use std::borrow::Cow;

use terrace_app::host::{Clock as _, Host as _};
use terrace_app::reads::{Answer, Reads, Step};
use terrace_core::config::Config;
use terrace_core::http::reply::Body;
use terrace_core::read::{Asked, Found, IndexForm};

use super::Response;
use super::memory::Memory;
use super::registry::Sent;

/// What the entry answers by itself.
pub struct ByEntry {
    pub response: Response,
    pub line: Option<String>,
    pub point: Option<String>,
}

/// `None` where it leaves a request to the whole registry.
pub fn by_entry(memory: &Memory, config: &Config, sent: &Sent) -> Option<ByEntry> {
    let header = |name: &str| {
        let found = sent.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    let (path, query) = sent.target.split_once('?').unwrap_or((&sent.target, ""));
    let asked = Asked {
        method: &sent.method,
        origin: "https://registry.test",
        path,
        query,
        if_none_match: header("if-none-match"),
        authorization: header("authorization"),
        user_agent: header("user-agent"),
    };
    let reads = Reads::new(config, memory.cache(), u32::MAX);
    let wanted = match reads.begin(&asked, memory.millis())? {
        Step::Answer(answer) => return Some(made(answer, Vec::new())),
        Step::Read(wanted) => wanted,
    };
    let mut value = Vec::new();
    let document = memory.read_index(&wanted.key, wanted.cache_seconds);
    let found = document.map(|document| {
        let body = match wanted.form {
            IndexForm::Stream => {
                value = document.text.into_bytes();
                Body::Stream(())
            }
            IndexForm::Text => Body::Text(document.text),
        };
        let metadata = document.metadata;
        Found { metadata, body }
    });
    let range = header("range").filter(|_| wanted.takes_range);
    let range = range.map(str::to_owned);
    let answer = reads.finish(wanted.ticket, found, range, true, memory.millis())?;
    Some(made(answer, value))
}

fn made(answer: Answer, value: Vec<u8>) -> ByEntry {
    let Answer { reply, line, point } = answer;
    let own = |(name, value): &(&str, Cow<'static, str>)| ((*name).to_owned(), value.to_string());
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
        point,
    }
}
