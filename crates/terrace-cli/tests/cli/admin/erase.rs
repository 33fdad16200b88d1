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

/// Sets the responses for one look at everything that refers to archives, without tombstones.
fn answers_looks(registry: &Registry, releases: &[Value], links: &[Value]) {
    answers_looks_with(registry, releases, links, &[]);
}

/// Sets the responses for one look at everything that refers to archives.
fn answers_looks_with(registry: &Registry, releases: &[Value], links: &[Value], marks: &[Value]) {
    answers(registry, "prefix=garbage", &json!({ "facts": marks }));
    if !marks.is_empty() {
        answers_archives(registry, &json!([]));
    }
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
    let stays = format!(
        "{} stays, because the repository team/app also has it",
        archive("1")
    );
    let everywhere = format!("sha256:{} would be erased in team/app", "1".repeat(64));
    let archives = format!("{} would be erased", archive("1"));
    for (options, expected) in [
        (&[][..], [stays.as_str(), "--everywhere"]),
        (&["--everywhere"], [&everywhere, &archives]),
    ] {
        answers_looks(
            &registry,
            &[release("1.0.0", "1"), release("1.1.0", "2")],
            &links,
        );
        // People see lines.
        let mut command = terrace(&[&ERASE[..], options].concat());
        command
            .env("TERRACE_URL", registry.url())
            .env("TERRACE_TOKEN", TOKEN);
        let shown = ended(&mut command).expect(0);
        for text in ["acme/vpc/aws@1.0.0 would be erased", "--yes"]
            .iter()
            .chain(&expected)
        {
            assert!(shown.stdout.contains(text), "{text}: {}", shown.stdout);
        }
        assert!(!shown.stdout.contains("1.1.0"), "{}", shown.stdout);
        // `publish modules` packs copies, which no digest finds.
        let copies = "packages of other modules may contain a copy of acme/vpc/aws@1.0.0";
        assert!(shown.stderr.contains(copies), "{}", shown.stderr);
    }
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

/// Sets the responses for one look at two versions with the same archive, whose documentation a third version has as well.
fn answers_documented(registry: &Registry) {
    let docs = docs();
    let releases = [
        release("1.0.0", "1"),
        release("1.1.0", "1"),
        release("2.0.0", "2"),
    ];
    answers(registry, "prefix=garbage", &json!({ "facts": [] }));
    answers(registry, "prefix=releases", &json!({ "facts": releases }));
    let documented = |version: &str| json!({ "key": format!("docs/modules/acme/vpc/aws/{version}"), "archive": docs });
    let all = ["1.0.0", "1.1.0", "2.0.0"].map(documented);
    answers(
        registry,
        "/admin/v1/documentation",
        &json!({ "documented": all }),
    );
    answers(registry, "prefix=oci", &json!({ "facts": [] }));
}

fn docs() -> String {
    format!("archives/{}.docs", "3".repeat(64))
}

#[test]
fn the_documentation_of_unrelated_versions_stays_unless_it_is_named() {
    let registry = Registry::start();
    answers_documented(&registry);
    answers_erasure(&registry, Some(ERASED), &[archive("1")]);
    let yes = [&ERASE[..], &["--yes", "--everywhere"]].concat();
    let report = run(&registry, &yes).expect(0).json();
    // The registry removes the documentation of versions with the erased archive.
    assert_eq!(report["erased"], json!([archive("1")]));
    assert_eq!(
        report["broken"],
        json!({ archive("1"): ["acme/vpc/aws@1.1.0"] })
    );
    assert_eq!(report["kept"], json!({ docs(): ["acme/vpc/aws@2.0.0"] }));
    let changes = registry.requests();
    let changes = changes.iter().filter(|it| !it.starts_with("GET "));
    assert_eq!(changes.count(), 1);
    // People learn how to erase it as well.
    answers_documented(&registry);
    let mut command = terrace(&[&ERASE[..], &["--everywhere"]].concat());
    command
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", TOKEN);
    let shown = ended(&mut command).expect(0).stdout;
    let advice = format!(
        "terrace admin erase --archive {} --everywhere --reason REASON",
        "3".repeat(64)
    );
    assert!(shown.contains(&advice), "{shown}");
    assert!(
        !shown.contains(&format!("{} would be erased", docs())),
        "{shown}"
    );
}

#[test]
fn an_interrupted_erasure_of_a_package_is_continued() {
    let registry = Registry::start();
    let releases = [tombstone("1"), release("1.1.0", "2")];
    answers_looks_with(&registry, &releases, &[], &[mark("1")]);
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
    let before = "1970-01-01T00:00:02Z";
    assert_eq!(
        report["already_erased"],
        json!({ ERASED: before, archive("1"): before })
    );
    assert_eq!(requests(&registry), 2);
}

#[test]
fn an_erasure_that_took_effect_is_repeated_and_says_since_when() {
    let registry = Registry::start();
    let digest = "1".repeat(64);
    let text = manifest("1");
    let blob = layer("1");
    let by_digest = format!("team/app@{}", digest_of(&text));
    let reason = ["admin", "erase", "--reason", "a leaked key"];
    let marks = [
        mark("1"),
        json!({ "key": format!("garbage/{digest}.blob"), "document": mark("1")["document"] }),
        json!({ "key": format!("garbage/{}.blob", digest_of(&text).trim_start_matches("sha256:")), "document": mark("1")["document"] }),
    ];
    let mut removed_tag = tag("team/app", "1.0.0", &text);
    let mut document: Value =
        serde_json::from_str(removed_tag["document"].as_str().unwrap()).unwrap();
    document["is_tombstone"] = json!(true);
    removed_tag["document"] = json!(document.to_string());
    for (subject, done) in [
        ([ERASED].as_slice(), ERASED.to_owned()),
        (&["--archive", &digest], archive("1")),
        (&["--blob", &blob], blob.clone()),
        (&["--manifest", &by_digest], digest_of(&text)),
        (&["--manifest", "team/app:1.0.0"], digest_of(&text)),
    ] {
        registry.forget_faults();
        answers(
            &registry,
            "prefix=releases",
            &json!({ "facts": [tombstone("1")] }),
        );
        answers(
            &registry,
            "/admin/v1/documentation",
            &json!({ "documented": [] }),
        );
        answers_archives(&registry, &json!([]));
        answers(&registry, "prefix=garbage", &json!({ "facts": marks }));
        match subject[0].starts_with("--") && subject[0] != "--archive" {
            true => {
                answers_pushed(&registry, &[], &[], std::slice::from_ref(&removed_tag));
                answers_erasure(&registry, None, &[]);
                answers_pushed(&registry, &[], &[], &[]);
            }
            false => {
                answers(&registry, "prefix=oci", &json!({ "facts": [] }));
                answers_erasure(&registry, None, &[]);
            }
        }
        let before = requests(&registry);
        let mut command = terrace(&[&reason[..], subject, &["--yes"]].concat());
        command
            .env("TERRACE_URL", registry.url())
            .env("TERRACE_TOKEN", TOKEN);
        let ended = ended(&mut command).expect(0);
        let expected = format!("{done} was already erased at 1970-01-01T00:00:02Z");
        assert!(ended.stdout.contains(&expected), "{subject:?}: {ended:?}");
        assert!(
            ended.stdout.contains("everything was erased before"),
            "{ended:?}"
        );
        // It may have been interrupted.
        assert_eq!(requests(&registry), before + 1, "{subject:?}");
    }
}

#[test]
fn a_manifest_that_another_repository_has_is_not_erased_in_part() {
    let registry = Registry::start();
    let (text, own) = (manifest("1"), manifest("2"));
    let links = ["1", "2"].map(|digit| link("team/app", &layer(digit)));
    let manifests = [
        manifest_of("team/app", &text),
        manifest_of("team/other", &text),
        manifest_of("team/app", &own),
    ];
    let [shared, own] = [&text, &own].map(|text| format!("team/app@{}", digest_of(text)));
    let erase = [
        "admin",
        "erase",
        "--reason",
        "x",
        "--yes",
        "--manifest",
        &shared,
    ];
    for more in [&[][..], &["--manifest", &own]] {
        answers_contents(&registry, &[], (&links, &manifests, &[]), &json!([]));
        let refused = run(&registry, &[&erase[..], more].concat()).expect(3);
        let message = refused.errors();
        assert!(
            message.contains("nothing is erased") && message.contains("the repository team/other"),
            "{message}"
        );
        assert_eq!(requests(&registry), 0);
        answers_contents(&registry, &[], (&links, &manifests, &[]), &json!([]));
        let preview: Vec<&str> = [&erase[..], more].concat();
        let preview: Vec<&str> = preview.into_iter().filter(|it| *it != "--yes").collect();
        let report = run(&registry, &preview).expect(0).json();
        assert_eq!(report["status"], "dry_run");
        assert_eq!(report["contents"], json!({}));
        assert!(
            report["kept"]
                .to_string()
                .contains("the repository team/other"),
            "{report}"
        );
    }
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
        answers(&registry, "prefix=garbage", &json!({ "facts": [] }));
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

fn digest_of(text: &str) -> String {
    format!(
        "sha256:{}",
        terrace_base::digest::Sha256::of(text.as_bytes())
    )
}

fn layer(digit: &str) -> String {
    format!("sha256:{}", digit.repeat(64))
}

/// Returns the text of a manifest with this layer and the empty configuration.
fn manifest(digit: &str) -> String {
    let empty = digest_of("{}");
    let layer = layer(digit);
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": { "mediaType": "application/vnd.oci.empty.v1+json", "digest": empty, "size": 2 },
        "layers": [{ "mediaType": "a/b", "digest": layer, "size": 7 }],
    })
    .to_string()
}

