//! `terrace mirror list`, `block`, `unblock`, `blocks` and `remove`.

use serde_json::{Value, json};

use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{run, terrace};

const ADDRESS: &str = "origin.example/acme/hello";
const STATUS: &str = "/admin/v1/mirror/origin.example/acme/hello/status";
const VERSION_STATUS: &str = "/admin/v1/mirror/origin.example/acme/hello/1.0.0/status";

fn answer(registry: &Registry, method: &str, path: &str, answer: &Value) {
    let answer = Response::new(200, answer.to_string());
    registry.fail(method, path, Fault::Answer(answer));
}

fn block(reason: &str) -> Value {
    json!({ "state": "blocked", "reason": reason, "at": 1_700_000_000, "by": "root" })
}

/// Sets the rules that the registry stores: blocks of parts of the mirror, by their IDs.
fn store_blocks(registry: &Registry, blocks: &[(&str, &str, &str)]) {
    let fact = |(id, part, reason): &(&str, &str, &str)| {
        let rule = json!({ "providers": part, "reason": reason }).to_string();
        let document =
            json!({ "kind": "block", "rule": rule, "created": 1_700_000_000, "by": "root" });
        json!({ "key": format!("rules/{id}"), "document": document.to_string() })
    };
    let role = json!({
        "kind": "role", "rule": r#"{"claims":{"sub":"ann"},"scopes":["read"]}"#, "created": 1, "by": "root",
    });
    let mut facts = vec![json!({ "key": "rules/0000000000000009", "document": role.to_string() })];
    facts.extend(blocks.iter().map(fact));
    let answer = Response::new(200, json!({ "facts": facts }).to_string());
    registry.set("/admin/v1/facts?prefix=rules%2F", answer);
}

/// Answers the request that adds a block with this ID.
fn accept_block(registry: &Registry, id: &str, part: &str, reason: &str) {
    let added = json!({
        "id": id, "kind": "block", "rule": { "providers": part, "reason": reason },
        "created": "2023-11-14T22:13:20Z", "created_by": "root",
    });
    answer(registry, "POST", "/admin/v1/rules", &added);
}

const ID: &str = "7f3a9c2e51b04d68";
const OLDER: &str = "1f3a9c2e51b04d68";

#[test]
fn a_block_of_a_namespace_is_a_rule_and_then_a_repair_of_each_stored_provider() {
    let registry = Registry::start();
    store_blocks(&registry, &[]);
    accept_block(&registry, ID, "origin.example/acme", "see SEC-12");
    let releases = "prefix=releases%2Fproviders%2Forigin.example%2Facme%2F";
    let facts = [release("1.0.0"), release("1.1.0")];
    answer(&registry, "GET", releases, &json!({ "facts": facts }));
    answer(&registry, "POST", "/admin/v1/reindex", &step(&["a"], None));
    let line = [
        "mirror",
        "block",
        "Origin.example/acme",
        "--reason",
        "see SEC-12",
    ];
    let report = run(&registry, &line).expect(0).json();
    assert_eq!(report["rule"]["id"], ID);
    assert_eq!(report["stored"], json!([ADDRESS]));
    assert_eq!(
        changes(&registry),
        ["POST /admin/v1/rules", "POST /admin/v1/reindex"]
    );
}

#[test]
fn a_block_for_another_reason_replaces_the_earlier_one_without_a_gap() {
    let registry = Registry::start();
    store_blocks(
        &registry,
        &[
            (OLDER, "origin.example", "it leaks"),
            ("2f3a9c2e51b04d68", "origin.example/acme", "of a namespace"),
        ],
    );
    accept_block(&registry, ID, "origin.example", "see SEC-12");
    let removal = format!("/admin/v1/rules/{OLDER}");
    answer(&registry, "DELETE", &removal, &json!({ "removed": OLDER }));
    let releases = "prefix=releases%2Fproviders%2Forigin.example%2F";
    answer(&registry, "GET", releases, &json!({ "facts": [] }));
    let line = [
        "mirror",
        "block",
        "origin.example",
        "--reason",
        "see SEC-12",
    ];
    let mut command = terrace(&line);
    command
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", super::support::TOKEN);
    let shown = super::support::ended(&mut command).expect(0).stdout;
    assert!(
        shown.contains("all providers of origin.example are blocked, 0 of them stored"),
        "{shown}"
    );
    let expected = [
        "POST /admin/v1/rules".to_owned(),
        format!("DELETE {removal}"),
    ];
    assert_eq!(changes(&registry), expected);
}

