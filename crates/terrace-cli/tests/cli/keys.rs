//! `terrace key`.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{Dist, TOKEN, directory, ended, fixture, run, terrace};

const PUBLISHER: &str = "61C051AC9CA350D4";
const OTHER: &str = "01140820A0F0C9F3";

fn ids(document: &serde_json::Value) -> Vec<&str> {
    let keys = document["keys"].as_array().unwrap().iter();
    keys.map(|key| key["key_id"].as_str().unwrap()).collect()
}

#[test]
fn a_key_is_added_listed_and_removed() {
    let registry = Registry::without_keys();
    for file in ["publisher.asc", "other.asc"] {
        let file = fixture(file);
        run(&registry, &["key", "add", "acme", file.to_str().unwrap()]).expect(0);
    }
    let listed = run(&registry, &["key", "list", "acme"]).expect(0).json();
    assert_eq!(ids(&listed), [PUBLISHER, OTHER]);
    let removed = run(&registry, &["key", "remove", "acme", PUBLISHER]).expect(0);
    assert_eq!(ids(&removed.json()), [OTHER]);
    let listed = run(&registry, &["key", "list", "ACME"]).expect(0).json();
    assert_eq!(
        (ids(&listed), &listed["namespace"]),
        (vec![OTHER], &"acme".into())
    );
}

#[test]
fn a_key_is_read_from_standard_input() {
    let registry = Registry::without_keys();
    let mut command = terrace(&["key", "add", "acme", "-"]);
    command
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", TOKEN);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let key = fs::read(fixture("publisher.asc")).unwrap();
    child.stdin.take().unwrap().write_all(&key).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, format!("{PUBLISHER} may sign for acme\n"));
}

#[test]
fn a_file_that_is_not_a_public_key_is_never_sent() {
    let registry = Registry::without_keys();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key");
    for (content, hint) in [
        (b"hello".as_slice(), ""),
        (
            b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nAAAA\n",
            "secret key",
        ),
        (b"\x99\x01\x0d\x04", "gpg --armor --export"),
    ] {
        fs::write(&file, content).unwrap();
        let ended = run(&registry, &["key", "add", "acme", file.to_str().unwrap()]).expect(3);
        assert!(ended.errors().to_lowercase().contains(hint), "{ended:?}");
        assert!(!ended.errors().contains("exposed"), "{ended:?}");
    }
    let absent = directory.path().join("absent");
    run(&registry, &["key", "add", "acme", absent.to_str().unwrap()]).expect(3);
    assert!(registry.requests().is_empty());
}

#[test]
fn removing_an_unknown_key_lists_the_known_ones() {
    let registry = Registry::start();
    let ended = run(&registry, &["key", "remove", "acme", OTHER]).expect(3);
    assert!(ended.errors().contains(PUBLISHER), "{ended:?}");
    assert_eq!(registry.requests(), ["GET /admin/v1/namespaces/acme/keys"]);
}

/// Sets the keys of a namespace with the status of the publisher's key.
fn set_status(registry: &Registry, keys: &[&str], state: &str) {
    let key = |id: &&str| json!({ "key_id": id, "fingerprint": "0".repeat(40), "ascii_armor": "" });
    let status = json!({ "state": state, "reason": "stolen", "at": 1_700_000_000, "by": "root" });
    let keys: Vec<Value> = keys.iter().map(key).collect();
    let document = json!({ "keys": keys, "statements": { PUBLISHER: status } });
    let path = "/admin/v1/namespaces/acme/keys";
    registry.set(path, Response::new(200, document.to_string()));
}

/// Returns what a command prints for people.
#[track_caller]
fn told(registry: &Registry, arguments: &[&str]) -> String {
    let mut command = terrace(arguments);
    command.env("TERRACE_URL", registry.url());
    ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0).stdout
}

#[test]
fn a_removed_key_with_a_status_is_listed() {
    let registry = Registry::start();
    set_status(&registry, &[OTHER], "revoked");
    let expected = format!(
        "\
KEY               STATUS             FINGERPRINT                               SINCE                 SET BY  REASON
{OTHER}  active             0000000000000000000000000000000000000000
{PUBLISHER}  revoked (removed)                                            2023-11-14T22:13:20Z  root    stolen
"
    );
    let list = ["key", "list", "acme"];
    assert_eq!(told(&registry, &list), expected);
    let document = run(&registry, &list).expect(0).json();
    assert_eq!(
        document["statements"][PUBLISHER]["at"],
        "2023-11-14T22:13:20Z"
    );
    let expected = json!({ "key_id": PUBLISHER, "state": "revoked", "is_removed": true });
    assert_eq!(document["states"][1], expected);
}

