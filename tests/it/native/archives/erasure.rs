//! Erasure of versions and archives: what stays, what never returns, and requests that come in between.

use serde_json::{Value, json};
use terrace_core::limits::DOCUMENTATION_ABANDONED_SECONDS;
use terrace_core::maintenance::garbage::GARBAGE_SECONDS;
use terrace_core::maintenance::garbage::MARK_REMOVAL_SECONDS;

use super::{REASON, alone, erase, key_of, whole};
use crate::support::chain;
use crate::support::documentation::Documentation;
use crate::support::faults::{Failure, Operations, When, is_write};
use crate::support::fixtures::{send_upload, sha256};
use crate::support::memory::Memory;
use crate::support::registry::{Registry, Sent, TOKEN};
use crate::support::reindexed::reindex;
use crate::support::released::Released;
use crate::support::statuses::{set_status, status_of};
use crate::support::tokens::{create, post};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture};

const RELEASE: &str = "releases/modules/acme/vpc/aws/1.0.0";
const DOCUMENTATION: &str = "/admin/v1/modules/acme/vpc/aws/1.0.0/documentation";

/// Returns a registry with two versions of a module; the tests erase the first.
fn published() -> (Memory, Registry, ModuleFixture) {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.publish(&registry);
    ModuleFixture::of("acme", "1.1.0").publish(&registry);
    (memory, registry, fixture)
}

fn body(address: &str, archives: &[&str]) -> Value {
    let mut body = whole(archives);
    body["package"] = address.into();
    body
}

/// Returns the body of the request that erases the first version with its archive.
fn with_archive(fixture: &ModuleFixture) -> Value {
    whole(&[&key_of(fixture)])
}

fn sent(method: &str, path: &str, body: &Value) -> Sent {
    Sent::new(method, path)
        .bearing(TOKEN)
        .body(body.to_string())
}

fn erasure(body: &Value) -> Sent {
    sent("POST", "/admin/v1/erasures", body)
}

fn publish_of(fixture: &ModuleFixture) -> Sent {
    sent("PUT", &fixture.admin_path(), &fixture.description())
}

fn tombstone_of(memory: &Memory, key: &str) -> Value {
    serde_json::from_slice(&memory.object_bytes(key)).unwrap()
}

/// Returns what clients see of the first version: the status of its download, of its tag and of its blob, and whether it is
/// listed.
fn seen(registry: &Registry, fixture: &ModuleFixture) -> (u16, u16, u16, bool) {
    let repository = "/v2/modules/acme/vpc/aws";
    let download = registry.get(&fixture.download());
    let tag = registry.get(&format!("{repository}/manifests/1.0.0"));
    let digest = sha256(&fixture.archive);
    let blob = registry.get(&format!("{repository}/blobs/sha256:{digest}"));
    let list = registry.get(&fixture.versions());
    let is_listed = list.expect(200).text().contains("1.0.0");
    (download.status, tag.status, blob.status, is_listed)
}

#[test]
fn an_erased_version_leaves_only_its_tombstones() {
    let (memory, registry, fixture) = published();
    let documentation = Documentation::of_module("a leaked key");
    documentation.add(&registry, DOCUMENTATION).expect(201);
    let keys = [key_of(&fixture), documentation.key()];
    let keys = keys.each_ref().map(String::as_str);
    assert_eq!(seen(&registry, &fixture), (200, 200, 307, true));
    let answer = erase(&registry, &whole(&keys)).found();
    assert_eq!(answer["release"], "acme/vpc/aws@1.0.0");
    assert_eq!(answer["erased"], json!(keys));
    assert_eq!(answer["kept"], json!([]));
    assert_eq!(answer["uploads_end"], 1_800_000_000 + 3_600 + 900);
    assert_eq!(seen(&registry, &fixture), (410, 410, 410, false));
    let download = registry.get(&fixture.download()).text();
    assert!(download.contains("erased: a leaked key"), "{download}");
    let page = registry.get("/modules/acme/vpc/aws/1.0.0").expect(200);
    let page = page.text();
    assert!(page.contains("erased: a leaked key"), "{page}");
    assert!(!page.contains("terrace docs add"), "{page}");
    assert_eq!(memory.keys_with("docs/"), [""; 0]);
    let tombstone = tombstone_of(&memory, RELEASE);
    assert_eq!(tombstone["kind"], "erased");
    assert_eq!(tombstone["archives"], json!(keys));
    let mark = json!({ "state": "erased", "since": 1_800_000_000, "reason": REASON });
    for key in keys {
        assert!(!memory.keys().contains(&key.to_owned()), "{key}");
        let stored = tombstone_of(&memory, &key.replace("archives/", "garbage/"));
        assert_eq!(stored, mark);
    }
}

