//! Requests that create, revoke and use API tokens.

use serde_json::{Value, json};

use super::registry::{Registry, Response, Sent};

/// Creates a token. Returns its id and its text.
pub fn create(registry: &Registry, scopes: &[&str], expires_in: Option<u64>) -> (String, String) {
    let body = json!({ "name": "a test", "scopes": scopes, "expires_in": expires_in });
    let made = post(registry, "/admin/v1/tokens", &body).expect(201).json();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("id"), text("token"))
}

pub fn revoke(registry: &Registry, id: &str) -> Response {
    registry.admin("DELETE", &format!("/admin/v1/tokens/{id}"), None)
}

pub fn post(registry: &Registry, path: &str, body: &Value) -> Response {
    registry.admin("POST", path, Some(body.to_string().as_bytes()))
}

/// Adds a rule of this kind.
pub fn add_rule(registry: &Registry, kind: &str, rule: &Value) -> Response {
    let body = json!({ "kind": kind, "rule": rule });
    post(registry, "/admin/v1/rules", &body)
}

impl Registry {
    /// Sends a GET request with a token.
    pub fn get_as(&self, token: &str, target: &str) -> Response {
        self.send(&Sent::new("GET", target).bearing(token))
    }
}

impl Sent {
    /// Adds a token.
    pub fn bearing(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }
}
