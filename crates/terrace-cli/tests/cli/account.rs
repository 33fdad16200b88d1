//! `terrace login`, `logout`, `whoami` and profiles.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::plain_http::get;
use crate::support::http::{Head, Response, Then, start};
use crate::support::{assert_has, assert_lacks, directory, ended, run_to_end, terrace, words};

const STORED: &str = ".terraform.d/credentials.tfrc.json";

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
        let seen = Seen::default();
        let asked = Arc::clone(&seen);
        let url = start(None, move |head| {
            let (head, seen) = (head.clone(), Arc::clone(&asked));
            let response = answer(&head, &login);
            Then::Answer(Box::new(move |body| {
                let body = String::from_utf8(body).unwrap();
                seen.lock().unwrap().push((head, body));
                response
            }))
        });
        Self { url, seen }
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
            Some(header) if !header.contains("wrong") => {
                let is_signed_in = header.contains("signed-in") || header.contains("sticky");
                let token = json!({ "id": "0123456789abcdef", "name": "Ana", "scopes": ["read"], "sign_in": is_signed_in });
                json(200, token)
            }
            _ => json(401, json!({ "errors": ["no token of this registry"] })),
        },
        _ => json(404, json!({ "errors": ["no such path: check the URL"] })),
    }
}

fn command(home: &TempDir, arguments: &[&str]) -> Command {
    let mut command = terrace(arguments);
    command.args(["--json", "--retries", "0"]);
    command.env("HOME", home.path());
    command
}

/// Returns a home with a stored token for a registry.
fn home_with(registry: &Registry, token: &str) -> TempDir {
    let entries = json!({ "credentials": { registry.host(): { "token": token } } });
    directory(&[(STORED, &entries.to_string())])
}

fn stored(home: &TempDir) -> Value {
    serde_json::from_slice(&fs::read(home.path().join(STORED)).unwrap()).unwrap()
}

/// A sign-in that waits for the browser.
struct SignIn {
    child: Child,
    address: String,
}

impl SignIn {
    fn start(registry: &Registry, home: &TempDir) -> Self {
        let mut command = command(home, &["login", &registry.url, "--no-browser"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines.find_map(|line| line.ok().filter(|it| it.starts_with("http")));
        let address = address.unwrap();
        Self { child, address }
    }

    /// Returns a parameter of the page's address.
    fn value(&self, name: &str) -> String {
        value_of(self.address.split_once('?').unwrap().1, name)
    }

    /// Returns to the command with this query, as the browser does. Returns the answer.
    fn visit(&self, target: &str) -> String {
        let redirect = self.value("redirect_uri");
        let (_, port) = redirect.split_once("localhost%3A").unwrap();
        let port = port.strip_suffix("%2Flogin").unwrap();
        get(&format!("127.0.0.1:{port}"), "localhost", target)
    }
}

/// Returns the value of a parameter in a query or a form.
fn value_of(text: &str, name: &str) -> String {
    let mut pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(it, _)| *it == name).unwrap().1.to_owned()
}

#[test]
fn a_sign_in_stores_the_token_where_terraform_does_7_1() {
    let registry = Registry::start();
    let other = json!({ "credentials": { "other.example": { "token": "kept" } }, "more": 1 });
    let home = directory(&[(STORED, &other.to_string())]);
    let sign_in = SignIn::start(&registry, &home);
    let endpoint = format!("{}/oauth/authorize?", registry.url);
    assert!(sign_in.address.starts_with(&endpoint));
    assert_eq!(sign_in.value("client_id"), "terraform-cli");
    assert_eq!(sign_in.value("code_challenge_method"), "S256");
    assert_eq!(sign_in.value("response_type"), "code");
    // Another page knows neither the state nor the code.
    assert_has!(sign_in.visit("/login?code=forged&state=x"), "404");
    assert_has!(sign_in.visit("/favicon.ico"), "404");
    let (state, challenge) = (sign_in.value("state"), sign_in.value("code_challenge"));
    let answer = sign_in.visit(&format!("/login?code=c0de&state={state}"));
    assert_has!(answer, "200");
    let output = sign_in.child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["name"], "Ana");
    assert_eq!(report["host"], registry.host());
    assert_lacks!(report.to_string(), ISSUED);

