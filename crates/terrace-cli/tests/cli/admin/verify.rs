//! `terrace admin verify`.

use serde_json::{Value, json};

use super::{
    ACCEPT, PUBLISHED, RELEASE, answers_archives, answers_export, answers_facts, answers_newest,
    answers_verify, archive, documentation, export, keys, mark, old_archives, place, release,
    release_document,
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
    let registry = Registry::start();
    answers_verify(&registry, &[], &[documentation("0")]);
    let (digest, key) = ("0".repeat(64), "docs/modules/acme/vpc/aws/1.0.0");
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
    for facts in [&[][..], &[mark("1", "zip")]] {
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
    let registry = Registry::start();
    let changes = [
        "PUT /admin/v1/namespaces/acme/keys",
        "PUT /admin/v1/modules/acme/vpc/aws/1.0.0/status",
        "DELETE /admin/v1/tokens/0123456789abcdef",
    ];
    answers_verify(&registry, &changes.map(|it| (it, 200)), &[]);
    let errors = verify(&registry, &[]).fails(3, "keys/acme is missing");
    for key in [
        "statuses/modules/acme/vpc/aws",
        "revocations/0123456789abcdef",
    ] {
        assert_has!(errors, format!("{key} is missing"));
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
    let place = copy_of(&[(RELEASE, &release_document("1.0.0", 86_400, "a"))]);
    let compare = ["--copy", place.path().to_str().unwrap()];
    let registry = Registry::start();
    let answer = |digit: &str| {
        answers_archives(&registry, &json!([]));
        answers_newest(&registry, 0);
        answers_facts(&registry, &[], &[release("1.0.0", digit)]);
        let stored: Value = json!([{ "key": archive(digit), "size": 7, "stored_at": 1 }]);
        answers_archives(&registry, &stored);
    };
    answer("a");
    verify(&registry, &compare).expect(0);
    answer("b");
    verify(&registry, &compare).fails(3, &format!("{RELEASE} differs from the copy in "));
    answer("b");
    verify(&registry, &[compare, ACCEPT].concat()).expect(0);
}
