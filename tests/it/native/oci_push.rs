//! Pushing behind the scenes: what breaks, what heals, what is left behind.

use serde_json::{Value, json};

use crate::support::Registry;
use crate::support::faults::{Failure, Operations, When};
use crate::support::memory::Memory;
use crate::support::pushed::{MANIFEST, Pushed, PushedProvider, code, digest};
use crate::support::registry::{Sent, TOKEN};
use crate::support::tokens;

pub(super) const NAME: &str = "team/app";

pub(super) fn in_memory() -> (Memory, Registry) {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    (memory, registry)
}

/// Everything that can be read of an artifact.
pub(super) fn paths(text: &str, tag: &str) -> Vec<String> {
    let json: Value = serde_json::from_str(text).unwrap();
    let layer = json["layers"][0]["digest"].as_str().unwrap();
    vec![
        "tags/list".to_owned(),
        format!("manifests/{tag}"),
        format!("manifests/{}", digest(text.as_bytes())),
        format!("blobs/{layer}"),
    ]
}

/// Breaks what `act` does at each of its writes, before the write takes effect and after it. Whatever
/// breaks, nothing answers with a failure, and the same again finishes it: `holds` in the end.
#[track_caller]
pub(super) fn break_everywhere<T>(
    at_least: usize,
    prepare: impl Fn(&Registry) -> T,
    act: impl Fn(&Registry, &T) -> u16,
    holds: impl Fn(&Registry, &T),
) {
    for when in [When::Before, When::After] {
        for at in 0.. {
            let (memory, registry) = in_memory();
            let prepared = prepare(&registry);
            let fault = memory.fail(Operations::Writes, at, when, Failure::Error);
            let status = act(&registry, &prepared);
            if !fault.lift() {
                assert!(at >= at_least, "only {at} writes were broken");
                break;
            }
            // What is done after the answer may fail without being told.
            assert!(
                status == 503 || status < 300,
                "{status} (write {at}, {when:?})"
            );
            let tags = registry.get(&format!("/v2/{NAME}/tags/list"));
            assert!(matches!(tags.status, 200 | 404));
            let again = act(&registry, &prepared);
            assert!(
                again < 300 || again == 404,
                "{again} (write {at}, {when:?})"
            );
            holds(&registry, &prepared);
            memory.lose_indices();
            holds(&registry, &prepared);
        }
    }
}

#[test]
fn a_blob_that_is_broken_at_each_write_can_be_sent_again() {
    let bytes = b"the bytes of a blob";
    break_everywhere(
        2,
        |_| (),
        |registry, ()| {
            let pushed = Pushed::of(registry, NAME);
            let post = format!("blobs/uploads/?digest={}", digest(bytes));
            let sent = pushed.request("POST", &post).body(bytes);
            registry.send(&sent).status
        },
        |registry, ()| {
            let pushed = Pushed::of(registry, NAME);
            let path = format!("blobs/{}", digest(bytes));
            assert_eq!(pushed.head(&path).status, 200);
        },
    );
}

/// The upload is what a client has to go on with, until it knows that its blob is there.
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
                    let patch = pushed.request("PATCH", &location);
                    let patch = patch.body(&bytes[..sent_before]);
                    registry.send(&patch).expect(202);
                }
                location
            },
            |registry, location| {
                let pushed = Pushed::of(registry, NAME);
                let put = format!("{location}?digest={}", digest(bytes));
                let put = pushed.request("PUT", &put).body(&bytes[sent_before..]);
                let status = registry.send(&put).status;
                assert_ne!(status, 404);
                status
            },
            |registry, _| {
                let pushed = Pushed::of(registry, NAME);
                let path = format!("blobs/{}", digest(bytes));
                assert_eq!(pushed.head(&path).status, 200);
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
            let subject = json!({
                "mediaType": MANIFEST,
                "digest": digest(subject.as_bytes()),
                "size": subject.len(),
            });
            pushed.artifact("other", b"layer", json!({ "subject": subject }))
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
fn a_delete_that_is_broken_at_each_write_can_be_sent_again() {
    break_everywhere(
        5,
        |registry| {
            let pushed = Pushed::of(registry, NAME);
            let text = pushed.artifact("a", b"layer", json!({}));
            pushed.put_manifest("b", MANIFEST, &text).expect(201);
            pushed.artifact("other", b"another", json!({}));
            format!("manifests/{}", digest(text.as_bytes()))
        },
        |registry, path| {
            let pushed = Pushed::of(registry, NAME);
            pushed.send("DELETE", path).status
        },
        |registry, path| {
            let pushed = Pushed::of(registry, NAME);
            assert_eq!(pushed.tags(), ["other"]);
            for path in [path.as_str(), "manifests/a", "manifests/b"] {
                assert_eq!(pushed.get(path).status, 404, "{path}");
            }
        },
    );
    break_everywhere(
        4,
        |registry| {
            let pushed = Pushed::of(registry, NAME);
            let text = pushed.artifact("a", b"layer", json!({}));
            pushed.put_manifest("b", MANIFEST, &text).expect(201);
        },
        |registry, ()| {
            Pushed::of(registry, NAME)
                .send("DELETE", "manifests/a")
                .status
        },
        |registry, ()| {
            let pushed = Pushed::of(registry, NAME);
            assert_eq!(pushed.tags(), ["b"]);
            assert_eq!(pushed.get("manifests/a").status, 404);
        },
    );
    let layer = format!("blobs/{}", digest(b"layer"));
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
            assert_eq!(pushed.get("manifests/1.0.0").expect(200).json(), *index);
            let packages = registry.get(&provider.mirror("1.0.0.json")).expect(200);
            for archive in packages.json()["archives"].as_object().unwrap().values() {
                registry.get(archive["url"].as_str().unwrap()).expect(200);
            }
            registry.get(&provider.mirror("index.json")).expect(200);
        },
    );
}

