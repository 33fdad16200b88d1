//! Garbage collection of archives that no release refers to, and releases that refer to one just in time.

use serde_json::{Value, json};
use terrace_core::maintenance::garbage::FENCE_SECONDS;
use terrace_core::maintenance::garbage::GARBAGE_SECONDS;

use super::key_of;
use crate::support::cases::in_both_outcomes;
use crate::support::faults::{Failure, Operations, When};
use crate::support::fixtures::sha256;
use crate::support::memory::Memory;
use crate::support::registry::{Registry, Sent, TOKEN};
use crate::support::tokens::post;
use crate::support::{ModuleFixture, ProviderFixture};

fn garbage(registry: &Registry, body: &Value) -> Value {
    post(registry, "/admin/v1/garbage", body).found()
}

fn mark(registry: &Registry, key: &str) -> Value {
    garbage(registry, &json!({ "mark": [key] }))
}

fn removal(memory: &Memory, key: &str) -> Value {
    let name = key.strip_prefix("archives/").unwrap();
    let mark = memory.object_bytes(&format!("garbage/{name}"));
    let mark: Value = serde_json::from_slice(&mark).unwrap();
    json!({ "remove": [{ "key": key, "marked_at": mark["since"] }] })
}

/// Marks an archive, and returns the request that removes it an hour later.
pub(super) fn marked(memory: &Memory, registry: &Registry, key: &str) -> Value {
    mark(registry, key);
    memory.advance(GARBAGE_SECONDS);
    removal(memory, key)
}

/// Returns all keys but those of the audit log and of the format, which the first change stores.
fn stored(memory: &Memory) -> Vec<String> {
    let mut keys = memory.keys();
    keys.retain(|key| !key.starts_with("audit") && key != "format");
    keys
}

/// Returns an archive that was uploaded and never published.
fn orphan() -> (Memory, Registry, ModuleFixture, String) {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.upload(&registry);
    let key = key_of(&fixture);
    (memory, registry, fixture, key)
}

#[test]
fn an_archive_marked_for_an_hour_is_removed_with_its_mark() {
    let (memory, registry, _, key) = orphan();
    assert_eq!(mark(&registry, &key)["marked"][0], key.as_str());
    assert_eq!(mark(&registry, &key)["marked"][0], key.as_str());
    let body = removal(&memory, &key);
    memory.advance(GARBAGE_SECONDS - 1);
    assert_eq!(garbage(&registry, &body)["spared"][0], key.as_str());
    memory.advance(1);
    assert_eq!(garbage(&registry, &body)["removed"][0], key.as_str());
    assert_eq!(stored(&memory), [""; 0]);
    assert_eq!(garbage(&registry, &body)["spared"][0], key.as_str());
}

#[test]
fn a_publish_keeps_a_marked_archive() {
    let (memory, registry, fixture, key) = orphan();
    let body = marked(&memory, &registry, &key);
    fixture.put(&registry).expect(201);
    assert_eq!(garbage(&registry, &body)["spared"][0], key.as_str());
    // A removal that names the newer mark spares the archive as well.
    let body = removal(&memory, &key);
    memory.advance(GARBAGE_SECONDS);
    assert_eq!(garbage(&registry, &body)["spared"][0], key.as_str());
    assert!(memory.keys().contains(&key));
    // An operator who has found the release removes the mark.
    let kept = garbage(&registry, &json!({ "keep": [key] }));
    assert_eq!(kept["kept"][0], key.as_str());
    assert_eq!(memory.keys_with("garbage/"), [""; 0]);
}

#[test]
fn a_publish_keeps_marked_signed_documents() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    fixture.add_key(&registry);
    fixture.upload(&registry);
    // The publish fails after storing the documents, before its commit.
    memory.fail(Operations::Writes, 2, When::Before, Failure::Error);
    fixture.put(&registry).expect(503);
    let key = format!("archives/{}.SHA256SUMS", sha256(fixture.shasums.as_bytes()));
    let body = marked(&memory, &registry, &key);
    fixture.put(&registry).expect(201);
    assert_eq!(garbage(&registry, &body)["spared"][0], key.as_str());
}

#[test]
fn a_release_is_not_committed_to_an_archive_that_is_being_removed() {
    let (memory, registry, fixture, key) = orphan();
    let body = marked(&memory, &registry, &key);
    // The removal fails after claiming the mark, while the archive still exists.
    memory.fail(Operations::Writes, 1, When::Before, Failure::Error);
    post(&registry, "/admin/v1/garbage", &body).expect(503);
    assert!(memory.keys().contains(&key));
    fixture.put(&registry).expect(202);
    fixture.put(&registry).expect(202);
    // An hour later the next request completes the removal; it may be a publish.
    memory.advance(GARBAGE_SECONDS);
    fixture.put(&registry).expect(202);
    assert_eq!(stored(&memory), [""; 0]);
    fixture.publish(&registry);
}

