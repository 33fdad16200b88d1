//! `terrace admin export` and `terrace admin import`.

use std::fs;

use serde_json::json;

use super::{
    ACCEPT, PUBLISHED, RELEASE, answers_archives, answers_export, answers_facts, answers_newest,
    export, keys, place,
};
use crate::import::copy_of;
use crate::support::registry::Registry;
use crate::support::{assert_has, run};

const ACCEPT_LOG: [&str; 2] = ["--accept-loss", "audit-log"];

#[test]
fn a_copy_keeps_documents_that_the_registry_has_lost() {
    let registry = Registry::start();
    let (around, copy) = place();
    answers_export(&registry, &PUBLISHED[..1], &keys());
    export(&registry, &copy, &[]).expect(0);
    let sums = fs::read(copy.join("SHA256SUMS")).unwrap();
    answers_export(&registry, &PUBLISHED[..1], &[]);
    let errors = export(&registry, &copy, &[]).expect(3).errors();
    assert_has!(errors, "keys/acme is in ", "import");
    assert_eq!(fs::read(copy.join("SHA256SUMS")).unwrap(), sums);
    assert!(copy.join("facts/keys/acme.json").is_file());
    // A missing release that the log records fails an export to any directory.
    let elsewhere = around.path().join("elsewhere");
    answers_export(&registry, PUBLISHED, &[]);
    export(&registry, &elsewhere, &[]).fails(3, RELEASE);
    answers_export(&registry, PUBLISHED, &keys());
    export(&registry, &elsewhere, &ACCEPT).expect(0);
}

#[test]
fn an_emptied_registry_is_not_copied() {
    let registry = Registry::start();
    let (_around, copy) = place();
    registry.refuse("GET", "/admin/v1/", 403, &["this requires the scope admin"]);
    export(&registry, &copy.join("deep"), &[]).expect(5);
    assert!(!copy.exists());
    let answer = || {
        answers_newest(&registry, 27);
        answers_facts(&registry, &[], &[]);
        answers_archives(&registry, &json!([]));
    };
    answer();
    export(&registry, &copy, &[]).fails(3, "entry 1 is missing");
    answer();
    export(&registry, &copy, &ACCEPT_LOG).expect(0);
}

#[test]
fn an_export_never_replaces_an_audit_log_by_another_one() {
    let old = [PUBLISHED[0], PUBLISHED[0], PUBLISHED[4]];
    let changed = [PUBLISHED[0], PUBLISHED[4]];
    for new in [&[][..], &PUBLISHED[..1], &PUBLISHED[4..], &changed] {
        let registry = Registry::start();
        let (around, copy) = place();
        answers_export(&registry, &old, &keys());
        export(&registry, &copy, &[]).expect(0);
        let entry = copy.join("facts/audit/000000000002.json");
        let second = fs::read(&entry).unwrap();
        for accepted in [&[][..], &ACCEPT_LOG] {
            registry.forget_faults();
            answers_export(&registry, new, &keys());
            let errors = export(&registry, &copy, accepted).expect(3).errors();
            let another = "export to another directory";
            assert_has!(errors, "of the audit log, from audit/", another);
            assert_eq!(fs::read(&entry).unwrap(), second);
        }
        registry.forget_faults();
        answers_export(&registry, new, &keys());
        export(&registry, &around.path().join("elsewhere"), &[]).expect(0);
    }
}

#[test]
fn a_copy_that_cannot_be_compared_is_not_replaced() {
    let registry = Registry::start();
    let (_around, copy) = place();
    answers_export(&registry, &PUBLISHED[..1], &keys());
    export(&registry, &copy, &[]).expect(0);
    let sums = copy.join("SHA256SUMS");
    let whole = fs::read(&sums).unwrap();
    let broken = [&whole[..], b"\n"].concat();
    fs::write(&sums, &broken).unwrap();
    let errors = export(&registry, &copy, &[]).expect(3).errors();
    assert_has!(errors, "cannot be compared", "another directory");
    assert_eq!(fs::read(&sums).unwrap(), broken);
    // An export that never finished has nothing to compare with.
    fs::remove_file(&sums).unwrap();
    let summary = copy.join("export.json");
    let unfinished = fs::read_to_string(&summary).unwrap();
    fs::write(&summary, unfinished.replace("sha256sums", "other")).unwrap();
    answers_export(&registry, &PUBLISHED[..1], &keys());
    export(&registry, &copy, &[]).expect(0);
    assert_eq!(fs::read(&sums).unwrap(), whole);
}

#[test]
fn a_copy_of_a_newer_version_is_refused_before_anything_is_sent() {
    let newer = r#"{"oldest_writer":"99.0.0"}"#;
    let place = copy_of(&[("format", newer)]);
    let registry = Registry::start();
    let import = ["admin", "import", place.path().to_str().unwrap()];
    run(&registry, &import).fails(3, "import it with terrace 99.0.0 or newer");
    assert_eq!(registry.changes(), [""; 0]);
}
