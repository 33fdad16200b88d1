//! Real answers have the shape that `docs/openapi.yaml` describes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::native::openapi::{document as document_of_the_api, filled};
use crate::native::trusted::provenance::{REPOSITORY, job, put, put_module, trusting_with};
use crate::support::described;
use crate::support::documentation::{self, Documentation, path_of};
use crate::support::fixtures::upload;
use crate::support::issuer::github;
use crate::support::statuses::{set_status, status_of};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry};

/// The described paths of the requests, with their queries.
const REQUESTS: [&str; 23] = [
    "/api/v1/search?q=vpc",
    "/api/v1/search?q=acme&limit=1",
    "/api/v1/search?q=acme_widget",
    "/api/v1/search?q=cidr",
    "/api/v1/namespaces?limit=1",
    "/api/v1/namespaces/{namespace}",
    "/api/v1/namespaces/{hostname}/{namespace}",
    "/api/v1/providers/{namespace}/{type}",
    "/api/v1/providers/{namespace}/{type}/{version}",
    "/api/v1/providers/{namespace}/{type}/{version}/docs",
    "/api/v1/mirror/{hostname}/{namespace}/{type}",
    "/api/v1/mirror/{hostname}/{namespace}/{type}/{version}",
    "/api/v1/modules/{namespace}/{name}/{system}",
    "/api/v1/modules/{namespace}/{name}/{system}/{version}",
    "/api/v1/modules/{namespace}/{name}/{system}/{version}/docs",
    "/v1/modules?limit=1&offset=1",
    "/v1/modules/search?q=vpc",
    "/v1/modules/{namespace}",
    "/v1/modules/{namespace}/{name}",
    "/v1/modules/{namespace}/{name}/{system}/{version}",
    "/v1/providers",
    "/v1/providers/{namespace}",
    "/v1/providers/{namespace}/{type}/{version}",
];

/// The optional fields that must be in an answer, so that their shapes are compared.
const FIELDS: [&str; 18] = [
    "commit",
    "documentation",
    "files",
    "h1",
    "highlights",
    "inputs",
    "license",
    "next",
    "notes",
    "origin",
    "package_status",
    "protocols",
    "provenance",
    "published_at",
    "signing_key",
    "size",
    "source",
    "status",
];

const GADGET: &str = "registry.example.com/acme/gadget";

/// Adds documentation to a version, and, for a mirrored provider, its licence and origin.
fn document(registry: &Registry, path: &str, (pages, head): (Vec<Vec<u8>>, Value), more: &Value) {
    let head = documentation::member(head.to_string().as_bytes());
    let documentation = Documentation::of_members(head, &pages);
    let mut body = documentation.description();
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    let body = body.to_string();
    let put = || registry.admin("PUT", path, Some(body.as_bytes()));
    let first = put();
    // Two versions have the same archive.
    if first.status == 202 {
        upload(registry, &first, &[&documentation.archive]);
        put().expect(201);
    }
}

/// Returns a registry in which a job has published a provider and modules, and an administrator a mirrored provider, with
/// documentation, sources and statuses.
fn published() -> Registry {
    let (_, registry) = trusting_with(&[("TERRACE_MIRRORED_DOCS", "true")]);
    let token = job(&registry, &github());
    let source = json!({ "source": REPOSITORY });
    let provider = ProviderFixture::of("acme", "widget", "1.0.0");
    provider.add_key(&registry);
    provider.upload(&registry);
    let path = path_of("providers", "acme/widget", "1.0.0");
    document(&registry, &path, described::provider(), &json!({}));
    let mut body = provider.description();
    body["source"] = source["source"].clone();
    body["packages"][0]["h1"] = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=".into();
    put(&registry, &token, &provider.admin_path(), &body, &[]).expect(201);
    let path = path_of("modules", "acme/vpc/aws", "1.0.0");
    document(&registry, &path, described::module(), &json!({}));
    for version in ["1.0.0", "1.1.0"] {
        let module = ModuleFixture::of("acme", version);
        put_module(&registry, &token, &module, &source).expect(201);
    }
    let mirrored = MirrorFixture::of(ProviderFixture::of("acme", "gadget", "1.0.0"));
    mirrored.publish(&registry);
    let origin = json!({ "license": "MPL-2.0", "origin": "https://github.com/acme/gadget" });
    let path = path_of("mirror", GADGET, "1.0.0");
    document(&registry, &path, described::provider(), &origin);
    for path in [
        "providers/acme/widget",
        "modules/acme/vpc/aws/1.1.0",
        &format!("mirror/{GADGET}/1.0.0"),
    ] {
        set_status(&registry, &status_of(path), "deprecated").expect(200);
    }
    registry.merge_catalog();
    registry
}

#[test]
fn every_answer_has_its_described_shape() {
    let registry = published();
    let document = document_of_the_api();
    let mut fields = BTreeSet::new();
    for request in REQUESTS {
        let template = request.split('?').next().unwrap();
        let path = match filled(request) {
            path if path.contains("/mirror/") => path.replace("widget", "gadget"),
            path => path,
        };
        let answer = registry.read(&path);
        let schema = schema(&document, template);
        let validator = jsonschema::validator_for(&schema).expect(template);
        let errors = validator.iter_errors(&answer);
        let errors: Vec<String> = errors
            .map(|error| format!("{}: {error}", error.instance_path))
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{path}: {answer:#}");
        // The schema is strict: an unknown field is an error.
        let mut other = answer.clone();
        other["unknown"] = json!(1);
        assert!(!validator.is_valid(&other), "{template}");
        add_fields(&answer, &mut fields);
    }
    for field in FIELDS {
        assert!(fields.contains(field), "no answer has a field {field}");
    }
}

/// Adds the names of all fields that have a value.
fn add_fields(answer: &Value, fields: &mut BTreeSet<String>) {
    match answer {
        Value::Object(object) => {
            for (name, value) in object {
                if !value.is_null() {
                    fields.insert(name.clone());
                }
                add_fields(value, fields);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| add_fields(value, fields)),
        _ => {}
    }
}

/// Returns the schema of the answer of a path, with everything that it refers to.
fn schema(document: &Value, template: &str) -> Value {
    let responses = &document["paths"][template]["get"]["responses"];
    let mut schema = responses["200"]["content"]["application/json"]["schema"].clone();
    assert!(
        schema.is_object(),
        "docs/openapi.yaml has no schema for {template}"
    );
    schema["components"] = document["components"].clone();
    schema
}
