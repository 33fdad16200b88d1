//! The places that the token for the registry comes from, and their order.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{JOB_SECRET, TOKEN, directory, ended, fixture, run, terrace, tls};

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
    let credentials = serde_json::json!({ host(registry): { "token": token } });
    serde_json::json!({ "credentials": credentials }).to_string()
}

const STORED: &str = if cfg!(windows) {
    "terraform.d/credentials.tfrc.json"
} else {
    ".terraform.d/credentials.tfrc.json"
};

fn list(registry: &Registry) -> Command {
    let mut command = terrace(&["key", "list", "acme", "--url", registry.url()]);
    command.args(["--json", "--retries", "0"]);
    command
}

fn with_home<'a>(command: &'a mut Command, home: &TempDir) -> &'a mut Command {
    command.env("HOME", home.path()).env("APPDATA", home.path())
}

#[test]
fn a_token_that_login_stored_is_used() {
    let registry = Registry::start();
    let home = directory(&[(STORED, &stored(&registry, TOKEN))]);
    let ended = ended(with_home(&mut list(&registry), &home)).expect(0);
    assert!(ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn a_credentials_block_of_the_configuration_is_used() {
    let registry = Registry::start();
    let host = host(&registry);
    let block = format!("credentials \"{host}\" {{\n  token = \"{TOKEN}\"\n}}\n");
    let names: &[&str] = if cfg!(windows) {
        &["terraform.rc", "tofu.rc"]
    } else {
        &[".terraformrc", ".tofurc"]
    };
    for name in names {
        let home = directory(&[(name, &block)]);
        ended(with_home(&mut list(&registry), &home)).expect(0);
    }
    // A variable replaces all of these files.
    let (named, home) = (
        directory(&[("x", &block)]),
        directory(&[(STORED, &stored(&registry, OTHER))]),
    );
    let file = named.path().join("x");
    for variable in ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"] {
        let mut command = list(&registry);
        ended(with_home(&mut command, &home).env(variable, &file)).expect(0);
    }
    std::fs::write(&file, "credentials_helper \"vault\" {\n}\n").unwrap();
    let mut command = list(&registry);
    with_home(&mut command, &home).env("TF_CLI_CONFIG_FILE", &file);
    let told = self::ended(&mut command).expect(2).errors();
    assert!(told.contains("names a credentials_helper"), "{told}");
    // Also if it does not exist.
    let absent = named.path().join("absent");
    let mut command = list(&registry);
    with_home(&mut command, &home).env("TF_CLI_CONFIG_FILE", absent);
    let ended = ended(command.arg("--verbose")).expect(2);
    assert!(ended.stderr.contains("are read from: no file"), "{ended:?}");
    assert!(ended.errors().contains("no token"), "{ended:?}");
}

#[test]
fn the_variable_of_the_host_is_used_8_2() {
    let registry = Registry::start();
    ended(list(&registry).env(variable(&registry), TOKEN)).expect(0);
}

#[test]
fn the_first_place_of_the_order_decides_8_1() {
    let registry = Registry::start();
    registry.trust_job(&format!("eyJ.{JOB_SECRET}.sig"));
    let files = directory(&[("token", &format!("{TOKEN}\n"))]);
    let file = files.path().join("token");
    let other = directory(&[(STORED, &stored(&registry, OTHER))]);
    let variable = variable(&registry);
    // Each place has the token, and those after it have another one.
    for place in [
        "--token",
        "--token-file",
        "TERRACE_TOKEN",
        "job",
        "TF_TOKEN",
        "stored",
    ] {
        let mut command = list(&registry);
        with_home(&mut command, &other);
        match place {
            "--token" => command.args(["--token", TOKEN]),
            "--token-file" => command.arg("--token-file").arg(&file),
            "TERRACE_TOKEN" => command.env("TERRACE_TOKEN", TOKEN),
            "job" => command.env("TERRACE_ID_TOKEN", format!("eyJ.{JOB_SECRET}.sig")),
            "TF_TOKEN" => command.env(&variable, TOKEN),
            _ => command.env_remove("x"),
        };
        if matches!(place, "--token" | "--token-file") {
            command.env("TERRACE_TOKEN", OTHER);
        }
        if matches!(place, "--token" | "--token-file" | "TERRACE_TOKEN") {
            command.env("TERRACE_ID_TOKEN", OTHER);
        }
        if place != "TF_TOKEN" && place != "stored" {
            command.env(&variable, OTHER);
        }
        let code = if place == "stored" { 5 } else { 0 };
        let ended = ended(&mut command).expect(code);
        assert!(!format!("{ended:?}").contains(OTHER), "{place}: {ended:?}");
    }
}

#[test]
fn a_token_on_the_command_line_and_one_in_a_file_are_rejected_together() {
    let registry = Registry::start();
    let file = fixture("publisher.asc");
    let mut command = list(&registry);
    command
        .args(["--token", TOKEN])
        .arg("--token-file")
        .arg(file);
    assert!(
        ended(&mut command)
            .expect(2)
            .errors()
            .contains("use one of them")
    );
}

#[test]
fn a_token_that_begins_with_a_dash_is_sent_as_it_is() {
    for given in [
        &["--token", "-q7Zp0cT1l9yQ3n"][..],
        &["--token=-q7Zp0cT1l9yQ3n"],
    ] {
        let registry = Registry::start();
        let ended = ended(list(&registry).args(given)).expect(5);
        let errors = ended.errors();
        assert!(errors.contains("--token"), "{errors}");
        assert_eq!(registry.requests().len(), 1, "{errors}");
        assert!(
            !format!("{ended:?}").contains("q7Zp0cT1l9yQ3n"),
            "{ended:?}"
        );
    }
}

#[test]
fn an_option_in_place_of_a_token_is_refused() {
    for option in ["--json", "--dry-run", "--url=https://a.example", "-q"] {
        let registry = Registry::start();
        let ended = ended(list(&registry).args(["--token", option])).expect(2);
        assert!(
            ended.errors().contains("looks like another option"),
            "{ended:?}"
        );
        assert_eq!(registry.requests(), [""; 0]);
    }
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
        assert!(ended.errors().contains(reason), "{ended:?}");
        assert!(ended.errors().contains(path.to_str().unwrap()), "{ended:?}");
        assert!(!format!("{ended:?}").contains(OTHER), "{ended:?}");
    }
    assert!(registry.requests().is_empty());
}

