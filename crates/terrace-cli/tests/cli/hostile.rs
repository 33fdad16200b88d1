//! Servers, archives and file names that try to control the terminal.

use std::fs;
use std::io::{Cursor, Write as _};

use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_base::untrusted::is_unprintable;

use super::support::actions::Actions;
use super::support::http::Response;
use super::support::mirror::{HELLO, Mirror};
use super::support::origin::{Origin, description_of};
use super::support::registry::{Fault, Registry, errors};
use super::support::{Dist, Ended, TOKEN, directory, fixture, run_to_end, terrace};

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

fn statuses() -> Value {
    let statement = json!({ "state": "deprecated", "reason": "old", "at": 1, "by": EVIL });
    json!({ "package": statement, "versions": { EVIL: statement } })
}

fn versions() -> Value {
    let status = json!({ "state": EVIL, "reason": EVIL, "at": EVIL });
    json!({ "versions": [{ "version": EVIL, "status": status, "is_documented": false }] })
}

fn keys() -> Value {
    let key = json!({ "key_id": ID, "fingerprint": EVIL, "ascii_armor": EVIL });
    let statement = json!({ "state": "retired", "reason": "old", "at": 1, "by": EVIL });
    let added = json!({ "at": 1, "by": EVIL });
    json!({ "keys": [key], "statements": { ID: statement }, "added": { ID: added } })
}

fn token() -> Value {
    json!({
        "id": EVIL, "name": EVIL, "scopes": [EVIL], "created": EVIL, "created_by": EVIL,
        "expires": EVIL, "revoked": EVIL, "token": EVIL,
    })
}

fn scenes() -> Vec<Scene> {
    let fact = json!({ "key": EVIL, "document": EVIL });
    let facts = json!({ "facts": [fact], "unknown": [EVIL], "unreadable": [EVIL] });
    let archive = json!({ "key": EVIL, "size": 1, "stored_at": 1, "url": EVIL });
    let archives = json!({ "now": 2_000_000_000, "archives": [archive], "unknown": [EVIL] });
    let entry = json!({
        "number": 1, "at": 1, "by": EVIL, "from": EVIL, "what": EVIL, "status": 200,
        "previous": Sha256::of(b"").to_string(),
    });
    let log = json!({ "entries": [entry.to_string()], "newest": 1 });
    let walk = json!({ "looked_at": 1, "rewritten": [EVIL], "removed": [EVIL], "next": EVIL });
    let failed = json!({ "looked_at": 1, "failed": [EVIL] });
    let hashed = json!({ "looked_at": 1, "bytes": 1, "wrong": [
        { "key": EVIL, "digest": EVIL }, { "key": EVIL },
    ]});
    let change = json!({ "keys": keys(), "next": EVIL });
    let of_key = |state| vec!["key", state, "acme", ID, "--reason", "old"];
    let of_release = |state| vec!["release", state, "acme/widget@1.0.0", "--reason", "old"];
    let mut scenes: Vec<Scene> = vec![
        (vec!["key", "list", "acme"], vec![("GET", "/keys", keys())]),
        (
            vec!["key", "remove", "acme", ID],
            vec![("GET", "/keys", keys())],
        ),
        (
            vec!["release", "show", "acme/widget"],
            vec![
                ("GET", "/status", statuses()),
                ("GET", "/api/v1/", versions()),
            ],
        ),
        (
            vec!["token", "list"],
            vec![(
                "GET",
                "/tokens",
                json!({ "tokens": [token()], "next": EVIL }),
            )],
        ),
        (
            vec!["token", "rotate", "7f3a9c2e51b04d68"],
            vec![("POST", "/rotation", token())],
        ),
        (
            vec![
                "token",
                "create",
                "--name",
                "CI",
                "--scope",
                "read",
                "--expires",
                "1d",
            ],
            vec![("POST", "/tokens", token())],
        ),
        (vec!["admin", "audit"], vec![("GET", "/audit", log.clone())]),
        (
            vec!["admin", "audit", "--verify"],
            vec![("GET", "/audit", log.clone())],
        ),
        (vec!["admin", "reindex"], vec![("POST", "/reindex", walk)]),
        (vec!["admin", "reindex"], vec![("POST", "/reindex", failed)]),
        (
            vec!["admin", "verify"],
            vec![
                (
                    "GET",
                    "/api/v1/token",
                    json!({ "id": EVIL, "name": EVIL, "scopes": ["admin"], "expires": null }),
                ),
                ("GET", "/archives", archives.clone()),
                ("GET", "/audit", log.clone()),
                ("GET", "/facts", facts.clone()),
                ("POST", "/verify", hashed),
            ],
        ),
        (
            vec!["admin", "gc", "--older-than", "0s"],
            vec![
                ("GET", "/archives", archives.clone()),
                ("GET", "/facts", facts.clone()),
            ],
        ),
    ];
    for state in ["retire", "revoke", "restore"] {
        scenes.push((of_key(state), vec![("PUT", "/keys/", change.clone())]));
    }
    for state in ["deprecate", "withdraw", "revoke", "restore"] {
        scenes.push((of_release(state), vec![("PUT", "/status", statuses())]));
    }
    scenes
}

