//! `terrace serve`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
#[cfg(unix)]
use std::time::Duration;

use serde_json::Value;

use super::support::{directory, ended, run_to_end, terrace};

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
        let mut stream = TcpStream::connect(self.authority()).unwrap();
        let host = self.authority();
        let head = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[cfg(unix)]
    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Sends a signal, and returns the exit code and the log.
    #[cfg(unix)]
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
#[cfg(unix)]
fn a_registry_answers_until_a_signal_stops_it() {
    let served = Served::start(&mut terrace(&["serve"]));
    assert!(served.get("/healthz").starts_with("HTTP/1.1 200 "));
    let token = served.greeting["token"].as_str().unwrap().to_owned();
    assert!(token.len() >= 32, "{token}");
    let mut list = terrace(&[
        "token",
        "list",
        "--url",
        served.greeting["url"].as_str().unwrap(),
    ]);
    ended(list.env("TERRACE_TOKEN", &token)).expect(0);
    let (code, log) = served.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("\"route\":\"health\""), "{log}");
    assert!(log.contains("server: stopping"), "{log}");
    assert!(!log.contains(&token), "{log}");
}

#[test]
#[cfg(unix)]
fn a_hangup_neither_ends_a_registry_nor_changes_its_settings() {
    let folder = directory(&[("TERRACE_WEB_NAME", "Before")]);
    let mut command = terrace(&["serve", "--secrets"]);
    let served = Served::start(command.arg(folder.path()));
    assert!(served.get("/").contains("Before"));
    std::fs::write(folder.path().join("TERRACE_WEB_NAME"), "After").unwrap();
    served.signal("-HUP");
    std::thread::sleep(Duration::from_millis(100));
    assert!(served.get("/").contains("Before"));
    let (code, log) = served.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("settings need a restart"), "{log}");
}

#[test]
fn a_registry_at_every_address_names_a_url_that_it_accepts() {
    let listen = ["serve", "--memory", "--listen", "0.0.0.0:0", "--json"];
    let served = Served::started(&mut terrace(&listen));
    let authority = served.authority();
    assert!(authority.starts_with("127.0.0.1:"), "{authority}");
    assert!(served.get("/").starts_with("HTTP/1.1 200 "));
}

#[test]
fn settings_come_from_the_command_line_the_environment_and_a_file() {
    let folder = directory(&[(
        "wrangler.toml",
        "name = \"terrace\"\n[vars]\nTERRACE_WEB_NAME = \"Of the file\"\nTERRACE_WEB_ACCENT = \"#123456\"\n",
    )]);
    let mut command = terrace(&["serve", "--var", "TERRACE_WEB_NAME=Of the command line"]);
    command
        .arg("--config")
        .arg(folder.path().join("wrangler.toml"));
    let served = Served::start(command.env("TERRACE_ADMIN_TOKEN", "of-the-environment"));
    assert_eq!(served.greeting.get("token"), None, "the operator knows it");
    let page = served.get("/");
    assert!(page.contains("Of the command line"), "{page}");
}

#[test]
fn settings_come_from_json_with_comments() {
    let folder = directory(&[(
        "wrangler.jsonc",
        "{ // the file of the deployment folder\n  \"vars\": { \"TERRACE_WEB_NAME\": \"Of the JSON\", },\n}",
    )]);
    let mut command = terrace(&["serve", "--config"]);
    let served = Served::start(command.arg(folder.path().join("wrangler.jsonc")));
    let page = served.get("/");
    assert!(page.contains("Of the JSON"), "{page}");
}

#[test]
fn an_invalid_setting_is_a_usage_error() {
    for (arguments, variable, reason) in [
        (
            &["--var", "TERRACE_ACCESS=x"] as &[&str],
            None,
            "TERRACE_ACCESS is \"x\"",
        ),
        (
            &["--var", "TERRACE_ACESS=private"],
            None,
            "did you mean TERRACE_ACCESS",
        ),
        (
            &["--var", "TERRACE_ADMIN_TOKEN=something-secret"],
            None,
            "set it in the environment",
        ),
        (&["--var", "TERRACE_ACCESS"], None, "NAME=VALUE"),
        (
            &[],
            Some(("TERRACE_ACESS", "private")),
            "did you mean TERRACE_ACCESS",
        ),
        (
            &[],
            Some(("TERRACE_ADMIN_TOKEN", "short")),
            "at least 16 characters",
        ),
        (&["--trust-proxy", "x"], None, "a range of them"),
        (&["--config", "absent.toml"], None, "absent.toml"),
        (&["--tls-cert", "absent.pem"], None, "--tls-key"),
    ] {
        let mut command = terrace(&["serve", "--memory", "--listen", "127.0.0.1:0"]);
        let ended = run_to_end(command.args(arguments).envs(variable)).expect(2);
        assert!(ended.stderr.contains(reason), "{ended:?}");
        assert!(!ended.stderr.contains("something-secret"), "{ended:?}");
    }
}

