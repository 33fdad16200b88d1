//! The cookie of a signed-in browser: where it counts, and where it never does.

use std::cell::Cell;

use terrace_core::api::route::{ApiRoute, Route};
use terrace_core::http::method::Method;

use crate::native::access::{filled, paths};
use crate::support::Registry;
use crate::support::memory::Memory;
use crate::support::people::{LOGIN, session};
use crate::support::registry::{Response, Sent, TOKEN};
use crate::support::tokens::create;

const NOW: u64 = 1_800_000_000;

/// Pages, besides those of the paths of all routes.
const PAGES: [&str; 3] = [
    "/providers/acme/widget/1.0.0/docs",
    "/providers/acme/widget/1.0.0/docs/overview.md",
    "/nothing",
];

fn private(memory: &Memory) -> Registry {
    let vars = [("TERRACE_ACCESS", "private")];
    Registry::in_memory(memory, &[&vars, &LOGIN[..]].concat())
}

fn comparable(response: &Response) -> (u16, Vec<(String, String)>, Vec<u8>) {
    (
        response.status,
        response.headers.clone(),
        response.body.clone(),
    )
}

/// Sends requests to every route, by every method, and calls `check` with each route and its method.
fn walk(check: impl Fn(&Route, Method, Sent)) {
    let pages = PAGES.map(str::to_owned);
    for path in paths().into_iter().chain(pages) {
        let route = Route::parse(path.split('?').next().unwrap()).unwrap();
        for method in route.endpoint().methods() {
            check(&route, method, Sent::new(method.as_str(), &path).body("{}"));
        }
    }
}

#[test]
fn a_session_changes_only_the_reads_of_pages_and_of_the_api() {
    let (memory, _) = filled();
    let cookie = session("admin publish:acme", NOW);
    walk(|route, method, sent| {
        let action = route.endpoint().action(method).unwrap();
        let registry = private(&memory.copy());
        let anonymous = registry.send(&sent);
        let copy = memory.copy();
        let registry = private(&copy);
        let signed_in = registry.send(&sent.clone().header("cookie", &cookie));
        let is_allowed = match route {
            Route::Api(_) | Route::Page(_) => matches!(method, Method::Get | Method::Head),
            _ => false,
        };
        let path = &sent.target;
        assert!(is_allowed || !action.reads_session, "{method:?} {path}");
        if action.writes {
            assert!(signed_in.status >= 400, "{method:?} {path}");
            assert!(copy.objects() == memory.objects(), "{method:?} {path}");
        }
        if action.reads_session {
            assert_ne!(signed_in.status, 401, "{method:?} {path}");
            assert!([401, 303].contains(&anonymous.status), "{method:?} {path}");
        } else if path == "/sign-out" && method != Method::Post {
            // Its page says that there is no session.
            assert_eq!([anonymous.status, signed_in.status], [200, 303]);
        } else if !path.starts_with("/oauth/") && !path.ends_with("uploads/") {
            let [one, other] = [&anonymous, &signed_in].map(comparable);
            assert_eq!(one, other, "{method:?} {path}");
        } else {
            assert_eq!(anonymous.status, signed_in.status, "{method:?} {path}");
        }
    });
}

#[test]
fn a_session_reads_the_api_as_a_token_with_its_scopes_does() {
    let (memory, registry) = filled();
    // Every place has the catalogue.
    memory.advance(60);
    for (scopes, reads) in [
        ("publish:acme", "read:acme"),
        ("read:globex", "read:globex"),
        ("admin", "read"),
    ] {
        let token = create(&registry, &[reads], None).1;
        let cookie = session(scopes, NOW);
        let private = private(&memory);
        walk(|route, method, sent| {
            // The description of a token is for its holder alone, and no page asks about versions in use.
            if !matches!(route, Route::Api(_))
                || matches!(route, Route::Api(ApiRoute::Token | ApiRoute::Check))
            {
                return;
            }
            let by_token = private.send(&sent.clone().bearing(&token));
            let by_cookie = private.send(&sent.clone().header("cookie", &cookie));
            let path = &sent.target;
            assert_eq!(
                by_cookie.status, by_token.status,
                "{method:?} {path} {scopes}"
            );
            assert_eq!(by_cookie.body, by_token.body, "{method:?} {path} {scopes}");
            assert_eq!(
                by_cookie.header("cache-control"),
                by_token.header("cache-control"),
                "{path}"
            );
        });
    }
}

