//! Erasure of pushed content: blobs and manifests, in all repositories that have them.

use serde_json::{Value, json};
use terrace_core::maintenance::garbage::GARBAGE_SECONDS;

use super::{NAME, paths};
use crate::support::chain;
use crate::support::faults::{Failure, Fault, Operations, When, is_write};
use crate::support::fixtures::{send_upload, sha256};
use crate::support::memory::Memory;
use crate::support::pushed::{MANIFEST, Pushed, blob_at, code, digest, manifest_at, referrer_of};
use crate::support::registry::{Registry, Response, Sent};
use crate::support::reindexed::reindex;
use crate::support::tokens::post;
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture};

const REASON: &str = "a leaked key";
const SECRET: &[u8] = b"a secret";

fn erasure(digests: &[&str], repositories: &[&str]) -> Value {
    let contents = digests
        .iter()
        .map(|digest| json!({ "digest": digest, "repositories": repositories }));
    json!({ "reason": REASON, "contents": contents.collect::<Vec<_>>() })
}

fn erase(registry: &Registry, body: &Value) -> Response {
    post(registry, "/admin/v1/erasures", body)
}

fn import(registry: &Registry, facts: &[Value]) -> Value {
    let body = json!({ "facts": facts }).to_string();
    let sent = registry.admin("PUT", "/admin/v1/facts", Some(body.as_bytes()));
    sent.found()
}

fn blob_key() -> String {
    format!("oci/blobs/sha256/{}", sha256(SECRET))
}

/// Returns a registry with an artifact whose layer is the secret, and the text of its manifest.
fn pushed() -> (Memory, Registry, String) {
    let (memory, registry) = Registry::with_memory(&[]);
    let text = Pushed::of(&registry, NAME).artifact("1.0.0", SECRET, json!({}));
    (memory, registry, text)
}

/// Returns the request that erases the artifact with its layer.
fn whole(text: &str) -> Value {
    erasure_of(text, &[NAME])
}

fn erasure_of(text: &str, repositories: &[&str]) -> Value {
    erasure(&[&digest(text.as_bytes()), &digest(SECRET)], repositories)
}

fn message(response: &Response) -> String {
    let json = response.json();
    json["errors"][0]["message"].as_str().unwrap().to_owned()
}

/// Returns everything stored but for the log and for documents that hold nothing.
fn left(memory: &Memory) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut objects = memory.objects_but_for_markers();
    let is_aside = |key: &str| {
        ["written/", "leases/", "oci/uploads/"]
            .iter()
            .any(|prefix| key.starts_with(prefix))
    };
    objects.retain(|key, _| !chain::is_log(key) && !is_aside(key));
    objects
}

#[test]
fn an_erased_artifact_leaves_only_its_tombstones() {
    let (memory, registry, text) = pushed();
    let repository = Pushed::of(&registry, NAME);
    let signature = repository.artifact("signature", b"signed", referrer_of(&text));
    let signature = digest(signature.as_bytes());
    let answer = erase(&registry, &whole(&text)).found();
    assert_eq!(answer["uploads_end"], 1_800_000_000 + 3_600 + 900);
    for path in paths(&text, "1.0.0").iter().skip(1) {
        repository.get(path).expect(404);
    }
    assert_eq!(repository.tags(), ["signature"]);
    for (path, unknown) in [
        (manifest_at(&text), "MANIFEST_UNKNOWN"),
        ("manifests/1.0.0".to_owned(), "MANIFEST_UNKNOWN"),
        (blob_at(SECRET), "BLOB_UNKNOWN"),
    ] {
        let gone = repository.get(&path).expect(404);
        assert_eq!(code(&gone), unknown);
        let message = message(&gone);
        assert!(message.contains("was erased: a leaked key"), "{message}");
        repository.head(&path).expect(404);
    }
    let secret = sha256(SECRET);
    let tombstone = format!("garbage/{secret}.blob");
    assert_eq!(memory.keys_with(&secret), [tombstone.as_str()]);
    let is_erased = |bytes: &Vec<u8>| bytes == text.as_bytes() || bytes == SECRET;
    assert!(!left(&memory).values().any(is_erased));
    let mark: Value = serde_json::from_slice(&memory.object_bytes(&tombstone)).unwrap();
    assert_eq!(
        mark,
        json!({ "state": "erased", "since": 1_800_000_000, "reason": REASON })
    );
    let entries = chain::entries(&memory);
    let erased = entries.last().unwrap().erased();
    for what in [blob_key(), format!("{NAME}@{}", digest(SECRET))] {
        assert!(erased.contains(&what), "{erased:?}");
    }
    // The referrer loses its own entry only if it is erased itself.
    erase(&registry, &erasure(&[&signature], &[NAME])).expect(200);
    assert_eq!(memory.keys_with("oci/referrers/"), [""; 0]);
    // Lost indices follow from the facts.
    memory.lose_indices();
    reindex(&registry);
    repository.get("manifests/1.0.0").expect(404);
}

