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
fn a_body_over_the_limit_is_413_and_one_without_a_length_411() {
    let registry = Registry::start();
    for (method, path) in ROUTES.iter().filter(|(method, _)| *method == "PUT") {
        let huge = vec![b' '; 1024 * 1024 + 1];
        registry
            .admin(method, path, Some(&huge))
            .refuses(413, "1048576");
        let authorization = format!("Bearer {}", registry.token());
        let sent = Sent::new(method, path).header("authorization", &authorization);
        registry
            .send(&sent.unsized_body("{}"))
            .refuses(411, "Content-Length");
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
