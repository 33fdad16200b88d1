//! `terrace admin import` of an export.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use terrace_base::digest::Sha256;
use terrace_core::storage::copy::path_of_fact;

use crate::admin::release_document;
use crate::support::registry::Registry;
use crate::support::{Ended, assert_has, directory, run, write};

/// Creates a complete export of some registry with these documents, by their keys.
pub(crate) fn copy_of(facts: &[(&str, &str)]) -> TempDir {
    let copy = directory(&[]);
    write_copy(copy.path(), "https://r.example.com", facts, &[]);
    copy
}

/// Writes a complete export of a registry with these documents, by their keys, and these archives.
pub(crate) fn write_copy(
    place: &Path,
    registry: &str,
    facts: &[(&str, &str)],
    archives: &[String],
) {
    let documents = facts.iter().map(|(key, text)| (path_of_fact(key), *text));
    let others = archives.iter().map(|path| (path.clone(), "an archive"));
    let mut sums = String::new();
    for (path, text) in documents.chain(others).collect::<BTreeMap<_, _>>() {
        write(place, &[(&path, text)]);
        sums += &format!("{}  {path}\n", Sha256::of(text.as_bytes()));
    }
    let summary = json!({
        "format": "terrace export 1", "registry": registry, "documents": facts.len(), "archives": archives.len(),
        "bytes": 0, "sha256sums": Sha256::of(sums.as_bytes()).to_string(),
    });
    let summary = summary.to_string();
    write(place, &[("SHA256SUMS", &sums), ("export.json", &summary)]);
}

#[track_caller]
fn import(registry: &Registry, place: &Path) -> Ended {
    run(registry, &["admin", "import", place.to_str().unwrap()])
}

const KEY: &str = "releases/modules/acme/vpc/aws/1.0.0";

#[test]
fn an_incomplete_export_and_a_part_of_an_export_are_refused() {
    let registry = Registry::start();
    let copy = copy_of(&[(KEY, "{}"), ("keys/acme", "{}")]);
    for part in ["facts", "facts/releases", "nothere", "SHA256SUMS"] {
        import(&registry, &copy.path().join(part)).fails(3, "terrace admin export");
    }
    let summary = copy.path().join("export.json");
    let complete = fs::read_to_string(&summary).unwrap();
    fs::write(&summary, complete.replace("sha256sums", "other")).unwrap();
    import(&registry, copy.path()).fails(3, "an incomplete Terrace export");
    fs::write(&summary, complete).unwrap();
    fs::remove_file(copy.path().join("SHA256SUMS")).unwrap();
    import(&registry, copy.path()).fails(3, "an incomplete Terrace export");
    fs::remove_file(&summary).unwrap();
    import(&registry, copy.path()).fails(3, "nor the export.json");
    assert_eq!(registry.requests(), [""; 0]);
}

#[test]
fn a_document_that_differs_from_the_copy_s_is_a_conflict() {
    let copy = copy_of(&[(KEY, &release_document("1.0.0", 86_400, "a"))]);
    let registry = Registry::start();
    registry.answer("PUT", "/facts", &json!({ "conflicts": [KEY] }));
    registry.answer("POST", "/reindex", &json!({ "looked_at": 1 }));
    let ended = import(&registry, copy.path()).expect(4);
    assert_eq!(ended.json()["created"], 0);
    assert_has!(ended.errors(), KEY, "stays unchanged");
}
