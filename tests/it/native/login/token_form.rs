//! The form by which a browser signs in with a token, in a private registry without an identity provider.

use crate::support::ModuleFixture;
use crate::support::memory::Memory;
use crate::support::people::LOGIN;
use crate::support::registry::{Registry, Response, Sent, TOKEN};
use crate::support::tokens::{create, revoke};

const PRIVATE: (&str, &str) = ("TERRACE_ACCESS", "private");

fn private() -> (Memory, Registry) {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[PRIVATE, ("TERRACE_FAILURES_A_MINUTE", "2")]);
    for owner in ["acme", "globex"] {
        ModuleFixture::of(owner, "1.0.0").publish(&registry);
    }
    (memory, registry)
}

fn form(token: &str) -> Sent {
    let body = format!("to=%2Fmodules%2Facme%2Fvpc%2Faws&token={token}");
    Sent::new("POST", "/sign-in")
        .header("cf-connecting-ip", "192.0.2.1")
        .body(body)
}

fn enter(registry: &Registry, token: &str) -> Response {
    registry.send(&form(token).header("sec-fetch-site", "same-origin"))
}

/// Returns the cookie that a browser sends back.
fn cookie(response: &Response) -> String {
    let cookie = response.header("set-cookie").expect("a cookie");
    cookie.split(';').next().unwrap().to_owned()
}

fn view(registry: &Registry, cookie: &str, path: &str) -> Response {
    registry.send(&Sent::new("GET", path).header("cookie", cookie))
}

#[test]
fn a_token_becomes_a_session_that_reads_what_the_token_reads_until_it_ends() {
    let (memory, registry) = private();
    let (id, token) = create(&registry, &["publish:acme"], Some(600));
    let entered = enter(&registry, &token).expect(303);
    assert_eq!(entered.header("location"), Some("/modules/acme/vpc/aws"));
    let set = entered.header("set-cookie").unwrap();
    assert!(
        set.contains("; Max-Age=600; Path=/; Secure; HttpOnly"),
        "{set}"
    );
    assert!(!set.contains(&token), "{set}");
    let cookie = cookie(&entered);
    let page = view(&registry, &cookie, "/").expect(200).text();
    assert!(
        page.contains("acme/vpc/aws") && !page.contains("globex"),
        "{page}"
    );
    view(&registry, &cookie, "/modules/globex/vpc/aws/1.0.0").expect(404);
    let change = Sent::new("POST", "/admin/v1/tokens").header("cookie", &cookie);
    registry.send(&change.body("{}")).expect(401);
    for path in ["/", "/modules/acme/vpc/aws/1.0.0", "/api/v1/namespaces"] {
        view(&registry, &cookie, path).expect(200);
    }
    revoke(&registry, &id).expect(200);
    memory.advance(60);
    for path in [
        "/",
        "/modules/acme/vpc/aws/1.0.0",
        "/api/v1/modules/acme/vpc/aws",
    ] {
        view(&registry, &cookie, path).expect(401);
    }
    let page = view(&registry, &cookie, "/").text();
    assert!(page.contains("action=\"/sign-in\""), "{page}");
    let refused = enter(&registry, &token).expect(401).text();
    assert!(refused.contains("is revoked"), "{refused}");
}

#[test]
fn a_session_whose_token_is_revoked_counts_as_none() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[("TERRACE_ACCESS_EXCEPT", "acme")]);
    for owner in ["acme", "globex"] {
        ModuleFixture::of(owner, "1.0.0").publish(&registry);
    }
    let (id, token) = create(&registry, &["read:acme"], None);
    let cookie = cookie(&enter(&registry, &token).expect(303));
    let hidden = [
        "/modules/acme/vpc/aws/1.0.0",
        "/api/v1/modules/acme/vpc/aws",
    ];
    for path in hidden {
        view(&registry, &cookie, path).expect(200);
    }
    revoke(&registry, &id).expect(200);
    memory.advance(60);
    for path in hidden {
        let missing = view(&registry, &cookie, path).expect(404).text();
        assert!(!missing.contains("/sign-out"), "{missing}");
    }
    for path in [
        "/modules/globex/vpc/aws/1.0.0",
        "/api/v1/modules/globex/vpc/aws",
    ] {
        view(&registry, &cookie, path).expect(200);
    }
    let log = memory.log().join("\n");
    assert!(!log.contains("revoked"), "{log}");
    let bearer = Sent::new("GET", hidden[1]).header("authorization", &format!("Bearer {token}"));
    registry.send(&bearer).expect(401);
}

#[test]
fn the_admin_token_becomes_a_session_that_only_reads() {
    let (memory, registry) = private();
    let entered = enter(&registry, TOKEN).expect(303);
    assert!(
        entered
            .header("set-cookie")
            .unwrap()
            .contains("Max-Age=43200")
    );
    let cookie = cookie(&entered);
    let page = view(&registry, &cookie, "/").expect(200).text();
    assert!(page.contains("globex/vpc/aws"), "{page}");
    view(&registry, &cookie, "/admin/v1/tokens").expect(401);
    memory.advance(43_201);
    view(&registry, &cookie, "/").expect(401);
}

#[test]
fn only_a_page_of_the_registry_may_send_the_form() {
    let (_, registry) = private();
    for site in ["cross-site", "same-site", "none", ""] {
        let sent = form(TOKEN).header("sec-fetch-site", site);
        let refused = registry.send(&sent).expect(403);
        assert_eq!(refused.header("set-cookie"), None, "{site}");
    }
    registry.send(&form(TOKEN)).expect(403);
    let elsewhere = "to=%2F%2Fevil.example&token=".to_owned() + TOKEN;
    let sent = form("")
        .body(elsewhere)
        .header("sec-fetch-site", "same-origin");
    let entered = registry.send(&sent).expect(303);
    assert_eq!(entered.header("location"), Some("/"));
}

#[test]
fn an_invalid_token_is_counted_and_neither_shown_nor_logged() {
    let (memory, registry) = private();
    let wrong = "terrace_not.a-token-of-anyone";
    for token in [wrong, "", "anonymous"] {
        let page = enter(&registry, token).expect(401).text();
        assert!(page.contains("type=\"password\""), "{page}");
        assert!(token.is_empty() || !page.contains(token), "{page}");
    }
    enter(&registry, "guess").expect(401);
    enter(&registry, "guess").expect(429);
    enter(&registry, TOKEN).expect(303);
    let log = memory.log().join("\n") + &memory.request_lines().join("\n");
    for secret in [wrong, "guess", TOKEN] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn a_page_without_access_shows_the_form_and_leads_back() {
    let (_, registry) = private();
    let shown = registry.get("/search?q=vpc").expect(401).text();
    assert!(
        shown.contains("<form class=\"refine\" action=\"/sign-in\" method=\"post\">"),
        "{shown}"
    );
    assert!(shown.contains("value=\"/search?q=vpc\""), "{shown}");
    registry.get("/sign-in").expect(200);
}

#[test]
fn a_registry_with_another_sign_in_or_nothing_private_takes_no_token() {
    for vars in [&[PRIVATE][..], &[]] {
        let login = if vars.is_empty() { &[][..] } else { &LOGIN[..] };
        let registry = Registry::in_memory(&Memory::new(), &[vars, login].concat());
        enter(&registry, TOKEN).expect(404);
    }
}
