//! Pushed providers: their storage operations, and the settings that allow them.

use serde_json::{Value, json};

use crate::support::Registry;
use crate::support::faults::{Failure, When};
use crate::support::memory::Memory;
use crate::support::pushed::{PushedProvider, code, digest};

/// With two tags, the second version could contradict a mirrored one after the first is written.
#[test]
fn a_provider_pushed_by_its_digest_gets_at_most_one_version() {
    let (memory, registry) = Registry::with_memory(&[]);
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

/// Reading the manifests first would be expensive: each may have 4 MiB.
#[test]
fn too_many_platforms_are_refused_before_they_are_read() {
    let (memory, registry) = Registry::with_memory(&[]);
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
fn zips_that_are_stored_concurrently_are_found() {
    let (memory, registry) = Registry::with_memory(&[]);
    let provider = PushedProvider::of("acme", "1");
    let index = provider.prepare(&registry);
    provider.tag(&registry, "1.0.0", &index).expect(201);
    let mut archives = memory.objects();
    archives.retain(|key, _| key.starts_with("archives/"));
    for key in archives.keys() {
        memory.remove_object(key);
    }
    let other = memory.clone();
    memory.before("R2 open oci/blobs/", move || {
        for (key, bytes) in &archives {
            other.put_object(key, bytes);
        }
        other.fail("R2 put archives/", 0, When::Before, Failure::Busy);
    });
    provider.tag(&registry, "1.0.1", &index).expect(201);
}

#[test]
fn repositories_accept_the_configured_providers() {
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
