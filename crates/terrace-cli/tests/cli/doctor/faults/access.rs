//! Faults of access: anonymous requests, tokens and the sign-in.

use serde_json::json;
use terrace_base::time::UnixTime;

use super::{DISCOVERY, assert_found, edited, found, found_in, html};
use crate::doctor::sound::{Build, Sound, http_date, now};
use crate::doctor::{checks, doctor};
use crate::support::http::{Head, Response};
use crate::support::{TOKEN, ended};

#[test]
fn a1_writes_without_a_token_are_found() {
    found("A1", Build::default(), |head, response| {
        match head.method == "PUT" {
            true => Response::new(422, r#"{"errors":["shasums is missing"]}"#),
            false => response,
        }
    });
    found("A1", Build::default(), |head, response| {
        match head.target == "/admin/v1/audit" {
            true => Response::new(200, "{}"),
            false => response,
        }
    });
}

#[test]
fn a2_a_private_package_that_differs_from_a_missing_one_is_found() {
    let private = || Build {
        is_private: true,
        ..Build::default()
    };
    let is_hidden =
        |head: &Head| head.target.contains("/acme/") && !head.headers.contains_key("authorization");
    found("A2", private(), move |head, response| {
        match is_hidden(head) {
            true => Response::new(403, "{}"),
            false => response,
        }
    });
    found("A2", private(), move |head, response| {
        match is_hidden(head) {
            true => response.with("x-rule", "private"),
            false => response,
        }
    });
}

#[test]
fn a3_an_unusable_sign_in_is_found() {
    for (name, value) in [
        ("ports", json!([80, 90])),
        ("authz", json!("http://127.0.0.1/")),
        ("client", json!("")),
        ("grant_types", json!(["password"])),
    ] {
        found_in("A3", DISCOVERY, move |it| {
            edited(it, |document| document["login.v1"][name] = value.clone())
        });
    }
}

#[test]
fn a4_a_token_that_is_not_valid_or_ends_soon_is_found() {
    let registry = Sound::start(|head, response| match head.target == "/api/v1/token" {
        true => Response::new(401, "{}"),
        false => response,
    });
    let refused = ended(&mut doctor(&registry.url, &[])).expect(3);
    assert_found("A4", "fail", &refused);
    // Where everything is public, reads ignore the token.
    for id in ["P1", "P4", "M1", "M3", "D1", "O2"] {
        assert_eq!(checks(&refused)[id]["status"], "pass", "{id}: {refused:#?}");
    }
    let registry = Sound::start(|head, response| match head.target == "/api/v1/token" {
        true => edited(response, |document| {
            document["expires"] = json!(UnixTime(now().0 + 86_400).to_string());
        }),
        false => response,
    });
    let ended = ended(&mut doctor(&registry.url, &[])).expect(0);
    assert_found("A4", "warn", &ended);
}

#[test]
fn a4_a_token_that_the_registry_refuses_everywhere_is_one_fault() {
    let is_refused = |head: &Head| {
        let token = head.headers.get("authorization");
        token.is_some_and(|it| it.contains(TOKEN)) && head.target != DISCOVERY
    };
    for named in [
        &[][..],
        &["--provider", "acme/hello", "--module", "acme/vpc/aws"][..],
    ] {
        let registry = Sound::start(move |head, response| match is_refused(head) {
            true => Response::new(
                401,
                r#"{"errors":["this is not a token of this registry"]}"#,
            )
            .with("date", http_date(now())),
            false => response,
        });
        let ended = ended(&mut doctor(&registry.url, named)).expect(3);
        assert_found("A4", "fail", &ended);
        for id in ["P1", "P4", "M1", "M3", "D1", "R1"] {
            assert_eq!(checks(&ended)[id]["observed"], "A4 failed", "{id}");
        }
    }
}

#[test]
fn a1_a_page_in_front_of_the_admin_api_is_one_fault() {
    for page in [
        html(200),
        Response::new(302, "").with("location", "https://login.example.com/"),
    ] {
        let registry =
            Sound::start(
                move |head, response| match head.target.starts_with("/admin/") {
                    true => page.clone(),
                    false => response,
                },
            );
        let ended = ended(&mut doctor(&registry.url, &[])).expect(3);
        assert_found("A1", "fail", &ended);
        let a1 = &checks(&ended)["A1"];
        let cause = a1["error"].as_str().unwrap();
        assert!(cause.starts_with("a page is in front of /admin"), "{a1}");
        assert!(!a1["fix"].to_string().contains("revoke"), "{a1}");
        assert_eq!(checks(&ended)["R1"]["observed"], "A1 failed");
    }
    // A page for requests with the token only does not concern A1.
    found("R1", Build::default(), |head, response| {
        match head.target == "/admin/v1/doctor" {
            true => html(200),
            false => response,
        }
    });
}