#[test]
fn an_erased_digest_is_refused_by_every_push() {
    let (memory, registry, text) = pushed();
    erase(&registry, &whole(&text)).expect(200);
    let other = Pushed::of(&registry, "team/other");
    let secret = digest(SECRET);
    let refused = |response: Response| {
        let response = response.expect(410);
        assert_eq!(code(&response), "DENIED");
        let message = message(&response);
        assert!(
            message.contains("was erased") && message.contains(REASON),
            "{message}"
        );
    };
    refused(other.complete(&other.begin(), &secret, SECRET));
    assert_eq!(memory.keys_with("oci/uploads/"), [""; 0]);
    refused(registry.send(&other.pushing(SECRET)));
    refused(other.put_manifest("1.0.0", MANIFEST, &text));
    refused(other.put_manifest(&digest(text.as_bytes()), MANIFEST, &text));
    // Another manifest with the same layer.
    refused(other.put_manifest("1.0.0", MANIFEST, &text.replace("vnd.example", "vnd.else")));
    assert_eq!(memory.keys_with("oci/manifests/team/other"), [""; 0]);
    assert_eq!(memory.keys_with(&blob_key()), [""; 0]);
    // A blob that came back by an upload whose URL was signed before is not mounted, and is removed.
    memory.put_object(&blob_key(), SECRET);
    let mount = other.request("POST", &format!("blobs/uploads/?mount={secret}"));
    refused(registry.send(&mount.body(b"")));
    assert_eq!(memory.keys_with(&blob_key()), [""; 0]);
    // Everything else can be pushed.
    other.artifact("2.0.0", b"no secret", json!({}));
}

#[test]
fn the_tombstone_of_a_digest_covers_archives_and_blobs() {
    let (_, registry) = Registry::with_memory(&[]);
    let module = ModuleFixture::of("acme", "1.0.0");
    let bytes = module.archive.clone();
    let repository = Pushed::of(&registry, NAME);
    repository.blob(&bytes);
    erase(&registry, &erasure(&[&digest(&bytes)], &[NAME])).expect(200);
    module.put(&registry).refuses(410, REASON);

    let (other_memory, other) = Registry::with_memory(&[]);
    module.publish(&other);
    Pushed::of(&other, NAME).blob(&bytes);
    let key = format!("archives/{}.zip", sha256(&bytes));
    erase(&other, &json!({ "reason": REASON, "archives": [key] })).expect(200);
    let blob = format!("oci/blobs/sha256/{}", sha256(&bytes));
    assert!(!other_memory.keys().contains(&blob));
    let push = Pushed::of(&other, "team/other").pushing(&bytes);
    other.send(&push).expect(410);
    assert!(!other_memory.keys().contains(&blob));
}

#[test]
fn a_mirrored_release_is_not_published_with_an_erased_blob() {
    let (_, registry) = Registry::with_memory(&[]);
    let mirrored = MirrorFixture::of(ProviderFixture::of("acme", "gadget", "1.0.0"));
    let zip = digest(&mirrored.origin.packages[0].3);
    erase(&registry, &erasure(&[&zip], &[])).expect(200);
    mirrored.put(&registry).refuses(410, REASON);
}

