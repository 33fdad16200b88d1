use crate::support::Registry;
use crate::support::registry::Sent;

const ROUTES: [(&str, &str); 5] = [
    ("PUT", "/admin/v1/providers/acme/widget/1.0.0"),
    ("PUT", "/admin/v1/modules/acme/vpc/aws/1.0.0"),
    ("GET", "/admin/v1/namespaces/acme/keys"),
    ("PUT", "/admin/v1/namespaces/acme/keys"),
    ("DELETE", "/admin/v1/namespaces/acme/keys/51852D87348FFC4C"),
];

#[test]
fn every_admin_route_requires_the_token() {
    let registry = Registry::start();
    let long = format!("Bearer {}x", registry.token());
    let basic = format!("Basic {}", registry.token());
    for (method, path) in ROUTES {
        for authorization in [
            None,
            Some("Bearer wrong"),
            Some("Bearer"),
            Some("Bearer "),
            Some(&long),
            Some(&basic),
        ] {
            let mut sent = Sent::new(method, path).body("{}");
            if let Some(authorization) = authorization {
                sent = sent.header("authorization", authorization);
            }
            let response = registry.send(&sent).expect(401);
            assert!(
                response
                    .header("www-authenticate")
                    .is_some_and(|value| value.starts_with("Bearer"))
            );
        }
    }
}

#[test]
fn a_body_that_is_not_the_expected_json_is_400_with_the_reason() {
    let registry = Registry::start();
    for (body, told) in [
        ("", "EOF"),
        ("{", "EOF"),
        ("[]", "the body is a JSON array"),
        ("{\"archive\":{}}", "missing field"),
        (
            "{\"archive\":{\"format\":\"zip\",\"sha256\":\"\",\"size\":-1}}",
            "invalid value",
        ),
        (
            "{\"archive\":{\"format\":\"zip\",\"sha256\":\"\",\"size\":1},\"x\":1}",
            "unknown field `x`",
        ),
    ] {
        let response = registry
            .admin("PUT", ROUTES[1].1, Some(body.as_bytes()))
            .expect(400);
        assert!(
            response.errors().contains(told),
            "{body}: {}",
            response.text()
        );
    }
}

#[test]
fn a_body_over_the_limit_is_413_and_one_without_a_length_411() {
    let registry = Registry::start();
    for (method, path) in ROUTES.iter().filter(|(method, _)| *method == "PUT") {
        let huge = vec![b' '; 1024 * 1024 + 1];
        let response = registry.admin(method, path, Some(&huge)).expect(413);
        assert!(response.errors().contains("1048576"));
        let response = registry.admin(method, path, None);
        // An HTTP client library may add "content-length: 0".
        assert!(matches!(response.status, 411 | 400 | 422), "{response:?}");
    }
}

#[test]
fn an_unsupported_method_is_405_with_the_allowed_ones() {
    let registry = Registry::start();
    for (path, allowed) in [
        (ROUTES[0].1, "PUT"),
        (ROUTES[2].1, "GET, PUT"),
        (ROUTES[4].1, "DELETE, PUT"),
        ("/.well-known/terraform.json", "GET, HEAD"),
        ("/v1/providers/acme/widget/versions", "GET, HEAD"),
    ] {
        for method in ["POST", "PATCH", "OPTIONS"] {
            let response = registry.admin(method, path, None);
            assert_eq!(
                (response.status, response.header("allow")),
                (405, Some(allowed)),
                "{method} {path}"
            );
        }
    }
}
