//! Rules for sign-in that are stored in the registry.

use serde_json::{Value, json};

use super::{logged, stopped};
use crate::support::faults::Break;
use crate::support::people::{LOGIN, People};
use crate::support::tokens::add_rule;

/// People whose registry has no rules in its configuration.
fn without_rules() -> People {
    let mut people = People::new();
    people.registry = crate::support::Registry::in_memory(&people.memory, &LOGIN[..3]);
    people
}

fn role(scope: &str, claims: &Value) -> Value {
    json!({ "scopes": [scope], "claims": claims })
}

#[test]
fn a_person_gets_access_by_a_stored_role_until_it_is_removed() {
    let people = without_rules();
    stopped(people.sign_in().1, 403, "grants your account access");
    logged(&people, "run `terrace role add`");
    let claims = json!({ "email": "*@ACME.example" });
    let made = add_rule(&people.registry, "role", &role("read:acme", &claims)).expect(201);
    people.memory.advance(26);
    let page = people.sign_in().1.expect(200);
    assert!(
        page.text().contains("<code>read:acme</code>"),
        "{}",
        page.text()
    );
    let path = made.header("location").unwrap();
    people.registry.admin("DELETE", path, None).expect(200);
    people.memory.advance(26);
    stopped(people.sign_in().1, 403, "grants your account access");
}

#[test]
fn a_stored_role_adds_to_those_of_the_configuration() {
    let people = People::new();
    let claims = json!({ "groups": "staff" });
    add_rule(&people.registry, "role", &role("admin:acme", &claims)).expect(201);
    let page = people.sign_in().1.expect(200).text();
    assert!(page.contains("<strong>administer</strong> acme"), "{page}");
    assert!(page.contains("<code>read</code>"), "{page}");
}

#[test]
fn a_sign_in_while_the_rules_cannot_be_read_is_503_and_grants_nothing() {
    let people = without_rules();
    let (cookie, state) = people.begin();
    people.memory.forget_operations();
    people.memory.break_at(0, Break::Outage);
    let page = people.come_back(&cookie, &[("code", "c"), ("state", &state)]);
    assert_eq!(page.status, 503, "{}", page.text());
    assert!(!page.text().contains("<form"));
}
