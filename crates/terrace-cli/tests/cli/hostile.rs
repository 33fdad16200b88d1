//! Servers, archives and file names that try to control the terminal.

use std::fs;

use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_base::untrusted::is_unprintable;

use super::support::http::Response;
use super::support::mirror::{HELLO, Mirror};
use super::support::registry::{Fault, Registry, errors};
use super::support::{Dist, Ended, directory, run_to_end, terrace_at, words};

/// Escape sequences, C0 and C1 controls, bidirectional overrides and isolates, zero-width characters, and
/// every character that ends a line.
const EVIL: &str = "x\r\nerror: forged\npublished forged\t\u{1}\u{7}\u{1b}[2J\u{1b}]0;title\u{7}\u{7f}\u{85}\
    \u{9b}31m\u{9d}\u{ad}\u{61c}\u{180e}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\
    \u{202c}\u{202d}\u{202e}\u{2060}\u{2066}\u{2067}\u{2068}\u{2069}\u{feff}\u{e0041}y";

const ID: &str = "61C051AC9CA350D4";

#[track_caller]
fn assert_harmless(ended: &Ended) {
    for (name, text) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        let harmful = |c: &char| *c != '\n' && is_unprintable(*c);
        let found: Vec<char> = text.chars().filter(harmful).collect();
        assert!(found.is_empty(), "{name} has {found:?}: {text}");
        let is_forged =
            |line: &str| line.starts_with("error: forged") || line.starts_with("published forged");
        assert!(!text.lines().any(is_forged), "{name}: {text}");
    }
}

/// Returns whether the text was shown, escaped.
fn shows_it(ended: &Ended) -> bool {
    let shows = |text: &str| text.contains("\\u{202e}") || text.contains("\\u202e");
    shows(&ended.stdout) || shows(&ended.stderr)
}

/// Runs a command with the output for people and for programs.
fn in_both_modes(run: impl Fn(&[&str]) -> Ended) -> [Ended; 2] {
    let both = [run(&[]), run(&["--json"])];
    both.iter().for_each(assert_harmless);
    both[1].json();
    both
}

fn against(registry: &Registry, arguments: &[&str]) -> Ended {
    let mut command = terrace_at(registry.url(), arguments);
    run_to_end(command.args(["--retries", "0"]))
}

/// Runs a command in both modes. One of them shows the text of the response.
#[track_caller]
fn check(arguments: &[&str], method: &str, path: &str, response: &Response) -> [Ended; 2] {
    let both = in_both_modes(|more| {
        let registry = Registry::start();
        for _ in 0..6 {
            registry.fail(method, path, Fault::Answer(response.clone()));
        }
        against(&registry, &[arguments, more].concat())
    });
    assert!(both.iter().any(shows_it), "{arguments:?}: {both:?}");
    both
}

fn packages() -> Value {
    let package = json!({
        "kind": "module", "address": EVIL, "path": EVIL, "latest": "1.0.0", "published_at": EVIL, "versions": 1,
        "is_documented": false, "description": EVIL,
    });
    json!({ "namespace": EVIL, "packages": [package], "next": EVIL })
}

fn keys() -> Value {
    let key = json!({ "key_id": ID, "fingerprint": EVIL, "ascii_armor": EVIL });
    let statement = json!({ "state": "retired", "reason": "old", "at": 1, "by": EVIL });
    let added = json!({ "at": 1, "by": EVIL });
    json!({ "keys": [key], "statements": { ID: statement }, "added": { ID: added } })
}

#[test]
fn no_field_of_a_response_reaches_the_terminal_unescaped() {
    let entry = json!({
        "number": 1, "at": 1, "by": EVIL, "from": EVIL, "what": EVIL, "status": 200,
        "previous": Sha256::of(b"").to_string(),
    });
    let log = json!({ "entries": [entry.to_string()], "newest": 1 });
    let token = json!({
        "id": EVIL, "name": EVIL, "scopes": [EVIL], "created": EVIL, "created_by": EVIL,
        "expires": EVIL, "revoked": EVIL, "token": EVIL,
    });
    let rewritten = json!({ "looked_at": 1, "rewritten": [EVIL], "removed": [EVIL], "next": EVIL });
    let failed = json!({ "looked_at": 1, "failed": [EVIL] });
    // A command for each way in which a result is printed.
    for (line, method, path, document) in [
        ("key list acme", "GET", "/keys", keys()),
        ("list acme", "GET", "/api/v1/", packages()),
        ("token rotate 7f3a9c2e51b04d68", "POST", "/rotation", token),
        ("admin audit", "GET", "/audit", log),
        ("admin reindex", "POST", "/reindex", rewritten),
        ("admin reindex", "POST", "/reindex", failed),
    ] {
        let response = Response::new(200, document.to_string());
        check(&words(line), method, path, &response);
    }
}

