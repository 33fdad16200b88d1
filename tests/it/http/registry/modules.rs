use serde_json::json;

use crate::support::fixtures::{sha256, tar_gz_of, zip_of};
use crate::support::registry::Sent;
use crate::support::{ModuleFixture, Registry, Response};

const MAIN: &[u8] = b"output \"x\" {\n  value = 1\n}\n";

fn published(version: &str) -> (Registry, ModuleFixture) {
    let (registry, fixture) = (Registry::start(), ModuleFixture::new(version));
    fixture.publish(&registry);
    (registry, fixture)
}

fn download(registry: &Registry, fixture: &ModuleFixture, version: &str) -> Response {
    download_by("Terraform/1.11.4", registry, fixture, version)
}

fn download_by(
    user_agent: &str,
    registry: &Registry,
    fixture: &ModuleFixture,
    version: &str,
) -> Response {
    let target = format!("{}/{version}/download", fixture.path());
    registry.send(&Sent::new("GET", &target).header("user-agent", user_agent))
}

fn location(response: &Response) -> String {
    response.json()["location"].as_str().unwrap().to_owned()
}

/// Returns the URL that go-getter requests: without the checksum and the subdirectory.
fn fetched_url(location: &str) -> String {
    let (path, query) = location.split_once('?').unwrap();
    let scheme_end = path.find("://").unwrap() + 3;
    let path = match path.get(scheme_end..).unwrap().find("//") {
        Some(at) => path.get(..scheme_end + at).unwrap(),
        None => path,
    };
    let query: Vec<&str> = query
        .split('&')
        .filter(|p| !p.starts_with("checksum="))
        .collect();
    format!("{path}?{}", query.join("&"))
}

#[test]
fn versions_are_in_one_module_ascending_3_1_3_2() {
    let (registry, fixture) = published("1.10.0");
    let namespace = fixture.address.split('/').next().unwrap();
    ModuleFixture::of(namespace, "1.9.0").publish(&registry);
    let response = registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    let versions = json!([{ "version": "1.9.0" }, { "version": "1.10.0" }]);
    assert_eq!(
        response.json(),
        json!({ "modules": [{ "versions": versions }] })
    );
}

#[test]
fn short_and_prefixed_versions_are_resolved_3_2() {
    let (registry, fixture) = published("1.0.0");
    for asked in ["1.0.0", "1.0", "1", "v1.0.0", "v1.0"] {
        download(&registry, &fixture, asked).expect(200);
    }
}

#[test]
fn an_unknown_module_is_404_3_3() {
    let registry = Registry::start();
    registry
        .get("/v1/modules/nobody/nothing/aws/versions")
        .expect(404);
    registry
        .get("/v1/modules/nobody/nothing/aws/1.0.0/download")
        .expect(404);
}