#[test]
fn a_lifted_block_of_a_namespace_names_that_of_the_host() {
    let registry = Registry::start();
    let of_host = ("2f3a9c2e51b04d68", "origin.example", "the whole host");
    store_blocks(&registry, &[(ID, "origin.example/acme", "x"), of_host]);
    let removal = format!("/admin/v1/rules/{ID}");
    answer(&registry, "DELETE", &removal, &json!({ "removed": ID }));
    let releases = "prefix=releases%2Fproviders%2Forigin.example%2Facme%2F";
    answer(
        &registry,
        "GET",
        releases,
        &json!({ "facts": [release("1.0.0")] }),
    );
    answer(&registry, "POST", "/admin/v1/reindex", &step(&[], None));
    let mut command = terrace(&["mirror", "unblock", "origin.example/acme"]);
    command
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", super::support::TOKEN);
    let shown = super::support::ended(&mut command).expect(0).stdout;
    assert!(
        shown.contains("origin.example/acme is no longer blocked"),
        "{shown}"
    );
    assert!(
        shown.contains("but origin.example is blocked with all its providers: the whole host"),
        "{shown}"
    );
    let expected = [
        format!("DELETE {removal}"),
        "POST /admin/v1/reindex".to_owned(),
    ];
    assert_eq!(changes(&registry), expected);
}

#[test]
fn an_unblocked_provider_of_a_blocked_namespace_stays_blocked_and_the_command_says_so() {
    let registry = Registry::start();
    store_blocks(&registry, &[(ID, "origin.example/acme", "see SEC-12")]);
    let version = json!({ "blocked_versions": { "1.0.0": block("it leaks") } });
    answer(&registry, "GET", STATUS, &version);
    answer(&registry, "PUT", VERSION_STATUS, &json!({}));
    let spec = format!("{ADDRESS}@1.0.0");
    let mut command = terrace(&["mirror", "unblock", &spec]);
    command
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", super::support::TOKEN);
    let shown = super::support::ended(&mut command).expect(0).stdout;
    assert!(
        shown.contains("but origin.example/acme is blocked with all its providers: see SEC-12"),
        "{shown}"
    );
}

#[test]
fn blocks_of_namespaces_are_listed_and_apply_to_the_stored_versions() {
    let registry = Registry::start();
    store_blocks(&registry, &[(ID, "origin.example/acme", "see SEC-12")]);
    answer(
        &registry,
        "GET",
        "prefix=statuses",
        &json!({ "facts": [statuses()] }),
    );
    let report = run(&registry, &["mirror", "blocks"]).expect(0).json();
    let first = &report["blocks"][0];
    assert_eq!(first["address"], "origin.example/acme");
    assert_eq!(first["version"], Value::Null);
    assert_eq!(first["reason"], "see SEC-12");
    assert_eq!(report["blocks"].as_array().unwrap().len(), 3);
    answer(
        &registry,
        "GET",
        "prefix=statuses",
        &json!({ "facts": [statuses()] }),
    );
    let facts = [release("1.0.0"), release("1.1.0"), release("1.2.0")];
    answer(
        &registry,
        "GET",
        "prefix=releases",
        &json!({ "facts": facts }),
    );
    let report = run(&registry, &["mirror", "list"]).expect(0).json();
    let versions = report["versions"].as_array().unwrap().iter();
    let reasons: Vec<&str> = versions
        .map(|it| {
            assert_eq!(it["state"], "blocked");
            it["reason"].as_str().unwrap()
        })
        .collect();
    // The version has a block of its own.
    assert_eq!(reasons, ["see SEC-12", "it leaks", "see SEC-12"]);
}

fn step(rewritten: &[&str], next: Option<&str>) -> Value {
    json!({ "looked_at": 1, "rewritten": rewritten, "removed": [], "failed": [], "next": next })
}

/// Returns the requests that change something.
fn changes(registry: &Registry) -> Vec<String> {
    let mut requests = registry.requests();
    requests.retain(|request| !request.starts_with("GET"));
    requests
}

fn release(version: &str) -> Value {
    let document = format!(
        r#"{{"kind":"mirrored","schema":1,"address":"{ADDRESS}","version":"{version}","published_at":1,"packages":[{{"platform":"linux_amd64","filename":"a.zip","sha256":"{}","size":1024}}],"offered":[{{"platform":"linux_arm64","filename":"b.zip","sha256":"{}"}}]}}"#,
        "1".repeat(64),
        "2".repeat(64)
    );
    json!({ "key": format!("releases/providers/{ADDRESS}/{version}"), "document": document })
}

