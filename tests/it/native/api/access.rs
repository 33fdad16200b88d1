//! Hidden packages, and pages of other websites.

use crate::support::Registry;
use crate::support::described::{line, put_catalog, symbol};
use crate::support::memory::Memory;
use crate::support::registry::{Response, Sent, TOKEN};
use crate::support::tokens::create;

const OPEN: [&str; 2] = ["modules/acme/vpc/aws", "providers/hosted/acme/cloud"];
const HIDDEN: [&str; 3] = [
    "modules/Secret/vpc/aws",
    "providers/hosted/secret/vpc",
    "providers/secret.example.com/acme/vpc",
];

/// Requests whose answers could tell that there are hidden packages.
const REQUESTS: [&str; 20] = [
    "/api/v1/search?q=vpc",
    "/api/v1/search?q=vpc&limit=1",
    "/api/v1/search?q=vpc&limit=1&after=a0~modules/Secret/vpc/aws~",
    "/api/v1/search?q=secret",
    "/api/v1/search?q=vpc&namespace=secret",
    "/api/v1/search?q=vpc&namespace=secret.example.com/acme",
    "/api/v1/namespaces",
    "/api/v1/search?q=secrat",
    "/_names",
    "/api/v1/namespaces?limit=1",
    "/api/v1/namespaces/secret",
    "/v1/modules",
    "/v1/modules?limit=1",
    "/v1/modules?offset=1",
    "/v1/modules/secret",
    "/v1/modules/Secret/vpc",
    "/v1/modules/search?q=vpc&limit=1",
    "/v1/providers",
    "/api/v1/modules/acme/vpc/aws/used-by",
    "/modules/acme/vpc/aws/used-by",
];

fn registry(keys: &[&str]) -> Registry {
    let memory = Memory::new();
    let lines: Vec<_> = keys.iter().map(|key| line(key, "a vpc")).collect();
    let providers = keys.iter().filter(|key| key.starts_with("providers/"));
    let symbols: Vec<_> = providers.map(|key| symbol(key, "cloud_vpc")).collect();
    put_catalog(&memory, &lines, &symbols);
    let vars = [("TERRACE_ACCESS_EXCEPT", "secret secret.example.com")];
    Registry::in_memory(&memory, &vars)
}

fn comparable(response: &Response) -> (u16, Vec<(String, String)>, String) {
    (response.status, response.headers.clone(), response.text())
}

#[test]
fn an_answer_is_the_same_whether_hidden_packages_exist_or_not() {
    let all: Vec<&str> = [&OPEN[..], &HIDDEN].concat();
    let (with, without) = (registry(&all), registry(&OPEN));
    let [one, other] = [&with, &without].map(|it| create(it, &["read:acme"], None).1);
    for path in REQUESTS {
        let [found, expected] = [&with, &without].map(|registry| comparable(&registry.get(path)));
        assert_eq!(found, expected, "{path}");
        let found = comparable(&with.get_as(&one, path));
        let expected = comparable(&without.get_as(&other, path));
        assert_eq!(found, expected, "{path} with a token for others");
    }
}

#[test]
fn a_caller_who_may_see_hidden_packages_finds_them() {
    let all: Vec<&str> = [&OPEN[..], &HIDDEN].concat();
    let registry = registry(&all);
    let reader = create(&registry, &["read:secret"], None).1;
    for path in REQUESTS {
        let [anonymous, known] = [registry.get(path), registry.get_as(&reader, path)];
        // Names of modules keep their case.
        let is_of_others = path.contains("example.com")
            || path.contains("limit=1")
            || path == "/v1/modules/secret";
        if !is_of_others {
            assert_ne!(anonymous.text(), known.text(), "{path}");
        }
    }
}

/// Paths of the API: of every kind, and of none.
const PATHS: [&str; 8] = [
    "/api/v1/search?q=vpc",
    "/api/v1/search",
    "/api/v1/namespaces/secret",
    "/api/v1/providers/acme/cloud",
    "/api/v1/modules/acme/vpc/aws/1.0.0/docs/readme",
    "/api/v1/nothing",
    "/api/",
    "/api/v1/providers/acme/cloud/latest",
];

#[test]
fn pages_of_any_website_may_read_every_answer_without_credentials_and_no_other() {
    for vars in [
        &[][..],
        &[("TERRACE_ACCESS", "private")],
        &[("TERRACE_ACCESS_EXCEPT", "acme")],
    ] {
        let registry = Registry::in_memory(&Memory::new(), vars);
        for path in PATHS {
            for method in ["GET", "HEAD", "POST"] {
                let sent = || Sent::new(method, path);
                let origin = |response: &Response| {
                    response
                        .header("access-control-allow-origin")
                        .map(str::to_owned)
                };
                let response = registry.send(&sent());
                assert_eq!(
                    origin(&response).as_deref(),
                    Some("*"),
                    "{method} {path} {vars:?}"
                );
                for token in [TOKEN, "wrong"] {
                    let response = registry.send(&sent().bearing(token));
                    assert_eq!(origin(&response), None, "{method} {path} {vars:?}");
                }
            }
        }
        for path in [
            "/v1/modules",
            "/v1/providers/acme/cloud/versions",
            "/healthz",
        ] {
            let response = registry.get(path);
            assert_eq!(
                response.header("access-control-allow-origin"),
                None,
                "{path}"
            );
        }
    }
}
