//! The source repository of a release, in the places where update tools look for it.

use serde_json::{Value, json};

use crate::support::{ModuleFixture, ProviderFixture, Registry, Response};

const SOURCE: &str = "https://github.com/acme/widget";
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
    let expected = json!({ "id": id, "namespace": namespace, "name": "widget", "version": "1.0.0", "source": SOURCE });
    assert_eq!(response.json(), expected);
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
