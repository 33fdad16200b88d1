//! Forged, replayed and guessed requests and responses.

use serde_json::json;
use terrace_core::auth::login::SIGN_IN_SECONDS;

use super::{logged, stopped};
use crate::support::people::{People, answer, encoded, opened, opened_with};
use crate::support::registry::Sent;

#[test]
fn a_target_that_no_terminal_opens_is_a_page_and_never_a_redirect_7_5() {
    let people = People::new();
    for (name, value) in [
        ("client_id", "terraform"),
        ("state", "a\r\nset-cookie: x=y"),
        ("redirect_uri", "http://localhost:10003@evil.example/login"),
    ] {
        let response = people.open(&opened_with(name, value));
        assert!(response.header("set-cookie").is_none(), "{name}={value}");
        stopped(response, 400, &format!("<code>{name}</code>"));
    }
    let twice = format!("/oauth/authorize?{}&state=x", encoded(&opened()));
    stopped(people.registry.get(&twice), 400, "more than once");
    assert_eq!(people.memory.operations(), Vec::<String>::new());
}

#[test]
fn a_state_is_valid_in_its_browser_for_ten_minutes() {
    let people = People::new();
    let (cookie, state) = people.begin();
    let back =
        |cookie: &str, state: &str| people.come_back(cookie, &[("code", "c"), ("state", state)]);
    let (other_cookie, other_state) = people.begin();
    for (cookie, state) in [
        ("", state.as_str()),
        (&other_cookie, &state),
        (&cookie, &other_state),
        (&cookie, ""),
        (&cookie, &state.replace('a', "b")),
    ] {
        stopped(back(cookie, state), 400, "in this browser");
    }
    let elsewhere = [("TERRACE_ADMIN_TOKEN", "another-admin-token")];
    let elsewhere = People::with(&elsewhere);
    let (foreign_cookie, foreign) = elsewhere.begin();
    stopped(back(&foreign_cookie, &foreign), 400, "in this browser");
    assert_eq!(
        people.provider.forms.borrow().len(),
        0,
        "the provider received no request"
    );

    people.memory.advance(u64::from(SIGN_IN_SECONDS) + 1);
    stopped(back(&cookie, &state), 400, "ten minutes");
    logged(&people, "login: state: it expired at");
}

#[test]
fn a_browser_with_too_many_wrong_codes_causes_no_more_requests() {
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
fn wrong_tokens_from_an_address_do_not_block_its_sign_ins() {
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
fn a_provider_code_that_is_too_long_is_rejected() {
    let people = People::new();
    let (cookie, state) = people.begin();
    let long = "c".repeat(terrace_core::auth::login::PROVIDER_CODE_BYTES + 1);
    let back = people.come_back(&cookie, &[("code", &long), ("state", &state)]);
    stopped(back, 502, "returned an invalid response");
    assert!(people.provider.forms.borrow().is_empty());
}

#[test]
fn an_answer_of_the_provider_without_an_id_token_is_rejected() {
    let people = People::new();
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
        stopped(people.sign_in().1, 502, "returned an invalid response");
        logged(&people, reason);
    }
}

#[test]
fn a_token_is_valid_only_for_its_own_sign_in() {
    let people = People::new();
    people.sign_in().1.expect(200);
    // The provider answers the next sign-in with the token of this one.
    let mut claims = people.provider.claims.borrow().clone();
    let asked = people.provider.asked.borrow().clone();
    let nonce = asked.into_iter().find(|(name, _)| name == "nonce").unwrap();
    claims.insert("nonce".to_owned(), nonce.1.into());
    let token = people.provider.sign(&claims);
    *people.provider.answer.borrow_mut() = Some(answer(200, &json!({ "id_token": token })));
    stopped(people.sign_in().1, 502, "returned an invalid response");
    logged(&people, "its nonce does not match this sign-in");
}