#[test]
fn whatever_index_is_lost_is_made_anew_and_costs_one_read_again() {
    let (memory, registry) = in_memory();
    let pushed = Pushed::of(&registry, NAME);
    let text = pushed.artifact("latest", b"layer", json!({}));
    for path in paths(&text, "latest") {
        let before = pushed.get(&path);
        memory.lose_indices();
        let found = pushed.get(&path).expect(before.status);
        assert_eq!(
            (found.body, found.headers),
            (before.body, before.headers),
            "{path}"
        );
        for method in ["GET", "HEAD"] {
            memory.forget_operations();
            pushed.send(method, &path);
            let operations = memory.operations();
            assert_eq!(operations.len(), 1, "{method} {path}: {operations:?}");
            assert!(operations[0].starts_with("KV get oci/"), "{operations:?}");
        }
    }
}

#[test]
fn a_bucket_that_has_lost_its_metadata_has_the_same_tags() {
    let (memory, registry) = in_memory();
    let provider = PushedProvider::of("acme", "1");
    let index = provider.prepare(&registry);
    for tag in ["1.0.0", "latest"] {
        provider.tag(&registry, tag, &index).expect(201);
    }
    let pushed = Pushed::of(&registry, &provider.repository());
    memory.lose_indices();
    memory.lose_metadata();
    assert_eq!(pushed.tags(), ["1.0.0"]);
}

#[test]
fn an_upload_that_has_lost_a_chunk_is_over() {
    let (memory, registry) = in_memory();
    let pushed = Pushed::of(&registry, NAME);
    let location = pushed.begin();
    let patch = pushed.request("PATCH", &location).body(b"bytes");
    registry.send(&patch).expect(202);
    let id = location.rsplit('/').next().unwrap();
    let chunk = format!("oci/uploads/{id}/");
    let keys = memory.keys().into_iter();
    let chunks: Vec<String> = keys.filter(|key| key.starts_with(&chunk)).collect();
    memory.put_object(&chunks[0], b"other bytes");
    let put = format!("{location}?digest={}", digest(b"bytes"));
    let put = pushed.request("PUT", &put).body(b"");
    let refused = registry.send(&put).expect(400);
    assert_eq!(code(&refused), "BLOB_UPLOAD_INVALID");
    pushed.send("GET", &location).expect(404);
}

/// All repositories share the empty config, and storage takes one write of a key a second.
#[test]
fn a_blob_whose_key_is_busy_is_there_already() {
    let memory = Memory::new();
    let private = [("TERRACE_ACCESS", "private")];
    let registry = Registry::in_memory(&memory, &private);
    let pushed = Pushed::of(&registry, NAME);
    let other = Pushed::of(&registry, "team/other");
    let send = |bytes: &[u8], token: &str| {
        let post = format!("blobs/uploads/?digest={}", digest(bytes));
        let post = Sent::new("POST", &other.path(&post)).body(bytes);
        registry.send(&post.bearing(token)).status
    };
    let (_, publisher) = tokens::create(&registry, &["publish:team"], None);
    for bytes in [&b"{}"[..], b"bytes"] {
        memory.fail("R2 put oci/blobs/", 0, When::Before, Failure::Busy);
        assert_eq!(send(bytes, TOKEN), 503, "nobody has stored it yet");
        pushed.blob(bytes);
    }
    memory.fail("R2 put oci/blobs/", 0, When::Before, Failure::Busy);
    assert_eq!(send(b"{}", &publisher), 201, "it is no secret");
    memory.fail("R2 put oci/blobs/", 0, When::Before, Failure::Busy);
    assert_eq!(send(b"bytes", &publisher), 503, "it may be one");
    memory.fail("R2 put oci/blobs/", 0, When::Before, Failure::Busy);
    assert_eq!(send(b"bytes", TOKEN), 201);
}