#[test]
fn a_listed_key_states_who_added_it_and_when() {
    let registry = Registry::start();
    let keys = json!({
        "keys": [{ "key_id": PUBLISHER, "fingerprint": "f", "ascii_armor": "" }],
        "added": { PUBLISHER: { "at": 1_700_000_000, "by": "token 0000000000000002 (ann)" } },
    });
    registry.set(
        "/admin/v1/namespaces/acme/keys",
        Response::new(200, keys.to_string()),
    );
    let list = ["key", "list", "acme"];
    let line = format!(
        "{PUBLISHER}  active  f            2023-11-14T22:13:20Z  token 0000000000000002 (ann)"
    );
    let told = told(&registry, &list);
    assert!(told.contains(&line), "{told}");
    let document = run(&registry, &list).expect(0).json();
    assert_eq!(document["added"][PUBLISHER]["at"], "2023-11-14T22:13:20Z");
}

#[test]
fn a_removal_states_that_a_revoked_key_stays_revoked() {
    for (state, holds) in [
        (
            "revoked",
            "stays revoked: versions that it signed cannot be installed",
        ),
        ("retired", "stays retired, also if it is added again"),
    ] {
        let registry = Registry::start();
        set_status(&registry, &[PUBLISHER], state);
        let told = told(&registry, &["key", "remove", "acme", PUBLISHER]);
        assert!(told.contains(holds), "{told}");
    }
    let told = told(&Registry::start(), &["key", "remove", "acme", PUBLISHER]);
    assert!(
        told.contains("may sign no new versions; versions that it signed stay"),
        "{told}"
    );
}

#[test]
fn adding_a_revoked_key_states_that_it_may_not_sign() {
    let registry = Registry::start();
    let file = fixture("publisher.asc");
    let status = json!({ "state": "revoked", "reason": "stolen", "at": 1, "by": "root" });
    let document = json!({ "keys": [], "statements": { PUBLISHER: status } });
    let answer = Response::new(200, document.to_string());
    registry.fail("PUT", "/keys", Fault::Answer(answer));
    let told = told(&registry, &["key", "add", "acme", file.to_str().unwrap()]);
    assert!(
        told.starts_with(&format!("{PUBLISHER} is added to acme, but revoked: ")),
        "{told}"
    );
    assert!(!told.contains("may sign for"), "{told}");
}

#[test]
fn a_restore_states_what_a_key_may_do() {
    for (keys, state, expected) in [
        (
            &[PUBLISHER] as &[&str],
            "revoked",
            "is active again for acme: it may sign new versions, and versions that it signed can be installed again",
        ),
        (
            &[PUBLISHER],
            "retired",
            "is active again for acme: it may sign new versions",
        ),
        (
            &[],
            "revoked",
            "is no longer revoked for acme: versions that it signed can be installed again",
        ),
        (
            &[],
            "revoked",
            "It is not among the keys of acme, so it may sign no new versions",
        ),
    ] {
        let registry = Registry::start();
        set_status(&registry, keys, state);
        let listed: Vec<Value> = keys
            .iter()
            .map(|id| json!({ "key_id": id, "fingerprint": "", "ascii_armor": "" }))
            .collect();
        let answer = Response::new(200, json!({ "keys": { "keys": listed } }).to_string());
        registry.fail("PUT", "/keys/", Fault::Answer(answer));
        let told = told(
            &registry,
            &["key", "restore", "acme", PUBLISHER, "--reason", "found"],
        );
        assert!(told.contains(expected), "{told}");
    }
}

/// Returns a registry in which three namespaces have the publisher's key, and one of them revoked it.
fn shared_key() -> Registry {
    let registry = Registry::start();
    let key = json!({ "key_id": PUBLISHER, "fingerprint": "", "ascii_armor": "" });
    let status = json!({ "state": "revoked", "reason": "stolen", "at": 1, "by": "root" });
    let fact = |namespace: &str, document: Value| json!({ "key": format!("keys/{namespace}"), "document": document.to_string() });
    let facts = json!({ "facts": [
        fact("acme", json!({ "keys": [key] })),
        fact("globex", json!({ "keys": [key] })),
        fact("hooli", json!({ "keys": [] })),
        fact("initech", json!({ "keys": [key], "statements": { PUBLISHER: status } })),
    ]});
    registry.set(
        "/admin/v1/facts?prefix=keys%2F",
        Response::new(200, facts.to_string()),
    );
    for namespace in ["acme", "globex"] {
        let answer = Response::new(200, json!({ "keys": { "keys": [key] } }).to_string());
        registry.fail("PUT", &format!("/{namespace}/keys/"), Fault::Answer(answer));
    }
    registry
}

