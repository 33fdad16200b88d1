//! The sign-in of a browser, for the pages of a private registry.

use serde_json::json;

use super::{claim, logged, page};
use crate::support::Registry;
use crate::support::memory::Memory;
use crate::support::people::{ISSUER, LOGIN, People, opened, session};
use crate::support::registry::{Response, Sent};

const PRIVATE: [(&str, &str); 1] = [("TERRACE_ACCESS", "private")];

/// A read that the session of a browser may identify.
pub(super) const READ: &str = "/api/v1/namespaces";

fn private() -> People {
    People::with(&PRIVATE)
}

/// Returns the session that a response begins.
#[track_caller]
pub(super) fn begun(response: &Response) -> String {
    let cookie = response.header("set-cookie").expect("a cookie");
    assert!(
        cookie.starts_with("__Host-terrace=terrace_browser_"),
        "{cookie}"
    );
    for attribute in ["; Path=/", "; Secure", "; HttpOnly", "; SameSite=Lax"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

fn with_cookie(registry: &Registry, method: &str, path: &str, cookie: &str) -> Response {
    registry.send(&Sent::new(method, path).header("cookie", cookie))
}

/// Returns the text of the page that ends the sign-in of a browser, which says nothing about terminals.
#[track_caller]
pub(super) fn stopped(response: Response, status: u16, words: &str) -> String {
    assert_eq!(response.header("set-cookie"), None);
    let text = page(response, status);
    assert!(text.contains(words), "{text}");
    assert!(text.contains("Sign in again"), "{text}");
    assert!(!text.contains("terminal"), "{text}");
    text
}

#[test]
fn a_browser_signs_in_and_returns_to_the_page_asked_for() {
    let people = private();
    people.registry.get(READ).expect(401);
    let stored = people.memory.objects();
    let response = people.sign_in_for("/search?q=a+b&kind=module").expect(303);
    assert_eq!(
        response.header("location"),
        Some("/search?q=a+b&kind=module")
    );
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let cookie = begun(&response);
    assert!(
        response
            .header("set-cookie")
            .unwrap()
            .contains("; Max-Age=43200;")
    );
    // Nothing is stored for it.
    let mut after = people.memory.objects();
    // The first writer of an index stores it.
    after.remove("format");
    assert!(after == stored);
    with_cookie(&people.registry, "GET", READ, &cookie).expect(200);
    logged(
        &people,
        "session of a browser for ann@acme.example (account 248289761001): read",
    );
}

#[test]
fn a_session_ends_with_the_lifetime_of_tokens() {
    let people = People::with(&[PRIVATE[0], ("TERRACE_LOGIN_LIFETIME", "600")]);
    let cookie = begun(&people.sign_in_for("/").expect(303));
    people.memory.advance(600);
    with_cookie(&people.registry, "GET", READ, &cookie).expect(200);
    people.memory.advance(1);
    with_cookie(&people.registry, "GET", READ, &cookie).expect(401);
}

#[test]
fn a_sign_in_returns_to_no_other_website_and_to_no_other_route() {
    let people = private();
    for (to, location) in [
        ("/modules/acme/vpc/aws/1.0.0", "/modules/acme/vpc/aws/1.0.0"),
        ("", "/"),
        ("//evil.example", "/"),
        ("/sign-in?to=/search", "/"),
        ("/sign-out", "/"),
        ("/oauth/callback?code=x", "/"),
        ("/admin/v1/tokens", "/"),
        ("/archives/1/2/3.zip", "/"),
        ("/api/v1/search", "/"),
        ("/nothing/here/at/all", "/"),
    ] {
        let response = people.sign_in_for(to).expect(303);
        assert_eq!(response.header("location"), Some(location), "{to:?}");
    }
    for query in ["", "?to", "?to=%ff", "?to=/search&to=/search", "?x=/search"] {
        let response = people.registry.get(&format!("/sign-in{query}")).expect(303);
        assert!(response.header("location").unwrap().starts_with(ISSUER));
    }
}

#[test]
fn only_the_browser_that_began_a_sign_in_gets_its_session() {
    let people = private();
    let (_, state) = people.begin_for("/search");
    let (other, _) = people.begin_for("/search");
    let parts = [("code", "c"), ("state", state.as_str())];
    for cookie in [other.as_str(), "", "__Host-terrace-sign-in=x"] {
        let text = stopped(
            people.come_back(cookie, &parts),
            400,
            "not started in this browser",
        );
        assert!(text.contains("href=\"/sign-in?to=%2Fsearch\""), "{text}");
    }
}

#[test]
fn a_sign_in_of_a_terminal_begins_no_session_and_the_other_way_round() {
    let people = private();
    let (cookie, question) = people.sign_in();
    assert_eq!(question.expect(200).header("set-cookie"), None);
    with_cookie(&people.registry, "GET", READ, &cookie).expect(401);
    let response = people.sign_in_for("/").expect(303);
    assert!(!response.text().contains("consent"));
    let tokens = people.registry.read_as_admin("/admin/v1/tokens");
    assert_eq!(tokens["tokens"], json!([]));
}

#[test]
fn a_failed_sign_in_of_a_browser_explains_how_to_repeat_it() {
    let people = private();
    let (cookie, state) = people.begin_for("/search");
    let refused = [("error", "access_denied"), ("state", state.as_str())];
    stopped(people.come_back(&cookie, &refused), 403, "access_denied");
    claim(&people, "groups", json!(["guests"]));
    claim(&people, "email", json!("bob@acme.example"));
    stopped(people.sign_in_for("/"), 403, "grants your account access");
}

#[test]
fn scopes_that_fit_into_no_cookie_begin_no_session() {
    let host = "a.".repeat(100);
    let scopes: Vec<String> = (0..20)
        .map(|n| format!("read:{host}{n}.example.com/acme"))
        .collect();
    let rules = json!([{ "scopes": scopes, "claims": { "groups": "staff" } }]).to_string();
    let people = People::with(&[PRIVATE[0], ("TERRACE_LOGIN_RULES", &rules)]);
    stopped(people.sign_in_for("/"), 403, "fewer and wider");
    logged(&people, "no session for ann@acme.example");
}

#[test]
fn a_registry_without_private_packages_needs_no_sign_in() {
    let people = People::new();
    let response = people.registry.get("/sign-in?to=/search").expect(303);
    assert_eq!(response.header("location"), Some("/search"));
    assert_eq!(response.header("set-cookie"), None);
    let without_provider = Registry::in_memory(&Memory::new(), &[]);
    without_provider.get("/sign-in").expect(404);
    // The callback still serves terminals.
    people.open(&opened()).expect(303);
}

#[test]
fn a_browser_without_access_is_sent_to_sign_in_and_back() {
    let people = private();
    for (path, to) in [
        ("/", "%2F"),
        ("/search?q=a%20b", "%2Fsearch%3Fq%3Da%2520b"),
        (
            "/providers/acme/widget/1.0.0",
            "%2Fproviders%2Facme%2Fwidget%2F1.0.0",
        ),
        // It has no place to return to.
        ("/search?q=\"", "%2F"),
    ] {
        for method in ["GET", "HEAD"] {
            for cookie in ["", "__Host-terrace=terrace_browser_x.y"] {
                let response = with_cookie(&people.registry, method, path, cookie).expect(303);
                let location = response.header("location").unwrap();
                assert_eq!(location, format!("/sign-in?to={to}"), "{path}");
                assert_eq!(response.header("cache-control"), Some("no-store"));
                assert_eq!(response.header("vary"), Some("cookie"));
                assert_eq!(response.header("set-cookie"), None);
            }
        }
    }
    let back = people.sign_in_for("/search?q=a%20b");
    assert_eq!(back.header("location"), Some("/search?q=a%20b"));
}

#[test]
fn a_program_and_a_browser_that_cannot_sign_in_get_a_page_that_explains_how_to_get_access() {
    let people = private();
    let feed = people.registry.get("/feed.atom");
    let badge = people
        .registry
        .get("/badges/modules/acme/vpc/aws/version.svg");
    // The token would count before the session, so a sign-in would lead here again.
    let wrong = Sent::new("GET", "/").header("authorization", "Bearer wrong");
    let wrong = people.registry.send(&wrong);
    assert!(wrong.text().contains("not a token of this registry"));
    for response in [feed, badge, wrong] {
        assert_eq!(
            response.header("www-authenticate"),
            Some("Bearer realm=\"terrace\"")
        );
        assert_eq!(response.header("cache-control"), Some("no-store"));
        let text = response.expect(401).text();
        assert!(text.contains("Ask the operator"), "{text}");
        // It is a page of the registry, with its stylesheet.
        assert!(text.contains("Reading needs a token"), "{text}");
        assert!(text.contains("TF_TOKEN_"), "{text}");
        assert!(text.contains("rel=\"stylesheet\""), "{text}");
    }
}

#[test]
fn a_browser_signs_out_by_a_request_of_a_page_of_the_registry() {
    let all = Registry::in_memory(&Memory::new(), &[&PRIVATE, &LOGIN[..]].concat());
    let part = [("TERRACE_ACCESS_EXCEPT", "secret")];
    let part = Registry::in_memory(&Memory::new(), &[&part, &LOGIN[..]].concat());
    let cookie = session("read", 1_800_000_000);
    let sign_out = |registry: &Registry, site: Option<&str>| {
        let sent = Sent::new("POST", "/sign-out").header("cookie", &cookie);
        registry.send(&match site {
            Some(site) => sent.header("sec-fetch-site", site),
            None => sent,
        })
    };
    for (registry, leads_to) in [(&all, "/sign-out"), (&part, "/")] {
        let response = sign_out(registry, Some("same-origin")).expect(303);
        let ended = response.header("set-cookie").unwrap();
        assert!(
            ended.starts_with("__Host-terrace=; Max-Age=0; Path=/; Secure;"),
            "{ended}"
        );
        assert_eq!(response.header("location"), Some(leads_to));
        for site in [None, Some("cross-site"), Some("same-site"), Some("none")] {
            let response = sign_out(registry, site).expect(403);
            assert_eq!(response.header("set-cookie"), None, "{site:?}");
        }
    }
}

#[test]
fn the_page_after_a_sign_out_can_be_loaded_again() {
    let all = Registry::in_memory(&Memory::new(), &[&PRIVATE, &LOGIN[..]].concat());
    let part = [("TERRACE_ACCESS_EXCEPT", "secret")];
    let part = Registry::in_memory(&Memory::new(), &[&part, &LOGIN[..]].concat());
    let without_sign_in = Registry::in_memory(&Memory::new(), &[]);
    let text = page(all.get("/sign-out"), 200);
    assert!(text.contains("You are signed out"), "{text}");
    // A browser that is signed in is not told the opposite, and a GET ends no session.
    let sent = Sent::new("GET", "/sign-out").header("cookie", &session("read", 1_800_000_000));
    for response in [
        all.send(&sent),
        part.get("/sign-out"),
        without_sign_in.get("/sign-out"),
    ] {
        let response = response.expect(303);
        assert_eq!(response.header("location"), Some("/"));
        assert_eq!(response.header("set-cookie"), None);
    }
}

#[test]
fn the_state_at_the_provider_does_not_contain_the_secret_of_the_browser() {
    let people = private();
    let (cookie, state) = people.begin_for("/search");
    let secret = cookie.split_once('=').unwrap().1;
    assert!(!state.contains(secret));
}