/// Clients ask for each blob before they push it, and the edge remembers that there was none.
#[test]
fn a_blob_that_was_asked_for_before_it_was_pushed_is_indexed_once() {
    let (memory, registry) = in_memory();
    memory.at_an_edge();
    let pushed = Pushed::of(&registry, NAME);
    let text = pushed.artifact("latest", b"layer", json!({}));
    let own = digest(text.as_bytes());
    let layer = digest(b"layer");
    let paths = [format!("blobs/{layer}"), format!("manifests/{own}")];
    let all = |status: u16| {
        for path in &paths {
            assert_eq!(pushed.head(path).status, status, "{path}");
        }
    };
    for path in &paths {
        pushed.send("DELETE", path).expect(202);
    }
    all(404);
    pushed.artifact("latest", b"layer", json!({}));
    memory.advance(30);
    memory.forget_operations();
    for _ in 0..3 {
        all(200);
    }
    let operations = memory.operations();
    assert!(
        operations.iter().all(|it| it.starts_with("KV get ")),
        "{operations:?}"
    );
}

#[test]
fn what_is_deleted_is_read_for_half_a_minute_at_most() {
    let (memory, registry) = in_memory();
    memory.at_an_edge();
    let pushed = Pushed::of(&registry, NAME);
    let text = pushed.artifact("latest", b"layer", json!({}));
    let all = paths(&text, "latest");
    for path in &all {
        pushed.head(path).expect(200);
    }
    for path in &all[2..] {
        pushed.send("DELETE", path).expect(202);
    }
    memory.advance(30);
    for path in &all {
        assert_eq!(pushed.head(path).status, 404, "{path}");
    }
}

/// Cloudflare would refuse it before it comes here, in words that help nobody.
#[test]
fn a_body_that_cloudflare_does_not_take_is_refused_with_a_way_out() {
    let (_, registry) = in_memory();
    let pushed = Pushed::of(&registry, NAME);
    let send = |length: u64| {
        let location = pushed.begin();
        let put = format!("{location}?digest={}", digest(b"bytes"));
        let put = pushed.request("PUT", &put).body(b"bytes");
        registry.send(&put.header("content-length", &length.to_string()))
    };
    let refused = send(100_000_001).expect(413);
    assert_eq!(code(&refused), "SIZE_INVALID");
    for told in ["100000000 bytes", "chunks", "`terrace publish`"] {
        assert!(refused.text().contains(told), "{}", refused.text());
    }
    send(100_000_000).expect(201);
}

#[test]
fn a_listing_that_does_not_go_on_is_a_failure() {
    let (memory, registry) = in_memory();
    let pushed = Pushed::of(&registry, NAME);
    pushed.artifact("latest", b"layer", json!({}));
    memory.lose_indices();
    memory.list_nothing();
    pushed.get("tags/list").expect(503);
    assert_eq!(pushed.tags(), ["latest"]);
}

#[test]
fn what_nobody_completes_is_removed_by_those_who_push_later() {
    let (memory, registry) = in_memory();
    let pushed = Pushed::of(&registry, NAME);
    let uploads = || {
        let keys = memory.keys().into_iter();
        keys.filter(|key| key.starts_with("oci/uploads/")).count()
    };
    let location = pushed.begin();
    let chunk = || pushed.request("PATCH", &location).body(b"bytes");
    registry.send(&chunk()).expect(202);
    registry.send(&chunk()).expect(202);
    assert_eq!(uploads(), 3);
    memory.advance(86_400);
    pushed.blob(b"another");
    assert_eq!(uploads(), 3, "a day is not over");
    memory.advance(1);
    pushed.blob(b"another");
    assert_eq!(uploads(), 0);
    pushed.send("GET", &location).expect(404);
}

#[test]
fn what_is_complete_leaves_its_blob_behind_and_nothing_else() {
    let (memory, registry) = in_memory();
    let pushed = Pushed::of(&registry, NAME);
    let location = pushed.begin();
    for chunk in [&b"some "[..], b"bytes"] {
        let sent = pushed.request("PATCH", &location).body(chunk);
        registry.send(&sent).expect(202);
    }
    let own = digest(b"some bytes");
    let put = pushed.request("PUT", &format!("{location}?digest={own}"));
    registry.send(&put.body(b"")).expect(201);
    let hex = own.trim_start_matches("sha256:");
    assert_eq!(
        memory.keys(),
        [
            format!("oci/blobs/sha256/{hex}"),
            format!("oci/links/{NAME}:{own}"),
        ]
    );
    let wrong = pushed.begin();
    let put = pushed.request("PUT", &format!("{wrong}?digest={own}"));
    registry.send(&put.body(b"other bytes")).expect(400);
    assert_eq!(memory.keys().len(), 2);
}

