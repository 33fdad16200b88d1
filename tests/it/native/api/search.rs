//! Search, and lists of namespaces and packages.

use serde_json::{Value, json};
use terrace_core::index::catalog::CatalogLine;
use terrace_core::model::status::ReleaseState;

use crate::support::Registry;
use crate::support::described::{line, put_catalog, symbol};
use crate::support::memory::Memory;
use crate::support::registry::Sent;
use crate::support::tokens::{create, revoke};

/// Returns a registry with packages of three owners.
fn filled(vars: &[(&str, &str)]) -> (Memory, Registry) {
    let memory = Memory::new();
    let lines = [
        line("modules/acme/network/aws", "Subnets of a \"vpc\""),
        line("modules/acme/vpc/aws", "A cloud"),
        line("modules/acme/vpc/gcp", "A cloud"),
        CatalogLine {
            state: Some(ReleaseState::Deprecated),
            ..line("modules/acme/vpc-old/aws", "")
        },
        line("modules/registry.example.com/other/dns/aws", "Names"),
        line("providers/hosted/acme/cloud", ""),
        line("providers/hosted/globex/vpc", ""),
        line("providers/registry.example.com/acme/vpc", ""),
    ];
    let symbols = [symbol("providers/hosted/acme/cloud", "cloud_vpc")];
    put_catalog(&memory, &lines, &symbols);
    let registry = Registry::in_memory(&memory, vars);
    (memory, registry)
}

fn names(page: &Value) -> Vec<String> {
    let results = page["results"].as_array().unwrap().iter();
    let name = |result: &Value| match result["type"].as_str() {
        Some("symbol") => result["name"].clone(),
        _ => result["address"].clone(),
    };
    results
        .map(|it| name(it).as_str().unwrap().to_owned())
        .collect()
}

const ALL: [&str; 7] = [
    "acme/vpc/aws",
    "acme/vpc/gcp",
    "cloud_vpc",
    "globex/vpc",
    "registry.example.com/acme/vpc",
    "acme/network/aws",
    "acme/vpc-old/aws",
];

#[test]
fn a_search_of_all_namespaces_takes_one_kv_read() {
    let (memory, registry) = filled(&[]);
    // Once a minute, a search is followed by the check whether the catalogue is complete.
    registry.get("/api/v1/search?q=none").expect(200);
    memory.forget_operations();
    let page = registry.read("/api/v1/search?q=vpc");
    assert_eq!(memory.operations(), ["KV get merged-catalog/1"]);
    assert_eq!(names(&page), ALL);
    assert_eq!(page.get("next"), None);
}

#[test]
fn a_search_of_a_namespace_takes_one_kv_read() {
    let (memory, registry) = filled(&[]);
    memory.forget_operations();
    let path = "/api/v1/search?q=vpc&namespace=registry.example.com/acme";
    let page = registry.read(path);
    assert_eq!(memory.operations(), ["KV get 2 keys"]);
    assert_eq!(names(&page), ["registry.example.com/acme/vpc"]);
    let page = registry.read("/api/v1/search?q=vpc&namespace=Acme");
    assert_eq!(page["results"].as_array().unwrap().len(), 5);
    let page = registry.read("/api/v1/search?q=vpc&namespace=nobody");
    assert_eq!(page["results"], json!([]));
}

#[test]
fn results_name_their_paths_and_the_places_of_words() {
    let (_, registry) = filled(&[]);
    let page = registry.read("/api/v1/search?q=subnets+vpc");
    assert_eq!(
        page["results"][0],
        json!({
            "type": "package",
            "kind": "module",
            "address": "acme/network/aws",
            "path": "/api/v1/modules/acme/network/aws",
            "latest": "1.0.0",
            "published_at": "2023-11-14T22:13:20Z",
            "versions": 1,
            "is_documented": true,
            "description": "Subnets of a \"vpc\"",
            "highlights": {
                "name": ["acme/network/aws"],
                "description": ["", "Subnets", " of a \"", "vpc", "\""],
            },
        })
    );
    let page = registry.read("/api/v1/search?q=cloud_vpc");
    assert_eq!(
        page["results"][0],
        json!({
            "type": "symbol",
            "kind": "resources",
            "name": "cloud_vpc",
            "provider": {
                "kind": "provider",
                "address": "acme/cloud",
                "path": "/api/v1/providers/acme/cloud",
            },
            "version": "1.0.0",
            "path": "/api/v1/providers/acme/cloud/1.0.0/docs/resources/vpc",
            "highlights": { "name": ["", "cloud", "_", "vpc"] },
        })
    );
    let page = registry.read("/api/v1/search?q=cidr&limit=1");
    assert_eq!(page["results"][0]["words"], json!(["cidr"]));
    let page = registry.read("/api/v1/search?q=sybnets");
    assert_eq!(page, json!({ "results": [] }));
    let page = registry.read("/api/v1/search?q=netwrk");
    assert_eq!(page, json!({ "results": [], "did_you_mean": "network" }));
}

