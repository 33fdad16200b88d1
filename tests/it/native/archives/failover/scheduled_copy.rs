//! The copy by the scheduled event: its comparisons, failures and costs.

use serde_json::{Value, json};

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
    let objects = two.memory.objects();
    let archives = objects
        .iter()
        .filter(|(key, _)| key.starts_with("archives/"));
    let archives: Vec<_> = archives
        .map(|(key, bytes)| (key.clone(), bytes.clone()))
        .collect();
    assert!(archives.len() >= 4, "{archives:?}");
    assert_eq!(
        two.memory.copies().into_iter().collect::<Vec<_>>(),
        archives
    );
    let copy = &two.state()["copy"];
    assert_eq!(copy["stored"], archives.len());
    assert_eq!(
        (&copy["missing"], &copy["error"]),
        (&json!(0), &Value::Null)
    );
}

#[test]
fn the_copy_states_the_reason_while_the_second_bucket_is_unreachable() {
    let two = Two::copied(&S3);
    ModuleFixture::of("acme", "1.1.0").publish(&two.registry);
    two.memory.set_second_down(true);
    two.copy();
    let error = two.state()["copy"]["error"].as_str().unwrap().to_owned();
    assert!(
        error.starts_with("the second bucket cannot list"),
        "{error}"
    );
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

#[test]
fn an_object_that_cannot_be_copied_stops_neither_the_others_nor_removals() {
    let two = Two::copied(&S3);
    two.memory.set_second_down(true);
    two.erase();
    two.memory.set_second_down(false);
    let kept: Vec<ModuleFixture> = ["1.1.0", "1.2.0", "1.3.0"]
        .map(|version| ModuleFixture::of("acme", version))
        .into();
    for fixture in &kept {
        fixture.publish(&two.registry);
    }
    let mut keys: Vec<String> = kept.iter().map(key_of).collect();
    keys.sort();
    two.memory.refuse_copy(&keys[0]);
    two.copy();
    let copies: Vec<String> = two.memory.copies().into_keys().collect();
    assert_eq!(copies, keys[1..]);
    let copy = two.state()["copy"].clone();
    assert_eq!(copy["missing"], 1);
    let error = copy["error"].as_str().unwrap();
    assert!(
        error.contains(&keys[0]) && error.contains("400 (BadDigest)"),
        "{error}"
    );
}

#[test]
fn objects_that_cannot_be_copied_do_not_keep_the_others_of_their_page_waiting() {
    let two = Two::copied(&S3);
    let all: Vec<ModuleFixture> = (0..30)
        .map(|patch| ModuleFixture::of("acme", &format!("2.0.{patch}")))
        .collect();
    let mut keys: Vec<String> = all.iter().map(key_of).collect();
    keys.sort();
    for key in &keys[..20] {
        two.memory.refuse_copy(key);
    }
    for fixture in &all {
        fixture.publish(&two.registry);
    }
    two.minutes(60);
    for key in &keys[20..] {
        assert!(two.memory.copies().contains_key(key), "{key}");
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
    let writes = two.memory.operations();
    let writes = writes
        .iter()
        .filter(|it| it.starts_with("R2 put failover/"));
    assert_eq!(writes.count(), 0);
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
    let puts = two.memory.operations();
    let puts = puts.iter().filter(|it| it.starts_with("bucket PUT"));
    assert_eq!(puts.count(), 2, "one for each walk of two pages");
}

#[test]
fn a_damaged_document_of_the_copy_begins_a_new_walk() {
    let two = Two::new(&S3);
    two.memory.put_object("failover/copy", b"{");
    two.copy();
    assert_eq!(two.memory.copies().len(), 1);
    assert_eq!(two.state()["copy"]["missing"], 0);
}
