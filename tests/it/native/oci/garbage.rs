//! Garbage collection of pushed blobs: what is kept when repositories get the blob in between.

use serde_json::{Value, json};
use terrace_core::maintenance::garbage::GARBAGE_SECONDS;

use super::NAME;
use crate::support::faults::{Failure, Operations, When, at_each_write};
use crate::support::fixtures::sha256;
use crate::support::memory::Memory;
use crate::support::pushed::{Pushed, blob_at, digest};
use crate::support::registry::{Registry, Sent, TOKEN};
use crate::support::tokens::post;

const BLOB: &[u8] = b"an old layer";

fn key() -> String {
    format!("oci/blobs/sha256/{}", sha256(BLOB))
}

fn change(registry: &Registry, body: &Value) -> Value {
    post(registry, "/admin/v1/garbage", body).found()
}

fn removal(marked_at: u64) -> Value {
    json!({ "remove": [{ "key": key(), "marked_at": marked_at }] })
}

/// Returns a registry with a blob that was deleted from its only repository, and its mark an hour later.
fn marked() -> (Memory, Registry, u64) {
    let (memory, registry) = Registry::with_memory(&[]);
    let repository = Pushed::of(&registry, NAME);
    repository.blob(BLOB);
    repository.send("DELETE", &blob_at(BLOB)).expect(202);
    let marked = change(&registry, &json!({ "mark": [key()] }));
    assert_eq!(marked["marked"], json!([key()]));
    let mark: Value = serde_json::from_slice(&memory.object_bytes(&mark_key())).unwrap();
    memory.advance(GARBAGE_SECONDS);
    (memory, registry, mark["since"].as_u64().unwrap())
}

fn mark_key() -> String {
    format!("garbage/{}.blob", sha256(BLOB))
}

fn mount(repository: &Pushed<'_>) -> Sent {
    let path = format!("blobs/uploads/?mount={}", digest(BLOB));
    Sent::new("POST", &repository.path(&path))
        .body(b"")
        .bearing(TOKEN)
}

fn push(repository: &Pushed<'_>) -> Sent {
    repository.pushing(BLOB)
}

#[test]
fn a_blob_without_a_repository_is_removed_an_hour_after_its_mark() {
    let (memory, registry, marked_at) = marked();
    assert_eq!(
        change(&registry, &removal(marked_at))["removed"],
        json!([key()])
    );
    for key in [key(), mark_key()] {
        assert_eq!(memory.keys_with(&key), [""; 0]);
    }
    // It can be pushed again.
    let repository = Pushed::of(&registry, NAME);
    repository.blob(BLOB);
    repository.get(&blob_at(BLOB)).expect(307);
}

#[test]
fn a_push_or_a_mount_after_the_mark_keeps_the_blob() {
    for request in [mount, push] {
        let (memory, registry, marked_at) = marked();
        let other = Pushed::of(&registry, "team/other");
        registry.send(&request(&other)).expect(201);
        let answer = change(&registry, &removal(marked_at));
        assert_eq!(answer["spared"], json!([key()]));
        let mark: Value = serde_json::from_slice(&memory.object_bytes(&mark_key())).unwrap();
        assert_eq!(mark["state"], "kept");
        other.get(&blob_at(BLOB)).expect(307);
        assert_eq!(
            change(&registry, &json!({ "keep": [key()] }))["kept"],
            json!([key()])
        );
        assert!(!memory.keys().contains(&mark_key()));
    }
}

#[test]
fn a_push_during_a_removal_never_leaves_a_link_without_its_blob() {
    for request in [mount, push] {
        for delay in 0..60 {
            let (memory, registry, marked_at) = marked();
            let other = Pushed::of(&registry, "team/other");
            let removal = Sent::new("POST", "/admin/v1/garbage").bearing(registry.token());
            let requests = [
                removal.body(self::removal(marked_at).to_string()),
                request(&other),
            ];
            memory.interleave();
            let statuses = registry.send_both(requests, delay).map(|it| it.status);
            assert_eq!(statuses[0], 200, "{delay}");
            // 202: the blob is missing, and must be uploaded.
            assert!(
                matches!(statuses[1], 201 | 202 | 503),
                "{delay}: {statuses:?}"
            );
            let memory = memory.copy();
            let is_linked = !memory.keys_with("oci/links/team/other").is_empty();
            assert_eq!(is_linked, statuses[1] == 201, "{delay}");
            assert!(!is_linked || memory.keys().contains(&key()), "{delay}");
        }
    }
}

#[test]
fn a_blob_that_is_removed_before_a_push_reads_its_mark_is_not_linked() {
    for (request, seen) in [
        (push as fn(&Pushed<'_>) -> Sent, "R2 put oci/blobs/"),
        (mount, "R2 head oci/blobs/"),
    ] {
        let (memory, registry, marked_at) = marked();
        let other = Pushed::of(&registry, "team/other");
        let collector = Registry::in_memory(&memory, &[]);
        let fault = memory.run(seen, 0, When::After, move || {
            let answer = change(&collector, &removal(marked_at));
            assert_eq!(answer["removed"], json!([key()]));
        });
        registry.send(&request(&other)).expect(503);
        assert!(fault.lift());
        assert_eq!(memory.keys_with("oci/links/team/other"), [""; 0]);
        registry.send(&push(&other)).expect(201);
        other.get(&blob_at(BLOB)).expect(307);
    }
}

#[test]
fn a_removal_that_is_broken_at_each_write_is_resumed_or_healed_by_a_push() {
    at_each_write(3, |at, when| {
        let (memory, registry, marked_at) = marked();
        let fault = memory.fail(Operations::Writes, at, when, Failure::Error);
        let status = post(&registry, "/admin/v1/garbage", &removal(marked_at)).status;
        if !fault.lift() {
            return false;
        }
        assert!(matches!(status, 200 | 503), "{status}");
        // An interrupted removal is resumed an hour later, by a push as well.
        memory.advance(GARBAGE_SECONDS);
        let other = Pushed::of(&registry, "team/other");
        let first = registry.send(&push(&other)).status;
        assert!(matches!(first, 201 | 503), "{first} (write {at}, {when:?})");
        registry.send(&push(&other)).expect(201);
        other.get(&blob_at(BLOB)).expect(307);
        assert!(memory.keys().contains(&key()));
        true
    });
}
