//! `terrace token`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use terrace_base::time::UnixTime;

use super::support::registry::Registry;
use super::support::{Ended, assert_has, assert_lacks, run, run_for_people, with, words};

const DAY: i64 = 24 * 3600;
/// The request for the signing keys of all namespaces.
const KEYS: &str = "/admin/v1/facts?prefix=keys%2F";

/// Returns the time this many seconds from now.
fn after(seconds: i64) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let time = now.as_secs().strict_add_signed(seconds);
    json!(UnixTime(time).to_string())
}

fn token(id: u64, name: &str, by: &str, more: Value) -> Value {
    let token = json!({
        "id": format!("{id:016x}"), "name": name, "scopes": ["read"], "created": after(id as i64 - 400 * DAY),
        "created_by": by,
    });
    with(token, &more)
}

/// A registry with a token in each state.
fn registry() -> Registry {
    let registry = Registry::start();
    let ann = "login as https://idp.example 17";
    let rotated = json!({ "revoked": after(DAY), "successor": "0000000000000001", "issued_under": "previous" });
    let ends = |days: i64| json!({ "expires": after(days * DAY) });
    let under = |which: &str| json!({ "issued_under": which });
    let tokens = [
        token(1, "ci", "root", json!({})),
        token(2, "Ann@acme.example", ann, ends(10)),
        token(3, "ann@acme.example", "root", ends(-1)),
        token(4, "ci of ann", OF_ANN, ends(90)),
        token(5, "old", "root", json!({ "revoked": after(-DAY) })),
        token(6, "rotated", "root", rotated),
        token(7, "of before", "root", under("earlier")),
        token(8, "of root", "root", under("previous")),
    ];
    registry.set_json("/admin/v1/tokens", &json!({ "tokens": tokens }));
    registry.set_json("/admin/v1/rules", &json!({ "rules": [] }));
    registry.set_json("/admin/v1/webhooks", &json!({ "webhooks": [] }));
    registry.set_json(KEYS, &json!({ "facts": [] }));
    present(&registry, &["admin"]);
    registry
}

/// The creator of what Ann creates, and of what CI creates with the token that she gave it.
const OF_ANN: &str = "token 0000000000000002 (Ann@acme.example)";
const OF_CI: &str = "token 0000000000000004 (ci of ann)";

/// Lets the registry describe the token of the request as one with these scopes.
fn present(registry: &Registry, scopes: &[&str]) {
    let own =
        json!({ "id": "00000000000000aa", "name": "operator", "scopes": scopes, "expires": null });
    registry.set_json("/api/v1/token", &own);
}

fn rule(id: u64, kind: &str, by: &str, pattern: &str) -> Value {
    json!({
        "id": format!("{id:016x}"), "kind": kind, "created": "2026-01-01T00:00:00Z", "created_by": by,
        "rule": { "scopes": ["read"], "claims": { "email": pattern } },
    })
}

/// Stores rules of Ann, and one of somebody else.
fn store_rules(registry: &Registry) {
    let rules = json!({ "rules": [
        rule(1, "trust", OF_ANN, "x"),
        rule(2, "role", "root", "ann@ACME.example"),
        rule(3, "role", OF_CI, "x"),
        rule(4, "role", "token 00000000000000bb (bob)", "*@acme.example"),
    ] });
    registry.set_json("/admin/v1/rules", &rules);
}