#[test]
fn no_error_of_a_registry_reaches_the_terminal_unescaped() {
    let oauth = json!({ "error": EVIL, "error_description": EVIL }).to_string();
    let conflict = json!({ "status": "conflict", "errors": [EVIL] }).to_string();
    let evil_state = keys().to_string();
    let evil_state = evil_state.replace("retired", "\\u202e\\nerror: forged");
    let statuses = [400, 401, 404, 409, 422, 503, 700];
    let mut responses = Vec::from(statuses.map(|status| errors(status, &[EVIL, EVIL])));
    responses.extend([
        Response::new(401, oauth),
        Response::new(409, conflict),
        Response::new(200, evil_state),
    ]);
    for response in responses {
        let [people, _] = check(&["key", "list", "acme"], "GET", "/keys", &response);
        assert_ne!(people.code, 0);
        assert!(shows_it(&people), "{people:?}");
    }
}

#[test]
fn no_response_to_a_publish_reaches_the_terminal_unescaped() {
    let published =
        json!({ "status": "created", "address": EVIL, "version": EVIL, "warnings": [EVIL] });
    let invalid = json!({ "status": "invalid", "errors": [EVIL] });
    let missing = json!({ "status": "incomplete", "missing": [{
        "filename": EVIL, "sha256": EVIL, "size": 1,
        "upload": { "method": "PUT", "url": "http://127.0.0.1:9/", "headers": {} },
    }]});
    let refusal = format!("<Error><Code>{EVIL}</Code><Message>{EVIL}</Message></Error>");
    let answers = [published, invalid, missing];
    let answers = answers.map(|it| ("/admin/", Response::new(200, it.to_string())));
    let of_storage = ("/bucket/", Response::new(400, refusal));
    let module = directory(&[("main.tf", "")]);
    let mut publish = words("publish module --address acme/vpc/aws --version 1.0.0");
    publish.push(module.path().to_str().unwrap());
    for (path, response) in answers.into_iter().chain([of_storage]) {
        let both = check(&publish, "PUT", path, &response);
        assert!(both.iter().all(shows_it), "{both:?}");
    }
}

/// The part of [`EVIL`] that a file name may contain.
fn evil_name() -> String {
    EVIL.replace(['/', '\0'], "")
}

#[test]
fn no_name_of_a_file_reaches_the_terminal_unescaped() {
    let name = evil_name();
    let dist = Dist::new();
    let other = format!("terraform-provider-{name}_1.0.0_SHA256SUMS");
    fs::write(dist.file("SHA256SUMS").with_file_name(other), "").unwrap();
    let place = dist.path();
    let provider = vec!["publish", "provider", &place, "--namespace", "acme"];

    let module = directory(&[("main.tf", ""), (&format!("{name}.tfstate"), "")]);
    std::os::unix::fs::symlink(&name, module.path().join(&name)).unwrap();
    let module = module.path().to_str().unwrap();
    let of_module = words("--address acme/vpc/aws --version 1.0.0 --dry-run");
    let packed = [&["publish", "module", module], &of_module[..]].concat();

    let mirror = Mirror::of_terraform();
    fs::write(mirror.file(&name), "").unwrap();
    fs::create_dir(mirror.path().join(&name)).unwrap();
    fs::write(
        mirror.path().join(HELLO).join("9.9.9.json"),
        json!({ EVIL: EVIL }).to_string(),
    )
    .unwrap();
    let mirror = mirror.text();

    let registry = Registry::start();
    let absent = format!("/nowhere/{name}");
    for arguments in [
        provider,
        packed,
        vec!["publish", "provider", &absent, "--namespace", "acme"],
        vec!["mirror", "push", &mirror],
        vec!["mirror", "push", &absent],
        vec!["mirror", "sync", &absent],
        vec!["key", "add", "acme", &absent],
        vec!["key", "list", &name],
        vec!["admin", "audit", "--copy", &absent],
        vec![&name],
    ] {
        let [people, _] = in_both_modes(|more| against(&registry, &[&arguments, more].concat()));
        assert!(shows_it(&people), "{people:?}");
    }
}