#[test]
fn an_erased_version_of_each_kind_answers_410_and_never_returns() {
    for released in [
        Released::provider("1.0.0"),
        Released::mirrored("1.0.0"),
        Released::module("1.0.0"),
        Released::mirrored_module("1.0.0"),
    ] {
        let (memory, registry) = Registry::with_memory(&[]);
        released.prepare(&registry);
        let publish = released.request(&registry);
        futures_util::FutureExt::now_or_never(released.publish(&registry));
        let paths = released.everything(&registry);
        let address = released.status_path(None).replace("/status", "");
        let address = address.splitn(5, '/').last().unwrap();
        let mut body = body(address, &[]);
        body["archives"] = json!(memory.keys_with("archives/"));
        let answer = erase(&registry, &body).found();
        assert_eq!(answer["kept"], json!([]), "{address}");
        for path in &paths {
            assert_eq!(registry.get(path).status, 410, "{path}");
        }
        assert_eq!(memory.keys_with("archives/"), [""; 0]);
        let refused = registry.send(&publish).refuses(410, "was erased");
        assert!(refused.contains(REASON), "{refused}");
        set_status(&registry, &released.status_path(Some("1.0.0")), "active").expect(410);
        // Lost indices follow from the tombstones.
        let before = memory.copy();
        memory.lose_indices();
        for path in &paths {
            assert_eq!(registry.get(path).status, 410, "{path}");
        }
        assert_eq!(reindex(&registry).failed, [""; 0]);
        registry.merge_catalog();
        Registry::in_memory(&before, &[]).merge_catalog();
        assert_eq!(memory.indices(), before.indices(), "{address}");
    }
}

#[test]
fn a_repeated_erasure_gets_the_same_response_and_keeps_the_first_reason() {
    let (memory, registry, fixture) = published();
    let first = erase(&registry, &with_archive(&fixture)).found();
    let objects = memory.objects_but_for_markers();
    memory.advance(10_000);
    let mut again = with_archive(&fixture);
    assert_eq!(erase(&registry, &again).found(), first);
    again["reason"] = json!("another reason");
    assert_eq!(erase(&registry, &again).found(), first);
    let without_log = |mut objects: std::collections::BTreeMap<String, Vec<u8>>| {
        let is_aside = |key: &str| key.starts_with("leases/") || key.starts_with("written/");
        objects.retain(|key, _| !chain::is_log(key) && !is_aside(key));
        objects
    };
    assert_eq!(
        without_log(memory.objects_but_for_markers()),
        without_log(objects)
    );
}

#[test]
fn an_erasure_that_fails_names_its_part_in_the_audit_log_and_all_of_it_in_the_log() {
    for (status, is_archive_buried) in [(503, true), (500, false)] {
        let (memory, registry, fixture) = published();
        let fault = memory.fail("R2 delete archives/", 0, When::Before, Failure::Error);
        if !is_archive_buried {
            let mark = key_of(&fixture).replace("archives/", "garbage/");
            memory.put_object(&mark, b"{");
        }
        erase(&registry, &with_archive(&fixture)).expect(status);
        fault.lift();
        let entries = chain::entries(&memory);
        let entry = entries.last().unwrap();
        let mut expected = vec![RELEASE.to_owned()];
        expected.extend(is_archive_buried.then(|| key_of(&fixture)));
        assert_eq!((entry.status, entry.erased()), (status, expected));
        let line = format!("erasure: acme/vpc/aws@1.0.0, {} failed:", key_of(&fixture));
        memory.assert_logged(&line);
    }
}

#[test]
fn an_archive_that_the_request_does_not_name_stays() {
    let (_, registry, fixture) = published();
    let mut twin = ModuleFixture::of("acme", "2.0.0");
    twin.archive.clone_from(&fixture.archive);
    twin.publish(&registry);
    let answer = erase(&registry, &whole(&[])).found();
    assert_eq!(answer["kept"], json!([key_of(&fixture)]));
    assert_eq!(answer["erased"], json!([]));
    assert!(answer.get("uploads_end").is_none());
    // The other version has the same blob.
    assert_eq!(seen(&registry, &fixture), (410, 410, 307, false));
    registry.get(&twin.download()).expect(200);
}

