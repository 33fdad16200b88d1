//! Sign-in with an OpenID provider, from discovery to the token.

use serde_json::json;
use terrace_core::auth::login::SIGN_IN_SECONDS;
use terrace_core::http::form::encoded;

use super::{claim, logged, page, refused, stopped};
use crate::support::Registry;
use crate::support::people::{
    CLIENT, ISSUER, LOGIN, People, answer, exchanged, hidden, opened, parameter,
};
use crate::support::registry::{Sent, TOKEN};
use crate::support::tokens::revoke;

/// The first writer of an index, here of that of the stored rules, stores this document.
const FORMAT: &str = "format";

#[test]
fn a_person_who_signs_in_and_allows_it_gets_a_token_for_their_terminal_7_6_7_7() {
    let people = People::new();
    let (cookie, question) = people.sign_in();
    let question = question.expect(200);
    let text = page(question.clone(), 200);
    assert!(text.contains("<strong>ann@acme.example</strong>"), "{text}");
    assert!(text.contains("<code>read</code>"), "{text}");
    assert!(text.contains("<code>publish:acme</code>"), "{text}");
    assert!(text.contains("until 2027-04-15"), "{text}");
    assert!(text.contains("port 10003"), "{text}");
    let policy = question.header("content-security-policy").unwrap();
    let lets = "form-action 'self' http://localhost:10003;";
    assert!(policy.contains(lets), "{policy}");
    let allowed = people.consent(&cookie, &hidden(&question), "allow");
    let allowed = allowed.expect(303);
    let location = allowed.header("location").unwrap();
    assert!(location.starts_with("http://localhost:10003/login?code="));
    let code = parameter(location, "code").unwrap();

    let answer = people.exchange(&exchanged(&code)).expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let json = answer.json();
    let token = json["access_token"].as_str().unwrap();
    assert_eq!(json["token_type"], "bearer");
    assert_eq!(json["expires_in"], 90 * 86_400);
    let private = Registry::in_memory(&people.memory, &[("TERRACE_ACCESS", "private")]);
    private
        .get_as(token, "/v1/providers/a/b/versions")
        .expect(404);
    private.get("/v1/providers/a/b/versions").expect(401);

    let listed = people.registry.read_as_admin("/admin/v1/tokens");
    let listed = &listed["tokens"][0];
    assert_eq!(listed["name"], "ann@acme.example");
    assert_eq!(listed["created_by"], "login as 248289761001");
    assert_eq!(listed["scopes"], json!(["read", "publish:acme"]));
    revoke(&people.registry, listed["id"].as_str().unwrap()).expect(200);
    let elsewhere = [("TERRACE_ACCESS", "private")];
    let elsewhere = Registry::in_memory(&people.memory.elsewhere(), &elsewhere);
    elsewhere
        .get_as(token, "/v1/providers/a/b/versions")
        .expect(401);
    logged(&people, "for ann@acme.example (account 248289761001)");
    let log = people.memory.log().join("\n");
    assert!(!log.contains(token) && !log.contains(&code), "{log}");
}

#[test]
fn discovery_announces_sign_in_only_if_it_is_configured_and_reads_nothing_7_1() {
    let people = People::new();
    let path = "/.well-known/terraform.json";
    let json = people.registry.read(path);
    assert_eq!(
        json["login.v1"],
        json!({"client": "terraform-cli", "grant_types": ["authz_code"], "authz": "/oauth/authorize",
            "token": "/oauth/token", "ports": [10_000, 10_010]})
    );
    assert_eq!(people.memory.operations(), Vec::<String>::new());
    let (_, registry) = Registry::with_memory(&[]);
    assert_eq!(registry.get(path).json().get("login.v1"), None);
    for path in ["/oauth/authorize", "/oauth/callback"] {
        registry.get(path).refuses(404, "TERRACE_LOGIN_ISSUER");
    }
    for path in ["/oauth/consent", "/oauth/token"] {
        registry.send(&Sent::new("POST", path).body("")).expect(404);
    }
}

#[test]
fn a_sign_in_stores_nothing_before_its_token() {
    let people = People::new();
    let code = people.allow();
    assert_eq!(people.memory.keys(), [FORMAT]);
    people.exchange(&exchanged(&code)).expect(200);
    let kinds = people.memory.keys();
    let kinds: Vec<_> = kinds
        .iter()
        .map(|key| key.split('/').next().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["audit-head", "audit", "format", "tokens"],
        "the token, and its audit entry"
    );
    let audit = people.registry.read_as_admin("/admin/v1/audit");
    let entry = audit["entries"][0].as_str().unwrap();
    assert!(
        entry.contains("\"by\":\"login as 248289761001\""),
        "{entry}"
    );
    assert!(entry.contains("POST /oauth/token"), "{entry}");
}

