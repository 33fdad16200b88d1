//! Sign-in of people, and the ways in which it can fail.

mod access;
mod attacks;
mod browser;
mod clients;
mod cookie;
mod github;
mod openid;
mod redeem;
mod roles;
mod token_form;

use serde_json::Value;

use crate::support::people::People;
use crate::support::registry::Response;

/// Returns the text of a page, after checking the headers that every page has.
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

/// Returns the reason for which a terminal gets no token.
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