fn link(repository: &str, digest: &str) -> Value {
    json!({ "key": format!("oci/links/{repository}:{digest}"), "document": r#"{"size":7}"# })
}

fn manifest_of(repository: &str, text: &str) -> Value {
    let digest = digest_of(text);
    json!({ "key": format!("oci/manifests/{repository}:{digest}"), "document": text })
}

fn tag(repository: &str, name: &str, text: &str) -> Value {
    let document = json!({ "digest": digest_of(text), "media_type": "a/b" });
    json!({ "key": format!("oci/tags/{repository}:{name}"), "document": document.to_string() })
}

/// Sets the responses for one look at the pushed content.
fn answers_pushed(registry: &Registry, links: &[Value], manifests: &[Value], tags: &[Value]) {
    for (prefix, facts) in [("links", links), ("manifests", manifests), ("tags", tags)] {
        let path = format!("prefix=oci%2F{prefix}");
        answers(registry, &path, &json!({ "facts": facts }));
    }
}

/// Sets the responses for one look at everything that refers to pushed content.
fn answers_contents(
    registry: &Registry,
    releases: &[Value],
    pushed: (&[Value], &[Value], &[Value]),
    archives: &Value,
) {
    answers(registry, "prefix=releases", &json!({ "facts": releases }));
    answers(
        registry,
        "/admin/v1/documentation",
        &json!({ "documented": [] }),
    );
    answers_pushed(registry, pushed.0, pushed.1, pushed.2);
    answers_archives(registry, archives);
    answers(registry, "prefix=garbage", &json!({ "facts": [] }));
}

#[test]
fn a_manifest_is_erased_with_its_blobs_and_listed_again() {
    let registry = Registry::start();
    let text = manifest("1");
    let empty = digest_of("{}");
    let links = [link("team/app", &layer("1")), link("team/app", &empty)];
    let manifests = [manifest_of("team/app", &text)];
    let tags = [tag("team/app", "1.0.0", &text)];
    let erase = ["admin", "erase", "--reason", "a leaked key", "--manifest"];
    let by_digest = format!("team/app@{}", digest_of(&text));
    for name in ["team/app:1.0.0", &by_digest] {
        let stored = json!([{ "key": archive("1"), "size": 7, "stored_at": 1 }]);
        answers_contents(&registry, &[], (&links, &manifests, &tags), &stored);
        let report = run(&registry, &[&erase[..], &[name]].concat())
            .expect(0)
            .json();
        assert_eq!(report["contents"][layer("1")], json!(["team/app"]));
        assert_eq!(report["contents"][digest_of(&text)], json!(["team/app"]));
        // The configuration is shared by all manifests.
        assert_eq!(report["contents"].as_object().unwrap().len(), 2);
        // An archive that nothing refers to has the same digest.
        assert_eq!(report["erased"], json!([archive("1")]));
        assert_eq!(requests(&registry), 0);
    }
    answers_contents(&registry, &[], (&links, &manifests, &tags), &json!([]));
    answers_erasure(&registry, None, &[]);
    // Another client has pushed the layer in the meantime.
    answers_pushed(&registry, &[link("team/other", &layer("1"))], &[], &[]);
    answers_erasure(&registry, None, &[]);
    answers_pushed(&registry, &[link("team/app", &empty)], &[], &[]);
    let yes = [&erase[..], &["team/app:1.0.0", "--yes"]].concat();
    let report = run(&registry, &yes).expect(0).json();
    assert_eq!(report["uploads_end"], "1970-01-01T01:15:00Z");
    assert_eq!(requests(&registry), 2);
}

#[test]
fn pushed_content_in_use_elsewhere_stays() {
    let registry = Registry::start();
    let text = manifest("1");
    let other = text.replace("a/b", "a/c");
    let links = ["team/app", "team/other"].map(|name| link(name, &layer("1")));
    let manifests = [
        manifest_of("team/app", &text),
        manifest_of("team/other", &other),
    ];
    let of_manifest = ["admin", "erase", "--reason", "a leaked key", "--manifest"];
    let by_digest = format!("team/app@{}", digest_of(&text));
    let of_manifest = [&of_manifest[..], &[&by_digest]].concat();
    let by_blob = layer("1");
    let of_blob = [
        "admin",
        "erase",
        "--reason",
        "a leaked key",
        "--blob",
        &by_blob,
    ];
    let releases = [release("1.0.0", "1")];
    let answer = || answers_contents(&registry, &releases, (&links, &manifests, &[]), &json!([]));
    answer();
    let report = run(&registry, &of_manifest).expect(0).json();
    assert_eq!(
        report["contents"],
        json!({ digest_of(&text): ["team/app"] })
    );
    let users = [
        ERASED.to_owned(),
        format!("team/other@{}", digest_of(&other)),
        "the repository team/other".to_owned(),
    ];
    assert_eq!(report["kept"][layer("1")], json!(users));
    answer();
    let preview = run(&registry, &of_blob).expect(0).json();
    assert_eq!(
        (&preview["status"], &preview["contents"]),
        (&json!("dry_run"), &json!({}))
    );
    answer();
    let refused = run(&registry, &[&of_blob[..], &["--yes"]].concat())
        .expect(3)
        .errors();
    assert!(
        refused.contains("--everywhere") && refused.contains("team/app@"),
        "{refused}"
    );
    answer();
    let everywhere = [&of_blob[..], &["--everywhere"]].concat();
    let report = run(&registry, &everywhere).expect(0).json();
    assert_eq!(
        report["contents"][layer("1")],
        json!(["team/app", "team/other"])
    );
    assert_eq!(report["broken"][layer("1")].as_array().unwrap().len(), 3);
    registry.forget_faults();
    answers_contents(&registry, &[], (&[], &[], &[]), &json!([]));
    let missing = run(&registry, &of_blob).expect(3).errors();
    assert!(missing.contains("there is no blob sha256:"), "{missing}");
    for name in ["team/app", "Team/App:1", "modules/acme/vpc/aws:1.0.0"] {
        let invalid = ["admin", "erase", "--reason", "x", "--manifest", name];
        run(&registry, &invalid).expect(2);
    }
}

#[test]
fn a_layer_that_only_an_emptied_repository_has_as_well_is_erased_in_both() {
    let registry = Registry::start();
    let text = manifest("1");
    let links = ["team/app", "team/emptied"].map(|name| link(name, &layer("1")));
    let manifests = [manifest_of("team/app", &text)];
    answers_contents(&registry, &[], (&links, &manifests, &[]), &json!([]));
    let by_digest = format!("team/app@{}", digest_of(&text));
    let erase = ["admin", "erase", "--reason", "a leaked key", "--manifest"];
    let report = run(&registry, &[&erase[..], &[&by_digest]].concat())
        .expect(0)
        .json();
    assert_eq!(
        report["contents"][layer("1")],
        json!(["team/app", "team/emptied"])
    );
    assert_eq!(report["kept"], json!({}));
}

#[test]
fn an_export_removes_documents_of_erased_content_from_an_older_copy() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    assert_eq!(export(&registry, &copy, &[PUBLISH][..0], &[]), None);
    let text = manifest("1");
    let blob = format!("oci/blobs/sha256/{}", "1".repeat(64));
    let facts = [
        link("team/app", &layer("1")),
        manifest_of("team/app", &text),
    ];
    write_older(&copy, &facts, &blob);
    let digests = [layer("1"), digest_of(&text)];
    let marks = digests.clone().map(|digest| {
        let key = format!("garbage/{}.blob", digest.trim_start_matches("sha256:"));
        json!({ "key": key, "document": mark("1")["document"] })
    });
    let erased = digests.map(|digest| format!("oci/blobs/{}", digest.replace(':', "/")));
    let log = format!("POST /admin/v1/erasures erases {}", erased.join(", "));
    let left = || {
        let manifests = copy.join("facts/oci/manifests/team");
        let links = copy.join("facts/oci/links/team");
        [manifests, links].map(|place| fs::read_dir(place).unwrap().count())
    };
    assert_eq!(
        export(
            &registry,
            &copy,
            &[("POST /admin/v1/erasures", 200)],
            &marks
        ),
        None
    );
    assert_eq!((left(), copy.join(&blob).exists()), ([1, 1], true));
    fs::remove_dir_all(copy.join("facts/audit")).unwrap();
    write_older(&copy, &facts, &blob);
    assert_eq!(export(&registry, &copy, &[(&log, 200)], &marks), None);
    assert_eq!((left(), copy.join(&blob).exists()), ([0, 0], false));
}

#[test]
fn an_export_continues_while_a_release_refers_to_an_erased_archive() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let log = format!("POST /admin/v1/erasures erases {}", archive("1"));
    answers_export(
        &registry,
        &[PUBLISH, (&log, 200)],
        &[release("1.0.0", "1"), mark("1")],
    );
    let ran = run(&registry, &["admin", "export", copy.to_str().unwrap()]).expect(0);
    assert!(
        ran.stderr
            .contains("was erased, so releases/modules/acme/vpc/aws/1.0.0, which refers to it"),
        "{}",
        ran.stderr
    );
    // The advice can be followed, and does not fail the next check.
    let advice = "terrace admin erase acme/vpc/aws@1.0.0 --reason REASON";
    assert!(ran.stderr.contains(advice), "{}", ran.stderr);
    // The same registry, and one that the copy was imported into, agree with it.
    let verify = [
        "admin",
        "verify",
        "--quick",
        "--copy",
        copy.to_str().unwrap(),
    ];
    let changes = [PUBLISH, (&*log, 200)];
    answers_verify(&registry, &changes, &[release("1.0.0", "1"), mark("1")]);
    let ended = run(&registry, &verify).expect(0);
    assert!(ended.json()["warnings"].to_string().contains(advice));
    registry.forget_faults();
    let imported = Registry::start();
    answers_verify(&imported, &[], &[mark("1")]);
    let ended = run(&imported, &verify).expect(0);
    let warnings = ended.json()["warnings"].to_string();
    let stays_out = format!("but not in the registry, where {} was erased", archive("1"));
    assert!(warnings.contains(&stays_out), "{warnings}");
    // Without the tombstone, the release is missing.
    registry.forget_faults();
    let other = Registry::start();
    answers_verify(&other, &[], &[]);
    let errors = run(&other, &verify).expect(3).errors();
    assert!(errors.contains("restore it with"), "{errors}");
}

