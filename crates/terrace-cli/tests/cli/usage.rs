//! The command line itself.

use std::fs;

use serde_json::json;

use super::support::registry::Registry;
use super::support::{Dist, TOKEN, assert_has, assert_lacks, directory, ended, terrace, words};

#[test]
fn help_succeeds_without_the_token_and_a_command_without_arguments_prints_it() {
    for (arguments, code) in [
        (&["--help"] as &[&str], 0),
        (&["help", "key", "add"], 0),
        (&[], 2),
        (&["key"], 2),
    ] {
        let ended = ended(&mut terrace(arguments)).expect(code);
        assert_has!(
            format!("{}{}", ended.stdout, ended.stderr),
            "Usage: terrace"
        );
    }
}

#[test]
fn a_missing_registry_or_token_is_a_usage_error() {
    let module = directory(&[("main.tf", "")]);
    let mut line = words("publish module --json --address acme/vpc/aws --version 1.0.0");
    line.push(module.path().to_str().unwrap());
    let url = "http://127.0.0.1:9";
    for (url, token, hint) in [
        ("", TOKEN, "TERRACE_URL"),
        ("registry.example.com", TOKEN, "https://"),
        (url, "", "TERRACE_TOKEN"),
        (url, "two words", "token"),
    ] {
        let mut command = terrace(&line);
        let ended = ended(command.envs([("TERRACE_URL", url), ("TERRACE_TOKEN", token)]));
        // Nothing was packed.
        assert_eq!(ended.stderr, "");
        assert_lacks!(ended.fails(2, hint), "two words");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_printed_is_a_failure() {
    let registry = Registry::start();
    let mut command = terrace(&["key", "list", "acme", "--json"]);
    command.args(["--url", registry.url(), "--token", TOKEN]);
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = command.stdout(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_closed_pipe_is_an_error_only_if_a_secret_is_lost() {
    let registry = Registry::start();
    let made = json!({
        "id": "7f3a9c2e51b04d68", "token": "t", "name": "CI", "scopes": ["read"],
        "created": "2026-01-01T00:00:00Z", "created_by": "root",
    });
    registry.answer("POST", "/admin/v1/tokens", &made);
    let create = "token create --name CI --scope read --expires 1d";
    for (line, code) in [("key list acme", 0), (create, 1)] {
        let mut command = terrace(&words(line));
        command.args(["--url", registry.url(), "--token", TOKEN]);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            errors.contains("could not be printed"),
            code == 1,
            "{errors}"
        );
    }
}

#[test]
fn an_invalid_command_line_is_reported_as_json() {
    let mut command = terrace(&words("publish provider --namespace a--b --json"));
    let ended = ended(&mut command);
    assert_eq!(ended.json()["status"], "usage");
    ended.fails(2, "a--b");
}

#[test]
fn quiet_prints_only_the_result_and_the_warnings() {
    let registry = Registry::start();
    let dist = Dist::new();
    let mut command = terrace(&["publish", "provider", "--namespace", "acme", "--quiet"]);
    command.arg(dist.path()).env("TERRACE_URL", registry.url());
    let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0);
    let is_warning = |line: &str| line.starts_with("warning: ");
    assert!(ended.stderr.lines().all(is_warning), "{ended:?}");
    assert_has!(ended.stdout, "published acme/hello 1.2.3");
}

#[test]
fn a_token_is_not_sent_over_plain_http_to_another_machine() {
    let run = |more: &[&str], value: Option<&str>| {
        let mut command = terrace(&words("key list acme --json --retries 0"));
        command.env("TERRACE_URL", "http://registry.invalid:8787");
        command.envs(value.map(|value| ("TERRACE_INSECURE", value)));
        ended(command.args(more).env("TERRACE_TOKEN", TOKEN))
    };
    let errors = run(&[], None).fails(2, "http://registry.invalid:8787 ");
    assert_has!(errors, "--insecure");
    run(&["--url", "http://127.0.0.1.invalid"], None).fails(2, "--insecure");
    // No such host can be found, so it was looked for.
    let allowed = run(&["--insecure"], None).expect(6);
    assert_has!(
        allowed.stderr,
        "the token is sent to http://registry.invalid:8787"
    );
    for (value, code) in [("1", 6), ("true", 6), ("0", 2), ("false", 2), ("", 2)] {
        run(&[], Some(value)).expect(code);
    }
}

#[test]
fn a_registry_on_this_machine_is_reached_without_a_proxy() {
    let (registry, proxy) = (Registry::start(), Registry::start());
    for variable in words("HTTPS_PROXY HTTP_PROXY ALL_PROXY http_proxy https_proxy") {
        let mut command = terrace(&words("key list acme --retries 0"));
        command.args(["--url", registry.url(), "--token", TOKEN]);
        ended(command.env(variable, proxy.url())).expect(0);
    }
    assert_eq!(proxy.requests(), [""; 0]);
}
