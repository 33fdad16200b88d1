//! `terrace mirror list`, `block`, `unblock`, `blocks` and `remove`.

use serde_json::{Value, json};

use super::support::registry::Registry;
use super::support::{assert_has, rows, run, run_for_people, words};

const ADDRESS: &str = "origin.example/acme/hello";
const STATUS: &str = "/admin/v1/mirror/origin.example/acme/hello/status";
const VERSION_STATUS: &str = "/admin/v1/mirror/origin.example/acme/hello/1.0.0/status";

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
    let path = "/admin/v1/facts?prefix=rules%2F";
    registry.set_json(path, &json!({ "facts": facts }));
}

/// Answers the request that adds a block with this ID.
fn accept_block(registry: &Registry, id: &str, part: &str, reason: &str) {
    let added = json!({
        "id": id, "kind": "block", "rule": { "providers": part, "reason": reason },
        "created": "2023-11-14T22:13:20Z", "created_by": "root",
    });
    registry.answer("POST", "/admin/v1/rules", &added);
}

const ID: &str = "7f3a9c2e51b04d68";
const OLDER: &str = "1f3a9c2e51b04d68";

/// Answers the list of stored versions below a part of the mirror.
fn answer_releases(registry: &Registry, part: &str, facts: &[Value]) {
    let part = part.replace('/', "%2F");
    let path = format!("prefix=releases%2Fproviders%2F{part}%2F");
    registry.answer("GET", &path, &json!({ "facts": facts }));
}

#[test]
fn a_block_of_a_namespace_is_a_rule_and_then_a_repair_of_each_stored_provider() {
    let registry = Registry::start();
    store_blocks(&registry, &[]);
    accept_block(&registry, ID, "origin.example/acme", "SEC-12");
    let facts = [release("1.0.0"), release("1.1.0")];
    answer_releases(&registry, "origin.example/acme", &facts);
    registry.answer("POST", "/admin/v1/reindex", &step(&["a"], None));
    let line = words("mirror block Origin.example/acme --reason SEC-12");
    let report = run(&registry, &line).expect(0).json();
    assert_eq!(report["rule"]["id"], ID);
    assert_eq!(report["stored"], json!([ADDRESS]));
    let expected = ["POST /admin/v1/rules", "POST /admin/v1/reindex"];
    assert_eq!(registry.changes(), expected);
}

#[test]
fn a_block_for_another_reason_replaces_the_earlier_one_without_a_gap() {
    let registry = Registry::start();
    let of_namespace = ("2f3a9c2e51b04d68", "origin.example/acme", "of a namespace");
    let of_host = (OLDER, "origin.example", "it leaks");
    store_blocks(&registry, &[of_host, of_namespace]);
    accept_block(&registry, ID, "origin.example", "SEC-12");
    let removal = format!("/admin/v1/rules/{OLDER}");
    registry.answer("DELETE", &removal, &json!({ "removed": OLDER }));
    answer_releases(&registry, "origin.example", &[]);
    let line = words("mirror block origin.example --reason SEC-12");
    let shown = run_for_people(&registry, &line).expect(0).stdout;
    let expected = "all packages of origin.example are blocked, 0 of them stored";
    assert_has!(shown, expected);
    let expected = [
        "POST /admin/v1/rules".to_owned(),
        format!("DELETE {removal}"),
    ];
    assert_eq!(registry.changes(), expected);
}

#[test]
fn a_lifted_block_of_a_namespace_names_that_of_the_host() {
    let registry = Registry::start();
    let of_host = ("2f3a9c2e51b04d68", "origin.example", "the whole host");
    store_blocks(&registry, &[(ID, "origin.example/acme", "x"), of_host]);
    let removal = format!("/admin/v1/rules/{ID}");
    registry.answer("DELETE", &removal, &json!({ "removed": ID }));
    answer_releases(&registry, "origin.example/acme", &[release("1.0.0")]);
    registry.answer("POST", "/admin/v1/reindex", &step(&[], None));
    let line = ["mirror", "unblock", "origin.example/acme"];
    let shown = run_for_people(&registry, &line).expect(0).stdout;
    let left = "no longer blocked (everywhere within a minute), but origin.example is blocked";
    assert_has!(shown, left, "the whole host");
    let expected = [
        format!("DELETE {removal}"),
        "POST /admin/v1/reindex".to_owned(),
    ];
    assert_eq!(registry.changes(), expected);
}

