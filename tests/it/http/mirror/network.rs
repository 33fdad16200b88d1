//! The provider network mirror protocol, for hosted and for mirrored providers.

use serde_json::json;

use crate::support::fixtures::sha256;
use crate::support::registry::Sent;
use crate::support::reindexed::reindex_with;
use crate::support::tokens::add_rule;
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
    registry
        .admin(
            "PUT",
            &fixture.admin_path(),
            Some(body.to_string().as_bytes()),
        )
        .expect(201);
    let json = registry.get(&fixture.packages()).expect(200).json();
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
    let json = registry
        .get(&format!("{base}/1.0.0.json"))
        .expect(200)
        .json();
    let url = json["archives"]["linux_arm64"]["url"].as_str().unwrap();
    assert_eq!(registry.get(url).expect(200).body, fixture.packages[1].3);
    // Under another hostname the same name is a different provider.
    let other = format!("/mirror/registry.example.com/{}/widget", fixture.namespace);
    registry.get(&format!("{other}/index.json")).expect(404);
}

#[test]
fn a_mirrored_provider_is_not_listed_as_a_hosted_one() {
    let (registry, fixture) = mirrored("1.0.0");
    let path = fixture.origin.path();
    registry.get(&format!("{path}/versions")).expect(404);
    registry
        .get(&format!("{path}/1.0.0/download/linux/amd64"))
        .expect(404);
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
fn names_are_matched_as_clients_normalise_them_2_1_7() {
    let (registry, fixture) = mirrored("1.0.0");
    let upper = fixture
        .index()
        .replace("registry.example", "Registry.Example");
    registry.get(&upper).expect(200);
}

#[test]
fn an_unchanged_index_is_304() {
    let (registry, fixture) = mirrored("1.0.0");
    let etag = registry.get(&fixture.index()).expect(200);
    let etag = etag.header("etag").unwrap().to_owned();
    let again = Sent::new("GET", &fixture.index()).header("if-none-match", &etag);
    assert!(registry.send(&again).expect(304).body.is_empty());
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

#[test]
fn a_mirror_url_without_its_final_slash_is_rejected_with_a_hint_5_1() {
    let (registry, fixture) = mirrored("1.0.0");
    let path = fixture.index().replacen("/mirror", "", 1);
    let hint = registry.get(&path).expect(400).errors();
    assert!(hint.contains("must end in a slash"), "{hint}");
}

#[test]
fn the_providers_of_a_blocked_namespace_are_missing_with_the_reason_until_the_rule_is_removed_5_5()
{
    let (registry, fixture) = mirrored("1.0.0");
    let namespace = format!("{}/{}", fixture.hostname, fixture.origin.namespace);
    let rule = json!({ "providers": namespace, "reason": "see SEC-12" });
    let added = add_rule(&registry, "block", &rule).expect(201);
    let again = add_rule(&registry, "block", &rule).expect(200);
    assert_eq!(added.json()["id"], again.json()["id"]);
    assert_eq!(added.json()["rule"], rule);
    let package = json!({ "package": fixture.address() });
    reindex_with(&registry, package.clone());
    for path in [fixture.index(), fixture.packages()] {
        let errors = registry.get(&path).expect(404).errors();
        assert!(errors.contains("see SEC-12"), "{path}: {errors}");
    }
    let path = added.header("location").unwrap();
    registry.admin("DELETE", path, None).expect(200);
    reindex_with(&registry, package);
    for path in [fixture.index(), fixture.packages()] {
        registry.get(&path).expect(200);
    }
}
