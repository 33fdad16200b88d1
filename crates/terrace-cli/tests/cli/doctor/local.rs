//! The checks of this machine, without a registry: one fault each.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::sound::Sound;
use super::{checks, doctor, with_status};
use crate::support::{TOKEN, ended, fixture, terrace};

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
        command
            .args(arguments)
            .env("HOME", self.path())
            .env("APPDATA", self.path());
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
    let ended = ended(command).expect(code);
    let mut problems = with_status(&ended, "fail");
    problems.extend(with_status(&ended, "warn"));
    assert_eq!(problems, [id], "{ended:#?}");
    let check = &checks(&ended)[id];
    assert!(!check["error"].as_str().unwrap().is_empty(), "{check}");
    assert!(!check["fix"].as_str().unwrap().is_empty(), "{check}");
}

#[test]
fn a_machine_without_faults_passes_and_nothing_else_is_checked() {
    let home = Home::new();
    let ended = ended(&mut home.doctor(&[])).expect(0);
    assert_eq!(with_status(&ended, "fail"), [""; 0], "{ended:#?}");
    assert_eq!(with_status(&ended, "warn"), [""; 0], "{ended:#?}");
    let local: Vec<String> = checks(&ended)
        .into_keys()
        .filter(|id| id.starts_with('L'))
        .collect();
    let passed = with_status(&ended, "pass");
    assert_eq!(passed, local, "{ended:#?}");
}

#[test]
fn l1_an_invalid_and_an_absent_configuration_are_found() {
    let home = Home::new();
    home.write(".terraformrc", "credentials \"a.example\" {");
    found("L1", 3, &mut home.doctor(&[]));
    let home = Home::new();
    let absent = home.path().join("absent");
    found("L1", 0, home.doctor(&[]).env("TF_CLI_CONFIG_FILE", absent));
}

#[test]
fn l2_a_variable_without_a_host_and_one_of_a_similar_host_are_found() {
    let home = Home::new();
    found("L2", 0, home.doctor(&[]).env("TF_TOKEN_", "hunter2hunter2"));
    let registry = Sound::start(|_, response| response);
    let mut command = terrace(&["doctor", &registry.url, "--json", "--only", "L2"]);
    command
        .env("TERRACE_URL", &registry.url)
        .env("TERRACE_TOKEN", TOKEN);
    command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
    found(
        "L2",
        0,
        command.env("TF_TOKEN_127__0__0__1", "hunter2hunter2"),
    );
}

#[test]
fn l3_tokens_that_are_not_read_are_found() {
    let home = Home::new();
    home.write(
        ".terraform.d/credentials.tfrc.json",
        r#"{"credentials":{}}"#,
    );
    home.write("other.tfrc", "");
    let other = home.path().join("other.tfrc");
    found("L3", 0, home.doctor(&[]).env("TF_CLI_CONFIG_FILE", other));
}

fn installing(url: &str) -> Home {
    let home = Home::new();
    let block = format!("provider_installation {{\n network_mirror {{\n url = \"{url}\"\n }}\n}}");
    home.write(".terraformrc", &block);
    home
}

#[test]
fn l5_a_mirror_that_clients_reject_is_found() {
    for url in [
        "https://r.example.com/mirror",
        "http://r.example.com/mirror/",
    ] {
        found("L5", 3, &mut installing(url).doctor(&[]));
    }
    // `ended` checks that the secret is not printed.
    let secret = format!("https://ann:{TOKEN}@r.example.com/mirror/?token={TOKEN}");
    found("L5", 3, &mut installing(&secret).doctor(&[]));
    let valid = "https://r.example.com/mirror/";
    ended(&mut installing(valid).doctor(&["--strict"])).expect(0);
}

#[test]
fn l7_an_entry_for_the_registry_in_netrc_is_found() {
    let home = Home::new();
    home.write(
        ".netrc",
        "machine 127.0.0.1 login x password hunter2hunter2\n",
    );
    let registry = Sound::start(|_, response| response);
    let mut command = terrace(&["doctor", &registry.url, "--json", "--only", "L7"]);
    command
        .env("HOME", home.path())
        .env("SSL_CERT_FILE", fixture("tls/cert.pem"));
    command.env_remove("NETRC");
    let ended = ended(&mut command).expect(0);
    assert_eq!(with_status(&ended, "warn"), ["L7"], "{ended:#?}");
    assert!(!ended.stdout.contains("hunter2"), "{ended:#?}");
}