#[test]
fn a_revocation_names_the_other_namespaces_that_have_the_key() {
    let registry = shared_key();
    let revoke = ["key", "revoke", "acme", PUBLISHER, "--reason", "stolen"];
    let document = run(&registry, &revoke).expect(0).json();
    assert_eq!(document["not_revoked_for"], json!(["globex"]));
    let message = warnings(&document);
    assert!(
        message.contains("globex") && message.contains("--everywhere"),
        "{message}"
    );
}

#[test]
fn a_key_is_revoked_everywhere() {
    let registry = shared_key();
    let revoke = [
        "key",
        "revoke",
        "acme",
        PUBLISHER,
        "--everywhere",
        "--reason",
        "stolen",
    ];
    let document = run(&registry, &revoke).expect(0).json();
    assert_eq!(document["revoked_for"], json!(["acme", "globex"]));
    let requests = registry.requests();
    let changes: Vec<&String> = requests.iter().filter(|it| it.starts_with("PUT")).collect();
    let path = |namespace: &str| format!("PUT /admin/v1/namespaces/{namespace}/keys/{PUBLISHER}");
    assert_eq!(changes, [&path("acme"), &path("globex")]);
}

#[test]
fn a_revocation_everywhere_by_a_delegate_covers_its_namespaces_and_names_the_gap() {
    let registry = shared_key();
    let denied = errors(403, &["this request requires the scope admin"]);
    registry.set("/admin/v1/facts?prefix=keys%2F", denied);
    let token = json!({
        "id": "0011223344556677", "name": "ci", "expires": null,
        "scopes": ["admin:acme", "admin:globex", "read"],
    });
    registry.set("/api/v1/token", Response::new(200, token.to_string()));
    let key = json!({ "key_id": PUBLISHER, "fingerprint": "", "ascii_armor": "" });
    registry.set(
        "/admin/v1/namespaces/globex/keys",
        Response::new(200, json!({ "keys": [key] }).to_string()),
    );
    let revoke = ["key", "revoke", "acme", PUBLISHER, "--everywhere"];
    let revoke = [&revoke[..], &["--reason", "stolen"]].concat();
    let ended = run(&registry, &revoke).expect(5);
    let document = ended.json();
    assert_eq!(document["revoked_for"], json!(["acme", "globex"]));
    let message = ended.errors();
    for part in ["does not administer", "scope admin", "--everywhere"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_revocation_everywhere_that_fails_for_a_namespace_names_it() {
    let registry = shared_key();
    registry.forget_faults();
    let key = json!({ "key_id": PUBLISHER, "fingerprint": "", "ascii_armor": "" });
    let answer = Response::new(200, json!({ "keys": { "keys": [key] } }).to_string());
    registry.fail("PUT", "/acme/keys/", Fault::Answer(answer));
    let missing = errors(404, &["no such key"]);
    registry.fail("PUT", "/globex/keys/", Fault::Answer(missing));
    let revoke = ["key", "revoke", "acme", PUBLISHER, "--everywhere"];
    let revoke = [&revoke[..], &["--reason", "stolen"]].concat();
    let ended = run(&registry, &revoke).expect(3);
    let document = ended.json();
    assert_eq!(document["revoked_for"], json!(["acme"]), "{document}");
    assert_eq!(document["not_revoked_for"], json!(["globex"]));
    let message = ended.errors();
    assert!(message.contains("is not revoked for globex"), "{message}");
}

#[test]
fn a_proposed_command_names_the_profile_of_the_command_line() {
    let registry = shared_key();
    let configuration = format!("[profiles.'west one']\nurl = \"{}\"\n", registry.url());
    let files = directory(&[("terrace/config.toml", &configuration)]);
    let mut command = terrace(&["key", "revoke", "acme", PUBLISHER, "--reason", "stolen"]);
    command.args(["--json", "--profile", "west one", "--token", TOKEN]);
    let ended = ended(command.env("XDG_CONFIG_HOME", files.path())).expect(0);
    let message = warnings(&ended.json());
    assert!(
        message.ends_with("--everywhere --reason REASON --profile 'west one'"),
        "{message}"
    );
}

#[test]
fn a_removal_with_a_lost_response_succeeds() {
    let registry = Registry::start();
    registry.fail("DELETE", PUBLISHER, Fault::HangUpAfter(0));
    registry.fail(
        "DELETE",
        PUBLISHER,
        Fault::Answer(errors(404, &["no such key"])),
    );
    run(&registry, &["key", "remove", "acme", PUBLISHER]).expect(0);
}

/// Returns the warnings of a run, joined.
fn warnings(document: &serde_json::Value) -> String {
    let warnings = document["warnings"].as_array().unwrap().iter();
    let lines: Vec<&str> = warnings.map(|line| line.as_str().unwrap()).collect();
    lines.join("\n")
}

#[test]
fn adding_an_ed25519_key_warns_of_terraform_before_1_6_2_3_11() {
    let registry = Registry::without_keys();
    let file = fixture("publisher.asc");
    let added = run(&registry, &["key", "add", "acme", file.to_str().unwrap()]).expect(0);
    let message = warnings(&added.json());
    let start = format!("key {PUBLISHER}: Terraform before 1.6.0 cannot verify its signatures");
    assert!(message.starts_with(&start), "{message}");
    assert!(
        added.stderr.contains(&format!("warning: {start}")),
        "{added:?}"
    );
}

#[test]
fn adding_an_rsa_key_causes_no_warning() {
    let registry = Registry::without_keys();
    let file = rsa_key("rsa2048.asc");
    let added = run(&registry, &["key", "add", "acme", file.to_str().unwrap()]).expect(0);
    assert_eq!(warnings(&added.json()), "");
    let file = rsa_key("rsa2048-cv25519.asc");
    let added = run(&registry, &["key", "add", "acme", file.to_str().unwrap()]).expect(0);
    assert!(warnings(&added.json()).contains("ECDH key"), "{added:?}");
}

/// Returns the path of a key of the core's tests.
fn rsa_key(name: &str) -> std::path::PathBuf {
    let core = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../terrace-openpgp");
    core.join("testdata").join(name)
}

#[test]
fn a_publish_warns_only_about_the_key_that_signed() {
    let registry = Registry::start();
    // In addition to the publisher's key.
    let file = rsa_key("rsa2048-cv25519.asc");
    run(&registry, &["key", "add", "acme", file.to_str().unwrap()]).expect(0);
    let dist = Dist::new();
    let path = dist.path();
    let publish = ["publish", "provider", &path, "--namespace", "acme"];
    for more in [&["--dry-run"] as &[&str], &[], &[]] {
        let message = warnings(&run(&registry, &[&publish, more].concat()).expect(0).json());
        assert_eq!(
            message.matches("Terraform before 1.6.0").count(),
            1,
            "{message}"
        );
        assert!(
            message.contains("the signature of SHA256SUMS: Terraform before 1.6.0"),
            "{message}"
        );
    }
}

/// Adds a file, and returns the lines of the result and the warnings.
fn added(registry: &Registry, file: &std::path::Path) -> (String, String) {
    let add = ["key", "add", "acme", file.to_str().unwrap()];
    let warned = warnings(&run(registry, &add).expect(0).json());
    (told(registry, &add), warned)
}

#[test]
fn a_renewed_key_states_its_changes() {
    let registry = Registry::without_keys();
    let (before, after) = (rsa_key("renewed-before.asc"), rsa_key("renewed.asc"));
    let (told_first, warned) = added(&registry, &before);
    assert!(!told_first.contains("updated"), "{told_first}");
    assert!(
        warned.contains("key 51982FF71ABF4941 expired at 2024-12-31"),
        "{warned}"
    );
    let add = ["key", "add", "acme", after.to_str().unwrap()];
    let told_after = told(&registry, &add);
    let expected = " is updated: expires 2063-12-23T00:00:00Z, +1 signing subkey\n";
    assert!(told_after.ends_with(expected), "{told_after}");
    // The older copy takes nothing away.
    let (told_before, warned) = added(&registry, &before);
    assert!(!told_before.contains("updated"), "{told_before}");
    assert_eq!(warned, "");
    let list = ["key", "list", "acme"];
    let listed = told(&registry, &list);
    for part in [
        "EXPIRES",
        "2063-12-23T00:00:00Z",
        "SIGNING SUBKEYS",
        " until 2026-01-01T00:00:00Z",
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let validity = &run(&registry, &list).expect(0).json()["validity"];
    let key = validity.as_object().unwrap().values().next().unwrap();
    assert_eq!(key["expires"], "2063-12-23T00:00:00Z");
    assert_eq!(key["signing_subkeys"][0]["expires"], "2026-01-01T00:00:00Z");
}

#[test]
fn a_key_file_of_powershell_is_read() {
    let registry = Registry::without_keys();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key.asc");
    let text = format!(
        "\u{feff}{}",
        fs::read_to_string(fixture("publisher.asc")).unwrap()
    );
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&file, bytes).unwrap();
    let add = ["key", "add", "acme", file.to_str().unwrap()];
    assert_eq!(ids(&run(&registry, &add).expect(0).json()), [PUBLISHER]);
}
