use crate::support::ProviderFixture;
use crate::support::Registry;
use crate::support::fixtures::{Signer, add_key};
use crate::support::registry::unique;

fn path(namespace: &str) -> String {
    format!("/admin/v1/namespaces/{namespace}/keys")
}

#[test]
fn keys_are_added_listed_and_removed() {
    let (registry, namespace) = (Registry::start(), unique("k"));
    let list = || {
        registry
            .admin("GET", &path(&namespace), None)
            .expect(200)
            .json()
    };
    assert_eq!(list()["keys"].as_array().unwrap().len(), 0);
    add_key(&registry, &namespace, Signer::usual());
    add_key(&registry, &namespace, Signer::other());
    let keys = list();
    assert_eq!(keys["keys"][0]["key_id"], Signer::usual().key_id().as_str());
    assert_eq!(keys["keys"][1]["key_id"], Signer::other().key_id().as_str());
    let one = format!("{}/{}", path(&namespace), Signer::usual().key_id());
    registry.admin("DELETE", &one, None).expect(200);
    assert_eq!(list()["keys"].as_array().unwrap().len(), 1);
    registry.admin("DELETE", &one, None).expect(404);
}

#[test]
fn adding_a_key_again_changes_nothing() {
    let (registry, namespace) = (Registry::start(), unique("k"));
    add_key(&registry, &namespace, Signer::usual());
    add_key(&registry, &namespace, Signer::usual());
    let keys = registry.admin("GET", &path(&namespace), None).json();
    assert_eq!(keys["keys"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_no_public_key_is_refused_with_the_reason() {
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
        .admin("PUT", &path(&namespace), Some(b"\xff\xfe"))
        .expect(400);
}

#[test]
fn a_release_outlives_the_removal_of_its_key() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.publish(&registry);
    let one = format!("{}/{}", path(&fixture.namespace), Signer::usual().key_id());
    registry.admin("DELETE", &one, None).expect(200);
    registry
        .get(&format!("{}/1.0.0/download/linux/amd64", fixture.path()))
        .expect(200);
    fixture.put(&registry).expect(200);
    let next = ProviderFixture::of(&fixture.namespace, "widget", "1.0.1");
    next.put(&registry).expect(422);
}
