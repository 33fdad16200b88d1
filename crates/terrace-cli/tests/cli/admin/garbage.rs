//! `terrace admin gc`. The registry is empty but for what a test answers.

use serde_json::{Value, json};

use super::{
    ACCEPT, PUBLISHED, RELEASE, answers, answers_archives, answers_list, answers_log,
    answers_newest, fact, layer, link, manifest, manifest_of, old_archives,
};
use crate::support::registry::Registry;
use crate::support::{assert_has, assert_lacks, run};

const GC: [&str; 5] = ["admin", "gc", "--older-than", "0s", "--yes"];

/// A document that cannot be read, as of a newer version, may refer to any archive.
#[test]
fn nothing_is_removed_while_a_document_is_not_understood() {
    let documentation = "docs/modules/acme/vpc/aws/1.0.0";
    let manifest = format!("oci/manifests/team/app:sha256:{}", "2".repeat(64));
    let unreadable = |key: &str| json!({ "facts": [{ "key": key, "document": "{}" }] });
    let unknown = json!({ "facts": [], "unknown": ["releases/things/acme/widget/1.0.0"] });
    let undocumented = json!({ "documented": [], "unknown": [documentation] });
    let blob = format!("oci/blobs/sha256/{}", "1".repeat(64));
    let mut archives = old_archives();
    let blob = json!({ "key": blob, "size": 1, "stored_at": 1 });
    archives.as_array_mut().unwrap().push(blob);
    let (releases, documented) = ("prefix=releases", "/admin/v1/documentation");
    for (path, found, message) in [
        (releases, unknown, "releases/"),
        (releases, unreadable(RELEASE), RELEASE),
        (documented, undocumented, documentation),
        // A manifest may refer to any blob.
        ("oci%2Fmanifests", unreadable(&manifest), &manifest),
    ] {
        let registry = Registry::start();
        answers_archives(&registry, &archives);
        answers(&registry, path, &found);
        run(&registry, &GC).fails(3, message);
        assert_eq!(registry.changes(), [""; 0]);
    }
}

#[test]
fn an_archive_that_documentation_refers_to_is_not_removed() {
    let archive = |digit: &str| format!("archives/{}.docs", digit.repeat(64));
    let [used, unused] = ["1", "2"].map(archive);
    let stored = |key: &str| json!({ "key": key, "size": 1, "stored_at": 1_799_990_000 });
    let registry = Registry::start();
    answers_archives(&registry, &json!([stored(&used), stored(&unused)]));
    let documented = json!([{ "key": "docs/modules/acme/vpc/aws/1.0.0", "archive": used }]);
    let documented = json!({ "documented": documented });
    answers(&registry, "/admin/v1/documentation", &documented);
    let ran = run(&registry, &GC[..4]).expect(0);
    assert_has!(ran.stdout, unused);
    assert_lacks!(ran.stdout, used);
}

#[test]
fn nothing_is_removed_while_a_published_release_is_missing() {
    let registry = Registry::start();
    let answer = || {
        answers_archives(&registry, &old_archives());
        answers_log(&registry, PUBLISHED);
    };
    answer();
    let errors = run(&registry, &["admin", "gc", "--yes"]).fails(3, RELEASE);
    assert_has!(errors, "entry 2");
    assert_lacks!(errors, "2.0.0", "3.0.0");
    assert_eq!(registry.changes(), [""; 0]);
    answer();
    run(&registry, &[&["admin", "gc"], &ACCEPT[..]].concat()).expect(0);
}

#[test]
fn nothing_is_removed_if_the_audit_log_is_truncated_or_missing() {
    for (newest, message) in [
        (7, "entry 1 is missing"),
        (0, "neither releases nor an audit log"),
    ] {
        let registry = Registry::start();
        let answer = || {
            answers_newest(&registry, newest);
            answers_list(&registry, "audit", &[]);
            answers_archives(&registry, &old_archives());
        };
        answer();
        run(&registry, &["admin", "gc"]).fails(3, message);
        answer();
        run(&registry, &["admin", "gc", "--accept-loss", "audit-log"]).expect(0);
    }
}

/// A blob that a client has deleted from its last repository.
#[test]
fn a_blob_that_no_repository_has_is_marked_and_removed_an_hour_later() {
    let blob = |digit: &str| format!("oci/blobs/sha256/{}", digit.repeat(64));
    let stored = ["1", "2", "3", "4"]
        .map(|digit| json!({ "key": blob(digit), "size": 1, "stored_at": 1_700_000_000 }));
    let manifests = [manifest_of("team/app", &manifest("2"))];
    let links = [link("team/app", &layer("1"))];
    let mark = |digit: &str, since: u64| {
        let document = json!({ "state": "marked", "since": since });
        let key = format!("garbage/{}.blob", digit.repeat(64));
        fact(key, &document.to_string())
    };
    let registry = Registry::start();
    let cases: [(&[Value], &[&str], &[&str]); 3] = [
        (&[], &["3", "4"], &[]),
        (&[mark("3", 1_799_990_000)], &["4"], &["3"]),
        // One that a repository has again is kept.
        (&[mark("1", 1), mark("3", 1_799_999_999)], &["4"], &[]),
    ];
    for (marks, marked, removed) in cases {
        answers_archives(&registry, &json!(stored));
        answers_list(&registry, "garbage", marks);
        answers_list(&registry, "oci%2Flinks", &links);
        answers_list(&registry, "oci%2Fmanifests", &manifests);
        let report = run(&registry, &["admin", "gc"]).expect(0).json();
        let blobs = |digits: &[&str]| json!(digits.iter().map(|it| blob(it)).collect::<Vec<_>>());
        assert_eq!(report["mark"], blobs(marked), "{report}");
        assert_eq!(report["remove"], blobs(removed), "{report}");
    }
}