#[test]
fn the_search_field_offers_the_packages_that_the_reader_may_see() {
    let (_, registry) = filled(&[("TERRACE_ACCESS_EXCEPT", "acme")]);
    let names = registry.get("/_names").expect(200);
    assert_eq!(names.header("cache-control"), Some("private, no-cache"));
    let expected = "/modules/registry.example.com/other/dns/aws\tNames\n/providers/globex/vpc\t\n\
        /mirrored/registry.example.com/acme/vpc\t\n";
    assert_eq!(names.text(), expected);
}

#[test]
fn a_mirrored_module_is_found_by_its_source_in_configurations() {
    let (_, registry) = filled(&[]);
    for source in [
        "other/dns/aws",
        "registry.terraform.io/other/dns/aws//modules/x",
    ] {
        let page = registry.read(&format!("/api/v1/search?q={source}"));
        assert_eq!(names(&page), ["registry.example.com/other/dns/aws"]);
    }
}

#[test]
fn a_list_that_the_client_has_is_304() {
    let (_, registry) = filled(&[]);
    for path in ["/api/v1/search?q=vpc", "/api/v1/namespaces", "/v1/modules"] {
        let etag = registry.get(path).etag();
        let sent = Sent::new("GET", path).header("if-none-match", &etag);
        registry.send(&sent).expect(304);
    }
}

#[test]
fn namespaces_are_listed_with_their_packages() {
    let (_, registry) = filled(&[]);
    let page = registry.read("/api/v1/namespaces");
    let view = |namespace: &str, modules: u32, providers: u32| {
        let path = format!("/api/v1/namespaces/{namespace}");
        json!({ "namespace": namespace, "path": path, "modules": modules, "providers": providers })
    };
    let all = [
        view("acme", 4, 1),
        view("globex", 0, 1),
        view("registry.example.com/acme", 0, 1),
        view("registry.example.com/other", 1, 0),
    ];
    assert_eq!(page, json!({ "namespaces": all }));
    let first = registry.read("/api/v1/namespaces?limit=2");
    assert_eq!(first["next"], "globex");
    let rest = registry.read("/api/v1/namespaces?limit=2&after=globex");
    assert_eq!(rest, json!({ "namespaces": all[2..] }));
    for namespace in page["namespaces"].as_array().unwrap() {
        let path = namespace["path"].as_str().unwrap();
        let packages = registry.read(path);
        let count = packages["packages"].as_array().unwrap().len() as u64;
        let number = |field: &str| namespace[field].as_u64().unwrap();
        assert_eq!(count, number("modules") + number("providers"), "{path}");
    }
}

#[test]
fn the_packages_of_a_namespace_are_listed_in_pages() {
    let (_, registry) = filled(&[]);
    let addresses = |query: &str| {
        let page = registry.read(&format!("/api/v1/namespaces/acme?{query}"));
        let packages = page["packages"].as_array().unwrap().iter();
        let addresses = packages.map(|it| it["address"].as_str().unwrap().to_owned());
        (
            addresses.collect::<Vec<_>>(),
            page["next"].as_str().map(str::to_owned),
        )
    };
    let (first, next) = addresses("limit=3");
    assert_eq!(
        first,
        ["acme/network/aws", "acme/vpc-old/aws", "acme/vpc/aws"]
    );
    let (rest, end) = addresses(&format!("limit=3&after={}", next.unwrap()));
    assert_eq!(
        (rest, end),
        (
            vec!["acme/vpc/gcp".to_owned(), "acme/cloud".to_owned()],
            None
        )
    );
    assert_eq!(addresses("kind=provider").0, ["acme/cloud"]);
    registry.get("/api/v1/namespaces/nobody").expect(404);
}

