//! Stored bytes share the hostname with the web pages: no browser runs them.

use std::collections::BTreeSet;

use serde_json::Value;
use terrace_core::api::endpoint::{ENDPOINTS, ErrorFormat};
use terrace_core::http::method::Method;

use super::access;
use crate::support::described::{MAIN, README, WIDGET_PAGE};
use crate::support::documented::document_provider;
use crate::support::memory::Memory;
use crate::support::pushed::{Pushed, digest};
use crate::support::registry::{Response, Sent, TOKEN};
use crate::support::{Registry, everything};

/// The routes that send stored bytes, or documents that quote them.
const SENDS_STORED_BYTES: [&str; 10] = [
    "api_document",
    "archive",
    "oci_blob",
    "oci_manifest",
    "oci_referrers",
    "page_text",
    "pull",
    "pushed_blob",
    "pushed_manifest",
    "pushed_referrers",
];

/// The routes of which no GET of these tests succeeds.
const FAILS: [&str; 7] = [
    // It answers every request with 404.
    "oci_catalog",
    // They need a provider of sign-in, and send no stored bytes.
    "login_start",
    "login_callback",
    "mcp_authorization",
    // It needs a webhook, and sends no stored bytes.
    "webhook",
    // It needs an upload, and answers without a body.
    "pushed_upload",
    // It needs another registry: `pull/zip.rs` checks its headers.
    "pull",
];

/// The prefixes of objects whose bytes come from publishers.
const PUBLISHED_BYTES: [&str; 3] = ["archives/", "oci/blobs/", "oci/manifests/"];

/// The content types of the registry's own documents.
const COMPOSED: [&str; 2] = ["application/json", "text/plain; charset=utf-8"];