#[test]
fn a_token_counts_before_a_session() {
    let (memory, registry) = filled();
    let token = create(&registry, &["read:globex"], None).1;
    let private = private(&memory);
    let cookie = session("read", NOW);
    for path in ["/api/v1/modules/acme/vpc/aws", "/api/v1/namespaces/acme"] {
        let sent = || Sent::new("GET", path).header("cookie", &cookie);
        private.send(&sent()).expect(200);
        let by_both = private.send(&sent().bearing(&token));
        let by_token = private.get_as(&token, path);
        assert_eq!(comparable(&by_both), comparable(&by_token), "{path}");
        private.send(&sent().bearing("wrong")).expect(401);
    }
}

#[test]
fn a_session_that_is_not_valid_counts_as_none_and_as_no_guess() {
    let (memory, _) = filled();
    let private = private(&memory);
    let forged = session("read", NOW) + "x";
    let late = session("read", NOW - 7_200);
    let before = memory.log().len();
    for cookie in [forged.as_str(), &late, "__Host-terrace=", "a=b", "="] {
        for path in ["/api/v1/modules/acme/vpc/aws", "/api/v1/namespaces", "/"] {
            let ask = |cookie: Option<&str>| {
                let sent = Sent::new("GET", path).header("cf-connecting-ip", "192.0.2.1");
                let response = private.send(&match cookie {
                    Some(cookie) => sent.header("cookie", cookie),
                    None => sent,
                });
                (response.status, response.text())
            };
            for _ in 0..15 {
                assert_eq!(ask(Some(cookie)), ask(None), "{path} {cookie}");
            }
        }
    }
    assert_eq!(memory.log().len(), before, "{:?}", memory.log());
}

#[test]
fn a_session_ends_when_its_admin_token_is_replaced() {
    let (memory, _) = filled();
    let cookie = session("read", NOW);
    let other = "another-admin-token-for-tests";
    let status = |vars: &[(&str, &str)]| {
        let vars = [vars, &[("TERRACE_ACCESS", "private")], &LOGIN[..]].concat();
        let registry = Registry::in_memory(&memory, &vars);
        let sent = Sent::new("GET", "/api/v1/namespaces").header("cookie", &cookie);
        registry.send(&sent).status
    };
    assert_eq!(status(&[]), 200);
    let overlap = [
        ("TERRACE_ADMIN_TOKEN", other),
        ("TERRACE_ADMIN_TOKEN_PREVIOUS", TOKEN),
    ];
    assert_eq!(status(&overlap), 200);
    assert_eq!(status(&[("TERRACE_ADMIN_TOKEN", other)]), 401);
}

#[test]
fn a_hidden_package_looks_missing_to_a_signed_in_browser() {
    let (memory, _) = filled();
    let private = private(&memory);
    let cookie = session("read:globex", NOW);
    let compared = Cell::new(0);
    walk(|route, method, sent| {
        let is_read = route.endpoint().action(method).unwrap().reads_session;
        if !is_read || !sent.target.contains("acme") {
            return;
        }
        let ask = |path: &str, name: &str| {
            let sent = Sent::new(method.as_str(), path).header("cookie", &cookie);
            let response = private.send(&sent);
            let text = response.text().replace("ann@acme.example", "");
            let text = text.replace(name, "NAME");
            let mut headers = response.headers.clone();
            // The tag of a page that repeats the name.
            headers.retain(|(header, _)| header != "etag");
            (response.status, headers, text)
        };
        compared.set(compared.get() + 1);
        let missing = sent.target.replace("acme", "emca");
        assert_eq!(
            ask(&sent.target, "acme"),
            ask(&missing, "emca"),
            "{}",
            sent.target
        );
    });
    assert!(compared.get() > 20, "{}", compared.get());
    let search = Sent::new("GET", "/api/v1/search?q=vpc").header("cookie", &cookie);
    let found = private.send(&search).found();
    assert_eq!(found["results"], serde_json::json!([]));
}

