//! Discovery and version lists of other registries' providers, under a path for each origin.

use serde_json::json;

use crate::support::{MirrorFixture, ProviderFixture, Registry};

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
    assert_eq!(services.as_object().unwrap().len(), 2, "{services}");
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
    let list = registry.read(&versions(&address));
    assert_eq!(list["versions"][0]["version"], "1.0.0");
    let nothing = "registry.example.com/acme/nothing";
    registry.get(&versions(nothing)).refuses(404, nothing);
    let impossible = "/origins/a_b/.well-known/terraform.json";
    registry.get(impossible).expect(404);
}
