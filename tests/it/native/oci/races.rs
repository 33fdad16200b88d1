//! Concurrent pushes and deletes.

use serde_json::json;

use super::{NAME, paths};
use crate::support::Registry;
use crate::support::faults::Fault;
use crate::support::memory::Memory;
use crate::support::pushed::{MANIFEST, Pushed, blob_at, code, digest, manifest_at, referrer_of};

/// Lets another client act before the next operation that starts with `operation`.
fn meanwhile(memory: &Memory, operation: &str, act: impl FnOnce(&Pushed<'_>) + 'static) -> Fault {
    let other = memory.clone();
    memory.before(operation, move || {
        let registry = Registry::in_memory(&other, &[]);
        act(&Pushed::of(&registry, NAME));
    })
}

/// The index ends up matching the bucket, whichever writer comes last.
#[test]
fn a_tag_pushed_twice_concurrently_names_the_later_manifest() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let (first, second) = (
        pushed.artifact("first", b"first", json!({})),
        pushed.artifact("second", b"second", json!({})),
    );
    for (mine, other) in [(&first, &second), (&second, &first)] {
        let text = other.clone();
        meanwhile(&memory, "KV put", move |pushed| {
            pushed.put_manifest("latest", MANIFEST, &text).expect(201);
        });
        pushed.put_manifest("latest", MANIFEST, mine).expect(201);
        let read = pushed.get("manifests/latest").expect(200).text();
        memory.lose_indices();
        assert_eq!(pushed.get("manifests/latest").expect(200).text(), read);
        assert_eq!(read, *other);
    }
}

#[test]
fn two_tags_pushed_concurrently_are_both_listed() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let text = pushed.artifact("first", b"layer", json!({}));
    let other = text.clone();
    meanwhile(&memory, "KV put", move |pushed| {
        pushed.put_manifest("second", MANIFEST, &other).expect(201);
    });
    pushed.put_manifest("third", MANIFEST, &text).expect(201);
    assert_eq!(pushed.tags(), ["first", "second", "third"]);
}

/// A reader that has missed an index must not restore a manifest that is deleted meanwhile.
#[test]
fn a_manifest_deleted_while_a_reader_rebuilds_its_index_stays_deleted() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let text = pushed.artifact("latest", b"layer", json!({}));
    let other = pushed.artifact("other", b"another", json!({}));
    assert_ne!(text, other);
    for (read, deleted) in paths(&text, "latest").into_iter().zip([
        "manifests/latest".to_owned(),
        "manifests/latest".to_owned(),
        manifest_at(&text),
        blob_at(b"layer"),
    ]) {
        pushed.artifact("latest", b"layer", json!({}));
        memory.lose_indices();
        let path = deleted.clone();
        meanwhile(&memory, "KV put", move |pushed| {
            pushed.send("DELETE", &path).expect(202);
        });
        assert!(pushed.get(&read).status < 400, "{read}");
        assert_eq!(pushed.get(&deleted).status, 404, "{deleted}");
        assert!(!pushed.get("tags/list").text().contains("latest") || deleted.starts_with("blobs"));
    }
}

/// An acknowledged chunk is kept, whenever a concurrent request sends another.
#[test]
fn one_of_two_concurrent_chunks_is_rejected() {
    for before_session in [false, true] {
        let (memory, registry) = Registry::with_memory(&[]);
        let pushed = Pushed::of(&registry, NAME);
        let location = pushed.begin();
        let path = location.clone();
        let act = move |pushed: &Pushed<'_>| {
            pushed.append(&path, b"another chunk").expect(202);
        };
        let other = memory.clone();
        meanwhile(&memory, "R2 put oci/uploads/", move |pushed| {
            if before_session {
                // The next operation of this kind is the write of the session.
                meanwhile(&other, "R2 put oci/uploads/", act);
            } else {
                act(pushed);
            }
        });
        let refused = pushed.append(&location, b"a chunk").expect(416);
        assert_eq!(code(&refused), "BLOB_UPLOAD_INVALID");
        let state = pushed.send("GET", &location).expect(204);
        assert_eq!(state.header("range"), Some("0-12"));
        let own = digest(b"another chunk");
        pushed.complete(&location, &own, b"").expect(201);
    }
}

/// One of two requests that complete an upload removes its chunks while the other reads them.
#[test]
fn an_upload_that_is_completed_twice_concurrently_succeeds() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let location = pushed.begin();
    pushed.append(&location, b"bytes").expect(202);
    let path = location.clone();
    let complete = move |pushed: &Pushed<'_>| {
        pushed.complete(&path, &digest(b"bytes"), b"").expect(201);
    };
    meanwhile(&memory, "R2 open oci/uploads/", complete.clone());
    complete(&pushed);
}

