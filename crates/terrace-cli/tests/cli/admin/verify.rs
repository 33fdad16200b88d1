//! `terrace admin verify`.

use serde_json::{Value, json};

use super::{
    ACCEPT, PUBLISHED, RELEASE, answers, answers_archives, answers_export, answers_facts,
    answers_verify, copy_with, keys, old_archives,
};
use crate::support::http::Response;
use crate::support::registry::Registry;
use crate::support::run;

#[test]
fn documentation_without_its_archive_is_reported() {
    let digest = "0".repeat(64);
    let document = format!(
        r#"{{"schema":1,"sequence":1,"sha256":"{digest}","size":100,"head_length":40,"history":[]}}"#
    );
    let key = "docs/modules/acme/vpc/aws/1.0.0";
    let registry = Registry::start();
    answers_verify(
        &registry,
        &[],
        &[json!({ "key": key, "document": document })],
    );
    let refused = run(&registry, &["admin", "verify", "--quick"]).expect(3);
    let reason = format!("archives/{digest}.docs is missing, but {key} refers to it");
    assert!(refused.errors().contains(&reason), "{}", refused.errors());
}

#[test]
fn a_full_check_with_a_token_that_cannot_hash_is_refused_before_anything_is_read() {
    let registry = Registry::start();
    let token = json!({ "id": "1", "name": "backup", "scopes": ["backup"], "expires": null });
    registry.set("/api/v1/token", Response::new(200, token.to_string()));
    let refused = run(&registry, &["admin", "verify"]).expect(5);
    let message = refused.errors();
    assert!(
        message.contains("this one has backup") && message.contains("--quick"),
        "{message}"
    );
    assert_eq!(registry.requests(), ["GET /api/v1/token"]);
}

#[test]
fn a_missing_release_that_the_audit_log_records_is_reported() {
    let registry = Registry::start();
    answers_verify(&registry, PUBLISHED, &[]);
    let refused = run(&registry, &["admin", "verify", "--quick"]).expect(3);
    let message = refused.errors();
    assert!(
        message.contains(RELEASE) && message.contains("entry 2"),
        "{message}"
    );
    assert!(
        !message.contains("2.0.0") && !message.contains("3.0.0"),
        "{message}"
    );
    answers_verify(&registry, PUBLISHED, &keys());
    let accepting = [&["admin", "verify", "--quick"], &ACCEPT[..]].concat();
    run(&registry, &accepting).expect(0);
    let wrong = ["admin", "verify", "--accept-loss", "acme/vpc/aws"];
    let refused = run(&registry, &wrong).expect(2);
    assert!(
        refused.errors().contains("ADDRESS@VERSION"),
        "{}",
        refused.errors()
    );
}

#[test]
fn archives_without_any_document_fail_verification() {
    let registry = Registry::start();
    answers_archives(&registry, &old_archives());
    answers(
        &registry,
        "/admin/v1/audit",
        &json!({ "entries": [], "newest": 0 }),
    );
    answers_facts(&registry, &[], &[]);
    answers_archives(&registry, &old_archives());
    let refused = run(&registry, &["admin", "verify", "--quick"]).expect(3);
    assert!(
        refused.errors().contains("but no documents"),
        "{}",
        refused.errors()
    );
}

#[test]
fn a_missing_document_that_the_audit_log_records_is_reported() {
    for (change, key) in [
        ("PUT /admin/v1/namespaces/acme/keys", "keys/acme"),
        (
            "PUT /admin/v1/modules/acme/vpc/aws/1.0.0/status",
            "statuses/modules/acme/vpc/aws",
        ),
        (
            "DELETE /admin/v1/tokens/0123456789abcdef",
            "revocations/0123456789abcdef",
        ),
    ] {
        let registry = Registry::start();
        answers_verify(&registry, &[(change, 200)], &[]);
        let refused = run(&registry, &["admin", "verify", "--quick"]).expect(3);
        let message = refused.errors();
        assert!(message.contains(&format!("{key} is missing")), "{message}");
    }
}

