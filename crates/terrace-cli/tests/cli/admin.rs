//! `terrace admin` against registries with unusual responses.

mod copies;
mod erase;
mod garbage;
mod reindex;
mod replicate;
mod verify;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::maintenance::audit::AuditEntry;

use crate::support::registry::Registry;
use crate::support::{Ended, run};

const PUBLISHED: &[(&str, u16)] = &[
    ("PUT /admin/v1/namespaces/acme/keys", 200),
    ("PUT /admin/v1/modules/acme/vpc/aws/1.0.0", 201),
    ("PUT /admin/v1/modules/acme/vpc/aws/1.0.0", 200),
    ("PUT /admin/v1/modules/acme/vpc/aws/2.0.0", 409),
    ("PUT /admin/v1/modules/acme/vpc/aws/3.0.0", 503),
];

const RELEASE: &str = "releases/modules/acme/vpc/aws/1.0.0";

const ACCEPT: [&str; 2] = ["--accept-loss", "acme/vpc/aws@1.0.0"];

fn answers(registry: &Registry, path: &str, answer: &Value) {
    registry.answer("GET", path, answer);
}

/// Sets the response for one list of the documents with a prefix.
fn answers_list(registry: &Registry, prefix: &str, facts: &[Value]) {
    let path = format!("prefix={prefix}");
    answers(registry, &path, &json!({ "facts": facts }));
}

/// A directory for a copy, and the place of the copy in it.
fn place() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    (place, copy)
}

#[track_caller]
fn export(registry: &Registry, copy: &Path, more: &[&str]) -> Ended {
    let line = ["admin", "export", copy.to_str().unwrap()];
    run(registry, &[&line[..], more].concat())
}

/// Sets the responses for one read of the audit log.
fn answers_log(registry: &Registry, changes: &[(&str, u16)]) {
    answers_newest(registry, changes.len());
    answers_list(registry, "audit", &log(changes));
}

/// Sets the response for one read of the number of the newest entry.
fn answers_newest(registry: &Registry, newest: usize) {
    let newest = json!({ "entries": [], "newest": newest });
    answers(registry, "/admin/v1/audit", &newest);
}

/// Sets the responses for one read of all documents: those of the audit log, then these.
fn answers_facts(registry: &Registry, changes: &[(&str, u16)], facts: &[Value]) {
    let is_mark = |fact: &Value| fact["key"].as_str().unwrap().starts_with("garbage/");
    let (tombstones, facts): (Vec<Value>, Vec<Value>) = facts.iter().cloned().partition(is_mark);
    let all = [log(changes), facts].concat();
    answers(registry, "facts?prefix=", &json!({ "facts": all }));
    answers_list(registry, "oci", &[]);
    answers_list(registry, "oci", &[]);
    answers_list(registry, "garbage", &tombstones);
}

fn answers_archives(registry: &Registry, archives: &Value) {
    let listed = json!({ "now": 1_800_000_000, "archives": archives });
    answers(registry, "/admin/v1/archives", &listed);
}

/// Returns the list of an archive that no release refers to.
fn old_archives() -> Value {
    json!([{ "key": archive("0"), "size": 1, "stored_at": 1 }])
}

/// Sets the responses for `verify --quick`.
fn answers_verify(registry: &Registry, changes: &[(&str, u16)], facts: &[Value]) {
    answers_archives(registry, &json!([]));
    answers_newest(registry, changes.len());
    answers_facts(registry, changes, facts);
    answers_archives(registry, &json!([]));
}

/// Sets the responses for `export`.
fn answers_export(registry: &Registry, changes: &[(&str, u16)], facts: &[Value]) {
    answers_newest(registry, changes.len());
    answers_facts(registry, changes, facts);
    answers_archives(registry, &json!([]));
}

/// Returns the entries of an audit log, as documents.
fn log(changes: &[(&str, u16)]) -> Vec<Value> {
    let mut previous = Sha256::of(b"");
    let numbered = changes.iter().zip(1..);
    let entries = numbered.map(|((what, status), number)| {
        let entry = AuditEntry {
            number,
            at: UnixTime(number),
            by: "root".to_owned(),
            provenance: None,
            from: String::new(),
            what: (*what).to_owned(),
            change: None,
            status: *status,
            sent: None,
            previous,
        };
        let document = serde_json::to_string(&entry).unwrap();
        previous = Sha256::of(document.as_bytes());
        json!({ "key": format!("audit/{number:012}"), "document": document })
    });
    entries.collect()
}

fn fact(key: String, document: &str) -> Value {
    json!({ "key": key, "document": document })
}

/// Returns the signing keys of a namespace, as a document.
fn keys() -> Vec<Value> {
    vec![fact("keys/acme".to_owned(), r#"{"keys":[]}"#)]
}

fn archive(digit: &str) -> String {
    format!("archives/{}.zip", digit.repeat(64))
}

/// Returns the document about a version of a module with this archive.
pub(crate) fn release_document(version: &str, published_at: u64, digit: &str) -> String {
    let digest = digit.repeat(64);
    let archive = format!(r#"{{"format":"zip","sha256":"{digest}","size":7}}"#);
    let start = r#""kind":"module","schema":1,"address":"acme/vpc/aws""#;
    format!(
        r#"{{{start},"version":"{version}","published_at":{published_at},"archive":{archive}}}"#
    )
}

fn release(version: &str, digit: &str) -> Value {
    let key = format!("releases/modules/acme/vpc/aws/{version}");
    fact(key, &release_document(version, 1, digit))
}

/// Returns the document about the documentation of the first version.
fn documentation(digit: &str) -> Value {
    let digest = digit.repeat(64);
    let document = format!(
        r#"{{"schema":1,"sequence":1,"sha256":"{digest}","size":100,"head_length":40,"history":[]}}"#
    );
    fact("docs/modules/acme/vpc/aws/1.0.0".to_owned(), &document)
}

/// Returns the tombstone of bytes, which are an archive or a blob.
fn mark(digit: &str, kind: &str) -> Value {
    let document = r#"{"state":"erased","since":2,"reason":"a leaked key"}"#;
    fact(format!("garbage/{}.{kind}", digit.repeat(64)), document)
}

fn digest_of(text: &str) -> String {
    format!("sha256:{}", Sha256::of(text.as_bytes()))
}

fn layer(digit: &str) -> String {
    format!("sha256:{}", digit.repeat(64))
}

/// Returns the text of a manifest with this layer and the empty configuration.
fn manifest(digit: &str) -> String {
    let empty = digest_of("{}");
    let layer = layer(digit);
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": { "mediaType": "application/vnd.oci.empty.v1+json", "digest": empty, "size": 2 },
        "layers": [{ "mediaType": "a/b", "digest": layer, "size": 7 }],
    })
    .to_string()
}

fn link(repository: &str, digest: &str) -> Value {
    let key = format!("oci/links/{repository}:{digest}");
    fact(key, r#"{"size":7}"#)
}

fn manifest_of(repository: &str, text: &str) -> Value {
    let digest = digest_of(text);
    fact(format!("oci/manifests/{repository}:{digest}"), text)
}
