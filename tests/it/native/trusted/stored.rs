//! Trusted publishers that are stored in the registry, beside those of the configuration.

use serde_json::{Value, json};
use terrace_core::limits;

use super::{error, exchange, fetches, given, publish};
use crate::support::faults::Break;
use crate::support::issuer::{GITHUB, GITLAB, Issuers, genuine, github, gitlab, rules, with};
use crate::support::memory::Memory;
use crate::support::registry::Sent;
use crate::support::reindexed::reindex;
use crate::support::tokens::{add_rule, create, revoke};
use crate::support::{Registry, Response};

const RULES: &str = "/admin/v1/rules";

/// A registry without rules, and the issuers of tokens.
fn empty() -> (Memory, Registry) {
    let memory = Memory::new();
    Issuers::connected_to(&memory);
    let registry = Registry::in_memory(&memory, &[]);
    (memory, registry)
}

fn for_github() -> Value {
    json!({
        "scopes": ["publish:acme"],
        "issuer": GITHUB,
        "claims": { "repository": "acme/terraform-aws-vpc", "environment": "release" },
    })
}

fn for_gitlab(scope: &str) -> Value {
    let claims = json!({ "project_path": "acme/infra/terraform-*", "ref_type": "tag" });
    json!({ "scopes": [scope], "issuer": GITLAB, "claims": claims })
}

fn added(registry: &Registry, rule: &Value) -> String {
    let made = add_rule(registry, "trust", rule).expect(201);
    made.header("location").unwrap().to_owned()
}

fn send(registry: &Registry, token: &str, method: &str, path: &str, body: &Value) -> Response {
    let sent = Sent::new(method, path).bearing(token);
    registry.send(&sent.body(body.to_string()))
}

#[test]
fn private_keys_of_the_issuer_of_a_stored_rule_are_refused_with_the_reason() {
    let (memory, registry) = empty();
    added(&registry, &for_github());
    memory.connect(|_| {
        let document = json!({ "issuer": GITHUB, "jwks_uri": "https://10.0.0.8/keys" });
        Some(Response {
            status: 200,
            headers: Vec::new(),
            body: document.to_string().into_bytes(),
        })
    });
    assert_ne!(registry.send(&exchange(&genuine(&github()))).status, 200);
    let log = memory.log().join("\n");
    assert!(log.contains("may be at private hosts"), "{log}");
}

#[test]
fn a_stored_rule_trusts_a_job_beside_the_configuration_until_it_is_removed() {
    let memory = Memory::new();
    Issuers::connected_to(&memory);
    let registry = Registry::in_memory(&memory, &[("TERRACE_TRUSTED_PUBLISHERS", &rules())]);
    let job = with(gitlab(), "ref_protected", "false");
    registry.send(&exchange(&genuine(&job))).expect(400);
    let path = added(&registry, &for_gitlab("publish:infra"));
    memory.advance(26);
    let token = given(&registry, &genuine(&job));
    assert_eq!(publish(&registry, &token, "infra"), 201);
    given(&registry, &genuine(&github()));
    registry.admin("DELETE", &path, None).expect(200);
    memory.advance(26);
    registry.send(&exchange(&genuine(&job))).expect(400);
    given(&registry, &genuine(&github()));
    // A removed rule is in no list, and a repeated removal succeeds.
    let listed = registry.read_as_admin(RULES);
    assert_eq!(listed, json!({ "rules": [] }));
    registry.admin("DELETE", &path, None).expect(200);
    registry
        .admin("DELETE", "/admin/v1/rules/0123456789abcdef", None)
        .expect(404);
}

#[test]
fn another_isolate_follows_a_change_within_a_minute() {
    let (memory, registry) = empty();
    let elsewhere = memory.elsewhere();
    elsewhere.at_an_edge();
    let other = Registry::in_memory(&elsewhere, &[]);
    let trusts = |seconds: u32| {
        memory.advance(seconds.into());
        other.send(&exchange(&genuine(&github()))).status == 200
    };
    assert!(!trusts(0));
    let path = added(&registry, &for_github());
    assert!(trusts(55));
    registry.admin("DELETE", &path, None).expect(200);
    assert!(!trusts(55));
}

