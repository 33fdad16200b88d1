//! Downloads through the platform's cache of archives: the half in front of it, which decides, and the half behind it, which
//! depends on nothing but a path.

use futures_util::FutureExt as _;
use serde_json::json;
use terrace_app::cache::REVOCATIONS_SECONDS;
use terrace_app::cached_archive;
use terrace_core::http::reply::{Body, Reply};
use terrace_core::limits::LIST_CACHE_SECONDS;

use super::{REASON, whole};
use crate::support::faults::{Failure, When};
use crate::support::fixtures::sha256;
use crate::support::memory::Memory;
use crate::support::pushed::{Pushed, digest};
use crate::support::registry::{Registry, Response, S3, Sent};
use crate::support::{ModuleFixture, ProviderFixture};

const EDGE: [(&str, &str); 1] = [("TERRACE_DOWNLOADS", "edge")];

/// The usual lifetime of a URL, in seconds.
const LIFETIME: u64 = 900;

fn cached() -> (Memory, Registry) {
    let memory = Memory::new();
    memory.cache_archives();
    let registry = Registry::in_memory(&memory, &EDGE);
    (memory, registry)
}

fn fixture() -> ProviderFixture {
    ProviderFixture::of("acme", "widget", "1.0.0")
}

/// Returns a registry with a published provider, and the digest and the bytes of one of its packages.
fn published() -> (Memory, Registry, String, Vec<u8>) {
    let (memory, registry) = cached();
    let fixture = fixture();
    fixture.publish(&registry);
    let zip = fixture.packages[0].3.clone();
    (memory, registry, sha256(&zip), zip)
}

/// Returns a new URL of that package.
fn url(registry: &Registry) -> String {
    let path = fixture().path();
    let found = registry.get(&format!("{path}/1.0.0/download/linux/amd64"));
    let found = found.found();
    found["download_url"].as_str().unwrap().to_owned()
}

fn reads_of_archives(memory: &Memory) -> Vec<String> {
    let mut operations = memory.operations();
    operations.retain(|operation| operation.contains("archives/"));
    memory.forget_operations();
    operations
}

