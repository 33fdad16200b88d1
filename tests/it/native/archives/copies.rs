//! The copies in the second bucket while archives are removed: by erasures, by garbage collection, and at the same time.

use serde_json::{Value, json};
use terrace_core::limits::{COPY_REMOVAL_SECONDS, COPY_REMOVALS_SECONDS};
use terrace_core::maintenance::garbage::GARBAGE_SECONDS;
use terrace_core::maintenance::garbage::MARK_REMOVAL_SECONDS;
use terrace_core::storage::failover::COPY_STEP_SECONDS;
use terrace_core::storage::fallback::COPY_SWEEP_SECONDS;

use super::failover::Two;
use super::{alone, erase, key_of, whole};
use crate::support::documentation::Documentation;
use crate::support::documented::document_module;
use crate::support::faults::When;
use crate::support::memory::second_bucket::COPIES;
use crate::support::registry::S3;
use crate::support::{ModuleFixture, ProviderFixture};

/// The number of requests to the second bucket that an erasure sends at once.
const AT_ONCE: usize = 4;

impl Two {
    /// Returns the operations on the second bucket since they were last forgotten.
    fn requests(&self) -> Vec<String> {
        let mut operations = self.memory.operations();
        operations.retain(|it| it.starts_with("bucket ") && it.contains(COPIES));
        operations
    }

    fn archives(&self) -> Vec<String> {
        self.memory.keys_with("archives/")
    }

    /// Erases all archives.
    fn erase_all(&self) -> Value {
        let mut body = alone(&[]);
        body["archives"] = json!(self.archives());
        erase(&self.registry, &body).found()
    }
}

#[test]
fn an_erasure_stops_to_ask_a_second_bucket_that_does_not_answer_and_names_all_copies() {
    let two = Two::new(&S3);
    ProviderFixture::new("1.0.0").publish(&two.registry);
    two.copy();
    two.memory.set_second_down(true);
    two.memory.forget_operations();
    let archives = two.archives();
    assert!(archives.len() > AT_ONCE, "{archives:?}");
    let answer = two.erase_all();
    assert_eq!(two.archives(), [""; 0]);
    assert!(two.requests().len() <= AT_ONCE, "{:?}", two.requests());
    let left = answer["left_in_fallback"].to_string();
    for key in &archives {
        assert!(left.contains(key), "{key}: {left}");
    }
    two.memory.set_second_down(false);
    two.copy();
    assert_eq!(two.memory.copies().len(), 0);
}

#[test]
fn an_erasure_removes_everything_from_the_main_bucket_before_it_asks_the_second_one() {
    let two = Two::new(&S3);
    ProviderFixture::new("1.0.0").publish(&two.registry);
    document_module(&two.memory, "acme/vpc/aws", "1.0.0");
    two.copy();
    two.memory.forget_operations();
    let mut body = whole(&[]);
    body["archives"] = json!(two.archives());
    let answer = erase(&two.registry, &body).found();
    assert_eq!(answer.get("left_in_fallback"), None);
    assert_eq!(two.archives(), [""; 0]);
    let operations = two.memory.operations();
    let first = operations.iter().position(|it| it.contains(COPIES));
    let is_removal = |it: &String| it.starts_with("R2 delete archives/");
    let last = operations.iter().rposition(is_removal);
    assert!(last.is_some() && last < first, "{operations:?}");
    assert_eq!(two.memory.copies().len(), 0);
}

#[test]
fn an_erasure_ends_in_time_if_the_second_bucket_is_slow() {
    for delay in [COPY_REMOVAL_SECONDS, COPY_REMOVAL_SECONDS + 1] {
        let two = Two::new(&S3);
        ProviderFixture::new("1.0.0").publish(&two.registry);
        two.copy();
        two.memory.delay_second(delay);
        let before = two.memory.now_ms();
        let answer = two.erase_all();
        let seconds = (two.memory.now_ms() - before) / 1_000;
        let batch = AT_ONCE as u64 * u64::from(COPY_REMOVAL_SECONDS);
        assert!(seconds <= COPY_REMOVALS_SECONDS + batch, "{seconds}");
        assert_eq!(two.archives(), [""; 0]);
        assert!(answer["left_in_fallback"].is_array(), "{answer}");
    }
}

