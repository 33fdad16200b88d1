//! Manifests and tags that clients push and delete.

use serde_json::json;

use super::{NOTHING, index_of, referring_to};
use crate::support::Registry;
use crate::support::pushed::{INDEX, MANIFEST, Pushed, blob_at, code, digest, manifest_at};
use crate::support::registry::unique;

#[test]
fn a_manifest_is_stored_byte_for_byte_and_read_by_tag_and_digest_11_6() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let config = pushed.blob(b"{}");
    let text = format!(
        "\n{{ \"schemaVersion\" : 2,\n \"unknown\": [1.50, \"\\u00e4ä\"], \"layers\":[], \
         \"config\":{{\"mediaType\":\"a/b\",\"digest\":\"{config}\",\"size\":2}}}} \n"
    );
    let own = digest(text.as_bytes());
    for reference in ["latest", own.as_str()] {
        let created = pushed.put_manifest(reference, MANIFEST, &text).expect(201);
        assert_eq!(created.header("docker-content-digest"), Some(own.as_str()));
        let location = created.header("location").unwrap();
        assert_eq!(registry.get(location).expect(200).text(), text);
        let path = format!("manifests/{reference}");
        let head = pushed.head(&path).expect(200);
        assert_eq!(head.header("content-type"), Some(MANIFEST));
        assert_eq!(head.header("docker-content-digest"), Some(own.as_str()));
        let length = text.len().to_string();
        assert_eq!(head.header("content-length"), Some(length.as_str()));
        assert_eq!(pushed.get(&path).expect(200).text(), text);
    }
    // A body without a content-length.
    let sent = pushed
        .request("PUT", "manifests/other")
        .unsized_body(text.clone());
    registry.send(&sent).expect(201);
    assert_eq!(pushed.tags(), ["latest", "other"]);
}

#[test]
fn tags_can_be_pushed_with_a_digest() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let text = pushed.artifact("first", b"layer", json!({}));
    let own = digest(text.as_bytes());
    let created = pushed
        .put_manifest(&format!("{own}?tag=1.0&tag=1&tag=1"), MANIFEST, &text)
        .expect(201);
    assert_eq!(created.header("oci-tag"), Some("1.0, 1"));
    assert_eq!(pushed.tags(), ["1", "1.0", "first"]);
    let many: String = (0..20).map(|number| format!("&tag=t{number}")).collect();
    let refused = pushed.put_manifest(&format!("{own}?x{many}"), MANIFEST, &text);
    assert_eq!(refused.status, 414);
    let refused = pushed.put_manifest(&format!("{own}?tag=-x"), MANIFEST, &text);
    assert_eq!(refused.status, 400);
}

#[test]
fn a_manifest_that_is_not_a_provider_may_refer_to_missing_parts() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let layer = unique("later").into_bytes();
    let manifest = referring_to(&digest(&layer));
    for (tag, media_type, text) in [("a", MANIFEST, &manifest), ("b", INDEX, &index_of(NOTHING))] {
        pushed.put_manifest(tag, media_type, text).expect(201);
        assert_eq!(
            &pushed.get(&format!("manifests/{tag}")).expect(200).text(),
            text
        );
    }
    assert_eq!(pushed.tags(), ["a", "b"]);
    let blob = blob_at(&layer);
    pushed.get(&blob).expect(404);
    pushed.blob(&layer);
    pushed.head(&blob).expect(200);
    pushed.get(&format!("manifests/{NOTHING}")).expect(404);
}

/// `terrace-core` has the other reasons.
#[test]
fn a_malformed_or_too_large_manifest_is_rejected() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let text = pushed.artifact("good", b"layer", json!({}));
    for (media_type, text) in [(MANIFEST, ""), (MANIFEST, "{}"), (INDEX, &text)] {
        let refused = pushed.put_manifest("bad", media_type, text).expect(400);
        assert_eq!(code(&refused), "MANIFEST_INVALID", "{media_type}");
    }
    let large = format!("{}{}", text, " ".repeat(4 * 1024 * 1024));
    let refused = pushed.put_manifest("bad", MANIFEST, &large).expect(413);
    assert_eq!(code(&refused), "SIZE_INVALID");
    let refused = pushed.request("PUT", "manifests/bad").unsized_body(large);
    registry.send(&refused).expect(413);
    let refused = pushed.put_manifest(NOTHING, MANIFEST, &text).expect(400);
    assert_eq!(code(&refused), "DIGEST_INVALID");
    pushed.put_manifest("-bad", MANIFEST, &text).expect(404);
    assert_eq!(pushed.tags(), ["good"]);
}

#[test]
fn a_manifest_is_deleted_with_its_tags() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let text = pushed.artifact("a", b"layer", json!({}));
    for tag in ["b", "c"] {
        pushed.put_manifest(tag, MANIFEST, &text).expect(201);
    }
    let other = pushed.artifact("other", b"another", json!({}));
    pushed.send("DELETE", "manifests/a").expect(202);
    pushed.get("manifests/a").expect(404);
    assert_eq!(pushed.tags(), ["b", "c", "other"]);
    let own = manifest_at(&text);
    pushed.get(&own).expect(200);
    pushed.send("DELETE", &own).expect(202);
    for path in [own.as_str(), "manifests/b", "manifests/c"] {
        let gone = pushed.get(path).expect(404);
        assert_eq!(code(&gone), "MANIFEST_UNKNOWN", "{path}");
        pushed.send("DELETE", path).expect(404);
    }
    assert_eq!(pushed.tags(), ["other"]);
    let layer = blob_at(b"layer");
    pushed.get(&layer).expect(307);
    pushed.send("DELETE", &layer).expect(202);
    assert_eq!(code(&pushed.get(&layer).expect(404)), "BLOB_UNKNOWN");
    pushed.send("DELETE", &layer).expect(404);
    pushed.send("DELETE", &manifest_at(&other)).expect(202);
    assert_eq!(code(&pushed.get("tags/list").expect(404)), "NAME_UNKNOWN");
    // The manifest can be pushed again.
    pushed.artifact("a", b"layer", json!({}));
    assert_eq!(pushed.get("manifests/a").expect(200).text(), text);
}
