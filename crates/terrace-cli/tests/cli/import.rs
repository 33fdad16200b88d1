//! `terrace admin import` of an export.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use terrace_base::digest::Sha256;

use crate::admin::verify::release;
use crate::support::registry::Registry;
use crate::support::{Ended, assert_has, directory, run};

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
    let copy = copy_of(&[(KEY, "{}"), ("keys/acme", "{}")]);
    for part in ["facts", "facts/releases", "nothere", "SHA256SUMS"] {
        import(&registry, &copy.path().join(part)).fails(3, "terrace admin export");
    }
    let unfinished = json!({
        "format": "terrace export 1", "registry": "https://r.example.com", "documents": 0, "archives": 0, "bytes": 0,
    });
    let summary = copy.path().join("export.json");
    let complete = fs::read(&summary).unwrap();
    fs::write(&summary, unfinished.to_string()).unwrap();
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
    let copy = copy_of(&[(KEY, &release(86_400, "a"))]);
    let registry = Registry::start();
    registry.answer("PUT", "/facts", &json!({ "conflicts": [KEY] }));
    registry.answer("POST", "/reindex", &json!({ "looked_at": 1 }));
    let ended = import(&registry, copy.path()).expect(4);
    assert_eq!(ended.json()["created"], 0);
    assert_has!(ended.errors(), KEY, "stays unchanged");
}
