//! Discovery and version lists of other registries' providers, under a path for each origin.

use serde_json::json;

use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry};

fn versions(address: &str) -> String {
    let (hostname, provider) = address.split_once('/').unwrap();
    format!("/origins/{hostname}/v1/providers/{provider}/versions")
}

#[test]
fn discovery_of_an_origin_names_an_absolute_url_that_lists_its_providers() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.2.3"));
    fixture.publish(&registry);
    let hostname = fixture.address().split('/').next().unwrap().to_owned();
    let path = format!("/origins/{hostname}/.well-known/terraform.json");
    let response = registry.get(&path).expect(200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    let services = response.json();
    assert_eq!(services.as_object().unwrap().len(), 1, "{services}");
    let service = services["providers.v1"].as_str().unwrap();
    assert!(service.starts_with("http"), "{service}");
    let provider = fixture.address().split_once('/').unwrap().1.to_owned();
    registry
        .get(&format!("{service}{provider}/versions"))
        .expect(200);
}

#[test]
fn a_mirrored_provider_is_listed_as_its_registry_would_list_it() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.9.0"));
    fixture.publish(&registry);
    let later = ProviderFixture::of(&fixture.origin.namespace, "widget", "1.10.0");
    MirrorFixture::of(later).publish(&registry);
    let response = registry.get(&versions(&fixture.address())).expect(200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    let listed = |version| json!({ "version": version, "protocols": [], "platforms": [] });
    let expected = json!({ "versions": [listed("1.9.0"), listed("1.10.0")] });
    assert_eq!(response.json(), expected);
}

#[test]
fn the_registrys_own_hostname_lists_its_own_providers() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.publish(&registry);
    let address = format!("{}/{}/widget", registry.hostname(), fixture.namespace);
    let list = registry.get(&versions(&address)).expect(200).json();
    assert_eq!(list["versions"][0]["version"], "1.0.0");
}

#[test]
fn head_of_each_new_read_has_the_headers_of_get_and_no_body() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.2.3"));
    fixture.publish(&registry);
    let hosted = ProviderFixture::new("1.0.0");
    hosted.publish(&registry);
    let module = ModuleFixture::new("1.0.0");
    module.publish(&registry);
    let hostname = fixture.address().split('/').next().unwrap().to_owned();
    for path in [
        format!("/origins/{hostname}/.well-known/terraform.json"),
        versions(&fixture.address()),
        versions("registry.example.com/acme/nothing"),
        format!("{}/1.0.0", hosted.path()),
        format!("{}/download", module.path()),
    ] {
        let (get, head) = (registry.get(&path), registry.head(&path));
        assert_eq!(head.status, get.status, "{path}");
        for name in ["content-type", "cache-control", "location"] {
            assert_eq!(head.header(name), get.header(name), "{path}: {name}");
        }
        assert!(head.body.is_empty(), "{path}");
    }
}

#[test]
fn an_unknown_mirrored_provider_is_404() {
    let registry = Registry::start();
    let response = registry.get(&versions("registry.example.com/acme/nothing"));
    let errors = response.expect(404).errors();
    assert!(
        errors.contains("registry.example.com/acme/nothing"),
        "{errors}"
    );
}

#[test]
fn a_hostname_that_cannot_exist_is_404() {
    let registry = Registry::start();
    registry
        .get("/origins/a_b/.well-known/terraform.json")
        .expect(404);
    registry
        .get("/origins/localhost/v1/providers/a/b/versions")
        .expect(404);
}
