//! `terrace admin` against registries with unusual responses.

use std::fs;

use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::maintenance::audit::AuditEntry;

use crate::support::http::Response;
use crate::support::registry::{Fault, Registry};
use crate::support::{TOKEN, ended, run, terrace};

fn answers(registry: &Registry, path: &str, answer: &Value) {
    let answer = Response::new(200, answer.to_string());
    registry.fail("GET", path, Fault::Answer(answer));
}

/// A release that only a newer version knows may refer to any archive.
#[test]
fn nothing_is_removed_while_a_release_is_not_understood() {
    let key = format!("archives/{}.zip", "0".repeat(64));
    let old = json!([{ "key": key, "size": 1, "stored_at": 1 }]);
    for (facts, unknown) in [
        (json!([]), json!(["releases/things/acme/widget/1.0.0"])),
        (
            json!([{ "key": "releases/modules/acme/vpc/aws/1.0.0", "document": "{}" }]),
            json!([]),
        ),
    ] {
        let registry = Registry::start();
        let listed = json!({ "now": 1_800_000_000, "archives": old });
        answers(&registry, "/admin/v1/archives", &listed);
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

/// Sets the response for one list of documented versions.
fn answers_documented(registry: &Registry, documented: &Value, unknown: &Value) {
    let answer = json!({ "documented": documented, "unknown": unknown });
    answers(registry, "/admin/v1/documentation", &answer);
}

/// Sets the responses for one look of `gc` at a registry with these archives, without a release.
fn answers_gc(registry: &Registry, archives: &Value, documented: &Value, unknown: &Value) {
    answers_archives(registry, archives);
    answers(registry, "prefix=garbage", &json!({ "facts": [] }));
    answers_log(registry, &[]);
    answers(registry, "prefix=releases", &json!({ "facts": [] }));
    answers_documented(registry, documented, unknown);
}

#[test]
fn an_archive_that_documentation_refers_to_is_not_removed() {
    let archive = |digit: &str| format!("archives/{}.docs", digit.repeat(64));
    let [used, unused] = ["1", "2"].map(archive);
    let stored = |key: &str| json!({ "key": key, "size": 1, "stored_at": 1_799_990_000 });
    let registry = Registry::start();
    let documented = json!([{ "key": "docs/modules/acme/vpc/aws/1.0.0", "archive": used }]);
    let archives = json!([stored(&used), stored(&unused)]);
    answers_gc(&registry, &archives, &documented, &json!([]));
    let ran = run(&registry, &["admin", "gc", "--older-than", "0s"]).expect(0);
    assert!(ran.stdout.contains(&unused), "{}", ran.stdout);
    assert!(!ran.stdout.contains(&used), "{}", ran.stdout);
}

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

/// A document that cannot be read may refer to any archive.
#[test]
fn nothing_is_removed_while_a_document_about_documentation_is_not_understood() {
    let registry = Registry::start();
    let key = "docs/modules/acme/vpc/aws/1.0.0";
    answers_gc(&registry, &json!([]), &json!([]), &json!([key]));
    let refused = run(&registry, &["admin", "gc", "--yes"]).expect(3);
    assert!(refused.errors().contains(key), "{}", refused.errors());
}

/// Returns the entries of an audit log, as documents.
fn log(changes: &[(&str, u16)]) -> Vec<Value> {
    let mut previous = Sha256::of(b"");
    let numbered = changes.iter().zip(1..);
    let entries = numbered.map(|((what, status), number)| {
        let entry = AuditEntry {
            number,
            at: UnixTime(number),
            by: "root".to_owned(),
            provenance: None,
            from: String::new(),
            what: (*what).to_owned(),
            status: *status,
            sent: None,
            previous,
        };
        let document = serde_json::to_string(&entry).unwrap();
        previous = Sha256::of(document.as_bytes());
        json!({ "key": format!("audit/{number:012}"), "document": document })
    });
    entries.collect()
}

/// Sets the responses for one read of the audit log.
fn answers_log(registry: &Registry, changes: &[(&str, u16)]) {
    let newest = json!({ "entries": [], "newest": changes.len() });
    answers(registry, "/admin/v1/audit", &newest);
    answers(registry, "prefix=audit", &json!({ "facts": log(changes) }));
}

/// Sets the responses for one read of all documents: those of the audit log, then these.
fn answers_facts(registry: &Registry, changes: &[(&str, u16)], facts: &[Value]) {
    let all = [log(changes), facts.to_vec()].concat();
    answers(registry, "facts?prefix=", &json!({ "facts": all }));
    answers(registry, "prefix=oci", &json!({ "facts": [] }));
    answers(registry, "prefix=oci", &json!({ "facts": [] }));
}

fn answers_archives(registry: &Registry, archives: &Value) {
    let listed = json!({ "now": 1_800_000_000, "archives": archives });
    answers(registry, "/admin/v1/archives", &listed);
}

/// Sets the responses for `verify --quick`.
fn answers_verify(registry: &Registry, changes: &[(&str, u16)], facts: &[Value]) {
    answers_archives(registry, &json!([]));
    let newest = json!({ "entries": [], "newest": changes.len() });
    answers(registry, "/admin/v1/audit", &newest);
    answers_facts(registry, changes, facts);
    answers_archives(registry, &json!([]));
}

const PUBLISHED: &[(&str, u16)] = &[
    ("PUT /admin/v1/namespaces/acme/keys", 200),
    ("PUT /admin/v1/modules/acme/vpc/aws/1.0.0", 201),
    ("PUT /admin/v1/modules/acme/vpc/aws/1.0.0", 200),
    ("PUT /admin/v1/modules/acme/vpc/aws/2.0.0", 409),
    ("PUT /admin/v1/modules/acme/vpc/aws/3.0.0", 503),
];
const RELEASE: &str = "releases/modules/acme/vpc/aws/1.0.0";
const ACCEPT: [&str; 2] = ["--accept-loss", "acme/vpc/aws@1.0.0"];

#[test]
fn nothing_is_removed_while_a_published_release_is_missing() {
    let old =
        json!([{ "key": format!("archives/{}.zip", "0".repeat(64)), "size": 1, "stored_at": 1 }]);
    let answer = |registry: &Registry| {
        answers_archives(registry, &old);
        answers(registry, "prefix=garbage", &json!({ "facts": [] }));
        answers_log(registry, PUBLISHED);
        answers(registry, "prefix=releases", &json!({ "facts": [] }));
        answers_documented(registry, &json!([]), &json!([]));
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
    let old =
        json!([{ "key": format!("archives/{}.zip", "0".repeat(64)), "size": 1, "stored_at": 1 }]);
    for (newest, message) in [
        (7, "entry 1 is missing"),
        (0, "neither releases nor an audit log"),
    ] {
        let answer = |registry: &Registry| {
            answers_archives(registry, &old);
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
    let old =
        json!([{ "key": format!("archives/{}.zip", "0".repeat(64)), "size": 1, "stored_at": 1 }]);
    answers_archives(&registry, &old);
    answers(
        &registry,
        "/admin/v1/audit",
        &json!({ "entries": [], "newest": 0 }),
    );
    answers_facts(&registry, &[], &[]);
    answers_archives(&registry, &old);
    let refused = run(&registry, &["admin", "verify", "--quick"]).expect(3);
    assert!(
        refused.errors().contains("but no documents"),
        "{}",
        refused.errors()
    );
}

/// Sets the responses for `export`.
fn answers_export(registry: &Registry, changes: &[(&str, u16)], facts: &[Value]) {
    answers(registry, "prefix=audit", &json!({ "facts": log(changes) }));
    let newest = json!({ "entries": [], "newest": changes.len() });
    answers(registry, "/admin/v1/audit", &newest);
    answers_facts(registry, changes, facts);
    answers_archives(registry, &json!([]));
}

/// Returns the signing keys of a namespace, as a document.
fn keys() -> Vec<Value> {
    vec![json!({ "key": "keys/acme", "document": r#"{"keys":[]}"# })]
}

#[test]
fn a_copy_keeps_documents_that_the_registry_has_lost() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let path = copy.to_str().unwrap();
    let export = ["admin", "export", path];
    answers_export(&registry, &PUBLISHED[..1], &keys());
    run(&registry, &export).expect(0);
    let sums = fs::read(copy.join("SHA256SUMS")).unwrap();
    answers_export(&registry, &PUBLISHED[..1], &[]);
    let refused = run(&registry, &export).expect(3);
    let message = refused.errors();
    assert!(
        message.contains("keys/acme is in ") && message.contains("import"),
        "{message}"
    );
    assert_eq!(fs::read(copy.join("SHA256SUMS")).unwrap(), sums);
    assert!(copy.join("facts/keys/acme.json").is_file());
    // A missing release that the log records fails an export to any directory.
    let elsewhere = place.path().join("elsewhere");
    let export = ["admin", "export", elsewhere.to_str().unwrap()];
    answers_export(&registry, PUBLISHED, &[]);
    let refused = run(&registry, &export).expect(3);
    assert!(refused.errors().contains(RELEASE), "{}", refused.errors());
    answers_export(&registry, PUBLISHED, &keys());
    run(&registry, &[&export[..], &ACCEPT[..]].concat()).expect(0);
}

#[test]
fn an_emptied_registry_is_not_copied() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let export = ["admin", "export", copy.to_str().unwrap()];
    let answer = || {
        answers(&registry, "prefix=audit", &json!({ "facts": [] }));
        let newest = json!({ "entries": [], "newest": 27 });
        answers(&registry, "/admin/v1/audit", &newest);
        answers_facts(&registry, &[], &[]);
        answers_archives(&registry, &json!([]));
    };
    answer();
    let message = run(&registry, &export).expect(3).errors();
    assert!(message.contains("entry 1 is missing"), "{message}");
    answer();
    let accepting = [&export[..], &["--accept-loss", "audit-log"]].concat();
    run(&registry, &accepting).expect(0);
}

#[test]
fn an_export_that_cannot_read_the_registry_leaves_no_directory() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("some/copy");
    run(&registry, &["admin", "export", copy.to_str().unwrap()]).expect(5);
    assert!(!place.path().join("some").exists());
    // A directory of the operator stays.
    run(
        &registry,
        &["admin", "export", place.path().to_str().unwrap()],
    )
    .expect(5);
    assert!(place.path().exists());
}

#[test]
fn a_missing_document_that_the_audit_log_records_is_reported() {
    for (change, key) in [
        ("PUT /admin/v1/namespaces/acme/keys", "keys/acme"),
        (
            "PUT /admin/v1/modules/acme/vpc/aws/1.0.0/standing",
            "standings/modules/acme/vpc/aws",
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
        run(
            &registry,
            &[&verify[..], &["--accept-loss", "audit-log"]].concat(),
        )
        .expect(0);
    }
}

#[test]
fn an_export_over_the_copy_of_a_lost_log_keeps_that_log() {
    let old = vec![("PUT /admin/v1/namespaces/acme/keys", 200); 3];
    for new in [&[][..], &PUBLISHED[4..], &PUBLISHED[3..]] {
        let registry = Registry::start();
        let place = tempfile::tempdir().unwrap();
        let copy = place.path().join("copy");
        let path = copy.to_str().unwrap();
        let export = ["admin", "export", path];
        let accepting = [&export[..], &["--accept-loss", "audit-log"]].concat();
        answers_export(&registry, &old, &keys());
        run(&registry, &accepting).expect(0);
        assert!(!copy.join("old-logs").exists());
        let entry = copy.join("facts/audit/000000000001.json");
        let first = fs::read(&entry).unwrap();

        answers_export(&registry, new, &keys());
        let message = run(&registry, &export).expect(3).errors();
        assert!(
            message.contains("--accept-loss audit-log") && message.contains("old-logs/"),
            "{message}"
        );
        assert_eq!(fs::read(&entry).unwrap(), first);
        // The export that failed did not ask for everything.
        registry.forget_faults();
        answers_export(&registry, new, &keys());
        let ended = run(&registry, &accepting).expect(0);
        assert!(ended.stderr.contains("(3 entries)"), "{ended:?}");
        let kept: Vec<_> = fs::read_dir(copy.join("old-logs")).unwrap().collect();
        assert_eq!(kept.len(), 1);
        let kept = kept[0].as_ref().unwrap().path();
        let audit = ["admin", "audit", "--verify", "--copy"];
        let read = |copy: &std::path::Path| {
            let arguments = [&audit[..], &[copy.to_str().unwrap()]].concat();
            run(&registry, &arguments).expect(0).json()["entries"].clone()
        };
        assert_eq!(read(&kept).as_array().unwrap().len(), 3);
        assert_eq!(read(&copy).as_array().unwrap().len(), new.len());
        assert_eq!(
            fs::read(kept.join("facts/audit/000000000001.json")).unwrap(),
            first
        );

        // The next export continues the new log.
        answers_export(&registry, new, &keys());
        run(&registry, &export).expect(0);
    }
}

#[test]
fn an_entry_of_a_job_names_its_workflow() {
    let registry = Registry::start();
    let entry = json!({
        "number": 1, "at": 0, "by": "token 7 (job x)", "from": "192.0.2.1", "status": 201,
        "what": "PUT /admin/v1/modules/acme/vpc/aws/1.0.0", "previous": Sha256::of(b"").to_string(),
        "provenance": {
            "issuer": "https://gitlab.example.com", "workflow": "ci.yml", "url": "https://gitlab.example.com/acme/vpc",
        },
    });
    let page = json!({ "entries": [entry.to_string()], "newest": 1 });
    answers(&registry, "/admin/v1/audit", &page);
    let mut command = terrace(&["admin", "audit"]);
    command
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", TOKEN);
    let shown = ended(&mut command).expect(0).stdout;
    let job = "token 7 (job x), workflow ci.yml of repository https://gitlab.example.com/acme/vpc from 192.0.2.1";
    assert!(shown.contains(job), "{shown}");
}

#[test]
fn a_copy_that_cannot_be_compared_is_not_replaced() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let export = ["admin", "export", copy.to_str().unwrap()];
    answers_export(&registry, &PUBLISHED[..1], &keys());
    run(&registry, &export).expect(0);
    let sums = copy.join("SHA256SUMS");
    let whole = fs::read(&sums).unwrap();
    let broken = [&whole[..], b"\n"].concat();
    fs::write(&sums, &broken).unwrap();
    let refused = run(&registry, &export).expect(3);
    let message = refused.errors();
    assert!(
        message.contains("cannot be compared") && message.contains("another directory"),
        "{message}"
    );
    assert_eq!(fs::read(&sums).unwrap(), broken);
    // An export that never finished has nothing to compare with.
    fs::remove_file(&sums).unwrap();
    let summary = copy.join("export.json");
    let mut unfinished: Value = serde_json::from_slice(&fs::read(&summary).unwrap()).unwrap();
    unfinished
        .as_object_mut()
        .unwrap()
        .remove("sha256sums")
        .unwrap();
    fs::write(&summary, unfinished.to_string()).unwrap();
    answers_export(&registry, &PUBLISHED[..1], &keys());
    run(&registry, &export).expect(0);
    assert_eq!(fs::read(&sums).unwrap(), whole);
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

/// Creates a directory with a copy that contains this document.
fn copy_with(release: &[Value]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let [key, document] = ["key", "document"].map(|name| release[0][name].as_str().unwrap());
    let path = format!("facts/{key}.json");
    let file = place.path().join(&path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, document).unwrap();
    let sums = format!("{}  {path}\n", Sha256::of(document.as_bytes()));
    fs::write(place.path().join("SHA256SUMS"), &sums).unwrap();
    let summary = json!({
        "format": "terrace export 1", "registry": "http://elsewhere.test", "documents": 1, "archives": 0, "bytes": 0,
        "sha256sums": Sha256::of(sums.as_bytes()).to_string(),
    });
    fs::write(place.path().join("export.json"), summary.to_string()).unwrap();
    place
}

#[test]
fn a_copy_of_a_newer_version_is_refused_before_anything_is_sent() {
    let newer = r#"{"oldest_writer":"99.0.0"}"#;
    let place = copy_with(&[json!({ "key": "format", "document": newer })]);
    let registry = Registry::start();
    let import = ["admin", "import", place.path().to_str().unwrap()];
    let refused = run(&registry, &import).expect(3);
    let told = refused.errors();
    assert!(
        told.contains("import it with terrace 99.0.0 or newer"),
        "{told}"
    );
    let changes = registry.requests();
    let changes = changes.iter().filter(|it| !it.starts_with("GET "));
    assert_eq!(changes.count(), 0);
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

#[test]
fn a_lost_release_makes_reindex_exit_with_3() {
    let registry = Registry::start();
    let step = |lost: Value| {
        let step =
            json!({ "looked_at": 1, "rewritten": [], "removed": [], "failed": [], "lost": lost });
        let answer = Response::new(200, step.to_string());
        registry.fail("POST", "/admin/v1/reindex", Fault::Answer(answer));
    };
    step(json!(["acme/vpc/aws@1.0.0"]));
    let refused = run(&registry, &["admin", "reindex"]).expect(3);
    let message = refused.errors();
    assert!(
        message.contains("--accept-loss acme/vpc/aws@1.0.0"),
        "{message}"
    );
    step(json!([]));
    run(&registry, &[&["admin", "reindex"], &ACCEPT[..]].concat()).expect(0);
    // An audit log entry has no index, so a reindex cannot accept its loss.
    let refused = run(
        &registry,
        &["admin", "reindex", "--accept-loss", "audit-log"],
    )
    .expect(2);
    assert!(
        refused.errors().contains("audit-log"),
        "{}",
        refused.errors()
    );
}
