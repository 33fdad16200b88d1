//! Generated artifacts, with a view of their storage: rebuilds, new platforms, and blocked versions.

use crate::support::fixtures::sha256;
use crate::support::memory::Memory;
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry};

/// Returns the paths of all reads of a version in a repository: its tag, its manifests and its zips.
pub(crate) fn paths(registry: &Registry, repository: &str, version: &str) -> Vec<String> {
    let at = |digest: &serde_json::Value| digest.as_str().unwrap().to_owned();
    let tag = format!("/v2/{repository}/manifests/{version}");
    let index = registry.read(&tag);
    let mut paths = vec![format!("/v2/{repository}/tags/list"), tag];
    for descriptor in index["manifests"].as_array().unwrap() {
        let path = format!("/v2/{repository}/manifests/{}", at(&descriptor["digest"]));
        let manifest = registry.read(&path);
        paths.push(path);
        let layer = at(&manifest["layers"][0]["digest"]);
        paths.push(format!("/v2/{repository}/blobs/{layer}"));
    }
    paths
}

fn published() -> (Memory, Registry, Vec<String>) {
    let (memory, registry) = Registry::with_memory(&[]);
    let provider = ProviderFixture::new("1.0.0");
    provider.publish(&registry);
    let repository = format!("providers/{}/widget", provider.namespace);
    let paths = paths(&registry, &repository, "1.0.0");
    (memory, registry, paths)
}

#[test]
fn a_lost_index_of_an_artifact_is_rebuilt_by_the_next_read_also_without_metadata() {
    let (memory, registry, paths) = published();
    for (path, loses_metadata) in paths.iter().flat_map(|path| [(path, false), (path, true)]) {
        let before = registry.get(path);
        memory.lose_indices();
        if loses_metadata {
            memory.lose_metadata();
        }
        let found = registry.get(path).expect(before.status);
        let found = (found.body, found.headers);
        assert_eq!(found, (before.body, before.headers), "{path}");
        memory.forget_operations();
        registry.get(path).expect(before.status);
        assert_eq!(memory.operations().len(), 1, "{path}");
    }
}

/// The tag follows the mirrored platforms; a manifest that a client has resolved remains readable.
#[test]
fn a_new_platform_adds_a_manifest() {
    let (_, registry) = Registry::with_memory(&[]);
    let fixture = MirrorFixture::new("1.0.0");
    fixture.clone().only("amd64").publish(&registry);
    let repository = format!("providers/{}", fixture.address());
    let before = paths(&registry, &repository, "1.0.0");
    let tag = format!("/v2/{repository}/manifests/1.0.0");
    let old = registry
        .head(&tag)
        .header("docker-content-digest")
        .unwrap()
        .to_owned();
    fixture.clone().only("arm64").publish(&registry);
    let after = paths(&registry, &repository, "1.0.0");
    assert_eq!((before.len(), after.len()), (4, 6));
    assert!(before.iter().all(|path| after.contains(path)));
    registry
        .get(&format!("/v2/{repository}/manifests/{old}"))
        .expect(200);
}

/// Two versions may share bytes, and two digests may share their beginning.
#[test]
fn a_digest_is_found_in_any_version() {
    let (memory, registry) = Registry::with_memory(&[]);
    let first = ModuleFixture::new("1.0.0");
    first.publish(&registry);
    let second = ModuleFixture::of(first.address.split('/').next().unwrap(), "1.1.0");
    second.publish(&registry);
    let digest = sha256(&first.archive);
    let path = |digest: &str| format!("/v2/modules/{}/blobs/sha256:{digest}", first.address);
    memory.lose_indices();
    registry.get(&path(&digest)).expect(307);
    memory.lose_indices();
    let alike: String = digest
        .chars()
        .take(10)
        .chain("0".repeat(54).chars())
        .collect();
    registry.get(&path(&alike)).expect(404);
}
