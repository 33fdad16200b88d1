//! `terrace login`, `logout`, `whoami` and profiles.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::support::http::{Head, Response, Then, serve};
use crate::support::{directory, ended, run_to_end, terrace};

const STORED: &str = if cfg!(windows) {
    "terraform.d/credentials.tfrc.json"
} else {
    ".terraform.d/credentials.tfrc.json"
};

/// The token that the registry issues.
const ISSUED: &str = "terrace_0123456789abcdef.issued";

type Seen = Arc<Mutex<Vec<(Head, String)>>>;

/// A registry with the routes of sign-ins and of the caller's own token.
struct Registry {
    url: String,
    seen: Seen,
}

impl Registry {
    fn start() -> Self {
        Self::with_login(json!({
            "client": "terraform-cli", "grant_types": ["authz_code"], "authz": "/oauth/authorize",
            "token": "/oauth/token", "ports": [23_000, 23_999],
        }))
    }

    fn with_login(login: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Seen::default();
        let registry = Self {
            url,
            seen: Arc::clone(&seen),
        };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, login) = (Arc::clone(&seen), login.clone());
                thread::spawn(move || {
                    serve(stream, |head| {
                        let (head, seen) = (head.clone(), Arc::clone(&seen));
                        Then::Answer(Box::new(move |body| {
                            let body = String::from_utf8(body).unwrap();
                            let response = answer(&head, &login);
                            seen.lock().unwrap().push((head, body));
                            response
                        }))
                    });
                });
            }
        });
        registry
    }

    fn host(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Returns the requests so far, as `METHOD /path`, with the authorization.
    fn requests(&self) -> Vec<(String, Option<String>)> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        let line = |(head, _): (Head, String)| {
            let authorization = head.headers.get("authorization").cloned();
            (format!("{} {}", head.method, head.target), authorization)
        };
        seen.into_iter().map(line).collect()
    }
}

fn answer(head: &Head, login: &Value) -> Response {
    let json = |status, document: Value| Response::new(status, document.to_string());
    let presented =
        json!({ "id": "0123456789abcdef", "name": "Ana", "scopes": ["read"], "expires": null });
    let mut presented_to_a_person = presented.clone();
    presented_to_a_person["sign_in"] = json!(true);
    match (head.method.as_str(), head.target.as_str()) {
        ("GET", "/.well-known/terraform.json") => json(200, json!({ "login.v1": login })),
        ("POST", "/oauth/token") => json(
            200,
            json!({ "access_token": ISSUED, "token_type": "bearer" }),
        ),
        (_, "/api/v1/token") => match head.headers.get("authorization") {
            Some(header) if header.contains("sticky") && head.method == "DELETE" => {
                json(500, json!({ "errors": ["a stored document is corrupt"] }))
            }
            Some(header) if header.contains("signed-in") || header.contains("sticky") => {
                json(200, presented_to_a_person)
            }
            Some(header) if !header.contains("wrong") => json(200, presented),
            _ => json(
                401,
                json!({ "errors": ["this is not a token of this registry"] }),
            ),
        },
        _ => json(
            404,
            json!({ "errors": ["this registry has no such path: check the URL"] }),
        ),
    }
}

fn command(home: &TempDir, arguments: &[&str]) -> Command {
    let mut command = terrace(arguments);
    command.args(["--json", "--retries", "0"]);
    command.env("HOME", home.path()).env("APPDATA", home.path());
    command
}

fn stored(home: &TempDir) -> Value {
    serde_json::from_slice(&fs::read(home.path().join(STORED)).unwrap()).unwrap()
}