#[test]
fn no_field_of_a_response_reaches_the_terminal_unescaped() {
    for (arguments, answers) in scenes() {
        let [people, programs] = in_both_modes(|more| {
            let registry = Registry::start();
            for (method, path, document) in &answers {
                for _ in 0..6 {
                    let answer = Response::new(200, document.to_string());
                    registry.fail(method, path, Fault::Answer(answer));
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
fn no_key_of_an_export_reaches_the_terminal_unescaped() {
    let fact = json!({ "key": EVIL, "document": EVIL });
    let archive = json!({ "key": EVIL, "size": 1, "stored_at": 1, "url": EVIL });
    let [people, _] = in_both_modes(|more| {
        let registry = Registry::start();
        for (path, document) in [
            (
                "/facts",
                json!({ "facts": [fact], "unknown": [EVIL], "unreadable": [EVIL] }),
            ),
            (
                "/archives",
                json!({ "now": 1, "archives": [archive], "unknown": [EVIL] }),
            ),
        ] {
            for _ in 0..6 {
                let answer = Response::new(200, document.to_string());
                registry.fail("GET", path, Fault::Answer(answer));
            }
        }
        let copy = directory(&[]);
        let place = copy.path().to_str().unwrap();
        against(&registry, &[&["admin", "export", place], more].concat())
    });
    assert_ne!(people.code, 0);
    assert!(shows_it(&people), "{people:?}");
}

#[test]
fn json_contains_the_exact_text_of_the_response() {
    let registry = Registry::start();
    let answer = Response::new(200, keys().to_string());
    registry.fail("GET", "/keys", Fault::Answer(answer));
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
fn a_text_in_place_of_a_key_id_is_rejected_and_escaped() {
    let statements = json!({ EVIL: keys()["statements"][ID] });
    let evil_id = json!({ "keys": [], "statements": statements }).to_string();
    let both = in_both_modes(|more| {
        let registry = Registry::start();
        let answer = Response::new(200, evil_id.clone());
        registry.fail("GET", "/keys", Fault::Answer(answer));
        against(&registry, &[&["key", "list", "acme"], more].concat())
    });
    for ended in both {
        assert!(ended.expect(1).stderr.contains("is not a key ID"));
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
    let publish = [
        "publish",
        "module",
        module,
        "--address",
        "acme/vpc/aws",
        "--version",
        "1.0.0",
    ];
    for answer in [published, invalid, missing] {
        let both = in_both_modes(|more| {
            let registry = Registry::start();
            let answer = Response::new(200, answer.to_string());
            registry.fail("PUT", "/admin/", Fault::Answer(answer));
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

#[test]
fn no_field_of_another_registry_reaches_the_terminal_unescaped() {
    let platform = json!({ "os": EVIL, "arch": EVIL });
    let odd = json!({ "version": EVIL, "protocols": [EVIL], "platforms": [platform] });
    let hello = json!({ "version": "1.2.3", "platforms": [{ "os": "linux", "arch": "amd64" }] });
    let list = json!({ "versions": [odd, hello], "warnings": [EVIL] });
    let description = json!({
        "protocols": [EVIL], "os": "linux", "arch": "amd64", "filename": EVIL, "download_url": EVIL,
        "shasum": EVIL, "shasums_url": EVIL, "shasums_signature_url": EVIL,
        "signing_keys": { "gpg_public_keys": [{ "ascii_armor": EVIL }] },
    });
    let edited = |name: &str| {
        let origin = Origin::start();
        let page = origin.page(&description_of("linux_amd64"));
        let mut page: Value = serde_json::from_slice(&page.body).unwrap();
        page[name] = description[name].clone();
        (origin, page)
    };
    for name in [
        "",
        "protocols",
        "filename",
        "download_url",
        "shasum",
        "shasums_url",
        "signing_keys",
    ] {
        let [people, _] = in_both_modes(|more| {
            let (origin, page) = edited(name);
            origin.set_json("/v1/acme/hello/versions", &list);
            if !name.is_empty() {
                origin.set_json(&description_of("linux_amd64"), &page);
            }
            let registry = Registry::start();
            let place = origin.place();
            let add = [
                "mirror",
                "add",
                "origin.example/acme/hello",
                "--origin",
                &place,
            ];
            let mut command = terrace(&[&add[..], more].concat());
            command.args(["--platform", "linux_amd64", "--retries", "0"]);
            command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
            command.env("TERRACE_URL", registry.url());
            run_to_end(command.env("TERRACE_TOKEN", TOKEN))
        });
        assert!(shows_it(&people), "{name}: {people:?}");
    }
}

#[test]
fn no_response_to_a_job_reaches_the_terminal_unescaped() {
    for (of_actions, of_registry) in [
        (
            json!({ "value": "a.b.c" }),
            json!({ "error": EVIL, "error_description": EVIL }),
        ),
        (json!({ "value": EVIL }), json!({ "access_token": EVIL })),
    ] {
        in_both_modes(|more| {
            let registry = Registry::start();
            let answer = Response::new(403, of_registry.to_string());
            registry.fail("POST", "/oauth/exchange", Fault::Answer(answer));
            let actions = Actions::answering(Response::new(200, of_actions.to_string()));
            let mut command = terrace(&[&["key", "list", "acme", "--retries", "0"], more].concat());
            run_to_end(actions.run(command.env("TERRACE_URL", registry.url())))
        });
    }
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
    let of_module = [
        "--address",
        "acme/vpc/aws",
        "--version",
        "1.0.0",
        "--dry-run",
    ];
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

#[test]
fn no_content_of_a_file_reaches_the_terminal_unescaped() {
    let mut zip = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = ::zip::write::SimpleFileOptions::default();
    zip.start_file(format!("../{EVIL}"), options).unwrap();
    zip.write_all(b"x").unwrap();
    let zip = zip.finish().unwrap().into_inner();
    let quoted = EVIL.replace(['\n', '\r'], "");
    let files = directory(&[
        ("list.toml", &format!("[[provider]]\naddress = {EVIL:?}")),
        (
            "broken.toml",
            &format!("[[provider]]\naddress = '{quoted}'\n'{quoted}' = 1 2"),
        ),
        (
            ".terraform.lock.hcl",
            &format!("provider \"{quoted}\" {{\n{quoted}"),
        ),
        (
            "main.tf",
            &format!("terraform {{ required_providers {{ x = {quoted} }} }}"),
        ),
        (
            "main.tf.json",
            &json!({ "terraform": { "required_providers": { EVIL: EVIL } } }).to_string(),
        ),
        ("key.asc", &format!("-----BEGIN PGP {EVIL}-----\n\n{EVIL}")),
    ]);
    let archive = files.path().join("module.zip");
    fs::write(&archive, zip).unwrap();
    let backup = directory(&[
        ("export.json", &json!({
            "format": "terrace export 1", "registry": EVIL, "documents": 0, "archives": 0, "bytes": 0,
            "sha256sums": Sha256::of(b"").to_string(),
        }).to_string()),
        ("SHA256SUMS", ""),
    ]);
    let place = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
    let of_module = ["--address", "acme/vpc/aws", "--version", "1.0.0"].map(str::to_owned);
    let line = |words: &[&str], file: String| {
        let words = words.iter().map(ToString::to_string);
        words.chain([file]).collect::<Vec<_>>()
    };
    let mut lines = vec![
        line(&["key", "add", "acme"], place("key.asc")),
        [
            line(&["publish", "module"], place("module.zip")),
            of_module.to_vec(),
        ]
        .concat(),
        line(
            &["admin", "import"],
            backup.path().to_str().unwrap().to_owned(),
        ),
    ];
    for name in [
        "list.toml",
        "broken.toml",
        ".terraform.lock.hcl",
        "main.tf",
        "main.tf.json",
    ] {
        lines.push(line(&["mirror", "sync"], place(name)));
    }
    for arguments in lines {
        in_both_modes(|more| {
            let registry = Registry::start();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            against(&registry, &[&arguments, more].concat())
        });
    }
}