#[test]
fn an_erased_archive_of_another_version_was_erased_before() {
    let registry = Registry::start();
    let (own, other) = (release("1.0.0", "1"), release("1.1.0", "2"));
    answers_looks_with(&registry, &[own, other], &[], &[mark("1")]);
    answers_erasure(&registry, Some(ERASED), &[archive("1")]);
    let mut command = terrace(&[&ERASE[..], &["--yes"]].concat());
    command
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", TOKEN);
    let ended = ended(&mut command).expect(0);
    let before = format!(
        "{} was already erased at 1970-01-01T00:00:02Z",
        archive("1")
    );
    assert!(ended.stdout.contains("erased 1 version\n"), "{ended:?}");
    assert!(ended.stdout.contains(&before), "{ended:?}");
    // The URLs of that time have expired.
    assert!(!ended.stdout.contains("may upload"), "{ended:?}");
}

#[test]
fn an_erased_archive_that_an_upload_has_stored_again_is_shown_and_removed() {
    let digest = "1".repeat(64);
    let stored = json!([{ "key": archive("1"), "size": 7, "stored_at": 1 }]);
    let reason = ["admin", "erase", "--reason", "a leaked key"];
    for subject in [&[ERASED][..], &["--archive", &digest]] {
        let registry = Registry::start();
        let answer = || {
            answers(
                &registry,
                "prefix=garbage",
                &json!({ "facts": [mark("1")] }),
            );
            answers(
                &registry,
                "prefix=releases",
                &json!({ "facts": [tombstone("1")] }),
            );
            answers(
                &registry,
                "/admin/v1/documentation",
                &json!({ "documented": [] }),
            );
            answers(&registry, "prefix=oci", &json!({ "facts": [] }));
            answers_archives(&registry, &stored);
        };
        let shown = |more: &[&str]| {
            answer();
            let mut command = terrace(&[&reason[..], subject, more].concat());
            command.env("TERRACE_URL", registry.url());
            ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0).stdout
        };
        let note = format!(
            "{} was already erased at 1970-01-01T00:00:02Z, and is stored again",
            archive("1")
        );
        let preview = shown(&[]);
        assert!(preview.contains(&note), "{preview}");
        assert!(preview.contains("Run the command with --yes"), "{preview}");
        assert!(!preview.contains("would be erased"), "{preview}");
        answers_erasure(&registry, None, &[archive("1")]);
        let done = shown(&["--yes"]);
        let removed =
            "everything was erased before; removed 1 archive that an upload had stored again";
        assert!(done.starts_with(removed), "{done}");
    }
}