/// Sends a GET request to the waiting command. Returns the answer.
fn visit(port: &str, target: &str) -> String {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_sign_in_stores_the_token_where_terraform_does_7_1() {
    let registry = Registry::start();
    let other = json!({ "credentials": { "other.example": { "token": "kept" } }, "more": 1 });
    let home = directory(&[(STORED, &other.to_string())]);
    let mut command = command(&home, &["login", &registry.url, "--no-browser"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = lines.find_map(|line| line.ok().filter(|it| it.starts_with("http")));
    let address = address.unwrap();
    let (endpoint, query) = address.split_once('?').unwrap();
    assert_eq!(endpoint, format!("{}/oauth/authorize", registry.url));
    let value = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(it, _)| *it == name).unwrap().1.to_owned()
    };
    assert_eq!(value("client_id"), "terraform-cli");
    assert_eq!(value("code_challenge_method"), "S256");
    assert_eq!(value("response_type"), "code");
    let redirect = value("redirect_uri")
        .replace("%3A", ":")
        .replace("%2F", "/");
    let port = redirect.strip_prefix("http://localhost:").unwrap();
    let port = port.strip_suffix("/login").unwrap();
    // Another page knows neither the state nor the code.
    assert!(visit(port, "/login?code=forged&state=x").contains("404"));
    assert!(visit(port, "/favicon.ico").contains("404"));
    let state = value("state");
    assert!(visit(port, &format!("/login?code=c0de&state={state}")).contains("200"));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["name"], &report["host"]),
        (&json!("Ana"), &json!(registry.host()))
    );
    assert!(!report.to_string().contains(ISSUED));

    let seen = registry.seen.lock().unwrap().clone();
    let form = &seen
        .iter()
        .find(|(head, _)| head.method == "POST")
        .unwrap()
        .1;
    let sent = |name: &str| {
        let mut pairs = form.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(it, _)| *it == name).unwrap().1.to_owned()
    };
    assert_eq!(
        (sent("code"), sent("grant_type")),
        ("c0de".to_owned(), "authorization_code".to_owned())
    );
    let digest = Sha256::digest(sent("code_verifier").as_bytes());
    assert_eq!(URL_SAFE_NO_PAD.encode(digest), value("code_challenge"));

    let expected = json!({
        "credentials": { "other.example": { "token": "kept" }, registry.host(): { "token": ISSUED } }, "more": 1,
    });
    assert_eq!(stored(&home), expected);
}

#[test]
fn a_refused_sign_in_stores_nothing() {
    refuse("error=access_denied&error_description=not+you", "not you");
}

#[test]
fn a_code_beside_an_error_is_a_refused_sign_in() {
    refuse(
        "code=refused&error=access_denied",
        "the page in the browser shows the reason",
    );
}