#[test]
fn without_any_rule_the_exchange_is_disabled_and_costs_one_read_for_each_isolate() {
    let (memory, registry) = empty();
    let ask = || registry.send(&exchange(&genuine(&github())));
    let (_, description) = error(&ask().expect(404));
    assert!(description.contains("terrace trust add"), "{description}");
    assert!(memory.index("rules").text.contains("{}"));
    memory.forget_operations();
    for _ in 0..20 {
        ask().expect(404);
    }
    assert_eq!(memory.operations(), Vec::<String>::new());
    memory.advance(25);
    ask();
    assert_eq!(memory.operations(), ["KV get rules"]);
}

#[test]
fn a_job_of_an_issuer_that_no_rule_names_causes_no_request() {
    let (memory, registry) = empty();
    added(&registry, &for_gitlab("publish:infra"));
    fetches(&memory);
    registry.send(&exchange(&genuine(&github()))).expect(400);
    assert_eq!(fetches(&memory), Vec::<String>::new());
    let untrusted = registry.send(&exchange(&genuine(&with(gitlab(), "ref_type", "branch"))));
    assert_eq!(fetches(&memory).len(), 2);
    // Both learn the same.
    let unknown = registry.send(&exchange(&genuine(&github())));
    assert_eq!(error(&untrusted), error(&unknown));
    let log = memory.log().join("\n");
    assert!(log.contains("the closest, rule 00000000"), "{log}");
}

#[test]
fn an_equal_rule_is_stored_once() {
    let (memory, registry) = empty();
    let first = add_rule(&registry, "trust", &for_github())
        .expect(201)
        .json();
    let second = add_rule(&registry, "trust", &for_github()).found();
    assert_eq!(first, second);
    assert_eq!(first["rule"], for_github());
    assert_eq!(first["created_by"], "root");
    let stored = memory.keys();
    assert_eq!(
        stored
            .iter()
            .filter(|key| key.starts_with("rules/"))
            .count(),
        1
    );
    let log = registry.admin("GET", "/admin/v1/audit", None).text();
    let path = format!("makes /admin/v1/rules/{}", first["id"].as_str().unwrap());
    assert!(log.contains(&path), "{log}");
}

#[test]
fn an_idempotency_key_repeats_an_addition_and_is_refused_with_another_rule() {
    let (memory, registry) = empty();
    let sent = |rule: &Value| {
        let body = json!({ "kind": "trust", "rule": rule }).to_string();
        let sent = Sent::new("POST", RULES).bearing(registry.token());
        registry.send(
            &sent
                .header("idempotency-key", "0123456789abcdef")
                .body(body),
        )
    };
    let first = sent(&for_github()).expect(201).json();
    assert_eq!(sent(&for_github()).expect(201).json(), first);
    let path = format!("{RULES}/{}", first["id"].as_str().unwrap());
    for _ in 0..2 {
        sent(&for_gitlab("publish:infra"))
            .refuses(422, "0123456789abcdef was sent before with another body");
        // The key keeps its meaning after the removal.
        registry.admin("DELETE", &path, None).expect(200);
    }
    let rules = memory
        .keys()
        .into_iter()
        .filter(|key| key.starts_with("rules/"));
    assert_eq!(rules.count(), 1);
    sent(&for_github()).expect(409);
}

