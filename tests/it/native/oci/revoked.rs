//! Blobs and manifests of revoked versions, by their digests.

use serde_json::{Value, json};

use crate::support::fixtures::{Signer, add_key, sha256, zip_of};
use crate::support::memory::Memory;
use crate::support::pushed::{Pushed, PushedProvider, digest};
use crate::support::registry::Registry;
use crate::support::reindexed::{reindex, reindex_with};
use crate::support::released::Released;
use crate::support::statuses::{set_status, set_status_because, status_of};
use crate::support::{ModuleFixture, ProviderFixture};

/// Publishes versions of a module that all have the same bytes. Returns the path of their blob.
fn with_same_bytes(registry: &Registry, versions: &[&str]) -> String {
    let zip = zip_of(&[("main.tf", b"# the same\n")]);
    for version in versions {
        let module = ModuleFixture::of("acme", version).with_zip(zip.clone());
        module.publish(registry);
    }
    format!("/v2/modules/acme/vpc/aws/blobs/sha256:{}", sha256(&zip))
}

fn set_module_state(registry: &Registry, version: &str, state: &str) {
    let path = status_of(&format!("modules/acme/vpc/aws/{version}"));
    set_status(registry, &path, state).expect(200);
}

/// Returns the status of a path with its index, without any index, and with the index that the second read
/// has written.
fn statuses(memory: &Memory, registry: &Registry, path: &str) -> [u16; 3] {
    let indexed = registry.get(path).status;
    memory.lose_indices();
    let missed = registry.get(path).status;
    // The third read uses the rebuilt index.
    [indexed, missed, registry.get(path).status]
}

#[test]
fn a_digest_of_a_revoked_version_is_410_until_the_version_is_restored() {
    for released in [
        Released::provider("1.0.0"),
        Released::mirrored("1.0.0"),
        Released::module("1.0.0"),
    ] {
        let (memory, registry) = Registry::with_memory(&[]);
        released.prepare(&registry);
        released.store_archives(&memory);
        let status = registry.send(&released.request(&registry)).status;
        assert_eq!(status, 201, "{released:?}");
        let paths = released.everything(&registry);
        assert!(paths.iter().any(|path| path.contains("/blobs/")));
        let before: Vec<u16> = paths.iter().map(|it| registry.get(it).status).collect();
        set_status_because(
            &registry,
            &released.status_path(Some("1.0.0")),
            "revoked",
            "it deletes",
        )
        .expect(200);
        for path in &paths {
            let gone = registry.get(path).expect(410);
            assert!(gone.text().contains("it deletes"), "{path} {}", gone.text());
            assert_eq!(gone.header("cache-control"), Some("no-store"), "{path}");
            assert_eq!(gone.header("location"), None, "{path}");
            registry.head(path).expect(410);
            memory.forget_operations();
            registry.get(path).expect(410);
            assert_eq!(memory.operations().len(), 1, "{path}");
            assert_eq!(statuses(&memory, &registry, path), [410; 3], "{path}");
        }
        set_status(&registry, &released.status_path(Some("1.0.0")), "active").expect(200);
        for (path, status) in paths.iter().zip(before) {
            assert_eq!(statuses(&memory, &registry, path), [status; 3], "{path}");
        }
    }
}

#[test]
fn bytes_of_two_versions_are_410_only_when_both_are_revoked() {
    let (memory, registry) = Registry::with_memory(&[]);
    let blob = with_same_bytes(&registry, &["1.0.0", "1.1.0"]);
    for (version, state, status) in [
        ("1.0.0", "revoked", 307),
        ("1.1.0", "revoked", 410),
        ("1.0.0", "active", 307),
        ("1.0.0", "revoked", 410),
        ("1.1.0", "active", 307),
        ("1.0.0", "active", 307),
        ("1.1.0", "revoked", 307),
        ("1.0.0", "revoked", 410),
    ] {
        set_module_state(&registry, version, state);
        let found = statuses(&memory, &registry, &blob);
        assert_eq!(found, [status; 3], "{version} {state}");
        let full = || reindex_with(&registry, json!({ "full": true })).rewritten;
        full();
        let (repaired, rewritten) = (memory.documents(), full());
        registry.get(&blob).expect(status);
        assert_eq!(rewritten, [""; 0], "{version} {state}");
        assert_eq!(memory.documents(), repaired, "{version} {state}");
    }
}

#[test]
fn bytes_of_a_revoked_version_are_served_again_after_another_publish() {
    let (memory, registry) = Registry::with_memory(&[]);
    let blob = with_same_bytes(&registry, &["1.0.0"]);
    set_module_state(&registry, "1.0.0", "revoked");
    registry.get(&blob).expect(410);
    with_same_bytes(&registry, &["1.1.0"]);
    assert_eq!(statuses(&memory, &registry, &blob), [307; 3]);
    reindex(&registry);
    registry.get(&blob).expect(307);
}

#[test]
fn bytes_of_two_versions_that_are_revoked_concurrently_are_410() {
    let (memory, registry) = Registry::with_memory(&[]);
    let blob = with_same_bytes(&registry, &["1.0.0", "1.1.0"]);
    let other = memory.clone();
    memory.before("KV put", move || {
        let registry = Registry::in_memory(&other, &[]);
        set_module_state(&registry, "1.1.0", "revoked");
    });
    set_module_state(&registry, "1.0.0", "revoked");
    assert_eq!(statuses(&memory, &registry, &blob), [410; 3]);
}

