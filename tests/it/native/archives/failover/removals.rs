//! Erased archives, their documentation and garbage, which are removed from both buckets.

use serde_json::{Value, json};
use terrace_core::maintenance::garbage::GARBAGE_SECONDS;
use terrace_core::storage::fallback::COPY_SWEEP_SECONDS;

use super::Two;
use crate::native::archives::{erase, whole};
use crate::support::ModuleFixture;
use crate::support::documented::document_module;
use crate::support::registry::{Registry, S3};

#[test]
fn an_erasure_that_does_not_reach_the_second_bucket_states_that_and_the_copy_completes_it() {
    let two = Two::copied(&S3);
    let answer = two.erase_while_down();
    let left = answer["left_in_fallback"].as_array().unwrap();
    assert!(left.contains(&json!(two.key())), "{answer}");
    assert!(!two.memory.keys().contains(&two.key()));
    assert!(two.has_copy(&two.key()));
    two.copy();
    assert!(!two.has_copy(&two.key()));
}

#[test]
fn documentation_of_an_erased_version_is_removed_from_both_buckets_also_without_a_tombstone() {
    for is_down in [false, true] {
        let two = Two::new(&S3);
        let documentation = document_module(&two.memory, "acme/vpc/aws", "1.0.0");
        two.copy();
        assert!(two.has_copy(&documentation));
        let answer = match is_down {
            true => two.erase_while_down(),
            false => two.erase(),
        };
        let left = answer["left_in_fallback"].to_string();
        assert_eq!(left.contains(&documentation), is_down, "{answer}");
        assert!(!two.memory.keys().contains(&documentation));
        let erased = two.compare(&json!({})).found()["erased"].to_string();
        assert_eq!(erased.contains(&documentation), is_down, "{erased}");
        two.copy();
        let left = two.state()["copy"]["erased"].clone();
        assert_eq!(left, u64::from(is_down), "no upload may be in progress");
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
    erase(&without, &whole(&[&two.key()])).expect(200);
    two.copy();
    assert_eq!(two.copies(), [documentation], "the archive has a tombstone");
    assert_eq!(two.state()["copy"]["surplus"], 1);
}

/// Returns the key of an archive that is garbage, and the body of a request that removes it.
fn marked(two: &Two) -> (String, Value) {
    let (_, key) = two.orphan();
    two.copy();
    assert!(two.has_copy(&key));
    let removal = two.mark(&key);
    two.memory.advance(GARBAGE_SECONDS);
    (key, removal)
}

#[test]
fn a_second_bucket_that_refuses_a_removal_is_a_conflict_with_its_settings() {
    let two = Two::new(&S3);
    let (key, body) = marked(&two);
    two.memory.lock_copy(&key);
    let errors = two.collect(&body).refuses(409, "status 403");
    assert!(errors.contains("TERRACE_S3_FALLBACK_"), "{errors}");
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
    two.collect(&body).expect(502);
    assert!(two.memory.keys().contains(&key));
    two.memory.set_second_down(false);
    let mark = key.replace("archives/", "garbage/");
    let mark: Value = serde_json::from_slice(&two.memory.object_bytes(&mark)).unwrap();
    two.memory.advance(GARBAGE_SECONDS);
    let body = json!({ "remove": [{ "key": key, "marked_at": mark["since"] }] });
    two.collect(&body).expect(200);
    assert!(!two.memory.keys().contains(&key) && !two.has_copy(&key));
}
