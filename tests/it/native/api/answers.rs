//! Real answers have the shape that `docs/openapi.yaml` describes.

use serde_json::{Value, json};

use crate::native::api::packages::published;
use crate::native::openapi::document;
use crate::support::MirrorFixture;
use crate::support::ProviderFixture;
use crate::support::described;

/// Requests, each with the path template that describes it.
const REQUESTS: [(&str, &str); 22] = [
    ("/api/v1/search?q=vpc", "/api/v1/search"),
    ("/api/v1/search?q=acme&limit=1", "/api/v1/search"),
    ("/api/v1/search?q=cidr", "/api/v1/search"),
    ("/api/v1/namespaces?limit=1", "/api/v1/namespaces"),
    ("/api/v1/namespaces/acme", "/api/v1/namespaces/{namespace}"),
    (
        "/api/v1/namespaces/registry.example.com/acme",
        "/api/v1/namespaces/{hostname}/{namespace}",
    ),
    (
        "/api/v1/providers/acme/widget",
        "/api/v1/providers/{namespace}/{type}",
    ),
    (
        "/api/v1/providers/acme/widget/1.0.0",
        "/api/v1/providers/{namespace}/{type}/{version}",
    ),
    (
        "/api/v1/providers/acme/widget/1.0.0/docs",
        "/api/v1/providers/{namespace}/{type}/{version}/docs",
    ),
    (
        "/api/v1/mirror/registry.example.com/acme/gadget",
        "/api/v1/mirror/{hostname}/{namespace}/{type}",
    ),
    (
        "/api/v1/mirror/registry.example.com/acme/gadget/1.0.0",
        "/api/v1/mirror/{hostname}/{namespace}/{type}/{version}",
    ),
    (
        "/api/v1/modules/acme/vpc/aws",
        "/api/v1/modules/{namespace}/{name}/{system}",
    ),
    (
        "/api/v1/modules/acme/vpc/aws/1.0.0",
        "/api/v1/modules/{namespace}/{name}/{system}/{version}",
    ),
    (
        "/api/v1/modules/acme/vpc/aws/1.0.0/docs",
        "/api/v1/modules/{namespace}/{name}/{system}/{version}/docs",
    ),
    ("/v1/modules?limit=1&offset=1", "/v1/modules"),
    ("/v1/modules/search?q=vpc", "/v1/modules/search"),
    ("/v1/modules/acme", "/v1/modules/{namespace}"),
    ("/v1/modules/acme/vpc", "/v1/modules/{namespace}/{name}"),
    (
        "/v1/modules/acme/vpc/aws/1.0.0",
        "/v1/modules/{namespace}/{name}/{system}/{version}",
    ),
    ("/v1/providers", "/v1/providers"),
    ("/v1/providers/acme", "/v1/providers/{namespace}"),
    (
        "/v1/providers/acme/widget/1.0.0",
        "/v1/providers/{namespace}/{type}/{version}",
    ),
];

#[test]
fn every_answer_has_its_described_shape() {
    let (memory, registry) = published(&[]);
    MirrorFixture::of(ProviderFixture::of("acme", "gadget", "1.0.0")).publish(&registry);
    let gadget = "providers/registry.example.com/acme/gadget";
    described::describe(&memory, gadget, &["1.0.0"]);
    let lines = [
        "modules/acme/vpc/aws",
        "modules/acme/vpc/gcp",
        "providers/hosted/acme/widget",
        gadget,
    ];
    let lines = lines.map(|key| described::line(key, "A vpc"));
    let symbols = [described::symbol(
        "providers/hosted/acme/widget",
        "acme_vpc",
    )];
    described::put_catalog(&memory, &lines, &symbols);
    let document = document();
    for (path, template) in REQUESTS {
        let answer = registry.get(path).expect(200).json();
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
