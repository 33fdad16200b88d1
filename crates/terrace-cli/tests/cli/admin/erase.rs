//! `terrace admin erase`, and copies of a registry with erased parts.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use terrace_core::storage::copy::path_of_fact;

use super::{
    answers, answers_archives, answers_export, answers_list, answers_verify, archive, digest_of,
    documentation, fact, layer, link, manifest, manifest_of, mark, place, release,
};
use crate::import::write_copy;
use crate::support::registry::Registry;
use crate::support::{Ended, assert_has, assert_lacks, run, run_for_people, words};

const ERASED: &str = "acme/vpc/aws@1.0.0";
const ERASE: [&str; 5] = ["admin", "erase", ERASED, "--reason", "a leaked key"];

/// Returns the tombstone of the first version.
fn tombstone(digit: &str) -> Value {
    let document = format!(
        r#"{{"kind":"erased","schema":1,"package":"modules/acme/vpc/aws","version":"1.0.0","published_at":1,"erased_at":2,"reason":"a leaked key","archives":["{}"],"contents":[]}}"#,
        archive(digit)
    );
    fact(super::RELEASE.to_owned(), &document)
}

/// What a registry holds when the command looks at it.
#[derive(Clone, Copy, Default)]
struct Held<'a> {
    facts: &'a [Value],
    documented: &'a [Value],
    /// The archives that are stored, by their digits.
    stored: &'a [&'a str],
}

/// A registry with these documents and archives.
fn held<'a>(facts: &'a [Value], stored: &'a [&'a str]) -> Held<'a> {
    Held {
        facts,
        stored,
        ..Held::default()
    }
}

impl Held<'_> {
    /// Sets the responses for one look.
    fn answers(&self, registry: &Registry) {
        let documented = json!({ "documented": self.documented });
        answers(registry, "/admin/v1/documentation", &documented);
        for prefix in [
            "releases",
            "garbage",
            "oci/links",
            "oci/manifests",
            "oci/tags",
        ] {
            let is_below = |it: &&Value| it["key"].as_str().unwrap().starts_with(prefix);
            let found = Vec::from_iter(self.facts.iter().filter(is_below).cloned());
            answers_list(registry, &prefix.replace('/', "%2F"), &found);
        }
        let stored = |digit: &&str| json!({ "key": archive(digit), "size": 7, "stored_at": 1 });
        let stored: Vec<Value> = self.stored.iter().map(stored).collect();
        answers_archives(registry, &json!(stored));
    }
}

/// Returns the number of requests for erasures.
fn requests(registry: &Registry) -> usize {
    let requests = registry.requests().into_iter();
    let requests = requests.filter(|it| it.starts_with("POST /admin/v1/erasures"));
    requests.count()
}

/// Starts a registry that holds this, and accepts erasures.
fn holding(held: Held<'_>) -> Registry {
    let registry = Registry::start();
    held.answers(&registry);
    for _ in 0..3 {
        let answer = json!({ "erased": [], "uploads_end": 4500 });
        registry.answer("POST", "/admin/v1/erasures", &answer);
    }
    registry
}

/// Runs an erasure in a registry that holds this. Returns its end, and the number of requests for erasures.
#[track_caller]
fn erase(held: Held<'_>, arguments: &[&str]) -> (Ended, usize) {
    let registry = holding(held);
    let line = [&["admin", "erase", "--reason", "a leaked key"], arguments].concat();
    let ended = run(&registry, &line);
    (ended, requests(&registry))
}

/// Returns the report of an erasure, or of its preview.
#[track_caller]
fn report(held: Held<'_>, arguments: &[&str]) -> Value {
    erase(held, arguments).0.expect(0).json()
}

#[test]
fn an_erasure_is_only_shown_without_yes() {
    let facts = [
        release("1.0.0", "1"),
        release("1.1.0", "2"),
        link("team/app", &layer("1")),
        manifest_of("team/app", &manifest("1")),
    ];
    let stays = format!("{} stays, because team/app@sha256:", archive("1"));
    let everywhere = format!("{} would be erased in team/app", layer("1"));
    let archives = format!("{} would be erased", archive("1"));
    for (options, expected) in [
        (&[][..], [stays.as_str(), "--everywhere"]),
        (&["--everywhere"], [&everywhere, &archives]),
    ] {
        let registry = holding(held(&facts, &[]));
        let shown = run_for_people(&registry, &[&ERASE[..], options].concat()).expect(0);
        assert_has!(shown.stdout, "acme/vpc/aws@1.0.0 would be erased", "--yes");
        assert_has!(shown.stdout, expected[0], expected[1]);
        assert_lacks!(shown.stdout, "1.1.0");
        // `publish modules` packs copies, which no digest finds.
        assert_has!(shown.stderr, "packages of other modules may contain a copy");
        assert_eq!(requests(&registry), 0);
    }
}