#[test]
fn an_erased_archive_is_refused_without_an_upload_url() {
    let (memory, registry, fixture) = published();
    let key = key_of(&fixture);
    let other = ModuleFixture::of("beta", "1.0.0").with_zip(fixture.archive.clone());
    let answer = erase(&registry, &alone(&[&key])).found();
    assert!(answer.get("release").is_none());
    assert!(other.put(&registry).refuses(410, &key).contains(REASON));
    // The version that has the archive is broken, and can be erased.
    erase(&registry, &with_archive(&fixture)).expect(200);
    let private = Registry::in_memory(&memory, &[("TERRACE_ACCESS", "private")]);
    let (_, token) = create(&private, &["publish:beta"], None);
    let staged = Sent::new("PUT", &other.admin_path()).bearing(&token);
    let staged = staged.body(other.description().to_string());
    private.send(&staged).expect(410);
    // An import is not asked for the archive.
    let asked = json!({ "archives": [{ "key": key, "size": fixture.archive.len() }] });
    let asked = post(&registry, "/admin/v1/archives", &asked).found();
    assert_eq!(asked["missing"], json!([]));
}

#[test]
fn a_staged_upload_of_an_erased_archive_is_removed() {
    let memory = Memory::new();
    let private = Registry::in_memory(&memory, &[("TERRACE_ACCESS", "private")]);
    let (_, token) = create(&private, &["publish:acme"], None);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    let publish = Sent::new("PUT", &fixture.admin_path()).bearing(&token);
    let publish = publish.body(fixture.description().to_string());
    let missing = private.send(&publish).expect(202).json();
    let missing = missing["missing"][0].clone();
    send_upload(&private, &missing, &fixture.archive).expect(201);
    let is_staged = || !memory.keys_with("incoming/").is_empty();
    let staged = memory.keys_with("incoming/").remove(0);
    erase(&private, &alone(&[&key_of(&fixture)])).expect(200);
    assert!(!is_staged());
    // The URL is valid for an hour. A presigned one does not lead through the Worker.
    send_upload(&private, &missing, &fixture.archive).expect(410);
    assert!(!is_staged());
    memory.put_object(&staged, &fixture.archive);
    reindex(&private);
    assert!(!is_staged());
    private.send(&publish).expect(410);
    assert!(!memory.keys().contains(&key_of(&fixture)));
}

#[test]
fn the_repair_removes_an_erased_archive_that_is_uploaded_again() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    let key = key_of(&fixture);
    erase(&registry, &alone(&[&key])).expect(200);
    // A presigned URL does not lead through the Worker.
    memory.put_object(&key, &fixture.archive);
    fixture.put(&registry).expect(410);
    assert!(memory.keys().contains(&key));
    assert!(reindex(&registry).removed.contains(&key));
    assert!(!memory.keys().contains(&key));
    assert!(!reindex(&registry).removed.contains(&key));
}

#[test]
fn a_garbage_collection_removes_an_erased_archive_and_never_its_tombstone() {
    let (memory, registry, fixture) = published();
    let key = key_of(&fixture);
    erase(&registry, &with_archive(&fixture)).expect(200);
    let garbage = |body: &Value| post(&registry, "/admin/v1/garbage", body).found();
    memory.put_object(&key, &fixture.archive);
    let tombstone = memory.object_bytes(&key.replace("archives/", "garbage/"));
    memory.advance(GARBAGE_SECONDS);
    for name in ["mark", "keep"] {
        assert_eq!(
            garbage(&json!({ name: [key] }))["spared"],
            json!([key]),
            "{name}"
        );
    }
    let removed = garbage(&json!({ "remove": [{ "key": key, "marked_at": 1_800_000_000 }] }));
    assert_eq!(removed["removed"], json!([key]));
    assert!(!memory.keys().contains(&key));
    assert_eq!(
        memory.object_bytes(&key.replace("archives/", "garbage/")),
        tombstone
    );
}

