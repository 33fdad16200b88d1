//! Statuses of releases: interrupted changes, and concurrent ones.

use serde_json::json;

use crate::support::faults::Operations;
use crate::support::fixtures::{Signer, sha256, zip_of};
use crate::support::memory::Memory;
use crate::support::pushed::{Pushed, PushedProvider};
use crate::support::statuses::{set_status, set_status_because, status_of};
use crate::support::{ModuleFixture, ProviderFixture, Registry, Response};

fn set_state(registry: &Registry, fixture: &ModuleFixture, version: &str, state: &str) -> Response {
    let path = status_of(&format!("modules/{}/{version}", fixture.address));
    set_status(registry, &path, state)
}

/// Publishes a module with two versions; the tests set the status of the first.
fn published() -> (Memory, Registry, ModuleFixture) {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::new("1.0.0");
    fixture.publish(&registry);
    let namespace = fixture.address.split('/').next().unwrap();
    ModuleFixture::of(namespace, "1.1.0").publish(&registry);
    (memory, registry, fixture)
}

/// Returns the clients' view of the first version: the status of its download and of its blob, and whether it
/// is listed.
fn seen(registry: &Registry, fixture: &ModuleFixture) -> (u16, u16, bool) {
    let download = registry.get(&fixture.download());
    let digest = sha256(&fixture.archive);
    let blob = format!("/v2/modules/{}/blobs/sha256:{digest}", fixture.address);
    let blob = registry.get(&blob);
    let list = registry.get(&fixture.versions()).expect(200);
    (download.status, blob.status, list.text().contains("1.0.0"))
}

/// The audit log records the change, and `terrace admin verify` looks for its document.
#[test]
fn an_active_version_set_to_active_leaves_the_document_of_the_recorded_change() {
    let (memory, registry, fixture) = published();
    let key = format!("statuses/modules/{}", fixture.address);
    assert!(!memory.keys().contains(&key));
    set_state(&registry, &fixture, "1.0.0", "active").expect(200);
    assert!(memory.keys().contains(&key));
    assert_eq!(seen(&registry, &fixture), (200, 307, true));
}

#[test]
fn a_reader_that_rebuilds_an_index_does_not_restore_a_version_revoked_meanwhile() {
    let (memory, registry, fixture) = published();
    memory.lose_indices();
    let (other, address) = (memory.clone(), fixture.address.clone());
    memory.before("KV put", move || {
        let registry = Registry::in_memory(&other, &[]);
        let path = status_of(&format!("modules/{address}/1.0.0"));
        set_status(&registry, &path, "revoked").expect(200);
    });
    // The read began before the revocation, so it may still succeed.
    registry.get(&fixture.download()).expect(200);
    assert_eq!(seen(&registry, &fixture), (410, 410, false));
}

#[test]
fn two_statuses_set_concurrently_are_both_kept() {
    let (memory, registry, fixture) = published();
    let (other, address) = (memory.clone(), fixture.address.clone());
    memory.before(Operations::Commits, move || {
        let registry = Registry::in_memory(&other, &[]);
        let path = status_of(&format!("modules/{address}/1.1.0"));
        set_status(&registry, &path, "revoked").expect(200);
    });
    set_state(&registry, &fixture, "1.0.0", "withdrawn").expect(200);
    let path = format!("/admin/v1/modules/{}/status", fixture.address);
    let statuses = registry.read_as_admin(&path);
    let states = ["1.0.0", "1.1.0"].map(|version| statuses["versions"][version]["state"].clone());
    assert_eq!(states, [json!("withdrawn"), json!("revoked")]);
}

#[test]
fn a_revoked_version_is_removed_from_its_pushed_repository_and_cannot_be_pushed_again() {
    let (memory, registry) = Registry::with_memory(&[]);
    let provider = PushedProvider::of("acme", "a zip");
    let index = provider.prepare(&registry);
    provider.tag(&registry, "1.0.0", &index).expect(201);
    let repository = format!("/v2/{}", provider.repository());
    let tagged = registry
        .get(&format!("{repository}/manifests/1.0.0"))
        .expect(200);
    let digest = tagged.header("docker-content-digest").unwrap().to_owned();
    let address = provider
        .repository()
        .replace("opentofu-providers", "registry.opentofu.org");
    let path = format!("/admin/v1/mirror/{address}/1.0.0/status");
    let set = |state: &str| {
        set_status_because(&registry, &path, state, "stolen").expect(200);
    };
    set("revoked");
    for reference in ["1.0.0", &digest] {
        registry
            .get(&format!("{repository}/manifests/{reference}"))
            .shows(410, "stolen");
    }
    let tags = registry.get(&format!("{repository}/tags/list"));
    assert!(!tags.text().contains("1.0.0"), "{}", tags.text());
    memory.lose_indices();
    registry
        .get(&format!("{repository}/manifests/1.0.0"))
        .expect(410);
    let refused = provider.tag(&registry, "1.0.0", &index);
    refused.shows(409, "is revoked: stolen");
    set("active");
    registry
        .get(&format!("{repository}/manifests/1.0.0"))
        .expect(200);
    provider.tag(&registry, "1.0.0", &index).expect(201);
}

