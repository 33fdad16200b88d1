//! The command line itself.

use std::fs;
use std::process::Stdio;

use super::support::registry::Registry;
use super::support::{Dist, TOKEN, directory, ended, run, terrace};

#[test]
fn help_lists_the_exit_codes_and_does_not_show_the_token() {
    for (arguments, has_conflicts) in [
        (&["--help"] as &[&str], true),
        (&["publish", "provider", "--help"], true),
        (&["publish", "module", "-h"], true),
        (&["key", "--help"], false),
        (&["key", "add", "--help"], false),
        (&["mirror", "push", "--help"], true),
    ] {
        let mut command = terrace(arguments);
        let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0);
        let lists_conflict = ended.stdout.contains("  4  conflict: ");
        assert_eq!(lists_conflict, has_conflicts, "{}", ended.stdout);
        assert!(
            ended.stdout.contains("  5  not allowed: "),
            "{}",
            ended.stdout
        );
        assert!(
            ended.stdout.contains("Example:\n  terrace "),
            "{}",
            ended.stdout
        );
        assert!(ended.stdout.contains("TERRACE_TOKEN"), "{}", ended.stdout);
    }
}

#[test]
fn the_version_names_the_machine_that_the_command_is_built_for() {
    let expected = concat!("terrace ", env!("CARGO_PKG_VERSION"), " (");
    for flag in ["--version", "-V"] {
        let ended = ended(&mut terrace(&[flag])).expect(0);
        let line = ended.stdout.trim_end();
        assert!(line.starts_with(expected), "{line}");
        let build = line.trim_start_matches(expected);
        let target = build.rsplit(", ").next().unwrap();
        assert!(target.starts_with(std::env::consts::ARCH), "{line}");
        assert!(target.ends_with(')') && target.contains('-'), "{line}");
    }
}

