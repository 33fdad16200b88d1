//! `terrace token`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use terrace_base::time::UnixTime;

use super::support::http::Response;
use super::support::registry::{Fault, Registry};
use super::support::{Ended, TOKEN, ended, run, terrace};

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
    let mut token = json!({
        "id": format!("{id:016x}"), "name": name, "scopes": ["read"], "created": after(id as i64 - 400 * DAY),
        "created_by": by,
    });
    let members = more.as_object().unwrap().clone();
    token.as_object_mut().unwrap().extend(members);
    token
}

/// A registry with a token in each state.
fn registry() -> Registry {
    let registry = Registry::start();
    let ann = "login as https://idp.example 17";
    let tokens = [
        token(1, "ci", "root", json!({})),
        token(
            2,
            "Ann@acme.example",
            ann,
            json!({ "expires": after(10 * DAY) }),
        ),
        token(
            3,
            "ann@acme.example",
            "root",
            json!({ "expires": after(-DAY) }),
        ),
        token(
            4,
            "ci of ann",
            "token 0000000000000002 (Ann@acme.example)",
            json!({ "expires": after(90 * DAY) }),
        ),
        token(5, "old", "root", json!({ "revoked": after(-DAY) })),
        token(
            6,
            "rotated",
            "root",
            json!({ "revoked": after(DAY), "successor": "0000000000000001", "issued_under": "previous" }),
        ),
        token(7, "of before", "root", json!({ "issued_under": "earlier" })),
        token(
            8,
            "of the previous",
            "root",
            json!({ "issued_under": "previous" }),
        ),
    ];
    let page = json!({ "tokens": tokens });
    registry.set("/admin/v1/tokens", Response::new(200, page.to_string()));
    registry.set("/admin/v1/rules", Response::new(200, r#"{"rules":[]}"#));
    registry.set(
        "/admin/v1/webhooks",
        Response::new(200, r#"{"webhooks":[]}"#),
    );
    registry.set(KEYS, Response::new(200, r#"{"facts":[]}"#));
    present(&registry, &["admin"]);
    registry
}

/// Lets the registry describe the token of the request as one with these scopes.
fn present(registry: &Registry, scopes: &[&str]) {
    let own =
        json!({ "id": "00000000000000aa", "name": "operator", "scopes": scopes, "expires": null });
    registry.set("/api/v1/token", Response::new(200, own.to_string()));
}

fn rule(id: u64, kind: &str, by: &str, pattern: &str) -> Value {
    json!({
        "id": format!("{id:016x}"), "kind": kind, "created": "2026-01-01T00:00:00Z", "created_by": by,
        "rule": { "scopes": ["read"], "claims": { "email": pattern } },
    })
}

/// Stores rules of Ann, and one of root.
fn store_rules(registry: &Registry) {
    let rules = json!({ "rules": [
        rule(1, "trust", "token 0000000000000002 (Ann@acme.example)", "x"),
        rule(2, "role", "root", "ann@acme.example"),
        rule(3, "role", "token 0000000000000004 (ci of ann)", "x"),
        rule(4, "role", "root", "*@acme.example"),
    ] });
    registry.set("/admin/v1/rules", Response::new(200, rules.to_string()));
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
fn tokens_are_listed_with_their_states() {
    let listed = run(&registry(), &["token", "list"]).expect(0);
    let expected = [
        "1 valid",
        "2 valid",
        "3 expired",
        "4 valid",
        "5 revoked",
        "6 rotating",
        "7 invalid",
        "8 valid",
    ];
    assert_eq!(states(&listed), expected);
    let warnings = listed.json()["warnings"].to_string();
    assert!(
        warnings.contains("TERRACE_ADMIN_TOKEN_PREVIOUS") && warnings.contains("0000000000000008"),
        "{warnings}"
    );
    // Another token already replaces it.
    assert!(!warnings.contains("0000000000000006"), "{warnings}");
}

#[test]
fn the_list_of_expiring_tokens_has_those_that_end_in_time() {
    let registry = registry();
    for (within, expected) in [
        ("14d", &["2 valid", "6 rotating"] as &[&str]),
        ("2d", &["6 rotating"]),
        ("1h", &[]),
    ] {
        let listed = run(&registry, &["token", "list", "--expiring", within]).expect(0);
        assert_eq!(states(&listed), expected, "{within}");
    }
}

#[test]
fn the_tokens_of_a_person_are_found_by_name_and_by_account() {
    let registry = registry();
    for (person, expected) in [
        ("ann@acme.example", &["2 valid", "3 expired"] as &[&str]),
        ("https://idp.example 17", &["2 valid"]),
        ("ann", &[]),
    ] {
        let listed = run(&registry, &["token", "list", "--of", person]).expect(0);
        assert_eq!(states(&listed), expected, "{person}");
    }
}

fn answer_revocations(registry: &Registry, ids: &[&str]) {
    for id in ids {
        let body = json!({ "known": true }).to_string();
        registry.fail("DELETE", id, Fault::Answer(Response::new(200, body)));
    }
}

#[test]
fn all_valid_tokens_of_a_person_are_revoked() {
    let registry = registry();
    answer_revocations(&registry, &["0000000000000002"]);
    let revoke = ["token", "revoke", "--of", "ann@acme.example"];
    let document = run(&registry, &revoke).expect(0).json();
    assert_eq!(document["revoked"], json!(["0000000000000002"]));
    // She may know the token that she created for CI.
    assert_eq!(document["created_for_others"], json!(["0000000000000004"]));
    assert_eq!(document["complete"], true);
    let expected = [
        "GET /admin/v1/tokens",
        "GET /admin/v1/rules",
        "GET /api/v1/token",
        "GET /admin/v1/webhooks",
        "GET /admin/v1/facts",
        "DELETE /admin/v1/tokens/0000000000000002",
    ];
    assert_eq!(registry.requests(), expected);
}

/// Stores webhooks and signing keys of Ann, of CI, to which she gave a token, and of root.
fn store_webhooks_and_keys(registry: &Registry) {
    let ann = "token 0000000000000002 (Ann@acme.example)";
    let ci = "token 0000000000000004 (ci of ann)";
    let webhook = |id: u64, namespaces: Value, by: &str| {
        json!({
            "id": format!("{id:016x}"), "host": "hooks.example", "events": ["publish"], "namespaces": namespaces,
            "format": "json", "created": "2026-01-01T00:00:00Z", "by": by, "delivered": 7, "failures": 0,
        })
    };
    let webhooks = json!({ "webhooks": [
        webhook(1, json!(["acme"]), ann),
        webhook(2, json!([]), ci),
        webhook(3, json!([]), "root"),
    ] });
    registry.set(
        "/admin/v1/webhooks",
        Response::new(200, webhooks.to_string()),
    );
    let id = |digit: char| digit.to_string().repeat(16);
    let key = |digit: char| json!({ "key_id": id(digit), "fingerprint": digit, "ascii_armor": "" });
    let added = |by: &str| json!({ "at": 1_800_000_000, "by": by });
    let status = |state: &str| json!({ "state": state, "reason": "x", "at": 1, "by": "root" });
    let fact = |namespace: &str, document: Value| json!({ "key": format!("keys/{namespace}"), "document": document.to_string() });
    let facts = json!({ "facts": [
        fact("acme", json!({
            "keys": [key('A'), key('B'), key('C')],
            "statements": { id('B'): status("revoked") },
            "added": { id('A'): added(ann), id('B'): added(ann), id('C'): added("root") },
        })),
        fact("globex", json!({
            "keys": [key('D'), key('E')],
            "statements": { id('D'): status("retired") },
            "added": { id('D'): added(ci) },
        })),
    ] });
    registry.set(KEYS, Response::new(200, facts.to_string()));
}

#[test]
fn the_revocation_of_a_person_names_the_webhooks_and_keys_that_they_leave_behind() {
    let registry = registry();
    store_webhooks_and_keys(&registry);
    answer_revocations(&registry, &["0000000000000002"]);
    for mode in [&[][..], &["--dry-run"]] {
        let mut revoke = vec!["token", "revoke", "--of", "ann@acme.example"];
        revoke.extend(mode);
        let document = run(&registry, &revoke).expect(0).json();
        let named = |list: &str, name: &str| -> Vec<String> {
            let list = document[list].as_array().unwrap().iter();
            list.map(|it| it[name].as_str().unwrap().to_owned())
                .collect()
        };
        let ids = ["0000000000000001", "0000000000000002"];
        assert_eq!(named("webhooks_left", "id"), ids);
        let keys = ["A", "D"].map(|digit| digit.repeat(16));
        assert_eq!(named("signing_keys_left", "key_id"), keys);
        assert_eq!(named("signing_keys_left", "namespace"), ["acme", "globex"]);
        assert_eq!(
            document["signing_keys_left"][0]["added"],
            "2027-01-15T08:00:00Z"
        );
        let warnings: Vec<&str> = document["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap())
            .collect();
        let about = |part: &str| {
            let found = warnings.iter().find(|warning| warning.contains(part));
            *found.unwrap_or_else(|| panic!("{part}: {warnings:#?}"))
        };
        let own = about("terrace webhook remove 0000000000000001");
        assert!(own.contains("the events of acme to hooks.example"), "{own}");
        let other = about("terrace webhook remove 0000000000000002");
        assert!(
            other.contains("a holder of a token that ann@acme.example created"),
            "{other}"
        );
        let key = about("terrace key remove acme AAAAAAAAAAAAAAAA");
        assert!(
            key.contains("terrace key revoke acme AAAAAAAAAAAAAAAA"),
            "{key}"
        );
        assert!(key.contains("neither removed nor revoked"), "{key}");
        assert!(about("globex DDDDDDDDDDDDDDDD").contains("is retired"));
        // The key E has no record.
        about("who added 1 signing key is not known");
    }
}

#[test]
fn a_dry_run_of_a_departure_changes_nothing() {
    let registry = registry();
    store_rules(&registry);
    let revoke = [
        "token",
        "revoke",
        "--of",
        "ann@acme.example",
        "--with-rules",
        "--dry-run",
    ];
    let document = run(&registry, &revoke).expect(0).json();
    assert_eq!(document["status"], "dry_run");
    assert_eq!(document["revoked"], json!(["0000000000000002"]));
    let removed = json!(["0000000000000001", "0000000000000002"]);
    assert_eq!(document["rules_removed"], removed);
    let mut requests = registry.requests().into_iter();
    assert!(requests.all(|request| request.starts_with("GET ")));
}

#[test]
fn the_revocation_of_a_person_names_the_rules_that_they_leave_behind() {
    let registry = registry();
    store_rules(&registry);
    answer_revocations(&registry, &["0000000000000002"]);
    let revoke = ["token", "revoke", "--of", "ann@acme.example"];
    let document = run(&registry, &revoke).expect(0).json();
    let left = ["1", "2", "3"].map(|id| format!("{id:0>16}"));
    assert_eq!(document["rules_left"], json!(left));
    let warnings = document["warnings"].to_string();
    for removal in [
        "terrace trust remove 0000000000000001",
        "terrace role remove 0000000000000002",
        "terrace role remove 0000000000000003",
    ] {
        assert!(warnings.contains(removal), "{warnings}");
    }
    assert!(
        !registry
            .requests()
            .iter()
            .any(|it| it.starts_with("DELETE /admin/v1/rules"))
    );
}

#[test]
fn the_rules_of_a_person_are_removed_on_request_but_not_those_of_others() {
    let registry = registry();
    store_rules(&registry);
    answer_revocations(&registry, &["tokens/0000000000000002"]);
    for id in ["0000000000000001", "0000000000000002"] {
        let removed = json!({ "removed": id }).to_string();
        let path = format!("rules/{id}");
        registry.fail("DELETE", &path, Fault::Answer(Response::new(200, removed)));
    }
    let revoke = [
        "token",
        "revoke",
        "--of",
        "ann@acme.example",
        "--with-rules",
    ];
    let document = run(&registry, &revoke).expect(0).json();
    let ids = |name: &str| document[name].clone();
    assert_eq!(
        ids("rules_removed"),
        json!(["0000000000000001", "0000000000000002"])
    );
    assert_eq!(ids("rules_left"), json!(["0000000000000003"]));
}

#[test]
fn the_revocation_by_an_administrator_of_a_namespace_says_what_it_considered() {
    let registry = registry();
    present(&registry, &["admin:acme"]);
    answer_revocations(&registry, &["0000000000000002"]);
    let revoke = ["token", "revoke", "--of", "ann@acme.example"];
    let document = run(&registry, &revoke).expect(0).json();
    assert_eq!(document["complete"], false);
    let warnings = document["warnings"].to_string();
    assert!(
        warnings.contains("this token (admin:acme) may manage"),
        "{warnings}"
    );
}

#[test]
fn the_rules_of_a_person_are_listed() {
    let registry = registry();
    store_rules(&registry);
    for (kind, expected) in [("trust", &["1"] as &[&str]), ("role", &["2", "3"])] {
        let listed = run(&registry, &[kind, "list", "--of", "ann@acme.example"])
            .expect(0)
            .json();
        let rules = listed["rules"].as_array().unwrap().iter();
        let ids: Vec<_> = rules
            .map(|it| it["id"].as_str().unwrap().trim_start_matches('0'))
            .collect();
        assert_eq!(ids, expected, "{kind}");
    }
}

#[test]
fn the_tokens_of_an_unknown_person_are_missing() {
    let revoke = ["token", "revoke", "--of", "bob@acme.example"];
    let message = run(&registry(), &revoke).expect(3).errors();
    assert!(message.contains("bob@acme.example"), "{message}");
    for wrong in [
        &["token", "revoke"] as &[&str],
        &[&revoke[..], &["0000000000000002"]].concat(),
        &["token", "revoke", "--with-rules", "0000000000000002"],
    ] {
        run(&registry(), wrong).expect(2);
    }
}

#[test]
fn the_revocation_of_an_unknown_person_says_what_it_could_not_see() {
    let revoke = ["token", "revoke", "--of", "bob@acme.example"];
    let registry = registry();
    store_webhooks_and_keys(&registry);
    let ended = run(&registry, &revoke).expect(3);
    let warnings = ended.json()["warnings"].to_string();
    assert!(
        warnings.contains("who added 1 signing key is not known"),
        "{warnings}"
    );
    assert_eq!(ended.json()["complete"], true);

    present(&registry, &["admin:acme"]);
    let ended = run(&registry, &revoke).expect(3);
    let warnings = ended.json()["warnings"].to_string();
    assert!(
        warnings.contains("this token (admin:acme) may manage were considered, and no webhooks"),
        "{warnings}"
    );
    assert_eq!(ended.json()["complete"], false);
}

#[test]
fn a_failed_read_leaves_a_departure_without_any_change() {
    let revoke = [
        "token",
        "revoke",
        "--of",
        "ann@acme.example",
        "--with-rules",
        "--retries",
        "0",
    ];
    for read in [
        "/admin/v1/tokens",
        "/admin/v1/rules",
        "/api/v1/token",
        "/admin/v1/webhooks",
        "/admin/v1/facts",
    ] {
        let registry = registry();
        store_rules(&registry);
        let busy = Response::new(503, r#"{"errors":["storage did not answer"]}"#);
        registry.fail("GET", read, Fault::Answer(busy));
        let ended = run(&registry, &revoke).expect(6);
        let errors = ended.errors();
        assert!(
            errors.contains("no token of ann@acme.example is revoked, and no rule removed"),
            "{read}: {errors}"
        );
        let mut requests = registry.requests().into_iter();
        assert!(requests.all(|it| it.starts_with("GET ")), "{read}");
    }
}

#[test]
fn a_departure_that_fails_part_way_says_what_was_done_and_what_was_not() {
    let registry = registry();
    store_rules(&registry);
    answer_revocations(&registry, &["tokens/0000000000000002"]);
    let busy = || {
        Fault::Answer(Response::new(
            503,
            r#"{"errors":["storage did not answer"]}"#,
        ))
    };
    registry.fail("DELETE", "rules/0000000000000001", busy());
    let removed = json!({ "removed": "0000000000000002" }).to_string();
    let removed = Fault::Answer(Response::new(200, removed));
    registry.fail("DELETE", "rules/0000000000000002", removed);
    let revoke = [
        "token",
        "revoke",
        "--of",
        "ann@acme.example",
        "--with-rules",
        "--retries",
        "0",
    ];
    let ended = run(&registry, &revoke).expect(6);
    let document = ended.json();
    assert_eq!(document["status"], "unavailable");
    assert_eq!(document["revoked"], json!(["0000000000000002"]));
    assert_eq!(document["not_revoked"], json!([]));
    assert_eq!(document["rules_removed"], json!(["0000000000000002"]));
    let left = json!(["0000000000000001", "0000000000000003"]);
    assert_eq!(document["rules_left"], left);
    let errors = ended.errors();
    assert!(
        errors.contains("rule 0000000000000001 is not removed: "),
        "{errors}"
    );
    assert!(errors.contains("run the same command again"), "{errors}");
}

#[test]
fn changes_that_cannot_succeed_are_not_tried_after_a_refusal() {
    let registry = registry();
    store_rules(&registry);
    let refused = Response::new(403, r#"{"errors":["this token may not do that"]}"#);
    registry.fail("DELETE", "tokens/0000000000000002", Fault::Answer(refused));
    let revoke = [
        "token",
        "revoke",
        "--of",
        "ann@acme.example",
        "--with-rules",
    ];
    let ended = run(&registry, &revoke).expect(5);
    let document = ended.json();
    assert_eq!(document["revoked"], json!([]));
    assert_eq!(document["not_revoked"], json!(["0000000000000002"]));
    assert_eq!(document["rules_removed"], json!([]));
    let errors = ended.errors();
    for expected in [
        "token 0000000000000002 is not revoked: ",
        "rule 0000000000000001 is not removed: it was not tried",
    ] {
        assert!(errors.contains(expected), "{errors}");
    }
}

#[test]
fn the_token_of_the_command_itself_is_revoked_last() {
    let registry = registry();
    store_rules(&registry);
    let own = json!({ "id": "0000000000000002", "name": "Ann@acme.example", "scopes": ["admin"], "expires": null });
    registry.set("/api/v1/token", Response::new(200, own.to_string()));
    for id in ["1", "2"] {
        let id = format!("{id:0>16}");
        let removed = Response::new(200, json!({ "removed": id }).to_string());
        registry.fail("DELETE", &format!("rules/{id}"), Fault::Answer(removed));
    }
    answer_revocations(&registry, &["tokens/0000000000000002"]);
    let revoke = [
        "token",
        "revoke",
        "--of",
        "ann@acme.example",
        "--with-rules",
    ];
    run(&registry, &revoke).expect(0);
    let requests = registry.requests();
    let last = requests.last().unwrap();
    assert_eq!(last, "DELETE /admin/v1/tokens/0000000000000002");
}

#[test]
fn a_whole_token_is_accepted_in_place_of_its_id() {
    let registry = registry();
    let id = "7f3a9c2e51b04d68";
    let token = format!("terrace_{id}.MTc5NjkwNDAw.q0JxbWFj.0f1e2d3c");
    answer_revocations(&registry, &[id]);
    let ended = run(&registry, &["token", "revoke", &token]).expect(0);
    assert_eq!(ended.json()["revoked"], json!([id]));
    assert_eq!(
        registry.requests(),
        [format!("DELETE /admin/v1/tokens/{id}")]
    );
    assert!(!format!("{ended:?}").contains("MTc5NjkwNDAw"), "{ended:?}");
}

#[test]
fn a_rotation_states_until_when_the_old_token_is_valid() {
    let registry = Registry::start();
    let id = "0000000000000002";
    for (revoked, expected) in [
        (
            json!("2999-01-01T00:00:00Z"),
            format!("{id} stays valid until 2999-01-01T00:00:00Z"),
        ),
        (after(0), format!("{id} is revoked; ")),
    ] {
        let old = token(2, "ci", "root", json!({ "revoked": revoked }));
        let made = token(
            9,
            "ci",
            "root",
            json!({ "token": "a-new-token", "replaced": old }),
        );
        registry.fail(
            "POST",
            "/rotation",
            Fault::Answer(Response::new(201, made.to_string())),
        );
        let mut command = terrace(&["token", "rotate", id, "--overlap", "24h"]);
        command.env("TERRACE_URL", registry.url());
        let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0);
        assert_eq!(ended.stdout, "a-new-token\n");
        assert!(ended.stderr.starts_with(&expected), "{ended:?}");
    }
}

#[test]
fn a_lifetime_that_the_registry_refuses_is_named_by_its_option() {
    let registry = registry();
    let reason = "expires_in is 63072000: it must be from 60 to 31536000 seconds";
    let refusal = Response::new(422, json!({ "errors": [reason] }).to_string());
    registry.set("/admin/v1/tokens", refusal);
    let create = [
        "token",
        "create",
        "--name",
        "ci",
        "--scope",
        "read",
        "--expires",
        "2y",
    ];
    let errors = run(&registry, &create).expect(3).json()["errors"].to_string();
    assert!(
        errors.contains(&format!("--expires 730d: {reason}")),
        "{errors}"
    );
}