#[test]
fn an_erased_version_stays_revoked_without_the_document_about_statuses() {
    let (memory, registry, fixture) = published();
    erase(&registry, &with_archive(&fixture)).expect(200);
    memory.remove_object("statuses/modules/acme/vpc/aws");
    memory.lose_indices();
    assert_eq!(seen(&registry, &fixture), (410, 410, 410, false));
    let page = registry.get("/api/v1/modules/acme/vpc/aws").expect(200);
    let page = page.text();
    assert!(page.contains("erased: a leaked key"), "{page}");
    // The same request writes the document again.
    erase(&registry, &with_archive(&fixture)).expect(200);
    assert_eq!(memory.keys_with("statuses/modules/acme/vpc/aws").len(), 1);
}

#[test]
fn an_object_that_has_lost_its_metadata_stays_erased() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    fixture.publish(&registry);
    erase(&registry, &body("acme/widget", &[])).expect(200);
    memory.lose_metadata();
    memory.lose_indices();
    let versions = registry.get(&format!("{}/versions", fixture.path()));
    let versions = versions.expect(200).text();
    assert!(!versions.contains("1.0.0\",\"protocols"), "{versions}");
}

#[test]
fn documentation_of_an_erased_version_is_refused_and_removed() {
    let (memory, registry, fixture) = published();
    let documentation = Documentation::of_module("# VPC");
    documentation.upload(&registry, DOCUMENTATION);
    let left = Documentation::of_module("# Left");
    left.upload(&registry, DOCUMENTATION);
    erase(&registry, &with_archive(&fixture)).expect(200);
    let is_stored = || !memory.keys_with("docs/").is_empty();
    let refused = documentation.put(&registry, DOCUMENTATION);
    refused.refuses(410, REASON);
    assert!(!is_stored());
    assert!(!memory.keys().contains(&documentation.key()));
    // No URL is signed.
    let other = Documentation::of_module("# Other");
    other.put(&registry, DOCUMENTATION).expect(410);
    // A publisher whose request ended in between leaves a document, which the repair removes.
    let fault = memory.fail("R2 get releases/", 0, When::Before, Failure::Error);
    left.put(&registry, DOCUMENTATION).expect(503);
    fault.lift();
    assert!(is_stored());
    let about = registry.get("/api/v1/modules/acme/vpc/aws").expect(200);
    let about = about.text();
    assert!(!about.contains("\"is_documented\":true"), "{about}");
    memory.advance(DOCUMENTATION_ABANDONED_SECONDS + 1);
    reindex(&registry);
    assert!(!is_stored());
}

#[test]
fn a_broken_erasure_is_completed_by_a_retry_and_nothing_is_installable_after_the_revocation() {
    let (memory, _, fixture) = published();
    let run = |memory: &Memory| {
        let registry = Registry::in_memory(&memory.elsewhere(), &[]);
        erase(&registry, &with_archive(&fixture))
    };
    let unbroken = memory.copy();
    run(&unbroken).expect(200);
    let mut writes = unbroken.operations();
    writes.retain(|it| is_write(it));
    let places = [
        "KV put modules/acme/vpc/aws/version/",
        "R2 put releases/",
        "R2 put garbage/",
        "R2 delete archives/",
    ]
    .map(|start| writes.iter().position(|it| it.starts_with(start)));
    assert!(places.is_sorted() && places[0].is_some(), "{writes:#?}");
    let [revoked, .., bytes] = places.map(Option::unwrap);
    for (at, write) in writes.iter().enumerate() {
        for when in [When::Before, When::After] {
            let memory = memory.copy();
            let fault = memory.fail(Operations::Writes, at, when, Failure::Error);
            let status = run(&memory).status;
            fault.lift();
            let what = format!("{write} {when:?}");
            let registry = Registry::in_memory(&memory, &[]);
            if at > revoked {
                let download = registry.get(&fixture.download());
                assert_eq!(download.status, 410, "{what}");
            }
            // Without indices, the facts decide.
            let facts = memory.copy();
            facts.lose_indices();
            let facts = Registry::in_memory(&facts, &[]);
            let is_installable = facts.get(&fixture.download()).status == 200;
            assert_eq!(is_installable, at == 0 && when == When::Before, "{what}");
            let is_gone = !memory.keys().contains(&key_of(&fixture));
            assert!(!is_gone || at >= bytes, "{what}");
            assert!(status == 503 || status == 200, "{what}: {status}");
            run(&memory).expect(200);
            assert_eq!(seen(&registry, &fixture), (410, 410, 410, false), "{what}");
        }
    }
}

