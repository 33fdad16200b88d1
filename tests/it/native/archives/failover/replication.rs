//! The steps of a replication: missing, erased and surplus archives.

use serde_json::{Value, json};

use super::Two;
use crate::support::ModuleFixture;
use crate::support::memory::second_bucket::COPIES;
use crate::support::registry::S3;
use crate::support::tokens::post;

#[test]
fn a_replication_removes_nothing_and_waits_for_the_main_bucket() {
    let two = Two::copied(&S3);
    two.memory.set_second_down(true);
    two.erase();
    two.memory.set_second_down(false);
    let compare = |dry_run: bool| {
        let body = json!({ "dry_run": dry_run });
        post(&two.registry, "/admin/v1/replication", &body)
    };
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
    assert!(
        two.memory.copies().contains_key(&two.key()),
        "the main bucket has lost it"
    );
    let page = post(&two.registry, "/admin/v1/replication", &json!({})).found();
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
        let page = post(&two.registry, "/admin/v1/replication", &body).found();
        stored += page["stored"].as_u64().unwrap();
        for it in page["missing"].as_array().unwrap() {
            let upload = it["upload"]["url"].as_str().unwrap();
            assert!(upload.starts_with(COPIES), "{upload}");
            assert!(
                it["upload"]["headers"]
                    .get("x-amz-checksum-sha256")
                    .is_some()
            );
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
    let body = json!({ "after": "facts/x" });
    post(&two.registry, "/admin/v1/replication", &body).expect(400);
}