#[test]
fn documentation_that_is_removed_while_it_is_copied_does_not_stay_in_the_second_bucket() {
    for when in [When::Before, When::After] {
        let two = Two::new(&S3);
        let documentation = document_module(&two.memory, "acme/vpc/aws", "1.0.0");
        let there = two.at(0);
        let put = format!("bucket PUT {COPIES}{documentation}");
        let erased = two.memory.run(put.as_str(), 0, when, move || {
            there.erase();
        });
        two.copy();
        assert!(erased.is_reached());
        assert!(!two.memory.keys().contains(&documentation));
        assert_eq!(two.memory.copies().len(), 0, "{when:?}");
    }
}

#[test]
fn a_copy_of_removed_documentation_that_arrives_later_is_removed_and_its_mark_with_it() {
    for is_copied in [false, true] {
        let two = Two::new(&S3);
        let documentation = document_module(&two.memory, "acme/vpc/aws", "1.0.0");
        if is_copied {
            two.copy();
        }
        two.erase();
        assert_eq!(two.memory.copies().len(), 0);
        // An upload by `terrace admin replicate`, whose URL is valid for an hour.
        two.memory.put_copy(&documentation, b"a text");
        two.memory.advance(COPY_SWEEP_SECONDS);
        two.copy();
        assert_eq!(two.memory.copies().len(), 0);
        assert_eq!(two.memory.keys_with("garbage/").len(), 2, "of the archive");
    }
}

#[test]
fn a_copy_that_cannot_be_removed_does_not_stop_other_removals_and_is_counted() {
    let two = Two::new(&S3);
    ProviderFixture::new("1.0.0").publish(&two.registry);
    two.copy();
    two.memory.set_second_down(true);
    two.erase_all();
    two.memory.set_second_down(false);
    let locked = two.memory.copies().into_keys().next().unwrap();
    two.memory.lock_copy(&locked);
    two.copy();
    assert_eq!(two.copies(), [locked]);
    let copy = two.state()["copy"].clone();
    assert_eq!(copy["erased"], 1);
    let error = copy["error"].as_str().unwrap();
    assert!(error.contains("403 (AccessDenied)"), "{error}");
}

#[test]
fn an_erasure_waits_for_a_mark_that_another_request_may_remove() {
    let two = Two::new(&S3);
    let documentation = document_module(&two.memory, "acme/vpc/aws", "1.0.0");
    let mark = documentation.replace("archives/", "garbage/");
    let kept = json!({ "state": "kept", "since": two.memory.now_ms() / 1_000 });
    two.memory.put_object(&mark, kept.to_string().as_bytes());
    let refused = erase(&two.registry, &whole(&[&two.key()]));
    refused.refuses(503, &documentation);
    two.memory.advance(2 * MARK_REMOVAL_SECONDS);
    two.erase();
    assert!(!two.memory.keys().contains(&documentation));
}

#[test]
fn marks_whose_state_is_not_listed_are_read() {
    let two = Two::new(&S3);
    let kept = ModuleFixture::of("acme", "1.1.0");
    kept.publish(&two.registry);
    for (key, state) in [(two.key(), "removing"), (key_of(&kept), "kept")] {
        let mark = json!({ "state": state, "since": two.memory.now_ms() / 1_000 });
        let key = key.replace("archives/", "garbage/");
        two.memory.put_object(&key, mark.to_string().as_bytes());
    }
    two.copy();
    assert_eq!(two.copies(), [key_of(&kept)]);
}