/// Sends two requests in many interleavings, and returns their statuses.
fn race(
    prepare: impl Fn() -> (Memory, Registry, [Sent; 2]),
    check: impl Fn(&Memory, &Registry, &[u16], usize),
) {
    for delay in 0..120 {
        let (memory, registry, requests) = prepare();
        memory.interleave();
        let statuses = registry.send_both(requests, delay).map(|it| it.status);
        // The copy runs one request after the other.
        let memory = memory.copy();
        let registry = Registry::in_memory(&memory, &[]);
        check(&memory, &registry, &statuses, delay);
    }
}

#[test]
fn a_publish_during_the_erasure_of_the_same_version_does_not_bring_it_back() {
    let fixture = ModuleFixture::of("acme", "1.0.0");
    race(
        || {
            let (memory, registry, _) = published();
            let requests = [erasure(&with_archive(&fixture)), publish_of(&fixture)];
            (memory, registry, requests)
        },
        |memory, registry, statuses, delay| {
            assert_eq!(statuses[0], 200, "{delay}");
            assert!(matches!(statuses[1], 200 | 410), "{delay}: {statuses:?}");
            assert_eq!(seen(registry, &fixture), (410, 410, 410, false), "{delay}");
            assert!(!memory.keys().contains(&key_of(&fixture)));
            let before = memory.documents();
            memory.lose_indices();
            reindex(registry);
            let about = "modules/acme/vpc/aws/about/1.0.0";
            assert_eq!(memory.documents().get(about), before.get(about), "{delay}");
        },
    );
}

/// A publish that has read the marks before the erasure may commit; nobody can install its version.
#[test]
fn a_publish_during_the_erasure_of_its_archive_installs_nothing() {
    let mut fixture = ModuleFixture::of("acme", "3.0.0");
    fixture.archive = ModuleFixture::of("acme", "1.0.0").archive;
    let key = key_of(&fixture);
    let outcomes = std::cell::RefCell::new(std::collections::BTreeSet::new());
    race(
        || {
            let (memory, registry, _) = published();
            let requests = [erasure(&alone(&[&key])), publish_of(&fixture)];
            (memory, registry, requests)
        },
        |memory, registry, statuses, delay| {
            assert_eq!(statuses[0], 200, "{delay}");
            outcomes.borrow_mut().insert(statuses[1]);
            assert!(!memory.keys().contains(&key), "{delay}");
            fixture.put(registry);
            assert!(!memory.keys().contains(&key), "{delay}");
        },
    );
    let outcomes = outcomes.into_inner();
    assert!(
        outcomes.contains(&201) && outcomes.contains(&410),
        "{outcomes:?}"
    );
}

#[test]
fn a_garbage_collection_during_an_erasure_keeps_the_tombstone() {
    let fixture = ModuleFixture::of("acme", "1.0.0");
    let key = key_of(&fixture);
    for removes in [true, false] {
        race(
            || {
                let (memory, registry) = Registry::with_memory(&[]);
                fixture.upload(&registry);
                post(&registry, "/admin/v1/garbage", &json!({ "mark": [key] })).expect(200);
                let mark = tombstone_of(&memory, &key.replace("archives/", "garbage/"));
                memory.advance(GARBAGE_SECONDS);
                let collection = match removes {
                    true => json!({ "remove": [{ "key": key, "marked_at": mark["since"] }] }),
                    false => json!({ "keep": [key] }),
                };
                let collection = sent("POST", "/admin/v1/garbage", &collection);
                (memory, registry, [erasure(&alone(&[&key])), collection])
            },
            |memory, registry, statuses, delay| {
                if statuses[0] == 503 {
                    memory.advance(MARK_REMOVAL_SECONDS + 1);
                    erase(registry, &alone(&[&key])).expect(200);
                } else {
                    assert_eq!(statuses[0], 200, "{delay}");
                }
                assert!(!memory.keys().contains(&key), "{delay}");
                fixture.put(registry).expect(410);
            },
        );
    }
}

