//! Statuses of releases and keys.

use serde_json::json;

use super::registry::{Registry, Response};

/// Sets the status of a package, a version or a key, at this path of the admin API.
pub fn set_status(registry: &Registry, path: &str, state: &str) -> Response {
    set_status_because(registry, path, state, "a test")
}

pub fn set_status_because(registry: &Registry, path: &str, state: &str, reason: &str) -> Response {
    let body = json!({ "state": state, "reason": reason }).to_string();
    registry.admin("PUT", path, Some(body.as_bytes()))
}

/// Returns the path for the status of a package or a version, such as `modules/acme/vpc/aws/1.0.0`.
pub fn status_of(address: &str) -> String {
    format!("/admin/v1/{address}/status")
}
