//! Blobs that clients push, mount and download.

use std::time::Duration;

use serde_json::json;

use super::{NOTHING, pull};
use crate::support::Registry;
use crate::support::pushed::{MANIFEST, Pushed, blob_at, code, digest};
use crate::support::registry::{Response, Sent, unique};

fn sha512(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha512::digest(bytes);
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha512:{digits}")
}

fn assert_blob(pushed: &Pushed<'_>, bytes: &[u8]) {
    let digest = digest(bytes);
    let head = pushed.head(&format!("blobs/{digest}")).expect(200);
    let length = bytes.len().to_string();
    assert_eq!(head.header("content-length"), Some(length.as_str()));
    assert_eq!(head.header("docker-content-digest"), Some(digest.as_str()));
    assert_eq!(pull(pushed, &digest), bytes);
}

#[test]
fn a_blob_is_pushed_by_post_and_put_11_1_11_2() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique("a blob").into_bytes();
    pushed.head(&blob_at(&bytes)).expect(404);
    let location = pushed.begin();
    assert!(
        location.starts_with(&pushed.path("blobs/uploads/")),
        "{location}"
    );
    let put = pushed
        .request("PUT", &format!("{location}?digest={}", digest(&bytes)))
        .header("content-type", "application/octet-stream");
    let created = registry.send(&put.body(bytes.clone())).expect(201);
    let at = pushed.path(&blob_at(&bytes));
    assert_eq!(created.header("location"), Some(at.as_str()));
    assert_blob(&pushed, &bytes);
    assert_eq!(
        code(&after_the_end(&pushed, &location)),
        "BLOB_UPLOAD_UNKNOWN"
    );
}

/// Returns the response about a complete upload, which is removed soon after its last response.
fn after_the_end(pushed: &Pushed<'_>, location: &str) -> Response {
    for _ in 0..100 {
        let response = pushed.send("GET", location);
        if response.status == 404 {
            return response;
        }
        response.expect(204);
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{location} still exists");
}

#[test]
fn a_blob_is_pushed_by_one_post() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique("a blob").into_bytes();
    registry.send(&pushed.pushing(&bytes)).expect(201);
    assert_blob(&pushed, &bytes);
    let other = unique("another").into_bytes();
    let sent = pushed.pushing(&other).unsized_body(other.clone());
    registry.send(&sent).expect(201);
    assert_blob(&pushed, &other);
    assert_eq!(pushed.blob(b""), digest(b""));
    assert_blob(&pushed, b"");
}

#[test]
fn a_blob_is_pushed_in_chunks_whose_length_may_be_unknown() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique(&"0123456789".repeat(1_000)).into_bytes();
    for last_by_put in [false, true] {
        let begun = pushed.request("POST", "blobs/uploads/").body(b"");
        let begun = registry.send(&begun).expect(202);
        assert_eq!(begun.header("oci-chunk-min-length"), Some("5242880"));
        let location = begun.header("location").unwrap().to_owned();
        let status = pushed.send("GET", &location).expect(204);
        assert_eq!(status.header("range"), Some("0-0"));
        let chunk = |method: &str, from: usize, to: usize, is_unsized: bool| {
            let to_where = match method {
                "PUT" => format!("{location}?digest={}", digest(&bytes)),
                _ => location.clone(),
            };
            let sent = pushed
                .request(method, &to_where)
                .header("content-range", &format!("{from}-{}", to - 1));
            registry.send(&if is_unsized {
                sent.unsized_body(&bytes[from..to])
            } else {
                sent.body(&bytes[from..to])
            })
        };
        let first = chunk("PATCH", 0, 4_000, false).expect(202);
        assert_eq!(first.header("range"), Some("0-3999"));
        assert_eq!(first.header("location"), Some(location.as_str()));
        // The same chunk again, and one that leaves a gap.
        for (from, to) in [(0, 4_000), (8_000, 9_000)] {
            let refused = chunk("PATCH", from, to, false).expect(416);
            assert_eq!(refused.header("range"), Some("0-3999"));
            assert_eq!(refused.header("location"), Some(location.as_str()));
            assert_eq!(code(&refused), "BLOB_UPLOAD_INVALID");
            chunk("PUT", from, to, false).expect(416);
        }
        let second = chunk("PATCH", 4_000, 8_000, true).expect(202);
        assert_eq!(second.header("range"), Some("0-7999"));
        // The length of this chunk differs from its range.
        let sent = pushed.request("PATCH", &location);
        let sent = sent.header("content-range", "8000-8999");
        for sent in [sent.clone().unsized_body(b"short"), sent.body(b"short")] {
            assert_eq!(code(&registry.send(&sent).expect(400)), "SIZE_INVALID");
        }
        let status = pushed.send("GET", &location).expect(204);
        assert_eq!(status.header("range"), Some("0-7999"));
        if last_by_put {
            chunk("PUT", 8_000, bytes.len(), false).expect(201);
        } else {
            chunk("PATCH", 8_000, bytes.len(), true).expect(202);
            let done = pushed.complete(&location, &digest(&bytes), b"");
            done.expect(201);
        }
        assert_blob(&pushed, &bytes);
        after_the_end(&pushed, &location);
        pushed.send("DELETE", &blob_at(&bytes)).expect(202);
    }
}