/// A list that was built before a delete must not be the final one.
#[test]
fn a_tag_deleted_with_its_manifest_during_a_push_is_not_listed() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let gone = pushed.artifact("gone", b"gone", json!({}));
    let text = pushed.artifact("first", b"layer", json!({}));
    let fault = meanwhile(&memory, "KV put oci/team/app:tags", move |pushed| {
        pushed.send("DELETE", &manifest_at(&gone)).expect(202);
    });
    pushed.put_manifest("second", MANIFEST, &text).expect(201);
    assert!(fault.is_reached());
    assert_eq!(pushed.tags(), ["first", "second"]);
}

#[test]
fn a_tag_that_moves_while_its_old_manifest_is_deleted_is_kept() {
    for at in ["R2 list oci/tags/", "R2 put oci/tags/"] {
        let (memory, registry) = Registry::with_memory(&[]);
        let pushed = Pushed::of(&registry, NAME);
        let old = pushed.artifact("latest", b"old", json!({}));
        let new = pushed.artifact("other", b"new", json!({}));
        let text = new.clone();
        let fault = meanwhile(&memory, at, move |pushed| {
            pushed.put_manifest("latest", MANIFEST, &text).expect(201);
        });
        pushed.send("DELETE", &manifest_at(&old)).expect(202);
        assert!(fault.is_reached(), "{at}");
        pushed.get(&manifest_at(&old)).expect(404);
        let latest = || pushed.get("manifests/latest").expect(200).text();
        assert_eq!(latest(), new);
        memory.lose_indices();
        assert_eq!(latest(), new);
        assert_eq!(pushed.tags(), ["latest", "other"]);
    }
}

/// Whichever request comes last, a manifest is listed if and only if it can be read.
#[test]
fn a_manifest_that_is_deleted_while_it_is_pushed_is_visible_everywhere_or_nowhere() {
    let pushes = [
        "R2 put oci/manifests/",
        "R2 put oci/referrers/",
        "R2 put oci/tags/",
        "R2 head oci/manifests/",
        "R2 put oci/changes/",
    ];
    let deletes = [
        "R2 get oci/manifests/",
        "R2 delete oci/referrers/",
        "R2 delete oci/manifests/",
        "R2 list oci/tags/",
        "R2 get oci/tags/",
        "R2 head oci/manifests/",
        "R2 put oci/tags/",
        "R2 put oci/changes/",
    ];
    let at = pushes.iter().map(|at| (true, at));
    for (interrupts_push, at) in at.chain(deletes.iter().map(|at| (false, at))) {
        let (memory, registry) = Registry::with_memory(&[]);
        let pushed = Pushed::of(&registry, NAME);
        let subject = pushed.artifact("subject", b"layer", json!({}));
        let text = pushed.artifact("latest", b"other", referrer_of(&subject));
        let own = manifest_at(&text);
        let fault = if interrupts_push {
            let path = own.clone();
            let fault = meanwhile(&memory, at, move |pushed| {
                pushed.send("DELETE", &path).expect(202);
            });
            pushed.put_manifest("latest", MANIFEST, &text).expect(201);
            fault
        } else {
            let text = text.clone();
            let fault = meanwhile(&memory, at, move |pushed| {
                pushed.put_manifest("latest", MANIFEST, &text).expect(201);
            });
            pushed.send("DELETE", &own).expect(202);
            fault
        };
        let seen = || {
            let referrers = format!("referrers/{}", digest(subject.as_bytes()));
            [
                pushed.get(&own).status == 200,
                pushed.get("manifests/latest").status == 200,
                pushed.tags().contains(&"latest".to_owned()),
                pushed
                    .get(&referrers)
                    .text()
                    .contains(&digest(text.as_bytes())),
            ]
        };
        assert!(fault.is_reached(), "{at}");
        let found = seen();
        assert_eq!(found, [found[0]; 4], "{at}");
        memory.lose_indices();
        assert_eq!(seen(), found, "{at}");
    }
}

/// Such tags are left by an interrupted delete, and by one that a push has overtaken.
#[test]
fn tags_of_a_lost_manifest_are_removed_by_the_next_delete() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let text = pushed.artifact("latest", b"layer", json!({}));
    pushed.artifact("other", b"other", json!({}));
    let own = digest(text.as_bytes());
    memory.remove_object(&format!("oci/manifests/{NAME}:{own}"));
    memory.lose_indices();
    assert_eq!(pushed.tags(), ["latest", "other"]);
    pushed.send("DELETE", &manifest_at(&text)).expect(202);
    assert_eq!(pushed.tags(), ["other"]);
    pushed.send("DELETE", &manifest_at(&text)).expect(404);
    // The manifest can be pushed again.
    pushed.put_manifest("latest", MANIFEST, &text).expect(201);
    assert_eq!(pushed.tags(), ["latest", "other"]);
    memory.lose_metadata();
    memory.lose_indices();
    assert_eq!(pushed.tags(), ["latest", "other"]);
    pushed.send("DELETE", &manifest_at(&text)).expect(202);
    memory.lose_metadata();
    memory.lose_indices();
    assert_eq!(pushed.tags(), ["other"]);
    pushed.send("DELETE", "manifests/latest").expect(404);
}