#[test]
fn an_authorization_request_is_unique() {
    let people = People::new();
    let response = people.open(&opened()).expect(303);
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let location = response.header("location").unwrap();
    assert!(location.starts_with(&format!("{ISSUER}/auth?")));
    for (name, value) in [
        ("client_id", CLIENT),
        ("redirect_uri", "https://registry.test/oauth/callback"),
        ("scope", "openid email profile"),
    ] {
        assert_eq!(parameter(location, name).as_deref(), Some(value));
    }
    let again = people.open(&opened()).expect(303);
    for name in ["state", "nonce", "code_challenge"] {
        let other = parameter(again.header("location").unwrap(), name);
        assert_ne!(parameter(location, name), other, "{name}");
    }
}

#[test]
fn a_rotation_of_the_admin_token_does_not_interrupt_a_sign_in() {
    let mut people = People::new();
    let (cookie, state) = people.begin();
    let rotated = [
        ("TERRACE_ADMIN_TOKEN", "another-admin-token"),
        ("TERRACE_ADMIN_TOKEN_PREVIOUS", TOKEN),
    ];
    let vars = [&rotated[..], &LOGIN].concat();
    people.registry = Registry::in_memory(&people.memory, &vars);
    let response = people.come_back(&cookie, &[("code", "c"), ("state", &state)]);
    page(response, 200);
}

#[test]
fn a_refusal_by_the_provider_is_shown_on_a_page_7_5() {
    let people = People::new();
    let (cookie, state) = people.begin();
    let error = "access_denied<b>";
    let parts = [
        ("error", error),
        ("error_description", "she\nsaid no"),
        ("state", &state),
    ];
    let text = stopped(
        people.come_back(&cookie, &parts),
        403,
        "access_denied&lt;b&gt;",
    );
    assert!(text.contains("Ctrl"), "{text}");
    assert!(!text.contains("said no"), "{text}");
    logged(&people, "\"shesaid no\"");
    stopped(people.come_back("", &parts), 400, "in this browser");
    // One click on the link, and the terminal stops waiting.
    let link = "<a href=\"http://localhost:10003/login?code=refused&amp;error=access_denied&amp;state=74d3bbc5-7fc6\">";
    assert!(text.contains(link), "{text}");
    let told = refused(people.exchange(&exchanged("refused")), "invalid_grant");
    assert!(told.contains("sign-in was refused"), "{told}");
}

#[test]
fn the_discovery_of_a_provider_is_cached_for_an_hour() {
    let people = People::new();
    let asked = || {
        let operations = people.memory.operations();
        let is_discovery = |it: &&String| it.contains("/.well-known/openid-configuration");
        operations.iter().filter(is_discovery).count()
    };
    for (seconds, count) in [(0, 1), (3_599, 1), (1, 2)] {
        people.memory.advance(seconds);
        people.begin();
        assert_eq!(asked(), count, "{seconds}");
    }
}

#[test]
fn a_provider_that_does_not_answer_is_503() {
    let people = People::new();
    people.memory.disconnect();
    let response = people.open(&opened());
    assert_eq!(response.header("retry-after"), Some("10"));
    stopped(response, 503, "does not respond");
    let people = People::new();
    let (cookie, state) = people.begin();
    let back = || people.come_back(&cookie, &[("code", "c"), ("state", &state)]);
    let broken = answer(502, &json!({}));
    *people.provider.answer.borrow_mut() = Some(broken);
    stopped(back(), 503, "does not respond");
    people.memory.disconnect();
    stopped(back(), 503, "does not respond");
    logged(&people, "origin: https://login.example.com/token");
}

#[test]
fn a_person_without_a_rule_sees_their_identity_and_the_reason_is_logged() {
    let people = People::new();
    claim(&people, "groups", json!(["guests"]));
    claim(&people, "email", json!("bob@acme.example"));
    let text = stopped(people.sign_in().1, 403, "<strong>bob@acme.example</strong>");
    assert!(text.contains("Ask its operator"), "{text}");
    assert!(!text.contains("staff"), "{text}");
    logged(&people, "no rule matches it");
}