#[test]
fn a_blob_with_a_wrong_digest_is_not_stored() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique("a blob").into_bytes();
    let wrong = digest(&unique("another").into_bytes());
    for digest in [wrong.as_str(), "", "sha256:00", "md5:00"] {
        let refused = pushed.complete(&pushed.begin(), digest, &bytes);
        assert_eq!(code(&refused.expect(400)), "DIGEST_INVALID", "{digest}");
    }
    let without = pushed.request("PUT", &pushed.begin()).body(bytes);
    let refused = registry.send(&without).expect(400);
    assert_eq!(code(&refused), "DIGEST_INVALID");
    pushed.head(&format!("blobs/{wrong}")).expect(404);
    let algorithm = pushed.request("POST", "blobs/uploads/?digest-algorithm=md5");
    registry.send(&algorithm.body(b"")).expect(400);
}

#[test]
fn a_sha512_digest_is_accepted() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique("a blob").into_bytes();
    let digest = sha512(&bytes);
    let post = pushed.request("POST", "blobs/uploads/?digest-algorithm=sha512");
    let begun = registry.send(&post.body(b"")).expect(202);
    let location = begun.header("location").unwrap();
    pushed.complete(location, &digest, &bytes).expect(201);
    assert_eq!(pull(&pushed, &digest), bytes);
    let text = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": { "mediaType": "a/b", "digest": digest, "size": bytes.len() },
        "layers": [],
    })
    .to_string();
    let named = sha512(text.as_bytes());
    pushed.put_manifest(&named, MANIFEST, &text).expect(201);
    let found = pushed.get(&format!("manifests/{named}")).expect(200);
    assert_eq!(found.text(), text);
    assert_eq!(found.header("docker-content-digest"), Some(named.as_str()));
    let wrong = sha512(b"another");
    let refused = pushed.put_manifest(&wrong, MANIFEST, &text).expect(400);
    assert_eq!(code(&refused), "DIGEST_INVALID");
}

#[test]
fn a_mount_of_an_unavailable_blob_starts_an_upload_11_5() {
    let registry = Registry::start();
    let (from, to) = (Pushed::new(&registry), Pushed::new(&registry));
    let bytes = unique("a blob").into_bytes();
    let digest = from.blob(&bytes);
    let mount = |query: String| {
        let sent = to.request("POST", &format!("blobs/uploads/?mount={query}"));
        registry.send(&sent.body(b""))
    };
    let source = from.name.replace('/', "%2F");
    for query in [
        format!("{NOTHING}&from={source}"),
        format!("{digest}&from=nobody/nothing"),
        format!("{digest}&from=providers/acme/widget"),
        NOTHING.to_owned(),
        format!("sha256:00&from={source}"),
    ] {
        let begun = mount(query).expect(202);
        assert!(begun.header("location").unwrap().contains("/uploads/"));
    }
    to.head(&format!("blobs/{digest}")).expect(404);
    mount(format!("{digest}&from={source}")).expect(201);
    assert_blob(&to, &bytes);
    to.send("DELETE", &format!("blobs/{digest}")).expect(202);
    to.head(&format!("blobs/{digest}")).expect(404);
    mount(digest).expect(201);
    assert_blob(&to, &bytes);
}

#[test]
fn an_upload_can_be_cancelled() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let location = pushed.begin();
    pushed.append(&location, b"bytes").expect(202);
    pushed.send("DELETE", &location).expect(204);
    for method in ["GET", "DELETE", "PATCH", "PUT"] {
        let target = format!("{location}?digest={}", digest(b"bytes"));
        let gone = registry.send(&pushed.request(method, &target).body(b""));
        assert_eq!(code(&gone.expect(404)), "BLOB_UPLOAD_UNKNOWN", "{method}");
    }
    // An upload belongs to one repository.
    let location = pushed.begin();
    let other = Pushed::new(&registry);
    let elsewhere = location.replace(&pushed.name, &other.name);
    pushed.send("GET", &elsewhere).expect(404);
}

#[test]
fn an_interrupted_download_resumes_with_a_range() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let bytes = unique("0123456789").into_bytes();
    let digest = pushed.blob(&bytes);
    let led = pushed.get(&format!("blobs/{digest}")).expect(307);
    let location = led.header("location").unwrap();
    let part = |range: &str| registry.send(&Sent::new("GET", location).header("range", range));
    let size = bytes.len();
    for (range, from, to) in [
        ("bytes=2-4", 2, 5),
        ("bytes=3-", 3, size),
        ("bytes=-4", size - 4, size),
        ("bytes=5-999", 5, size),
    ] {
        let found = part(range).expect(206);
        assert_eq!(found.body, bytes[from..to], "{range}");
        let told = format!("bytes {from}-{}/{size}", to - 1);
        assert_eq!(found.header("content-range"), Some(told.as_str()));
    }
    part("bytes=999-").expect(416);
    let sent = Sent::new("GET", &pushed.path(&format!("blobs/{digest}")));
    let refused = registry
        .send(&sent.header("range", "bytes=5-0"))
        .expect(416);
    let told = format!("bytes */{size}");
    assert_eq!(refused.header("content-range"), Some(told.as_str()));
}
