//! Requests: their routes, and reads with a document from KV.

use terrace_core::api::route::Route;
use terrace_core::http::reply::Body;
use terrace_core::read::{
    CookieHeader, Decision, IndexForm, ReadOutcome, RequestHead, StoredIndex, begin,
};
use terrace_core::storage::index_document::IndexMetadata;

use crate::{NOW, OPEN, configured, text};

/// Parses a path.
pub fn route(data: &[u8]) {
    let path = text(data).filter(|path| path.starts_with('/'));
    if let Some(Ok(route)) = path.map(Route::parse) {
        assert!(!format!("{route:?}").is_empty());
    }
}

/// Answers a read: a method, a path, a query and headers, one per line, and then the value in KV.
pub fn read(data: &[u8]) {
    let Some(all) = text(data) else { return };
    let mut lines = all.splitn(7, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (method, path, query, condition) = (next(), next(), next(), next());
    let (authorization, range, index) = (next(), next(), next());
    for vars in [OPEN.as_slice(), &CLOSED] {
        let config = configured(vars).expect("a valid configuration");
        let head = RequestHead {
            method,
            origin: "https://registry.example.com",
            path,
            query,
            if_none_match: Some(condition),
            authorization: Some(authorization),
            cookies: CookieHeader::Unread,
            user_agent: None,
        };
        let (name, decision) = begin::<Vec<u8>>(&head, &config, || NOW);
        assert!(!name.contains('/'), "{name:?}");
        let Decision::Read(mut lookup) = decision else {
            continue;
        };
        if lookup.leads_to_bytes() {
            lookup.range = Some(range.to_owned());
        }
        let (metadata, body) = index.split_once('\n').unwrap_or((index, ""));
        let metadata = serde_json::from_str::<IndexMetadata>(metadata);
        let metadata = metadata.unwrap_or_else(|_| IndexMetadata {
            etag: "\"etag\"".to_owned(),
            ..IndexMetadata::default()
        });
        let body = match lookup.form {
            IndexForm::Stream => Body::Stream(body.as_bytes().to_vec()),
            IndexForm::Text => Body::Text(body.to_owned()),
        };
        let found = StoredIndex { metadata, body };
        let outcome = lookup.answer(found.into(), &config, head.origin, NOW);
        if let ReadOutcome::Fresh(reply) | ReadOutcome::Stale(reply, _) = outcome {
            for (name, value) in &reply.headers {
                assert!(!value.contains(['\r', '\n', '\0']), "{name}: {value:?}");
            }
        }
    }
}

const CLOSED: [(&str, &str); 3] = [
    ("TERRACE_ADMIN_TOKEN", "0123456789abcdef"),
    ("TERRACE_ACCESS", "private"),
    ("TERRACE_PULL_THROUGH", "registry.opentofu.org/*/*"),
];