#[test]
fn an_invalid_rule_is_refused_with_the_reason_and_a_risky_one_with_a_warning() {
    let (memory, registry) = empty();
    for (change, value, reason) in [
        ("scopes", json!(["admin"]), "jobs may never have"),
        (
            "claims",
            json!({ "ref": "refs/tags/v1" }),
            "does not identify",
        ),
    ] {
        let mut rule = for_github();
        rule[change] = value;
        add_rule(&registry, "trust", &rule).refuses(422, reason);
    }
    add_rule(&registry, "other", &for_github()).expect(400);
    let twice = br#"{"kind":"role","rule":{"scopes":["read"],"claims":{"sub":"a","sub":"*"}}}"#;
    registry.admin("POST", RULES, Some(twice)).expect(400);
    assert!(!memory.keys().iter().any(|key| key.starts_with("rules/")));
    let mut open = for_github();
    open["claims"] = json!({ "repository": "acme/widget" });
    let made = add_rule(&registry, "trust", &open).expect(201).json();
    let warnings = made["warnings"].to_string();
    assert!(warnings.contains("pull_request_target"), "{warnings}");
    memory.connect(|_| None);
    let examined = registry.admin("GET", "/admin/v1/doctor", None).expect(200);
    let examined = examined.json();
    let warnings = examined["warnings"].to_string();
    assert!(warnings.contains("pull_request_target"), "{warnings}");
    assert_eq!(examined["services"][0]["name"], GITHUB);
}

#[test]
fn a_damaged_rule_grants_nothing_and_stops_no_other() {
    let (memory, registry) = empty();
    let path = added(&registry, &for_github());
    added(&registry, &for_gitlab("publish:infra"));
    let key = path.replace("/admin/v1/", "");
    for damage in [
        "{",
        r#"{"kind":"later","rule":"{}","created":1,"by":"root"}"#,
    ] {
        memory.put_object(&key, damage.as_bytes());
        memory.lose_metadata();
        memory.lose_indices();
        let elsewhere = Registry::in_memory(&memory.elsewhere(), &[]);
        given(&elsewhere, &genuine(&gitlab()));
        elsewhere.send(&exchange(&genuine(&github()))).expect(400);
        assert!(memory.log().join("\n").contains(&key));
    }
}

#[test]
fn an_administrator_of_a_namespace_manages_rules_that_grant_at_most_its_scopes() {
    let (memory, registry) = empty();
    let (id, admin) = create(&registry, &["admin:acme"], None);
    let rule = |scope: &str| json!({ "kind": "trust", "rule": for_gitlab(scope) });
    let foreign = added(&registry, &for_gitlab("publish:globex"));
    for scope in ["publish:globex", "read", "admin:globex"] {
        send(&registry, &admin, "POST", RULES, &rule(scope)).expect(403);
    }
    let own = send(&registry, &admin, "POST", RULES, &rule("admin:acme"));
    let own = own.expect(201).header("location").unwrap().to_owned();
    let list = registry.get_as(&admin, RULES).expect(200);
    assert!(list.text().contains("admin:acme") && !list.text().contains("globex"));
    // A rule of others answers as one that does not exist.
    let ask = |path: &str| {
        let answer = send(&registry, &admin, "DELETE", path, &json!({}));
        (
            answer.status,
            answer
                .text()
                .replace(path.rsplit('/').next().unwrap(), "ID"),
        )
    };
    assert_eq!(ask(&foreign), ask("/admin/v1/rules/0123456789abcdef"));
    assert_eq!(ask(&foreign).0, 404);
    // The rule stays when its creator's token ends.
    revoke(&registry, &id).expect(200);
    memory.advance(60);
    let job = given(&registry, &genuine(&gitlab()));
    // The job administers the namespace, and no other.
    send(&registry, &job, "DELETE", &own, &json!({})).expect(200);
    send(&registry, &job, "POST", RULES, &rule("publish:infra")).expect(403);
}

