//! Servers, archives and file names that try to control the terminal.

use std::fs;

use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_base::untrusted::is_unprintable;

use super::support::http::Response;
use super::support::mirror::{HELLO, Mirror};
use super::support::registry::{Fault, Registry, errors};
use super::support::{Dist, Ended, TOKEN, directory, run_to_end, terrace, words};

/// Escape sequences, C0 and C1 controls, bidirectional overrides and isolates, zero-width characters, and
/// every character that ends a line.
const EVIL: &str = "x\r\nerror: forged\npublished forged\t\u{1}\u{7}\u{1b}[2J\u{1b}]0;title\u{7}\u{7f}\u{85}\
    \u{9b}31m\u{9d}\u{ad}\u{61c}\u{180e}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\
    \u{202c}\u{202d}\u{202e}\u{2060}\u{2066}\u{2067}\u{2068}\u{2069}\u{feff}\u{e0041}y";

const ID: &str = "61C051AC9CA350D4";

/// One command and the responses to its requests: method, part of the path, document.
type Scene = (Vec<&'static str>, Vec<(&'static str, &'static str, Value)>);

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
    let mut command = terrace(arguments);
    command
        .args(["--retries", "0"])
        .env("TERRACE_URL", registry.url());
    run_to_end(command.env("TERRACE_TOKEN", TOKEN))
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

/// Returns a command for each way in which a result is printed.
fn scenes() -> Vec<Scene> {
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
    vec![
        (vec!["key", "list", "acme"], vec![("GET", "/keys", keys())]),
        (vec!["list", "acme"], vec![("GET", "/api/v1/", packages())]),
        (
            vec!["token", "rotate", "7f3a9c2e51b04d68"],
            vec![("POST", "/rotation", token)],
        ),
        (vec!["admin", "audit"], vec![("GET", "/audit", log)]),
        (
            vec!["admin", "reindex"],
            vec![("POST", "/reindex", rewritten)],
        ),
        (vec!["admin", "reindex"], vec![("POST", "/reindex", failed)]),
    ]
}

#[test]
fn no_field_of_a_response_reaches_the_terminal_unescaped() {
    for (arguments, answers) in scenes() {
        let [people, programs] = in_both_modes(|more| {
            let registry = Registry::start();
            for (method, path, document) in &answers {
                for _ in 0..6 {
                    registry.answer(method, path, document);
                }
            }
            against(&registry, &[&arguments, more].concat())
        });
        assert!(
            shows_it(&people) || shows_it(&programs),
            "{arguments:?}: {people:?}"
        );
    }
}

#[test]
fn json_contains_the_exact_text_of_the_response() {
    let registry = Registry::start();
    registry.answer("GET", "/keys", &keys());
    let listed = against(&registry, &["key", "list", "acme", "--json"]).expect(0);
    assert_eq!(listed.json()["keys"][0]["fingerprint"], EVIL);
    assert_harmless(&listed);
}

#[test]
fn no_error_of_a_registry_reaches_the_terminal_unescaped() {
    let oauth = json!({ "error": EVIL, "error_description": EVIL }).to_string();
    let conflict = json!({ "status": "conflict", "errors": [EVIL] }).to_string();
    let evil_state = keys()
        .to_string()
        .replace("retired", "\\u202e\\nerror: forged");
    for answer in [
        errors(400, &[EVIL, EVIL]),
        errors(401, &[EVIL]),
        errors(404, &[EVIL]),
        errors(409, &[EVIL]),
        errors(422, &[EVIL]),
        errors(503, &[EVIL]),
        errors(700, &[EVIL]),
        Response::new(401, oauth),
        Response::new(409, conflict),
        Response::new(200, evil_state),
    ] {
        let [people, _] = in_both_modes(|more| {
            let registry = Registry::start();
            registry.fail("GET", "/keys", Fault::Answer(answer.clone()));
            against(&registry, &[&["key", "list", "acme"], more].concat())
        });
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
    let module = directory(&[("main.tf", "")]);
    let module = module.path().to_str().unwrap();
    let publish = words("publish module --address acme/vpc/aws --version 1.0.0");
    let publish = [&publish[..], &[module]].concat();
    for answer in [published, invalid, missing] {
        let both = in_both_modes(|more| {
            let registry = Registry::start();
            registry.answer("PUT", "/admin/", &answer);
            against(&registry, &[&publish[..], more].concat())
        });
        assert!(both.iter().all(shows_it), "{both:?}");
    }
    let refusal = format!("<Error><Code>{EVIL}</Code><Message>{EVIL}</Message></Error>");
    let both = in_both_modes(|more| {
        let registry = Registry::start();
        registry.fail(
            "PUT",
            "/bucket/",
            Fault::Answer(Response::new(400, refusal.clone())),
        );
        against(&registry, &[&publish[..], more].concat())
    });
    assert!(both.iter().all(shows_it), "{both:?}");
}

/// The part of [`EVIL`] that a file name may contain.
#[cfg(unix)]
fn evil_name() -> String {
    EVIL.replace(['/', '\0'], "")
}

#[cfg(unix)]
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