#[test]
fn documentation_added_during_an_erasure_does_not_stay() {
    let fixture = ModuleFixture::of("acme", "1.0.0");
    let documentation = Documentation::of_module("# VPC");
    race(
        || {
            let (memory, registry, _) = published();
            documentation.upload(&registry, DOCUMENTATION);
            let added = sent("PUT", DOCUMENTATION, &documentation.description());
            (memory, registry, [erasure(&with_archive(&fixture)), added])
        },
        |memory, _, statuses, delay| {
            assert_eq!(statuses[0], 200, "{delay}");
            let is_expected = matches!(statuses[1], 200 | 201 | 410);
            assert!(is_expected, "{delay}: {statuses:?}");
            let left = memory.keys_with("docs/");
            assert_eq!(left, [""; 0], "{delay}: {statuses:?}");
            let about = memory.index("modules/acme/vpc/aws/about/1.0.0").text;
            assert!(!about.contains("documentation"), "{delay}: {about}");
        },
    );
}

#[test]
fn a_mirrored_platform_added_during_an_erasure_does_not_stay() {
    let mirrored = MirrorFixture::of(ProviderFixture::of("acme", "widget", "1.0.0")).unsigned();
    let address = mirrored.address();
    race(
        || {
            let (memory, registry) = Registry::with_memory(&[]);
            mirrored.clone().only("amd64").publish(&registry);
            Released::Mirrored(mirrored.clone()).store_archives(&memory);
            let grown = sent("PUT", &mirrored.admin_path(), &mirrored.description());
            (memory, registry, [erasure(&body(&address, &[])), grown])
        },
        |memory, registry, statuses, delay| {
            assert_eq!(statuses[0], 200, "{delay}");
            assert!(matches!(statuses[1], 201 | 410), "{delay}: {statuses:?}");
            let key = format!("releases/providers/{address}/1.0.0");
            let tombstone = tombstone_of(memory, &key);
            assert_eq!(tombstone["kind"], "erased", "{delay}");
            assert_eq!(registry.get(&mirrored.packages()).status, 410, "{delay}");
        },
    );
}

#[test]
fn a_document_of_an_erased_version_is_kept_out_of_an_import() {
    let (_, registry, fixture) = published();
    let documentation = Documentation::of_module("# VPC");
    documentation.add(&registry, DOCUMENTATION).expect(201);
    let facts = |prefix: &str| {
        let path = format!("/admin/v1/facts?prefix={prefix}");
        let page = registry.read_as_admin(&path);
        page["facts"].as_array().unwrap().clone()
    };
    let copied = [facts("releases/"), facts("docs/"), facts("statuses/")].concat();
    erase(&registry, &with_archive(&fixture)).expect(200);
    let restore = |facts: &[Value]| {
        let body = json!({ "facts": facts });
        registry.put("/admin/v1/facts", &body).found()
    };
    let restored = restore(&copied);
    let unchanged = ["releases/modules/acme/vpc/aws/1.1.0"];
    assert_eq!(restored["unchanged"], json!(unchanged));
    let erased = restored["erased"].as_array().unwrap();
    assert_eq!(erased.len(), 2, "{restored}");
    for it in erased {
        assert!(it["reason"].as_str().unwrap().contains(REASON), "{it}");
    }
    // Another version with the erased archive stays out as well.
    let mut other = copied[0].clone();
    for name in ["key", "document"] {
        let text = other[name].as_str().unwrap();
        other[name] = text.replace("1.0.0", "9.0.0").into();
    }
    assert_eq!(restore(&[other])["erased"].as_array().unwrap().len(), 1);
    assert_eq!(seen(&registry, &fixture), (410, 410, 410, false));
    // The tombstones themselves are the same.
    let tombstones = [facts("releases/"), facts("garbage/")].concat();
    let unchanged = restore(&tombstones)["unchanged"].as_array().unwrap().len();
    // The archive has two: its own, and that of its digest.
    assert_eq!(unchanged, 4);
    let other = status_of("modules/acme/vpc/aws/1.1.0");
    set_status(&registry, &other, "deprecated").expect(200);
}

#[test]
fn the_tombstone_of_an_archive_that_is_stored_here_is_not_imported() {
    let (memory, registry, fixture) = published();
    let key = key_of(&fixture).replace("archives/", "garbage/");
    let document = format!(r#"{{"state":"erased","since":1,"reason":"{REASON}"}}"#);
    let body = json!({ "facts": [{ "key": key, "document": document }] });
    let restore = || registry.put("/admin/v1/facts", &body).found();
    let refused = restore();
    let reason = refused["refused"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("terrace admin erase"), "{reason}");
    memory.remove_object(&key_of(&fixture));
    assert_eq!(restore()["created"], json!([key]));
    assert_eq!(memory.object_bytes(&key), document.as_bytes());
}
