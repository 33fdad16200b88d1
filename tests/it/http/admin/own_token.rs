//! The token of a request: described, and revoked by its holder.

use serde_json::Value;

use crate::support::Registry;
use crate::support::registry::{Response, Sent, TOKEN};
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

    let root = registry.admin("GET", PATH, None).expect(200).json();
    assert_eq!((&root["id"], &root["name"]), (&Value::Null, &"root".into()));
    registry.get(PATH).expect(401);
    registry.get_as("wrong", PATH).expect(401);
}

#[test]
fn a_token_revokes_itself_and_the_admin_token_does_not() {
    let registry = Registry::start();
    let (id, token) = create(&registry, &["publish:acme"], None);
    assert_eq!(revoke_own(&registry, &token).expect(200).json()["id"], id);
    // Others learn of it within a minute.
    assert!(listed(&registry, &id)[0]["revoked"].is_string());
    // The response may have been lost.
    revoke_own(&registry, &token).expect(200);
    let refused = registry.admin("DELETE", PATH, None).expect(403);
    assert!(refused.errors().contains("TERRACE_ADMIN_TOKEN"));
    registry.get_as(TOKEN, PATH);
    registry.send(&Sent::new("DELETE", PATH)).expect(401);
    revoke_own(&registry, "wrong").expect(401);
}