#[test]
fn a_version_whose_archive_was_erased_is_shown_as_one_that_cannot_be_installed() {
    let registry = Registry::start();
    let page = |path: &str, document: Value| {
        registry.set(path, Response::new(200, document.to_string()));
    };
    page(STATUS, json!({ "versions": {} }));
    page(
        "/api/v1/mirror/origin.example/acme/hello",
        json!({ "versions": [{ "version": "1.0.0", "is_documented": false }] }),
    );
    page(
        "/admin/v1/facts?prefix=releases%2Fproviders%2Forigin.example%2Facme%2Fhello%2F",
        json!({ "facts": [release("1.0.0")] }),
    );
    let mark = r#"{"state":"erased","since":1,"reason":"takedown"}"#;
    for (digit, is_erased) in [("1", true), ("2", false)] {
        let key = format!("garbage/{}.zip", digit.repeat(64));
        let facts = json!({ "facts": [{ "key": key, "document": mark }] });
        page("/admin/v1/facts?prefix=garbage%2F", facts);
        let shown = run(&registry, &["release", "show", ADDRESS])
            .expect(0)
            .json();
        assert_eq!(shown["versions"][0]["archive_erased"], is_erased, "{shown}");
        let warnings = shown["warnings"].to_string();
        let advice = format!("admin erase {ADDRESS}@1.0.0 --reason REASON");
        assert_eq!(warnings.contains(&advice), is_erased, "{warnings}");
    }
}

fn statuses() -> Value {
    let document = json!({
        "versions": { "1.0.0": { "state": "revoked", "reason": "it deletes", "at": 1, "by": "root" } },
        "blocked_versions": { "1.1.0": block("it leaks"), "2.0.0": block("it leaks more") },
    });
    json!({ "key": format!("statuses/providers/{ADDRESS}"), "document": document.to_string() })
}

#[test]
fn a_block_of_a_version_is_one_request() {
    let registry = Registry::start();
    answer(
        &registry,
        "PUT",
        VERSION_STATUS,
        &json!({ "blocked_versions": { "1.0.0": block("it leaks") } }),
    );
    let spec = format!("{ADDRESS}@1.0.0");
    let report = run(
        &registry,
        &["mirror", "block", &spec, "--reason", "it leaks"],
    );
    let report = report.expect(0).json();
    assert_eq!(
        report["statuses"]["blocked_versions"]["1.0.0"]["at"],
        "2023-11-14T22:13:20Z"
    );
    assert_eq!(changes(&registry), [format!("PUT {VERSION_STATUS}")]);
}

#[test]
fn a_block_of_a_provider_is_continued_in_steps() {
    let registry = Registry::start();
    answer(
        &registry,
        "PUT",
        STATUS,
        &json!({ "blocked": block("it leaks") }),
    );
    answer(
        &registry,
        "POST",
        "/admin/v1/reindex",
        &step(&["a"], Some("x")),
    );
    answer(&registry, "POST", "/admin/v1/reindex", &step(&["b"], None));
    run(
        &registry,
        &["mirror", "block", ADDRESS, "--reason", "it leaks"],
    )
    .expect(0);
    let put = format!("PUT {STATUS}");
    let post = "POST /admin/v1/reindex".to_owned();
    assert_eq!(changes(&registry), [put, post.clone(), post]);
}

#[test]
fn an_unblocked_version_of_a_blocked_provider_stays_blocked_and_the_command_says_so() {
    let registry = Registry::start();
    let whole = json!({ "blocked": block("all of it") });
    let mut both = whole.clone();
    both["blocked_versions"] = json!({ "1.0.0": block("it leaks") });
    answer(&registry, "GET", STATUS, &both);
    answer(&registry, "PUT", VERSION_STATUS, &whole);
    let spec = format!("{ADDRESS}@1.0.0");
    let mut command = terrace(&["mirror", "unblock", &spec]);
    command
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", super::support::TOKEN);
    let shown = super::support::ended(&mut command).expect(0).stdout;
    assert!(shown.contains("no longer blocked"), "{shown}");
    assert!(
        shown.contains("with all its versions: all of it"),
        "{shown}"
    );
}

#[test]
fn a_provider_of_the_registry_cannot_be_blocked() {
    let registry = Registry::start();
    for address in ["acme/hello", "acme/vpc/aws"] {
        let ended = run(&registry, &["mirror", "block", address, "--reason", "x"]).expect(2);
        assert!(ended.errors().contains("another registry"), "{ended:?}");
    }
    assert!(changes(&registry).is_empty());
}

#[test]
fn a_token_without_the_scope_cannot_block() {
    let registry = Registry::start();
    registry.fail(
        "PUT",
        STATUS,
        Fault::Answer(errors(403, &["requires the scope admin"])),
    );
    let ended = run(&registry, &["mirror", "block", ADDRESS, "--reason", "x"]).expect(5);
    assert!(ended.errors().contains("scope admin"), "{ended:?}");
}