fn docs() -> String {
    format!("archives/{}.docs", "3".repeat(64))
}

#[test]
fn an_erased_version_keeps_the_archives_and_the_documentation_of_others() {
    // Two versions have the same archive, and a third one the same documentation.
    let documented = |version: &str| json!({ "key": format!("docs/modules/acme/vpc/aws/{version}"), "archive": docs() });
    let held = Held {
        facts: &[("1.0.0", "1"), ("1.1.0", "1"), ("2.0.0", "2")].map(|(v, d)| release(v, d)),
        documented: &["1.0.0", "1.1.0", "2.0.0"].map(documented),
        ..Held::default()
    };
    let one = report(held, &[ERASED, "--yes"]);
    assert_eq!(one["erased"], json!([]));
    assert_eq!(one["kept"][archive("1")], json!(["acme/vpc/aws@1.1.0"]));
    let (ended, count) = erase(held, &[ERASED, "--yes", "--everywhere"]);
    let all = ended.expect(0).json();
    // The registry removes the documentation of versions with the erased archive.
    assert_eq!(all["erased"], json!([archive("1")]));
    let broken = json!({ archive("1"): ["acme/vpc/aws@1.1.0"] });
    assert_eq!(all["broken"], broken);
    assert_eq!(all["kept"], json!({ docs(): ["acme/vpc/aws@2.0.0"] }));
    assert_eq!(all["uploads_end"], "1970-01-01T01:15:00Z");
    assert_eq!(count, 1);
}

#[test]
fn an_interrupted_erasure_of_a_package_is_continued() {
    let facts = [tombstone("1"), release("1.1.0", "2"), mark("1", "zip")];
    let (ended, count) = erase(held(&facts, &[]), &["acme/vpc/aws", "--yes"]);
    let report = ended.expect(0).json();
    assert_eq!(report["releases"], json!([ERASED, "acme/vpc/aws@1.1.0"]));
    assert_eq!(report["erased"], json!([archive("1"), archive("2")]));
    let before = "1970-01-01T00:00:02Z";
    let already = json!({ ERASED: before, archive("1"): before });
    assert_eq!(report["already_erased"], already);
    assert_eq!(count, 2);
}

#[test]
fn a_manifest_that_another_repository_has_is_not_erased_in_part() {
    let (text, own) = (manifest("1"), manifest("2"));
    let facts = [
        link("team/app", &layer("1")),
        link("team/app", &layer("2")),
        manifest_of("team/app", &text),
        manifest_of("team/other", &text),
        manifest_of("team/app", &own),
    ];
    let held = held(&facts, &[]);
    let [shared, own] = [&text, &own].map(|text| format!("team/app@{}", digest_of(text)));
    for more in [&[][..], &["--manifest", &own]] {
        let arguments = [&["--manifest", &*shared], more].concat();
        let (ended, count) = erase(held, &[&arguments[..], &["--yes"]].concat());
        let errors = ended.fails(3, "nothing is erased");
        assert_has!(errors, "the repository team/other");
        assert_eq!(count, 0);
        let preview = report(held, &arguments);
        assert_eq!(preview["contents"], json!({}));
        assert_has!(preview["kept"].to_string(), "the repository team/other");
    }
}

#[test]
fn an_archive_is_erased_by_its_digest() {
    let digest = "1".repeat(64);
    for (digit, code, expected) in [("1", 3, 0), ("2", 0, 1)] {
        let facts = [release("1.0.0", digit)];
        let line = ["--archive", &*digest, "--yes"];
        let (ended, count) = erase(held(&facts, &["1"]), &line);
        ended.expect(code);
        assert_eq!(count, expected);
    }
}

