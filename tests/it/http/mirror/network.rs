//! The provider network mirror protocol, for hosted and for mirrored providers.

use serde_json::json;

use crate::support::fixtures::sha256;
use crate::support::registry::Sent;
use crate::support::{MirrorFixture, ProviderFixture, Registry};

fn mirrored(version: &str) -> (Registry, MirrorFixture) {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new(version));
    fixture.publish(&registry);
    (registry, fixture)
}

#[test]
fn an_index_lists_the_versions_as_json_5_2_5_3() {
    let (registry, fixture) = mirrored("1.2.3");
    let later = ProviderFixture::of(&fixture.origin.namespace, "widget", "1.10.0");
    MirrorFixture::of(later).publish(&registry);
    let response = registry.get(&fixture.index()).expect(200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.text(), r#"{"versions":{"1.2.3":{},"1.10.0":{}}}"#);
    let etag = response.header("etag").unwrap();
    let index = fixture.index();
    let upper = index.replace("registry.example", "Registry.Example");
    let again = Sent::new("GET", &upper).header("if-none-match", etag);
    assert!(registry.send(&again).expect(304).body.is_empty());
    // It is not a hosted one.
    let hosted = format!("{}/versions", fixture.origin.path());
    registry.get(&hosted).expect(404);
}

#[test]
fn packages_have_an_absolute_url_and_their_hashes_5_4_5_8() {
    let (registry, fixture) = mirrored("1.2.3");
    let response = registry.get(&fixture.packages()).expect(200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let json = response.json();
    for (name, os, arch, zip) in &fixture.origin.packages {
        let archive = &json["archives"][format!("{os}_{arch}")];
        assert_eq!(
            archive["hashes"],
            json!([format!("zh:{}", sha256(zip))]),
            "{name}"
        );
        let url = archive["url"].as_str().unwrap();
        assert!(url.starts_with("http"), "{url}");
        assert_eq!(registry.get(url).expect(200).body, *zip);
    }
}

#[test]
fn a_hash_of_the_contents_is_listed_if_it_is_known_5_8() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    let h1 = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    let mut body = fixture.description();
    body["packages"][0]["h1"] = json!(h1);
    fixture.upload(&registry);
    registry.put(&fixture.admin_path(), &body).expect(201);
    let json = registry.read(&fixture.packages());
    let zh = format!("zh:{}", sha256(&fixture.origin.packages[0].3));
    assert_eq!(json["archives"]["linux_amd64"]["hashes"], json!([zh, h1]));
}

#[test]
fn hosted_providers_are_mirrored_under_the_registrys_own_hostname() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.publish(&registry);
    let base = format!(
        "/mirror/{}/{}/widget",
        registry.hostname(),
        fixture.namespace
    );
    let index = registry.get(&format!("{base}/index.json")).expect(200);
    assert_eq!(index.text(), r#"{"versions":{"1.0.0":{}}}"#);
    let json = registry.read(&format!("{base}/1.0.0.json"));
    let url = json["archives"]["linux_arm64"]["url"].as_str().unwrap();
    assert_eq!(registry.get(url).expect(200).body, fixture.packages[1].3);
    // Under another hostname the same name is a different provider.
    let other = format!("/mirror/registry.example.com/{}/widget", fixture.namespace);
    registry.get(&format!("{other}/index.json")).expect(404);
}

#[test]
fn a_missing_provider_is_404_so_that_clients_try_the_next_method_5_5() {
    let (registry, fixture) = mirrored("1.0.0");
    for path in [
        "/mirror/registry.example.com/nobody/nothing/index.json".to_owned(),
        "/mirror/registry.example.com/nobody/nothing/1.0.0.json".to_owned(),
        fixture.packages().replace("1.0.0", "9.9.9"),
        "/mirror/no-dot/acme/widget/index.json".to_owned(),
        "/mirror/registry.test:8443/acme/widget/index.json".to_owned(),
        "/mirror/registry.example.com/a--b/widget/index.json".to_owned(),
        "/mirror/registry.example.com/acme/widget/latest.json".to_owned(),
        "/mirror/registry.example.com/acme/widget/index.html".to_owned(),
        "/mirror/registry.example.com/acme/widget".to_owned(),
    ] {
        registry.get(&path).expect(404);
        let token = Sent::new("GET", &path).header("authorization", "Bearer wrong");
        assert_eq!(registry.send(&token).status, 404, "{path}");
    }
}

#[test]
fn the_base_url_shows_the_client_configuration_5_1() {
    let registry = Registry::start();
    for path in ["/mirror", "/mirror/"] {
        let page = registry.get(path).expect(200).text();
        assert!(
            page.contains("network_mirror") && page.contains("/mirror/\""),
            "{page}"
        );
    }
}