#[test]
fn all_blocks_are_listed_with_their_reasons() {
    let registry = Registry::start();
    store_blocks(&registry, &[]);
    answer(
        &registry,
        "GET",
        "prefix=statuses",
        &json!({ "facts": [statuses()] }),
    );
    let report = run(&registry, &["mirror", "blocks"]).expect(0).json();
    let blocks = report["blocks"].as_array().unwrap();
    let names: Vec<&str> = blocks
        .iter()
        .map(|it| it["version"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["1.1.0", "2.0.0"]);
    assert_eq!(blocks[0]["reason"], "it leaks");
    assert_eq!(blocks[0]["at"], "2023-11-14T22:13:20Z");
}

#[test]
fn stored_versions_are_listed_with_their_states() {
    let registry = Registry::start();
    store_blocks(&registry, &[]);
    let tombstone = format!(
        r#"{{"kind":"erased","schema":1,"package":"providers/{ADDRESS}","version":"0.9.0","published_at":1,"erased_at":2,"reason":"a leak","archives":[],"contents":[]}}"#
    );
    let tombstone =
        json!({ "key": format!("releases/providers/{ADDRESS}/0.9.0"), "document": tombstone });
    let hosted = json!({ "key": "releases/providers/hosted/acme/hello/1.0.0", "document": "{}" });
    answer(
        &registry,
        "GET",
        "prefix=statuses",
        &json!({ "facts": [statuses()] }),
    );
    let hosted_key = hosted["key"].clone();
    answer(
        &registry,
        "GET",
        "prefix=releases",
        &json!({ "facts": [hosted], "next": hosted_key }),
    );
    let facts = [
        release("1.2.0"),
        release("1.1.0"),
        release("1.0.0"),
        tombstone,
    ];
    answer(
        &registry,
        "GET",
        "after=releases%2Fproviders%2Fhosted0",
        &json!({ "facts": facts }),
    );
    let report = run(&registry, &["mirror", "list"]).expect(0).json();
    let versions = report["versions"].as_array().unwrap().iter();
    let states: Vec<String> = versions
        .map(|it| {
            format!(
                "{} {}",
                it["version"].as_str().unwrap(),
                it["state"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            "0.9.0 erased",
            "1.0.0 revoked",
            "1.1.0 blocked",
            "1.2.0 active"
        ]
    );
    let newest = &report["versions"][3];
    assert_eq!(newest["platforms"], json!(["linux_amd64"]));
    assert_eq!(newest["offered"], json!(["linux_arm64"]));
    assert_eq!(newest["size"], 1024);
}

#[test]
fn a_part_of_the_mirror_is_listed_by_its_prefix() {
    for (part, releases) in [
        (
            "origin.example",
            "prefix=releases%2Fproviders%2Forigin.example%2F",
        ),
        (
            ADDRESS,
            "prefix=releases%2Fproviders%2Forigin.example%2Facme%2Fhello%2F",
        ),
    ] {
        let registry = Registry::start();
        store_blocks(&registry, &[]);
        answer(&registry, "GET", "prefix=statuses", &json!({ "facts": [] }));
        answer(
            &registry,
            "GET",
            releases,
            &json!({ "facts": [release("1.0.0")] }),
        );
        let report = run(&registry, &["mirror", "list", part]).expect(0).json();
        assert_eq!(report["versions"][0]["address"], ADDRESS);
    }
    let registry = Registry::start();
    for part in ["a.example/b/c/d", "a.example/B!", ""] {
        run(&registry, &["mirror", "list", part]).expect(2);
    }
}

#[test]
fn a_removal_is_only_shown_without_yes() {
    let registry = Registry::start();
    answer(
        &registry,
        "GET",
        "prefix=releases",
        &json!({ "facts": [release("1.0.0")] }),
    );
    answer(
        &registry,
        "GET",
        "/admin/v1/documentation",
        &json!({ "documented": [] }),
    );
    answer(&registry, "GET", "prefix=docs", &json!({ "facts": [] }));
    answer(&registry, "GET", "prefix=oci", &json!({ "facts": [] }));
    answer(&registry, "GET", "prefix=garbage", &json!({ "facts": [] }));
    let spec = format!("{ADDRESS}@1.0.0");
    let ended = run(
        &registry,
        &["mirror", "remove", &spec, "--reason", "a takedown"],
    )
    .expect(0);
    assert!(
        ended
            .stderr
            .contains("neither by pull-through nor by a publish"),
        "{ended:?}"
    );
    assert!(changes(&registry).is_empty());
    let hosted = ["mirror", "remove", "acme/hello", "--reason", "x"];
    run(&registry, &hosted).expect(2);
}
