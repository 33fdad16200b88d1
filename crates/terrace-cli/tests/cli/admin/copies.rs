//! `terrace admin export` and `terrace admin import`.

use std::fs;

use serde_json::{Value, json};

use super::{
    ACCEPT, PUBLISHED, RELEASE, answers, answers_archives, answers_export, answers_export_from,
    answers_facts, copy_with, keys,
};
use crate::support::registry::Registry;
use crate::support::run;

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

/// Returns the entries of the log in a directory.
fn entries_in(registry: &Registry, copy: &std::path::Path) -> usize {
    let path = copy.to_str().unwrap();
    let audit = ["admin", "audit", "--verify", "--copy", path];
    let entries = run(registry, &audit).expect(0).json()["entries"].clone();
    entries.as_array().unwrap().len()
}

#[test]
fn an_export_after_a_restore_begins_a_new_copy_and_keeps_the_old_log() {
    let old = vec![("PUT /admin/v1/namespaces/acme/keys", 200); 3];
    for new in [&PUBLISHED[4..], &PUBLISHED[3..]] {
        let registry = Registry::start();
        let place = tempfile::tempdir().unwrap();
        let copy = place.path().join("copy");
        let export = ["admin", "export", copy.to_str().unwrap()];
        let token = json!({ "key": "tokens/0123456789abcdef", "document": r#"{"name":"ci","scopes":"read","created":1,"by":"root"}"# });
        let all = [keys(), vec![token]].concat();
        answers_export(&registry, &old, &all);
        run(&registry, &export).expect(0);
        assert!(!copy.join("old-logs").exists());
        let entry = copy.join("facts/audit/000000000001.json");
        let first = fs::read(&entry).unwrap();

        // While anything else is missing, the copy stays as it is.
        for (left, missing) in [(&all[..1], "tokens/"), (&all[1..], "keys/acme")] {
            registry.forget_faults();
            answers_export_from(9, &registry, new, left);
            let message = run(&registry, &export).expect(3).errors();
            assert!(message.contains(missing), "{message}");
            assert!(message.contains("--accept-loss audit-log"), "{message}");
            assert_eq!(fs::read(&entry).unwrap(), first);
        }
        // A log that begins before the end of the old one was changed.
        registry.forget_faults();
        answers_export(&registry, new, &all);
        let message = run(&registry, &export).expect(3).errors();
        assert!(message.contains("--accept-loss audit-log"), "{message}");
        assert_eq!(fs::read(&entry).unwrap(), first);

        registry.forget_faults();
        answers_export_from(9, &registry, new, &all);
        let ended = run(&registry, &export).expect(4);
        assert!(ended.errors().contains("(3 entries)"), "{ended:?}");
        assert!(ended.errors().contains("starts again"), "{ended:?}");
        assert_eq!(ended.json()["restarted"], true);
        let kept: Vec<_> = fs::read_dir(copy.join("old-logs")).unwrap().collect();
        assert_eq!(kept.len(), 1);
        let kept = kept[0].as_ref().unwrap().path();
        assert_eq!(entries_in(&registry, &kept), 3);
        assert_eq!(entries_in(&registry, &copy), new.len());
        assert_eq!(
            fs::read(kept.join("facts/audit/000000000001.json")).unwrap(),
            first
        );
        // The next export continues the new log.
        answers_export_from(9, &registry, new, &all);
        let ended = run(&registry, &export).expect(0);
        assert!(!ended.stderr.contains("starts again"), "{ended:?}");
        assert_eq!(ended.json()["restarted"], false);
        // An export that was killed before it removed the old entries, which only the kept log lists.
        let last = &format!("facts/audit/{:012}.json", new.len() + 1);
        fs::copy(kept.join(last), copy.join(last)).unwrap();
        answers_export_from(9, &registry, new, &all);
        run(&registry, &export).expect(0);
        assert!(!copy.join(last).exists());
        // An entry that no kept log has is not removed.
        fs::write(copy.join(last), "{}").unwrap();
        answers_export_from(9, &registry, new, &all);
        run(&registry, &export).expect(3);
        assert!(copy.join(last).exists());
    }
}

#[test]
fn an_export_of_a_log_that_was_changed_or_emptied_needs_its_loss_to_be_accepted() {
    let old = [PUBLISHED[0], PUBLISHED[0], PUBLISHED[4]];
    for new in [&[][..], &PUBLISHED[..1], &[PUBLISHED[0], PUBLISHED[4]]] {
        let registry = Registry::start();
        let place = tempfile::tempdir().unwrap();
        let copy = place.path().join("copy");
        let export = ["admin", "export", copy.to_str().unwrap()];
        answers_export(&registry, &old, &keys());
        run(&registry, &export).expect(0);
        answers_export(&registry, new, &keys());
        let message = run(&registry, &export).expect(3).errors();
        assert!(
            message.contains("--accept-loss audit-log") && message.contains("old-logs/"),
            "{message}"
        );
        assert!(!copy.join("old-logs").exists());
        // The export that failed did not ask for everything.
        registry.forget_faults();
        answers_export(&registry, new, &keys());
        let accepting = [&export[..], &["--accept-loss", "audit-log"]].concat();
        let ended = run(&registry, &accepting).expect(0);
        assert!(ended.stderr.contains("(3 entries)"), "{ended:?}");
        assert_eq!(ended.json()["restarted"], true);
        let kept: Vec<_> = fs::read_dir(copy.join("old-logs")).unwrap().collect();
        let kept = kept[0].as_ref().unwrap().path();
        assert_eq!(entries_in(&registry, &kept), 3);
        assert_eq!(entries_in(&registry, &copy), new.len());
    }
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
