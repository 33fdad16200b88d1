//! `terrace admin verify`.

use serde_json::{Value, json};

use super::{
    ACCEPT, PUBLISHED, RELEASE, answers_archives, answers_export, answers_facts, answers_newest,
    answers_verify, export, keys, old_archives, place,
};
use crate::import::copy_of;
use crate::support::registry::Registry;
use crate::support::{Ended, assert_has, assert_lacks, run};

#[track_caller]
fn verify(registry: &Registry, more: &[&str]) -> Ended {
    run(registry, &[&["admin", "verify", "--quick"], more].concat())
}

#[test]
fn documentation_without_its_archive_is_reported() {
    let digest = "0".repeat(64);
    let document = format!(
        r#"{{"schema":1,"sequence":1,"sha256":"{digest}","size":100,"head_length":40,"history":[]}}"#
    );
    let key = "docs/modules/acme/vpc/aws/1.0.0";
    let registry = Registry::start();
    let documentation = json!({ "key": key, "document": document });
    answers_verify(&registry, &[], &[documentation]);
    let reason = format!("archives/{digest}.docs is missing, but {key} refers to it");
    verify(&registry, &[]).fails(3, &reason);
}

#[test]
fn a_full_check_with_a_token_that_cannot_hash_is_refused_before_anything_is_read() {
    let registry = Registry::start();
    let token = json!({ "id": "1", "name": "backup", "scopes": ["backup"], "expires": null });
    registry.set_json("/api/v1/token", &token);
    let errors = run(&registry, &["admin", "verify"]).fails(5, "this one has backup");
    assert_has!(errors, "--quick");
    assert_eq!(registry.requests(), ["GET /api/v1/token"]);
}

#[test]
fn a_missing_release_that_the_audit_log_records_is_reported() {
    let registry = Registry::start();
    answers_verify(&registry, PUBLISHED, &[]);
    let errors = verify(&registry, &[]).fails(3, RELEASE);
    assert_has!(errors, "entry 2");
    assert_lacks!(errors, "2.0.0", "3.0.0");
    answers_verify(&registry, PUBLISHED, &keys());
    verify(&registry, &ACCEPT).expect(0);
    verify(&registry, &["--accept-loss", "acme/vpc/aws"]).fails(2, "ADDRESS@VERSION");
}

#[test]
fn archives_without_any_document_fail_verification() {
    let mark = r#"{"state":"erased","since":2,"reason":"a leaked key"}"#;
    let tombstone = json!({ "key": format!("garbage/{}.zip", "1".repeat(64)), "document": mark });
    for facts in [&[][..], &[tombstone]] {
        let registry = Registry::start();
        answers_archives(&registry, &old_archives());
        answers_newest(&registry, 0);
        answers_facts(&registry, &[], facts);
        answers_archives(&registry, &old_archives());
        verify(&registry, &[]).fails(3, "but no documents");
    }
}

#[test]
fn a_missing_document_that_the_audit_log_records_is_reported() {
    let release = "modules/acme/vpc/aws";
    for (change, key) in [
        ("PUT /admin/v1/namespaces/acme/keys", "keys/acme"),
        (
            &*format!("PUT /admin/v1/{release}/1.0.0/status"),
            &*format!("statuses/{release}"),
        ),
        (
            "DELETE /admin/v1/tokens/0123456789abcdef",
            "revocations/0123456789abcdef",
        ),
    ] {
        let registry = Registry::start();
        answers_verify(&registry, &[(change, 200)], &[]);
        verify(&registry, &[]).fails(3, &format!("{key} is missing"));
    }
}

#[test]
fn a_registry_is_compared_with_a_copy() {
    let registry = Registry::start();
    let (_around, copy) = place();
    answers_export(&registry, &PUBLISHED[..1], &keys());
    export(&registry, &copy, &[]).expect(0);
    let compare = ["--copy", copy.to_str().unwrap()];
    answers_verify(&registry, &PUBLISHED[..1], &keys());
    verify(&registry, &compare).expect(0);
    for (changes, facts, message) in [
        (&PUBLISHED[..1], vec![], "keys/acme is in "),
        (&PUBLISHED[..0], keys(), "from audit/000000000001 on"),
        (&PUBLISHED[1..2], keys(), "from audit/000000000001 on"),
        (&[], vec![], "keys/acme is in "),
    ] {
        answers_verify(&registry, changes, &facts);
        verify(&registry, &compare).fails(3, message);
    }
    // After a bucket was lost and restored under the same hostname, the restore starts a new log.
    for changes in [&PUBLISHED[4..], &[]] {
        answers_verify(&registry, changes, &keys());
        let errors = verify(&registry, &compare).fails(3, "audit/000000000001");
        assert_has!(errors, "--accept-loss audit-log");
        assert_lacks!(errors, "restore it with");
        answers_verify(&registry, changes, &keys());
        let accepting = [&compare[..], &["--accept-loss", "audit-log"]].concat();
        verify(&registry, &accepting).expect(0);
    }
}

#[test]
fn a_release_that_was_published_again_is_not_a_change() {
    let place = copy_of(&[(RELEASE, &release(1, "a"))]);
    let compare = ["--copy", place.path().to_str().unwrap()];
    let registry = Registry::start();
    let answer = |digit: &str| {
        answers_archives(&registry, &json!([]));
        answers_newest(&registry, 0);
        let release = json!({ "key": RELEASE, "document": release(2, digit) });
        answers_facts(&registry, &[], &[release]);
        let key = format!("archives/{}.zip", digit.repeat(64));
        let stored: Value = json!([{ "key": key, "size": 7, "stored_at": 1 }]);
        answers_archives(&registry, &stored);
    };
    answer("a");
    verify(&registry, &compare).expect(0);
    answer("b");
    verify(&registry, &compare).fails(3, &format!("{RELEASE} differs from the copy in "));
    answer("b");
    verify(&registry, &[compare, ACCEPT].concat()).expect(0);
}

/// Returns the document about the release of a module.
pub(crate) fn release(published_at: u64, digit: &str) -> String {
    let digest = digit.repeat(64);
    let archive = format!(r#"{{"format":"zip","sha256":"{digest}","size":7}}"#);
    let start = r#""kind":"module","schema":1,"address":"acme/vpc/aws","version":"1.0.0""#;
    format!(r#"{{{start},"published_at":{published_at},"archive":{archive}}}"#)
}
