//! The source repository of a release, in the places where update tools look for it.

use serde_json::{Value, json};

use crate::support::{ModuleFixture, ProviderFixture, Registry};

const SOURCE: &str = "https://github.com/acme/widget";
const COMMIT: &str = "0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d";
const ANNOTATION: &str = "org.opencontainers.image.source";

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
    registry.read(&path)
}

fn with_source(mut description: Value, source: &str) -> Value {
    description["source"] = json!(source);
    description
}

#[test]
fn a_provider_names_its_source_in_each_protocol_15_2_15_3() {
    let (registry, fixture) = provider("1.0.0");
    let body = with_source(fixture.description(), SOURCE);
    registry.put(&fixture.admin_path(), &body).expect(201);
    let path = format!("{}/1.0.0", fixture.path());
    let version = registry.read(&path);
    let (namespace, id) = (
        &fixture.namespace,
        format!("{}/widget/1.0.0", fixture.namespace),
    );
    for (field, value) in [
        ("id", json!(id)),
        ("namespace", json!(namespace)),
        ("name", json!("widget")),
        ("version", json!("1.0.0")),
        ("source", json!(SOURCE)),
    ] {
        assert_eq!(version[field], value, "{field}");
    }
    let repository = format!("providers/{namespace}/widget");
    let index = manifest(&registry, &repository, "1.0.0");
    assert_eq!(index["annotations"][ANNOTATION], SOURCE);
    for descriptor in index["manifests"].as_array().unwrap() {
        let digest = descriptor["digest"].as_str().unwrap();
        let target = manifest(&registry, &repository, digest);
        assert_eq!(target["annotations"][ANNOTATION], SOURCE);
    }
    // Without a source, the field is null.
    let (registry, fixture) = provider("1.0.0");
    fixture.put(&registry).expect(201);
    let version = registry.get(&format!("{}/1.0.0", fixture.path()));
    assert_eq!(version.found().get("source"), Some(&Value::Null));
}

#[test]
fn a_module_names_the_source_of_its_first_publisher_in_each_protocol_15_3() {
    let (registry, fixture) = module("1.0.0");
    let put = |source| {
        let body = with_source(fixture.description(), source);
        registry.put(&fixture.admin_path(), &body)
    };
    put(SOURCE).expect(201);
    let again = put("https://example.com/other").expect(200);
    assert_eq!(again.json()["status"], "unchanged");
    fixture.put(&registry).expect(200);
    let list = registry.get(&fixture.versions());
    assert_eq!(list.found()["modules"][0]["source"], SOURCE);
    let manifest = manifest(&registry, &format!("modules/{}", fixture.address), "1.0.0");
    assert_eq!(manifest["annotations"][ANNOTATION], SOURCE);
}

/// `terrace-core` has the other values: both kinds of packages are checked.
#[test]
fn an_invalid_source_or_commit_is_refused_with_the_rule() {
    let (registry, fixture) = module("1.0.0");
    let (of_provider, provider) = provider("1.0.0");
    let secret = "https://me:secret@github.com/acme/widget";
    for (source, commit, status, rule) in [
        (json!(secret), Value::Null, 422, "user name"),
        (json!("acme/widget"), json!(COMMIT), 422, "https://"),
        (json!(SOURCE), json!("main"), 422, "40 or 64"),
        (Value::Null, json!(COMMIT), 422, "add source"),
        (json!(7), Value::Null, 400, ""),
    ] {
        for (registry, path, mut body) in [
            (&registry, fixture.admin_path(), fixture.description()),
            (&of_provider, provider.admin_path(), provider.description()),
        ] {
            body["source"] = source.clone();
            body["commit"] = commit.clone();
            let errors = registry.put(&path, &body).expect(status).errors();
            assert!(errors.contains(rule), "{commit}: {errors}");
            assert!(!errors.contains("secret"), "{errors}");
        }
    }
}

#[test]
fn a_claimed_commit_is_described_and_annotated_15_3() {
    let (registry, fixture) = provider("1.0.0");
    let mut description = fixture.description();
    description["source"] = json!(SOURCE);
    description["commit"] = json!(COMMIT.to_ascii_uppercase());
    registry
        .put(&fixture.admin_path(), &description)
        .expect(201);
    let path = format!("/api/v1/providers/{}/widget/1.0.0", fixture.namespace);
    let response = registry.read(&path);
    assert_eq!(response["source"]["commit"], COMMIT);
    // It is a claim: no job has verified it.
    assert_eq!(response.get("provenance"), None);
    let repository = format!("providers/{}/widget", fixture.namespace);
    let index = manifest(&registry, &repository, "1.0.0");
    let revision = "org.opencontainers.image.revision";
    assert_eq!(index["annotations"][revision], COMMIT);
    // The first publisher's commit stays, or its absence.
    fixture.put(&registry).expect(200);
    assert_eq!(registry.read(&path), response);
}

#[test]
fn the_directory_of_a_module_is_described_and_must_be_a_relative_path_of_the_source() {
    let (registry, fixture) = module("1.0.0");
    let put = |source: Value, directory: &str| {
        let mut body = fixture.description();
        body["source"] = source;
        body["directory"] = json!(directory);
        registry.put(&fixture.admin_path(), &body)
    };
    for (source, directory, rule) in [
        (Value::Null, "modules/vpc", "add source"),
        (json!(SOURCE), "../vpc", "\"../vpc\" is not a relative path"),
    ] {
        put(source, directory).refuses(422, rule);
    }
    put(json!(SOURCE), "modules/a b").expect(201);
    for path in [
        fixture.path().replace("/v1/", "/api/v1/"),
        format!("{}/1.0.0", fixture.path().replace("/v1/", "/api/v1/")),
    ] {
        let answer = registry.read(&path);
        let source = answer
            .get("versions")
            .map_or(&answer["source"], |it| &it[0]["source"]);
        assert_eq!(source["directory"], "modules/a b", "{path}");
    }
}
