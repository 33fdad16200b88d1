//! The steps of a replication: missing, erased and surplus archives.

use serde_json::{Value, json};

use super::Two;
use crate::support::ModuleFixture;
use crate::support::memory::second_bucket::COPIES;
use crate::support::registry::S3;

#[test]
fn a_replication_removes_nothing_and_waits_for_the_main_bucket() {
    let two = Two::copied(&S3);
    two.erase_while_down();
    let compare = |dry_run: bool| two.compare(&json!({ "dry_run": dry_run }));
    let before = two.memory.objects();
    let erased = |dry_run: bool| compare(dry_run).found()["erased"].clone();
    assert_eq!(erased(false), json!([two.key()]));
    assert!(two.memory.objects() == before && two.memory.copies().len() == 1);
    two.switch("fallback").expect(200);
    compare(false).expect(503);
    assert_eq!(erased(true), json!([two.key()]));
    two.switch("main").expect(200);
    two.copy();
    assert_eq!(erased(false), json!([]));
    assert_eq!(two.memory.copies().len(), 0);
}

#[test]
fn an_object_that_only_the_second_bucket_has_stays_unless_it_was_erased() {
    let two = Two::copied(&S3);
    two.memory.remove_object(&two.key());
    two.copy();
    assert!(two.has_copy(&two.key()), "the main bucket has lost it");
    let page = two.compare(&json!({})).found();
    assert_eq!(page["surplus"], json!([two.key()]));
    assert_eq!(two.state()["copy"]["surplus"], 1);
}

#[test]
fn the_steps_of_a_replication_name_every_missing_archive_once() {
    let two = Two::new(&S3);
    for patch in 0..120 {
        ModuleFixture::of("acme", &format!("2.0.{patch}")).publish(&two.registry);
    }
    let (mut after, mut missing, mut stored) = (None, Vec::new(), 0);
    loop {
        let body = after.map_or_else(|| json!({}), |after: Value| json!({ "after": after }));
        let page = two.compare(&body).found();
        stored += page["stored"].as_u64().unwrap();
        for it in page["missing"].as_array().unwrap() {
            let upload = &it["upload"];
            assert!(upload["url"].as_str().unwrap().starts_with(COPIES));
            assert!(upload["headers"]["x-amz-checksum-sha256"].is_string());
            missing.push(it["key"].as_str().unwrap().to_owned());
        }
        match page.get("next") {
            Some(next) => after = Some(next.clone()),
            None => break,
        }
    }
    assert_eq!((stored, missing.len()), (121, 121));
    missing.dedup();
    assert_eq!(missing.len(), 121);
    two.compare(&json!({ "after": "facts/x" })).expect(400);
}
