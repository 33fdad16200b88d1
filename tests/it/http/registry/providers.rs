use serde_json::json;

use crate::support::fixtures::{Signer, armoured, sha256};
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
    let response = registry.get(&fixture.versions()).expect(200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    let platforms = json!([{ "os": "linux", "arch": "amd64" }, { "os": "linux", "arch": "arm64" }]);
    let version =
        json!({ "version": "1.2.3", "protocols": ["5.0", "6.0"], "platforms": platforms });
    assert_eq!(response.json(), json!({ "versions": [version] }));
}

#[test]
fn names_and_versions_are_read_as_clients_write_them_2_1_3_2_1_5_2_1_7() {
    let (registry, fixture) = published("1.0.0");
    for asked in ["1.0.0", "1.0", "1", "v1.0.0"] {
        download(&registry, &fixture, asked, "linux/amd64").expect(200);
    }
    let upper = fixture.namespace.to_uppercase();
    for path in [
        format!("/v1/providers/{upper}/WidGet/versions"),
        fixture.download(),
    ] {
        // A token that is not known is ignored.
        let sent = Sent::new("GET", &path).header("authorization", "Bearer stale");
        registry.send(&sent).expect(200);
    }
    let unknown = registry.get("/v1/providers/nobody/nothing/versions");
    assert!(unknown.expect(404).errors().contains("nobody/nothing"));
}

#[test]
fn build_metadata_and_prereleases_are_served_under_their_raw_text_2_1_4() {
    for version in ["1.0.0-beta.2", "1.0.0+build.7"] {
        let (registry, fixture) = published(version);
        let json = download(&registry, &fixture, version, "linux/amd64").found();
        let filename = format!("terraform-provider-widget_{version}_linux_amd64.zip");
        assert_eq!(json["filename"], filename.as_str());
    }
}

#[test]
fn a_missing_platform_or_version_is_404_and_names_those_that_exist_2_2_1() {
    let (registry, fixture) = published("1.0.0");
    download(&registry, &fixture, "1.0.0", "plan9/386").refuses(404, "linux_amd64, linux_arm64");
    download(&registry, &fixture, "1.0.1", "linux/amd64").expect(404);
}

#[test]
fn a_download_has_what_clients_read_2_2_1_2_2_7_and_2_3_3_2_3_8() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    let in_upper_case = |line: &str| {
        let (digest, name) = line.split_once("  ").unwrap();
        format!("{}  {name}\n", digest.to_uppercase())
    };
    let upper = fixture.shasums.lines().map(in_upper_case).collect();
    let fixture = fixture.with_shasums(upper);
    // Published with armour, which is not stored.
    let mut description = fixture.description();
    description["signature"] = armoured(&fixture.signature).into();
    fixture.add_key(&registry);
    fixture.upload(&registry);
    let path = fixture.admin_path();
    registry.put(&path, &description).expect(201);
    let response = download(&registry, &fixture, "1.0.0", "linux/arm64").expect(200);
    // Its URLs expire.
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let json = response.json();
    let (filename, _, _, zip) = &fixture.packages[1];
    for (field, value) in [
        ("os", json!("linux")),
        ("arch", json!("arm64")),
        ("protocols", json!(["5.0", "6.0"])),
        ("filename", json!(filename)),
        ("shasum", json!(sha256(zip))),
    ] {
        assert_eq!(json[field], value, "{field}");
    }
    let keys = json["signing_keys"]["gpg_public_keys"].as_array().unwrap();
    assert_eq!(keys.len(), 1);
    assert_eq!(keys[0]["key_id"], Signer::usual().key_id().as_str());
    assert_eq!(keys[0].get("trust_signature"), None);
    let armor = keys[0]["ascii_armor"].as_str().unwrap();
    let begin = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
    assert_eq!(armor.matches(begin).count(), 1, "{armor}");
    for (field, bytes) in [
        ("download_url", &zip[..]),
        ("shasums_url", fixture.shasums.as_bytes()),
        ("shasums_signature_url", &fixture.signature),
    ] {
        let url = json[field].as_str().unwrap();
        assert!(url.starts_with("http"), "{url}");
        let fetched = registry.get(url).expect(200);
        assert_eq!(fetched.body, bytes, "{field}");
        let length = bytes.len().to_string();
        assert_eq!(fetched.header("content-length"), Some(length.as_str()));
    }
    let is_packet = fixture.signature[0] & 0x80 != 0;
    assert!(is_packet, "an OpenPGP packet has its first bit set");
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
    registry.put(&fixture.admin_path(), &body).expect(201);
    (registry, fixture, hashes)
}

#[test]
fn packages_list_both_hashes_and_the_size_of_every_platform_2_4_1_2_4_2_2_4_4() {
    for known in [0, 1] {
        let (registry, fixture, _) = published_with_h1_of(known);
        let json = download(&registry, &fixture, "1.0.0", "linux/amd64").json();
        assert_eq!(json.get("packages"), None, "{known} of 2 are known");
    }
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
fn an_unchanged_list_is_304() {
    let (registry, fixture) = published("1.0.0");
    let path = fixture.versions();
    let etag = registry.get(&path).etag();
    for header in [
        etag.clone(),
        format!("W/{etag}"),
        format!("\"other\", {etag}"),
        "*".to_owned(),
    ] {
        let sent = Sent::new("GET", &path).header("if-none-match", &header);
        let response = registry.send(&sent).expect(304);
        assert!(response.body.is_empty());
        assert_eq!(response.header("etag"), Some(etag.as_str()));
    }
    let sent = Sent::new("GET", &path).header("if-none-match", "\"other\"");
    registry.send(&sent).expect(200);
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
