//! The checks of this machine, without a registry: one fault each.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::sound::Sound;
use super::{assert_found, checks, doctor, with_status};
use crate::support::http::{Head, Response, Then, start};
use crate::support::{TOKEN, assert_has, assert_lacks, ended, fixture, terrace, tls};

/// A home directory, in which the clients find their configuration.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".terraform.d")).unwrap();
        Self(home)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Returns a command line that checks this machine only.
    fn doctor(&self, arguments: &[&str]) -> Command {
        let mut command = terrace(&["doctor", "--json"]);
        command.args(arguments).env("HOME", self.path());
        for name in ["NETRC", "ALL_PROXY", "all_proxy"] {
            command.env_remove(name);
        }
        command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
        command
    }
}

/// Checks that exactly one check reports a problem.
#[track_caller]
fn found(id: &str, code: i32, command: &mut Command) {
    let status = if code == 3 { "fail" } else { "warn" };
    assert_found(id, status, &ended(command).expect(code));
}

#[test]
fn a_machine_without_faults_passes_and_nothing_else_is_checked() {
    let home = Home::new();
    let ended = ended(&mut home.doctor(&[])).expect(0);
    assert_eq!(with_status(&ended, "fail"), [""; 0], "{ended:#?}");
    assert_eq!(with_status(&ended, "warn"), [""; 0], "{ended:#?}");
    let passed = with_status(&ended, "pass");
    assert_eq!(passed, ["L1", "L2", "L5", "L7", "L8", "L9"], "{ended:#?}");
}

#[test]
fn l1_an_invalid_and_an_absent_configuration_and_hidden_tokens_are_found() {
    let home = Home::new();
    home.write(".terraformrc", "credentials \"a.example\" {");
    found("L1", 3, &mut home.doctor(&[]));
    let home = Home::new();
    let stored = ".terraform.d/credentials.tfrc.json";
    home.write(stored, r#"{"credentials":{}}"#);
    home.write("other.tfrc", "");
    for name in ["absent", "other.tfrc"] {
        let file = home.path().join(name);
        found("L1", 0, home.doctor(&[]).env("TF_CLI_CONFIG_FILE", file));
    }
}

#[test]
fn l2_a_variable_without_a_host_and_one_of_a_similar_host_are_found() {
    let home = Home::new();
    found("L2", 0, home.doctor(&[]).env("TF_TOKEN_", "hunter2hunter2"));
    let registry = Sound::start(|_, response| response);
    let mut command = home.doctor(&[&registry.url, "--only", "L2"]);
    let variable = ("TF_TOKEN_127__0__0__1", "hunter2hunter2");
    found("L2", 0, command.envs([variable]));
}

#[test]
fn l5_a_mirror_that_clients_reject_is_found() {
    let home = Home::new();
    // `ended` checks that the secret is not printed.
    let url = format!("https://ann:{TOKEN}@r.example.com/mirror/?token={TOKEN}");
    let block = |url: &str| format!("network_mirror {{\n url = {url:?}\n }}\n");
    let blocks = block("https://r.example.com/mirror/") + &block(&url);
    home.write(
        ".terraformrc",
        &format!("provider_installation {{\n{blocks}}}"),
    );
    found("L5", 3, &mut home.doctor(&[]));
}

/// Returns a block that gives a host modules from here.
fn host_block(host: &str) -> String {
    let url = "https://r.example.com/origins/o.example/v1/modules/";
    format!("host {host:?} {{\n services = {{ \"modules.v1\" = {url:?} }}\n}}\n")
}

#[test]
fn l8_a_host_block_without_a_mirror_for_its_providers_is_found() {
    let home = Home::new();
    home.write(".terraformrc", &host_block("o.example"));
    found("L8", 0, &mut home.doctor(&[]));
    for (include, is_sound) in [
        ("", true),
        ("include = [\"o.example/*/*\"]", true),
        ("include = [\"other.example/*/*\"]", false),
    ] {
        let mirror = format!(
            "provider_installation {{\n network_mirror {{\n  url = \"https://r.example.com/mirror/\"\n  {include}\n }}\n}}\n"
        );
        home.write(".terraformrc", &(host_block("o.example") + &mirror));
        let ended = ended(&mut home.doctor(&[])).expect(0);
        let warned = with_status(&ended, "warn");
        assert_eq!(warned.is_empty(), is_sound, "{include}");
    }
}

#[test]
fn l9_a_host_block_over_a_host_with_a_sign_in_is_found_if_a_token_is_stored() {
    let home = Home::new();
    let discovery = |services: &'static str| {
        let answer = move |_: &Head| {
            let answer = Response::new(200, services);
            Then::Answer(Box::new(move |_| answer))
        };
        let url = start(Some(tls()), answer);
        url.replace("https://", "")
    };
    let registry = discovery(r#"{"modules.v1": "/v1/modules/"}"#);
    let remote = discovery(r#"{"modules.v1": "/v1/modules/", "tfe.v2": "/api/v2/"}"#);
    for (host, has_token, is_sound) in [
        ("app.terraform.io", true, false),
        ("app.terraform.io", false, true),
        (registry.as_str(), true, true),
        (remote.as_str(), true, false),
    ] {
        let token = format!("credentials {host:?} {{\n token = \"hunter2\"\n}}\n");
        let token = if has_token { token } else { String::new() };
        home.write(".terraformrc", &(host_block(host) + &token));
        let only = ["--only", "L9"];
        let ended = ended(&mut home.doctor(&only)).expect(0);
        assert_eq!(with_status(&ended, "warn").is_empty(), is_sound, "{host}");
    }
}

#[test]
fn l7_an_entry_for_the_registry_in_netrc_is_found() {
    let home = Home::new();
    home.write(
        ".netrc",
        "machine 127.0.0.1 login x password hunter2hunter2\n",
    );
    let registry = Sound::start(|_, response| response);
    // `ended` checks only secrets of the registry.
    let ended = ended(&mut home.doctor(&[&registry.url, "--only", "L7"])).expect(0);
    assert_found("L7", "warn", &ended);
    assert_lacks!(ended.stdout, "hunter2");
}

#[test]
fn an_empty_url_and_checks_that_need_a_registry_without_one_are_refused() {
    let home = Home::new();
    for (arguments, part) in [
        (&["", "--only", "L1"][..], "the URL is empty"),
        (&["--only", "T,S1"], "need a registry"),
        (&["--only", "M9"], "M1, M2"),
        (&["--explain", "M9"], "M1, M2"),
        (&["--only", "L1", "--skip", "l"], "leave no check"),
        (&["--timeout", "10"][..], "write 10s"),
        (&["--timeout", "0s"], "at most 1h"),
        (&["--timeout", "99999999999y"], "at most 1h"),
    ] {
        ended(&mut home.doctor(arguments)).fails(2, part);
    }
    ended(&mut home.doctor(&["--only", "T,L1"])).expect(0);
    let explained = ended(&mut home.doctor(&["--explain", "k5"])).expect(0);
    assert_eq!(explained.json()["id"], "K5");
}

#[test]
fn a_token_of_another_registry_is_not_sent() {
    let registry = Sound::start(|_, response| response);
    let mut command = doctor(&registry.url, &["--only", "R"]);
    command.env("TERRACE_URL", "https://other.example.com");
    let ended = ended(&mut command).expect(0);
    let observed = checks(&ended)["R1"]["observed"].to_string();
    assert_has!(observed, "TERRACE_URL only");
}