#[test]
fn a_registry_whose_downloads_would_lead_elsewhere_is_not_served() {
    let mut command = terrace(&["serve", "--memory", "--listen", "127.0.0.1:0"]);
    let s3 = [
        ("TERRACE_S3_ENDPOINT", "https://s3.example.com"),
        ("TERRACE_S3_BUCKET", "terrace"),
        ("TERRACE_S3_ACCESS_KEY_ID", "id"),
        ("TERRACE_S3_SECRET_ACCESS_KEY", "secret"),
    ];
    let ended = ended(command.envs(s3)).expect(2);
    assert!(
        ended.stderr.contains("TERRACE_S3_ENDPOINT is set"),
        "{ended:?}"
    );
}

/// The configuration of a Worker can be served as it is.
#[test]
#[cfg(unix)]
fn a_registry_that_would_serve_archives_from_the_edge_serves_them_itself_and_says_so() {
    let served = Served::start(&mut terrace(&["serve", "--var", "TERRACE_DOWNLOADS=edge"]));
    assert!(served.get("/healthz").starts_with("HTTP/1.1 200 "));
    let (code, log) = served.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("no cache at the edge"), "{log}");
    let mut command = terrace(&["serve", "--memory", "--var", "TERRACE_DOWNLOADS=presigned"]);
    let refused = ended(&mut command).expect(2);
    assert!(refused.stderr.contains("requires S3 keys"), "{refused:?}");
}

#[test]
fn a_registry_with_a_second_bucket_is_not_served() {
    let mut command = terrace(&["serve", "--memory", "--listen", "127.0.0.1:0"]);
    let fallback = [
        ("TERRACE_S3_FALLBACK_ENDPOINT", "https://s3.example.com"),
        ("TERRACE_S3_FALLBACK_BUCKET", "copies"),
        ("TERRACE_S3_FALLBACK_ACCESS_KEY_ID", "id"),
        ("TERRACE_S3_FALLBACK_SECRET_ACCESS_KEY", "secret"),
    ];
    let ended = ended(command.envs(fallback)).expect(2);
    assert!(
        ended.stderr.contains("TERRACE_S3_FALLBACK_ENDPOINT is set"),
        "{ended:?}"
    );
}

#[test]
fn an_address_that_is_in_use_is_named() {
    let served = Served::start(&mut terrace(&["serve"]));
    let mut command = terrace(&["serve", "--memory", "--listen", served.authority()]);
    let ended = ended(&mut command).expect(1);
    assert!(ended.stderr.contains(served.authority()), "{ended:?}");
    assert!(ended.stderr.contains("--listen"), "{ended:?}");
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
    #[cfg(unix)]
    for (path, rights) in [
        ("", 0o700),
        (".terrace", 0o700),
        (".terrace/indices.redb", 0o600),
    ] {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = std::fs::metadata(data.join(path)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, rights, "{path}");
    }
    drop(first);
    let second = Served::started(&mut start("127.0.0.1:0"));
    assert_eq!(second.greeting.get("token"), None);
}

#[test]
fn a_number_of_threads_that_no_machine_can_use_is_refused() {
    for threads in ["100000", "257", "0"] {
        let mut command = terrace(&["serve", "--memory", "--listen", "127.0.0.1:0"]);
        let ended = ended(command.args(["--threads", threads])).expect(2);
        assert!(ended.stderr.contains("1..=256"), "{ended:?}");
    }
}

#[cfg(not(feature = "object-store"))]
#[test]
fn a_build_without_object_stores_says_so_and_does_not_print_the_url() {
    let url = "s3://AKIAEXAMPLE:sesame@registry";
    let ended = ended(&mut terrace(&["serve", "--store", url])).expect(2);
    assert!(ended.stderr.contains("without object stores"), "{ended:?}");
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!printed.contains("sesame"), "{printed}");
}

#[cfg(feature = "object-store")]
#[test]
fn a_password_in_the_url_of_a_store_is_refused_and_not_printed() {
    for url in [
        "s3://AKIAEXAMPLE:sesame@registry",
        "s3://AKIAEXAMPLE:ses/ame@registry",
    ] {
        let ended = ended(&mut terrace(&["serve", "--store", url])).expect(2);
        assert!(
            ended.stderr.contains("a user name or a password"),
            "{ended:?}"
        );
        let printed = format!("{}{}", ended.stdout, ended.stderr);
        for secret in ["AKIAEXAMPLE", "sesame", "ses/ame"] {
            assert!(!printed.contains(secret), "{printed}");
        }
    }
    let ended = ended(&mut terrace(&["serve", "--store", "s3://registry/a/../b"])).expect(2);
    assert!(
        ended.stderr.contains("the prefix contains \"..\""),
        "{ended:?}"
    );
}

#[cfg(feature = "object-store")]
#[test]
fn a_setting_of_a_store_that_is_no_boolean_is_named() {
    let mut command = terrace(&["serve", "--store", "s3://registry"]);
    let ended = ended(command.env("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "ja")).expect(2);
    let expected = "AWS_VIRTUAL_HOSTED_STYLE_REQUEST is \"ja\", which is no boolean";
    assert!(ended.stderr.contains(expected), "{ended:?}");
}