#[test]
fn a_repeated_erasure_says_what_it_keeps_and_does_not_claim_to_erase() {
    let registry = Registry::start();
    let releases = [tombstone("1"), release("1.1.0", "1")];
    answers_looks(&registry, &releases, &[]);
    answers_erasure(&registry, Some(ERASED), &[]);
    let mut command = terrace(&[&ERASE[..], &["--yes"]].concat());
    command
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", TOKEN);
    let ended = ended(&mut command).expect(0);
    assert!(
        ended.stdout.starts_with("nothing more was erased\n"),
        "{ended:?}"
    );
    let stays = format!("{} stays, because", archive("1"));
    assert!(ended.stdout.contains(&stays), "{ended:?}");
    assert_eq!(ended.stderr, format!("completed the erasure of {ERASED}\n"));
}

#[test]
fn an_export_leaves_out_documentation_whose_archive_was_erased() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    let documentation = documentation_of("1.0.0", "3");
    let tombstone = json!({ "key": docs().replace("archives/", "garbage/"), "document": mark("1")["document"] });
    let log = format!("POST /admin/v1/erasures erases {}", docs());
    answers_export(
        &registry,
        &[(&log, 200)],
        &[documentation, tombstone.clone()],
    );
    let ran = run(&registry, &["admin", "export", copy.to_str().unwrap()]).expect(0);
    assert!(ran.stderr.contains("is not copied"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("refers to it"), "{}", ran.stderr);
    assert_eq!(ran.json()["documents"], 2);
    assert!(!copy.join("facts/docs").exists());
}

