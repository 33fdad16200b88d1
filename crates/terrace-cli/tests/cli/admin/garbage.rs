//! `terrace admin gc`.

use serde_json::{Value, json};

use super::{ACCEPT, PUBLISHED, RELEASE, answers, answers_archives, answers_log, old_archives};
use crate::support::registry::Registry;
use crate::support::run;

/// A release that only a newer version knows may refer to any archive.
#[test]
fn nothing_is_removed_while_a_release_is_not_understood() {
    for (facts, unknown) in [
        (json!([]), json!(["releases/things/acme/widget/1.0.0"])),
        (
            json!([{ "key": "releases/modules/acme/vpc/aws/1.0.0", "document": "{}" }]),
            json!([]),
        ),
    ] {
        let registry = Registry::start();
        answers_archives(&registry, &old_archives());
        answers(&registry, "prefix=garbage", &json!({ "facts": [] }));
        answers_log(&registry, &[]);
        let releases = json!({ "facts": facts, "unknown": unknown });
        answers(&registry, "prefix=releases", &releases);
        answers_documented(&registry, &json!([]), &json!([]));
        let refused = run(&registry, &["admin", "gc", "--older-than", "0s", "--yes"]).expect(3);
        assert!(
            refused.errors().contains("releases/"),
            "{}",
            refused.errors()
        );
        let requests = registry.requests();
        assert!(
            !requests.iter().any(|it| it.contains("POST")),
            "{requests:?}"
        );
    }
}

#[test]
fn an_archive_that_documentation_refers_to_is_not_removed() {
    let archive = |digit: &str| format!("archives/{}.docs", digit.repeat(64));
    let [used, unused] = ["1", "2"].map(archive);
    let stored = |key: &str| json!({ "key": key, "size": 1, "stored_at": 1_799_990_000 });
    let registry = Registry::start();
    let documented = json!([{ "key": "docs/modules/acme/vpc/aws/1.0.0", "archive": used }]);
    let archives = json!([stored(&used), stored(&unused)]);
    answers_gc(&registry, &[], &archives, &documented, &json!([]));
    let ran = run(&registry, &["admin", "gc", "--older-than", "0s"]).expect(0);
    assert!(ran.stdout.contains(&unused), "{}", ran.stdout);
    assert!(!ran.stdout.contains(&used), "{}", ran.stdout);
}

/// A document that cannot be read may refer to any archive.
#[test]
fn nothing_is_removed_while_a_document_about_documentation_is_not_understood() {
    let registry = Registry::start();
    let key = "docs/modules/acme/vpc/aws/1.0.0";
    answers_gc(&registry, &[], &json!([]), &json!([]), &json!([key]));
    let refused = run(&registry, &["admin", "gc", "--yes"]).expect(3);
    assert!(refused.errors().contains(key), "{}", refused.errors());
}

#[test]
fn nothing_is_removed_while_a_published_release_is_missing() {
    let answer = |registry: &Registry| {
        answers_gc(registry, PUBLISHED, &old_archives(), &json!([]), &json!([]));
    };
    let registry = Registry::start();
    answer(&registry);
    let refused = run(&registry, &["admin", "gc", "--yes"]).expect(3);
    let message = refused.errors();
    assert!(
        message.contains(RELEASE) && message.contains("entry 2"),
        "{message}"
    );
    assert!(
        !message.contains("2.0.0") && !message.contains("3.0.0"),
        "{message}"
    );
    let requests = registry.requests();
    assert!(
        !requests.iter().any(|it| it.contains("POST")),
        "{requests:?}"
    );
    answer(&registry);
    run(&registry, &[&["admin", "gc"], &ACCEPT[..]].concat()).expect(0);
}

#[test]
fn nothing_is_removed_if_the_audit_log_is_truncated_or_missing() {
    for (newest, message) in [
        (7, "entry 1 is missing"),
        (0, "neither releases nor an audit log"),
    ] {
        let answer = |registry: &Registry| {
            answers_archives(registry, &old_archives());
            answers(registry, "prefix=garbage", &json!({ "facts": [] }));
            let head = json!({ "entries": [], "newest": newest });
            answers(registry, "/admin/v1/audit", &head);
            answers(registry, "prefix=audit", &json!({ "facts": [] }));
            answers(registry, "prefix=releases", &json!({ "facts": [] }));
            answers_documented(registry, &json!([]), &json!([]));
        };
        let registry = Registry::start();
        answer(&registry);
        let refused = run(&registry, &["admin", "gc"]).expect(3);
        assert!(refused.errors().contains(message), "{}", refused.errors());
        answer(&registry);
        run(&registry, &["admin", "gc", "--accept-loss", "audit-log"]).expect(0);
    }
}

