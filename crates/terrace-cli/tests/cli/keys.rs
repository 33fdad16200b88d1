//! `terrace key`.

use std::fs;

use serde_json::{Value, json};

use super::support::registry::{Fault, Registry, errors};
use super::support::{Dist, Ended, assert_has, directory, ended, fixture, run, terrace_at};

const PUBLISHER: &str = "61C051AC9CA350D4";
const OTHER: &str = "01140820A0F0C9F3";

fn ids(document: &Value) -> Vec<&str> {
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
    let listed = run(&registry, &["key", "list", "ACME"]).expect(0).json();
    assert_eq!(ids(&listed), [PUBLISHER, OTHER]);
    assert_eq!(listed["namespace"], "acme");
    let removed = run(&registry, &["key", "remove", "acme", PUBLISHER]).expect(0);
    assert_eq!(ids(&removed.json()), [OTHER]);
}

#[test]
fn adding_an_ed25519_key_warns_of_terraform_before_1_6_2_3_11() {
    let registry = Registry::without_keys();
    let file = fixture("publisher.asc");
    let added = run(&registry, &["key", "add", "acme", file.to_str().unwrap()]).expect(0);
    let warning = format!("key {PUBLISHER}: Terraform before 1.6.0 cannot verify");
    assert_has!(added.warnings(), warning);
    assert_has!(added.stderr, format!("warning: {warning}"));
}

#[test]
fn a_key_is_read_from_standard_input() {
    let registry = Registry::without_keys();
    let mut command = terrace_at(registry.url(), &["key", "add", "acme", "-"]);
    let key = fs::File::open(fixture("publisher.asc")).unwrap();
    let added = ended(command.stdin(key)).expect(0);
    assert_eq!(added.stdout, format!("{PUBLISHER} may sign for acme\n"));
}

#[test]
fn a_file_that_is_not_a_public_key_is_never_sent() {
    let registry = Registry::without_keys();
    let private = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nAAAA\n";
    let files = directory(&[("text", "hello"), ("private", private)]);
    fs::write(files.path().join("binary"), b"\x99\x01\x0d\x04").unwrap();
    for (name, hint) in [
        ("text", ""),
        ("private", "secret key"),
        ("binary", "gpg --armor --export"),
        ("absent", "absent"),
    ] {
        let path = files.path().join(name);
        let ended = run(&registry, &["key", "add", "acme", path.to_str().unwrap()]).expect(3);
        assert_has!(ended.errors().to_lowercase(), hint);
    }
    assert_eq!(registry.requests(), [""; 0]);
}

fn key() -> Value {
    json!({ "key_id": PUBLISHER, "fingerprint": "", "ascii_armor": "" })
}

/// Answers the request that revokes the publisher's key for a namespace.
fn answer_revocation(registry: &Registry, namespace: &str) {
    let path = format!("/{namespace}/keys/");
    registry.answer("PUT", &path, &json!({ "keys": { "keys": [key()] } }));
}

/// Returns a registry in which three namespaces have the publisher's key, and one of them revoked it.
fn shared_key() -> Registry {
    let registry = Registry::start();
    let key = key();
    let status = json!({ "state": "revoked", "reason": "stolen", "at": 1, "by": "root" });
    let fact = |namespace: &str, document: Value| json!({ "key": format!("keys/{namespace}"), "document": document.to_string() });
    let facts = json!({ "facts": [
        fact("acme", json!({ "keys": [key] })),
        fact("globex", json!({ "keys": [key] })),
        fact("hooli", json!({ "keys": [] })),
        fact("initech", json!({ "keys": [key], "statements": { PUBLISHER: status } })),
    ]});
    registry.set_json("/admin/v1/facts?prefix=keys%2F", &facts);
    for namespace in ["acme", "globex"] {
        answer_revocation(&registry, namespace);
    }
    registry
}

fn revoke(registry: &Registry, more: &[&str]) -> Ended {
    let line = ["key", "revoke", "acme", PUBLISHER, "--reason", "stolen"];
    run(registry, &[&line[..], more].concat())
}

#[test]
fn a_revocation_names_the_other_namespaces_that_have_the_key_or_is_made_everywhere() {
    let registry = shared_key();
    let ended = revoke(&registry, &[]).expect(0);
    assert_eq!(ended.json()["not_revoked_for"], json!(["globex"]));
    assert_has!(ended.warnings(), "globex", "--everywhere");
    let registry = shared_key();
    let document = revoke(&registry, &["--everywhere"]).expect(0).json();
    assert_eq!(document["revoked_for"], json!(["acme", "globex"]));
    let path = |namespace: &str| format!("PUT /admin/v1/namespaces/{namespace}/keys/{PUBLISHER}");
    assert_eq!(registry.changes(), ["acme", "globex"].map(path));
}

#[test]
fn a_revocation_everywhere_by_a_delegate_names_the_gap() {
    let registry = shared_key();
    let denied = errors(403, &["this request requires the scope admin"]);
    registry.set("/admin/v1/facts?prefix=keys%2F", denied);
    let ended = revoke(&registry, &["--everywhere"]).expect(5);
    assert_eq!(ended.json()["revoked_for"], json!(["acme"]));
    assert_has!(ended.errors(), "cannot be listed", "scope admin");
}

#[test]
fn a_revocation_everywhere_that_fails_for_a_namespace_names_it() {
    let registry = shared_key();
    registry.forget_faults();
    answer_revocation(&registry, "acme");
    registry.refuse("PUT", "/globex/keys/", 404, &["no such key"]);
    let ended = revoke(&registry, &["--everywhere"]).expect(3);
    assert_eq!(ended.json()["revoked_for"], json!(["acme"]));
    assert_eq!(ended.json()["not_revoked_for"], json!(["globex"]));
    assert_has!(ended.errors(), "is not revoked for globex");
}

#[test]
fn a_removal_with_a_lost_response_succeeds() {
    let registry = Registry::start();
    registry.fail("DELETE", PUBLISHER, Fault::HangUpAfter(0));
    registry.refuse("DELETE", PUBLISHER, 404, &["no such key"]);
    run(&registry, &["key", "remove", "acme", PUBLISHER]).expect(0);
}

#[test]
fn a_publish_warns_only_about_the_key_that_signed() {
    let registry = Registry::start();
    // In addition to the publisher's key.
    let file = fixture("../../../terrace-openpgp/testdata/rsa2048-cv25519.asc");
    run(&registry, &["key", "add", "acme", file.to_str().unwrap()]).expect(0);
    let dist = Dist::new();
    let path = dist.path();
    let publish = ["publish", "provider", &path, "--namespace", "acme"];
    let warnings = run(&registry, &publish).expect(0).warnings();
    let count = warnings.matches("Terraform before 1.6.0").count();
    assert_eq!(count, 1, "{warnings}");
    assert_has!(warnings, "the signature of SHA256SUMS");
}
