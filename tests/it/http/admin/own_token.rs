//! The token of a request: described, and revoked by its holder.

use serde_json::{Value, json};

use crate::support::Registry;
use crate::support::registry::{Response, Sent, unique};
use crate::support::tokens::create;

use super::tokens::listed;

const PATH: &str = "/api/v1/token";

fn revoke_own(registry: &Registry, token: &str) -> Response {
    registry.send(&Sent::new("DELETE", PATH).bearing(token))
}

#[test]
fn a_token_of_any_scope_is_described_to_its_holder() {
    let registry = Registry::start();
    let (id, token) = create(&registry, &["read:acme"], Some(3_600));
    let answer = registry.get_as(&token, PATH).expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(!answer.text().contains(&token));
    let described = answer.json();
    assert_eq!(described["id"], id.as_str());
    assert_eq!(described["scopes"], serde_json::json!(["read:acme"]));
    assert!(described["expires"].is_string(), "{described}");

    let root = registry.read_as_admin(PATH);
    assert_eq!((&root["id"], &root["name"]), (&Value::Null, &"root".into()));
    registry.get(PATH).expect(401);
    registry.get_as("wrong", PATH).expect(401);
}

#[test]
fn a_repeated_creation_with_one_idempotency_key_returns_the_same_token() {
    let registry = Registry::start();
    let sent = |key: &str, name: &str| {
        let body = json!({ "name": name, "scopes": ["read"] }).to_string();
        let sent = Sent::new("POST", "/admin/v1/tokens").bearing(registry.token());
        registry.send(&sent.header("idempotency-key", key).body(body))
    };
    let key = unique("0123456789abcdef");
    let first = sent(&key, "ci").expect(201).json();
    assert_eq!(sent(&key, "ci").expect(201).json(), first);
    let errors = sent(&key, "other").expect(422).errors();
    assert!(
        errors.contains(&key)
            && errors.contains("another body")
            && errors.contains(first["id"].as_str().unwrap()),
        "{errors}"
    );
    sent("short", "ci").refuses(400, "Idempotency-Key");
    // A token that was revoked must not be handed out as a new one.
    let path = format!("/admin/v1/tokens/{}", first["id"].as_str().unwrap());
    registry.admin("DELETE", &path, None).expect(200);
    sent(&key, "ci").refuses(409, "send another one");
}

#[test]
fn a_token_revokes_itself_and_the_admin_token_does_not() {
    let registry = Registry::start();
    let (id, token) = create(&registry, &["publish:acme"], None);
    assert_eq!(revoke_own(&registry, &token).found()["id"], id);
    // Others learn of it within a minute.
    assert!(listed(&registry, &id)[0]["revoked"].is_string());
    // The response may have been lost.
    revoke_own(&registry, &token).expect(200);
    registry
        .admin("DELETE", PATH, None)
        .refuses(403, "TERRACE_ADMIN_TOKEN");
    registry.get_as(registry.token(), PATH).expect(200);
    registry.send(&Sent::new("DELETE", PATH)).expect(401);
    revoke_own(&registry, "wrong").expect(401);
}