    let seen = registry.seen.lock().unwrap().clone();
    let (_, form) = seen.iter().find(|(it, _)| it.method == "POST").unwrap();
    assert_eq!(value_of(form, "code"), "c0de");
    assert_eq!(value_of(form, "grant_type"), "authorization_code");
    let digest = Sha256::digest(value_of(form, "code_verifier").as_bytes());
    assert_eq!(URL_SAFE_NO_PAD.encode(digest), challenge);

    let expected = json!({
        "credentials": { "other.example": { "token": "kept" }, registry.host(): { "token": ISSUED } }, "more": 1,
    });
    assert_eq!(stored(&home), expected);
}

#[test]
fn a_refused_sign_in_stores_nothing() {
    let (registry, home) = (Registry::start(), directory(&[]));
    let sign_in = SignIn::start(&registry, &home);
    let query = "code=refused&error=access_denied&error_description=not+you";
    let state = sign_in.value("state");
    let answer = sign_in.visit(&format!("/login?{query}&state={state}"));
    let output = sign_in.child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert_lacks!(answer, "Signed in");
    assert_has!(String::from_utf8_lossy(&output.stdout), "not you");
    assert!(!home.path().join(STORED).exists());
    let requests = registry.requests();
    assert!(!requests.iter().any(|(it, _)| it.starts_with("POST")));
}

#[test]
fn a_registry_without_a_sign_in_is_reported() {
    let registry = Registry::with_login(Value::Null);
    let home = directory(&[]);
    ended(&mut command(&home, &["login", &registry.url])).fails(3, "--with-token");
}

/// Runs `terrace login --with-token` with this standard input.
fn login_with(home: &TempDir, url: &str, token: &str) -> std::process::Output {
    let mut command = command(home, &["login", url, "--with-token"]);
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
    assert_lacks!(format!("{output:?}"), "a-good-token");
    let entry = json!({ "token": "a-good-token" });
    assert_eq!(stored(&home)["credentials"][registry.host()], entry);
    let metadata = fs::metadata(home.path().join(STORED)).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
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
        let home = home_with(&registry, earlier);
        registry.requests();
        let output = login_with(&home, &registry.url, "a-good-token");
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.contains("may still be valid"), is_warned, "{said}");
        assert_lacks!(said, "1234");
        let deletion = "DELETE /api/v1/token".to_owned();
        let header = Some(format!("Bearer {earlier}"));
        let is_sent = registry.requests().contains(&(deletion, header));
        assert_eq!(is_sent, is_revoked || is_warned, "{earlier}");
        let entry = json!({ "token": "a-good-token" });
        assert_eq!(stored(&home)["credentials"][registry.host()], entry);
    }
}

#[test]
fn a_sign_in_that_nobody_completes_ends_and_stores_nothing() {
    let registry = Registry::start();
    let home = directory(&[]);
    let line = ["login", &registry.url, "--no-browser", "--timeout", "1s"];
    ended(&mut command(&home, &line)).fails(6, "within 1s");
    assert!(!home.path().join(STORED).exists());
}

#[test]
fn a_credentials_helper_and_a_damaged_file_are_refused_before_the_sign_in() {
    let registry = Registry::start();
    let helper = "credentials_helper \"vault\" {\n}\n";
    for (file, text, part) in [
        (".terraformrc", helper, "credentials_helper"),
        (STORED, "{ \"credentials\": sekret", "is not valid JSON"),
        (STORED, "[]", "not a JSON object"),
    ] {
        let home = directory(&[(file, text)]);
        let run = |line: &str| ended(&mut command(&home, &[line, &registry.url]));
        assert_lacks!(run("login").fails(3, part), "sekret");
        let is_stored = file == STORED;
        run("logout").fails(3, if is_stored { part } else { "there is no token" });
        assert!(registry.requests().is_empty());
        assert_eq!(fs::read_to_string(home.path().join(file)).unwrap(), text);
    }
}

