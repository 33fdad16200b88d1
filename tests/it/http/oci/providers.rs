//! Providers that clients push as artifacts.

use serde_json::json;

use super::{NOTHING, index_of, referring_to};
use crate::support::Registry;
use crate::support::pushed::{INDEX, MANIFEST, Pushed, PushedProvider, code, digest};
use crate::support::registry::unique;

#[test]
fn a_provider_manifest_requires_its_parts_in_the_repository() {
    let registry = Registry::start();
    let provider = PushedProvider::new("whole");
    let pushed = Pushed::of(&registry, &provider.repository());
    let manifest = referring_to(NOTHING);
    let refused = pushed.put_manifest("a", MANIFEST, &manifest).expect(400);
    assert_eq!(code(&refused), "MANIFEST_BLOB_UNKNOWN");
    assert!(refused.text().contains(NOTHING));
    let elsewhere = Pushed::new(&registry).blob(&unique("elsewhere").into_bytes());
    let refused = pushed.put_manifest("a", MANIFEST, &referring_to(&elsewhere));
    assert_eq!(code(&refused.expect(400)), "MANIFEST_BLOB_UNKNOWN");
    let refused = pushed.put_manifest("a", INDEX, &index_of(NOTHING));
    assert_eq!(code(&refused.expect(400)), "MANIFEST_BLOB_UNKNOWN");
    pushed.get("tags/list").expect(404);
}

/// One upload makes the provider available in every protocol.
#[test]
fn a_pushed_provider_is_in_the_network_mirror() {
    let registry = Registry::start();
    let provider = PushedProvider::new("1");
    let index = provider.prepare(&registry);
    registry.get(&provider.mirror("index.json")).expect(404);
    provider.tag(&registry, "1.2.0", &index).expect(201);
    let list = registry.get(&provider.mirror("index.json")).expect(200);
    assert_eq!(list.json(), json!({ "versions": { "1.2.0": {} } }));
    let packages = registry.read(&provider.mirror("1.2.0.json"));
    for (arch, zip) in &provider.zips {
        let url = packages["archives"][format!("linux_{arch}")]["url"]
            .as_str()
            .unwrap();
        assert_eq!(registry.get(url).expect(200).body, *zip);
    }
    // It is also in the repository that is generated from it.
    let repository = format!(
        "providers/registry.opentofu.org/{}/widget",
        provider.namespace
    );
    let tags = registry
        .get(&format!("/v2/{repository}/tags/list"))
        .expect(200);
    assert_eq!(tags.json()["tags"], json!(["1.2.0"]));
    // Pushing the same index again changes nothing.
    provider.tag(&registry, "1.2.0", &index).expect(201);
    let tag = provider.tag(&registry, "1.3.0_b.1", &index);
    tag.expect(201);
    let list = registry.get(&provider.mirror("index.json")).expect(200);
    assert_eq!(
        list.json(),
        json!({ "versions": { "1.2.0": {}, "1.3.0+b.1": {} } })
    );
}

#[test]
fn an_artifact_that_opentofu_cannot_install_is_rejected() {
    let registry = Registry::start();
    let provider = PushedProvider::new("1");
    let index = provider.prepare(&registry);
    let pushed = Pushed::of(&registry, &provider.repository());
    let target = pushed.artifact("target", b"no zip", json!({}));
    let broken = json!({
        "schemaVersion": 2,
        "artifactType": "application/vnd.opentofu.provider-target",
        "config": { "mediaType": "a/b", "digest": pushed.blob(b"{}"), "size": 2 },
        "layers": [{ "mediaType": "archive/zip", "digest": pushed.blob(b"no zip"), "size": 6 }],
    })
    .to_string();
    pushed.put_manifest("broken", MANIFEST, &broken).expect(201);
    let first = index["manifests"][0]["platform"].clone();
    for (pointer, value, reason) in [
        ("/manifests", json!([]), "1 to 64"),
        ("/manifests/0/platform", json!(null), "needs a platform"),
        ("/manifests/1/platform", first, "listed twice"),
        (
            "/manifests/0/digest",
            json!(digest(target.as_bytes())),
            "artifactType",
        ),
        (
            "/manifests/0/digest",
            json!(digest(broken.as_bytes())),
            "zip",
        ),
    ] {
        let mut index = index.clone();
        *index.pointer_mut(pointer).unwrap() = value;
        let refused = provider.tag(&registry, "1.0.0", &index).expect(400);
        assert_eq!(code(&refused), "MANIFEST_INVALID");
        assert!(refused.text().contains(reason), "{}", refused.text());
    }
    registry.get(&provider.mirror("index.json")).expect(404);
    // Nor is one that contradicts a mirrored version.
    provider.tag(&registry, "1.0.0", &index).expect(201);
    let other = PushedProvider::of(&provider.namespace, "2");
    let contradicting = other.prepare(&registry);
    let refused = other.tag(&registry, "1.0.0", &contradicting).expect(409);
    assert_eq!(code(&refused), "DENIED");
    assert!(refused.text().contains("linux_amd64 has the sha256"));
    assert_eq!(pushed.get("manifests/1.0.0").json(), index);
}