#[track_caller]
pub(crate) fn assert_fenced(response: &Response, path: &str) {
    for (name, value) in [
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("content-disposition", "attachment"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
    ] {
        let found: Vec<_> = response.headers.iter().filter(|it| it.0 == name).collect();
        assert_eq!(found.len(), 1, "{path}: {name}");
        assert_eq!(response.header(name), Some(value), "{path}");
    }
    let content_type = response.header("content-type").unwrap_or_default();
    for executed in ["html", "xml", "svg", "javascript", "css"] {
        assert!(!content_type.contains(executed), "{path}: {content_type}");
    }
}

fn is_fenced(response: &Response) -> bool {
    response.header("content-security-policy") == Some("sandbox; default-src 'none'")
}

/// A registry with objects of every kind.
struct Filled {
    memory: Memory,
    registry: Registry,
}

impl Filled {
    fn new() -> Self {
        let (memory, registry) = Registry::with_memory(&[]);
        everything::fill(&registry);
        everything::describe(&memory);
        document_provider(&memory, "acme/widget", "1.0.0+b");
        Self { memory, registry }
    }

    /// Returns requests of every route, besides the indexed reads.
    fn paths(&self) -> Vec<String> {
        let tools = Pushed::of(&self.registry, "team/tools");
        let manifest = tools.get("manifests/1.0").expect(200);
        let referrers = tools.path(&format!("referrers/{}", digest(&manifest.body)));
        let widget = "/api/v1/providers/acme/widget/1.0.0+b/docs";
        let module = "/api/v1/modules/acme/vpc/aws/1.0.0/docs";
        let own = [
            referrers,
            "/v2/modules/acme/vpc/aws/referrers/".to_owned() + &digest(b"x"),
            // The config that generated manifests share.
            "/v2/modules/acme/vpc/aws/blobs/".to_owned() + &digest(b"{}"),
            format!("{widget}/resources/widget"),
            format!("{module}/readme"),
            format!("{module}/examples/simple/main.tf"),
            "/admin/v1/mirror/registry.example.com/acme/gadget/1.0.0".to_owned(),
            "/admin/v1/providers/acme/widget/1.0.0+b/documentation".to_owned(),
        ];
        let reads = everything::reads();
        let archives = self.archives();
        own.into_iter()
            .chain(reads)
            .chain(archives)
            .chain(access::paths())
            .collect()
    }

    /// Returns the URLs of archives of every kind.
    fn archives(&self) -> Vec<String> {
        let download = "/v1/providers/acme/widget/2.0.0-rc.1+b/download/linux/amd64";
        let json = self.registry.read(download);
        let mut urls: Vec<String> = ["download_url", "shasums_url", "shasums_signature_url"]
            .iter()
            .map(|name| json[*name].as_str().unwrap().to_owned())
            .collect();
        for path in everything::reads().filter(|path| path.contains("/blobs/")) {
            let location = self.registry.get(&path).expect(307);
            urls.push(location.header("location").unwrap().to_owned());
        }
        let cut = |url: String| url.replace("https://registry.test", "");
        urls.into_iter().map(cut).collect()
    }

    fn send(&self, method: Method, path: &str, range: Option<&str>) -> (String, Response) {
        let sent = Sent::new(method.as_str(), path).bearing(TOKEN);
        let response = self.registry.send(&match range {
            Some(range) => sent.header("range", range),
            None => sent,
        });
        let line = self.memory.request_lines().pop().unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        (line["route"].as_str().unwrap().to_owned(), response)
    }

    /// Returns whether a body is or contains bytes of publishers: an object, a part of one, or a text of documentation.
    fn is_stored(&self, body: &[u8]) -> bool {
        let text = String::from_utf8_lossy(body);
        let is_text = [MAIN, README, WIDGET_PAGE]
            .iter()
            .any(|known| text.contains(known));
        let contains = |object: &[u8]| {
            object.len() >= body.len() && object.windows(body.len()).any(|part| part == body)
        };
        let is_object = body.len() > 2
            && self
                .memory
                .keys()
                .iter()
                .filter(|key| PUBLISHED_BYTES.iter().any(|prefix| key.starts_with(prefix)))
                .any(|key| contains(&self.memory.object_bytes(key)));
        is_text || is_object
    }
}

#[test]
fn every_answer_with_stored_bytes_is_fenced() {
    let filled = Filled::new();
    let (mut answered, mut fenced) = (BTreeSet::new(), BTreeSet::new());
    for path in filled.paths() {
        for range in [None, Some("bytes=0-3"), Some("bytes=999999999-")] {
            for method in [Method::Get, Method::Head] {
                let (route, response) = filled.send(method, &path, range);
                if is_fenced(&response) {
                    assert_fenced(&response, &path);
                    fenced.insert(route.clone());
                }
                let is_sent = [200, 206].contains(&response.status);
                if is_sent && filled.is_stored(&response.body) {
                    assert!(is_fenced(&response), "{path} sends stored bytes");
                }
                if is_sent && !is_fenced(&response) && !response.body.is_empty() {
                    let sent_as = response.header("content-type").unwrap_or_default();
                    let is_page = ENDPOINTS
                        .iter()
                        .any(|it| it.name == route && it.errors == ErrorFormat::Html);
                    assert!(is_page || COMPOSED.contains(&sent_as), "{path}: {sent_as}");
                }
                if (200..400).contains(&response.status) && method == Method::Get {
                    answered.insert(route.clone());
                }
            }
        }
    }
    fenced.insert("pull".to_owned());
    assert_eq!(Vec::from_iter(fenced), SENDS_STORED_BYTES);
    for endpoint in ENDPOINTS {
        let is_read = endpoint.action(Method::Get).is_some();
        let is_page = endpoint.errors == ErrorFormat::Html;
        if is_read && !is_page && !FAILS.contains(&endpoint.name) {
            let name = endpoint.name;
            assert!(answered.contains(name), "no GET of {name} succeeds here");
        }
    }
}

#[test]
fn a_part_of_an_archive_and_a_range_outside_it_are_fenced() {
    let filled = Filled::new();
    for path in filled.archives() {
        for (range, status) in [("bytes=0-3", 206), ("bytes=999999999-", 416)] {
            let (_, response) = filled.send(Method::Get, &path, Some(range));
            assert_fenced(&response.expect(status), &path);
        }
        let (_, response) = filled.send(Method::Head, &path, None);
        assert_fenced(&response.expect(200), &path);
    }
}