#[test]
fn a_consent_that_another_website_submits_is_refused() {
    let people = People::new();
    let (cookie, question) = people.sign_in();
    let body = encoded(&[("consent", &hidden(&question)), ("answer", "allow")]);
    let submitted = |site: &str| {
        let sent = Sent::new("POST", "/oauth/consent").header("cookie", &cookie);
        let sent = sent.header("sec-fetch-site", site).body(body.clone());
        people.registry.send(&sent)
    };
    for site in ["cross-site", "same-site", "none", "?"] {
        stopped(submitted(site), 400, "was not started in this browser");
    }
    logged(&people, "not sent by a page of this registry");
    submitted("same-origin").expect(303);
}

#[test]
fn a_consent_is_valid_in_its_browser_for_ten_minutes() {
    let people = People::new();
    let (cookie, question) = people.sign_in();
    let consent = hidden(&question);
    let (other_cookie, other_question) = people.sign_in();
    let (_, state) = people.begin();
    for (cookie, consent) in [
        ("", consent.as_str()),
        (&other_cookie, &consent),
        (&cookie, &hidden(&other_question)),
        (&cookie, ""),
        (&cookie, &state),
    ] {
        let response = people.consent(cookie, consent, "allow");
        stopped(response, 400, "in this browser");
    }
    let unclear = people.consent(&cookie, &consent, "yes");
    stopped(unclear, 400, "<code>answer</code>");
    let long = "x".repeat(30_000);
    stopped(
        people.consent(&cookie, &long, "allow"),
        400,
        "must be sent in a form of at most",
    );
    let by_get = people.registry.get("/oauth/consent?answer=allow");
    by_get.expect(405);
    stopped(
        people.consent(&cookie, &consent, "refuse"),
        200,
        "You refused the request",
    );
    people.memory.advance(u64::from(SIGN_IN_SECONDS) + 1);
    let late = people.consent(&cookie, &consent, "allow");
    stopped(late, 400, "ten minutes");
    assert_eq!(people.memory.keys(), [FORMAT]);
}

#[test]
fn a_configuration_that_does_not_fit_the_provider_is_no_outage() {
    for (name, value, reason) in [
        (
            "issuer",
            "https://other.example",
            "configure the issuer exactly",
        ),
        (
            "token_endpoint",
            "http://login.example.com/token",
            "must start with https://",
        ),
        ("authorization_endpoint", "/auth", "authorization_endpoint"),
    ] {
        let people = People::new();
        people.provider.discovery.borrow_mut()[name] = value.into();
        // The second is answered from the memory of the failure.
        for _ in 0..2 {
            stopped(people.open(&opened()), 502, "not configured correctly");
        }
        logged(&people, reason);
    }
    let people = People::new();
    people.provider.discovery.borrow_mut()["token_endpoint"] = "https://10.0.0.7/token".into();
    stopped(people.sign_in().1, 502, "not configured correctly");
    logged(&people, "name it in TERRACE_ISSUER_HOSTS");
    let facts = people.registry.admin("GET", "/admin/v1/doctor", None);
    let facts = facts.expect(200).text();
    assert!(facts.contains("name it in TERRACE_ISSUER_HOSTS"), "{facts}");
}

#[test]
fn a_provider_that_rejects_the_client_is_asked_by_the_other_method_of_authentication() {
    let people = People::new();
    let rejected = json!({ "error": "invalid_client", "error_description": "x".repeat(300) });
    *people.provider.answer.borrow_mut() = Some(answer(401, &rejected));
    let (cookie, state) = people.begin();
    let back = || people.come_back(&cookie, &[("code", "c"), ("state", &state)]);
    stopped(back(), 502, "returned an invalid response");
    let forms = people.provider.forms.take();
    let posted: Vec<bool> = forms
        .iter()
        .map(|it| it.contains("client_secret="))
        .collect();
    assert_eq!(posted, [false, true]);
    logged(&people, &"x".repeat(300));
    // Another error is final: the code may be consumed.
    let refused = json!({ "error": "invalid_grant" });
    *people.provider.answer.borrow_mut() = Some(answer(400, &refused));
    stopped(people.sign_in().1, 502, "returned an invalid response");
    assert_eq!(people.provider.forms.borrow().len(), 1);
}

#[test]
fn the_endpoints_of_a_configured_issuer_may_be_at_a_private_host_that_a_setting_names() {
    let people = People::with(&[("TERRACE_ISSUER_HOSTS", "10.0.0.7:8443, keycloak.internal")]);
    people.provider.discovery.borrow_mut()["jwks_uri"] = "https://10.0.0.7:8443/jwks".into();
    let keys = answer(200, &people.provider.keys());
    let url = "https://10.0.0.7:8443/jwks".to_owned();
    people.provider.documents.borrow_mut().insert(url, keys);
    people.sign_in().1.expect(200);
}