#[test]
fn a_layer_with_urls_does_not_mirror_a_zip_of_another_repository() {
    let (_, registry) = Registry::with_memory(&[]);
    let theirs = PushedProvider::of("acme", "a secret");
    let secret = Pushed::of(&registry, "acme/private").blob(&theirs.zips[0].1);
    let repository = "opentofu-providers/evil/widget";
    let evil = Pushed::of(&registry, repository);
    let (manifest, index) = (
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.oci.image.index.v1+json",
    );
    let size = theirs.zips[0].1.len();
    let target = json!({
        "schemaVersion": 2, "mediaType": manifest,
        "artifactType": "application/vnd.opentofu.provider-target",
        "config": { "mediaType": "a/b", "digest": evil.blob(b"{}"), "size": 2 },
        "layers": [{
            "mediaType": "archive/zip", "digest": secret, "size": size,
            "urls": ["https://example.com/x"],
        }],
    })
    .to_string();
    let digest = crate::support::pushed::digest(target.as_bytes());
    evil.put_manifest(&digest, manifest, &target).expect(201);
    let whole = json!({
        "schemaVersion": 2, "mediaType": index, "artifactType": "application/vnd.opentofu.provider",
        "manifests": [{
            "mediaType": manifest, "digest": digest, "size": target.len(),
            "artifactType": "application/vnd.opentofu.provider-target",
            "platform": { "os": "linux", "architecture": "amd64" },
        }],
    });
    evil.put_manifest("1.0.0", index, &whole.to_string())
        .shows(400, "MANIFEST_BLOB_UNKNOWN");
    let mirror = "/mirror/registry.opentofu.org/evil/widget/1.0.0.json";
    registry.get(mirror).expect(404);
}

#[test]
fn a_status_set_again_returns_the_stored_one() {
    let (memory, registry) = Registry::with_memory(&[]);
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    let path = "/admin/v1/modules/acme/vpc/aws/1.0.0/status";
    let set = || set_status(&registry, path, "withdrawn").expect(200);
    let first = set().text();
    memory.advance(1000);
    assert_eq!(set().text(), first);
    let path = "/admin/v1/modules/acme/vpc/aws/status";
    assert_eq!(registry.admin("GET", path, None).text(), first);
}

/// A version with the platforms that GoReleaser builds by default has more than thirty indices. A copy of the bucket has lost
/// the metadata that names the keys of releases.
#[test]
fn a_key_is_revoked_in_steps_that_a_worker_can_take_even_without_metadata() {
    let (memory, registry) = Registry::with_memory(&[]);
    let all = ["darwin", "freebsd", "linux", "windows"];
    for minor in 0..45 {
        let mut provider = ProviderFixture::of("acme", "widget", &format!("1.{minor}.0"));
        provider.packages.clear();
        for (os, arch) in all
            .iter()
            .flat_map(|os| [(os, "386"), (os, "amd64"), (os, "arm64")])
        {
            let executable = format!("terraform-provider-widget_v1.{minor}.0");
            let content = format!("{minor} {os} {arch}");
            provider.add_package(os, arch, zip_of(&[(&executable, content.as_bytes())]));
        }
        provider.sign(Signer::usual());
        provider.publish(&registry);
    }
    memory.lose_metadata();
    let key = format!(
        "/admin/v1/namespaces/acme/keys/{}",
        Signer::usual().key_id()
    );
    let body = json!({ "state": "revoked", "reason": "stolen" });
    let mut path = key.clone();
    for _ in 0..10 {
        memory.forget_operations();
        let answer = registry.put(&path, &body).found();
        let count = memory.operations().len();
        assert!(count < 700, "{count}");
        match answer["next"].as_str() {
            Some(next) => path = format!("{key}?after={next}"),
            None => break,
        }
    }
    assert_ne!(path, key, "it takes several requests");
    let list = registry.read("/v1/providers/acme/widget/versions");
    assert_eq!(list["versions"], json!([]));
    for minor in 0..45 {
        let download = format!("/v1/providers/acme/widget/1.{minor}.0/download/linux/amd64");
        registry.get(&download).expect(410);
    }
}
