//! The copy by the scheduled event: its comparisons, failures and costs.

use serde_json::Value;

use super::{PATH, Two};
use crate::native::archives::key_of;
use crate::support::memory::second_bucket::FALLBACK;
use crate::support::registry::{Registry, S3};
use crate::support::{ModuleFixture, ProviderFixture};

#[test]
fn the_scheduled_event_copies_every_archive_and_records_that() {
    let two = Two::new(&S3);
    ProviderFixture::new("1.0.0").publish(&two.registry);
    assert_eq!(two.memory.copies().len(), 0, "no publish waits for a copy");
    two.copy();
    let mut archives = two.memory.objects();
    archives.retain(|key, _| key.starts_with("archives/"));
    assert!(archives.len() >= 4, "{archives:?}");
    assert_eq!(two.memory.copies(), archives);
    let copy = &two.state()["copy"];
    assert_eq!(copy["stored"], archives.len());
    assert_eq!(copy["missing"], 0);
    assert_eq!(copy["error"], Value::Null);
}

#[test]
fn the_copy_states_the_reason_while_the_second_bucket_is_unreachable() {
    let two = Two::copied(&S3);
    ModuleFixture::of("acme", "1.1.0").publish(&two.registry);
    two.memory.set_second_down(true);
    two.copy();
    let error = two.state()["copy"]["error"].to_string();
    assert!(error.contains("the second bucket cannot list"), "{error}");
    assert!(!error.contains("X-Amz"), "{error}");
    two.memory.set_second_down(false);
    two.copy();
    assert_eq!(two.state()["copy"]["error"], Value::Null);
    assert_eq!(two.memory.copies().len(), 2);
}

#[test]
fn the_state_of_the_copy_in_another_bucket_is_not_stated() {
    let two = Two::copied(&S3);
    assert_eq!(two.state()["copy"]["missing"], 0);
    let mut other = FALLBACK;
    other[1] = ("TERRACE_S3_FALLBACK_BUCKET", "empty");
    for settings in [&other[..], &[]] {
        let registry = Registry::in_memory(&two.memory, &[&S3[..], settings].concat());
        let state = registry.read_as_admin(PATH);
        assert_eq!(state["copy"], Value::Null, "{state}");
    }
}

#[test]
fn a_damaged_copy_is_replaced() {
    let two = Two::copied(&S3);
    two.memory.put_copy(&two.key(), b"short");
    two.copy();
    assert_eq!(two.memory.copies()[&two.key()], two.fixture.archive);
}

/// Publishes some versions. Returns the keys of their archives, ascending.
fn published(two: &Two, count: usize) -> Vec<String> {
    let publish = |patch: usize| {
        let fixture = ModuleFixture::of("acme", &format!("2.0.{patch}"));
        fixture.publish(&two.registry);
        key_of(&fixture)
    };
    let mut keys: Vec<String> = (0..count).map(publish).collect();
    keys.sort();
    keys
}

#[test]
fn an_object_that_cannot_be_copied_stops_neither_the_others_nor_removals() {
    let two = Two::copied(&S3);
    two.erase_while_down();
    let keys = published(&two, 3);
    two.memory.refuse_copy(&keys[0]);
    two.copy();
    assert_eq!(two.copies(), keys[1..]);
    let copy = two.state()["copy"].clone();
    assert_eq!(copy["missing"], 1);
    let error = copy["error"].as_str().unwrap();
    let is_named = error.contains(&keys[0]) && error.contains("400 (BadDigest)");
    assert!(is_named, "{error}");
}

#[test]
fn objects_that_cannot_be_copied_do_not_keep_the_others_of_their_page_waiting() {
    let two = Two::copied(&S3);
    let keys = published(&two, 30);
    for key in &keys[..20] {
        two.memory.refuse_copy(key);
    }
    two.minutes(60);
    for key in &keys[20..] {
        assert!(two.has_copy(key), "{key}");
    }
    assert_eq!(two.state()["copy"]["missing"], 20);
}

#[test]
fn a_second_bucket_that_fails_in_the_same_way_costs_no_writes() {
    let two = Two::copied(&S3);
    ModuleFixture::of("acme", "1.1.0").publish(&two.registry);
    two.memory.set_second_down(true);
    two.copy();
    two.memory.forget_operations();
    two.copy();
    assert_eq!(two.memory.count("R2 put failover/"), 0);
}

#[test]
fn an_archive_that_cannot_be_copied_is_tried_only_in_the_turns_of_the_copy() {
    let two = Two::copied(&S3);
    let other = ModuleFixture::of("acme", "1.1.0");
    other.publish(&two.registry);
    two.memory.refuse_copy(&key_of(&other));
    two.minutes(20);
    two.memory.forget_operations();
    two.minutes(20);
    let puts = two.memory.count("bucket PUT");
    assert_eq!(puts, 2, "one for each walk of two pages");
}

#[test]
fn a_damaged_document_of_the_copy_begins_a_new_walk() {
    let two = Two::new(&S3);
    two.memory.put_object("failover/copy", b"{");
    two.copy();
    assert_eq!(two.memory.copies().len(), 1);
    assert_eq!(two.state()["copy"]["missing"], 0);
}