#[test]
fn a_signed_upload_url_stores_no_erased_archive() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    let missing = fixture.put(&registry).expect(202).json()["missing"][0].clone();
    let key = format!("archives/{}.zip", sha256(&fixture.archive));
    erase(&registry, &json!({ "reason": REASON, "archives": [key] })).expect(200);
    let refused = send_upload(&registry, &missing, &fixture.archive).expect(410);
    assert!(refused.text().contains(REASON), "{}", refused.text());
    assert!(!memory.keys().contains(&key));
}

#[test]
fn the_repair_and_a_garbage_collection_remove_an_erased_blob_that_is_stored_again() {
    let (memory, registry, text) = pushed();
    erase(&registry, &whole(&text)).expect(200);
    let key = blob_key();
    memory.put_object(&key, SECRET);
    assert!(reindex(&registry).removed.contains(&key));
    assert!(!memory.keys().contains(&key));
    memory.put_object(&key, SECRET);
    let mark = format!("garbage/{}.blob", sha256(SECRET));
    let tombstone = memory.object_bytes(&mark);
    memory.advance(GARBAGE_SECONDS);
    let body = json!({ "remove": [{ "key": key, "marked_at": 1_800_000_000 }] });
    let removed = post(&registry, "/admin/v1/garbage", &body).found();
    assert_eq!(removed["removed"], json!([key]));
    assert!(!memory.keys().contains(&key));
    assert_eq!(memory.object_bytes(&mark), tombstone);
}

#[test]
fn the_shared_empty_configuration_and_invalid_names_are_refused() {
    let (_, registry, _) = pushed();
    erase(&registry, &erasure(&[&digest(b"{}")], &[NAME])).refuses(422, "cannot be erased");
    let empty = format!("archives/{}.zip", sha256(b"{}"));
    erase(&registry, &json!({ "reason": REASON, "archives": [empty] })).expect(422);
    let secret = digest(SECRET);
    for body in [
        erasure(&["sha256:1"], &[NAME]),
        erasure(&[&secret], &["Team/App"]),
        erasure(&[&secret], &["modules/acme/vpc/aws"]),
        erasure(&[secret.as_str(); 21], &[]),
        erasure(&[&secret], &[NAME; 21]),
    ] {
        erase(&registry, &body).expect(400);
    }
    let repository = Pushed::of(&registry, NAME);
    repository.get(&blob_at(SECRET)).expect(307);
}

#[test]
fn a_broken_erasure_of_pushed_content_is_completed_by_a_retry() {
    let (memory, _, text) = pushed();
    let run = |memory: &Memory| {
        erase(
            &Registry::in_memory(&memory.elsewhere(), &[]),
            &whole(&text),
        )
    };
    let unbroken = memory.copy();
    let answer = run(&unbroken).found();
    let mut writes = unbroken.operations();
    writes.retain(|it| is_write(it));
    let at = |part: &str| writes.iter().position(|it| it.contains(part)).unwrap();
    let is_mark = |it: &String| it.contains("put garbage/");
    let last_mark = writes.iter().rposition(is_mark).unwrap();
    assert!(last_mark < at("delete oci/manifests/"), "{writes:#?}");
    let link = at("delete oci/links/");
    assert!(link < at("delete oci/blobs/"), "{writes:#?}");
    for (at, write) in writes.iter().enumerate() {
        for when in [When::Before, When::After] {
            let what = format!("{write} {when:?}");
            let memory = memory.copy();
            let fault = memory.fail(Operations::Writes, at, when, Failure::Error);
            let status = run(&memory).status;
            fault.lift();
            assert!(status == 503 || status == 200, "{what}: {status}");
            let registry = Registry::in_memory(&memory, &[]);
            let repository = Pushed::of(&registry, NAME);
            if at > last_mark {
                repository
                    .put_manifest("1.0.0", MANIFEST, &text)
                    .expect(410);
            }
            assert_eq!(run(&memory).found(), answer, "{what}");
            assert_eq!(left(&memory), left(&unbroken), "{what}");
            for path in paths(&text, "1.0.0") {
                repository.get(&path).expect(404);
            }
        }
    }
}

