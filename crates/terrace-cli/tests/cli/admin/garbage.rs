//! `terrace admin gc`.

use serde_json::{Value, json};

use super::{
    ACCEPT, PUBLISHED, RELEASE, answers, answers_archives, answers_list, answers_log,
    answers_newest, old_archives,
};
use crate::support::registry::Registry;
use crate::support::{assert_has, assert_lacks, run};

const GC: [&str; 5] = ["admin", "gc", "--older-than", "0s", "--yes"];

/// What `gc` finds: archives, releases, releases of unknown kinds, documentation, and documentation that is not understood.
struct Found {
    archives: Value,
    releases: Value,
    unknown: Value,
    documented: Value,
    undocumented: Value,
}

impl Found {
    fn archives(archives: Value) -> Self {
        let [releases, unknown, documented, undocumented] = [(); 4].map(|()| json!([]));
        Self {
            archives,
            releases,
            unknown,
            documented,
            undocumented,
        }
    }

    /// Sets the responses for one look at a registry with this audit log and these marks.
    fn answers(&self, registry: &Registry, changes: &[(&str, u16)], marks: &[Value]) {
        answers_archives(registry, &self.archives);
        answers_list(registry, "garbage", marks);
        answers_log(registry, changes);
        let releases = json!({ "facts": self.releases, "unknown": self.unknown });
        answers(registry, "prefix=releases", &releases);
        let documented = json!({ "documented": self.documented, "unknown": self.undocumented });
        answers(registry, "/admin/v1/documentation", &documented);
    }
}

/// A document that cannot be read, as of a newer version, may refer to any archive.
#[test]
fn nothing_is_removed_while_a_document_is_not_understood() {
    let release = "releases/modules/acme/vpc/aws/1.0.0";
    let old = || Found::archives(old_archives());
    let unknown = json!(["releases/things/acme/widget/1.0.0"]);
    let releases = json!([{ "key": release, "document": "{}" }]);
    let documentation = "docs/modules/acme/vpc/aws/1.0.0";
    for (found, message) in [
        (Found { unknown, ..old() }, "releases/"),
        (Found { releases, ..old() }, release),
        (
            Found {
                undocumented: json!([documentation]),
                ..old()
            },
            documentation,
        ),
    ] {
        let registry = Registry::start();
        found.answers(&registry, &[], &[]);
        run(&registry, &GC).fails(3, message);
        assert_eq!(registry.changes(), [""; 0]);
    }
    // A manifest may refer to any blob.
    let registry = Registry::start();
    let blob = json!([{ "key": format!("oci/blobs/sha256/{}", "1".repeat(64)), "size": 1, "stored_at": 1 }]);
    Found::archives(blob).answers(&registry, &[], &[]);
    answers_list(&registry, "oci%2Flinks", &[]);
    let manifest = json!({ "key": format!("oci/manifests/team/app:sha256:{}", "2".repeat(64)), "document": "{}" });
    answers_list(&registry, "oci%2Fmanifests", &[manifest]);
    run(&registry, &GC).fails(3, "oci/manifests/");
}

#[test]
fn an_archive_that_documentation_refers_to_is_not_removed() {
    let archive = |digit: &str| format!("archives/{}.docs", digit.repeat(64));
    let [used, unused] = ["1", "2"].map(archive);
    let stored = |key: &str| json!({ "key": key, "size": 1, "stored_at": 1_799_990_000 });
    let registry = Registry::start();
    let documented = json!([{ "key": "docs/modules/acme/vpc/aws/1.0.0", "archive": used }]);
    let found = Found::archives(json!([stored(&used), stored(&unused)]));
    Found {
        documented,
        ..found
    }
    .answers(&registry, &[], &[]);
    let ran = run(&registry, &GC[..4]).expect(0);
    assert_has!(ran.stdout, unused);
    assert_lacks!(ran.stdout, used);
}

#[test]
fn nothing_is_removed_while_a_published_release_is_missing() {
    let registry = Registry::start();
    let found = Found::archives(old_archives());
    found.answers(&registry, PUBLISHED, &[]);
    let errors = run(&registry, &["admin", "gc", "--yes"]).fails(3, RELEASE);
    assert_has!(errors, "entry 2");
    assert_lacks!(errors, "2.0.0", "3.0.0");
    assert_eq!(registry.changes(), [""; 0]);
    found.answers(&registry, PUBLISHED, &[]);
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
            registry.forget_faults();
            answers_newest(&registry, newest);
            Found::archives(old_archives()).answers(&registry, &[], &[]);
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
    for (marks, marked, removed) in [
        (vec![], &["3", "4"][..], &[][..]),
        (vec![mark("3", 1_799_990_000)], &["4"], &["3"]),
        // One that a repository has again is kept.
        (vec![mark("1", 1), mark("3", 1_799_999_999)], &["4"], &[]),
    ] {
        Found::archives(json!(stored)).answers(&registry, &[], &marks);
        answers_list(&registry, "oci%2Flinks", std::slice::from_ref(&link));
        answers_list(
            &registry,
            "oci%2Fmanifests",
            std::slice::from_ref(&manifest),
        );
        answers_list(&registry, "oci%2Ftags", &[]);
        let report = run(&registry, &["admin", "gc"]).expect(0).json();
        let blobs = |digits: &[&str]| json!(digits.iter().map(|it| blob(it)).collect::<Vec<_>>());
        assert_eq!(report["mark"], blobs(marked), "{report}");
        assert_eq!(report["remove"], blobs(removed), "{report}");
    }
}
