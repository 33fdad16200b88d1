//! `terrace admin erase`, and copies of a registry with erased parts.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{answers, answers_archives, answers_export, answers_verify};
use crate::support::http::Response;
use crate::support::registry::{Fault, Registry};
use crate::support::{TOKEN, ended, run, terrace};

const ERASED: &str = "acme/vpc/aws@1.0.0";
const ERASE: [&str; 5] = ["admin", "erase", ERASED, "--reason", "a leaked key"];

fn archive(digit: &str) -> String {
    format!("archives/{}.zip", digit.repeat(64))
}

/// Returns a version of a module with this archive.
fn release(version: &str, digit: &str) -> Value {
    let digest = digit.repeat(64);
    let document = format!(
        r#"{{"kind":"module","schema":1,"address":"acme/vpc/aws","version":"{version}","published_at":1,"archive":{{"format":"zip","sha256":"{digest}","size":7}}}}"#
    );
    json!({ "key": format!("releases/modules/acme/vpc/aws/{version}"), "document": document })
}

/// Returns the tombstone of the first version.
fn tombstone(digit: &str) -> Value {
    let document = format!(
        r#"{{"kind":"erased","schema":1,"package":"modules/acme/vpc/aws","version":"1.0.0","published_at":1,"erased_at":2,"reason":"a leaked key","archives":["{}"],"contents":[]}}"#,
        archive(digit)
    );
    json!({ "key": "releases/modules/acme/vpc/aws/1.0.0", "document": document })
}

/// Returns the tombstone of an archive.
fn mark(digit: &str) -> Value {
    let document = r#"{"state":"erased","since":2,"reason":"a leaked key"}"#;
    json!({ "key": archive(digit).replace("archives/", "garbage/"), "document": document })
}

/// Sets the responses for one look at everything that refers to archives.
fn answers_looks(registry: &Registry, releases: &[Value], links: &[Value]) {
    answers(registry, "prefix=releases", &json!({ "facts": releases }));
    answers(
        registry,
        "/admin/v1/documentation",
        &json!({ "documented": [] }),
    );
    answers(registry, "prefix=docs", &json!({ "facts": [] }));
    answers(registry, "prefix=oci", &json!({ "facts": links }));
}

fn answers_erasure(registry: &Registry, release: Option<&str>, erased: &[String]) {
    let answer = json!({ "release": release, "erased": erased, "kept": [], "uploads_end": 4500 });
    let answer = Response::new(200, answer.to_string());
    registry.fail("POST", "/admin/v1/erasures", Fault::Answer(answer));
}

/// Returns the bodies of the requests for erasures.
fn requests(registry: &Registry) -> usize {
    let requests = registry.requests();
    let requests = requests
        .iter()
        .filter(|it| it.starts_with("POST /admin/v1/erasures"));
    requests.count()
}