#[test]
fn a_registry_is_compared_with_a_copy() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("copy");
    let path = path.to_str().unwrap();
    answers_export(&registry, &PUBLISHED[..1], &keys());
    run(&registry, &["admin", "export", path]).expect(0);
    let verify = ["admin", "verify", "--quick", "--copy", path];
    answers_verify(&registry, &PUBLISHED[..1], &keys());
    run(&registry, &verify).expect(0);
    for (changes, facts, message) in [
        (&PUBLISHED[..1], vec![], "keys/acme is in "),
        (&PUBLISHED[..0], keys(), "audit/000000000001 is in "),
        (
            &PUBLISHED[1..2],
            keys(),
            "audit/000000000001 differs from the copy in ",
        ),
        (&[][..], vec![], "keys/acme is in "),
    ] {
        answers_verify(&registry, changes, &facts);
        let refused = run(&registry, &verify).expect(3);
        assert!(refused.errors().contains(message), "{}", refused.errors());
    }
}

#[test]
fn entries_that_differ_from_a_copy_are_reported_in_one_line() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("copy");
    let path = path.to_str().unwrap();
    let changes = |what: &'static str, count: usize| vec![(what, 200_u16); count];
    let key = "PUT /admin/v1/namespaces/acme/keys";
    answers_export(&registry, &changes(key, 5), &keys());
    run(&registry, &["admin", "export", path]).expect(0);
    let verify = ["admin", "verify", "--quick", "--copy", path];
    // Two entries of the new log, which differ, and three that it does not have.
    answers_verify(&registry, &changes("PUT /admin/v1/facts", 2), &keys());
    let message = run(&registry, &verify).expect(3).errors();
    assert_eq!(message.lines().count(), 1, "{message}");
    let counted =
        "5 entries of the audit log, from audit/000000000001 on, differ from the copy in ";
    assert!(message.contains(counted), "{message}");
}

/// After a bucket was lost and restored under the same hostname, the restore starts a new log.
#[test]
fn a_restarted_audit_log_is_accepted_as_a_loss() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("copy");
    let path = path.to_str().unwrap();
    answers_export(&registry, &PUBLISHED[..1], &keys());
    run(&registry, &["admin", "export", path]).expect(0);
    let verify = ["admin", "verify", "--quick", "--copy", path];
    for changes in [&PUBLISHED[4..], &[]] {
        answers_verify(&registry, changes, &keys());
        let refused = run(&registry, &verify).expect(3);
        let message = refused.errors();
        assert!(
            message.contains("audit/000000000001") && message.contains("--accept-loss audit-log"),
            "{message}"
        );
        assert!(!message.contains("restore it with"), "{message}");
        answers_verify(&registry, changes, &keys());
        let accepting = [&verify[..], &["--accept-loss", "audit-log"]].concat();
        let report = run(&registry, &accepting).expect(0).json();
        assert_eq!(report["restarted"], !changes.is_empty());
    }
}

#[test]
fn a_release_that_was_published_again_is_not_a_change() {
    let place = copy_with(&release(1, "a"));
    let copy = place.path().to_str().unwrap();
    let verify = ["admin", "verify", "--quick", "--copy", copy];
    let registry = Registry::start();
    let answer = |release: &[Value], digit: &str| {
        answers_archives(&registry, &json!([]));
        let newest = json!({ "entries": [], "newest": 0 });
        answers(&registry, "/admin/v1/audit", &newest);
        answers_facts(&registry, &[], release);
        let key = format!("archives/{}.zip", digit.repeat(64));
        answers_archives(
            &registry,
            &json!([{ "key": key, "size": 7, "stored_at": 1 }]),
        );
    };
    answer(&release(2, "a"), "a");
    run(&registry, &verify).expect(0);
    answer(&release(2, "b"), "b");
    let refused = run(&registry, &verify).expect(3);
    let message = refused.errors();
    assert!(
        message.contains(&format!("{RELEASE} differs from the copy in ")),
        "{message}"
    );
    answer(&release(2, "b"), "b");
    run(&registry, &[&verify[..], &ACCEPT[..]].concat()).expect(0);
}

/// Returns the release of a module, as a document.
fn release(published_at: u64, digit: &str) -> Vec<Value> {
    let archive = format!(
        r#"{{"format":"zip","sha256":"{}","size":7}}"#,
        digit.repeat(64)
    );
    let start = r#""kind":"module","schema":1,"address":"acme/vpc/aws","version":"1.0.0""#;
    let document = format!(r#"{{{start},"published_at":{published_at},"archive":{archive}}}"#);
    vec![json!({ "key": RELEASE, "document": document })]
}
