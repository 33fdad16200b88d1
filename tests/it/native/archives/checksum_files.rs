//! SHA256SUMS and its signature of hosted providers: clients get them from KV, from the bucket if KV does not have them, or from the
//! platform's cache of archives.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::json;
use terrace_core::limits::{
    CHECKSUM_FILE_CACHE_SECONDS, GARBAGE_SECONDS, LIST_CACHE_SECONDS, REVOCATIONS_SECONDS,
};
use terrace_core::storage::index_document::IndexDocument;

use crate::support::faults::{Failure, When};
use crate::support::fixtures::sha256;
use crate::support::memory::Memory;
use crate::support::memory::second_bucket::{COPIES, FALLBACK};
use crate::support::registry::{Registry, Response, S3, Sent};
use crate::support::reindexed::{reindex, reindex_with};
use crate::support::tokens::post;
use crate::support::{MirrorFixture, ProviderFixture};

const EDGE: [(&str, &str); 1] = [("TERRACE_DOWNLOADS", "edge")];
const WORKER: [(&str, &str); 1] = [("TERRACE_DOWNLOADS", "worker")];

/// Returns the same release each time: a signature contains the time at which it is made.
fn fixture() -> ProviderFixture {
    static SIGNED: OnceLock<ProviderFixture> = OnceLock::new();
    let signed = SIGNED.get_or_init(|| ProviderFixture::of("acme", "widget", "1.0.0"));
    signed.clone()
}

fn published(vars: &[(&str, &str)]) -> (Memory, Registry) {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, vars);
    fixture().publish(&registry);
    (memory, registry)
}

/// Returns the path of a signed URL that the registry serves itself.
fn path(registry: &Registry, field: &str) -> String {
    let download = format!("{}/1.0.0/download/linux/amd64", fixture().path());
    let json = registry.get(&download).expect(200).json();
    let url = json[field].as_str().unwrap();
    let path = url.strip_prefix("https://registry.test");
    path.unwrap_or_else(|| panic!("{url}")).to_owned()
}

/// Returns the paths of both files.
fn paths(registry: &Registry) -> [String; 2] {
    ["shasums_url", "shasums_signature_url"].map(|field| path(registry, field))
}

/// The names of both files, as their keys have them.
fn names() -> [String; 2] {
    let fixture = fixture();
    [
        format!("{}.SHA256SUMS", sha256(fixture.shasums.as_bytes())),
        format!("{}.sig", sha256(&fixture.signature)),
    ]
}

fn contents() -> [Vec<u8>; 2] {
    let fixture = fixture();
    [fixture.shasums.into_bytes(), fixture.signature]
}

/// Returns a response, without the headers that a HEAD adds to.
fn parts(response: &Response) -> (u16, Vec<(String, String)>) {
    let mut headers = response.headers.clone();
    headers.sort();
    (response.status, headers)
}

/// Returns the indices of checksum files.
fn indexed(memory: &Memory) -> BTreeMap<String, IndexDocument> {
    let mut documents = memory.documents();
    documents.retain(|key, _| key.starts_with("checksums/"));
    documents
}

fn operations(memory: &Memory) -> Vec<String> {
    let operations = memory.operations();
    memory.forget_operations();
    operations
}

#[test]
fn both_files_are_read_from_kv_alone() {
    let worker = [&S3[..], &WORKER].concat();
    for vars in [&[], &S3[..], &worker] {
        let (memory, registry) = published(vars);
        for (index, path) in paths(&registry).iter().enumerate() {
            let (name, bytes) = (&names()[index], &contents()[index]);
            // The first request of an isolate reads the erased digests as well.
            registry.get(path).expect(200);
            memory.forget_operations();
            let whole = registry.get(path).expect(200);
            assert_eq!(whole.body, *bytes, "{vars:?}");
            assert_eq!(operations(&memory), [format!("KV get checksums/{name}")]);
            assert_eq!(memory.cache_seconds(), CHECKSUM_FILE_CACHE_SECONDS);
            let head = registry.send(&Sent::new("HEAD", path)).expect(200);
            assert_eq!(operations(&memory), [format!("KV get checksums/{name}")]);
            assert_eq!((head.body.len(), parts(&head)), (0, parts(&whole)));
            let length = bytes.len().to_string();
            assert_eq!(whole.header("content-length"), Some(length.as_str()));
        }
    }
}

#[test]
fn a_new_isolate_reads_a_file_and_the_erased_digests_at_once() {
    let (memory, registry) = published(&S3);
    let path = &paths(&registry)[0];
    // Writes the list of erased digests.
    registry.get(path).expect(200);
    let other = Registry::in_memory(&memory.elsewhere(), &S3);
    memory.forget_operations();
    let (answer, rounds) = memory.in_rounds(6, other.answer(&Sent::new("GET", path)));
    answer.expect(200);
    assert_eq!((operations(&memory).len(), rounds), (2, 1));
}

