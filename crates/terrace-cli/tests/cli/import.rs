//! `terrace admin import` of an export.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use terrace_base::digest::Sha256;

use crate::admin::verify::release;
use crate::support::registry::Registry;
use crate::support::{Ended, assert_has, assert_lacks, directory, run};

/// Creates a complete export with these documents, by their keys.
pub(crate) fn copy_of(facts: &[(&str, &str)]) -> TempDir {
    let copy = directory(&[]);
    let mut sums = String::new();
    for (key, text) in facts {
        let path = format!("facts/{key}.json");
        let place = copy.path().join(&path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
        sums += &format!("{}  {path}\n", Sha256::of(text.as_bytes()));
    }
    fs::write(copy.path().join("SHA256SUMS"), &sums).unwrap();
    let summary = json!({
        "format": "terrace export 1", "registry": "https://r.example.com", "documents": facts.len(), "archives": 0,
        "bytes": 0, "sha256sums": Sha256::of(sums.as_bytes()).to_string(),
    });
    fs::write(copy.path().join("export.json"), summary.to_string()).unwrap();
    copy
}

#[track_caller]
fn import(registry: &Registry, place: &Path) -> Ended {
    run(registry, &["admin", "import", place.to_str().unwrap()])
}

const KEY: &str = "releases/modules/acme/vpc/aws/1.0.0";

#[test]
fn an_incomplete_export_and_a_part_of_an_export_are_refused() {
    let registry = Registry::start();
    let copy = || copy_of(&[(KEY, "{}"), ("keys/acme", "{}")]);
    for removed in [
        &["export.json"][..],
        &["export.json", "facts"],
        &["SHA256SUMS"],
        &[],
    ] {
        let place = copy();
        for name in removed {
            let path = place.path().join(name);
            fs::remove_file(&path)
                .or_else(|_| fs::remove_dir_all(&path))
                .unwrap();
        }
        if removed.is_empty() {
            let unfinished = json!({
                "format": "terrace export 1", "registry": "https://r.example.com", "documents": 0, "archives": 0, "bytes": 0,
            });
            fs::write(place.path().join("export.json"), unfinished.to_string()).unwrap();
        }
        let errors = import(&registry, place.path());
        let errors = errors.fails(3, "an incomplete Terrace export");
        assert_lacks!(errors, "os error");
    }
    let whole = copy();
    for part in ["facts", "facts/releases", "facts/releases/modules"] {
        import(&registry, &whole.path().join(part)).fails(3, "a part of one");
    }
    let place = directory(&[("notes.txt", "")]);
    for (path, reason) in [
        ("nothere", "it does not exist"),
        ("notes.txt", "it is not a directory"),
        ("", "contains nothing to import"),
    ] {
        let errors = import(&registry, &place.path().join(path)).fails(3, reason);
        assert_has!(
            errors,
            "`terrace admin export` or `terraform providers mirror`"
        );
    }
    assert_eq!(registry.requests(), [""; 0]);
}

#[test]
fn a_document_with_another_date_is_reported_to_have_the_same_archives() {
    let copy = copy_of(&[(KEY, &release(86_400, "a"))]);
    let registry = Registry::start();
    registry.answer("PUT", "/facts", &json!({ "conflicts": [KEY] }));
    let stored = json!({ "facts": [{ "key": KEY, "document": release(0, "a") }] });
    registry.answer("GET", "/facts", &stored);
    registry.answer("POST", "/reindex", &json!({ "looked_at": 1 }));
    let ended = import(&registry, copy.path()).expect(4);
    assert_eq!(ended.json()["created"], 0);
    assert_has!(ended.errors(), "but the same archives");
}

#[test]
fn the_documents_to_import_are_counted_without_the_audit_log_and_the_format() {
    let copy = copy_of(&[
        ("audit/000000000001", "{}"),
        ("audit/000000000002", "{}"),
        ("format", r#"{"oldest_writer":"0.0.1"}"#),
        ("keys/acme", r#"{"keys":[]}"#),
    ]);
    let registry = Registry::start();
    registry.answer("PUT", "/facts", &json!({}));
    registry.answer("PUT", "/facts", &json!({ "created": ["keys/acme"] }));
    registry.answer("POST", "/reindex", &json!({ "looked_at": 1 }));
    let ended = import(&registry, copy.path()).expect(0);
    assert_eq!(ended.json()["created"], 1);
    let left_out = "its audit log and its format (3 more documents) are not imported";
    assert_has!(ended.stderr, "contains 1 document and 0 archives", left_out);
}