#[test]
fn a_manifest_that_cannot_be_read_only_keeps_what_its_repository_has() {
    let damaged = json!({ "key": manifest_of("team/app", "x")["key"], "document": "{}" });
    let facts = |digit: &str| {
        let link = link("team/app", &layer(digit));
        [release("1.0.0", "1"), link, damaged.clone()]
    };
    let other = facts("2");
    let (ended, count) = erase(held(&other, &[]), &[ERASED, "--yes"]);
    assert_eq!(ended.expect(0).json()["erased"], json!([archive("1")]));
    assert_eq!(count, 1);
    let kept = report(held(&facts("1"), &[]), &[ERASED, "--yes"]);
    let users = json!(["the repository team/app"]);
    assert_eq!(kept["kept"][archive("1")], users);
    let (ended, _) = erase(held(&other, &[]), &["--blob", &layer("2"), "--yes"]);
    ended.fails(3, "oci/manifests/team/app");
}

fn tag(repository: &str, name: &str, text: &str) -> Value {
    let document = json!({ "digest": digest_of(text), "media_type": "a/b" });
    let key = format!("oci/tags/{repository}:{name}");
    fact(key, &document.to_string())
}

#[test]
fn a_manifest_is_erased_with_its_blobs_and_listed_again() {
    let text = manifest("1");
    let empty = digest_of("{}");
    let facts = [
        link("team/app", &layer("1")),
        link("team/app", &empty),
        manifest_of("team/app", &text),
        tag("team/app", "1.0.0", &text),
    ];
    let by_digest = format!("team/app@{}", digest_of(&text));
    for name in ["team/app:1.0.0", &by_digest] {
        let report = report(held(&facts, &["1"]), &["--manifest", name]);
        // The configuration is shared by all manifests.
        let contents = json!({ layer("1"): ["team/app"], digest_of(&text): ["team/app"] });
        assert_eq!(report["contents"], contents);
        // An archive that nothing refers to has the same digest.
        assert_eq!(report["erased"], json!([archive("1")]));
    }
    let registry = holding(held(&facts, &[]));
    // Another client has pushed the layer in the meantime.
    for links in [
        [link("team/other", &layer("1"))],
        [link("team/app", &empty)],
    ] {
        for (prefix, facts) in [("links", &links[..]), ("manifests", &[]), ("tags", &[])] {
            answers_list(&registry, &format!("oci%2F{prefix}"), facts);
        }
    }
    let yes = words("admin erase --reason x --manifest team/app:1.0.0 --yes");
    run(&registry, &yes).expect(0);
    assert_eq!(requests(&registry), 3);
}

#[test]
fn pushed_content_in_use_elsewhere_stays() {
    let text = manifest("1");
    let other = text.replace("a/b", "a/c");
    let facts = [
        link("team/app", &layer("1")),
        link("team/other", &layer("1")),
        manifest_of("team/app", &text),
        manifest_of("team/other", &other),
        release("1.0.0", "1"),
    ];
    // A repository that has the layer without a manifest does not use it.
    let (emptied, held) = (held(&facts[..3], &[]), held(&facts, &[]));
    let (by_digest, blob) = (format!("team/app@{}", digest_of(&text)), layer("1"));
    let of_manifest = report(held, &["--manifest", &by_digest]);
    let contents = json!({ digest_of(&text): ["team/app"] });
    assert_eq!(of_manifest["contents"], contents);
    let users = [
        ERASED.to_owned(),
        format!("team/other@{}", digest_of(&other)),
        "the repository team/other".to_owned(),
    ];
    assert_eq!(of_manifest["kept"][layer("1")], json!(users));
    assert_eq!(report(held, &["--blob", &blob])["contents"], json!({}));
    let (refused, _) = erase(held, &["--blob", &blob, "--yes"]);
    assert_has!(refused.fails(3, "--everywhere"), "team/app@");
    let all = report(held, &["--blob", &blob, "--everywhere"]);
    let homes = json!(["team/app", "team/other"]);
    assert_eq!(all["contents"][layer("1")], homes);
    assert_eq!(all["broken"][layer("1")].as_array().unwrap().len(), 3);
    let of_manifest = report(emptied, &["--manifest", &by_digest]);
    assert_eq!(of_manifest["contents"][layer("1")], homes);
    assert_eq!(of_manifest["kept"], json!({}));
}