#[test]
fn administrators_of_namespaces_leave_rules_to_those_of_the_registry() {
    let (memory, registry) = empty();
    for number in 1..=limits::DELEGATED_RULES {
        let stored = json!({ "kind": "trust", "rule": "{}", "created": 1, "by": "root" });
        memory.put_object(
            &format!("rules/f{number:015x}"),
            stored.to_string().as_bytes(),
        );
    }
    memory.lose_metadata();
    let (_, admin) = create(&registry, &["admin:acme"], None);
    let rule = json!({ "kind": "trust", "rule": for_github() });
    send(&registry, &admin, "POST", RULES, &rule).refuses(422, "DELEGATED_RULES");
    add_rule(&registry, "trust", &for_github()).expect(201);
    // A repeated request is no further rule.
    send(&registry, &admin, "POST", RULES, &rule).expect(200);
}

#[test]
fn concurrent_additions_and_removals_leave_the_index_of_the_facts() {
    for place in [
        "R2 put rules/",
        "R2 put changes/rules",
        "R2 list rules/",
        "KV put rules",
    ] {
        let (memory, registry) = empty();
        let path = added(&registry, &for_github());
        let other = memory.clone();
        let fault = memory.before(place, move || {
            let registry = Registry::in_memory(&other.elsewhere(), &[]);
            registry.admin("DELETE", &path, None).expect(200);
            added(&registry, &for_gitlab("publish:later"));
        });
        added(&registry, &for_gitlab("publish:infra"));
        assert!(fault.is_reached(), "{place}");
        let index = memory.index("rules").text;
        assert!(!index.contains("publish:acme"), "{place}: {index}");
        assert!(
            index.contains("publish:infra") && index.contains("publish:later"),
            "{place}"
        );
    }
}

#[test]
fn an_index_that_a_killed_change_left_behind_is_repaired() {
    let (memory, registry) = empty();
    added(&registry, &for_github());
    memory.forget_operations();
    let copy = memory.copy();
    let before = copy.operations().len();
    added(
        &Registry::in_memory(&copy, &[]),
        &for_gitlab("publish:infra"),
    );
    let commit = copy.operations()[before..]
        .iter()
        .position(|it| it.starts_with("R2 put rules/"));
    memory.break_at(commit.unwrap(), Break::KilledAfter);
    let body = json!({ "kind": "trust", "rule": for_gitlab("publish:infra") });
    let sent = Sent::new("POST", RULES)
        .bearing(registry.token())
        .body(body.to_string());
    use futures_util::FutureExt as _;
    assert!(registry.answer(&sent).now_or_never().is_none());
    assert!(!memory.index("rules").text.contains("publish:infra"));
    reindex(&registry);
    assert!(memory.index("rules").text.contains("publish:infra"));
}

#[test]
fn a_lost_index_is_rebuilt_by_the_next_exchange() {
    let (memory, registry) = empty();
    added(&registry, &for_github());
    let index = memory.index("rules");
    memory.lose_indices();
    memory.lose_metadata();
    let elsewhere = Registry::in_memory(&memory.elsewhere(), &[]);
    given(&elsewhere, &genuine(&github()));
    assert_eq!(memory.index("rules").text, index.text);
}

#[test]
fn a_stored_rule_takes_nothing_from_what_the_configuration_grants() {
    let memory = Memory::new();
    Issuers::connected_to(&memory);
    let registry = Registry::in_memory(&memory, &[("TERRACE_TRUSTED_PUBLISHERS", &rules())]);
    let job = genuine(&github());
    let before = publish(&registry, &given(&registry, &job), "acme");
    assert_eq!(before, 201);
    let (_, token) = create(&registry, &["admin:a.example"], None);
    let scopes: Vec<String> = (0..limits::SCOPES)
        .map(|number| format!("read:a.example/n{number}"))
        .collect();
    let claims = json!({ "repository": github()["repository"] });
    let rule = json!({ "scopes": scopes, "issuer": GITHUB, "claims": claims });
    let body = json!({ "kind": "trust", "rule": rule });
    send(&registry, &token, "POST", RULES, &body).expect(201);
    memory.advance(26);
    given(&registry, &job);
}