#[test]
fn an_interrupted_removal_is_resumed() {
    for (at, when) in [0, 1, 2]
        .into_iter()
        .flat_map(|at| [(at, When::Before), (at, When::After)])
    {
        let (memory, registry, fixture, key) = orphan();
        mark(&registry, &key);
        memory.advance(GARBAGE_SECONDS);
        let fault = memory.fail(Operations::Writes, at, when, Failure::Error);
        post(&registry, "/admin/v1/garbage", &removal(&memory, &key)).expect(503);
        assert!(fault.lift());
        memory.advance(GARBAGE_SECONDS);
        if !memory.keys_with("garbage/").is_empty() {
            let removed = garbage(&registry, &removal(&memory, &key));
            assert_eq!(removed["removed"][0], key.as_str(), "{at} {when:?}");
        }
        assert_eq!(stored(&memory), [""; 0], "{at} {when:?}");
        fixture.publish(&registry);
    }
}

#[test]
fn a_publish_does_not_commit_after_its_check_has_expired() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    fixture.add_key(&registry);
    fixture.upload(&registry);
    let late = memory.clone();
    // The documents are stored between the check and the commit.
    memory.before("R2 put archives/", move || late.advance(FENCE_SECONDS + 1));
    let refused = fixture.put(&registry);
    refused.refuses(503, "send the same request again");
    assert_eq!(memory.keys_with("releases/"), [""; 0]);
    fixture.put(&registry).expect(201);
}

#[test]
fn only_archives_can_be_garbage() {
    let (_, registry, ..) = orphan();
    for key in ["releases/modules/acme/vpc/aws/1.0.0", "keys/acme", "x", ""] {
        post(&registry, "/admin/v1/garbage", &json!({ "mark": [key] })).expect(400);
    }
    let many = vec![format!("archives/{}.zip", "0".repeat(64)); 41];
    post(&registry, "/admin/v1/garbage", &json!({ "mark": many })).expect(400);
}

/// Runs a publish and a removal of the same archive concurrently, in many interleavings: a published release
/// always has its archive.
#[test]
fn a_release_never_lacks_its_archive() {
    in_both_outcomes(|delay| {
        let (memory, registry, fixture, key) = orphan();
        let body = marked(&memory, &registry, &key);
        memory.interleave();
        let admin = |method: &str, target: &str, body: &Value| {
            let sent = Sent::new(method, target).bearing(TOKEN);
            sent.body(body.to_string())
        };
        let publish = admin("PUT", &fixture.admin_path(), &fixture.description());
        let remove = admin("POST", "/admin/v1/garbage", &body);
        let [published, _] = registry.send_both([publish, remove], delay);
        let is_stored = memory.keys().contains(&key);
        let is_released = !memory.keys_with("releases/").is_empty();
        assert_eq!(published.status == 201, is_released, "{delay}");
        assert!(!is_released || is_stored, "{delay}: {:?}", memory.keys());
        is_released
    });
}

/// Two publishers find the same abandoned removal, and one of them completes it first.
#[test]
fn an_interrupted_removal_is_resumed_by_only_one_publisher() {
    let (memory, registry, fixture, key) = orphan();
    let body = marked(&memory, &registry, &key);
    let fault = memory.fail(Operations::Writes, 1, When::Before, Failure::Error);
    post(&registry, "/admin/v1/garbage", &body).expect(503);
    assert!(fault.lift());
    memory.advance(GARBAGE_SECONDS);
    let (other, late) = (Registry::in_memory(&memory, &[]), fixture.clone());
    memory.before("R2 delete archives/", move || {
        late.put(&other);
        late.put(&other);
    });
    fixture.put(&registry);
    let is_released = !memory.keys_with("releases/").is_empty();
    assert!(memory.keys().contains(&key) || !is_released);
}

#[test]
fn an_archive_that_was_marked_again_after_the_listing_is_not_removed() {
    let (memory, registry, fixture, key) = orphan();
    let seen = marked(&memory, &registry, &key);
    // A publish that fails keeps the archive; then it is marked again.
    let fault = memory.fail(Operations::Writes, 1, When::Before, Failure::Error);
    fixture.put(&registry);
    fault.lift();
    memory.advance(GARBAGE_SECONDS);
    mark(&registry, &key);
    memory.advance(GARBAGE_SECONDS);
    garbage(&registry, &seen);
    assert!(memory.keys().contains(&key));
    let seen = removal(&memory, &key);
    garbage(&registry, &seen);
    assert!(!memory.keys().contains(&key));
}

#[test]
fn a_rejected_request_changes_nothing() {
    let (memory, registry, _, key) = orphan();
    let mut body = marked(&memory, &registry, &key);
    let nonsense = json!({ "key": "nonsense", "marked_at": 1 });
    body["remove"].as_array_mut().unwrap().push(nonsense);
    let before = memory.objects();
    post(&registry, "/admin/v1/garbage", &body).expect(400);
    let body = json!({ "mark": [key, "nonsense"] });
    post(&registry, "/admin/v1/garbage", &body).expect(400);
    assert_eq!(memory.objects(), before);
}
