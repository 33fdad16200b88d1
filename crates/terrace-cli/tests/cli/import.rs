//! `terrace admin import` of an export.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use terrace_base::digest::Sha256;

use crate::support::http::Response;
use crate::support::registry::{Fault, Registry};
use crate::support::{directory, run};

/// Creates a complete export with these documents.
fn copy_of(facts: &[(&str, &str)]) -> TempDir {
    let copy = directory(facts);
    let line = |(path, text): &(&str, &str)| format!("{}  {path}\n", Sha256::of(text.as_bytes()));
    let sums: String = facts.iter().map(line).collect();
    fs::write(copy.path().join("SHA256SUMS"), &sums).unwrap();
    let summary = json!({
        "format": "terrace export 1", "registry": "https://r.example.com", "documents": facts.len(), "archives": 0,
        "bytes": 0, "sha256sums": Sha256::of(sums.as_bytes()).to_string(),
    });
    fs::write(copy.path().join("export.json"), summary.to_string()).unwrap();
    copy
}

#[test]
fn an_incomplete_export_and_a_part_of_an_export_are_refused() {
    let release = "facts/releases/modules/acme/vpc/aws/1.0.0.json";
    let zip = format!("archives/{}.zip", "a".repeat(64));
    let facts = [(release, "{}"), ("facts/keys/acme.json", "{}")];
    let whole = copy_of(&facts);
    let without_summary = copy_of(&facts);
    fs::remove_file(without_summary.path().join("export.json")).unwrap();
    let sums_alone = copy_of(&facts);
    fs::remove_file(sums_alone.path().join("export.json")).unwrap();
    fs::remove_dir_all(sums_alone.path().join("facts")).unwrap();
    let archives_alone = directory(&[(&zip, "")]);
    let without_sums = copy_of(&facts);
    fs::remove_file(without_sums.path().join("SHA256SUMS")).unwrap();
    let unfinished = copy_of(&facts);
    let summary = json!({
        "format": "terrace export 1", "registry": "https://r.example.com", "documents": 0, "archives": 0, "bytes": 0,
    });
    fs::write(unfinished.path().join("export.json"), summary.to_string()).unwrap();
    let registry = Registry::start();
    let refused = |place: &Path| {
        let import = ["admin", "import", place.to_str().unwrap()];
        run(&registry, &import).expect(3).errors()
    };
    let (again, anew) = ("run the export again", "export to a new one");
    for (copy, advice) in [
        (&without_summary, anew),
        (&sums_alone, anew),
        (&archives_alone, anew),
        (&without_sums, anew),
        (&unfinished, again),
    ] {
        let message = refused(copy.path());
        assert!(
            message.contains("an incomplete Terrace export"),
            "{message}"
        );
        assert!(message.contains(advice), "{message}");
        assert!(!message.contains("os error"), "{message}");
    }
    // An export says the same about a directory that it does not continue.
    for copy in [&without_summary, &sums_alone, &archives_alone] {
        let path = copy.path().to_str().unwrap();
        let exported = run(&registry, &["admin", "export", path]).expect(3);
        assert_eq!(exported.errors(), refused(copy.path()));
    }
    for part in ["facts", "facts/releases", "facts/releases/modules"] {
        let message = refused(&whole.path().join(part));
        let root = fs::canonicalize(whole.path()).unwrap();
        let advice = format!("terrace admin import {}", root.display());
        assert!(
            message.contains("is a part of the Terrace export"),
            "{message}"
        );
        assert!(message.ends_with(&advice), "{message}");
        let message = refused(&without_summary.path().join(part));
        assert!(
            message.contains("an incomplete Terrace export"),
            "{message}"
        );
    }
    assert!(registry.requests().is_empty());
}

#[test]
fn a_directory_that_cannot_be_imported_is_refused_with_all_the_kinds_that_can() {
    let registry = Registry::start();
    let place = directory(&[("notes.txt", "")]);
    for (path, reason) in [
        ("nothere", "it does not exist"),
        ("notes.txt", "it is not a directory"),
        ("", "contains nothing to import"),
    ] {
        let path = place.path().join(path);
        let errors = run(&registry, &["admin", "import", path.to_str().unwrap()])
            .expect(3)
            .errors();
        assert!(errors.contains(reason), "{errors}");
        let kinds =
            "Specify a directory that `terrace admin export` or `terraform providers mirror` wrote";
        assert!(errors.contains(kinds), "{errors}");
    }
}

#[test]
fn a_document_with_another_date_is_reported_to_have_the_same_archives() {
    let release = |published_at: u64| {
        let archive = format!(
            r#"{{"format":"zip","sha256":"{}","size":7}}"#,
            "a".repeat(64)
        );
        let start = r#""kind":"module","schema":1,"address":"acme/vpc/aws","version":"1.0.0""#;
        format!(r#"{{{start},"published_at":{published_at},"archive":{archive}}}"#)
    };
    let key = "releases/modules/acme/vpc/aws/1.0.0";
    let copy = copy_of(&[(&format!("facts/{key}.json"), &release(86_400))]);

    let registry = Registry::start();
    for (method, path, answer) in [
        ("PUT", "/facts", json!({ "conflicts": [key] })),
        (
            "GET",
            "/facts",
            json!({ "facts": [{ "key": key, "document": release(0) }] }),
        ),
        ("POST", "/reindex", json!({ "looked_at": 1 })),
    ] {
        let answer = Response::new(200, answer.to_string());
        registry.fail(method, path, Fault::Answer(answer));
    }
    let ended = run(
        &registry,
        &["admin", "import", copy.path().to_str().unwrap()],
    )
    .expect(4);
    let message = "with other metadata, but the same archives: published_at (1970-01-01T00:00:00Z in the registry, \
                1970-01-02T00:00:00Z in the copy)";
    assert!(ended.errors().contains(message), "{ended:?}");
    assert_eq!(ended.json()["created"], 0);
}

#[test]
fn the_documents_to_import_are_counted_without_the_audit_log_and_the_format() {
    let facts = [
        ("facts/audit/000000000001.json", "{}"),
        ("facts/audit/000000000002.json", "{}"),
        ("facts/format.json", r#"{"oldest_writer":"0.0.1"}"#),
        ("facts/keys/acme.json", r#"{"keys":[]}"#),
    ];
    let copy = copy_of(&facts);
    let registry = Registry::start();
    for (method, path, answer) in [
        ("PUT", "/facts", json!({})),
        ("PUT", "/facts", json!({ "created": ["keys/acme"] })),
        ("POST", "/reindex", json!({ "looked_at": 1 })),
    ] {
        let answer = Response::new(200, answer.to_string());
        registry.fail(method, path, Fault::Answer(answer));
    }
    let import = ["admin", "import", copy.path().to_str().unwrap()];
    let ended = run(&registry, &import).expect(0);
    assert!(
        ended.stderr.contains("contains 1 document and 0 archives"),
        "{ended:?}"
    );
    let left_out = "its audit log and its format (3 more documents) are not imported";
    assert!(ended.stderr.contains(left_out), "{ended:?}");
    assert_eq!(ended.json()["created"], 1);
}
