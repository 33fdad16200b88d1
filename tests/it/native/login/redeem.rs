//! Codes, and the tokens for which terminals redeem them.

use serde_json::{Value, json};
use terrace_core::auth::login::LOGIN_CODE_SECONDS;

use super::{logged, page, refused};
use crate::support::Registry;
use crate::support::faults::{Failure, Operations, When};
use crate::support::people::{People, exchanged, hidden, parameter};

#[test]
fn a_code_is_valid_only_for_its_terminal_7_6() {
    let people = People::new();
    let code = people.allow();
    let other_verifier = "e".repeat(43);
    let (_, question) = people.sign_in();
    let (consent, (_, state)) = (hidden(&question), people.begin());
    let tampered = code.replace('a', "b");
    for (name, value) in [
        ("code", tampered.as_str()),
        ("code", &consent),
        ("code", &state),
        ("code_verifier", &other_verifier),
        ("redirect_uri", "http://localhost:10004/login"),
    ] {
        let mut parts = exchanged(&code);
        for part in &mut parts {
            if part.0 == name {
                part.1 = value;
            }
        }
        refused(people.exchange(&parts), "invalid_grant");
    }
    let elsewhere = People::with(&[("TERRACE_ADMIN_TOKEN", "another-admin-token")]);
    let foreign = elsewhere.allow();
    refused(people.exchange(&exchanged(&foreign)), "invalid_grant");
    let long = "x".repeat(30_000);
    people.exchange(&exchanged(&long)).expect(413);
    assert_eq!(people.memory.keys(), ["format"]);
    // None of these attempts has used up the code.
    people.exchange(&exchanged(&code)).expect(200);
}

#[test]
fn a_code_is_valid_for_a_minute() {
    let people = People::new();
    let (code, late) = (people.allow(), people.allow());
    people.memory.advance(u64::from(LOGIN_CODE_SECONDS));
    people.exchange(&exchanged(&code)).expect(200);
    people.memory.advance(1);
    let told = refused(people.exchange(&exchanged(&late)), "invalid_grant");
    assert!(told.contains("expired after 60 seconds"), "{told}");
}

#[test]
fn a_code_that_is_used_twice_revokes_its_token() {
    let people = People::new();
    let code = people.allow();
    let json = people.exchange(&exchanged(&code)).found();
    let token = json["access_token"].as_str().unwrap();
    let private = [("TERRACE_ACCESS", "private")];
    let elsewhere = || Registry::in_memory(&people.memory.elsewhere(), &private);
    elsewhere()
        .get_as(token, "/v1/providers/a/b/versions")
        .expect(404);
    // A request with a wrong verifier does not use the code.
    let mut wrong = exchanged(&code);
    let other = "e".repeat(43);
    wrong[2].1 = &other;
    refused(people.exchange(&wrong), "invalid_grant");
    elsewhere()
        .get_as(token, "/v1/providers/a/b/versions")
        .expect(404);
    let told = refused(people.exchange(&exchanged(&code)), "invalid_grant");
    assert!(told.contains("already used"), "{told}");
    elsewhere()
        .get_as(token, "/v1/providers/a/b/versions")
        .expect(401);
    refused(people.exchange(&exchanged(&code)), "invalid_grant");
    let log = people.registry.read_as_admin("/admin/v1/audit");
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
fn a_person_who_allows_only_reading_gets_a_token_that_only_reads() {
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
    let tokens = people.registry.read_as_admin("/admin/v1/tokens");
    let scopes = &tokens["tokens"][0]["scopes"];
    assert_eq!(*scopes, json!(["read"]));
}

#[test]
fn a_consent_that_is_given_twice_yields_one_token() {
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
fn a_storage_failure_issues_no_token_and_is_reported() {
    for when in [When::Before, When::After] {
        let people = People::new();
        let code = people.allow();
        people
            .memory
            .fail(Operations::Writes, 0, when, Failure::Error);
        let response = people.exchange(&exchanged(&code)).expect(503);
        assert_eq!(response.json()["error"], "temporarily_unavailable");
        // A token is not issued if its code may have been used.
        let again = people.exchange(&exchanged(&code));
        match when {
            When::Before => drop(again.expect(200)),
            When::After => drop(refused(again, "invalid_grant")),
        }
    }
}