#[test]
fn where_archives_are_cached_so_are_both_files() {
    let (memory, registry) = published(&EDGE);
    memory.cache_archives();
    for path in paths(&registry) {
        registry.get(&path).expect(200);
        memory.forget_operations();
        registry.get(&path).expect(200);
        assert_eq!(operations(&memory), [""; 0]);
    }
}

#[test]
fn a_registry_without_a_secret_to_sign_with_leaves_both_files_to_the_bucket() {
    let (memory, _) = published(&[]);
    let mut vars = S3.to_vec();
    vars.push(("TERRACE_ADMIN_TOKEN", ""));
    let registry = Registry::in_memory(&memory, &vars);
    let download = format!("{}/1.0.0/download/linux/amd64", fixture().path());
    let json = registry.get(&download).expect(200).json();
    for field in ["shasums_url", "shasums_signature_url"] {
        let url = json[field].as_str().unwrap();
        assert!(url.contains("X-Amz-Signature="), "{url}");
    }
}

#[test]
fn a_missing_or_damaged_index_is_answered_from_the_bucket_and_written_after_the_response() {
    for damage in [None, Some("gone"), Some("Z29uZQ==")] {
        for vars in [&[], &S3[..]] {
            let (memory, registry) = published(vars);
            let written = indexed(&memory);
            for (index, path) in paths(&registry).iter().enumerate() {
                let key = format!("checksums/{}", names()[index]);
                let expected = parts(&registry.get(path).expect(200));
                match damage {
                    None => memory.lose_index(&key),
                    Some(text) => memory.put_index(&key, text),
                }
                memory.forget_operations();
                let answer = registry.get(path).expect(200);
                assert_eq!(answer.body, contents()[index]);
                assert_eq!(parts(&answer), expected);
                let opened = format!("R2 open archives/{}", names()[index]);
                assert!(operations(&memory).contains(&opened));
                registry.get(path).expect(200);
                assert_eq!(operations(&memory), [format!("KV get {key}")]);
            }
            assert_eq!(indexed(&memory), written);
        }
    }
}

#[test]
fn a_failure_of_kv_costs_nothing_but_time() {
    let (memory, registry) = published(&S3);
    for (index, path) in paths(&registry).iter().enumerate() {
        let fault = memory.fail("KV get", 0.., When::Before, Failure::Error);
        assert_eq!(registry.get(path).expect(200).body, contents()[index]);
        fault.lift();
    }
}

#[test]
fn a_range_is_cut_out_of_the_object() {
    let (memory, registry) = published(&S3);
    for (index, path) in paths(&registry).iter().enumerate() {
        memory.forget_operations();
        let part = registry.send(&Sent::new("GET", path).header("range", "bytes=1-3"));
        let part = part.expect(206);
        assert_eq!(part.body, contents()[index][1..4]);
        let reads = operations(&memory);
        assert!(
            !reads.iter().any(|it| it.contains("checksums/")),
            "{reads:?}"
        );
    }
}

#[test]
fn with_presigned_urls_the_registry_serves_downloads_of_these_files_and_nothing_else() {
    let (memory, registry) = published(&S3);
    let by_worker = Registry::in_memory(&memory, &[]);
    registry.get(&path(&by_worker, "download_url")).expect(404);
    for path in paths(&registry) {
        registry
            .send(&Sent::new("PUT", &path).body("x"))
            .expect(404);
        let forged = path.replace(".SHA256SUMS", ".sig");
        let forged = if forged == path {
            path.replace(".sig", ".SHA256SUMS")
        } else {
            forged
        };
        registry.get(&forged).expect(404);
        memory.advance(901);
        registry.get(&path).expect(403);
    }
}

#[test]
fn a_publish_succeeds_without_these_indices_and_a_task_writes_them() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &S3);
    let fixture = fixture();
    fixture.add_key(&registry);
    fixture.upload(&registry);
    memory.fail("KV put checksums/", 0..2, When::Before, Failure::Error);
    fixture.put(&registry).expect(201);
    let indices = indexed(&memory);
    for (name, path) in names().iter().zip(paths(&registry)) {
        assert!(indices.contains_key(&format!("checksums/{name}")));
        registry.get(&path).expect(200);
    }
}

#[test]
fn the_files_of_mirrored_providers_are_not_indexed() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    MirrorFixture::of(fixture()).publish(&registry);
    // An export downloads all archives.
    let listed = registry.admin("GET", "/admin/v1/archives?urls=true", None);
    let listed = listed.expect(200).json();
    for archive in listed["archives"].as_array().unwrap() {
        registry.get(archive["url"].as_str().unwrap()).expect(200);
    }
    assert_eq!(indexed(&memory).len(), 0);
}