#[test]
fn a_second_download_reads_nothing_from_the_bucket() {
    let (memory, registry, digest, zip) = published();
    let url = url(&registry);
    assert!(url.starts_with("https://registry.test/archives/"), "{url}");
    memory.forget_operations();
    let first = registry.get(&url).expect(200);
    let opened = format!("R2 open archives/{digest}.zip");
    assert_eq!(reads_of_archives(&memory), [opened]);
    let second = registry.get(&url).expect(200);
    assert_eq!(memory.operations(), [""; 0]);
    assert_eq!((&first.body, &second.body), (&zip, &zip));
    assert_eq!(first.headers, second.headers);
    let lines = memory.request_lines();
    let [.., first, second] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    assert!(first.contains(r#","cache":"miss","#), "{first}");
    assert!(second.contains(r#","cache":"hit","#), "{second}");
}

#[test]
fn a_cached_answer_has_the_headers_of_one_from_the_bucket() {
    let (memory, registry, ..) = published();
    let by_worker = Registry::in_memory(&memory, &[]);
    let (url, path) = (url(&registry), url(&by_worker));
    let headers = |registry: &Registry, sent: &Sent| {
        let mut response = registry.send(sent);
        response.headers.sort();
        (response.status, response.headers, response.body)
    };
    for range in [
        None,
        Some("bytes=1-3"),
        Some("bytes=-2"),
        Some("bytes=9-"),
        Some("bytes=0-0,2-3"),
    ] {
        for method in ["GET", "HEAD"] {
            let request = |url: &str| match range {
                Some(range) => Sent::new(method, url).header("range", range),
                None => Sent::new(method, url),
            };
            let expected = headers(&by_worker, &request(&path));
            for _ in 0..2 {
                assert_eq!(
                    headers(&registry, &request(&url)),
                    expected,
                    "{method} {range:?}"
                );
            }
        }
    }
    let beyond = Sent::new("GET", &url).header("range", "bytes=999999999-");
    registry.send(&beyond).expect(416);
}

#[test]
fn a_signature_is_required_although_the_archive_is_cached() {
    let (memory, registry, digest, _) = published();
    let url = url(&registry);
    registry.get(&url).expect(200);
    assert_eq!(memory.archive_cache().paths, [format!("/{digest}.zip")]);
    let signature = url.rsplit('/').nth(1).unwrap();
    let forged = url.replace(signature, &"0".repeat(64));
    for method in ["GET", "HEAD"] {
        registry.send(&Sent::new(method, &forged)).expect(403);
    }
    let with_token = Sent::new("GET", &forged).bearing(registry.token());
    registry.send(&with_token).expect(403);
    registry.get(&format!("/{digest}.zip")).expect(404);
    memory.advance(LIFETIME + 1);
    assert!(registry.get(&url).expect(403).text().contains("expired"));
    assert_eq!(memory.archive_cache().paths.len(), 1);
}

#[test]
fn an_archive_that_is_absent_is_not_cached_as_absent() {
    let (memory, registry, digest, zip) = published();
    let url = url(&registry);
    memory.remove_object(&format!("archives/{digest}.zip"));
    registry.get(&url).expect(404);
    assert_eq!(memory.archive_cache().paths, [""; 0]);
    memory.put_object(&format!("archives/{digest}.zip"), &zip);
    registry.get(&url).expect(200);
}

#[test]
fn a_cache_that_fails_is_replaced_by_the_bucket() {
    let (memory, registry, _, zip) = published();
    memory.break_archive_cache();
    assert_eq!(registry.get(&url(&registry)).expect(200).body, zip);
    memory.assert_logged("tired");
}

fn erase(registry: &Registry, digest: &str) -> Response {
    super::erase(registry, &whole(&[&format!("archives/{digest}.zip")]))
}

/// Asserts that bytes left the cache, and that isolates learn their digest.
#[track_caller]
fn assert_withdrawn(memory: &Memory, digest: &str) {
    let cache = memory.archive_cache();
    assert_eq!(cache.paths, [""; 0]);
    assert_eq!(cache.purges, [[digest]]);
    let listed = memory.index("revocations").text;
    let prefix: String = digest.chars().take(16).collect();
    assert!(listed.contains(&prefix), "{listed}");
}

/// Returns a registry with a published module, the digest of its archive, and a URL of it.
fn published_module() -> (Memory, Registry, String, String) {
    let (memory, registry) = cached();
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.publish(&registry);
    let found = registry.get(&fixture.download());
    let url = found.header("x-terraform-get").unwrap().to_owned();
    let url = url.split("?checksum").next().unwrap().to_owned();
    registry.get(&url).expect(200);
    (memory, registry, sha256(&fixture.archive), url)
}

#[test]
fn an_erasure_removes_its_archives_from_the_cache() {
    let (memory, registry, digest, url) = published_module();
    erase(&registry, &digest).expect(200);
    assert_withdrawn(&memory, &digest);
    registry.get(&url).expect(404);
}

#[test]
fn an_erasure_that_breaks_off_removes_its_archives_from_the_cache() {
    let (memory, registry, digest, _) = published_module();
    memory.fail("R2 delete archives/", 0, When::Before, Failure::Error);
    erase(&registry, &digest).expect(503);
    assert_withdrawn(&memory, &digest);
}

#[test]
fn an_erasure_removes_its_archives_from_the_cache_also_if_no_list_can_be_written() {
    let (memory, registry, digest, _) = published_module();
    let fault = memory.fail("KV put revocations", 0.., When::Before, Failure::Error);
    erase(&registry, &digest).expect(503);
    assert!(fault.is_reached());
    let cache = memory.archive_cache();
    assert_eq!(
        (cache.paths, cache.purges),
        (Vec::new(), vec![vec![digest]])
    );
}

#[test]
fn an_erasure_of_pushed_content_removes_it_from_the_cache() {
    let (memory, registry) = cached();
    let pushed = Pushed::new(&registry);
    let bytes = b"a pushed blob".to_vec();
    pushed.blob(&bytes);
    let content = json!({ "digest": digest(&bytes), "repositories": [pushed.name] });
    let body = json!({ "reason": REASON, "contents": [content] });
    super::erase(&registry, &body).expect(200);
    assert_withdrawn(&memory, &sha256(&bytes));
}

#[test]
fn wrong_bytes_that_are_replaced_leave_the_cache() {
    let (memory, registry) = cached();
    let fixture = fixture();
    fixture.add_key(&registry);
    let digest = sha256(&fixture.packages[0].3);
    memory.put_object(&format!("archives/{digest}.zip"), b"damaged");
    let listed = registry.admin("GET", "/admin/v1/archives?urls=true", None);
    let url = listed.found()["archives"][0]["url"].clone();
    let url = url.as_str().unwrap();
    assert_eq!(registry.get(url).expect(200).body, b"damaged");
    fixture.put(&registry).expect(202);
    assert_eq!(memory.archive_cache().purges, [[digest]]);
    registry.get(url).expect(404);
}

#[test]
fn copies_of_the_registry_come_from_the_bucket() {
    let (_, registry) = Registry::with_memory(&[&S3[..], &EDGE].concat());
    fixture().publish(&registry);
    let listed = registry.admin("GET", "/admin/v1/archives?urls=true", None);
    let listed = listed.found();
    let archives = listed["archives"].as_array().unwrap();
    assert!(!archives.is_empty());
    for archive in archives {
        let url = archive["url"].as_str().unwrap();
        assert!(url.starts_with("https://bucket.test/"), "{url}");
    }
}

#[test]
fn an_erased_archive_is_refused_within_a_minute_although_the_cache_keeps_it() {
    let (memory, registry, digest, url) = published_module();
    memory.refuse_purges();
    let elsewhere = Registry::in_memory(&memory.elsewhere(), &EDGE);
    elsewhere.get(&url).expect(200);
    erase(&registry, &digest).expect(200);
    memory.assert_logged("too many requests");
    assert_eq!(memory.archive_cache().paths.len(), 1);
    memory.advance(REVOCATIONS_SECONDS + u64::from(LIST_CACHE_SECONDS));
    elsewhere.get(&url).expect(404);
    // A lost index is made again from the tombstones.
    memory.lose_indices();
    Registry::in_memory(&memory.elsewhere(), &EDGE)
        .get(&url)
        .expect(404);
}

#[test]
fn a_tombstone_without_metadata_counts() {
    let (memory, registry, digest, url) = published_module();
    memory.refuse_purges();
    erase(&registry, &digest).expect(200);
    memory.lose_metadata();
    memory.lose_indices();
    Registry::in_memory(&memory.elsewhere(), &EDGE)
        .get(&url)
        .expect(404);
}

#[test]
fn a_pushed_blob_is_cached_by_its_digest() {
    let (memory, registry) = cached();
    let pushed = Pushed::new(&registry);
    let bytes = b"a pushed blob".to_vec();
    let post = format!("blobs/uploads/?digest={}", digest(&bytes));
    let sent = pushed.request("POST", &post).body(bytes.clone());
    registry.send(&sent).expect(201);
    let found = pushed.send("GET", &format!("blobs/{}", digest(&bytes)));
    let location = found.expect(307).header("location").unwrap().to_owned();
    for _ in 0..2 {
        assert_eq!(registry.get(&location).expect(200).body, bytes);
    }
    let path = format!("/{}.blob", sha256(&bytes));
    assert_eq!(memory.archive_cache().paths, [path]);
}

#[test]
fn uploads_stay_presigned_with_s3_keys() {
    for downloads in ["worker", "edge"] {
        let memory = Memory::new();
        let vars = [&S3[..], &[("TERRACE_DOWNLOADS", downloads)]].concat();
        let registry = Registry::in_memory(&memory, &vars);
        let fixture = fixture();
        fixture.add_key(&registry);
        let answer = fixture.put(&registry).expect(202).json();
        let upload = answer["missing"][0]["upload"]["url"].as_str().unwrap();
        assert!(upload.starts_with("https://bucket.test/"), "{upload}");
        fixture.publish(&registry);
        let url = url(&registry);
        assert!(url.starts_with("https://registry.test/archives/"), "{url}");
        assert_eq!(registry.get(&url).expect(200).body, fixture.packages[0].3);
    }
}

fn behind(memory: &Memory, method: &str, target: &str) -> Reply<Vec<u8>> {
    let answered = cached_archive(memory, method, target).now_or_never();
    answered.expect("operations in memory are immediate")
}

#[test]
fn the_cached_half_answers_with_a_whole_archive_that_may_be_kept() {
    let (memory, _, digest, zip) = published();
    let reply = behind(&memory, "GET", &format!("/{digest}.zip"));
    let (etag, length) = (format!("\"{digest}\""), zip.len().to_string());
    for (name, value) in [
        ("cache-control", "public, max-age=31536000, immutable"),
        ("cache-tag", digest.as_str()),
        ("content-disposition", "attachment"),
        ("content-length", length.as_str()),
        ("content-type", "application/zip"),
        ("etag", etag.as_str()),
    ] {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    assert_eq!((reply.status, &reply.body), (200, &Body::Stream(zip)));
    let head = behind(&memory, "HEAD", &format!("/{digest}.zip"));
    assert_eq!((head.status, head.headers), (200, reply.headers));
    assert_eq!(head.body, Body::Empty);
}

#[test]
fn the_cached_half_answers_no_other_path() {
    let (memory, _, digest, _) = published();
    let upper = digest.to_ascii_uppercase();
    for target in [
        "".to_owned(),
        "/".to_owned(),
        digest.clone(),
        format!("/{digest}"),
        format!("/{digest}.exe"),
        format!("/{digest}.zip?"),
        format!("/{digest}.zip?token=1"),
        format!("/{digest}.zip/"),
        format!("//{digest}.zip"),
        format!("/archives/{digest}.zip"),
        format!("/{upper}.zip"),
        format!("/{digest}.{digest}.zip"),
        format!("/{}.zip", "0".repeat(64)),
        format!("/%2e%2e/archives/{digest}.zip"),
    ] {
        let reply = behind(&memory, "GET", &target);
        assert_eq!(reply.status, 404, "{target}");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{target}");
        assert_eq!(reply.body, Body::Empty, "{target}");
    }
    let path = format!("/{digest}.zip");
    for method in ["POST", "PUT", "DELETE", "get", ""] {
        assert_eq!(behind(&memory, method, &path).status, 404, "{method}");
    }
}

#[test]
fn the_cached_half_keeps_no_failure_of_storage() {
    let (memory, _, digest, _) = published();
    let _fault = memory.fail("R2 open", 0, When::Before, Failure::Error);
    let reply = behind(&memory, "GET", &format!("/{digest}.zip"));
    assert_eq!(reply.status, 503);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
}