#[test]
fn l8_an_invalid_proxy_is_found_and_not_repeated() {
    let home = Home::new();
    for value in ["http://", "ftp://user:hunter2hunter2@proxy", "http://a b"] {
        let ended = ended(home.doctor(&["--only", "L8"]).env("HTTPS_PROXY", value)).expect(3);
        assert_eq!(with_status(&ended, "fail"), ["L8"], "{value}");
        assert!(!ended.stdout.contains("hunter2"), "{ended:#?}");
    }
}

#[test]
fn l9_a_place_without_certificates_is_found_whatever_the_other_variable_names() {
    let home = Home::new();
    fs::create_dir(home.path().join("certificates")).unwrap();
    fs::create_dir(home.path().join("none")).unwrap();
    let certificate = fs::read_to_string(fixture("tls/cert.pem")).unwrap();
    home.write("certificates/own.pem", &certificate);
    home.write("empty.pem", "");
    let foreign = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    home.write("foreign.pem", foreign);
    home.write("mixed.pem", &format!("{foreign}{certificate}"));
    let names = [
        "certificates",
        "none",
        "empty.pem",
        "absent.pem",
        "foreign.pem",
        "mixed.pem",
    ];
    let [valid, none, empty, absent, foreign, mixed] = names.map(|name| home.path().join(name));
    for file in [&empty, &absent, &foreign] {
        found("L9", 3, home.doctor(&[]).env("SSL_CERT_FILE", file));
        let mut with_directory = home.doctor(&[]);
        with_directory
            .env("SSL_CERT_FILE", file)
            .env("SSL_CERT_DIR", &valid);
        found("L9", 3, &mut with_directory);
    }
    found("L9", 3, home.doctor(&[]).env("SSL_CERT_DIR", &none));
    let mixed = ended(home.doctor(&["--only", "L9"]).env("SSL_CERT_FILE", mixed)).expect(0);
    let observed = checks(&mixed)["L9"]["observed"].to_string();
    assert!(observed.contains("1 authority by"), "{observed}");
    let several = std::env::join_paths([&absent, &valid]).unwrap();
    let sound = ended(home.doctor(&["--only", "L9"]).env("SSL_CERT_DIR", several)).expect(0);
    let observed = checks(&sound)["L9"]["observed"].to_string();
    assert!(
        observed.contains("SSL_CERT_FILE and SSL_CERT_DIR"),
        "{observed}"
    );
}

#[test]
fn l9_a_bad_file_is_found_beside_a_registry_which_cannot_be_examined_then() {
    let home = Home::new();
    let mut command = home.doctor(&["https://registry.example.com"]);
    let ended = ended(command.env("SSL_CERT_FILE", home.path().join("absent.pem"))).expect(3);
    assert_eq!(with_status(&ended, "fail"), ["L9"], "{ended:#?}");
    for id in ["T1", "S1", "P1", "W1"] {
        assert_eq!(checks(&ended)[id]["observed"], "L9 failed", "{id}");
    }
}

#[test]
fn an_empty_url_checks_that_need_a_registry_without_one_and_a_time_of_zero_are_refused() {
    let home = Home::new();
    for (arguments, part) in [
        (&["", "--only", "L1"][..], "the URL is empty"),
        (&["--only", "T,S1"][..], "need a registry"),
        (&["--timeout", "0"][..], "1s to 1h"),
        (&["--timeout", "0s"][..], "1s to 1h"),
    ] {
        let ended = ended(&mut home.doctor(arguments)).expect(2);
        assert!(ended.errors().contains(part), "{arguments:?}: {ended:#?}");
    }
    ended(&mut home.doctor(&["--only", "T,L1"])).expect(0);
}

#[test]
fn a_token_of_another_registry_is_not_sent() {
    let registry = Sound::start(|_, response| response);
    let mut command = doctor(&registry.url, &["--only", "R"]);
    command.env("TERRACE_URL", "https://other.example.com");
    let ended = ended(&mut command).expect(0);
    assert_eq!(with_status(&ended, "skip").len(), 4, "{ended:#?}");
    let observed = checks(&ended)["R1"]["observed"].to_string();
    assert!(observed.contains("TERRACE_URL only"), "{observed}");
}
