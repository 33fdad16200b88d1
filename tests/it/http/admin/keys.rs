use serde_json::json;

use crate::support::ProviderFixture;
use crate::support::Registry;
use crate::support::Response;
use crate::support::fixtures::{Signer, add_key};
use crate::support::registry::unique;
use crate::support::statuses::set_status_because;

fn path(namespace: &str) -> String {
    format!("/admin/v1/namespaces/{namespace}/keys")
}

#[test]
fn keys_are_added_once_listed_with_their_addition_and_removed() {
    let (registry, namespace) = (Registry::start(), unique("k"));
    let list = || registry.admin("GET", &path(&namespace), None).expect(200);
    assert_eq!(list().json()["keys"], json!([]));
    let id = Signer::usual().key_id();
    add_key(&registry, &namespace, Signer::usual());
    let added = list().json()["added"][id.as_str()].clone();
    assert_eq!(added["by"], "root");
    assert!(added["at"].is_u64(), "{added}");
    add_key(&registry, &namespace, Signer::other());
    // The first addition counts, whoever sends the key again.
    add_key(&registry, &namespace, Signer::usual());
    let keys = list().json();
    assert_eq!(keys["added"][id.as_str()], added);
    let ids = [&id, &Signer::other().key_id()].map(|id| json!(id));
    let listed = keys["keys"].as_array().unwrap().iter();
    assert!(listed.map(|key| &key["key_id"]).eq(&ids), "{keys}");
    for signer in [Signer::usual(), Signer::other()] {
        let one = format!("{}/{}", path(&namespace), signer.key_id());
        registry.admin("DELETE", &one, None).expect(200);
        registry.admin("DELETE", &one, None).expect(404);
    }
    assert_eq!(list().json()["keys"], json!([]));
    assert_eq!(list().json().get("added"), None);
}

#[test]
fn an_invalid_status_of_a_key_is_rejected() {
    let (registry, namespace) = (Registry::start(), unique("k"));
    set_state(&registry, &namespace, Signer::usual(), "revoked").expect(404);
    add_key(&registry, &namespace, Signer::usual());
    let refused = set_state(&registry, &namespace, Signer::usual(), "withdrawn");
    refused.refuses(422, "retired, revoked or active");
    let path = format!(
        "{}/{}?after=zzz",
        path(&namespace),
        Signer::usual().key_id()
    );
    let body = json!({ "state": "revoked", "reason": "x" });
    registry.put(&path, &body).refuses(400, "after");
}

#[test]
fn a_text_that_is_not_a_public_key_is_rejected_with_the_reason() {
    let (registry, namespace) = (Registry::start(), unique("k"));
    for body in [
        b"".as_slice(),
        b"not a key",
        b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n",
    ] {
        let answer = registry
            .admin("PUT", &path(&namespace), Some(body))
            .expect(422);
        assert!(!answer.errors().is_empty());
    }
    registry
        .admin("PUT", &path(&namespace), Some(b"\xff\xff"))
        .expect(400);
}

#[test]
fn a_release_outlives_the_removal_of_its_key() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.publish(&registry);
    let one = format!("{}/{}", path(&fixture.namespace), Signer::usual().key_id());
    registry.admin("DELETE", &one, None).expect(200);
    registry.get(&fixture.download()).expect(200);
    fixture.put(&registry).expect(200);
    let next = ProviderFixture::of(&fixture.namespace, "widget", "1.0.1");
    next.put(&registry).expect(422);
}

fn set_state(registry: &Registry, namespace: &str, signer: &Signer, state: &str) -> Response {
    let path = format!("/admin/v1/namespaces/{namespace}/keys/{}", signer.key_id());
    set_status_because(registry, &path, state, "a laptop was stolen")
}

/// Returns a version that is signed by a key, which it registers.
fn signed(registry: &Registry, namespace: &str, version: &str, signer: &Signer) -> ProviderFixture {
    let mut fixture = ProviderFixture::of(namespace, "widget", version);
    fixture.sign(signer);
    add_key(registry, namespace, signer);
    fixture
}

/// Returns whether each of two versions is listed, and the status of each download.
fn seen(registry: &Registry, path: &str) -> ([bool; 2], [u16; 2]) {
    let list = registry.get(&format!("{path}/versions")).expect(200).text();
    let versions = ["1.0.0", "1.1.0"];
    let listed = versions.map(|version| list.contains(&format!("\"version\":\"{version}\"")));
    let statuses = versions.map(|version| {
        let download = registry.get(&format!("{path}/{version}/download/linux/amd64"));
        download.status
    });
    (listed, statuses)
}

#[test]
fn a_retired_key_keeps_its_releases_and_signs_no_new_ones() {
    let registry = Registry::start();
    let old = ProviderFixture::new("1.0.0");
    old.publish(&registry);
    let namespace = old.namespace.clone();
    let new = ProviderFixture::of(&namespace, "widget", "1.1.0");
    new.upload(&registry);
    set_state(&registry, &namespace, Signer::usual(), "retired").expect(200);
    registry.get(&old.download()).expect(200);
    old.put(&registry).expect(200);
    let refused = new.put(&registry);
    let errors = refused.refuses(422, "is retired for namespace");
    assert!(errors.contains("a laptop was stolen"), "{errors}");
    set_state(&registry, &namespace, Signer::usual(), "active").expect(200);
    new.put(&registry).expect(201);
}

#[test]
fn releases_of_a_revoked_key_are_410_with_the_reason_and_others_stay() {
    let registry = Registry::start();
    let first = ProviderFixture::new("1.0.0");
    first.publish(&registry);
    let namespace = first.namespace.clone();
    let second = signed(&registry, &namespace, "1.1.0", Signer::other());
    second.upload(&registry);
    second.put(&registry).expect(201);
    let both = ([true, true], [200, 200]);
    let without_first = ([false, true], [410, 200]);
    assert_eq!(seen(&registry, &first.path()), both);
    set_state(&registry, &namespace, Signer::usual(), "revoked").expect(200);
    assert_eq!(seen(&registry, &first.path()), without_first);
    let id = Signer::usual().key_id();
    let told = format!("its signing key {id} is revoked: a laptop was stolen");
    registry.get(&first.download()).refuses(410, &told);
    registry.get(&first.versions()).shows(200, &told);
    // Removing the key restores nothing, because its status remains.
    let path = format!("{}/{id}", path(&namespace));
    registry.admin("DELETE", &path, None).expect(200);
    assert_eq!(seen(&registry, &first.path()), without_first);
    set_state(&registry, &namespace, Signer::usual(), "active").expect(200);
    assert_eq!(seen(&registry, &first.path()), both);
}
