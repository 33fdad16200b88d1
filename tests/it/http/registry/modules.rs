use serde_json::json;

use crate::support::fixtures::{sha256, tar_gz_of};
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
    let response = registry.get(&fixture.versions()).expect(200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    let versions = json!([{ "version": "1.9.0" }, { "version": "1.10.0" }]);
    assert_eq!(
        response.json(),
        json!({ "modules": [{ "versions": versions }] })
    );
}

#[test]
fn a_version_is_resolved_as_clients_write_it_3_2() {
    let (registry, fixture) = published("1.0.0");
    for asked in ["1.0.0", "1.0", "1", "v1.0.0", "v1.0"] {
        download(&registry, &fixture, asked).expect(200);
    }
    let path = fixture.download();
    let stale = Sent::new("GET", &path).header("authorization", "Bearer stale");
    registry.send(&stale).expect(200);
}

#[test]
fn a_download_error_is_a_line_of_plain_text_3_3_3_7() {
    let (registry, fixture) = published("1.0.0");
    let address = &fixture.address;
    let absent = format!("this registry has no version 9.9.9 of module {address}\n");
    for (path, line) in [
        (format!("{address}/9.9.9/download"), absent.as_str()),
        (
            "acme/nothing/aws/download".to_owned(),
            "this registry has no module acme/nothing/aws\n",
        ),
        (
            "acme/vpc/AWS/1.0.0/download".to_owned(),
            "target system \"AWS\"",
        ),
    ] {
        let response = registry.get(&format!("/v1/modules/{path}")).expect(404);
        let content_type = response.header("content-type");
        assert_eq!(content_type, Some("text/plain; charset=utf-8"));
        assert!(response.text().starts_with(line), "{}", response.text());
    }
    let unknown = registry.get("/v1/modules/nobody/nothing/aws/versions");
    unknown.expect(404);
}

#[test]
fn a_download_has_its_location_in_the_body_and_in_the_header_3_4_3_5() {
    let registry = Registry::start();
    let zip = ModuleFixture::new("1.0.0");
    let tar = ModuleFixture::new("1.0.0").with_tar_gz(tar_gz_of(&[("main.tf", MAIN)]));
    for (fixture, extension) in [(zip, ".zip"), (tar, ".tar.gz")] {
        fixture.publish(&registry);
        for user_agent in ["Terraform/1.5.7", "OpenTofu/1.12.6 ci", "terragrunt/1.1.3"] {
            // Not a redirect.
            let response = download_by(user_agent, &registry, &fixture, "1.0.0").expect(200);
            assert_eq!(response.header("location"), None);
            assert_eq!(response.header("content-type"), Some("application/json"));
            let json = response.json();
            // Another field would switch OpenTofu to direct downloads.
            let fields: Vec<_> = json.as_object().unwrap().keys().collect();
            assert_eq!(fields, ["location"]);
            let location = location(&response);
            assert_eq!(response.header("x-terraform-get"), Some(location.as_str()));
            assert!(location.starts_with("http"), "{location}");
            let checksum = format!("checksum=sha256:{}", sha256(&fixture.archive));
            assert!(location.ends_with(&checksum), "{location}");
            let (path, _) = location.split_once('?').unwrap();
            assert!(path.ends_with(extension), "{location}");
            let fetched = registry.get(&fetched_url(&location)).expect(200);
            assert_eq!(fetched.body, fixture.archive);
        }
    }
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
fn the_case_of_a_module_is_kept_3_10() {
    let registry = Registry::start();
    let mut fixture = ModuleFixture::new("1.0.0");
    fixture.address = fixture.address.replace("vpc", "MyVpc_2");
    fixture.publish(&registry);
    registry.get(&fixture.versions()).expect(200);
    registry
        .get(&format!("{}/versions", fixture.path().to_lowercase()))
        .expect(404);
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
fn a_client_that_keeps_the_checksum_in_the_url_gets_a_usable_location() {
    let (registry, fixture) = published("1.0.0");
    for user_agent in ["python-requests/2.32.3", "Go-http-client/2.0", "curl/8.5.0"] {
        let response = download_by(user_agent, &registry, &fixture, "1.0.0");
        let archive = registry.get(&location(&response)).expect(200);
        assert_eq!(archive.body, fixture.archive, "{user_agent}");
    }
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
    // A prerelease is the newest version if there is no stable one.
    let (registry, fixture) = published("1.0.0-beta2");
    let response = registry.get(&format!("{}/download", fixture.path()));
    let newest = format!("{}/1.0.0-beta2/download", fixture.path());
    assert_eq!(
        response.expect(302).header("location"),
        Some(newest.as_str())
    );
}
