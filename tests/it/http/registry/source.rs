//! The source repository of a release, in the places where update tools look for it.

use serde_json::{Value, json};

use crate::support::{ModuleFixture, ProviderFixture, Registry, Response};

const SOURCE: &str = "https://github.com/acme/widget";
const COMMIT: &str = "0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d";
const ANNOTATION: &str = "org.opencontainers.image.source";

fn with_source(mut description: Value, source: &Value) -> Vec<u8> {
    description["source"] = source.clone();
    description.to_string().into_bytes()
}

fn put_provider(registry: &Registry, fixture: &ProviderFixture, source: &str) -> Response {
    let body = with_source(fixture.description(), &json!(source));
    registry.admin("PUT", &fixture.admin_path(), Some(&body))
}

fn put_module(registry: &Registry, fixture: &ModuleFixture, source: &str) -> Response {
    let body = with_source(fixture.description(), &json!(source));
    registry.admin("PUT", &fixture.admin_path(), Some(&body))
}

fn provider(version: &str) -> (Registry, ProviderFixture) {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new(version));
    fixture.add_key(&registry);
    fixture.upload(&registry);
    (registry, fixture)
}

/// Returns a module with its archive, a zip, already stored.
fn module(version: &str) -> (Registry, ModuleFixture) {
    let (registry, fixture) = (Registry::start(), ModuleFixture::new(version));
    fixture.upload(&registry);
    (registry, fixture)
}

fn manifest(registry: &Registry, repository: &str, reference: &str) -> Value {
    let path = format!("/v2/{repository}/manifests/{reference}");
    registry.get(&path).expect(200).json()
}

#[test]
fn a_provider_version_names_its_source_15_2() {
    let (registry, fixture) = provider("1.0.0");
    put_provider(&registry, &fixture, SOURCE).expect(201);
    let response = registry
        .get(&format!("{}/1.0.0", fixture.path()))
        .expect(200);
    let (namespace, id) = (
        &fixture.namespace,
        format!("{}/widget/1.0.0", fixture.namespace),
    );
    let expected = [
        ("id", json!(id)),
        ("namespace", json!(namespace)),
        ("name", json!("widget")),
        ("version", json!("1.0.0")),
        ("source", json!(SOURCE)),
    ];
    for (field, value) in expected {
        assert_eq!(response.json()[field], value, "{field}");
    }
    registry
        .get(&format!("{}/9.9.9", fixture.path()))
        .expect(404);
}

#[test]
fn a_provider_version_without_a_source_has_the_field_with_null_15_2() {
    let (registry, fixture) = provider("1.0.0");
    fixture.put(&registry).expect(201);
    let response = registry
        .get(&format!("{}/1.0.0", fixture.path()))
        .expect(200);
    assert_eq!(response.json().get("source"), Some(&Value::Null));
}

#[test]
fn a_module_list_names_the_source_15_3() {
    let (registry, fixture) = module("1.0.0");
    put_module(&registry, &fixture, SOURCE).expect(201);
    let list = registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(200);
    assert_eq!(list.json()["modules"][0]["source"], SOURCE);
}

#[test]
fn the_manifest_of_a_module_is_annotated_with_the_source_15_3() {
    let (registry, fixture) = module("1.0.0");
    put_module(&registry, &fixture, SOURCE).expect(201);
    let manifest = manifest(&registry, &format!("modules/{}", fixture.address), "1.0.0");
    assert_eq!(manifest["annotations"][ANNOTATION], SOURCE);
}

#[test]
fn every_manifest_of_a_provider_is_annotated_with_the_source_15_3() {
    let (registry, fixture) = provider("1.0.0");
    put_provider(&registry, &fixture, SOURCE).expect(201);
    let repository = format!("providers/{}/widget", fixture.namespace);
    let index = manifest(&registry, &repository, "1.0.0");
    assert_eq!(index["annotations"][ANNOTATION], SOURCE);
    for descriptor in index["manifests"].as_array().unwrap() {
        let target = manifest(
            &registry,
            &repository,
            descriptor["digest"].as_str().unwrap(),
        );
        assert_eq!(target["annotations"][ANNOTATION], SOURCE);
    }
}