#[test]
fn a_missing_registry_or_token_is_a_usage_error() {
    let dist = Dist::new();
    let arguments = ["publish", "provider", &dist.path(), "--namespace", "acme"];
    let url = "http://127.0.0.1:9";
    for (url, token, hint) in [
        (None, Some(TOKEN), "TERRACE_URL"),
        (Some(""), Some(TOKEN), "TERRACE_URL"),
        (Some("registry.example.com"), Some(TOKEN), "https://"),
        (Some(url), None, "TERRACE_TOKEN"),
        (Some(url), Some(""), "TERRACE_TOKEN"),
        (Some(url), Some("two words"), "token"),
    ] {
        let mut command = terrace(&arguments);
        command.envs(url.map(|url| ("TERRACE_URL", url)));
        command.envs(token.map(|token| ("TERRACE_TOKEN", token)));
        let ended = ended(command.arg("--json")).expect(2);
        assert!(ended.errors().contains(hint), "{ended:?}");
        assert!(!ended.stderr.contains("two words"), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
}

#[test]
fn a_usage_line_never_suggests_a_token_on_the_command_line() {
    for (arguments, usage) in [
        (
            &["publish", "module", "--version", "1.0.0"] as &[&str],
            "Usage: terrace publish module [OPTIONS] --address <ADDRESS> --version <VERSION> [DIR|ARCHIVE]",
        ),
        (
            &["admin", "import"],
            "Usage: terrace admin import [OPTIONS] <DIR>",
        ),
        (
            &["release", "revoke", "acme/widget@1.0.0"],
            "Usage: terrace release revoke [OPTIONS] --reason <REASON> <ADDRESS>",
        ),
        (&["token", "rotate", "x"], "try '--help'"),
        (&["--tokn"], "Usage: terrace [OPTIONS] <COMMAND>"),
        (
            &["admin", "import", "a", "b"],
            "Usage: terrace admin import [OPTIONS] <DIR>",
        ),
    ] {
        let mut command = terrace(arguments);
        command.env("TERRACE_URL", "http://127.0.0.1:9");
        let message = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(2).stderr;
        assert!(message.contains(usage), "{message}");
        assert!(!message.contains("--token <TOKEN>"), "{message}");
        assert!(!message.contains("--url <URL>"), "{message}");
    }
}

#[test]
fn a_duration_without_a_unit_is_rejected_with_a_suggestion() {
    let create = ["token", "create", "--name", "ci", "--scope", "read"];
    for (arguments, advice) in [
        ([&create[..], &["--expires", "90"]].concat(), "write 90d"),
        (
            vec!["admin", "audit", "--since", "yesterday"],
            "such as 24h",
        ),
        (vec!["admin", "gc", "--older-than", "30"], "write 30d"),
    ] {
        let message = ended(&mut terrace(&arguments)).expect(2).stderr;
        assert!(message.contains(advice), "{message}");
    }
}

#[test]
fn a_module_is_not_packed_without_a_registry_and_a_token() {
    let module = directory(&[("main.tf", "")]);
    let path = module.path().to_str().unwrap();
    let named = ["--address", "acme/vpc/aws", "--version", "1.0.0"];
    let arguments = [&["publish", "module", path], &named[..]].concat();
    for url in [None, Some("http://127.0.0.1:9")] {
        let mut command = terrace(&arguments);
        let ended = ended(command.envs(url.map(|url| ("TERRACE_URL", url)))).expect(2);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        assert!(ended.stderr.contains("`. .terrace/env`"), "{ended:?}");
    }
}

#[test]
fn a_rejected_url_is_not_repeated() {
    let dist = Dist::new();
    for url in [
        "https://user:sekret@registry.example.com",
        "https://registry.example.com/?token=sekret",
    ] {
        let mut command = terrace(&["publish", "provider", &dist.path(), "--namespace", "acme"]);
        command.args(["--json", "--url", url, "--token", TOKEN]);
        let ended = ended(&mut command).expect(2);
        assert!(!format!("{ended:?}").contains("sekret"), "{ended:?}");
    }
}

#[test]
fn a_url_that_is_not_of_a_host_is_rejected_with_the_reason() {
    for (url, reason) in [
        ("https://:443", "its host is missing"),
        ("https://]:[", "its host is not a valid host name"),
        (
            "https://10.0.0.1:99999",
            "its port is not a number up to 65535",
        ),
        (
            "https://2001:db8::1",
            "its port is not a number up to 65535",
        ),
        ("https://10.0.0.1:0", "port 0 cannot be connected to"),
        ("ftp://10.0.0.1", "its scheme is neither https nor http"),
    ] {
        let mut command = terrace(&["key", "list", "acme", "--json", "--retries", "0"]);
        command.args(["--url", url, "--token", TOKEN]);
        let errors = ended(&mut command).expect(2).errors();
        assert!(errors.contains(reason), "{url}: {errors}");
        let origin = format!("registry.example.com={url}");
        let mirror = ["mirror", "add", "registry.example.com/acme/hello"];
        let mut command = terrace(&mirror);
        command.args(["--json", "--dry-run", "--origin", &origin]);
        let errors = ended(&mut command).expect(2).errors();
        assert!(errors.contains(reason), "{url}: {errors}");
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
fn a_closed_pipe_ends_a_command_that_only_reads_without_an_error() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", "variable \"a\" {}")]);
    let publish = ["publish", "module", module.path().to_str().unwrap()];
    let address = ["--address", "acme/vpc/aws", "--version", "1.0.0"];
    for (arguments, code, says) in [
        (&["key", "list", "acme"][..], 0, false),
        (&[&publish[..], &address].concat(), 1, true),
    ] {
        let mut command = terrace(arguments);
        command.args(["--url", registry.url(), "--token", TOKEN]);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = command.stdout(writer).stderr(Stdio::piped()).output();
        let ended = ended.unwrap();
        let text = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{text}");
        assert_eq!(text.contains("could not be printed"), says, "{text}");
    }
}

#[test]
fn an_invalid_command_line_is_reported_as_json() {
    let mut command = terrace(&["publish", "provider", "--namespace", "a--b", "--json"]);
    let ended = ended(&mut command).expect(2);
    assert_eq!(ended.json()["status"], "usage");
    assert!(ended.errors().contains("a--b"), "{ended:?}");
    assert!(ended.stderr.contains("two dashes in a row"));
}