#[test]
fn one_step_at_a_time_copies() {
    let two = Two::new(&S3);
    let there = two.at(0);
    two.memory.before("bucket PUT", move || {
        there.registry.run_repair_step_if_due();
    });
    two.copy();
    assert_eq!(two.memory.count("bucket PUT"), 1);
    assert_eq!(two.memory.copies().len(), 1);
    assert_eq!(two.state()["copy"]["missing"], 0);
}

#[test]
fn a_copy_that_was_interrupted_continues_after_a_while() {
    let two = Two::new(&S3);
    let begun = two.memory.now_ms() / 1_000;
    let document = json!({ "bucket": COPIES, "begun": begun }).to_string();
    two.memory.put_object("failover/copy", document.as_bytes());
    two.minutes(5);
    assert_eq!(two.memory.copies().len(), 0);
    two.memory.advance(COPY_STEP_SECONDS);
    two.copy();
    assert_eq!(two.memory.copies().len(), 1);
}

#[test]
fn garbage_is_not_copied_once_it_is_marked() {
    let two = Two::copied(&S3);
    let (_, key) = two.orphan();
    let removal = two.mark(&key);
    assert_eq!(two.compare(&json!({})).found()["missing"], json!([]));
    two.copy();
    assert!(!two.has_copy(&key));
    assert_eq!(two.state()["copy"]["missing"], 0);
    // A removal cannot meet a copy of it: one that began before the mark has ended.
    two.memory.advance(GARBAGE_SECONDS);
    assert_eq!(two.collect(&removal).found()["removed"], json!([key]));
    two.copy();
    assert!(!two.has_copy(&key));
}

#[test]
fn garbage_that_a_release_refers_to_again_is_copied() {
    let two = Two::copied(&S3);
    let (orphan, key) = two.orphan();
    two.mark(&key);
    orphan.publish(&two.registry);
    two.copy();
    assert!(two.has_copy(&key));
}

#[test]
fn a_publish_completes_an_interrupted_removal_only_in_both_buckets() {
    let two = Two::new(&S3);
    let (orphan, key) = two.orphan();
    two.copy();
    let removal = two.mark(&key);
    two.memory.advance(GARBAGE_SECONDS);
    two.memory.set_second_down(true);
    two.collect(&removal).expect(502);
    two.memory.advance(GARBAGE_SECONDS);
    orphan.put(&two.registry).expect(503);
    let mark = key.replace("archives/", "garbage/");
    assert!(two.memory.keys().contains(&mark), "it leads to the copy");
    two.memory.set_second_down(false);
    orphan.publish(&two.registry);
    assert!(!two.memory.keys().contains(&mark));
    two.copy();
    assert!(two.has_copy(&key));
}

#[test]
fn the_doctor_states_whether_the_second_bucket_keeps_versions() {
    let two = Two::copied(&S3);
    let stated = || {
        let doctor = two.registry.read_as_admin("/admin/v1/doctor");
        doctor["failover"]["keeps_versions"].clone()
    };
    assert_eq!(stated(), false);
    two.memory.enable_versioning();
    assert_eq!(stated(), true);
    two.memory.set_second_down(true);
    assert_eq!(stated(), Value::Null);
}

#[test]
fn documentation_that_was_just_removed_cannot_be_added_again_for_an_hour_and_the_answer_says_so() {
    let two = Two::copied(&S3);
    let documentation = Documentation::of_module("# VPC");
    let path = |version: &str| format!("/admin/v1/modules/acme/vpc/aws/{version}/documentation");
    documentation.upload(&two.registry, &path("1.0.0"));
    documentation.put(&two.registry, &path("1.0.0")).expect(201);
    two.erase();
    ModuleFixture::of("acme", "1.1.0").publish(&two.registry);
    let refused = documentation.put(&two.registry, &path("1.1.0"));
    refused.refuses(503, "for an hour at most");
    two.memory.advance(GARBAGE_SECONDS);
    documentation.upload(&two.registry, &path("1.1.0"));
    documentation.put(&two.registry, &path("1.1.0")).expect(201);
}