#[test]
fn an_erasure_is_only_shown_without_yes() {
    let registry = Registry::start();
    let link = format!("oci/links/team/app:sha256:{}", "1".repeat(64));
    let links = [json!({ "key": link, "document": r#"{"size":7}"# })];
    answers_looks(
        &registry,
        &[release("1.0.0", "1"), release("1.1.0", "2")],
        &links,
    );
    // People see lines.
    let mut command = terrace(&ERASE);
    command
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", TOKEN);
    let shown = ended(&mut command).expect(0);
    for text in [
        "acme/vpc/aws@1.0.0 would be erased",
        &format!("{} would be erased", archive("1")),
        "team/app has a pushed blob",
        "--yes",
    ] {
        assert!(shown.stdout.contains(text), "{text}: {}", shown.stdout);
    }
    assert!(!shown.stdout.contains("1.1.0"), "{}", shown.stdout);
    assert_eq!(requests(&registry), 0);
}

#[test]
fn an_erased_version_keeps_the_archives_of_others() {
    let registry = Registry::start();
    let releases = [release("1.0.0", "1"), release("1.1.0", "1")];
    let yes = [&ERASE[..], &["--yes"]].concat();
    answers_looks(&registry, &releases, &[]);
    answers_erasure(&registry, Some(ERASED), &[]);
    let report = run(&registry, &yes).expect(0).json();
    assert_eq!(report["erased"], json!([]));
    assert_eq!(report["kept"][archive("1")], json!(["acme/vpc/aws@1.1.0"]));
    answers_looks(&registry, &releases, &[]);
    answers_erasure(&registry, Some(ERASED), &[archive("1")]);
    let everywhere = [&yes[..], &["--everywhere"]].concat();
    let report = run(&registry, &everywhere).expect(0).json();
    assert_eq!(report["erased"], json!([archive("1")]));
    assert_eq!(
        report["broken"][archive("1")],
        json!(["acme/vpc/aws@1.1.0"])
    );
    assert_eq!(report["uploads_end"], "1970-01-01T01:15:00Z");
}

#[test]
fn an_interrupted_erasure_of_a_package_is_continued() {
    let registry = Registry::start();
    answers_looks(&registry, &[tombstone("1"), release("1.1.0", "2")], &[]);
    answers_erasure(&registry, Some(ERASED), &[archive("1")]);
    answers_erasure(&registry, Some("acme/vpc/aws@1.1.0"), &[archive("2")]);
    let arguments = [
        "admin",
        "erase",
        "acme/vpc/aws",
        "--reason",
        "a leaked key",
        "--yes",
    ];
    let report = run(&registry, &arguments).expect(0).json();
    assert_eq!(report["releases"], json!([ERASED, "acme/vpc/aws@1.1.0"]));
    assert_eq!(report["erased"], json!([archive("1"), archive("2")]));
    assert_eq!(requests(&registry), 2);
}

#[test]
fn an_archive_is_erased_by_its_digest() {
    let registry = Registry::start();
    let digest = "1".repeat(64);
    let stored = json!([{ "key": archive("1"), "size": 7, "stored_at": 1 }]);
    let arguments = [
        "admin",
        "erase",
        "--archive",
        &digest,
        "--reason",
        "a leaked key",
        "--yes",
    ];
    let answer = |releases: &[Value]| {
        answers(&registry, "prefix=releases", &json!({ "facts": releases }));
        answers(
            &registry,
            "/admin/v1/documentation",
            &json!({ "documented": [] }),
        );
        answers_archives(&registry, &stored);
        answers(&registry, "prefix=oci", &json!({ "facts": [] }));
    };
    answer(&[release("1.0.0", "1")]);
    let refused = run(&registry, &arguments).expect(3);
    assert!(refused.errors().contains(ERASED), "{}", refused.errors());
    assert_eq!(requests(&registry), 0);
    answer(&[release("1.0.0", "2")]);
    answers_erasure(&registry, None, &[archive("1")]);
    let ended = run(&registry, &arguments).expect(0);
    assert_eq!(ended.json()["erased"], json!([archive("1")]));
    assert_eq!(requests(&registry), 1);
}

#[test]
fn nothing_is_erased_that_is_unknown_or_not_understood() {
    let registry = Registry::start();
    answers_looks(&registry, &[release("1.1.0", "2")], &[]);
    let missing = run(&registry, &ERASE).expect(3);
    assert!(missing.errors().contains(ERASED), "{}", missing.errors());
    registry.forget_faults();
    let newer = json!({ "key": "releases/modules/acme/vpc/aws/2.0.0", "document": "{}" });
    answers_looks(&registry, &[release("1.0.0", "1"), newer], &[]);
    let refused = run(&registry, &[&ERASE[..], &["--yes"]].concat()).expect(3);
    assert!(refused.errors().contains("2.0.0"), "{}", refused.errors());
    assert_eq!(requests(&registry), 0);
    registry.forget_faults();
    let long = "x".repeat(391);
    for arguments in [
        &["admin", "erase", "--reason", "a leaked key"][..],
        &["admin", "erase", ERASED],
        &["admin", "erase", ERASED, "--reason", &long],
        &[
            "admin",
            "erase",
            ERASED,
            "--archive",
            "1",
            "--reason",
            "a leaked key",
        ],
    ] {
        run(&registry, arguments).expect(2);
    }
}

const PUBLISH: (&str, u16) = ("PUT /admin/v1/modules/acme/vpc/aws/1.0.0", 201);

/// Exports a registry into a directory that has its archive already. Returns the error, if it is refused.
fn export(
    registry: &Registry,
    copy: &Path,
    log: &[(&str, u16)],
    facts: &[Value],
) -> Option<String> {
    registry.forget_faults();
    answers_export(registry, log, facts);
    let ran = run(registry, &["admin", "export", copy.to_str().unwrap()]);
    match ran.code {
        0 => None,
        _ => Some(ran.errors()),
    }
}

#[test]
fn an_export_removes_from_an_older_copy_only_what_the_audit_log_says_was_erased() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let digest = "1".repeat(64);
    let documentation = json!({
        "key": "docs/modules/acme/vpc/aws/1.0.0",
        "document": format!(r#"{{"schema":1,"sequence":1,"sha256":"{digest}","size":100,"head_length":40,"history":[]}}"#),
    });
    // The older copy is written as an export writes it.
    let published = [PUBLISH];
    assert_eq!(export(&registry, &copy, &published[..0], &[]), None);
    let release_path = copy.join("facts/releases/modules/acme/vpc/aws/1.0.0.json");
    write_older(
        &copy,
        &[release("1.0.0", "1"), documentation],
        &archive("1"),
    );
    let log = |erased: &str| format!("POST /admin/v1/erasures{erased}");
    let (unrecorded, failed) = (log(""), log(&format!(" erases {ERASED}, {}", archive("1"))));
    let facts = [tombstone("1"), mark("1")];
    for entry in [(unrecorded.as_str(), 200), (failed.as_str(), 503)] {
        let refused = export(&registry, &copy, &[entry], &facts);
        let refused = refused.expect("an erasure that is not recorded is a loss");
        assert!(refused.contains("no entry of the audit log"), "{refused}");
        assert!(copy.join(archive("1")).is_file());
    }
    let refused = export(&registry, &copy, &[(&failed, 200)], &[]).unwrap();
    assert!(refused.contains("was removed"), "{refused}");
    assert!(
        fs::read_to_string(&release_path)
            .unwrap()
            .contains("module")
    );
    assert_eq!(export(&registry, &copy, &[(&failed, 200)], &facts), None);
    assert!(
        fs::read_to_string(&release_path)
            .unwrap()
            .contains("a leaked key")
    );
    assert!(!copy.join(archive("1")).exists());
    assert!(
        !copy
            .join("facts/docs/modules/acme/vpc/aws/1.0.0.json")
            .exists()
    );
    assert!(
        copy.join(format!("facts/garbage/{digest}.zip.json"))
            .is_file()
    );
    // From now on the tombstones must stay.
    let refused = export(&registry, &copy, &[(&failed, 200)], &facts[..1]).unwrap();
    assert!(refused.contains("garbage/"), "{refused}");
}

/// Writes a complete copy of the registry with these documents and an archive.
fn write_older(copy: &Path, facts: &[Value], archive: &str) {
    let mut files: Vec<(String, String)> = facts
        .iter()
        .map(|fact| {
            let [key, document] = ["key", "document"].map(|name| fact[name].as_str().unwrap());
            (format!("facts/{key}.json"), document.to_owned())
        })
        .collect();
    files.push((archive.to_owned(), "an archive".to_owned()));
    files.sort();
    let mut sums = String::new();
    for (path, text) in &files {
        let place = copy.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
        let digest = terrace_base::digest::Sha256::of(text.as_bytes());
        sums.push_str(&format!("{digest}  {path}\n"));
    }
    let summary = copy.join("export.json");
    let mut text: Value = serde_json::from_slice(&fs::read(&summary).unwrap()).unwrap();
    text["documents"] = facts.len().into();
    text["archives"] = 1.into();
    let digest = terrace_base::digest::Sha256::of(sums.as_bytes());
    text["sha256sums"] = digest.to_string().into();
    fs::write(copy.join("SHA256SUMS"), sums).unwrap();
    fs::write(summary, text.to_string()).unwrap();
}

#[test]
fn an_erased_archive_that_exists_or_is_used_fails_verification() {
    let registry = Registry::start();
    let verify = ["admin", "verify", "--quick"];
    answers_verify(&registry, &[], &[tombstone("1"), mark("1")]);
    run(&registry, &verify).expect(0);
    answers_verify(&registry, &[], &[release("1.1.0", "1"), mark("1")]);
    let message = run(&registry, &verify).expect(3).errors();
    assert!(
        message.contains("was erased, but releases/modules/acme/vpc/aws/1.1.0"),
        "{message}"
    );
    registry.forget_faults();
    let stored = json!([{ "key": archive("1"), "size": 7, "stored_at": 1 }]);
    answers_archives(&registry, &json!([]));
    answers(
        &registry,
        "/admin/v1/audit",
        &json!({ "entries": [], "newest": 0 }),
    );
    super::answers_facts(&registry, &[], &[tombstone("1"), mark("1")]);
    answers_archives(&registry, &stored);
    let message = run(&registry, &verify).expect(3).errors();
    assert!(message.contains("is stored again"), "{message}");
}

#[test]
fn a_garbage_collection_removes_an_erased_archive_that_is_stored_again() {
    let registry = Registry::start();
    let stored = json!([{ "key": archive("1"), "size": 7, "stored_at": 1 }]);
    answers_archives(&registry, &stored);
    answers(
        &registry,
        "prefix=garbage",
        &json!({ "facts": [mark("1"), mark("2")] }),
    );
    super::answers_log(&registry, &[]);
    // A release that refers to it does not keep it.
    let releases = json!({ "facts": [release("1.0.0", "1")] });
    answers(&registry, "prefix=releases", &releases);
    answers(
        &registry,
        "/admin/v1/documentation",
        &json!({ "documented": [] }),
    );
    let report = run(&registry, &["admin", "gc"]).expect(0).json();
    assert_eq!(report["remove"], json!([archive("1")]));
    assert_eq!(report["mark"], json!([]));
}