#[test]
fn the_json_of_an_invalid_command_line_has_the_whole_message() {
    for (arguments, message) in [
        (
            &["token", "create", "--name", "ci"] as &[&str],
            "the following required arguments were not provided: --scope <SCOPE>, --expires <DURATION|never>",
        ),
        (
            &["token", "list", "--expirin", "14d"],
            "unexpected argument '--expirin' found; tip: a similar argument exists: '--expiring'",
        ),
        (
            &["token", "list", "--expiring", "14"],
            "invalid value '14' for '--expiring <DURATION>': the unit is missing: write 14d",
        ),
    ] {
        let ended = ended(terrace(arguments).arg("--json")).expect(2);
        assert_eq!(ended.errors(), message);
    }
}

#[test]
fn options_take_precedence_over_the_environment() {
    let registry = Registry::start();
    let mut command = terrace(&["key", "list", "acme", "--url", registry.url()]);
    command.args(["--token", TOKEN]);
    command.env("TERRACE_URL", "http://127.0.0.1:9");
    command.env("TERRACE_TOKEN", "another-token");
    ended(&mut command).expect(0);
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
    assert_eq!(ended.stdout.lines().count(), 1, "{ended:?}");
    assert!(ended.stdout.contains("published acme/hello 1.2.3"));
}

#[test]
fn uploads_are_lines_if_bars_cannot_be_drawn() {
    let registry = Registry::start();
    let dist = Dist::new();
    let ended = run(
        &registry,
        &["publish", "provider", &dist.path(), "--namespace", "acme"],
    );
    let lines = |what: &str| ended.stderr.lines().filter(|l| l.starts_with(what)).count();
    assert_eq!(
        (lines("uploading "), lines("uploaded ")),
        (6, 6),
        "{ended:?}"
    );
    assert!(!ended.stderr.contains('\x1b'), "{ended:?}");
}

#[test]
fn names_of_files_cannot_move_the_cursor() {
    let dist = Dist::new();
    let name = "terraform-provider-\x1b[2Jx_1.0.0_SHA256SUMS";
    fs::write(dist.file("SHA256SUMS").with_file_name(name), "").unwrap();
    let mut command = terrace(&["publish", "provider", &dist.path(), "--namespace", "acme"]);
    command.env("TERRACE_URL", "http://127.0.0.1:9");
    let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(3);
    assert!(!ended.stderr.contains('\x1b'), "{ended:?}");
    assert!(ended.stderr.contains("several releases"), "{ended:?}");
}

#[test]
fn a_token_is_not_sent_over_plain_http_to_another_machine() {
    let refused = |more: &[&str]| {
        let mut command = terrace(&["key", "list", "acme", "--json", "--retries", "0"]);
        command.env("TERRACE_URL", "http://registry.invalid:8787");
        ended(command.args(more).env("TERRACE_TOKEN", TOKEN))
    };
    for ended in [
        refused(&[]),
        refused(&["--url", "http://127.0.0.1.invalid"]),
    ] {
        let ended = ended.expect(2);
        assert_eq!(ended.json()["status"], "usage");
        assert!(ended.errors().contains("invalid"), "{ended:?}");
        assert!(ended.errors().contains("--insecure"), "{ended:?}");
    }
    assert!(
        refused(&[])
            .errors()
            .contains("http://registry.invalid:8787 ")
    );
    // No such host can be found, so it was looked for.
    let allowed = refused(&["--insecure"]).expect(6);
    assert!(
        allowed
            .stderr
            .contains("warning: the token is sent to http://registry.invalid:8787")
    );
}

#[test]
fn a_registry_on_this_machine_is_reached_without_a_proxy() {
    for variable in [
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
    ] {
        let (registry, proxy) = (Registry::start(), Registry::start());
        let mut command = terrace(&["key", "list", "acme", "--retries", "0"]);
        command
            .env("TERRACE_URL", registry.url())
            .env("TERRACE_TOKEN", TOKEN);
        ended(command.env(variable, proxy.url()));
        assert!(
            proxy.requests().is_empty(),
            "{variable}: {:?}",
            proxy.requests()
        );
        assert!(!registry.requests().is_empty(), "{variable}");
    }
}

#[test]
fn plain_http_can_be_allowed_in_the_environment() {
    for (value, code) in [("1", 6), ("true", 6), ("0", 2), ("false", 2), ("", 2)] {
        let mut command = terrace(&["token", "list", "--retries", "0"]);
        command.env("TERRACE_URL", "http://registry.invalid");
        command.env("TERRACE_INSECURE", value);
        ended(command.env("TERRACE_TOKEN", TOKEN)).expect(code);
    }
}