#[test]
fn the_lists_of_the_public_registry_are_paged_by_position() {
    let (_, registry) = filled(&[]);
    let ids = |page: &Value| {
        let modules = page["modules"].as_array().unwrap().iter();
        modules
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let page = registry.read("/v1/modules?limit=2&provider=aws");
    assert_eq!(
        ids(&page),
        ["acme/network/aws/1.0.0", "acme/vpc-old/aws/1.0.0"]
    );
    assert_eq!(
        page["meta"],
        json!({
            "limit": 2,
            "current_offset": 0,
            "next_offset": 2,
            "next_url": "/v1/modules?limit=2&offset=2&provider=aws",
        })
    );
    let rest = registry.read(page["meta"]["next_url"].as_str().unwrap());
    assert_eq!(ids(&rest), ["acme/vpc/aws/1.0.0"]);
    assert_eq!(rest["meta"]["prev_offset"], 0);
    assert_eq!(rest["meta"].get("next_url"), None);
    let systems = registry.read("/v1/modules/acme/vpc");
    assert_eq!(ids(&systems), ["acme/vpc/aws/1.0.0", "acme/vpc/gcp/1.0.0"]);
    let found = registry.read("/v1/modules/search?q='vpc'&limit=1");
    assert_eq!(ids(&found), ["acme/vpc/aws/1.0.0"]);
    assert_eq!(found["meta"]["next_offset"], 1);
    let verified = registry.read("/v1/modules?verified=true");
    assert_eq!(verified["modules"], json!([]));
    let providers = registry.read("/v1/providers");
    assert_eq!(providers["providers"][1]["id"], "globex/vpc/1.0.0");
    assert_eq!(providers["providers"].as_array().unwrap().len(), 2);
    for path in [
        "/v1/modules/nobody",
        "/v1/modules/acme/nothing",
        "/v1/providers/nobody",
    ] {
        registry.get(path).expect(404);
    }
}

#[test]
fn a_parameter_that_a_list_does_not_have_changes_nothing() {
    let (_, registry) = filled(&[]);
    for path in [
        "/v1/modules?limit=2",
        "/v1/modules/acme?limit=2",
        "/v1/modules/acme/vpc?limit=2",
        "/v1/modules/search?q=vpc",
        "/v1/providers?limit=1",
        "/v1/providers/acme?limit=1",
        "/api/v1/search?q=vpc",
        "/api/v1/namespaces?limit=1",
        "/api/v1/namespaces/acme?limit=1",
    ] {
        let plain = registry.get(path).expect(200).text();
        let further = registry.get(&format!("{path}&page=2&utm_source=x&limt=1"));
        assert_eq!(further.expect(200).text(), plain, "{path}");
    }
}

#[test]
fn too_many_anonymous_searches_are_429_and_tokens_pass() {
    let (_, registry) = filled(&[("TERRACE_SEARCHES_A_MINUTE", "3")]);
    let from = |path: &str| Sent::new("GET", path).header("cf-connecting-ip", "192.0.2.1");
    for path in ["/api/v1/search?q=a", "/api/v1/namespaces", "/v1/modules"] {
        registry.send(&from(path)).expect(200);
    }
    for path in ["/api/v1/search?q=a", "/v1/providers"] {
        let response = registry.send(&from(path)).expect(429);
        assert_eq!(response.header("retry-after"), Some("60"));
        assert!(
            response.errors().contains("with a token"),
            "{}",
            response.errors()
        );
        assert_eq!(
            response.header("access-control-allow-origin").is_some(),
            path.starts_with("/api/")
        );
    }
    for path in [
        "/api/v1/search?q=a&namespace=acme",
        "/v1/modules/search?q=a&namespace=acme",
    ] {
        registry.send(&from(path)).expect(429);
    }
    for path in ["/api/v1/namespaces/acme", "/v1/modules/acme"] {
        registry.send(&from(path)).expect(200);
    }
    registry
        .send(&Sent::new("GET", "/api/v1/search?q=a"))
        .expect(200);
}

#[test]
fn a_token_lifts_the_limit_of_a_public_registry_if_it_is_valid() {
    let vars = [
        ("TERRACE_SEARCHES_A_MINUTE", "1"),
        ("TERRACE_FAILURES_A_MINUTE", "1"),
    ];
    let (_, registry) = filled(&vars);
    let (_, token) = create(&registry, &["read"], None);
    let (id, revoked) = create(&registry, &["read"], None);
    revoke(&registry, &id).expect(200);
    let from = |path: &str| Sent::new("GET", path).header("cf-connecting-ip", "192.0.2.1");
    let search = || from("/api/v1/search?q=vpc");
    // An invalid token is none: the first request is answered, and no failure is counted.
    registry.send(&search().bearing("guess")).expect(200);
    for invalid in ["guess", revoked.as_str(), "terrace_x"] {
        registry.send(&search().bearing(invalid)).expect(429);
    }
    for path in [
        "/api/v1/search?q=vpc",
        "/api/v1/search?q=vpc&namespace=acme",
        "/api/v1/namespaces",
        "/v1/modules",
        "/v1/modules/search?q=vpc",
        "/v1/providers",
    ] {
        let page = registry.send(&from(path).bearing(&token)).expect(200);
        assert_eq!(page.header("cache-control"), Some("private, no-cache"));
        registry.send(&from(path)).expect(429);
    }
    registry
        .send(&from("/v2/token").bearing("guess"))
        .expect(401);
}