#[test]
fn an_unblocked_version_of_something_blocked_stays_blocked_and_the_command_says_so() {
    let of_version = json!({ "1.0.0": block("it leaks") });
    let of_provider = json!({ "blocked": block("all of it") });
    let both = json!({ "blocked": block("all of it"), "blocked_versions": of_version });
    for (of_namespace, before, after, expected) in [
        (
            &[(ID, "origin.example/acme", "SEC-12")][..],
            json!({ "blocked_versions": of_version }),
            json!({}),
            "but origin.example/acme is blocked with all its packages: SEC-12",
        ),
        (&[], both, of_provider, "with all its versions: all of it"),
    ] {
        let registry = Registry::start();
        store_blocks(&registry, of_namespace);
        registry.answer("GET", STATUS, &before);
        registry.answer("PUT", VERSION_STATUS, &after);
        let spec = format!("{ADDRESS}@1.0.0");
        let shown = run_for_people(&registry, &["mirror", "unblock", &spec]).expect(0);
        assert_has!(shown.stdout, "no longer blocked", expected);
    }
}

#[test]
fn blocks_of_namespaces_are_listed_and_apply_to_the_stored_versions() {
    let registry = Registry::start();
    store_blocks(&registry, &[(ID, "origin.example/acme", "SEC-12")]);
    let answer = || registry.answer("GET", "prefix=statuses", &json!({ "facts": [statuses()] }));
    answer();
    let report = run(&registry, &["mirror", "blocks"]).expect(0).json();
    let first = &report["blocks"][0];
    assert_eq!(first["address"], "origin.example/acme");
    assert_eq!(first["version"], Value::Null);
    assert_eq!(first["reason"], "SEC-12");
    assert_eq!(report["blocks"].as_array().unwrap().len(), 3);
    answer();
    let facts = ["1.0.0", "1.1.0", "1.2.0"].map(release);
    registry.answer("GET", "prefix=releases", &json!({ "facts": facts }));
    let report = run(&registry, &["mirror", "list"]).expect(0).json();
    // The second version has a block of its own.
    for (version, reason) in ["SEC-12", "it leaks", "SEC-12"].iter().enumerate() {
        let version = &report["versions"][version];
        assert_eq!(version["state"], "blocked");
        assert_eq!(version["reason"], *reason);
    }
}

fn step(rewritten: &[&str], next: Option<&str>) -> Value {
    json!({ "looked_at": 1, "rewritten": rewritten, "removed": [], "failed": [], "next": next })
}

fn release(version: &str) -> Value {
    let document = format!(
        r#"{{"kind":"mirrored","schema":1,"address":"{ADDRESS}","version":"{version}","published_at":1,"packages":[{{"platform":"linux_amd64","filename":"a.zip","sha256":"{}","size":1024}}],"offered":[{{"platform":"linux_arm64","filename":"b.zip","sha256":"{}"}}]}}"#,
        "1".repeat(64),
        "2".repeat(64)
    );
    json!({ "key": format!("releases/providers/{ADDRESS}/{version}"), "document": document })
}

fn statuses() -> Value {
    let document = json!({
        "versions": { "1.0.0": { "state": "revoked", "reason": "it deletes", "at": 1, "by": "root" } },
        "blocked_versions": { "1.1.0": block("it leaks"), "2.0.0": block("it leaks more") },
    });
    json!({ "key": format!("statuses/providers/{ADDRESS}"), "document": document.to_string() })
}

