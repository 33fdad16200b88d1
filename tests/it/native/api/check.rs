//! Whether versions in use may still be used.

use serde_json::{Value, json};
use terrace_core::index::overview::Overview;
use terrace_core::model::package::Package;

use crate::support::Registry;
use crate::support::memory::Memory;
use crate::support::registry::{Response, Sent};

const PATH: &str = "/api/v1/check";

const OVERVIEW: &str = r#"{"versions":[{"version":"1.1.0"},
    {"version":"1.0.0","status":{"state":"revoked","reason":"it deletes","at":1,"by":"root"}}]}"#;

fn filled(vars: &[(&str, &str)]) -> (Memory, Registry) {
    let memory = Memory::new();
    let overview: Overview = serde_json::from_str(OVERVIEW).unwrap();
    for address in ["acme/vpc/aws", "globex/vpc"] {
        let package = Package::parse_address(address).unwrap();
        let (key, document) = overview.index(&package);
        memory.restore_index(&key.to_string(), document);
    }
    let registry = Registry::in_memory(&memory, vars);
    (memory, registry)
}

fn ask(registry: &Registry, packages: &Value) -> Response {
    let body = json!({ "packages": packages }).to_string();
    registry.send(
        &Sent::new("POST", PATH)
            .header("cf-connecting-ip", "192.0.2.1")
            .body(body),
    )
}

fn states(response: Response) -> Vec<String> {
    let answer = response.found();
    let packages = answer["packages"].as_array().unwrap().iter();
    packages
        .map(|it| it["state"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn packages_are_judged_by_one_bulk_read_and_hidden_ones_look_unknown() {
    let used = json!([
        { "address": "acme/vpc/aws", "version": "1.0.0" },
        { "address": "globex/vpc", "version": "1.0.0" },
        { "address": "acme/vpc/aws", "version": "3.0.0" },
    ]);
    let (memory, registry) = filled(&[]);
    memory.forget_operations();
    assert_eq!(
        states(ask(&registry, &used)),
        ["revoked", "revoked", "missing"]
    );
    assert_eq!(memory.operations(), ["KV get 3 keys"]);

    let (memory, registry) = filled(&[("TERRACE_ACCESS_EXCEPT", "globex")]);
    memory.forget_operations();
    assert_eq!(
        states(ask(&registry, &used)),
        ["revoked", "unknown", "missing"]
    );
    assert_eq!(memory.operations(), ["KV get 2 keys"]);
    let (_, registry) = filled(&[("TERRACE_ACCESS", "private")]);
    ask(&registry, &used).expect(401);
}

#[test]
fn the_packages_the_unknown_names_and_the_searches_of_a_request_are_limited() {
    let (_, registry) = filled(&[("TERRACE_SEARCHES_A_MINUTE", "12")]);
    let many = |count: usize| {
        let used = (0..count).map(|at| json!({ "address": format!("acme/p{at}") }));
        Value::Array(used.collect())
    };
    let judged = states(ask(&registry, &many(25)));
    assert_eq!(judged.iter().filter(|it| *it == "unknown").count(), 20);
    assert_eq!(judged.iter().filter(|it| *it == "unchecked").count(), 5);
    ask(&registry, &many(101)).expect(400);
    ask(&registry, &json!([{ "address": "acme" }])).expect(400);
    ask(&registry, &many(100)).expect(429);
}
