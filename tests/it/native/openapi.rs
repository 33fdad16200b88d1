//! `docs/openapi.yaml` describes the routes of the code: all of them, and no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Value};
use terrace_core::api::endpoint::ENDPOINTS;
use terrace_core::api::route::Route;
use terrace_core::http::method::Method;
use terrace_core::http::problem::Problem;

use super::access::{Rule, rule};

/// The operations that are described: HEAD is described once, for all paths.
const METHODS: [Method; 5] = [
    Method::Delete,
    Method::Get,
    Method::Patch,
    Method::Post,
    Method::Put,
];

/// A described path that is not a route: its error response explains the mistake.
const NO_ROUTE: &str = "/{hostname}/{namespace}/{type}/{file}.json";

/// Returns the document, as JSON.
pub(super) fn document() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.yaml");
    let text = fs::read_to_string(path).unwrap();
    let documents = Yaml::load_from_str(&text).unwrap();
    assert_eq!(documents.len(), 1);
    json(&documents[0])
}

fn json(yaml: &Yaml<'_>) -> Value {
    match yaml {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(value)) => (*value).into(),
        Yaml::Value(Scalar::Integer(value)) => (*value).into(),
        Yaml::Value(Scalar::FloatingPoint(value)) => value.into_inner().into(),
        Yaml::Value(Scalar::String(value)) => value.as_ref().into(),
        Yaml::Sequence(values) => values.iter().map(json).collect(),
        Yaml::Mapping(entries) => {
            let entry = |(key, value): (&Yaml<'_>, &Yaml<'_>)| {
                let key = key
                    .as_str()
                    .unwrap_or_else(|| panic!("{key:?} is not a string"));
                (key.to_owned(), json(value))
            };
            Value::Object(entries.iter().map(entry).collect())
        }
        other => panic!("{other:?} is not allowed in this document"),
    }
}

/// Returns the described paths, with their operations.
fn described(document: &Value) -> &Map<String, Value> {
    document["paths"].as_object().unwrap()
}

/// Returns the methods that are described for a path.
fn methods(path: &Value) -> Vec<Method> {
    let is_described = |method: &Method| path.get(method.as_str().to_lowercase()).is_some();
    METHODS.into_iter().filter(is_described).collect()
}

/// Returns the names in braces in a path template.
fn names(template: &str) -> Vec<&str> {
    let braces = template.split('{').skip(1);
    braces.map(|rest| rest.split_once('}').unwrap().0).collect()
}

/// Fills in a path template with valid names.
pub(super) fn filled(template: &str) -> String {
    let zeros = "0".repeat(64);
    let digest = format!("sha256:{zeros}");
    let mut path = template.to_owned();
    for name in names(template) {
        let value = match name {
            "arch" => "amd64",
            "digest" => &digest,
            "expires" => "1",
            "extension" => "zip",
            "file" => "index",
            "hmac" | "sha256" => &zeros,
            "hostname" => "registry.example.com",
            "id" if template.starts_with("/v2/") => "01a3185c-5000-7fff-bfff-ffffffffffff",
            "id" => "0123456789abcdef",
            "kind" => "resources",
            "page" => "widget",
            "key_id" => "0123456789ABCDEF",
            "name" => "vpc",
            "namespace" => "acme",
            "os" => "linux",
            "reference" => "latest",
            // A repository that clients can push to has more methods.
            "repository" => "acme/tools",
            "system" => "aws",
            "type" => "widget",
            "version" => "1.0.0",
            _ => panic!("{template}: give {{{name}}} a value here"),
        };
        path = path.replace(&format!("{{{name}}}"), value);
    }
    path
}

#[test]
fn every_route_is_described_with_its_methods() {
    let document = document();
    for endpoint in ENDPOINTS {
        for template in endpoint.paths {
            let described = described(&document).get(*template);
            let described =
                described.unwrap_or_else(|| panic!("docs/openapi.yaml lacks {template}"));
            let described = methods(described);
            for method in endpoint.methods() {
                let method = match method {
                    Method::Head => Method::Get,
                    other => other,
                };
                assert!(
                    described.contains(&method),
                    "docs/openapi.yaml lacks {method:?} of {template}"
                );
            }
        }
    }
}

