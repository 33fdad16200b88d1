//! `terrace key`.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use super::support::registry::{Fault, Registry, errors};
use super::support::{Dist, TOKEN, fixture, run, terrace};

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