#[test]
fn a_claimed_commit_is_described_and_annotated_15_3() {
    let (registry, fixture) = provider("1.0.0");
    let mut description = fixture.description();
    description["source"] = json!(SOURCE);
    description["commit"] = json!(COMMIT.to_ascii_uppercase());
    let body = description.to_string().into_bytes();
    let put = || registry.admin("PUT", &fixture.admin_path(), Some(&body));
    put().expect(201);
    let path = format!("/api/v1/providers/{}/widget/1.0.0", fixture.namespace);
    let response = registry.get(&path).expect(200).json();
    assert_eq!(response["source"]["commit"], COMMIT);
    // It is a claim: no job has verified it.
    assert_eq!(response.get("provenance"), None);
    let repository = format!("providers/{}/widget", fixture.namespace);
    let index = manifest(&registry, &repository, "1.0.0");
    let revision = "org.opencontainers.image.revision";
    assert_eq!(index["annotations"][revision], COMMIT);
    // The first publisher's commit stays, or its absence.
    fixture.put(&registry).expect(200);
    assert_eq!(registry.get(&path).expect(200).json(), response);
}

#[test]
fn an_invalid_commit_is_422_with_the_rule() {
    let (registry, fixture) = module("1.0.0");
    let (of_provider, provider) = provider("1.0.0");
    for (source, commit, rule) in [
        (json!(SOURCE), json!("main"), "40 or 64"),
        (json!(SOURCE), json!("0".repeat(39)), "40 or 64"),
        (json!(SOURCE), json!("g".repeat(40)), "40 or 64"),
        (json!(SOURCE), json!(""), "40 or 64"),
        (Value::Null, json!(COMMIT), "add source"),
        (json!("acme/widget"), json!(COMMIT), "https://"),
    ] {
        for (registry, path, mut body) in [
            (&registry, fixture.admin_path(), fixture.description()),
            (&of_provider, provider.admin_path(), provider.description()),
        ] {
            body["source"] = source.clone();
            body["commit"] = commit.clone();
            let answer = registry.admin("PUT", &path, Some(body.to_string().as_bytes()));
            let errors = answer.expect(422).errors();
            assert!(errors.contains(rule), "{commit}: {errors}");
        }
    }
}

#[test]
fn the_directory_of_a_module_is_described_and_must_be_a_relative_path_of_the_source() {
    let (registry, fixture) = module("1.0.0");
    let put = |source: Value, directory: &str| {
        let mut body = fixture.description();
        body["source"] = source;
        body["directory"] = json!(directory);
        registry.admin(
            "PUT",
            &fixture.admin_path(),
            Some(body.to_string().as_bytes()),
        )
    };
    for (source, directory, rule) in [
        (Value::Null, "modules/vpc", "add source"),
        (json!(SOURCE), "../vpc", "\"../vpc\" is not a relative path"),
    ] {
        let errors = put(source, directory).expect(422).errors();
        assert!(errors.contains(rule), "{errors}");
    }
    put(json!(SOURCE), "modules/a b").expect(201);
    for path in [
        fixture.path().replace("/v1/", "/api/v1/"),
        format!("{}/1.0.0", fixture.path().replace("/v1/", "/api/v1/")),
    ] {
        let answer = registry.get(&path).expect(200).json();
        let source = answer
            .get("versions")
            .map_or(&answer["source"], |it| &it[0]["source"]);
        assert_eq!(source["directory"], "modules/a b", "{path}");
    }
}

#[test]
fn the_first_publishers_source_stays() {
    let (registry, fixture) = module("1.0.0");
    put_module(&registry, &fixture, SOURCE).expect(201);
    let again = put_module(&registry, &fixture, "https://example.com/other").expect(200);
    assert_eq!(again.json()["status"], "unchanged");
    fixture.put(&registry).expect(200);
    let list = registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(200);
    assert_eq!(list.json()["modules"][0]["source"], SOURCE);
}

#[test]
fn an_invalid_source_is_422_with_the_rule() {
    let (registry, fixture) = module("1.0.0");
    let (of_provider, provider) = provider("1.0.0");
    for (source, rule) in [
        ("git@github.com:acme/widget", "user name"),
        ("https://me:secret@github.com/acme/widget", "user name"),
        ("https://github.com/acme/widget?token=secret", "query"),
        ("acme/widget", "https://"),
        ("https://github.com/a b", "percent-encoded"),
    ] {
        for answer in [
            put_module(&registry, &fixture, source),
            put_provider(&of_provider, &provider, source),
        ] {
            let errors = answer.expect(422).errors();
            assert!(errors.contains(rule), "{source}: {errors}");
            assert!(!errors.contains("secret"), "{errors}");
        }
    }
    for source in [json!(7), json!([SOURCE]), json!({ "url": SOURCE })] {
        let body = with_source(fixture.description(), &source);
        let answer = registry.admin("PUT", &fixture.admin_path(), Some(&body));
        answer.expect(400);
    }
}