/// Returns the document about the documentation of a version.
fn documentation_of(version: &str, digit: &str) -> Value {
    let digest = digit.repeat(64);
    let document = format!(
        r#"{{"schema":1,"sequence":1,"sha256":"{digest}","size":100,"head_length":40,"history":[]}}"#
    );
    json!({ "key": format!("docs/modules/acme/vpc/aws/{version}"), "document": document })
}

#[test]
fn an_export_removes_documentation_that_went_with_an_erased_archive_from_an_older_copy() {
    let registry = Registry::start();
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("copy");
    assert_eq!(export(&registry, &copy, &[], &[]), None);
    write_older(&copy, &[documentation_of("1.0.0", "3")], &docs());
    let record = copy.join("facts/docs/modules/acme/vpc/aws/1.0.0.json");
    let is_left = || [record.exists(), copy.join(docs()).exists()];
    assert_eq!(is_left(), [true; 2]);
    let log = format!(
        "POST /admin/v1/erasures erases {}, {}",
        archive("1"),
        docs()
    );
    assert_eq!(export(&registry, &copy, &[(&log, 200)], &[mark("1")]), None);
    assert_eq!(is_left(), [false; 2]);
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
    for entry in [(unrecorded.as_str(), 200), (failed.as_str(), 409)] {
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
            let path = key.replace(':', "%3A");
            (format!("facts/{path}.json"), document.to_owned())
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
fn an_erased_archive_fails_verification_if_it_exists_and_is_reported_if_it_is_used() {
    let registry = Registry::start();
    let verify = ["admin", "verify", "--quick"];
    answers_verify(&registry, &[], &[tombstone("1"), mark("1")]);
    run(&registry, &verify).expect(0);
    answers_verify(&registry, &[], &[release("1.1.0", "1"), mark("1")]);
    let document = run(&registry, &verify).expect(0).json();
    let warnings = document["warnings"].to_string();
    for expected in [
        "was erased, so releases/modules/acme/vpc/aws/1.1.0",
        "terrace admin erase acme/vpc/aws@1.1.0 --reason REASON",
    ] {
        assert!(warnings.contains(expected), "{warnings}");
    }
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
