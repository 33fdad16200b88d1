//! `terrace doctor` against a sound registry, and against registries with one fault each.

mod faults;
mod hostile;
mod local;
mod sound;

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use super::support::{Ended, TOKEN, ended, fixture, terrace};
use sound::{Build, Sound};

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

/// Checks that nothing is wrong, and that only these checks were skipped.
#[track_caller]
fn assert_sound(ended: &Ended, skipped: &[&str]) {
    let problems = (with_status(ended, "fail"), with_status(ended, "warn"));
    assert_eq!(problems, (vec![], vec![]), "{ended:#?}");
    assert_eq!(with_status(ended, "skip"), skipped, "{ended:#?}");
}

#[test]
fn a_sound_registry_passes_all_checks() {
    let registry = Sound::start(|_, response| response);
    let ended = ended(&mut doctor(&registry.url, &["--deep"])).expect(0);
    // The package that is tried is public.
    assert_sound(&ended, &["A2"]);
    let document = ended.json();
    assert_eq!(document["success"], true);
    assert_eq!(document["categories"][0]["categoryName"], "Connection");
    let first = &document["categories"][0]["checks"][0];
    assert_eq!(
        (&first["id"], &first["result"]),
        (&"T1".into(), &"success".into())
    );
    assert!(
        first["ms"].is_u64() && first["observed"].is_string(),
        "{first}"
    );
}

#[test]
fn a_sound_private_registry_passes_all_checks() {
    let build = Build {
        is_private: true,
        ..Build::default()
    };
    let registry = Sound::build(build, |_, response| response);
    let ended = ended(&mut doctor(&registry.url, &["--deep"])).expect(0);
    assert_sound(&ended, &[]);
}

#[test]
fn without_a_token_a_sound_registry_passes_what_can_be_seen_from_outside() {
    let registry = Sound::start(|_, response| response);
    let mut command = doctor(&registry.url, &["--only", "T,S,C,P,M,O,D,W"]);
    let ended = ended(command.env_remove("TERRACE_TOKEN")).expect(0);
    assert_sound(&ended, &[]);
}

#[test]
fn a_registry_at_other_paths_without_a_catalogue_is_checked_by_the_named_packages() {
    let build = Build {
        prefix: "/registry",
        ..Build::default()
    };
    let registry = Sound::build(build, |head, response| {
        let is_protocol = ["/registry/", "/archives/", "/.well-known/"];
        match is_protocol.iter().any(|it| head.target.starts_with(it)) {
            true => response,
            false => super::support::http::Response::new(404, "nothing"),
        }
    });
    let named = ["--provider", "acme/hello", "--module", "acme/vpc/aws"];
    let mut command = doctor(&registry.url, &named);
    let ended = ended(command.env_remove("TERRACE_TOKEN")).expect(0);
    assert_eq!(with_status(&ended, "warn"), [""; 0], "{ended:#?}");
    assert_eq!(with_status(&ended, "fail"), [""; 0]);
    let passed = with_status(&ended, "pass");
    for id in ["P1", "P2", "M1", "M2", "D1", "D3", "W1"] {
        assert!(passed.iter().any(|it| it == id), "{id}: {ended:#?}");
    }
}

#[test]
fn a_selection_names_checks_and_groups_and_refuses_others() {
    let registry = Sound::start(|_, response| response);
    let only = |checks: &str| {
        let mut command = doctor(&registry.url, &["--only", checks]);
        ended(&mut command)
    };
    let ids: Vec<String> = self::checks(&only("s,W1").expect(0)).into_keys().collect();
    assert_eq!(ids, ["S1", "S2", "S3", "S4", "W1"]);
    let unknown = only("S9").expect(2);
    assert!(unknown.errors().contains("S1, S2"), "{unknown:?}");
    assert!(only("X").expect(2).errors().contains("L, T, S"));
    assert!(only("L1").expect(2).errors().contains("no check"));
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
fn the_result_for_people_has_a_line_for_each_check_and_names_the_fix() {
    let registry = Sound::start(|_, response| response);
    registry.set_facts(|facts| facts.faults.push("a rule <b>trusts</b> nobody".to_owned()));
    let mut command = terrace(&["doctor", &registry.url, "--only", "S,R2,R3"]);
    command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
    command
        .env("TERRACE_URL", &registry.url)
        .env("TERRACE_TOKEN", TOKEN);
    let ended = ended(command.env("COLUMNS", "60")).expect(3);
    assert_eq!(ended.stderr, "");
    for line in [
        "Discovery",
        "  ✓ S2  discovery is JSON                   application/json",
        "  ✗ R2  settings are valid",
        "        found  a rule <b>trusts</b> nobody",
        "        more   docs/doctor.md#r2",
        "  ✓ R3  settings are safe",
    ] {
        assert!(
            ended.stdout.lines().any(|it| it == line),
            "{line}\n{}",
            ended.stdout
        );
    }
    let summary = ended.stdout.lines().last().unwrap();
    assert!(summary.starts_with("✗ 1 failed, 5 passed in "), "{summary}");
    assert!(
        ended.stdout.lines().all(|it| it.chars().count() <= 60),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_registry_that_cannot_be_reached_is_reported_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    drop(listener);
    let ended = ended(&mut doctor(&url, &[])).expect(6);
    assert_eq!(with_status(&ended, "fail"), ["T1"], "{ended:#?}");
    assert_eq!(with_status(&ended, "pass"), [""; 0], "{ended:#?}");
    assert_eq!(ended.json()["status"], "unavailable");
}