/// Sets the responses for one look of `gc` at a registry with this audit log and these archives, without a release.
fn answers_gc(
    registry: &Registry,
    changes: &[(&str, u16)],
    archives: &Value,
    documented: &Value,
    unknown: &Value,
) {
    answers_archives(registry, archives);
    answers(registry, "prefix=garbage", &json!({ "facts": [] }));
    answers_log(registry, changes);
    answers(registry, "prefix=releases", &json!({ "facts": [] }));
    answers_documented(registry, documented, unknown);
}

/// Sets the response for one list of documented versions.
fn answers_documented(registry: &Registry, documented: &Value, unknown: &Value) {
    let answer = json!({ "documented": documented, "unknown": unknown });
    answers(registry, "/admin/v1/documentation", &answer);
}

/// A blob that a client has deleted from its last repository.
#[test]
fn a_blob_that_no_repository_has_is_marked_and_removed_an_hour_later() {
    let blob = |digit: &str| format!("oci/blobs/sha256/{}", digit.repeat(64));
    let stored = ["1", "2", "3", "4"]
        .map(|digit| json!({ "key": blob(digit), "size": 1, "stored_at": 1_700_000_000 }));
    let layer = format!("sha256:{}", "2".repeat(64));
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": { "mediaType": "a/b", "digest": layer, "size": 1 },
        "layers": [],
    });
    let manifest = manifest.to_string();
    let digest = terrace_base::digest::Sha256::of(manifest.as_bytes());
    let manifest =
        json!({ "key": format!("oci/manifests/team/app:sha256:{digest}"), "document": manifest });
    let link = format!("oci/links/team/app:sha256:{}", "1".repeat(64));
    let link = json!({ "key": link, "document": r#"{"size":1}"# });
    let mark = |digit: &str, since: u64| {
        let document = json!({ "state": "marked", "since": since });
        json!({ "key": format!("garbage/{}.blob", digit.repeat(64)), "document": document.to_string() })
    };
    let registry = Registry::start();
    for (marks, expected) in [
        (vec![], (vec![blob("3"), blob("4")], vec![])),
        (
            vec![mark("3", 1_799_990_000)],
            (vec![blob("4")], vec![blob("3")]),
        ),
        // One that a repository has again is kept.
        (
            vec![mark("1", 1), mark("3", 1_799_999_999)],
            (vec![blob("4")], vec![]),
        ),
    ] {
        answers_archives(&registry, &json!(stored));
        answers(&registry, "prefix=garbage", &json!({ "facts": marks }));
        answers_log(&registry, &[]);
        answers(&registry, "prefix=releases", &json!({ "facts": [] }));
        answers_documented(&registry, &json!([]), &json!([]));
        answers(&registry, "prefix=oci%2Flinks", &json!({ "facts": [link] }));
        answers(
            &registry,
            "prefix=oci%2Fmanifests",
            &json!({ "facts": [manifest] }),
        );
        answers(&registry, "prefix=oci%2Ftags", &json!({ "facts": [] }));
        let report = run(&registry, &["admin", "gc"]).expect(0).json();
        assert_eq!(report["mark"], json!(expected.0), "{report}");
        assert_eq!(report["remove"], json!(expected.1), "{report}");
    }
}

/// A manifest that cannot be read may refer to any blob.
#[test]
fn no_blob_is_removed_while_a_manifest_is_not_understood() {
    let registry = Registry::start();
    let stored = json!([{ "key": format!("oci/blobs/sha256/{}", "1".repeat(64)), "size": 1, "stored_at": 1 }]);
    answers_gc(&registry, &[], &stored, &json!([]), &json!([]));
    answers(&registry, "prefix=oci%2Flinks", &json!({ "facts": [] }));
    let manifest = json!({ "key": format!("oci/manifests/team/app:sha256:{}", "2".repeat(64)), "document": "{}" });
    answers(
        &registry,
        "prefix=oci%2Fmanifests",
        &json!({ "facts": [manifest] }),
    );
    let refused = run(&registry, &["admin", "gc", "--yes"]).expect(3).errors();
    assert!(refused.contains("oci/manifests/"), "{refused}");
}
