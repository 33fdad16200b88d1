//! Tokens of the OCI protocol, and the credentials that a push requires.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::NOTHING;
use crate::support::Registry;
use crate::support::pushed::{Pushed, code};
use crate::support::registry::Sent;

#[test]
fn a_push_requires_a_token_that_allows_it_6_10() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let origin = registry.origin();
    let (_, service) = origin.split_once("://").unwrap();
    let challenge = format!("Bearer realm=\"{origin}/v2/token\",service=\"{service}\"");
    let id = "01a3185c-5000-7fff-bfff-ffffffffffff";
    for (method, rest) in [
        ("POST", "blobs/uploads/".to_owned()),
        ("PATCH", format!("blobs/uploads/{id}")),
        ("PUT", format!("blobs/uploads/{id}?digest={NOTHING}")),
        ("GET", format!("blobs/uploads/{id}")),
        ("DELETE", format!("blobs/uploads/{id}")),
        ("PUT", "manifests/latest".to_owned()),
        ("DELETE", "manifests/latest".to_owned()),
        ("DELETE", format!("blobs/{NOTHING}")),
    ] {
        let basic = |credentials: &str| format!("Basic {}", STANDARD.encode(credentials));
        for header in [
            None,
            Some("Bearer wrong".to_owned()),
            Some("Bearer anonymous".to_owned()),
            Some(basic("me:wrong")),
            Some(basic(&format!(":{}", registry.token()))),
        ] {
            let sent = Sent::new(method, &pushed.path(&rest));
            let sent = match &header {
                Some(value) => sent.header("authorization", value),
                None => sent,
            };
            let refused = registry.send(&sent).expect(401);
            assert_eq!(code(&refused), "UNAUTHORIZED", "{method} {rest}");
            let told = refused.header("www-authenticate");
            assert_eq!(told, Some(challenge.as_str()), "{method} {rest}");
        }
    }
}

#[test]
fn a_token_is_issued_for_the_admin_token_and_to_anonymous_clients_6_10_6_12() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let token = |query: &str, authorization: Option<&str>| {
        let sent = Sent::new("GET", &format!("/v2/token{query}"));
        let sent = match authorization {
            Some(value) => sent.header("authorization", value),
            None => sent,
        };
        registry.send(&sent)
    };
    let right = format!(
        "Basic {}",
        STANDARD.encode(format!("any:{}", registry.token()))
    );
    let wrong = format!("Basic {}", STANDARD.encode("any:wrong"));
    for query in [
        "",
        "?service=x",
        "?scope=repository:a:pull,push&service=x",
        "?scope=repository%3Aa%3Apull&scope=repository%3Ab%3Apull%2Cpush",
    ] {
        let anonymous = token(query, None).found();
        let given = token(query, Some(&right)).expect(200);
        assert_eq!(given.header("cache-control"), Some("no-store"));
        let given = given.json();
        assert_eq!(given["token"], given["access_token"]);
        token(query, Some(&wrong)).expect(401);
        for (given, status) in [(anonymous, 401), (given, 202)] {
            let bearer = format!("Bearer {}", given["token"].as_str().unwrap());
            let post = Sent::new("POST", &pushed.path("blobs/uploads/"));
            let post = post.header("authorization", &bearer).body(b"");
            registry.send(&post).expect(status);
            let base = Sent::new("GET", "/v2/").header("authorization", &bearer);
            registry.send(&base).expect(200);
        }
    }
    let base =
        |value: &str| registry.send(&Sent::new("GET", "/v2/").header("authorization", value));
    base(&right).expect(200);
    assert_eq!(code(&base(&wrong).expect(401)), "UNAUTHORIZED");
}