#[test]
fn an_old_index_of_a_revoked_blob_is_rewritten_by_a_full_repair() {
    let (memory, registry) = Registry::with_memory(&[]);
    let blob = with_same_bytes(&registry, &["1.0.0"]);
    let digest = blob.rsplit(':').next().unwrap();
    let key = format!("modules/acme/vpc/aws/sha256/{digest}");
    let open = memory.index(&key);
    reindex(&registry);
    set_module_state(&registry, "1.0.0", "revoked");
    memory.restore_index(&key, open);
    registry.get(&blob).expect(307);
    registry.merge_catalog();
    let rewritten = reindex_with(&registry, json!({ "full": true })).rewritten;
    assert_eq!(rewritten, ["releases/modules/acme/vpc/aws/1.0.0"]);
    registry.get(&blob).expect(410);
}

#[test]
fn a_blob_of_a_revoked_key_is_410_unless_another_key_has_signed_it() {
    let (memory, registry) = Registry::with_memory(&[]);
    let own = ProviderFixture::of("acme", "widget", "1.0.0");
    own.publish(&registry);
    let mut stolen =
        ProviderFixture::of("acme", "widget", "1.1.0").with_zip(own.packages[0].3.clone());
    stolen.add_package(
        "linux",
        "arm64",
        zip_of(&[("terraform-provider-widget_v1", b"stolen")]),
    );
    stolen.sign(Signer::other());
    add_key(&registry, "acme", Signer::other());
    stolen.upload(&registry);
    stolen.put(&registry).expect(201);
    let blob = |zip: &[u8]| format!("/v2/providers/acme/widget/blobs/sha256:{}", sha256(zip));
    let shared = blob(&own.packages[0].3);
    let only = blob(&zip_of(&[("terraform-provider-widget_v1", b"stolen")]));
    let revoke = |signer: &Signer, state: &str| {
        let path = format!("/admin/v1/namespaces/acme/keys/{}", signer.key_id());
        set_status(&registry, &path, state).expect(200);
    };
    for (signer, state, wanted) in [
        (Signer::other(), "revoked", (410, 307)),
        (Signer::usual(), "revoked", (410, 410)),
        (Signer::other(), "active", (307, 307)),
        (Signer::usual(), "active", (307, 307)),
    ] {
        revoke(signer, state);
        let found = [&only, &shared].map(|path| statuses(&memory, &registry, path));
        assert_eq!(found, [[wanted.0; 3], [wanted.1; 3]], "{state}");
    }
}

/// Returns the paths of a pushed provider's zips and of its platforms' manifests.
fn pushed_paths(registry: &Registry, provider: &PushedProvider, index: &Value) -> Vec<String> {
    let pushed = Pushed::of(registry, &provider.repository());
    let manifests = index["manifests"].as_array().unwrap().iter();
    let manifests =
        manifests.map(|it| pushed.path(&format!("manifests/{}", it["digest"].as_str().unwrap())));
    let zips = provider.zips.iter();
    let zips = zips.map(|(_, zip)| pushed.path(&format!("blobs/{}", digest(zip))));
    manifests.chain(zips).collect()
}

#[test]
fn zips_of_a_revoked_version_are_410_in_the_repository_that_they_were_pushed_to() {
    let (memory, registry) = Registry::with_memory(&[]);
    let old = PushedProvider::of("acme", "old");
    let mut new = PushedProvider::of("acme", "new");
    // Both versions have the same zip for this platform.
    new.zips[0] = old.zips[0].clone();
    let mut paths = Vec::new();
    for (provider, version) in [(&old, "1.0.0"), (&new, "1.1.0")] {
        let index = provider.prepare(&registry);
        provider.tag(&registry, version, &index).expect(201);
        paths.push(pushed_paths(&registry, provider, &index));
    }
    let [of_old, of_new] = [&paths[0], &paths[1]];
    // The manifest and the zip of the second platform, which the other version does not have.
    let only_old = [&of_old[1], &of_old[3]];
    let set_state = |version: &str, state: &str| {
        let path = status_of(&format!(
            "mirror/registry.opentofu.org/acme/widget/{version}"
        ));
        set_status(&registry, &path, state).expect(200);
    };
    let empty = Pushed::of(&registry, &old.repository()).path(&format!("blobs/{}", digest(b"{}")));
    set_state("1.0.0", "revoked");
    for path in only_old {
        registry.head(path).expect(410);
        assert_eq!(statuses(&memory, &registry, path), [410; 3], "{path}");
    }
    for path in of_new {
        let found = statuses(&memory, &registry, path);
        assert!(found == [200; 3] || found == [307; 3], "{path} {found:?}");
    }
    assert_eq!(statuses(&memory, &registry, &empty), [307; 3]);
    set_state("1.1.0", "revoked");
    for path in of_old.iter().chain(of_new) {
        assert_eq!(statuses(&memory, &registry, path), [410; 3], "{path}");
    }
    let full = || reindex_with(&registry, json!({ "full": true })).rewritten;
    full();
    assert_eq!(full(), [""; 0]);
    set_state("1.0.0", "active");
    for path in of_old {
        let found = statuses(&memory, &registry, path);
        assert!(found == [200; 3] || found == [307; 3], "{path} {found:?}");
    }
    let [manifest, zip] = [&of_new[1], &of_new[3]];
    assert_eq!(statuses(&memory, &registry, manifest), [410; 3]);
    assert_eq!(statuses(&memory, &registry, zip), [410; 3]);
}