#[test]
fn no_website_may_read_an_answer_to_a_session_and_caches_distinguish_it() {
    let (memory, _) = filled();
    let cookie = session("read", NOW);
    let paths = [
        "/api/v1/search?q=vpc",
        "/api/v1/namespaces",
        "/api/v1/modules/acme/vpc/aws",
        "/api/v1/modules/acme/vpc/aws/latest",
        "/api/v1/modules/acme/vpc/aws/1.0.0/docs/readme",
        "/api/v1/modules/acme/nothing/aws",
    ];
    let part = [("TERRACE_ACCESS_EXCEPT", "secret")];
    let part = Registry::in_memory(&memory, &[&part, &LOGIN[..]].concat());
    for registry in [&private(&memory), &part] {
        for path in paths {
            let ask = |cookie: &str| {
                let response = registry.send(&Sent::new("GET", path).header("cookie", cookie));
                assert_eq!(response.header("vary"), Some("cookie"), "{path}");
                let open = response.header("access-control-allow-origin");
                open.map(str::to_owned)
            };
            assert_eq!(ask("a=b").as_deref(), Some("*"), "{path}");
            for cookie in [cookie.as_str(), "__Host-terrace=x", "a=b; __Host-terrace="] {
                assert_eq!(ask(cookie), None, "{path} {cookie}");
            }
        }
    }
    // Where no cookie is read, none changes anything.
    let public = Registry::in_memory(&memory, &LOGIN);
    for path in paths {
        let response = public.send(&Sent::new("GET", path).header("cookie", &cookie));
        assert_eq!(
            comparable(&response),
            comparable(&public.get(path)),
            "{path}"
        );
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
        assert_eq!(response.header("vary"), None, "{path}");
    }
}

#[test]
fn only_an_administrator_in_a_browser_sees_the_problems_of_the_configuration() {
    let (memory, _) = filled();
    let rule = r#"[{"scopes": ["publish:acme"], "issuer": "https://token.actions.githubusercontent.com",
                    "claims": {"repository": "acme/widget"}}]"#;
    let vars = [
        ("TERRACE_ACCESS", "private"),
        ("TERRACE_TRUSTED_PUBLISHERS", rule),
    ];
    let registry = Registry::in_memory(&memory, &[&vars, &LOGIN[..]].concat());
    let ask = |scopes: &str, path: &str| {
        let sent = Sent::new("GET", path).header("cookie", &session(scopes, NOW));
        registry.send(&sent)
    };
    for path in ["/", "/modules/acme/vpc/aws/1.0.0", "/browse/modules"] {
        // The first reader rebuilds indices that are missing.
        ask("read", path);
        // Every place has the catalogue.
        memory.advance(60);
        let [others, to_others] = [ask("read", path), ask("read", path)];
        let [admins, again] = [ask("admin", path), ask("admin", path)];
        assert_eq!(others.body, to_others.body, "{path}");
        let [html, of_others] = [admins.text(), others.text()];
        assert!(html.contains("TERRACE_TRUSTED_PUBLISHERS"), "{html}");
        assert!(html.contains("terrace doctor "), "{html}");
        assert!(!of_others.contains("TERRACE_"), "{of_others}");
        // Each reader has an answer of their own, which no shared cache stores.
        assert_eq!(again.header("etag"), admins.header("etag"), "{path}");
        if let Some(etag) = admins.header("etag") {
            assert_ne!(Some(etag), others.header("etag"), "{path}");
            let sent = Sent::new("GET", path).header("cookie", &session("read", NOW));
            registry
                .send(&sent.header("if-none-match", etag))
                .expect(200);
        }
        let control = admins.header("cache-control").unwrap();
        assert!(
            control.contains("private") || control.contains("no-store"),
            "{path}: {control}"
        );
    }
    // A token is no browser.
    let by_token = registry.get_as(TOKEN, "/").text();
    assert!(!by_token.contains("TERRACE_"), "{by_token}");
    let sound = private(&memory);
    let sent = Sent::new("GET", "/").header("cookie", &session("admin", NOW));
    assert!(!sound.send(&sent).text().contains("<aside"));
}
