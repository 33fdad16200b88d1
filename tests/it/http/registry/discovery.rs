use crate::support::Registry;
use crate::support::registry::Sent;

const PATH: &str = "/.well-known/terraform.json";

#[test]
fn discovery_is_exactly_application_json_1_1() {
    let response = Registry::start().get(PATH).expect(200);
    assert_eq!(response.header("content-type"), Some("application/json"));
}

#[test]
fn discovery_is_anonymous_and_ignores_a_wrong_token_1_2() {
    let registry = Registry::start();
    for authorization in ["Bearer wrong", "Bearer ", "Basic eDp5", "nonsense"] {
        let response =
            registry.send(&Sent::new("GET", PATH).header("authorization", authorization));
        assert_eq!(response.status, 200, "{authorization}");
    }
}

#[test]
fn discovery_is_one_small_object_of_plain_strings_1_3() {
    let response = Registry::start().get(PATH);
    assert!(response.body.len() < 1024 * 1024);
    let json = response.json();
    assert!(
        json.as_object()
            .unwrap()
            .values()
            .all(serde_json::Value::is_string),
        "{json}"
    );
}

#[test]
fn services_are_absolute_paths_that_end_in_a_slash_1_4() {
    let json = Registry::start().get(PATH).json();
    for service in ["providers.v1", "modules.v1"] {
        let path = json[service].as_str().expect(service);
        assert!(path.starts_with('/') && path.ends_with('/'), "{path}");
    }
}

#[test]
fn discovery_announces_nothing_it_does_not_serve_1_6_1_7() {
    let json = Registry::start().get(PATH).json();
    let mut services: Vec<&String> = json.as_object().unwrap().keys().collect();
    services.sort();
    assert_eq!(services, ["modules.v1", "providers.v1"]);
}

#[test]
fn head_of_discovery_has_the_headers_of_get_and_no_body() {
    let registry = Registry::start();
    let (get, head) = (registry.get(PATH), registry.head(PATH).expect(200));
    assert_eq!(head.header("content-type"), get.header("content-type"));
    assert!(head.body.is_empty());
}

#[test]
fn discovery_may_be_cached() {
    let response = Registry::start().get(PATH);
    assert_eq!(
        response.header("cache-control"),
        Some("public, max-age=300")
    );
}
