//! Providers that clients push as artifacts.

use serde_json::{Value, json};

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
    let packages = registry
        .get(&provider.mirror("1.2.0.json"))
        .expect(200)
        .json();
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
fn only_versions_that_can_be_installed_are_listed_14_1() {
    let registry = Registry::start();
    let provider = PushedProvider::new("1");
    let index = provider.prepare(&registry);
    let pushed = Pushed::of(&registry, &provider.repository());
    for tag in ["1.0", "latest", "v1.0.0", "20240101"] {
        provider.tag(&registry, tag, &index).expect(201);
        pushed.get(&format!("manifests/{tag}")).expect(200);
    }
    pushed.artifact("1.0.0_linux-amd64", b"layer", json!({}));
    assert_eq!(pushed.tags(), Vec::<String>::new());
    registry.get(&provider.mirror("index.json")).expect(404);
    provider.tag(&registry, "1.0.0", &index).expect(201);
    assert_eq!(pushed.tags(), ["1.0.0"]);
}

#[test]
fn a_provider_that_contradicts_a_mirrored_version_is_not_tagged() {
    let registry = Registry::start();
    let provider = PushedProvider::new("1");
    let index = provider.prepare(&registry);
    provider.tag(&registry, "1.0.0", &index).expect(201);
    let other = PushedProvider::of(&provider.namespace, "2");
    let contradicting = other.prepare(&registry);
    let refused = other.tag(&registry, "1.0.0", &contradicting).expect(409);
    assert_eq!(code(&refused), "DENIED");
    assert!(refused.text().contains("linux_amd64 has the sha256"));
    let pushed = Pushed::of(&registry, &provider.repository());
    assert_eq!(pushed.get("manifests/1.0.0").json(), index);
    other.tag(&registry, "1.0.1", &contradicting).expect(201);
    assert_eq!(pushed.tags(), ["1.0.0", "1.0.1"]);
}

#[test]
fn an_artifact_that_opentofu_cannot_install_is_rejected() {
    let registry = Registry::start();
    let provider = PushedProvider::new("1");
    let index = provider.prepare(&registry);
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut index = index.clone();
        change(&mut index);
        let refused = provider.tag(&registry, "1.0.0", &index).expect(400);
        assert_eq!(code(&refused), "MANIFEST_INVALID");
        refused.text()
    };
    let told = refused(&|index| index["manifests"] = json!([]));
    assert!(told.contains("1 to 64"), "{told}");
    let told = refused(&|index| index["manifests"][0]["platform"] = json!(null));
    assert!(told.contains("needs a platform"), "{told}");
    let told = refused(&|index| index["manifests"][0]["platform"]["os.version"] = json!("1"));
    assert!(told.contains("os.version"), "{told}");
    let told = refused(&|index| {
        let first = index["manifests"][0]["platform"].clone();
        index["manifests"][1]["platform"] = first;
    });
    assert!(told.contains("listed twice"), "{told}");
    let pushed = Pushed::of(&registry, &provider.repository());
    let target = pushed.artifact("target", b"no zip", json!({}));
    let told = refused(&|index| {
        index["manifests"][0]["digest"] = json!(digest(target.as_bytes()));
    });
    assert!(told.contains("artifactType"), "{told}");
    let broken = pushed.blob(b"no zip");
    let text = json!({
        "schemaVersion": 2,
        "artifactType": "application/vnd.opentofu.provider-target",
        "config": { "mediaType": "a/b", "digest": pushed.blob(b"{}"), "size": 2 },
        "layers": [{ "mediaType": "archive/zip", "digest": broken, "size": 6 }],
    })
    .to_string();
    pushed.put_manifest("broken", MANIFEST, &text).expect(201);
    let told = refused(&|index| {
        index["manifests"][0]["digest"] = json!(digest(text.as_bytes()));
    });
    assert!(told.contains("zip"), "{told}");
    registry.get(&provider.mirror("index.json")).expect(404);
}
