//! `terrace admin` against registries with unusual responses.

mod audit;
mod copies;
mod erase;
mod garbage;
mod reindex;
mod replicate;
pub(crate) mod verify;

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
    answers(
        registry,
        &format!("prefix={prefix}"),
        &json!({ "facts": facts }),
    );
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
    json!([{ "key": format!("archives/{}.zip", "0".repeat(64)), "size": 1, "stored_at": 1 }])
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

/// Returns the signing keys of a namespace, as a document.
fn keys() -> Vec<Value> {
    vec![json!({ "key": "keys/acme", "document": r#"{"keys":[]}"# })]
}