#[test]
fn a_whole_reindex_writes_missing_indices_and_a_repair_of_everything_the_same_bytes() {
    let (memory, registry) = published(&S3);
    let written = indexed(&memory);
    for name in names() {
        memory.lose_index(&format!("checksums/{name}"));
    }
    let full = reindex_with(&registry, json!({ "full": true }));
    let version = "releases/providers/hosted/acme/widget/1.0.0";
    assert_eq!(full.rewritten, [version, "revocations"]);
    assert_eq!(indexed(&memory), written);
    let again = reindex_with(&registry, json!({ "full": true }));
    assert_eq!((again.rewritten, again.removed), (vec![], vec![]));
    memory.lose_indices();
    reindex(&registry);
    assert_eq!(indexed(&memory), written);
}

#[test]
fn a_file_that_was_erased_is_not_answered_and_leaves_no_index() {
    for vars in [&[], &S3[..], &EDGE] {
        let (memory, registry) = published(vars);
        let paths = paths(&registry);
        for path in &paths {
            registry.get(path).expect(200);
        }
        let keys = names().map(|name| format!("archives/{name}"));
        let body = json!({
            "package": "acme/widget",
            "version": "1.0.0",
            "reason": "a leaked key",
            "archives": keys,
        });
        let elsewhere = memory.elsewhere();
        let other = Registry::in_memory(&elsewhere, vars);
        other.get(&paths[0]).expect(200);
        let copies = memory.documents();
        post(&registry, "/admin/v1/erasures", &body).expect(200);
        assert_eq!(indexed(&memory).len(), 0);
        for path in &paths {
            registry.get(path).expect(404);
        }
        // Where KV still has the old value, the isolate knows the digest within a minute.
        for name in names() {
            let key = format!("checksums/{name}");
            memory.restore_index(&key, copies[&key].clone());
        }
        memory.advance(REVOCATIONS_SECONDS + u64::from(LIST_CACHE_SECONDS));
        for path in &paths {
            other.get(path).expect(404);
        }
        // The repair removes what a request has written too late.
        reindex(&registry);
        assert_eq!(indexed(&memory).len(), 0);
    }
}

#[test]
fn a_file_that_is_collected_as_garbage_loses_its_index() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let fixture = fixture();
    fixture.add_key(&registry);
    fixture.upload(&registry);
    // The publish fails after storing the files, before its commit.
    memory.fail("R2 put releases/", 0, When::Before, Failure::Error);
    fixture.put(&registry).expect(503);
    let name = &names()[0];
    let archive = format!("archives/{name}");
    // A read has written it, by a URL of a registry that had the release.
    memory.put_index(&format!("checksums/{name}"), "Z29uZQ==");
    post(
        &registry,
        "/admin/v1/garbage",
        &json!({ "mark": [archive] }),
    )
    .expect(200);
    memory.advance(GARBAGE_SECONDS);
    let since = memory.now_ms() / 1_000 - GARBAGE_SECONDS;
    let removal = json!({ "remove": [{ "key": archive, "marked_at": since }] });
    let removed = post(&registry, "/admin/v1/garbage", &removal).expect(200);
    assert_eq!(
        removed.json()["removed"][0],
        archive.as_str(),
        "{}",
        removed.text()
    );
    assert_eq!(indexed(&memory).len(), 0);
}

#[test]
fn an_index_that_is_written_during_an_erasure_does_not_outlive_it() {
    let (memory, registry) = published(&[]);
    let (name, path) = (&names()[0], &paths(&registry)[0]);
    let key = format!("checksums/{name}");
    registry.get(path).expect(200);
    memory.lose_index(&key);
    let world = memory.elsewhere();
    let archive = format!("archives/{name}");
    // The erasure comes between the read of the object and the write of its index.
    memory.before(format!("KV put {key}").as_str(), move || {
        let other = Registry::in_memory(&world, &[]);
        let body = json!({ "archives": [archive], "reason": "a leaked key" });
        post(&other, "/admin/v1/erasures", &body).expect(200);
    });
    registry.get(path).expect(200);
    assert!(!memory.indices().contains_key(&key));
}

#[test]
fn the_files_need_no_bucket_while_the_second_one_serves() {
    let memory = Memory::new();
    let vars = [&S3[..], &FALLBACK].concat();
    let registry = Registry::in_memory(&memory, &vars);
    fixture().publish(&registry);
    for _ in 0..10 {
        memory.advance(60);
        registry.run_repair_step();
    }
    let body = json!({ "serving": "fallback", "reason": "R2 is down" }).to_string();
    let switched = registry.admin("PUT", "/admin/v1/failover", Some(body.as_bytes()));
    switched.expect(200);
    memory.advance(60);
    let fault = memory.fail("R2", 0.., When::Before, Failure::Error);
    for (index, path) in paths(&registry).iter().enumerate() {
        assert_eq!(registry.get(path).expect(200).body, contents()[index]);
        memory.lose_index(&format!("checksums/{}", names()[index]));
        let redirect = registry.get(path).expect(302);
        let location = redirect.header("location").unwrap();
        assert!(location.starts_with(COPIES), "{location}");
    }
    fault.lift();
}