/// Starts a sign-in to which the browser returns with this query, and expects that it fails for the reason.
fn refuse(query: &str, reason: &str) {
    let registry = Registry::start();
    let home = directory(&[]);
    let mut command = command(&home, &["login", &registry.url, "--no-browser"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = lines.find_map(|line| line.ok().filter(|it| it.starts_with("http")));
    let address = address.unwrap();
    let part = |start: &str, end: &str| {
        let rest = address.split(start).nth(1).unwrap();
        rest.split(end).next().unwrap().to_owned()
    };
    let (port, state) = (part("localhost%3A", "%2F"), part("&state=", "&"));
    let answer = visit(&port, &format!("/login?{query}&state={state}"));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(answer.contains("The sign-in was refused"), "{answer}");
    assert!(!answer.contains("Signed in"), "{answer}");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(report.contains(reason), "{report}");
    assert!(!home.path().join(STORED).exists());
    assert!(
        !registry
            .requests()
            .iter()
            .any(|(it, _)| it.starts_with("POST"))
    );
}

#[test]
fn a_registry_without_a_sign_in_is_reported() {
    let registry = Registry::with_login(Value::Null);
    let home = directory(&[]);
    let ended = ended(&mut command(&home, &["login", &registry.url])).expect(3);
    assert!(ended.errors().contains("--with-token"), "{ended:?}");
}

/// Runs `terrace login --with-token` with this standard input.
fn login_with(home: &TempDir, url: &str, token: &str) -> std::process::Output {
    login_by(command(home, &["login", url, "--with-token"]), token)
}

fn login_by(mut command: Command, token: &str) -> std::process::Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(token.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

#[test]
fn a_token_from_standard_input_is_checked_and_stored_for_its_owner_alone() {
    let registry = Registry::start();
    let home = directory(&[]);
    let refused = login_with(&home, &registry.url, "wrong-token");
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    assert!(!home.path().join(STORED).exists());
    let output = login_with(&home, &registry.url, "  a-good-token\n");
    assert!(output.status.success(), "{output:?}");
    assert!(!format!("{output:?}").contains("a-good-token"));
    let entry = json!({ "token": "a-good-token" });
    assert_eq!(stored(&home)["credentials"][registry.host()], entry);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(home.path().join(STORED))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
}

#[test]
fn a_sign_in_revokes_the_token_of_the_earlier_one_and_no_other() {
    let registry = Registry::start();
    for (earlier, is_revoked, is_warned) in [
        ("signed-in-1234", true, false),
        ("of-a-ci-job-1234", false, false),
        ("wrong-1234", false, false),
        ("sticky-1234", false, true),
        ("a-good-token", false, false),
    ] {
        let entries = json!({ "credentials": { registry.host(): { "token": earlier } } });
        let home = directory(&[(STORED, &entries.to_string())]);
        registry.requests();
        let output = login_with(&home, &registry.url, "a-good-token");
        assert!(output.status.success(), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["revoked_earlier"], is_revoked, "{earlier}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            said.contains("may still be valid"),
            is_warned,
            "{earlier}: {said}"
        );
        assert!(!said.contains("1234"), "{said}");
        let deletion = "DELETE /api/v1/token".to_owned();
        let header = Some(format!("Bearer {earlier}"));
        let is_sent = registry.requests().contains(&(deletion, header));
        assert_eq!(is_sent, is_revoked || is_warned, "{earlier}");
        let entry = json!({ "token": "a-good-token" });
        assert_eq!(stored(&home)["credentials"][registry.host()], entry);
    }
}

#[test]
fn a_sign_in_that_nobody_completes_ends_with_advice_and_stores_nothing() {
    let registry = Registry::start();
    let home = directory(&[]);
    let line = ["login", &registry.url, "--no-browser", "--timeout", "1s"];
    let ended = ended(&mut command(&home, &line)).expect(6);
    let errors = ended.errors();
    for part in ["within 1s", "--timeout", "--with-token"] {
        assert!(errors.contains(part), "{errors}");
    }
    assert!(!home.path().join(STORED).exists());
}

#[test]
fn a_token_that_no_client_will_read_is_stored_with_a_warning() {
    let registry = Registry::start();
    let home = directory(&[("only.tfrc", "")]);
    let only = home.path().join("only.tfrc");
    let mut login = command(&home, &["login", &registry.url, "--with-token"]);
    login.env("TF_CLI_CONFIG_FILE", &only);
    let output = login_by(login, "a-good-token");
    assert!(output.status.success(), "{output:?}");
    let (said, result) = (
        String::from_utf8(output.stderr).unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    );
    assert!(said.contains("TF_CLI_CONFIG_FILE"), "{said}");
    assert!(!result.contains("terrace read"), "{result}");
}

#[test]
fn a_credentials_helper_and_a_damaged_file_are_refused_before_the_sign_in() {
    let registry = Registry::start();
    let name = if cfg!(windows) {
        "terraform.rc"
    } else {
        ".terraformrc"
    };
    for (file, text, part) in [
        (
            name,
            "credentials_helper \"vault\" {\n}\n",
            "credentials_helper",
        ),
        (STORED, "{ \"credentials\": sekret", "is not valid JSON"),
        (STORED, "[]", "not a JSON object"),
    ] {
        let home = directory(&[(file, text)]);
        let ended = ended(&mut command(&home, &["login", &registry.url])).expect(3);
        let errors = ended.errors();
        assert!(
            errors.contains(part) && !errors.contains("sekret"),
            "{errors}"
        );
        assert!(registry.requests().is_empty());
        assert_eq!(fs::read_to_string(home.path().join(file)).unwrap(), text);
    }
}

#[test]
fn a_sign_out_revokes_the_token_and_keeps_the_others() {
    let registry = Registry::start();
    let entries = json!({ "credentials": { registry.host(): { "token": "mine-1234" }, "b.example": { "token": "b" } } });
    let home = directory(&[(STORED, &entries.to_string())]);
    let report = ended(&mut command(&home, &["logout", &registry.url])).expect(0);
    assert_eq!(report.json()["revoked"], true);
    let revoked = (
        "DELETE /api/v1/token".to_owned(),
        Some("Bearer mine-1234".to_owned()),
    );
    assert_eq!(registry.requests(), [revoked]);
    let rest = json!({ "credentials": { "b.example": { "token": "b" } } });
    assert_eq!(stored(&home), rest);
    let again = ended(&mut command(&home, &["logout", &registry.url])).expect(3);
    assert!(again.errors().contains("there is no token"), "{again:?}");
}

#[test]
fn an_invalid_token_is_removed_although_it_cannot_be_revoked() {
    let registry = Registry::start();
    let entries = json!({ "credentials": { registry.host(): { "token": "wrong-1234" } } });
    let home = directory(&[(STORED, &entries.to_string())]);
    let report = ended(&mut command(&home, &["logout", &registry.url])).expect(0);
    assert_eq!(report.json()["revoked"], false);
    assert_eq!(stored(&home)["credentials"], json!({}));
}

#[test]
fn whoami_names_the_caller_and_the_place_of_the_token() {
    let registry = Registry::start();
    let home = directory(&[]);
    let mut by_variable = command(&home, &["whoami"]);
    by_variable.env("TERRACE_URL", &registry.url);
    let report = ended(by_variable.env("TERRACE_TOKEN", "some-token-1"))
        .expect(0)
        .json();
    assert_eq!(
        (&report["name"], &report["source"]),
        (&json!("Ana"), &json!("TERRACE_TOKEN"))
    );

    let entries = json!({ "credentials": { registry.host(): { "token": "stored-1234" } } });
    let home = directory(&[(STORED, &entries.to_string())]);
    let report = ended(&mut command(&home, &["whoami", &registry.url]))
        .expect(0)
        .json();
    assert!(
        report["source"]
            .as_str()
            .unwrap()
            .ends_with("credentials.tfrc.json")
    );

    // TERRACE_TOKEN belongs to another registry.
    registry.requests();
    let mut other = command(&home, &["whoami", &registry.url]);
    other.env("TERRACE_URL", "https://other.example");
    ended(other.env("TERRACE_TOKEN", "token-of-the-other")).expect(0);
    let sent = registry.requests();
    assert_eq!(sent[0].1.as_deref(), Some("Bearer stored-1234"));
}

const CONFIG: &str = if cfg!(windows) {
    "terrace/config.toml"
} else {
    ".config/terrace/config.toml"
};

/// Returns a home with a profile for each registry, of which the first is the default, and stored tokens.
fn home_of(one: &Registry, two: &Registry) -> TempDir {
    let config = format!(
        "default = \"one\"\n[profiles.one]\nurl = {:?}\n[profiles.two]\nurl = {:?}\ntoken_env = \"TWO_TOKEN\"\n",
        one.url, two.url
    );
    let entries = json!({ "credentials": { one.host(): { "token": "stored-of-one" } } });
    directory(&[(CONFIG, &config), (STORED, &entries.to_string())])
}

#[test]
fn a_profile_names_the_registry_and_its_own_token_8_1() {
    let (one, two) = (Registry::start(), Registry::start());
    let home = home_of(&one, &two);
    let token = |registry: &Registry| {
        let mut requests = registry.requests();
        requests.pop().map(|(_, token)| token.unwrap_or_default())
    };
    type Case<'a> = (
        &'a [&'a str],
        &'a [(&'a str, &'a str)],
        &'a Registry,
        &'a str,
    );
    let one_url = one.url.clone();
    let cases: [Case<'_>; 7] = [
        (&[], &[], &one, "stored-of-one"),
        // TERRACE_TOKEN belongs to TERRACE_URL.
        (
            &[],
            &[("TERRACE_TOKEN", "of-terrace-url")],
            &one,
            "stored-of-one",
        ),
        (
            &[],
            &[("TERRACE_PROFILE", "two"), ("TWO_TOKEN", "token-of-two")],
            &two,
            "token-of-two",
        ),
        (
            &[],
            &[
                ("TERRACE_PROFILE", "two"),
                ("TERRACE_URL", &one_url),
                ("TERRACE_TOKEN", "of-terrace-url"),
            ],
            &one,
            "of-terrace-url",
        ),
        (
            &["--profile", "two"],
            &[
                ("TERRACE_URL", &one_url),
                ("TERRACE_TOKEN", "of-terrace-url"),
                ("TWO_TOKEN", "token-of-two"),
            ],
            &two,
            "token-of-two",
        ),
        (
            &["--profile", "two", "--token", "of-the-option"],
            &[],
            &two,
            "of-the-option",
        ),
        (
            &["--url", &one_url, "--profile", "two"],
            &[("TWO_TOKEN", "token-of-two")],
            &one,
            "stored-of-one",
        ),
    ];
    for (arguments, variables, registry, expected) in cases {
        let mut command = command(&home, &[&["whoami"], arguments].concat());
        command.envs(variables.iter().copied());
        ended(&mut command).expect(0);
        let other = if registry.url == one.url { &two } else { &one };
        assert_eq!(
            token(registry),
            Some(format!("Bearer {expected}")),
            "{arguments:?} {variables:?}"
        );
        assert_eq!(token(other), None, "{arguments:?} {variables:?}");
    }
    let missing = ended(&mut command(&home, &["whoami", "--profile", "two"])).expect(2);
    assert!(
        missing.errors().contains("TWO_TOKEN, which is not set"),
        "{missing:?}"
    );
    let unknown = ended(&mut command(&home, &["whoami", "--profile", "three"])).expect(2);
    assert!(unknown.errors().contains("one, two"), "{unknown:?}");
    let listed = ended(&mut command(&home, &["profile", "list"]))
        .expect(0)
        .json();
    assert_eq!(listed["profiles"][0]["name"], "one");
    assert_eq!(listed["profiles"][0]["is_default"], true);
}

#[test]
fn an_invalid_configuration_is_reported_by_line_and_without_its_text() {
    let path = |home: &TempDir| -> PathBuf { Path::new(home.path()).join(CONFIG) };
    for (text, line, part) in [
        (
            "[profiles.a]\nurl = \"https://a.example\"\ntoken = \"sekret\"\n",
            3,
            "token_env",
        ),
        (
            "[profiles.a]\nurl = \"https://a.example\"\nnickname = \"sekret\"\n",
            3,
            "nickname",
        ),
        ("defualt = \"a\"\n", 1, "defualt"),
        ("default = sekret\n", 1, ""),
    ] {
        let home = directory(&[(CONFIG, text)]);
        let ended = run_to_end(&mut command(&home, &["whoami"])).expect(2);
        let errors = ended.errors();
        assert!(errors.contains(&format!("line {line}")), "{errors}");
        assert!(
            errors.contains(part) && !errors.contains("sekret"),
            "{errors}"
        );
        assert!(path(&home).exists());
    }
    let home = directory(&[(CONFIG, "default = \"b\"\n")]);
    let ended = run_to_end(&mut command(&home, &["whoami"])).expect(2);
    assert!(ended.errors().contains("no [profiles.b]"), "{ended:?}");
}