#[test]
fn a_rejected_token_is_reported_with_its_place_and_without_its_text() {
    let registry = Registry::start();
    let stored = directory(&[(STORED, &stored(&registry, OTHER))]);
    let files = directory(&[("token", OTHER)]);
    let file: PathBuf = files.path().join("token");
    let variable = variable(&registry);
    let sign_in = format!("`terrace login {}`", host(&registry));
    let path = stored.path().join(STORED);
    for (place, expected) in [
        ("--token", "--token must be its admin token"),
        ("--token-file", file.to_str().unwrap()),
        (
            "TERRACE_TOKEN",
            "the registry rejects the token in TERRACE_TOKEN: ",
        ),
        ("TF_TOKEN", &format!("the token in {variable}: ")),
        ("stored", &format!("the token in {}: ", path.display())),
        ("stored", &sign_in),
    ] {
        let mut command = list(&registry);
        match place {
            "--token" => command.args(["--token", OTHER]),
            "--token-file" => command.arg("--token-file").arg(&file),
            "TERRACE_TOKEN" => command.env("TERRACE_TOKEN", OTHER),
            "TF_TOKEN" => command.env(&variable, OTHER),
            _ => with_home(&mut command, &stored),
        };
        let ended = ended(&mut command).expect(5);
        assert!(ended.errors().contains(expected), "{place}: {ended:?}");
        assert!(!format!("{ended:?}").contains(OTHER), "{place}: {ended:?}");
    }
}

