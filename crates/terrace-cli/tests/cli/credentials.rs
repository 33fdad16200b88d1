//! The places that the token for the registry comes from, and their order.

use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use super::support::http::Response;
use super::support::registry::{Fault, Registry};
use super::support::{JOB_SECRET, TOKEN, assert_has, assert_lacks, directory, ended, run, terrace};

/// The token of a place that another one takes precedence over. The registry rejects it.
const OTHER: &str = "another-token-5ecre7";

/// Returns the host of a registry, as `terraform` knows it.
fn host(registry: &Registry) -> String {
    registry.url().split("://").nth(1).unwrap().to_owned()
}

/// Returns the variable with the token for a registry. Only a program can set one whose name has a port.
fn variable(registry: &Registry) -> String {
    format!("TF_TOKEN_{}", host(registry).replace('.', "_"))
}

/// Returns the configuration with a token for a registry, as `login` writes it.
fn stored(registry: &Registry, token: &str) -> String {
    let credentials = json!({ host(registry): { "token": token } });
    json!({ "credentials": credentials }).to_string()
}

const STORED: &str = ".terraform.d/credentials.tfrc.json";

fn list(registry: &Registry) -> Command {
    let mut command = terrace(&["key", "list", "acme", "--url", registry.url()]);
    command.args(["--json", "--retries", "0"]);
    command
}

fn with_home<'a>(command: &'a mut Command, home: &TempDir) -> &'a mut Command {
    command.env("HOME", home.path())
}

#[test]
fn a_credentials_block_of_the_configuration_is_used() {
    let registry = Registry::start();
    let block = format!(
        "credentials \"{}\" {{\n  token = \"{TOKEN}\"\n}}\n",
        host(&registry)
    );
    let home = directory(&[(".terraformrc", &block)]);
    ended(with_home(&mut list(&registry), &home)).expect(0);
    // A variable replaces all files, also if its file does not exist.
    let helper = "credentials_helper \"vault\" {\n}\n";
    let other = stored(&registry, OTHER);
    let home = directory(&[(STORED, &other), ("block", &block), ("helper", helper)]);
    for (variable, name, code, part) in [
        ("TF_CLI_CONFIG_FILE", "block", 0, ""),
        ("TERRAFORM_CONFIG", "block", 0, ""),
        ("TF_CLI_CONFIG_FILE", "helper", 2, "a credentials_helper"),
        ("TF_CLI_CONFIG_FILE", "absent", 2, "no token"),
    ] {
        let mut command = list(&registry);
        with_home(&mut command, &home).env(variable, home.path().join(name));
        assert_has!(ended(&mut command).expect(code).stdout, part);
    }
}

#[test]
fn the_first_place_of_the_order_decides_8_1() {
    let registry = Registry::start();
    let job = format!("eyJ.{JOB_SECRET}.sig");
    registry.trust_job(&job);
    let files = directory(&[("token", &format!("{TOKEN}\n"))]);
    let file = files.path().join("token");
    let other = directory(&[(STORED, &stored(&registry, OTHER))]);
    let variable = variable(&registry);
    // Each place has the token, and those after it have another one.
    for at in 0..6 {
        let mut command = list(&registry);
        with_home(&mut command, &other);
        let variables = [
            ("TERRACE_TOKEN", TOKEN),
            ("TERRACE_ID_TOKEN", &job),
            (&*variable, TOKEN),
        ];
        for (place, (name, token)) in (2..).zip(variables) {
            if place >= at {
                command.env(name, if place == at { token } else { OTHER });
            }
        }
        match at {
            0 => command.args(["--token", TOKEN]),
            1 => command.arg("--token-file").arg(&file),
            _ => &mut command,
        };
        // The stored token is another one.
        let ended = ended(&mut command).expect(if at == 5 { 5 } else { 0 });
        assert_lacks!(format!("{ended:?}"), OTHER);
    }
}

#[test]
fn a_token_that_begins_with_a_dash_is_sent_and_an_option_in_place_of_a_token_is_refused() {
    let registry = Registry::start();
    let sent = ended(list(&registry).args(["--token", "-q7Zp0cT1l9yQ3n"])).expect(5);
    assert_eq!(registry.requests().len(), 1, "{sent:?}");
    assert_lacks!(format!("{sent:?}"), "q7Zp0cT1l9yQ3n");
    let refused = ended(list(&registry).args(["--token", "--json"]));
    refused.fails(2, "looks like another option");
    assert_eq!(registry.requests(), [""; 0]);
}

#[test]
fn an_unusable_token_file_is_rejected_without_its_text() {
    let registry = Registry::start();
    let files = directory(&[("words", &format!("{OTHER} {OTHER}")), ("empty", "\n")]);
    for (name, reason) in [
        ("words", "contains a space"),
        ("empty", "is empty"),
        ("absent", "cannot be read"),
    ] {
        let mut command = list(&registry);
        let path = files.path().join(name);
        let ended = ended(command.arg("--token-file").arg(&path)).expect(2);
        assert_has!(ended.errors(), reason, path.to_str().unwrap());
        assert_lacks!(format!("{ended:?}"), OTHER);
    }
    assert!(registry.requests().is_empty());
}

#[test]
fn a_stored_token_that_the_registry_quotes_is_hidden() {
    let registry = Registry::start();
    let quoted = format!("{OTHER} is not valid");
    registry.refuse("GET", "/keys", 401, &[&quoted]);
    let home = directory(&[(STORED, &stored(&registry, OTHER))]);
    let ended = ended(with_home(&mut list(&registry), &home)).expect(5);
    assert_lacks!(format!("{ended:?}"), OTHER);
    assert_has!(ended.errors(), "[token hidden] is not valid");
}

#[test]
fn a_redirect_takes_the_token_to_no_other_host() {
    let (registry, other) = (Registry::start(), Registry::start());
    let moved = Response::new(302, "").with("location", format!("{}/", other.url()));
    registry.fail("GET", "/keys", Fault::Answer(moved));
    ended(list(&registry).env(variable(&registry), TOKEN)).expect(1);
    assert!(other.requests().is_empty());
}

#[test]
fn verbose_prints_the_source_of_the_token_and_each_request() {
    let registry = Registry::start();
    let verbose = run(&registry, &["key", "list", "acme", "--verbose"]).expect(0);
    let request = format!("GET {}/admin/v1/namespaces/acme/keys: ", registry.url());
    assert_has!(verbose.stderr, "TERRACE_TOKEN", request);
}