#[test]
fn every_described_path_is_a_route_with_its_methods() {
    let document = document();
    for (template, operations) in described(&document) {
        let parsed = Route::parse(&filled(template));
        if template == NO_ROUTE {
            assert!(matches!(parsed, Err(Problem::BadRequest(_))), "{template}");
            continue;
        }
        let route = parsed.unwrap_or_else(|error| panic!("{template}: {error:?}"));
        let described = methods(operations);
        let mut real = route.endpoint().methods();
        real.retain(|method| *method != Method::Head);
        assert!(
            described.len() == real.len() && real.iter().all(|it| described.contains(it)),
            "{template} is described with {described:?} and answers {real:?}"
        );
    }
}

#[test]
fn an_operation_takes_the_credentials_that_its_route_reads() {
    let document = document();
    let mut with_session = 0;
    for (template, operations) in described(&document) {
        let Ok(route) = Route::parse(&filled(template)) else {
            continue;
        };
        for method in methods(operations) {
            let operation = &operations[method.as_str().to_lowercase()];
            let security = operation.get("security").unwrap_or(&document["security"]);
            let schemes = security.as_array().unwrap();
            let is_open = schemes.is_empty() || schemes.contains(&Value::Object(Map::new()));
            let needs_token = match rule(&route, method).unwrap() {
                Rule::Publishers
                | Rule::OwnerAdmins
                | Rule::AnyAdmins
                | Rule::Backups
                | Rule::Admins
                | Rule::Holders => true,
                Rule::Everybody
                | Rule::Signed
                | Rule::Readers
                | Rule::ReadersOfLists
                | Rule::ReadersOfAnything
                | Rule::Known => false,
            };
            assert_eq!(is_open, !needs_token, "{method:?} {template}: {security}");
            let takes_session = schemes.iter().any(|it| it.get("browserSession").is_some());
            let action = route.endpoint().action(method).unwrap();
            assert_eq!(takes_session, action.reads_session, "{method:?} {template}");
            with_session += usize::from(takes_session);
        }
    }
    assert!(
        with_session > 20,
        "{with_session} operations take a session"
    );
}

#[test]
fn every_name_in_a_path_is_a_parameter_and_every_operation_id_is_unique() {
    let document = document();
    let mut operation_ids = BTreeSet::new();
    for (template, operations) in described(&document) {
        let parameters = operations.get("parameters").and_then(Value::as_array);
        let parameters = parameters.into_iter().flatten().map(|parameter| {
            let pointer = parameter["$ref"].as_str();
            pointer.map_or(parameter, |pointer| target(&document, pointer))
        });
        let parameters: BTreeSet<&str> = parameters
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        let named: BTreeSet<&str> = names(template).into_iter().collect();
        assert_eq!(parameters, named, "{template}");
        for method in methods(operations) {
            let operation = &operations[method.as_str().to_lowercase()];
            let id = operation["operationId"].as_str();
            let id = id.unwrap_or_else(|| panic!("{method:?} {template} has no operationId"));
            assert!(operation_ids.insert(id), "two operations are named {id}");
        }
    }
}

#[test]
fn every_reference_resolves_and_no_part_is_unused() {
    let document = document();
    let mut references = BTreeSet::new();
    collect_references(&document, &mut references);
    for reference in &references {
        target(&document, reference);
    }
    for kind in ["parameters", "headers", "responses", "schemas"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            let reference = format!("#/components/{kind}/{name}");
            assert!(references.contains(&*reference), "{reference} is not used");
        }
    }
}

fn collect_references<'d>(value: &'d Value, references: &mut BTreeSet<&'d str>) {
    references.extend(value.get("$ref").and_then(Value::as_str));
    let (entries, values) = (value.as_object(), value.as_array());
    let parts = entries.into_iter().flat_map(Map::values);
    for part in parts.chain(values.into_iter().flatten()) {
        collect_references(part, references);
    }
}

/// Returns the part of the document that a reference points to.
fn target<'a>(document: &'a Value, reference: &str) -> &'a Value {
    let pointer = reference.strip_prefix('#');
    let found = pointer.and_then(|pointer| document.pointer(pointer));
    found.unwrap_or_else(|| panic!("{reference} does not exist"))
}