#[test]
fn an_export_removes_documents_of_erased_content_from_an_older_copy() {
    let registry = Registry::start();
    let (_around, copy) = place();
    let text = manifest("1");
    let blob = format!("oci/blobs/sha256/{}", "1".repeat(64));
    let facts = [
        link("team/app", &layer("1")),
        manifest_of("team/app", &text),
    ];
    write_older(&registry, &copy, &facts, &blob);
    let digests = [layer("1"), digest_of(&text)];
    let of_manifest = digests[1].replace("sha256:", "garbage/") + ".blob";
    let of_layer = mark("1", "blob");
    let of_manifest = json!({ "key": of_manifest, "document": of_layer["document"] });
    let marks = [of_layer, of_manifest];
    let erased = digests.map(|digest| format!("oci/blobs/{}", digest.replace(':', "/")));
    let log = format!("POST /admin/v1/erasures erases {}", erased.join(", "));
    let left = || {
        let manifests = copy.join("facts/oci/manifests/team");
        let links = copy.join("facts/oci/links/team");
        [manifests, links].map(|place| fs::read_dir(place).unwrap().count())
    };
    let unnamed = [("POST /admin/v1/erasures", 200)];
    assert_eq!(export(&registry, &copy, &unnamed, &marks), None);
    assert_eq!((left(), copy.join(&blob).exists()), ([1, 1], true));
    fs::remove_dir_all(copy.join("facts/audit")).unwrap();
    write_older(&registry, &copy, &facts, &blob);
    assert_eq!(export(&registry, &copy, &[(&log, 200)], &marks), None);
    assert_eq!((left(), copy.join(&blob).exists()), ([0, 0], false));
}

#[test]
fn an_export_continues_while_a_release_refers_to_an_erased_archive() {
    let registry = Registry::start();
    let (_around, copy) = place();
    let log = format!("POST /admin/v1/erasures erases {}", archive("1"));
    let changes = [PUBLISH, (&*log, 200)];
    let facts = [release("1.0.0", "1"), mark("1", "zip")];
    answers_export(&registry, &changes, &facts);
    let ran = super::export(&registry, &copy, &[]).expect(0);
    assert_has!(
        ran.stderr,
        "was erased, so releases/modules/acme/vpc/aws/1.0.0, which refers to it"
    );
    // The same registry, and one that the copy was imported into, agree with it.
    let verify = ["admin", "verify", "--quick", "--copy"];
    let verify = [&verify[..], &[copy.to_str().unwrap()]].concat();
    answers_verify(&registry, &changes, &facts);
    run(&registry, &verify).expect(0);
    let imported = Registry::start();
    answers_verify(&imported, &[], &[mark("1", "zip")]);
    let warnings = run(&imported, &verify).expect(0).warnings();
    let stays_out = format!("but not in the registry, where {} was erased", archive("1"));
    assert_has!(warnings, stays_out);
    // Without the tombstone, the release is missing.
    let other = Registry::start();
    answers_verify(&other, &[], &[]);
    run(&other, &verify).fails(3, "restore it with");
}

#[test]
fn an_erasure_is_repeated_because_an_upload_may_have_stored_the_archive_again() {
    let facts = [tombstone("1"), mark("1", "zip")];
    let held = held(&facts, &["1"]);
    let preview = run_for_people(&holding(held), &ERASE).expect(0).stdout;
    assert_has!(preview, "was already erased at", "--yes");
    assert_lacks!(preview, "would be erased");
    assert_eq!(erase(held, &[ERASED, "--yes"]).1, 1);
}

