//! Sign-in through Cloudflare Access.

use serde_json::{Map, Value, json};

use super::{browser, page, stopped};
use crate::support::Registry;
use crate::support::memory::Memory;
use crate::support::people::{People, answer, encoded, exchanged, hidden, opened, parameter};
use crate::support::registry::Sent;

const TEAM: &str = "https://acme.cloudflareaccess.com";

const AUDIENCE: &str = "4714c1358e65fe4b408ad6d432a5f878";

/// Returns a registry behind Cloudflare Access, which vouches for these claims.
fn behind_access() -> (People, Map<String, Value>) {
    let memory = Memory::new();
    let vars = [
        ("TERRACE_ACCESS", "private"),
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
    let claims = people.provider.claims.borrow().clone();
    (people, claims)
}

#[test]
fn a_person_admitted_by_cloudflare_access_is_asked_for_consent_at_once() {
    let (people, claims) = behind_access();
    let open = |token: &str| {
        let target = format!("/oauth/authorize?{}", encoded(&opened()));
        let sent = Sent::new("GET", &target).header("cf-access-jwt-assertion", token);
        people.registry.send(&sent)
    };
    let question = open(&people.provider.sign(&claims)).expect(200);
    let cookie = question.header("set-cookie").unwrap().to_owned();
    assert!(page(question.clone(), 200).contains("<code>publish:acme</code>"));
    let pair = cookie.split(';').next().unwrap();
    let allowed = people
        .consent(pair, &hidden(&question), "allow")
        .expect(303);
    let code = parameter(allowed.header("location").unwrap(), "code").unwrap();
    people.exchange(&exchanged(&code)).expect(200);

    // Cloudflare Access rotates its keys.
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

#[test]
fn a_browser_admitted_by_cloudflare_access_gets_a_session_at_once() {
    let (people, claims) = behind_access();
    let registry = &people.registry;
    let sent = Sent::new("GET", "/sign-in?to=/search");
    let admitted = sent.clone();
    let admitted = admitted.header("cf-access-jwt-assertion", &people.provider.sign(&claims));
    let response = registry.send(&admitted).expect(303);
    assert_eq!(response.header("location"), Some("/search"));
    let cookies = response.headers.iter().filter(|it| it.0 == "set-cookie");
    assert_eq!(cookies.count(), 1);
    let read = Sent::new("GET", browser::READ).header("cookie", &browser::begun(&response));
    registry.send(&read).expect(200);
    browser::stopped(registry.send(&sent), 403, "Cloudflare Access");
}