#[test]
fn too_many_writes_to_one_key_are_waited_for() {
    let (memory, registry) = in_memory();
    let pushed = Pushed::of(&registry, NAME);
    let text = pushed.artifact("latest", b"layer", json!({}));
    memory.fail("R2 put", 0..3, When::Before, Failure::Busy);
    memory.fail("KV put", 0..3, When::Before, Failure::Busy);
    pushed.put_manifest("other", MANIFEST, &text).expect(201);
    assert_eq!(pushed.tags(), ["latest", "other"]);
}

#[test]
fn where_there_is_no_admin_token_nobody_can_push() {
    let memory = Memory::new();
    let vars = [("TERRACE_ADMIN_TOKEN", ""), ("TERRACE_URL_SECRET", TOKEN)];
    let registry = Registry::in_memory(&memory, &vars);
    let pushed = Pushed::of(&registry, NAME);
    let refused = pushed.send("POST", "blobs/uploads/").expect(403);
    assert!(refused.text().contains("TERRACE_ADMIN_TOKEN"));
    registry.get("/v2/").expect(200);
}

/// Of two versions one could contradict what is mirrored when the other is there already.
#[test]
fn with_its_digest_a_provider_is_pushed_as_one_version_at_most() {
    let (memory, registry) = in_memory();
    let provider = PushedProvider::of("acme", "1");
    let index = provider.prepare(&registry);
    let own = digest(index.to_string().as_bytes());
    let before = memory.keys();
    let refused = provider.tag(&registry, &format!("{own}?tag=1.0.0&tag=1.0.1"), &index);
    assert_eq!(code(&refused.expect(400)), "MANIFEST_INVALID");
    assert_eq!(memory.keys(), before);
    let tagged = provider.tag(&registry, &format!("{own}?tag=latest&tag=1.0.0"), &index);
    tagged.expect(201);
    registry.get(&provider.mirror("1.0.0.json")).expect(200);
}

/// Each manifest may have 4 MiB.
#[test]
fn too_many_platforms_are_refused_before_they_are_read() {
    let (memory, registry) = in_memory();
    let provider = PushedProvider::of("acme", "1");
    let index = provider.prepare(&registry);
    let reads = |manifests: Vec<Value>| {
        let mut index = index.clone();
        index["manifests"] = json!(manifests);
        memory.forget_operations();
        provider.tag(&registry, "1.0.0", &index).expect(400);
        let operations = memory.operations().into_iter();
        operations
            .filter(|it| it.starts_with("R2 get oci/manifests"))
            .count()
    };
    let of = |number: usize| {
        let mut target = index["manifests"][0].clone();
        target["platform"]["architecture"] = json!(format!("a{number}"));
        target
    };
    assert_eq!(reads(vec![of(0); 2]), 0, "one platform twice");
    assert_eq!(reads((0..500).map(of).collect()), 0);
}

#[test]
fn zips_that_others_store_at_the_same_time_are_there() {
    let (memory, registry) = in_memory();
    let provider = PushedProvider::of("acme", "1");
    let index = provider.prepare(&registry);
    provider.tag(&registry, "1.0.0", &index).expect(201);
    let before = memory.keys().into_iter();
    let archives: Vec<String> = before.filter(|key| key.starts_with("archives/")).collect();
    let bytes: Vec<Vec<u8>> = archives
        .iter()
        .map(|key| memory.object_bytes(key))
        .collect();
    for key in &archives {
        memory.remove_object(key);
    }
    let other = memory.clone();
    memory.before("R2 open oci/blobs/", move || {
        for (key, bytes) in archives.iter().zip(&bytes) {
            other.put_object(key, bytes);
        }
        other.fail("R2 put archives/", 0, When::Before, Failure::Busy);
    });
    provider.tag(&registry, "1.0.1", &index).expect(201);
}

#[test]
fn repositories_hold_the_providers_that_the_configuration_says() {
    let memory = Memory::new();
    let provider = PushedProvider::of("acme", "1");
    let tag = |providers: &str| {
        let registry = Registry::in_memory(&memory, &[("TERRACE_OCI_PROVIDERS", providers)]);
        let index = provider.prepare(&registry);
        let tagged = provider.tag(&registry, "1.0.0", &index);
        let list = registry.get("/mirror/registry.example.com/acme/widget/index.json");
        (tagged.status, list.status)
    };
    assert_eq!(tag("none"), (201, 404));
    assert_eq!(tag("elsewhere=registry.example.com"), (201, 404));
    let own = "opentofu-providers=registry.test";
    assert_eq!(tag(own), (403, 404));
    assert_eq!(tag("opentofu-providers=registry.example.com"), (201, 200));
}