#[test]
fn nothing_is_erased_that_is_unknown_or_not_understood() {
    let newer = json!({ "key": "releases/modules/acme/vpc/aws/2.0.0", "document": "{}" });
    let absent = layer("1");
    for (releases, arguments, message) in [
        (&[release("1.1.0", "2")][..], &[ERASED][..], ERASED),
        (&[release("1.0.0", "1"), newer], &[ERASED, "--yes"], "2.0.0"),
        (&[], &["--blob", &absent], "there is no blob sha256:"),
    ] {
        let (ended, count) = erase(held(releases, &[]), arguments);
        ended.fails(3, message);
        assert_eq!(count, 0);
    }
    let long = format!("admin erase {ERASED} --reason {}", "x".repeat(391));
    for line in [
        "admin erase --reason leak",
        &format!("admin erase {ERASED}"),
        &long,
        &format!("admin erase {ERASED} --archive 1 --reason leak"),
        "admin erase --reason leak --manifest modules/acme/vpc/aws:1.0.0",
    ] {
        run(&Registry::start(), &words(line)).expect(2);
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
    let ran = super::export(registry, copy, &[]);
    match ran.code {
        0 => None,
        _ => Some(ran.errors()),
    }
}

#[test]
fn an_export_removes_from_an_older_copy_only_what_the_audit_log_says_was_erased() {
    let registry = Registry::start();
    let (_around, copy) = place();
    let older = [release("1.0.0", "1"), documentation("1")];
    let release_path = copy.join(path_of_fact(super::RELEASE));
    write_older(&registry, &copy, &older, &archive("1"));
    let log = |erased: &str| format!("POST /admin/v1/erasures{erased}");
    let (unrecorded, failed) = (log(""), log(&format!(" erases {ERASED}, {}", archive("1"))));
    let facts = [tombstone("1"), mark("1", "zip")];
    for entry in [(unrecorded.as_str(), 200), (failed.as_str(), 409)] {
        let refused = export(&registry, &copy, &[entry], &facts);
        let refused = refused.expect("an erasure that is not recorded is a loss");
        assert_has!(refused, "no entry of the audit log");
        assert!(copy.join(archive("1")).is_file());
    }
    let refused = export(&registry, &copy, &[(&failed, 200)], &[]).unwrap();
    assert_has!(refused, "was removed");
    assert_has!(fs::read_to_string(&release_path).unwrap(), "module");
    assert_eq!(export(&registry, &copy, &[(&failed, 200)], &facts), None);
    assert_has!(fs::read_to_string(&release_path).unwrap(), "a leaked key");
    assert!(!copy.join(archive("1")).exists());
    let path = |fact: &Value| copy.join(path_of_fact(fact["key"].as_str().unwrap()));
    assert!(!path(&older[1]).exists());
    assert!(path(&facts[1]).is_file());
    // From now on the tombstones must stay.
    let refused = export(&registry, &copy, &[(&failed, 200)], &facts[..1]).unwrap();
    assert_has!(refused, "garbage/");
}

/// Writes a complete copy of the registry with these documents and an archive.
fn write_older(registry: &Registry, copy: &Path, facts: &[Value], archive: &str) {
    let text = |fact: &'_ Value, name: &str| fact[name].as_str().unwrap().to_owned();
    let texts = facts
        .iter()
        .map(|it| (text(it, "key"), text(it, "document")));
    let texts: Vec<(String, String)> = texts.collect();
    let facts: Vec<(&str, &str)> = texts.iter().map(|(key, it)| (&**key, &**it)).collect();
    write_copy(copy, registry.url(), &facts, &[archive.to_owned()]);
}

#[test]
fn an_erased_archive_fails_verification_if_it_exists_and_is_reported_if_it_is_used() {
    let registry = Registry::start();
    let verify = ["admin", "verify", "--quick"];
    answers_verify(&registry, &[], &[tombstone("1"), mark("1", "zip")]);
    run(&registry, &verify).expect(0);
    answers_verify(&registry, &[], &[release("1.1.0", "1"), mark("1", "zip")]);
    let warnings = run(&registry, &verify).expect(0).warnings();
    assert_has!(
        warnings,
        "was erased, so releases/modules/acme/vpc/aws/1.1.0"
    );
    registry.forget_faults();
    answers_archives(&registry, &json!([]));
    super::answers_log(&registry, &[]);
    super::answers_facts(&registry, &[], &[tombstone("1"), mark("1", "zip")]);
    let stored = json!([{ "key": archive("1"), "size": 7, "stored_at": 1 }]);
    answers_archives(&registry, &stored);
    run(&registry, &verify).fails(3, "is stored again");
}

#[test]
fn a_garbage_collection_removes_an_erased_archive_that_is_stored_again() {
    // A release that refers to it does not keep it.
    let facts = [release("1.0.0", "1"), mark("1", "zip"), mark("2", "zip")];
    let registry = holding(held(&facts, &["1"]));
    super::answers_log(&registry, &[]);
    let report = run(&registry, &["admin", "gc"]).expect(0).json();
    assert_eq!(report["remove"], json!([archive("1")]));
    assert_eq!(report["mark"], json!([]));
}
