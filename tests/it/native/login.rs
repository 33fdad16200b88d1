//! People who sign in, and everything that can be wrong with it.

use serde_json::{Value, json};
use terrace_core::limits::{LOGIN_CODE_SECONDS, SIGN_IN_SECONDS};

use crate::support::Registry;
use crate::support::faults::{Failure, Operations, When};
use crate::support::memory::Memory;
use crate::support::people::{
    CLIENT, ISSUER, LOGIN, People, answer, encoded, exchanged, hidden, opened, opened_with,
    parameter,
};
use crate::support::registry::{Response, Sent};
use crate::support::tokens::revoke;

/// A page: its text, after what every page has was looked for.
#[track_caller]
fn page(response: Response, status: u16) -> String {
    let response = response.expect(status);
    for (name, value) in [
        ("cache-control", "no-store"),
        ("content-type", "text/html; charset=utf-8"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ] {
        assert_eq!(response.header(name), Some(value), "{name}");
    }
    let policy = response.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(response.header("location").is_none());
    let text = response.text();
    assert!(!text.contains("<script"), "{text}");
    text
}

#[track_caller]
fn stopped(response: Response, status: u16, words: &str) -> String {
    let text = page(response, status);
    assert!(text.contains(words), "{text}");
    assert!(text.contains("in the terminal"), "{text}");
    assert!(text.contains("terraform login registry.test"), "{text}");
    assert!(!text.contains("<form"), "{text}");
    text
}

/// Why a terminal gets no token.
#[track_caller]
fn refused(response: Response, error: &str) -> String {
    let response = response.expect(400);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let json = response.json();
    assert_eq!(json["error"], error, "{json}");
    json["error_description"].as_str().unwrap().to_owned()
}

fn claim(people: &People, name: &str, value: Value) {
    let mut claims = people.provider.claims.borrow_mut();
    match value {
        Value::Null => claims.remove(name),
        value => claims.insert(name.to_owned(), value),
    };
}

#[track_caller]
fn logged(people: &People, what: &str) {
    let log = people.memory.log().join("\n");
    assert!(log.contains(what), "{log}");
}

#[test]
fn whoever_signs_in_and_allows_it_gets_a_token_for_their_terminal_7_6_7_7() {
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

    let listed = people
        .registry
        .admin("GET", "/admin/v1/tokens", None)
        .json();
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
fn discovery_tells_how_to_sign_in_only_where_one_can_and_reads_nothing_7_1() {
    let people = People::new();
    let path = "/.well-known/terraform.json";
    let json = people.registry.get(path).expect(200).json();
    assert_eq!(
        json["login.v1"],
        json!({"client": "terraform-cli", "grant_types": ["authz_code"], "authz": "/oauth/authorize",
            "token": "/oauth/token", "ports": [10_000, 10_010]})
    );
    assert_eq!(people.memory.operations(), Vec::<String>::new());
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    assert_eq!(registry.get(path).json().get("login.v1"), None);
    for path in ["/oauth/authorize", "/oauth/callback"] {
        let told = registry.get(path).expect(404).errors();
        assert!(told.contains("TERRACE_LOGIN_ISSUER"), "{told}");
    }
    for path in ["/oauth/consent", "/oauth/token"] {
        registry.send(&Sent::new("POST", path).body("")).expect(404);
    }
}

#[test]
fn nothing_is_stored_before_there_is_a_token() {
    let people = People::new();
    let code = people.allow();
    assert_eq!(people.memory.keys(), Vec::<String>::new());
    people.exchange(&exchanged(&code)).expect(200);
    let kinds = people.memory.keys();
    let kinds: Vec<_> = kinds
        .iter()
        .map(|key| key.split('/').next().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["audit-head", "audit", "tokens"],
        "the token, and that it was made"
    );
    let audit = people.registry.admin("GET", "/admin/v1/audit", None).json();
    let entry = audit["entries"][0].as_str().unwrap();
    assert!(
        entry.contains("\"by\":\"login as 248289761001\""),
        "{entry}"
    );
    assert!(entry.contains("POST /oauth/token"), "{entry}");
}

#[test]
fn the_provider_is_asked_for_one_person_by_a_browser_that_it_can_be_known_by() {
    let people = People::new();
    let response = people.open(&opened()).expect(303);
    let cookie = response.header("set-cookie").unwrap();
    for part in [
        "__Host-",
        "; Path=/;",
        "Secure",
        "HttpOnly",
        "SameSite=Lax",
        "Max-Age=1200",
    ] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let location = response.header("location").unwrap();
    assert!(
        location.starts_with(&format!("{ISSUER}/auth?")),
        "{location}"
    );
    for (name, value) in [
        ("client_id", CLIENT),
        ("response_type", "code"),
        ("redirect_uri", "https://registry.test/oauth/callback"),
        ("scope", "openid email profile"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(parameter(location, name).as_deref(), Some(value));
    }
    let again = people.open(&opened()).expect(303);
    for name in ["state", "nonce", "code_challenge"] {
        let other = parameter(again.header("location").unwrap(), name);
        assert_ne!(parameter(location, name), other, "{name}");
    }
    let told = people.memory.operations();
    let asked = told.iter().filter(|it| it.contains("openid-configuration"));
    assert_eq!(asked.count(), 1, "it is remembered: {told:?}");
}

#[test]
fn whatever_a_terminal_would_not_open_is_a_page_and_never_a_redirect_7_5() {
    let people = People::new();
    let uri = "http://localhost:10003/login";
    let mut wrong = vec![
        ("client_id", "terraform", "must be terraform-cli"),
        ("response_type", "token", "must be code"),
        ("code_challenge", "short", "43 characters"),
        ("code_challenge", "", "is missing"),
        ("code_challenge_method", "plain", "must be S256"),
        ("code_challenge_method", "", "must be S256"),
        ("state", "", "is missing"),
        ("state", "a\r\nset-cookie: x=y", "printable"),
    ];
    let uris = [
        uri.replace("localhost", "127.0.0.1"),
        uri.replace("http:", "https:"),
        uri.replace("/login", "/other"),
        uri.replace("10003", "9999"),
        uri.replace("10003", "10011"),
        uri.replace("localhost", "me@localhost"),
        uri.replace("localhost", "localhost.evil.example"),
        uri.replace("10003", "10003@evil.example"),
        format!("{uri}/"),
        format!("{uri}?x=y"),
        encoded(&[("", uri)]).replace('=', ""),
        "https://evil.example/login".to_owned(),
        String::new(),
    ];
    wrong.extend(uris.iter().map(|uri| ("redirect_uri", uri.as_str(), "")));
    for (name, value, rule) in wrong {
        let response = people.open(&opened_with(name, value));
        assert!(response.header("set-cookie").is_none(), "{name}={value}");
        let text = stopped(response, 400, &format!("<code>{name}</code>"));
        assert!(text.contains(rule), "{text}");
    }
    let twice = format!("/oauth/authorize?{}&state=x", encoded(&opened()));
    stopped(people.registry.get(&twice), 400, "more than once");
    assert_eq!(people.memory.operations(), Vec::<String>::new());
}

#[test]
fn a_state_is_good_in_its_browser_for_ten_minutes() {
    let people = People::new();
    let (cookie, state) = people.begin();
    let back =
        |cookie: &str, state: &str| people.come_back(cookie, &[("code", "c"), ("state", state)]);
    let (other_cookie, other_state) = people.begin();
    for (cookie, state) in [
        ("", state.as_str()),
        ("a=b", &state),
        ("__Host-terrace-sign-in=", &state),
        (&other_cookie, &state),
        (&cookie, &other_state),
        (&cookie, ""),
        (&cookie, "x"),
        (&cookie, &state.replace('a', "b")),
        (&cookie, &format!("x{state}")),
    ] {
        stopped(back(cookie, state), 400, "in this browser");
    }
    let elsewhere = [("TERRACE_ADMIN_TOKEN", "another-admin-token")];
    let elsewhere = People::with(&elsewhere);
    let (foreign_cookie, foreign) = elsewhere.begin();
    stopped(back(&foreign_cookie, &foreign), 400, "in this browser");
    assert_eq!(people.provider.forms.borrow().len(), 0, "nobody was asked");

    people.memory.advance(u64::from(SIGN_IN_SECONDS) + 1);
    stopped(back(&cookie, &state), 400, "ten minutes");
    logged(&people, "login: state: it was good until");
}

#[test]
fn an_admin_token_that_is_rotated_meanwhile_breaks_nothing_off() {
    let people = People::new();
    let (cookie, state) = people.begin();
    let rotated = [
        &[
            ("TERRACE_ADMIN_TOKEN", "another-admin-token"),
            (
                "TERRACE_ADMIN_TOKEN_PREVIOUS",
                crate::support::registry::TOKEN,
            ),
        ][..],
        &LOGIN,
    ]
    .concat();
    let asked = people.provider.asked.take();
    let after = People {
        registry: Registry::in_memory(&people.memory, &rotated),
        ..people
    };
    *after.provider.asked.borrow_mut() = asked;
    let response = after.come_back(&cookie, &[("code", "c"), ("state", &state)]);
    page(response, 200);
}

#[test]
fn a_provider_that_refuses_ends_with_a_page_7_5() {
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
    // One click, and the terminal stops waiting.
    let link = "<a href=\"http://localhost:10003/login?code=refused&amp;state=74d3bbc5-7fc6\">";
    assert!(text.contains(link), "{text}");
    let told = refused(people.exchange(&exchanged("refused")), "invalid_grant");
    assert!(told.contains("sign-in was refused"), "{told}");
}

#[test]
fn whoever_comes_back_with_nothing_too_often_is_not_asked_about_any_more() {
    let people = People::with(&[("TERRACE_FAILURES_A_MINUTE", "3")]);
    let (cookie, state) = people.begin();
    *people.provider.answer.borrow_mut() = Some(answer(400, &json!({ "error": "invalid_grant" })));
    let back = |address: &str| {
        let query = encoded(&[("code", "a guess"), ("state", &state)]);
        let sent = Sent::new("GET", &format!("/oauth/callback?{query}"));
        let sent = sent.header("cookie", &cookie);
        people
            .registry
            .send(&sent.header("cf-connecting-ip", address))
    };
    for _ in 0..3 {
        assert_ne!(back("192.0.2.1").status, 429);
    }
    people.memory.forget_operations();
    stopped(back("192.0.2.1"), 429, "Wait a minute");
    assert_eq!(people.memory.operations(), Vec::<String>::new());
    assert_ne!(back("192.0.2.2").status, 429);
}

#[test]
fn a_wrong_token_of_somebody_keeps_nobody_from_signing_in() {
    let people = People::new();
    for _ in 0..30 {
        let sent = Sent::new("GET", "/admin/v1/tokens").bearing("wrong");
        let sent = sent.header("cf-connecting-ip", "192.0.2.1");
        people.registry.send(&sent);
    }
    let (cookie, state) = people.begin();
    let target = format!(
        "/oauth/callback?{}",
        encoded(&[("code", "c"), ("state", &state)])
    );
    let sent = Sent::new("GET", &target).header("cookie", &cookie);
    let sent = sent.header("cf-connecting-ip", "192.0.2.1");
    people.registry.send(&sent).expect(200);
}

#[test]
fn what_a_provider_says_about_itself_is_gone_by_for_an_hour() {
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
    // One that fails is left alone for a while.
    people.memory.advance(3_600);
    people.memory.disconnect();
    for (seconds, count) in [(0, 3), (4, 3), (1, 4)] {
        people.memory.advance(seconds);
        people.open(&opened()).expect(503);
        assert_eq!(asked(), count, "{seconds}");
    }
}

#[test]
fn a_long_code_of_a_provider_is_not_passed_on() {
    let people = People::new();
    let (cookie, state) = people.begin();
    let long = "c".repeat(terrace_core::limits::PROVIDER_CODE_BYTES + 1);
    let back = people.come_back(&cookie, &[("code", &long), ("state", &state)]);
    stopped(back, 502, "cannot be believed");
    assert!(people.provider.forms.borrow().is_empty());
}

#[test]
fn a_provider_that_does_not_answer_is_told_apart() {
    let people = People::new();
    people.memory.disconnect();
    let response = people.open(&opened());
    assert_eq!(response.header("retry-after"), Some("10"));
    stopped(response, 503, "does not answer");
    let people = People::new();
    let (cookie, state) = people.begin();
    let back = || people.come_back(&cookie, &[("code", "c"), ("state", &state)]);
    let broken = answer(502, &json!({}));
    *people.provider.answer.borrow_mut() = Some(broken);
    stopped(back(), 503, "does not answer");
    people.memory.disconnect();
    stopped(back(), 503, "does not answer");
    logged(&people, "origin: https://login.example.com/token");
}

#[test]
fn what_a_provider_answers_must_be_its_token_for_this_sign_in() {
    let people = People::new();
    let now = 1_800_000_000_u64;
    for (name, value, reason) in [
        ("nonce", json!("another"), "nonce"),
        ("aud", json!("another"), "audience"),
        ("iss", json!("https://evil.example"), "issuer"),
        ("exp", json!(now - 100), "expired"),
        ("iat", json!(now + 100), "issued at"),
        ("azp", json!("another"), "issued to"),
        ("sub", json!(""), "sub"),
    ] {
        let before = people.provider.claims.borrow().clone();
        claim(&people, name, value);
        stopped(people.sign_in().1, 502, "cannot be believed");
        logged(&people, reason);
        people.provider.claims.replace(before);
    }
    for (body, reason) in [
        (
            answer(400, &json!({"error": "invalid_grant"})),
            "invalid_grant",
        ),
        (
            answer(401, &json!({"error": "invalid_client"})),
            "invalid_client",
        ),
        (answer(200, &json!({"access_token": "x"})), "no id_token"),
        (answer(200, &json!({"id_token": "a.b"})), "id_token"),
        (answer(302, &json!({})), "302"),
    ] {
        *people.provider.answer.borrow_mut() = Some(body);
        stopped(people.sign_in().1, 502, "cannot be believed");
        logged(&people, reason);
    }
}

#[test]
fn a_token_is_good_for_the_sign_in_that_it_answers_and_no_other() {
    let people = People::new();
    people.sign_in().1.expect(200);
    // The provider is made to answer the next one with the token of this one.
    let mut claims = people.provider.claims.borrow().clone();
    let asked = people.provider.asked.borrow().clone();
    let nonce = asked.into_iter().find(|(name, _)| name == "nonce").unwrap();
    claims.insert("nonce".to_owned(), nonce.1.into());
    let token = people.provider.sign(&claims);
    *people.provider.answer.borrow_mut() = Some(answer(200, &json!({ "id_token": token })));
    stopped(people.sign_in().1, 502, "cannot be believed");
    logged(&people, "its nonce is not that of this sign-in");
}

#[test]
fn a_key_that_the_provider_has_just_changed_is_found() {
    let people = People::new();
    people.sign_in().1.expect(200);
    people.memory.advance(61);
    let key = ed25519_dalek::SigningKey::from_bytes(&[8; 32]);
    people.provider.key.replace(("k2".to_owned(), key));
    people.sign_in().1.expect(200);
    // And one that it has not is not looked for each time.
    let asked = || {
        let told = people.memory.operations();
        told.iter().filter(|it| it.contains("/jwks")).count()
    };
    assert_eq!(asked(), 2);
}

#[test]
fn whom_no_rule_is_for_is_told_who_they_are_and_the_reason_is_in_the_log() {
    let people = People::new();
    claim(&people, "groups", json!(["guests"]));
    claim(&people, "email", json!("bob@acme.example"));
    let text = stopped(people.sign_in().1, 403, "<strong>bob@acme.example</strong>");
    assert!(text.contains("Ask whoever operates it"), "{text}");
    assert!(!text.contains("staff"), "{text}");
    logged(&people, "no rule is for it");
}

#[test]
fn an_address_that_is_not_verified_opens_nothing_and_names_nobody() {
    let people = People::new();
    claim(&people, "groups", Value::Null);
    for verified in [json!(false), Value::Null] {
        claim(&people, "email_verified", verified);
        let text = stopped(people.sign_in().1, 403, "ann@acme.example (248289761001)");
        assert!(
            !text.contains("<strong>ann@acme.example</strong>"),
            "{text}"
        );
    }
}

#[test]
fn names_are_shown_and_not_obeyed() {
    let people = People::new();
    claim(&people, "email_verified", json!(false));
    let name = "<img src=x onerror=alert(1)>\"'\u{202e}\r\n&";
    claim(&people, "preferred_username", json!(name));
    let (cookie, question) = people.sign_in();
    let text = page(question.clone(), 200);
    assert!(
        text.contains("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;\u{fffd}"),
        "{text}"
    );
    assert!(!text.contains("<img"), "{text}");
    let allowed = people.consent(&cookie, &hidden(&question), "allow");
    let code = parameter(allowed.header("location").unwrap(), "code").unwrap();
    people.exchange(&exchanged(&code)).expect(200);
}

#[test]
fn a_question_is_answered_in_its_browser_within_ten_minutes() {
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
        (&cookie, &consent.replace('a', "b")),
        (&cookie, &state),
    ] {
        let response = people.consent(cookie, consent, "allow");
        stopped(response, 400, "in this browser");
    }
    for answer in ["", "yes", "Allow"] {
        let response = people.consent(&cookie, &consent, answer);
        stopped(response, 400, "<code>answer</code>");
    }
    let long = "x".repeat(30_000);
    stopped(people.consent(&cookie, &long, "allow"), 400, "is too long");
    let by_get = people.registry.get("/oauth/consent?answer=allow");
    by_get.expect(405);
    stopped(
        people.consent(&cookie, &consent, "refuse"),
        200,
        "You have refused",
    );
    people.memory.advance(u64::from(SIGN_IN_SECONDS) + 1);
    let late = people.consent(&cookie, &consent, "allow");
    stopped(late, 400, "ten minutes");
    assert_eq!(people.memory.keys(), Vec::<String>::new());
}

#[test]
fn a_code_is_for_its_terminal_alone_7_6() {
    let people = People::new();
    let code = people.allow();
    let other_verifier = "e".repeat(43);
    let (_, question) = people.sign_in();
    let (consent, (_, state)) = (hidden(&question), people.begin());
    let tampered = code.replace('a', "b");
    for (name, value, error, words) in [
        (
            "client_id",
            "other",
            "invalid_client",
            "must be terraform-cli",
        ),
        ("client_id", "", "invalid_client", "must be terraform-cli"),
        (
            "grant_type",
            "password",
            "unsupported_grant_type",
            "grant_type",
        ),
        (
            "grant_type",
            "refresh_token",
            "unsupported_grant_type",
            "grant_type",
        ),
        ("code", "", "invalid_request", "code is missing"),
        ("code", "x", "invalid_grant", "no code of this registry"),
        (
            "code",
            &tampered,
            "invalid_grant",
            "no code of this registry",
        ),
        (
            "code",
            &consent,
            "invalid_grant",
            "no code of this registry",
        ),
        ("code", &state, "invalid_grant", "no code of this registry"),
        ("code_verifier", "", "invalid_request", "is missing"),
        ("code_verifier", "short", "invalid_request", "43 to 128"),
        (
            "code_verifier",
            &other_verifier,
            "invalid_grant",
            "code_verifier is not that",
        ),
        (
            "redirect_uri",
            "http://localhost:10004/login",
            "invalid_grant",
            "redirect_uri is not the one",
        ),
        (
            "redirect_uri",
            "http://127.0.0.1:10003/login",
            "invalid_request",
            "redirect_uri must be",
        ),
    ] {
        let mut parts = exchanged(&code);
        for part in &mut parts {
            if part.0 == name {
                part.1 = value;
            }
        }
        let told = refused(people.exchange(&parts), error);
        assert!(told.contains(words), "{told}");
    }
    let elsewhere = People::with(&[("TERRACE_ADMIN_TOKEN", "another-admin-token")]);
    let foreign = elsewhere.allow();
    refused(people.exchange(&exchanged(&foreign)), "invalid_grant");
    let long = "x".repeat(30_000);
    people.exchange(&exchanged(&long)).expect(413);
    assert_eq!(people.memory.keys(), Vec::<String>::new());
    // None of this has used it up.
    people.exchange(&exchanged(&code)).expect(200);
}

#[test]
fn a_code_is_good_for_a_minute() {
    let people = People::new();
    let (code, late) = (people.allow(), people.allow());
    people.memory.advance(u64::from(LOGIN_CODE_SECONDS));
    people.exchange(&exchanged(&code)).expect(200);
    people.memory.advance(1);
    let told = refused(people.exchange(&exchanged(&late)), "invalid_grant");
    assert!(told.contains("expired after 60 seconds"), "{told}");
}

#[test]
fn a_code_that_is_used_twice_takes_back_what_it_gave() {
    let people = People::new();
    let code = people.allow();
    let json = people.exchange(&exchanged(&code)).expect(200).json();
    let token = json["access_token"].as_str().unwrap();
    let private = [("TERRACE_ACCESS", "private")];
    let elsewhere = || Registry::in_memory(&people.memory.elsewhere(), &private);
    elsewhere()
        .get_as(token, "/v1/providers/a/b/versions")
        .expect(404);
    // With a wrong verifier it is not a use.
    let mut wrong = exchanged(&code);
    let other = "e".repeat(43);
    wrong[2].1 = &other;
    refused(people.exchange(&wrong), "invalid_grant");
    elsewhere()
        .get_as(token, "/v1/providers/a/b/versions")
        .expect(404);
    let told = refused(people.exchange(&exchanged(&code)), "invalid_grant");
    assert!(told.contains("used before"), "{told}");
    elsewhere()
        .get_as(token, "/v1/providers/a/b/versions")
        .expect(401);
    refused(people.exchange(&exchanged(&code)), "invalid_grant");
    let log = people.registry.admin("GET", "/admin/v1/audit", None).json();
    let entries = log["entries"].as_array().unwrap();
    let entries: Vec<Value> = entries
        .iter()
        .map(|text| serde_json::from_str(text.as_str().unwrap()).unwrap())
        .collect();
    let told: Vec<_> = entries
        .iter()
        .map(|entry| entry["status"].clone())
        .collect();
    assert_eq!(told, [200, 400, 400]);
    assert_eq!(entries[1]["by"], "login as 248289761001");
    logged(&people, "is revoked: its code was used twice; from ");
}

#[test]
fn whoever_wants_to_read_only_gets_a_token_that_does() {
    let people = People::new();
    let (cookie, question) = people.sign_in();
    let question = question.expect(200);
    let text = page(question.clone(), 200);
    assert!(
        text.contains("value=\"read\">Allow reading only<"),
        "{text}"
    );
    let allowed = people.consent(&cookie, &hidden(&question), "read");
    let location = allowed.expect(303).header("location").unwrap().to_owned();
    let code = parameter(&location, "code").unwrap();
    people.exchange(&exchanged(&code)).expect(200);
    let tokens = people
        .registry
        .admin("GET", "/admin/v1/tokens", None)
        .json();
    let scopes = &tokens["tokens"][0]["scopes"];
    assert_eq!(*scopes, json!(["read"]));
}

#[test]
fn one_question_gives_one_token_however_often_it_is_answered() {
    let people = People::new();
    let (cookie, question) = people.sign_in();
    let codes = [(); 2].map(|()| {
        let allowed = people
            .consent(&cookie, &hidden(&question), "allow")
            .expect(303);
        parameter(allowed.header("location").unwrap(), "code").unwrap()
    });
    people.exchange(&exchanged(&codes[0])).expect(200);
    refused(people.exchange(&exchanged(&codes[1])), "invalid_grant");
}

#[test]
fn storage_that_fails_gives_no_token_and_says_so() {
    for when in [When::Before, When::After] {
        let people = People::new();
        let code = people.allow();
        people
            .memory
            .fail(Operations::Writes, 0, when, Failure::Error);
        let response = people.exchange(&exchanged(&code)).expect(503);
        assert_eq!(response.json()["error"], "temporarily_unavailable");
        // What cannot be known to be unused is not given out.
        let again = people.exchange(&exchanged(&code));
        match when {
            When::Before => drop(again.expect(200)),
            When::After => drop(refused(again, "invalid_grant")),
        }
    }
}

#[test]
fn a_public_client_proves_itself_by_pkce_and_one_with_a_secret_as_the_provider_knows() {
    let people = People::new();
    people.sign_in().1.expect(200);
    let form = people.provider.forms.borrow().join("\n");
    assert!(
        !form.contains("client_secret") && !form.contains("client_id"),
        "{form}"
    );

    let people = People::new();
    people.provider.discovery.borrow_mut()["token_endpoint_auth_methods_supported"] =
        json!(["client_secret_post"]);
    people.provider.discovery.borrow_mut()["code_challenge_methods_supported"] = Value::Null;
    people
        .provider
        .discovery
        .borrow_mut()
        .as_object_mut()
        .unwrap()
        .remove("code_challenge_methods_supported");
    people.sign_in().1.expect(200);
    let form = people.provider.forms.borrow().join("\n");
    assert!(
        form.contains("client_secret=the%20client%27s%20secret"),
        "{form}"
    );
    assert!(!form.contains("code_verifier"), "{form}");

    let people = People::with(&[("TERRACE_LOGIN_CLIENT_SECRET", "")]);
    people
        .provider
        .discovery
        .borrow_mut()
        .as_object_mut()
        .unwrap()
        .remove("code_challenge_methods_supported");
    people.sign_in().1.expect(200);
    let form = people.provider.forms.borrow().join("\n");
    assert!(
        form.contains("client_id=terrace") && form.contains("code_verifier="),
        "{form}"
    );
}

/// The answers of GitHub, by what follows its hosts.
fn github(url: &str) -> Option<Response> {
    let json = match url.split('#').next().unwrap() {
        "https://github.com/login/oauth/access_token" => {
            assert!(
                url.contains("client_secret=") && url.contains("code_verifier="),
                "{url}"
            );
            json!({ "access_token": "gho_x", "scope": "read:org", "token_type": "bearer" })
        }
        "https://api.github.com/user" => json!({ "login": "ann", "id": 1001 }),
        "https://api.github.com/user/orgs?per_page=100&page=1" => {
            json!([{ "login": "acme", "id": 1 }])
        }
        "https://api.github.com/user/teams?per_page=100&page=1" => {
            json!([{ "slug": "platform", "id": 7, "organization": { "login": "acme", "id": 1 } }])
        }
        _ => return None,
    };
    Some(answer(200, &json))
}

#[test]
fn people_of_github_sign_in_by_their_organisations_and_teams() {
    let rules = r#"[{"scopes": ["publish:acme"], "claims": {"teams": "acme/platform"}}]"#;
    let people = People::with(&[
        ("TERRACE_LOGIN_ISSUER", "https://github.com"),
        ("TERRACE_LOGIN_RULES", rules),
    ]);
    people.memory.connect(github);
    let response = people.open(&opened()).expect(303);
    let location = response.header("location").unwrap();
    assert!(
        location.starts_with("https://github.com/login/oauth/authorize?"),
        "{location}"
    );
    assert_eq!(parameter(location, "scope").as_deref(), Some("read:org"));
    assert_eq!(parameter(location, "nonce"), None);
    let code = people.allow();
    people.exchange(&exchanged(&code)).expect(200);
    let listed = people
        .registry
        .admin("GET", "/admin/v1/tokens", None)
        .json();
    assert_eq!(listed["tokens"][0]["name"], "ann (1001)");
    assert_eq!(listed["tokens"][0]["scopes"], json!(["publish:acme"]));

    // Whoever is in many organisations has the last ones on another page.
    let many: Vec<Value> = (0..100)
        .map(|n| json!({ "login": format!("o{n}"), "id": n }))
        .collect();
    people
        .memory
        .connect(move |url| match url.split('#').next() {
            Some("https://api.github.com/user/orgs?per_page=100&page=1") => {
                Some(answer(200, &Value::from(many.clone())))
            }
            Some("https://api.github.com/user/orgs?per_page=100&page=2") => {
                Some(answer(200, &json!([{ "login": "acme", "id": 1 }])))
            }
            _ => github(url),
        });
    people.sign_in().1.expect(200);
    let asked = people.memory.operations().join("\n");
    assert!(asked.contains("/user/orgs?per_page=100&page=2"), "{asked}");

    // It answers 200 to a wrong code.
    people
        .memory
        .connect(|_| Some(answer(200, &json!({ "error": "bad_verification_code" }))));
    stopped(people.sign_in().1, 502, "cannot be believed");
    logged(&people, "bad_verification_code");
    people.memory.connect(|url| match url.contains("/orgs") {
        true => Some(answer(403, &json!({ "message": "rate limit" }))),
        false => github(url),
    });
    stopped(people.sign_in().1, 502, "cannot be believed");
}

const TEAM: &str = "https://acme.cloudflareaccess.com";
const AUDIENCE: &str = "4714c1358e65fe4b408ad6d432a5f878";

#[test]
fn people_whom_cloudflare_access_lets_through_are_asked_at_once() {
    let memory = Memory::new();
    let vars = [
        ("TERRACE_LOGIN_ACCESS_TEAM", TEAM),
        ("TERRACE_LOGIN_ACCESS_AUDIENCE", AUDIENCE),
        ("TERRACE_LOGIN_RULES", crate::support::people::RULES),
    ];
    let provider = People::new().provider;
    {
        let mut claims = provider.claims.borrow_mut();
        claims.insert("iss".to_owned(), json!(TEAM));
        claims.insert("aud".to_owned(), json!([AUDIENCE]));
        claims.remove("email_verified");
        claims.remove("groups");
    }
    let people = People {
        registry: Registry::in_memory(&memory, &vars),
        memory,
        provider,
    };
    let keys = std::rc::Rc::clone(&people.provider);
    people.memory.connect(move |url| {
        assert_eq!(url, format!("{TEAM}/cdn-cgi/access/certs"));
        Some(answer(200, &keys.keys()))
    });
    let open = |token: &str| {
        let target = format!("/oauth/authorize?{}", encoded(&opened()));
        let sent = Sent::new("GET", &target).header("cf-access-jwt-assertion", token);
        people.registry.send(&sent)
    };
    let claims = people.provider.claims.borrow().clone();
    let question = open(&people.provider.sign(&claims)).expect(200);
    let cookie = question.header("set-cookie").unwrap().to_owned();
    assert!(page(question.clone(), 200).contains("<code>publish:acme</code>"));
    let pair = cookie.split(';').next().unwrap();
    let allowed = people
        .consent(pair, &hidden(&question), "allow")
        .expect(303);
    let code = parameter(allowed.header("location").unwrap(), "code").unwrap();
    people.exchange(&exchanged(&code)).expect(200);

    // It has new keys.
    people.memory.advance(61);
    *people.provider.key.borrow_mut() = (
        "k2".to_owned(),
        ed25519_dalek::SigningKey::from_bytes(&[9; 32]),
    );
    open(&people.provider.sign(&claims)).expect(200);

    stopped(people.open(&opened()), 403, "Cloudflare Access");
    for (name, value) in [
        ("aud", json!(["another"])),
        ("iss", json!("https://evil.cloudflareaccess.com")),
        ("exp", json!(1)),
    ] {
        let mut wrong = claims.clone();
        wrong.insert(name.to_owned(), value);
        let response = open(&people.provider.sign(&wrong));
        stopped(response, 403, "Cloudflare Access");
    }
    stopped(open("a.b.c"), 403, "Cloudflare Access");
}