#[test]
fn a_stored_token_that_the_registry_quotes_is_hidden() {
    let registry = Registry::start();
    let quoted = format!("{OTHER} is not valid");
    registry.fail("GET", "/keys", Fault::Answer(errors(401, &[&quoted])));
    let home = directory(&[(STORED, &stored(&registry, OTHER))]);
    let ended = ended(with_home(&mut list(&registry), &home)).expect(5);
    assert!(!format!("{ended:?}").contains(OTHER), "{ended:?}");
    assert!(
        ended.errors().contains("[token hidden] is not valid"),
        "{ended:?}"
    );
}

#[test]
fn a_token_is_sent_to_no_other_host() {
    let registry = Registry::start();
    let port = host(&registry).rsplit_once(':').unwrap().1.to_owned();
    let others = [
        "127.0.0.1".to_owned(),
        format!("127.0.0.2:{port}"),
        format!("localhost:{port}"),
        "127.0.0.1:1".to_owned(),
    ];
    let tokens = others
        .iter()
        .map(|host| (host.clone(), serde_json::json!({ "token": TOKEN })));
    let tokens: serde_json::Map<_, _> = tokens.collect();
    let home = directory(&[(
        STORED,
        &serde_json::json!({ "credentials": tokens }).to_string(),
    )]);
    let mut command = list(&registry);
    with_home(&mut command, &home);
    for host in &others {
        command.env(format!("TF_TOKEN_{}", host.replace('.', "_")), TOKEN);
    }
    let ended = ended(&mut command).expect(2);
    assert!(ended.errors().contains("no token"), "{ended:?}");
    assert!(registry.requests().is_empty());
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
fn a_registry_with_tls_gets_the_token_of_its_host_and_port() {
    let registry = Registry::with_tls(tls());
    registry.add_key("publisher.asc");
    let mut command = list(&registry);
    command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
    ended(command.env(variable(&registry), TOKEN)).expect(0);
    assert_eq!(registry.authorizations(), [format!("Bearer {TOKEN}")]);
}

#[test]
fn a_configuration_that_cannot_be_read_is_skipped_with_a_warning() {
    let registry = Registry::start();
    let broken = format!("credentials \"x.example\" {{\n  token = {OTHER} {OTHER}\n");
    let name = if cfg!(windows) {
        "terraform.rc"
    } else {
        ".terraformrc"
    };
    let home = directory(&[(name, &broken), (STORED, &stored(&registry, TOKEN))]);
    let first = ended(with_home(&mut list(&registry), &home)).expect(0);
    assert!(first.stderr.contains("line 2, column "), "{first:?}");
    assert!(first.json()["warnings"][0].as_str().unwrap().contains(name));
    assert!(!format!("{first:?}").contains(OTHER), "{first:?}");
    // It is not even read if the token comes from elsewhere.
    let second = ended(with_home(&mut list(&registry), &home).env("TERRACE_TOKEN", TOKEN));
    assert!(second.stderr.is_empty(), "{second:?}");
}

#[test]
fn verbose_prints_the_source_of_the_token_and_each_request() {
    let registry = Registry::start();
    let verbose = run(&registry, &["key", "list", "acme", "--verbose"]).expect(0);
    let host = host(&registry);
    let source = format!("the token for {host} is that in TERRACE_TOKEN");
    let request = format!(
        "GET {}/admin/v1/namespaces/acme/keys: status 200",
        registry.url()
    );
    assert_eq!(
        verbose.stderr.lines().collect::<Vec<_>>(),
        [source, request]
    );
    let both = run(&registry, &["key", "list", "acme", "--verbose", "--quiet"]).expect(2);
    assert!(both.errors().contains("cannot be used with"), "{both:?}");
}
