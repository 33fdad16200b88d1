use serde_json::json;

use crate::support::fixtures::{Signer, sha256};
use crate::support::registry::Sent;
use crate::support::{ProviderFixture, Registry, Response};

fn published(version: &str) -> (Registry, ProviderFixture) {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new(version));
    fixture.publish(&registry);
    (registry, fixture)
}

fn download(
    registry: &Registry,
    fixture: &ProviderFixture,
    version: &str,
    platform: &str,
) -> Response {
    registry.get(&format!("{}/{version}/download/{platform}", fixture.path()))
}

#[test]
fn versions_list_protocols_and_platforms_2_1_1_2_1_2() {
    let (registry, fixture) = published("1.2.3");
    let response = registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    let platforms = json!([{ "os": "linux", "arch": "amd64" }, { "os": "linux", "arch": "arm64" }]);
    let version =
        json!({ "version": "1.2.3", "protocols": ["5.0", "6.0"], "platforms": platforms });
    assert_eq!(response.json(), json!({ "versions": [version] }));
}

#[test]
fn versions_are_in_order_and_without_a_leading_v_2_1_3() {
    let registry = Registry::start();
    let first = ProviderFixture::new("1.10.0");
    first.publish(&registry);
    for version in ["1.9.0", "1.10.0-rc.1"] {
        ProviderFixture::of(&first.namespace, "widget", version).publish(&registry);
    }
    let json = registry.get(&format!("{}/versions", first.path())).json();
    let listed: Vec<&str> = json["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["version"].as_str().unwrap())
        .collect();
    assert_eq!(listed, ["1.9.0", "1.10.0-rc.1", "1.10.0"]);
}

#[test]
fn a_short_version_is_resolved_to_the_canonical_one_2_1_3() {
    let (registry, fixture) = published("1.0.0");
    for asked in ["1.0.0", "1.0", "1", "v1.0.0"] {
        download(&registry, &fixture, asked, "linux/amd64").expect(200);
    }
}

#[test]
fn build_metadata_and_prereleases_are_served_under_their_raw_text_2_1_4() {
    for version in ["1.0.0-beta.2", "1.0.0+build.7"] {
        let (registry, fixture) = published(version);
        let json = download(&registry, &fixture, version, "linux/amd64")
            .expect(200)
            .json();
        let filename = format!("terraform-provider-widget_{version}_linux_amd64.zip");
        assert_eq!(json["filename"], filename.as_str());
    }
}

#[test]
fn an_unknown_provider_is_404_2_1_5() {
    let registry = Registry::start();
    let response = registry
        .get("/v1/providers/nobody/nothing/versions")
        .expect(404);
    assert!(response.errors().contains("nobody/nothing"));
}

#[test]
fn reads_ignore_a_wrong_token_2_1_5() {
    let (registry, fixture) = published("1.0.0");
    for path in ["versions", "1.0.0/download/linux/amd64"] {
        let path = format!("{}/{path}", fixture.path());
        let sent = Sent::new("GET", &path).header("authorization", "Bearer stale");
        registry.send(&sent).expect(200);
    }
}

#[test]
fn names_match_without_regard_to_case_2_1_7() {
    let (registry, fixture) = published("1.0.0");
    let path = format!(
        "/v1/providers/{}/WidGet/versions",
        fixture.namespace.to_uppercase()
    );
    registry.get(&path).expect(200);
}

#[test]
fn a_download_echoes_os_and_arch_2_2_1() {
    let (registry, fixture) = published("1.0.0");
    let json = download(&registry, &fixture, "1.0.0", "linux/arm64")
        .expect(200)
        .json();
    assert_eq!(
        (&json["os"], &json["arch"]),
        (&json!("linux"), &json!("arm64"))
    );
}

#[test]
fn a_missing_platform_or_version_is_404_and_names_those_that_exist_2_2_1() {
    let (registry, fixture) = published("1.0.0");
    let response = download(&registry, &fixture, "1.0.0", "plan9/386").expect(404);
    assert!(
        response.errors().contains("linux_amd64, linux_arm64"),
        "{}",
        response.text()
    );
    download(&registry, &fixture, "1.0.1", "linux/amd64").expect(404);
}

#[test]
fn a_download_has_every_field_that_clients_read_2_2_2() {
    let (registry, fixture) = published("1.0.0");
    let json = download(&registry, &fixture, "1.0.0", "linux/amd64")
        .expect(200)
        .json();
    assert_eq!(json["protocols"], json!(["5.0", "6.0"]));
    assert_eq!(json["filename"], fixture.packages[0].0.as_str());
    assert_eq!(json["shasum"], sha256(&fixture.packages[0].3).as_str());
    let keys = json["signing_keys"]["gpg_public_keys"].as_array().unwrap();
    assert_eq!(keys[0]["key_id"], Signer::usual().key_id().as_str());
    for url in ["download_url", "shasums_url", "shasums_signature_url"] {
        assert!(json[url].is_string(), "{url}");
    }
}

#[test]
fn a_download_lists_a_protocol_that_clients_support_2_2_3() {
    let (registry, fixture) = published("1.0.0");
    let json = download(&registry, &fixture, "1.0.0", "linux/amd64").json();
    let protocols = json["protocols"].as_array().unwrap();
    assert!(
        protocols
            .iter()
            .any(|p| p.as_str().unwrap().starts_with(['5', '6']))
    );
}

#[test]
fn the_urls_are_absolute_and_fetch_the_published_bytes_without_a_token_2_2_4_2_2_6() {
    let (registry, fixture) = published("1.0.0");
    let json = download(&registry, &fixture, "1.0.0", "linux/amd64").json();
    let fetch = |name: &str| {
        let url = json[name].as_str().unwrap();
        assert!(
            url.starts_with("http://") || url.starts_with("https://"),
            "{url}"
        );
        registry.get(url).expect(200).body
    };
    assert_eq!(fetch("download_url"), fixture.packages[0].3);
    assert_eq!(fetch("shasums_url"), fixture.shasums.as_bytes());
    assert_eq!(fetch("shasums_signature_url"), fixture.signature);
}

#[test]
fn the_shasum_is_lower_case_2_2_5() {
    let (registry, mut fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture = {
        let upper = fixture
            .shasums
            .lines()
            .map(|line| {
                let (digest, name) = line.split_once("  ").unwrap();
                format!("{}  {name}\n", digest.to_uppercase())
            })
            .collect();
        fixture.with_shasums(upper)
    };
    fixture.publish(&registry);
    let json = download(&registry, &fixture, "1.0.0", "linux/amd64").json();
    assert_eq!(json["shasum"], sha256(&fixture.packages[0].3).as_str());
}

#[test]
fn the_zip_has_its_true_length_2_2_7() {
    let (registry, fixture) = published("1.0.0");
    let json = download(&registry, &fixture, "1.0.0", "linux/amd64").json();
    let response = registry
        .get(json["download_url"].as_str().unwrap())
        .expect(200);
    let length = fixture.packages[0].3.len().to_string();
    assert_eq!(response.header("content-length"), Some(length.as_str()));
}

#[test]
fn head_of_the_zip_has_the_true_length_or_is_refused_2_2_8() {
    let (registry, fixture) = published("1.0.0");
    let json = download(&registry, &fixture, "1.0.0", "linux/amd64").json();
    let response = registry.head(json["download_url"].as_str().unwrap());
    if registry.is_presigned() {
        assert_eq!(response.status, 403);
    } else {
        let length = fixture.packages[0].3.len().to_string();
        assert_eq!(
            (response.status, response.header("content-length")),
            (200, Some(length.as_str()))
        );
    }
}

#[test]
fn the_signature_is_served_binary_2_3_3() {
    let (registry, fixture) = published("1.0.0");
    let json = download(&registry, &fixture, "1.0.0", "linux/amd64").json();
    let signature = registry
        .get(json["shasums_signature_url"].as_str().unwrap())
        .body;
    assert!(
        signature[0] & 0x80 != 0,
        "an OpenPGP packet has its first bit set"
    );
}

#[test]
fn every_element_has_one_key_and_there_is_at_least_one_2_3_5_2_3_6() {
    let (registry, fixture) = published("1.0.0");
    let json = download(&registry, &fixture, "1.0.0", "linux/amd64").json();
    let keys = json["signing_keys"]["gpg_public_keys"].as_array().unwrap();
    assert!(!keys.is_empty());
    for key in keys {
        let armor = key["ascii_armor"].as_str().unwrap();
        assert_eq!(
            armor
                .matches("-----BEGIN PGP PUBLIC KEY BLOCK-----")
                .count(),
            1,
            "{armor}"
        );
    }
}

#[test]
fn there_is_no_trust_signature_2_3_8() {
    let (registry, fixture) = published("1.0.0");
    let json = download(&registry, &fixture, "1.0.0", "linux/amd64").json();
    let key = &json["signing_keys"]["gpg_public_keys"][0];
    assert!(key.get("trust_signature").is_none_or(|value| value == ""));
}

/// Publishes with an `h1:` hash for `count` of the two platforms.
fn published_with_h1_of(count: usize) -> (Registry, ProviderFixture, Vec<String>) {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.add_key(&registry);
    fixture.upload(&registry);
    let digits = ["B", "C"].iter().take(count);
    let hashes: Vec<String> = digits
        .map(|digit| format!("h1:{}A=", digit.repeat(42)))
        .collect();
    let mut body = fixture.description();
    for (at, hash) in hashes.iter().enumerate() {
        body["packages"][at]["h1"] = json!(hash);
    }
    let body = body.to_string();
    let sent = registry.admin("PUT", &fixture.admin_path(), Some(body.as_bytes()));
    sent.expect(201);
    (registry, fixture, hashes)
}

#[test]
fn packages_list_both_hashes_and_the_size_of_every_platform_2_4_1_2_4_2_2_4_4() {
    let (registry, fixture, hashes) = published_with_h1_of(2);
    let json = download(&registry, &fixture, "1.0.0", "linux/amd64").json();
    let mut expected = serde_json::Map::new();
    for ((_, os, arch, zip), h1) in fixture.packages.iter().zip(hashes) {
        let zh = format!("zh:{}", sha256(zip));
        let package = json!({ "hashes": [zh, h1], "package_size": zip.len() });
        expected.insert(format!("{os}_{arch}"), package);
    }
    assert_eq!(json["packages"], serde_json::Value::Object(expected));
}

#[test]
fn packages_are_left_out_if_an_h1_hash_is_unknown_2_4_4() {
    for known in [0, 1] {
        let (registry, fixture, _) = published_with_h1_of(known);
        let json = download(&registry, &fixture, "1.0.0", "linux/amd64").json();
        assert_eq!(json.get("packages"), None, "{known} of 2 are known");
    }
}

#[test]
fn a_download_is_not_cached_because_its_urls_expire() {
    let (registry, fixture) = published("1.0.0");
    let response = download(&registry, &fixture, "1.0.0", "linux/amd64");
    assert_eq!(response.header("cache-control"), Some("no-store"));
}

#[test]
fn an_unchanged_list_is_304() {
    let (registry, fixture) = published("1.0.0");
    let path = format!("{}/versions", fixture.path());
    let first = registry.get(&path).expect(200);
    let etag = first.header("etag").expect("an etag").to_owned();
    for header in [
        etag.clone(),
        format!("W/{etag}"),
        format!("\"other\", {etag}"),
        "*".to_owned(),
    ] {
        let response = registry.send(&Sent::new("GET", &path).header("if-none-match", &header));
        assert_eq!(response.status, 304, "{header}");
        assert!(response.body.is_empty());
        assert_eq!(response.header("etag"), Some(etag.as_str()));
    }
    let response = registry.send(&Sent::new("GET", &path).header("if-none-match", "\"other\""));
    assert_eq!(response.status, 200);
}

#[test]
fn head_of_each_read_has_the_headers_of_get_and_no_body() {
    let (registry, fixture) = published("1.0.0");
    for path in [
        "versions",
        "1.0.0/download/linux/amd64",
        "9.9.9/download/linux/amd64",
    ] {
        let path = format!("{}/{path}", fixture.path());
        let (get, head) = (registry.get(&path), registry.head(&path));
        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"));
        assert!(head.body.is_empty());
    }
}
