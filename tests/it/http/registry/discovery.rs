use serde_json::json;

use crate::support::Registry;
use crate::support::registry::Sent;

const PATH: &str = "/.well-known/terraform.json";

/// It announces absolute paths that end in a slash, and nothing that is not served.
#[test]
fn discovery_is_one_small_object_of_paths_1_1_1_3_1_4_1_6_1_7() {
    let registry = Registry::start();
    let response = registry.get(PATH).expect(200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    let cached = response.header("cache-control");
    assert_eq!(cached, Some("public, max-age=300"));
    let json = response.json();
    let services = json!({ "modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/" });
    assert_eq!(json, services);
    let head = registry.head(PATH).expect(200);
    assert_eq!(head.header("content-type"), Some("application/json"));
    assert!(head.body.is_empty());
}

#[test]
fn discovery_is_anonymous_and_ignores_a_wrong_token_1_2() {
    let registry = Registry::start();
    for authorization in ["Bearer wrong", "Bearer ", "Basic eDp5", "nonsense"] {
        let sent = Sent::new("GET", PATH).header("authorization", authorization);
        registry.send(&sent).expect(200);
    }
}
