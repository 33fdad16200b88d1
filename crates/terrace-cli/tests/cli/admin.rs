//! `terrace admin` against registries with unusual responses.

mod audit;
mod copies;
mod erase;
mod garbage;
mod reindex;
mod replicate;
mod verify;

use std::fs;

use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::maintenance::audit::AuditEntry;

use crate::support::http::Response;
use crate::support::registry::{Fault, Registry};

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
    let answer = Response::new(200, answer.to_string());
    registry.fail("GET", path, Fault::Answer(answer));
}

/// Sets the responses for one read of the audit log.
fn answers_log(registry: &Registry, changes: &[(&str, u16)]) {
    let newest = json!({ "entries": [], "newest": changes.len() });
    answers(registry, "/admin/v1/audit", &newest);
    answers(registry, "prefix=audit", &json!({ "facts": log(changes) }));
}

/// Sets the responses for one read of all documents: those of the audit log, then these.
fn answers_facts(registry: &Registry, changes: &[(&str, u16)], facts: &[Value]) {
    let is_mark = |fact: &&Value| fact["key"].as_str().unwrap().starts_with("garbage/");
    let (tombstones, facts): (Vec<&Value>, Vec<&Value>) = facts.iter().partition(is_mark);
    let facts: Vec<Value> = facts.into_iter().cloned().collect();
    let all = [log(changes), facts.to_vec()].concat();
    answers(registry, "facts?prefix=", &json!({ "facts": all }));
    answers(registry, "prefix=oci", &json!({ "facts": [] }));
    answers(registry, "prefix=oci", &json!({ "facts": [] }));
    answers(registry, "prefix=garbage", &json!({ "facts": tombstones }));
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
    let newest = json!({ "entries": [], "newest": changes.len() });
    answers(registry, "/admin/v1/audit", &newest);
    answers_facts(registry, changes, facts);
    answers_archives(registry, &json!([]));
}

/// Sets the responses for `export`.
fn answers_export(registry: &Registry, changes: &[(&str, u16)], facts: &[Value]) {
    answers_export_from(0, registry, changes, facts);
}

/// Sets the responses for `export` with a log that began at a time.
fn answers_export_from(began: u64, registry: &Registry, changes: &[(&str, u16)], facts: &[Value]) {
    let log = json!({ "facts": log_from(began, changes) });
    answers(registry, "prefix=audit", &log);
    let newest = json!({ "entries": [], "newest": changes.len() });
    answers(registry, "/admin/v1/audit", &newest);
    let facts = [log_from(began, changes), facts.to_vec()].concat();
    answers_facts(registry, &[], &facts);
    answers_archives(registry, &json!([]));
}

/// Returns the entries of an audit log, as documents.
fn log(changes: &[(&str, u16)]) -> Vec<Value> {
    log_from(0, changes)
}

/// Returns the entries of an audit log that began at a time, as documents.
fn log_from(began: u64, changes: &[(&str, u16)]) -> Vec<Value> {
    let mut previous = Sha256::of(b"");
    let numbered = changes.iter().zip(1..);
    let entries = numbered.map(|((what, status), number)| {
        let entry = AuditEntry {
            number,
            at: UnixTime(began + number),
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

/// Creates a directory with a copy that contains this document.
fn copy_with(release: &[Value]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let [key, document] = ["key", "document"].map(|name| release[0][name].as_str().unwrap());
    let path = format!("facts/{key}.json");
    let file = place.path().join(&path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, document).unwrap();
    let sums = format!("{}  {path}\n", Sha256::of(document.as_bytes()));
    fs::write(place.path().join("SHA256SUMS"), &sums).unwrap();
    let summary = json!({
        "format": "terrace export 1", "registry": "http://elsewhere.test", "documents": 1, "archives": 0, "bytes": 0,
        "sha256sums": Sha256::of(sums.as_bytes()).to_string(),
    });
    fs::write(place.path().join("export.json"), summary.to_string()).unwrap();
    place
}
