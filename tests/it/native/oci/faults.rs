//! Pushes and deletes that are broken at each of their writes.

use serde_json::json;

use super::{NAME, break_everywhere, paths};
use crate::support::pushed::{MANIFEST, Pushed, PushedProvider, blob_at, digest, referrer_of};

#[test]
fn a_blob_that_is_broken_at_each_write_can_be_sent_again() {
    let bytes = b"the bytes of a blob";
    break_everywhere(
        2,
        |_| (),
        |registry, ()| {
            let pushed = Pushed::of(registry, NAME);
            registry.send(&pushed.pushing(bytes)).status
        },
        |registry, ()| {
            let pushed = Pushed::of(registry, NAME);
            pushed.head(&blob_at(bytes)).expect(200);
        },
    );
}

/// A client needs the upload for a retry until it knows that the blob is stored.
#[test]
fn an_upload_that_is_broken_at_each_write_can_be_completed_again() {
    let bytes = b"the bytes of a blob";
    for sent_before in [0, 4] {
        break_everywhere(
            4,
            |registry| {
                let pushed = Pushed::of(registry, NAME);
                let location = pushed.begin();
                if sent_before > 0 {
                    let sent = pushed.append(&location, &bytes[..sent_before]);
                    sent.expect(202);
                }
                location
            },
            |registry, location| {
                let pushed = Pushed::of(registry, NAME);
                let rest = &bytes[sent_before..];
                let status = pushed.complete(location, &digest(bytes), rest).status;
                assert_ne!(status, 404);
                status
            },
            |registry, _| {
                let pushed = Pushed::of(registry, NAME);
                pushed.head(&blob_at(bytes)).expect(200);
            },
        );
    }
}

#[test]
fn a_chunk_that_is_broken_at_each_write_can_be_sent_again() {
    break_everywhere(
        2,
        |registry| Pushed::of(registry, NAME).begin(),
        |registry, location| {
            let pushed = Pushed::of(registry, NAME);
            let state = pushed.send("GET", location);
            if state.header("range") == Some("0-4") {
                return 202;
            }
            let sent = pushed.request("PATCH", location).body(b"bytes");
            let sent = sent.header("content-range", "0-4");
            registry.send(&sent).status
        },
        |registry, location| {
            let pushed = Pushed::of(registry, NAME);
            let state = pushed.send("GET", location).expect(204);
            assert_eq!(state.header("range"), Some("0-4"));
        },
    );
}

#[test]
fn a_manifest_that_is_broken_at_each_write_can_be_pushed_again() {
    break_everywhere(
        7,
        |registry| {
            let pushed = Pushed::of(registry, NAME);
            let subject = pushed.artifact("subject", b"layer", json!({}));
            pushed.artifact("other", b"layer", referrer_of(&subject))
        },
        |registry, text| {
            let pushed = Pushed::of(registry, NAME);
            pushed.put_manifest("latest", MANIFEST, text).status
        },
        |registry, text| {
            let pushed = Pushed::of(registry, NAME);
            assert_eq!(pushed.tags(), ["latest", "other", "subject"]);
            for path in paths(text, "latest").iter().skip(1).take(2) {
                assert_eq!(pushed.get(path).expect(200).text(), *text);
            }
        },
    );
}

#[test]
fn a_delete_of_a_blob_that_is_broken_at_each_write_can_be_sent_again() {
    let layer = blob_at(b"layer");
    break_everywhere(
        2,
        |registry| {
            let pushed = Pushed::of(registry, NAME);
            pushed.blob(b"layer");
            pushed.get(&layer).expect(307);
        },
        |registry, ()| Pushed::of(registry, NAME).send("DELETE", &layer).status,
        |registry, ()| {
            let pushed = Pushed::of(registry, NAME);
            assert_eq!(pushed.get(&layer).status, 404);
        },
    );
}

#[test]
fn a_pushed_provider_that_is_broken_at_each_write_can_be_pushed_again() {
    break_everywhere(
        10,
        |registry| {
            let provider = PushedProvider::of("acme", "1");
            let index = provider.prepare(registry);
            (provider, index)
        },
        |registry, (provider, index)| provider.tag(registry, "1.0.0", index).status,
        |registry, (provider, index)| {
            let pushed = Pushed::of(registry, &provider.repository());
            assert_eq!(pushed.tags(), ["1.0.0"]);
            assert_eq!(pushed.get("manifests/1.0.0").found(), *index);
            let packages = registry.get(&provider.mirror("1.0.0.json")).expect(200);
            for archive in packages.json()["archives"].as_object().unwrap().values() {
                registry.get(archive["url"].as_str().unwrap()).expect(200);
            }
            registry.get(&provider.mirror("index.json")).expect(200);
        },
    );
}