/// Returns the last digit and the state of each listed token.
fn states(ended: &Ended) -> Vec<String> {
    let document = ended.json();
    let tokens = document["tokens"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let line = |token: &Value| {
        let id = text(&token["id"]);
        let digit = id.chars().next_back().unwrap();
        format!("{digit} {}", text(&token["state"]))
    };
    tokens.map(line).collect()
}

#[test]
fn tokens_are_listed_with_their_states_and_selected() {
    let registry = registry();
    let list = |more: &[&str]| run(&registry, &[&["token", "list"], more].concat()).expect(0);
    let all = list(&[]);
    let expected = "1 valid,2 valid,3 expired,4 valid,5 revoked,6 rotating,7 invalid,8 valid";
    assert_eq!(states(&all).join(","), expected);
    let warnings = all.warnings();
    assert_has!(warnings, "TERRACE_ADMIN_TOKEN_PREVIOUS", "0000000000000008");
    // Another token already replaces it.
    assert_lacks!(warnings, "0000000000000006");
    let expiring = states(&list(&["--expiring", "14d"]));
    assert_eq!(expiring, ["2 valid", "6 rotating"]);
    let of_ann = states(&list(&["--of", "ann@acme.example"]));
    assert_eq!(of_ann, ["2 valid", "3 expired"]);
}

fn answer_revocation(registry: &Registry) {
    let known = json!({ "known": true });
    registry.answer("DELETE", "tokens/0000000000000002", &known);
}

/// Stores webhooks and signing keys of Ann, of CI, to which she gave a token, and of root.
fn store_webhooks_and_keys(registry: &Registry) {
    let webhook = |id: u64, by: &str| {
        json!({
            "id": format!("{id:016x}"), "host": "hooks.example", "events": ["publish"], "namespaces": ["acme"],
            "format": "json", "created": "2026-01-01T00:00:00Z", "by": by, "delivered": 7, "failures": 0,
        })
    };
    let webhooks = [webhook(1, OF_ANN), webhook(2, OF_CI), webhook(3, "root")];
    registry.set_json("/admin/v1/webhooks", &json!({ "webhooks": webhooks }));
    let id = |digit: char| digit.to_string().repeat(16);
    let key = |digit: char| json!({ "key_id": id(digit), "fingerprint": digit, "ascii_armor": "" });
    let added = |by: &str| json!({ "at": 1_800_000_000, "by": by });
    let status = |state: &str| json!({ "state": state, "reason": "x", "at": 1, "by": "root" });
    let fact = |namespace: &str, document: Value| json!({ "key": format!("keys/{namespace}"), "document": document.to_string() });
    let facts = json!({ "facts": [
        fact("acme", json!({
            "keys": [key('A'), key('B'), key('C')],
            "statements": { id('B'): status("revoked") },
            "added": { id('A'): added(OF_ANN), id('B'): added(OF_ANN), id('C'): added("root") },
        })),
        fact("globex", json!({
            "keys": [key('D'), key('E')],
            "statements": { id('D'): status("retired") },
            "added": { id('D'): added(OF_CI) },
        })),
    ] });
    registry.set_json(KEYS, &facts);
}

const REVOKE: &str = "token revoke --of ann@acme.example --retries 0";

#[test]
fn the_tokens_of_a_person_are_revoked_and_what_they_leave_behind_is_named() {
    let registry = registry();
    store_rules(&registry);
    store_webhooks_and_keys(&registry);
    answer_revocation(&registry);
    for mode in [&["--dry-run"][..], &[]] {
        registry.requests();
        let line = [&words(REVOKE)[..], mode].concat();
        let document = run(&registry, &line).expect(0).json();
        assert_eq!(document["revoked"], json!(["0000000000000002"]));
        // She may know the token that she created for CI.
        assert_eq!(document["created_for_others"], json!(["0000000000000004"]));
        assert_eq!(document["complete"], true);
        let named = |list: &str, name: &str| -> Vec<String> {
            let list = document[list].as_array().unwrap().iter();
            let texts = list.map(|it| it[name].as_str().unwrap().to_owned());
            texts.collect()
        };
        let ids = ["0000000000000001", "0000000000000002"];
        assert_eq!(named("webhooks_left", "id"), ids);
        let keys = ["A", "D"].map(|digit| digit.repeat(16));
        assert_eq!(named("signing_keys_left", "key_id"), keys);
        let left = ["1", "2", "3"].map(|id| format!("{id:0>16}"));
        assert_eq!(document["rules_left"], json!(left));
        let key = format!("globex {}", keys[1]);
        assert_has!(document["warnings"].to_string(), &left.join(", "), &key);
        let revocation = "DELETE /admin/v1/tokens/0000000000000002";
        let expected = Vec::from_iter(mode.is_empty().then_some(revocation));
        assert_eq!(registry.changes(), expected);
    }
}

#[test]
fn the_rules_of_a_person_are_removed_on_request_and_the_own_token_is_revoked_last() {
    let registry = registry();
    store_rules(&registry);
    let own = json!({ "id": "0000000000000002", "name": "Ann@acme.example", "scopes": ["admin"], "expires": null });
    registry.set_json("/api/v1/token", &own);
    let rules = ["0000000000000001", "0000000000000002"];
    for id in rules {
        registry.answer("DELETE", &format!("rules/{id}"), &json!({ "removed": id }));
    }
    answer_revocation(&registry);
    for (mode, changes) in [("--dry-run", 0), ("--quiet", 3)] {
        let line = [&words(REVOKE)[..], &["--with-rules", mode]].concat();
        let document = run(&registry, &line).expect(0).json();
        assert_eq!(document["rules_removed"], json!(rules));
        assert_eq!(document["rules_left"], json!(["0000000000000003"]));
        let made = registry.changes();
        assert_eq!(made.len(), changes, "{made:?}");
        let last = made.last().map_or("", String::as_str);
        assert!(made.is_empty() || last.ends_with("tokens/0000000000000002"));
    }
}

#[test]
fn the_rules_of_a_person_are_listed() {
    let registry = registry();
    store_rules(&registry);
    for (kind, expected) in [("trust", &["1"] as &[&str]), ("role", &["2", "3"])] {
        let listed = run(&registry, &[kind, "list", "--of", "ann@acme.example"]);
        let listed = listed.expect(0).json();
        let rules = listed["rules"].as_array().unwrap().iter();
        let ids = rules.map(|it| it["id"].as_str().unwrap().trim_start_matches('0'));
        assert_eq!(ids.collect::<Vec<_>>(), expected, "{kind}");
    }
}

#[test]
fn the_revocation_of_a_person_says_what_it_could_not_see() {
    let registry = registry();
    store_webhooks_and_keys(&registry);
    let unknown = words("token revoke --of bob@acme.example");
    run(&registry, &unknown).fails(3, "bob@acme.example");
    present(&registry, &["admin:acme"]);
    answer_revocation(&registry);
    for (line, code) in [(unknown, 3), (words(REVOKE), 0)] {
        let ended = run(&registry, &line).expect(code);
        assert_has!(ended.warnings(), "this token (admin:acme) may manage");
        assert_eq!(ended.json()["complete"], false);
    }
    for wrong in [
        "token revoke",
        "token revoke --of bob@acme.example 0000000000000002",
        "token revoke --with-rules 0000000000000002",
    ] {
        run(&registry, &words(wrong)).expect(2);
    }
}

#[test]
fn a_failed_read_leaves_a_departure_without_any_change() {
    let line = [&words(REVOKE)[..], &["--with-rules"]].concat();
    for read in [
        "/admin/v1/tokens",
        "/admin/v1/rules",
        "/api/v1/token",
        "/admin/v1/webhooks",
        "/admin/v1/facts",
    ] {
        let registry = registry();
        store_rules(&registry);
        registry.refuse("GET", read, 503, &["storage did not answer"]);
        run(&registry, &line).fails(6, "storage did not answer");
        assert_eq!(registry.changes(), [""; 0], "{read}");
    }
}

#[test]
fn a_departure_that_fails_part_way_says_what_was_done_and_what_was_not() {
    let registry = registry();
    store_rules(&registry);
    answer_revocation(&registry);
    let [failed, removed] = ["0000000000000001", "0000000000000002"];
    let path = |id: &str| format!("rules/{id}");
    registry.refuse("DELETE", &path(failed), 503, &["storage did not answer"]);
    registry.answer("DELETE", &path(removed), &json!({ "removed": removed }));
    let line = [&words(REVOKE)[..], &["--with-rules"]].concat();
    let ended = run(&registry, &line).expect(6);
    let document = ended.json();
    assert_eq!(document["revoked"], json!(["0000000000000002"]));
    assert_eq!(document["rules_removed"], json!([removed]));
    assert_eq!(document["rules_left"], json!([failed, "0000000000000003"]));
    assert_has!(ended.errors(), format!("rule {failed} is not removed: "));
    let own = "tokens/0000000000000002";
    registry.refuse("DELETE", own, 503, &["storage did not answer"]);
    let ended = run_for_people(&registry, &words(REVOKE)).expect(6);
    assert_has!(ended.stderr, "token 0000000000000002 is not revoked: ");
    assert_lacks!(ended.stdout, "revoked", "this takes effect");
}
