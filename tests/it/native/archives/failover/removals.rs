//! Erased archives, their documentation and garbage, which are removed from both buckets.

use serde_json::{Value, json};
use terrace_core::maintenance::garbage::GARBAGE_SECONDS;
use terrace_core::storage::fallback::COPY_SWEEP_SECONDS;

use super::Two;
use crate::native::archives::key_of;
use crate::support::ModuleFixture;
use crate::support::documented::document_module;
use crate::support::registry::{Registry, S3};
use crate::support::tokens::post;

#[test]
fn an_erased_archive_is_removed_from_both_buckets() {
    let two = Two::copied(&S3);
    let answer = two.erase();
    assert_eq!(answer.get("left_in_fallback"), None);
    assert!(!two.memory.keys().contains(&two.key()));
    assert!(!two.memory.copies().contains_key(&two.key()));
    two.copy();
    assert_eq!(two.memory.copies().len(), 0);
}

#[test]
fn an_erasure_that_does_not_reach_the_second_bucket_states_that_and_the_copy_completes_it() {
    let two = Two::copied(&S3);
    two.memory.set_second_down(true);
    let answer = two.erase();
    let left = answer["left_in_fallback"].as_array().unwrap();
    assert!(left.contains(&json!(two.key())), "{answer}");
    assert!(!two.memory.keys().contains(&two.key()));
    two.memory.set_second_down(false);
    assert!(two.memory.copies().contains_key(&two.key()));
    two.copy();
    assert!(!two.memory.copies().contains_key(&two.key()));
}

#[test]
fn documentation_of_an_erased_version_is_removed_from_both_buckets_also_without_a_tombstone() {
    for is_down in [false, true] {
        let two = Two::new(&S3);
        let documentation = document_module(&two.memory, "acme/vpc/aws", "1.0.0");
        two.copy();
        assert!(two.memory.copies().contains_key(&documentation));
        two.memory.set_second_down(is_down);
        let answer = two.erase();
        let left = answer["left_in_fallback"].to_string();
        assert_eq!(left.contains(&documentation), is_down, "{answer}");
        assert!(!two.memory.keys().contains(&documentation));
        two.memory.set_second_down(false);
        let compared = post(&two.registry, "/admin/v1/replication", &json!({}));
        let erased = compared.found()["erased"].to_string();
        assert_eq!(erased.contains(&documentation), is_down, "{erased}");
        two.copy();
        let left = u64::from(is_down);
        assert_eq!(
            two.state()["copy"]["erased"],
            left,
            "no upload may be in progress"
        );
        two.memory.advance(COPY_SWEEP_SECONDS);
        two.copy();
        assert_eq!(two.memory.copies().len(), 0);
        let marks = two.memory.keys();
        let marks = marks.iter().filter(|key| key.ends_with(".docs"));
        assert_eq!(marks.count(), 0, "a later run removes its mark");
    }
}

#[test]
fn a_copy_that_was_erased_without_the_settings_of_its_bucket_is_counted_when_they_return() {
    let two = Two::new(&S3);
    let documentation = document_module(&two.memory, "acme/vpc/aws", "1.0.0");
    two.copy();
    let without = Registry::in_memory(&two.memory, &S3);
    let erasure = json!({ "package": "acme/vpc/aws", "version": "1.0.0", "archives": [two.key()], "reason": "a leaked key" });
    post(&without, "/admin/v1/erasures", &erasure).expect(200);
    two.copy();
    assert_eq!(
        two.memory.copies().into_keys().collect::<Vec<_>>(),
        [documentation],
        "the archive has a tombstone"
    );
    assert_eq!(two.state()["copy"]["surplus"], 1);
}

/// Returns the key of an archive that is garbage, and the body of a request that removes it.
fn marked(two: &Two) -> (String, Value) {
    let orphan = ModuleFixture::of("acme", "9.0.0");
    orphan.upload(&two.registry);
    let key = key_of(&orphan);
    two.copy();
    assert!(two.memory.copies().contains_key(&key));
    let marking = json!({ "mark": [key] });
    post(&two.registry, "/admin/v1/garbage", &marking).expect(200);
    let marked_at = two.memory.now_ms() / 1_000;
    two.memory.advance(GARBAGE_SECONDS);
    let body = json!({ "remove": [{ "key": key, "marked_at": marked_at }] });
    (key, body)
}

#[test]
fn a_second_bucket_that_refuses_a_removal_is_a_conflict_with_its_settings() {
    let two = Two::new(&S3);
    let (key, body) = marked(&two);
    two.memory.lock_copy(&key);
    let refused = post(&two.registry, "/admin/v1/garbage", &body).expect(409);
    let errors = refused.errors();
    assert!(
        errors.contains("status 403") && errors.contains("TERRACE_S3_FALLBACK_"),
        "{errors}"
    );
    assert!(two.memory.keys().contains(&key));
    // A publisher of the same archive cannot correct them, and must not take that for a conflict with its version.
    two.memory.advance(GARBAGE_SECONDS);
    let refused = ModuleFixture::of("acme", "9.0.0").put(&two.registry);
    refused.refuses(503, "is being removed");
}

#[test]
fn garbage_is_removed_from_both_buckets_or_from_none() {
    let two = Two::new(&S3);
    let (key, body) = marked(&two);
    two.memory.set_second_down(true);
    post(&two.registry, "/admin/v1/garbage", &body).expect(502);
    assert!(two.memory.keys().contains(&key));
    two.memory.set_second_down(false);
    let marks = two
        .memory
        .object_bytes(&key.replace("archives/", "garbage/"));
    let mark: Value = serde_json::from_slice(&marks).unwrap();
    two.memory.advance(GARBAGE_SECONDS);
    let body = json!({ "remove": [{ "key": key, "marked_at": mark["since"] }] });
    post(&two.registry, "/admin/v1/garbage", &body).expect(200);
    assert!(!two.memory.keys().contains(&key) && !two.memory.copies().contains_key(&key));
}
