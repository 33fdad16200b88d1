//! `terrace doctor` against a sound registry, and against registries with one fault each.

mod faults;
mod hostile;
mod local;
mod sound;

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use super::support::http::Response;
use super::support::{Ended, TOKEN, ended, fixture, terrace};
use sound::Sound;

/// Returns a command line about a registry, without the checks of this machine.
fn doctor(url: &str, arguments: &[&str]) -> Command {
    let mut command = terrace(&["doctor", url]);
    command.args(["--skip", "L", "--json"]).args(arguments);
    command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
    command.env("TERRACE_URL", url).env("TERRACE_TOKEN", TOKEN);
    command
}

/// Returns the checks of a result, by their IDs.
fn checks(ended: &Ended) -> BTreeMap<String, Value> {
    let document = ended.json();
    let categories = document["categories"].as_array().unwrap();
    let checks = categories
        .iter()
        .flat_map(|it| it["checks"].as_array().unwrap());
    let by_id = |check: &Value| (check["id"].as_str().unwrap().to_owned(), check.clone());
    checks.map(by_id).collect()
}

/// Returns the IDs of the checks with a status.
fn with_status(ended: &Ended, status: &str) -> Vec<String> {
    let checks = checks(ended).into_iter();
    let found = checks.filter(|(_, check)| check["status"] == status);
    found.map(|(id, _)| id).collect()
}

/// Checks that exactly one check reports a problem, with this status, and that it is explained.
#[track_caller]
fn assert_found(id: &str, status: &str, ended: &Ended) {
    let mut problems = with_status(ended, "fail");
    problems.extend(with_status(ended, "warn"));
    assert_eq!(problems, [id], "{ended:#?}");
    let check = &checks(ended)[id];
    assert_eq!(check["status"], status, "{check}");
    for member in ["observed", "error", "fix"] {
        assert_ne!(check[member].as_str().unwrap(), "", "{check}");
    }
    assert_eq!(check["hint"], format!("terrace doctor --explain {id}"));
}

#[test]
fn a_sound_registry_passes_all_checks() {
    let registry = Sound::start(|_, response| response);
    let ended = ended(&mut doctor(&registry.url, &["--deep"])).expect(0);
    for status in ["fail", "warn", "skip"] {
        assert_eq!(with_status(&ended, status), [""; 0], "{ended:#?}");
    }
    let document = ended.json();
    assert_eq!(document["success"], true);
    assert_eq!(document["categories"][0]["categoryName"], "Connection");
    let first = &document["categories"][0]["checks"][0];
    assert_eq!(first["id"], "T1");
    assert_eq!(first["result"], "success");
    assert!(first["observed"].is_string(), "{first}");
}

#[test]
fn a_registry_of_another_program_is_checked_by_the_named_packages() {
    let named = ["--provider", "acme/hello", "--module", "acme/vpc/aws"];
    let examined = |has_header: bool| {
        let registry = Sound::start(move |head, mut response| {
            let is_protocol = ["/v1/", "/archives/", "/.well-known/"];
            if !is_protocol.iter().any(|it| head.target.starts_with(it)) {
                return Response::new(404, "nothing");
            }
            let headers = &mut response.headers;
            headers.retain(|(name, _)| has_header || *name != "x-terraform-get");
            response
        });
        let mut command = doctor(&registry.url, &named);
        ended(command.env_remove("TERRACE_TOKEN")).expect(0)
    };
    let sound = examined(true);
    assert_eq!(with_status(&sound, "warn"), [""; 0], "{sound:#?}");
    let skipped = [
        "A1", "A4", "K1", "K2", "K3", "K5", "R1", "R3", "R4", "U1", "U2",
    ];
    assert_eq!(with_status(&sound, "skip"), skipped, "{sound:#?}");
    // A registry of files sends no such header.
    assert_eq!(with_status(&examined(false), "warn"), ["M2"]);
}

#[test]
fn a_selection_is_made_alone_and_a_skipped_check_names_the_one_that_failed() {
    let closed = Sound::start(
        |head, response| match head.target.contains("/.well-known/") {
            true => Response::new(404, "nothing"),
            false => response,
        },
    );
    let ended = ended(&mut doctor(&closed.url, &["--only", "P1,M1"])).expect(0);
    let made = checks(&ended).into_iter();
    let made: Vec<_> = made.map(|(id, it)| (id, it["observed"].clone())).collect();
    let expected = ["M1", "P1"].map(|id| (id.to_owned(), Value::from("S1 failed")));
    assert_eq!(made, expected);
}

#[test]
fn warnings_decide_about_the_end_only_with_strict() {
    let registry = Sound::start(|_, response| response);
    registry.set_facts(|facts| facts.warnings.push("a rule trusts too many".to_owned()));
    let arguments = ["--only", "R3"];
    ended(&mut doctor(&registry.url, &arguments)).expect(0);
    let strict = ["--only", "R3", "--strict"];
    let strict = ended(&mut doctor(&registry.url, &strict)).expect(1);
    assert_eq!(strict.json()["exit_code"], 1);
}

#[test]
fn a_registry_that_cannot_be_reached_is_reported_once_and_decides_about_any_selection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    drop(listener);
    let selected = ended(&mut doctor(&url, &["--only", "P1"])).expect(6);
    assert_eq!(with_status(&selected, "skip"), ["P1"], "{selected:#?}");
    let ended = ended(&mut doctor(&url, &[])).expect(6);
    assert_eq!(with_status(&ended, "fail"), ["T1"], "{ended:#?}");
    assert_eq!(with_status(&ended, "pass"), [""; 0], "{ended:#?}");
    assert_eq!(ended.json()["status"], "unavailable");
}