#[test]
fn a_download_has_its_location_in_the_body_and_in_the_header_3_4_3_5() {
    let (registry, fixture) = published("1.0.0");
    let response = download(&registry, &fixture, "1.0.0").expect(200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(
        response.header("x-terraform-get"),
        Some(location(&response).as_str())
    );
}

#[test]
fn a_download_is_not_a_redirect_3_6() {
    let (registry, fixture) = published("1.0.0");
    let response = download(&registry, &fixture, "1.0.0");
    assert_eq!((response.status, response.header("location")), (200, None));
}

#[test]
fn a_download_error_is_a_line_of_plain_text_3_7() {
    let (registry, fixture) = published("1.0.0");
    let response = download(&registry, &fixture, "9.9.9").expect(404);
    assert_eq!(
        response.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    let expected = format!(
        "this registry has no version 9.9.9 of module {}\n",
        fixture.address
    );
    assert_eq!(response.text(), expected);
}

#[test]
fn an_invalid_address_is_rejected_in_plain_text_3_7() {
    let response = Registry::start()
        .get("/v1/modules/acme/vpc/AWS/1.0.0/download")
        .expect(404);
    assert!(response.text().starts_with("target system \"AWS\""));
}

#[test]
fn reads_ignore_a_wrong_token_3_3() {
    let (registry, fixture) = published("1.0.0");
    let path = format!("{}/1.0.0/download", fixture.path());
    registry
        .send(&Sent::new("GET", &path).header("authorization", "Bearer stale"))
        .expect(200);
}

#[test]
fn the_location_keeps_the_subdirectory_before_the_query_3_8() {
    let registry = Registry::start();
    let mut fixture =
        ModuleFixture::new("1.0.0").with_tar_gz(tar_gz_of(&[("vpc-1.0.0/src/main.tf", MAIN)]));
    fixture.subdir = Some("vpc-1.0.0/src".to_owned());
    fixture.publish(&registry);
    let location = location(&download(&registry, &fixture, "1.0.0"));
    assert!(location.contains(".tar.gz//vpc-1.0.0/src?"), "{location}");
    assert_eq!(
        registry.get(&fetched_url(&location)).expect(200).body,
        fixture.archive
    );
}

#[test]
fn the_answer_never_switches_opentofu_to_direct_downloads_3_9() {
    let (registry, fixture) = published("1.0.0");
    let json = download(&registry, &fixture, "1.0.0").json();
    assert_eq!(
        json.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["location"]
    );
}

#[test]
fn the_case_of_a_module_is_kept_3_10() {
    let registry = Registry::start();
    let mut fixture = ModuleFixture::new("1.0.0");
    fixture.address = fixture.address.replace("vpc", "MyVpc_2");
    fixture.publish(&registry);
    registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(200);
    registry
        .get(&format!("{}/versions", fixture.path().to_lowercase()))
        .expect(404);
}

#[test]
fn the_path_of_the_location_ends_in_the_archives_extension_4_1_4_6() {
    let registry = Registry::start();
    let zip = ModuleFixture::new("1.0.0");
    let tar = ModuleFixture::new("1.0.0").with_tar_gz(tar_gz_of(&[("main.tf", MAIN)]));
    for (fixture, extension) in [(zip, ".zip"), (tar, ".tar.gz")] {
        fixture.publish(&registry);
        let location = location(&download(&registry, &fixture, "1.0.0"));
        let (path, _) = location.split_once('?').unwrap();
        assert!(path.ends_with(extension), "{location}");
    }
}

#[test]
fn the_query_survives_being_sorted_and_encoded_again_4_2() {
    let (registry, fixture) = published("1.0.0");
    let location = location(&download(&registry, &fixture, "1.0.0"));
    let url = fetched_url(&location);
    let (path, query) = url.split_once('?').unwrap();
    assert!(!query.contains([' ', ';', '+']), "{query}");
    let mut sorted: Vec<&str> = query.split('&').filter(|p| !p.is_empty()).collect();
    sorted.sort_unstable();
    registry
        .get(&format!("{path}?{}", sorted.join("&")))
        .expect(200);
}

#[test]
fn head_before_get_is_harmless_4_3() {
    let (registry, fixture) = published("1.0.0");
    let url = fetched_url(&location(&download(&registry, &fixture, "1.0.0")));
    let head = registry.head(&url);
    let length = fixture.archive.len().to_string();
    assert!(
        head.status == 403 || head.header("content-length") == Some(length.as_str()),
        "{head:?}"
    );
    registry.get(&url).expect(200);
}

#[test]
fn the_archive_needs_no_token_and_has_the_published_bytes_4_4_4_5() {
    let (registry, fixture) = published("1.0.0");
    let url = fetched_url(&location(&download(&registry, &fixture, "1.0.0")));
    assert_eq!(registry.get(&url).expect(200).body, fixture.archive);
}

#[test]
fn the_location_carries_the_checksum_4_7() {
    let (registry, fixture) = published("1.0.0");
    let location = location(&download(&registry, &fixture, "1.0.0"));
    let checksum = format!("checksum=sha256:{}", sha256(&fixture.archive));
    assert!(location.ends_with(&checksum), "{location}");
}

#[test]
fn a_client_that_keeps_the_checksum_in_the_url_gets_a_usable_location() {
    let (registry, fixture) = published("1.0.0");
    for user_agent in ["python-requests/2.32.3", "Go-http-client/2.0", "curl/8.5.0"] {
        let response = download_by(user_agent, &registry, &fixture, "1.0.0");
        let archive = registry.get(&location(&response)).expect(200);
        assert_eq!(archive.body, fixture.archive, "{user_agent}");
    }
}

#[test]
fn every_client_whose_go_getter_removes_the_checksum_gets_one_4_7() {
    let (registry, fixture) = published("1.0.0");
    for user_agent in ["Terraform/1.5.7", "OpenTofu/1.12.6 ci", "terragrunt/1.1.3"] {
        let response = download_by(user_agent, &registry, &fixture, "1.0.0");
        let location = location(&response);
        assert!(
            location.contains("checksum=sha256:"),
            "{user_agent}: {location}"
        );
        assert_eq!(response.header("x-terraform-get"), Some(location.as_str()));
    }
}

#[test]
fn the_location_is_absolute_4_8() {
    let (registry, fixture) = published("1.0.0");
    let location = location(&download(&registry, &fixture, "1.0.0"));
    assert!(location.starts_with("http"), "{location}");
}

#[test]
fn a_download_without_a_version_leads_to_the_newest_stable_one() {
    let (registry, fixture) = published("1.9.0");
    let namespace = fixture.address.split('/').next().unwrap();
    for version in ["1.10.0", "2.0.0-rc1"] {
        ModuleFixture::of(namespace, version).publish(&registry);
    }
    let response = registry
        .get(&format!("{}/download", fixture.path()))
        .expect(302);
    let newest = format!("{}/1.10.0/download", fixture.path());
    assert_eq!(response.header("location"), Some(newest.as_str()));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    registry.get(&newest).expect(200);
}

#[test]
fn a_prerelease_is_the_newest_version_if_there_is_no_stable_one() {
    let (registry, fixture) = published("1.0.0-beta2");
    let response = registry
        .get(&format!("{}/download", fixture.path()))
        .expect(302);
    let newest = format!("{}/1.0.0-beta2/download", fixture.path());
    assert_eq!(response.header("location"), Some(newest.as_str()));
}

#[test]
fn a_download_without_a_version_of_an_unknown_module_is_404_in_plain_text() {
    let response = Registry::start().get("/v1/modules/acme/nothing/aws/download");
    let response = response.expect(404);
    assert_eq!(
        response.text(),
        "this registry has no module acme/nothing/aws\n"
    );
}

#[test]
fn the_same_archive_may_be_two_modules() {
    let registry = Registry::start();
    let archive = zip_of(&[("main.tf", MAIN)]);
    let first = ModuleFixture::new("1.0.0").with_zip(archive.clone());
    let second = ModuleFixture::new("1.0.0").with_zip(archive);
    first.publish(&registry);
    second.put(&registry).expect(201);
}