/// The client of an erasure lists the repositories again after the tombstone, and then erases the content there.
#[test]
fn content_that_is_pushed_during_its_erasure_is_refused_or_listed_afterwards() {
    let text = pushed().2;
    for delay in 0..100 {
        let (memory, registry, _) = pushed();
        let other = Pushed::of(&registry, "team/other");
        other.blob(b"{}");
        let manifest = other
            .request("PUT", "manifests/1.0.0")
            .header("content-type", MANIFEST);
        let erasure = Sent::new("POST", "/admin/v1/erasures").bearing(registry.token());
        let requests = [
            erasure.body(whole(&text).to_string()),
            other.pushing(SECRET),
            manifest.body(text.as_str()),
        ];
        memory.interleave();
        let answers = registry.send_after(&requests, &[delay / 2, delay % 7, 0]);
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses[0], 200, "{delay}");
        assert!(
            statuses[1..].iter().all(|it| matches!(it, 201 | 410)),
            "{delay}: {statuses:?}"
        );
        let memory = memory.copy();
        let registry = Registry::in_memory(&memory, &[]);
        let has = |part: &str| !memory.keys_with(part).is_empty();
        // Bytes are never left, and a refused manifest is not.
        assert!(!has(&blob_key()), "{delay}");
        assert!(
            statuses[2] == 201 || !has("oci/manifests/team/other"),
            "{delay}"
        );
        erase(&registry, &erasure_of(&text, &[NAME, "team/other"])).expect(200);
        assert!(!has("oci/manifests/"), "{delay}");
        let repository = Pushed::of(&registry, "team/other");
        repository.get("manifests/1.0.0").expect(404);
    }
}