#[test]
fn a_sign_out_revokes_the_token_and_keeps_the_others() {
    // A wrong token is removed, too.
    for (token, is_revoked) in [("mine-1234", true), ("wrong-1234", false)] {
        let registry = Registry::start();
        let entries = json!({ registry.host(): { "token": token }, "b.example": { "token": "b" } });
        let home = directory(&[(STORED, &json!({ "credentials": entries }).to_string())]);
        let report = ended(&mut command(&home, &["logout", &registry.url])).expect(0);
        assert_eq!(report.json()["revoked"], is_revoked);
        let header = Some(format!("Bearer {token}"));
        assert_eq!(
            registry.requests(),
            [("DELETE /api/v1/token".to_owned(), header)]
        );
        let rest = json!({ "credentials": { "b.example": { "token": "b" } } });
        assert_eq!(stored(&home), rest);
        ended(&mut command(&home, &["logout", &registry.url])).fails(3, "there is no token");
    }
}

#[test]
fn whoami_names_the_caller_and_the_place_of_the_token() {
    let registry = Registry::start();
    let home = home_with(&registry, "stored-1234");
    for (url, token, source) in [
        (&*registry.url, "some-token-1", "TERRACE_TOKEN"),
        // TERRACE_TOKEN belongs to another registry.
        ("https://other.example", "stored-1234", ".tfrc.json"),
    ] {
        let mut whoami = command(&home, &["whoami", &registry.url]);
        whoami.envs([("TERRACE_URL", url), ("TERRACE_TOKEN", "some-token-1")]);
        let report = ended(&mut whoami).expect(0).json();
        assert_eq!(report["name"], "Ana");
        assert!(report["source"].as_str().unwrap().ends_with(source));
        let sent = registry.requests();
        assert_eq!(sent[0].1, Some(format!("Bearer {token}")));
    }
}

const CONFIG: &str = ".config/terrace/config.toml";

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
    type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a Registry, &'a str);
    let [url, of_url] = [
        format!("TERRACE_URL={}", one.url),
        "TERRACE_TOKEN=of-url".to_owned(),
    ];
    let (two_token, two_profile) = ("TWO_TOKEN=of-two", "TERRACE_PROFILE=two");
    let option = ["--profile", "two"];
    let with_token = ["--profile", "two", "--token", "of-option"];
    let with_url = ["--url", &one.url, "--profile", "two"];
    let cases: [Case<'_>; 7] = [
        (&[], &[], &one, "stored-of-one"),
        // TERRACE_TOKEN belongs to TERRACE_URL.
        (&[], &[&of_url], &one, "stored-of-one"),
        (&[], &[two_profile, two_token], &two, "of-two"),
        (&[], &[two_profile, &url, &of_url], &one, "of-url"),
        (&option, &[&url, &of_url, two_token], &two, "of-two"),
        (&with_token, &[], &two, "of-option"),
        (&with_url, &[two_token], &one, "stored-of-one"),
    ];
    for (arguments, variables, registry, expected) in cases {
        let mut command = command(&home, &[&["whoami"], arguments].concat());
        command.envs(variables.iter().filter_map(|it| it.split_once('=')));
        ended(&mut command).expect(0);
        let other = if registry.url == one.url { &two } else { &one };
        let sent = (token(registry), token(other));
        let expected = (Some(format!("Bearer {expected}")), None);
        assert_eq!(sent, expected, "{arguments:?} {variables:?}");
    }
    let run = |line: &str| ended(&mut command(&home, &words(line)));
    run("whoami --profile two").fails(2, "TWO_TOKEN, which is not set");
    run("whoami --profile three").fails(2, "one, two");
    let listed = run("profile list").expect(0).json();
    assert_eq!(listed["profiles"][0]["name"], "one");
    assert_eq!(listed["profiles"][0]["is_default"], true);
}

#[test]
fn an_invalid_configuration_is_reported_by_line_and_without_its_text() {
    let profile = "[profiles.a]\nurl = \"https://a.example\"\n";
    for (text, part) in [
        (&*format!("{profile}token = \"sekret\"\n"), "token_env"),
        (&format!("{profile}nickname = \"sekret\"\n"), "line 3"),
        ("defualt = \"a\"\n", "defualt"),
        ("default = sekret\n", "line 1"),
        ("default = \"b\"\n", "no [profiles.b]"),
    ] {
        let home = directory(&[(CONFIG, text)]);
        let errors = run_to_end(&mut command(&home, &["whoami"])).fails(2, part);
        assert_lacks!(errors, "sekret");
    }
}