#[test]
fn a_block_of_a_version_is_one_request_and_one_of_a_provider_continues_in_steps() {
    let registry = Registry::start();
    let blocked = json!({ "blocked_versions": { "1.0.0": block("it leaks") } });
    registry.answer("PUT", VERSION_STATUS, &blocked);
    let spec = format!("{ADDRESS}@1.0.0");
    let report = run(&registry, &["mirror", "block", &spec, "--reason", "x"])
        .expect(0)
        .json();
    let at = &report["statuses"]["blocked_versions"]["1.0.0"]["at"];
    assert_eq!(at, "2023-11-14T22:13:20Z");
    assert_eq!(registry.changes(), [format!("PUT {VERSION_STATUS}")]);

    registry.answer("PUT", STATUS, &json!({ "blocked": block("it leaks") }));
    for next in [Some("x"), None] {
        registry.answer("POST", "/admin/v1/reindex", &step(&["a"], next));
    }
    let shown = run_for_people(&registry, &["mirror", "block", ADDRESS, "--reason", "x"]).expect(0);
    assert_has!(shown.stdout, "It is not stored here");
    let [put, post] = [format!("PUT {STATUS}"), "POST /admin/v1/reindex".to_owned()];
    assert_eq!(registry.changes(), [put, post.clone(), post]);
}

#[test]
fn stored_versions_are_listed_with_their_states() {
    let registry = Registry::start();
    store_blocks(&registry, &[]);
    let key = format!("releases/providers/{ADDRESS}/0.9.0");
    let document = format!(
        r#"{{"kind":"erased","schema":1,"package":"providers/{ADDRESS}","version":"0.9.0","published_at":1,"erased_at":2,"reason":"a leak","archives":[],"contents":[]}}"#
    );
    let tombstone = json!({ "key": key, "document": document });
    registry.answer("GET", "prefix=statuses", &json!({ "facts": [statuses()] }));
    let hosted = "releases/providers/hosted/acme/hello/1.0.0";
    let damaged = format!("releases/providers/{ADDRESS}/2.0.0");
    let page = json!({
        "facts": [{ "key": hosted, "document": "{}" }, { "key": damaged, "document": "{}" }], "next": hosted,
    });
    registry.answer("GET", "prefix=releases", &page);
    let mut facts = Vec::from(["1.2.0", "1.1.0", "1.0.0"].map(release));
    facts.push(tombstone);
    // Those that follow the hosted ones.
    let after = "after=releases%2Fproviders%2Fhosted0";
    registry.answer("GET", after, &json!({ "facts": facts }));
    let ended = run(&registry, &["mirror", "list"]).expect(0);
    let report = ended.json();
    assert_has!(ended.warnings(), &format!("{damaged}\\\" is skipped"));
    let states = rows(&report, &["version", "state"]);
    let expected = "0.9.0 erased,1.0.0 revoked,1.1.0 blocked,1.2.0 active";
    assert_eq!(states.join(","), expected);
    let newest = &report["versions"][3];
    assert_eq!(newest["platforms"], json!(["linux_amd64"]));
    assert_eq!(newest["offered"], json!(["linux_arm64"]));
    assert_eq!(newest["size"], 1024);
}

#[test]
fn a_removal_is_only_shown_without_yes() {
    let registry = Registry::start();
    let facts = json!({ "facts": [release("1.0.0")] });
    registry.answer("GET", "prefix=releases", &facts);
    let spec = format!("{ADDRESS}@1.0.0");
    let line = ["mirror", "remove", &spec, "--reason", "a takedown"];
    let ended = run(&registry, &line).expect(0);
    assert_has!(ended.stderr, "neither by pull-through nor by a publish");
    assert_eq!(registry.changes(), [""; 0]);
}

#[test]
fn only_packages_of_other_registries_are_blocked_and_removed_and_no_version_is_listed() {
    let registry = Registry::start();
    for (line, part) in [
        ("mirror block acme/hello --reason x", "another registry"),
        ("mirror remove acme/hello --reason x", "another registry"),
        ("mirror list a.example/b/c@1.0.0", "is a version"),
    ] {
        run(&registry, &words(line)).fails(2, part);
    }
    assert_eq!(registry.changes(), [""; 0]);
}
