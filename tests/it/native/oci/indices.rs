//! Indices of pushed repositories: lost, late, or written too often.

use serde_json::json;

use super::{NAME, paths};
use crate::support::Registry;
use crate::support::faults::{Failure, When};
use crate::support::pushed::{MANIFEST, Pushed, PushedProvider, blob_at, manifest_at};

#[test]
fn a_lost_index_is_rebuilt_and_costs_one_read_again() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let text = pushed.artifact("latest", b"layer", json!({}));
    for path in paths(&text, "latest") {
        let before = pushed.get(&path);
        memory.lose_indices();
        let found = pushed.get(&path).expect(before.status);
        assert_eq!(
            (found.body, found.headers),
            (before.body, before.headers),
            "{path}"
        );
        for method in ["GET", "HEAD"] {
            memory.forget_operations();
            pushed.send(method, &path);
            let operations = memory.operations();
            assert_eq!(operations.len(), 1, "{method} {path}: {operations:?}");
            assert!(operations[0].starts_with("KV get oci/"), "{operations:?}");
        }
    }
}

#[test]
fn a_bucket_that_has_lost_its_metadata_has_the_same_tags() {
    let (memory, registry) = Registry::with_memory(&[]);
    let provider = PushedProvider::of("acme", "1");
    let index = provider.prepare(&registry);
    for tag in ["1.0.0", "latest"] {
        provider.tag(&registry, tag, &index).expect(201);
    }
    let pushed = Pushed::of(&registry, &provider.repository());
    memory.lose_indices();
    memory.lose_metadata();
    assert_eq!(pushed.tags(), ["1.0.0"]);
}

/// Clients check for each blob before they push it, and the edge caches that it is missing.
#[test]
fn a_blob_that_was_read_before_its_push_is_indexed_once() {
    let (memory, registry) = Registry::with_memory(&[]);
    memory.at_an_edge();
    let pushed = Pushed::of(&registry, NAME);
    let text = pushed.artifact("latest", b"layer", json!({}));
    let paths = [blob_at(b"layer"), manifest_at(&text)];
    let all = |status: u16| {
        for path in &paths {
            assert_eq!(pushed.head(path).status, status, "{path}");
        }
    };
    for path in &paths {
        pushed.send("DELETE", path).expect(202);
    }
    all(404);
    pushed.artifact("latest", b"layer", json!({}));
    memory.advance(30);
    memory.forget_operations();
    for _ in 0..3 {
        all(200);
    }
    let operations = memory.operations();
    assert!(
        operations.iter().all(|it| it.starts_with("KV get ")),
        "{operations:?}"
    );
}

#[test]
fn a_deleted_manifest_can_be_read_for_at_most_half_a_minute() {
    let (memory, registry) = Registry::with_memory(&[]);
    memory.at_an_edge();
    let pushed = Pushed::of(&registry, NAME);
    let text = pushed.artifact("latest", b"layer", json!({}));
    let all = paths(&text, "latest");
    for path in &all {
        pushed.head(path).expect(200);
    }
    for path in &all[2..] {
        pushed.send("DELETE", path).expect(202);
    }
    memory.advance(30);
    for path in &all {
        assert_eq!(pushed.head(path).status, 404, "{path}");
    }
}

#[test]
fn a_listing_that_makes_no_progress_is_503() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    pushed.artifact("latest", b"layer", json!({}));
    memory.lose_indices();
    memory.list_nothing();
    pushed.get("tags/list").expect(503);
    assert_eq!(pushed.tags(), ["latest"]);
}

#[test]
fn a_write_to_a_busy_key_is_retried() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let text = pushed.artifact("latest", b"layer", json!({}));
    memory.fail("R2 put", 0..3, When::Before, Failure::Busy);
    memory.fail("KV put", 0..3, When::Before, Failure::Busy);
    pushed.put_manifest("other", MANIFEST, &text).expect(201);
    assert_eq!(pushed.tags(), ["latest", "other"]);
}