#[test]
fn documents_of_erased_content_are_kept_out_of_an_import() {
    let (memory, registry, text) = pushed();
    let facts: Vec<Value> = memory
        .objects_but_for_markers()
        .into_iter()
        .filter(|(key, _)| {
            ["oci/links/", "oci/manifests/", "oci/tags/"].iter().any(|prefix| key.starts_with(prefix))
        })
        .map(|(key, document)| json!({ "key": key, "document": String::from_utf8(document).unwrap() }))
        .collect();
    assert_eq!(facts.len(), 4);
    erase(&registry, &whole(&text)).expect(200);
    let answer = import(&registry, &facts);
    // The empty configuration is still linked.
    assert_eq!(answer["unchanged"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(answer["erased"].as_array().unwrap().len(), 3, "{answer}");
    assert!(
        answer["erased"][0]["reason"]
            .as_str()
            .unwrap()
            .contains(REASON),
        "{answer}"
    );
    let asked = json!({ "archives": [{ "key": blob_key(), "size": SECRET.len() }] });
    let answer = post(&registry, "/admin/v1/archives", &asked).found();
    assert_eq!(answer["missing"], json!([]));
}

#[test]
fn the_tombstone_of_a_blob_is_imported_unless_its_digest_is_stored() {
    let (memory, registry, text) = pushed();
    erase(&registry, &whole(&text)).expect(200);
    let key = format!("garbage/{}.blob", sha256(SECRET));
    let document = String::from_utf8(memory.object_bytes(&key)).unwrap();
    let facts = [json!({ "key": key, "document": document })];
    let (_, stored, _) = pushed();
    let answer = import(&stored, &facts);
    assert!(
        answer["refused"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("--blob sha256:"),
        "{answer}"
    );
    let (empty_memory, empty) = Registry::with_memory(&[]);
    assert_eq!(import(&empty, &facts)["created"], json!([key]));
    assert_eq!(import(&empty, &facts)["unchanged"], json!([key]));
    assert_eq!(empty_memory.object_bytes(&key), document.as_bytes());
}

/// Erases content before an operation of a push, as a client does that has listed the repositories before.
fn erased_before(memory: &Memory, seen: &str, digest: &str) -> Fault {
    let eraser = Registry::in_memory(memory, &[]);
    let body = erasure(&[digest], &[]);
    memory.run(seen, 0, When::Before, move || {
        erase(&eraser, &body).expect(200);
    })
}

#[test]
fn a_blob_that_is_erased_before_its_link_is_refused_and_not_linked() {
    let (memory, registry) = Registry::with_memory(&[]);
    let other = Pushed::of(&registry, "team/other");
    let fault = erased_before(&memory, "R2 put oci/links/", &digest(SECRET));
    registry.send(&other.pushing(SECRET)).expect(410);
    assert!(fault.lift());
    for part in ["oci/links/", "oci/blobs/"] {
        assert_eq!(memory.keys_with(part), [""; 0]);
    }
    other.get(&blob_at(SECRET)).expect(404);
}

#[test]
fn the_repair_removes_a_link_whose_push_ended_before_its_second_look() {
    let (memory, registry) = Registry::with_memory(&[]);
    let other = Pushed::of(&registry, "team/other");
    other.blob(b"no secret");
    let fault = erased_before(&memory, "R2 put oci/links/", &digest(SECRET));
    // The first read of the mark is before the link.
    let mark = format!("R2 get garbage/{}.blob", sha256(SECRET));
    let ended = memory.fail(mark.as_str(), 2.., When::Before, Failure::Error);
    registry.send(&other.pushing(SECRET)).expect(503);
    assert!(fault.lift() && ended.lift());
    let link = format!("oci/links/team/other:{}", digest(SECRET));
    assert!(memory.keys().contains(&link));
    let repaired = reindex(&registry);
    assert!(repaired.removed.contains(&link), "{repaired:?}");
    assert!(!memory.keys().contains(&link));
    other.get(&blob_at(SECRET)).expect(404);
    other.get(&blob_at(b"no secret")).expect(307);
    assert!(!reindex(&registry).removed.contains(&link));
}

#[test]
fn the_repair_removes_a_manifest_whose_push_ended_before_its_second_look() {
    let text = pushed().2;
    let (memory, registry) = Registry::with_memory(&[]);
    let other = Pushed::of(&registry, "team/other");
    other.blob(b"{}");
    other.blob(SECRET);
    let kept = other.artifact("2.0.0", b"no secret", json!({}));
    let of_text = digest(text.as_bytes());
    let fault = erased_before(&memory, "R2 put oci/manifests/", &of_text);
    let mark = format!("R2 get garbage/{}.blob", sha256(text.as_bytes()));
    // The erasure reads the mark before it makes the tombstone.
    let ended = memory.fail(mark.as_str(), 1.., When::Before, Failure::Error);
    other.put_manifest("1.0.0", MANIFEST, &text).expect(503);
    assert!(fault.lift() && ended.lift());
    let manifest = format!("oci/manifests/team/other:{of_text}");
    assert!(memory.keys().contains(&manifest));
    let repaired = reindex(&registry);
    assert!(repaired.removed.contains(&manifest), "{repaired:?}");
    assert!(!memory.keys().contains(&manifest));
    for path in paths(&text, "1.0.0") {
        if path.starts_with("manifests/") {
            other.get(&path).expect(404);
        }
    }
    assert_eq!(other.tags(), ["2.0.0"]);
    other.get(&manifest_at(&kept)).expect(200);
}

#[test]
fn the_tombstone_of_a_manifest_is_not_imported_where_a_repository_has_it() {
    let (memory, registry, text) = pushed();
    let key = format!("garbage/{}.blob", sha256(text.as_bytes()));
    let document = format!(r#"{{"state":"erased","since":1,"reason":"{REASON}"}}"#);
    let facts = [json!({ "key": key, "document": document })];
    let refused = import(&registry, &facts);
    let reason = refused["refused"][0]["reason"].as_str().unwrap();
    let named = format!("--manifest {NAME}@{}", digest(text.as_bytes()));
    assert!(reason.contains(&named), "{reason}");
    assert!(!memory.keys().contains(&key));
    let path = manifest_at(&text);
    let repository = Pushed::of(&registry, NAME);
    repository.get(&path).expect(200);
    repository.send("DELETE", &path).expect(202);
    assert_eq!(import(&registry, &facts)["created"], json!([key]));
}
