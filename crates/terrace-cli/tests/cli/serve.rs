//! `terrace serve`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::plain_http::get;
use super::support::{assert_has, assert_lacks, directory, ended, run_to_end, terrace, words};

/// A registry that runs until the end of a test.
struct Served {
    child: Child,
    greeting: Value,
}

impl Served {
    /// Starts a registry in memory.
    fn start(command: &mut Command) -> Self {
        Self::started(command.args(["--memory", "--listen", "127.0.0.1:0", "--json"]))
    }

    fn started(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut text = String::new();
        while serde_json::from_str::<Value>(&text).is_err() {
            text += &lines.next().expect("the registry starts").unwrap();
        }
        let greeting = serde_json::from_str(&text).unwrap();
        Self { child, greeting }
    }

    fn authority(&self) -> &str {
        let url = self.greeting["url"].as_str().unwrap();
        url.strip_prefix("http://").unwrap()
    }

    fn get(&self, target: &str) -> String {
        get(self.authority(), self.authority(), target)
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Sends a signal, and returns the exit code and the log.
    fn stop(mut self) -> (Option<i32>, String) {
        self.signal("-TERM");
        let code = self.child.wait().unwrap().code();
        let mut log = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut log).unwrap();
        (code, log)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_registry_answers_until_a_signal_stops_it() {
    let served = Served::start(&mut terrace(&["serve"]));
    assert_has!(served.get("/healthz"), "HTTP/1.1 200 ");
    let [token, url] = ["token", "url"].map(|it| served.greeting[it].as_str().unwrap().to_owned());
    assert!(token.len() >= 32, "{token}");
    let mut list = terrace(&["token", "list", "--url", &url]);
    ended(list.env("TERRACE_TOKEN", &token)).expect(0);
    let (code, log) = served.stop();
    assert_eq!(code, Some(0), "{log}");
    assert_has!(log, "\"route\":\"health\"", "server: stopping");
    assert_lacks!(log, token);
}

#[test]
fn a_hangup_neither_ends_a_registry_nor_changes_its_settings() {
    let folder = directory(&[("TERRACE_WEB_NAME", "Before")]);
    let mut command = terrace(&["serve", "--secrets"]);
    let served = Served::start(command.arg(folder.path()));
    assert_has!(served.get("/"), "Before");
    std::fs::write(folder.path().join("TERRACE_WEB_NAME"), "After").unwrap();
    served.signal("-HUP");
    std::thread::sleep(Duration::from_millis(100));
    assert_has!(served.get("/"), "Before");
    let (code, log) = served.stop();
    assert_eq!(code, Some(0), "{log}");
    assert_has!(log, "settings need a restart");
}

#[test]
fn settings_come_from_the_command_line_the_environment_and_a_file() {
    let toml = "name = \"terrace\"\n[vars]\nTERRACE_WEB_NAME = \"Of the file\"\n";
    let json = "{ // a comment\n  \"vars\": { \"TERRACE_WEB_NAME\": \"Of the JSON\", },\n}";
    let folder = directory(&[("wrangler.toml", toml), ("wrangler.jsonc", json)]);
    let line = ["--var", "TERRACE_WEB_NAME=Of the line"];
    for (file, more, name) in [
        ("wrangler.toml", &line[..], "Of the line"),
        ("wrangler.toml", &[], "Of the file"),
        ("wrangler.jsonc", &[], "Of the JSON"),
    ] {
        let mut command = terrace(&["serve", "--config"]);
        command.arg(folder.path().join(file)).args(more);
        let served = Served::start(command.env("TERRACE_ADMIN_TOKEN", "of-the-environment"));
        assert_eq!(served.greeting.get("token"), None, "the operator knows it");
        assert_has!(served.get("/"), name);
    }
}

#[test]
fn an_invalid_setting_is_a_usage_error() {
    for (line, variable, reason) in [
        ("--var TERRACE_ACCESS=x", None, "TERRACE_ACCESS is \"x\""),
        (
            "--var TERRACE_ADMIN_TOKEN=something-secret",
            None,
            "set it in the environment",
        ),
        ("--var TERRACE_ACCESS", None, "NAME=VALUE"),
        ("--quiet", Some(("TERRACE_ACESS", "x")), "did you mean"),
        ("--trust-proxy x", None, "a range of them"),
        ("--config absent.toml", None, "absent.toml"),
        ("--tls-cert absent.pem", None, "--tls-key"),
    ] {
        let mut command = terrace(&words("serve --memory --listen 127.0.0.1:0"));
        let ended = run_to_end(command.args(words(line)).envs(variable)).expect(2);
        assert_has!(ended.stderr, reason);
        assert_lacks!(ended.stderr, "something-secret");
    }
}

#[test]
fn a_registry_with_object_stores_that_it_cannot_serve_is_not_served() {
    for bucket in ["S3", "S3_FALLBACK"] {
        let mut command = terrace(&words("serve --memory --listen 127.0.0.1:0"));
        let url = "https://s3.example.com";
        command.env(format!("TERRACE_{bucket}_ENDPOINT"), url);
        for name in ["BUCKET", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY"] {
            command.env(format!("TERRACE_{bucket}_{name}"), "terrace");
        }
        let ended = ended(&mut command).expect(2);
        assert_has!(ended.stderr, format!("TERRACE_{bucket}_ENDPOINT is set"));
    }
}

/// A first start that fails shows no token, so the next one does.
#[test]
fn an_admin_token_is_kept_by_the_start_that_shows_it() {
    let served = Served::start(&mut terrace(&["serve"]));
    let folder = directory(&[]);
    let data = folder.path().join("registry");
    let start = |listen: &str| {
        let mut command = terrace(&["serve", "--listen", listen, "--json", "--data"]);
        command.arg(&data);
        command
    };
    ended(&mut start(served.authority())).expect(1);
    let file = data.join(".terrace/admin-token");
    assert!(!file.exists());
    let first = Served::started(&mut start("127.0.0.1:0"));
    let token = first.greeting["token"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), token);
    for (path, rights) in [
        ("", 0o700),
        (".terrace", 0o700),
        (".terrace/admin-token", 0o600),
        (".terrace/indices.redb", 0o600),
    ] {
        let metadata = std::fs::metadata(data.join(path)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, rights, "{path}");
    }
    let token = token.to_owned();
    drop(first);
    // An empty variable is none.
    let second = Served::started(start("127.0.0.1:0").env("TERRACE_ADMIN_TOKEN", ""));
    assert_eq!(second.greeting.get("token"), None);
    let url = second.greeting["url"].as_str().unwrap();
    let mut list = terrace(&["token", "list", "--url", url]);
    ended(list.env("TERRACE_TOKEN", token)).expect(0);
}

#[cfg(not(feature = "object-store"))]
#[test]
fn a_build_without_object_stores_says_so_and_does_not_print_the_url() {
    let url = "s3://AKIAEXAMPLE:sesame@registry";
    let ended = ended(&mut terrace(&["serve", "--store", url])).expect(2);
    assert_has!(ended.stderr, "without object stores");
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    assert_lacks!(printed, "sesame");
}

#[cfg(feature = "object-store")]
#[test]
fn a_password_in_the_url_of_a_store_is_refused_and_not_printed() {
    let url = "s3://AKIAEXAMPLE:ses/ame@registry";
    let ended = ended(&mut terrace(&["serve", "--store", url])).expect(2);
    assert_has!(ended.stderr, "a user name or a password");
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    assert_lacks!(printed, "AKIAEXAMPLE", "ses/ame");
}
