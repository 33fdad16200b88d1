//! `terrace release`.

use serde_json::{Value, json};

use super::support::http::Response;
use super::support::registry::{Registry, errors};
use super::support::{Dist, assert_has, run};

const STATUS: &str = "/admin/v1/providers/acme/hello/status";
const PACKAGE: &str = "/api/v1/providers/acme/hello";

/// A registry with a provider of three versions: one was deprecated, and the key of another is revoked.
fn registry() -> Registry {
    let registry = Registry::start();
    let deprecated =
        json!({ "state": "deprecated", "reason": "use 1.2.3", "at": 1_700_000_000, "by": "root" });
    let set = json!({ "versions": { "1.1.0": deprecated } });
    registry.set_json(STATUS, &set);
    let deprecated =
        json!({ "state": "deprecated", "reason": "use 1.2.3", "at": "2023-11-14T22:13:20Z" });
    let by_key = "its signing key 61C051AC9CA350D4 is revoked: stolen";
    let revoked = json!({ "state": "revoked", "reason": by_key, "at": "2026-11-14T22:13:20Z" });
    let versions = json!([
        { "version": "1.2.3", "is_documented": false },
        { "version": "1.1.0", "is_documented": false, "status": deprecated },
        { "version": "1.0.0", "is_documented": false, "status": revoked },
    ]);
    registry.set_package("providers/acme/hello", &versions);
    registry
}

#[test]
fn statuses_are_shown_with_times_in_rfc_3339() {
    let registry = registry();
    let document = run(&registry, &["release", "show", "acme/hello"])
        .expect(0)
        .json();
    let line = |at: usize| &document["versions"][at];
    assert_eq!(line(0)["state"], "active");
    let set = json!({ "state": "deprecated", "reason": "use 1.2.3", "at": "2023-11-14T22:13:20Z", "by": "root" });
    assert_eq!(document["statuses"]["versions"]["1.1.0"], set);
    assert_eq!((&line(1)["at"], &line(1)["by"]), (&set["at"], &set["by"]));
    assert_eq!(line(2)["state"], "revoked");
    assert_eq!(line(2)["by"], Value::Null);
    let status =
        json!({ "state": "deprecated", "reason": "old", "at": 1_700_000_000, "by": "root" });
    registry.answer("PUT", "/status", &json!({ "package": status }));
    let line = ["release", "deprecate", "acme/hello", "--reason", "old"];
    let document = run(&registry, &line).expect(0).json();
    assert_eq!(document["statuses"]["package"]["at"], set["at"]);
}

#[test]
fn what_does_not_exist_is_not_shown() {
    let show = ["release", "show", "acme/hello@9.9.9"];
    run(&registry(), &show).fails(3, "acme/hello has no version 9.9.9 at http://");
    for (address, path, hint) in [
        ("acme/vpc", "providers/acme/vpc", "a module has three"),
        ("acme/vpc/aws", "modules/acme/vpc/aws", ""),
        ("a.test/acme/vpc", "mirror/a.test/acme/vpc", "leave it out"),
    ] {
        let registry = registry();
        registry.set_json(&format!("/admin/v1/{path}/status"), &json!({}));
        let show = ["release", "show", address];
        let expected = format!("there is no {address} at {}", registry.url());
        assert_has!(run(&registry, &show).fails(3, &expected), hint);
        registry.set(&format!("/api/v1/{path}"), Response::new(404, "<html>"));
        run(&registry, &show).expect(5);
    }
}

#[test]
fn a_publish_of_a_revoked_version_warns_that_nobody_can_install_it() {
    let registry = Registry::start();
    let dist = Dist::new();
    let path = dist.path();
    let publish = ["publish", "provider", &path, "--namespace", "acme"];
    run(&registry, &publish).expect(0);
    let reason = "contains a credential";
    let details = json!({
        "kind": "provider", "address": "acme/hello", "path": PACKAGE, "version": "1.2.3", "is_documented": false,
        "latest": null, "status": { "state": "revoked", "reason": reason, "at": "2026-11-14T22:13:20Z" },
    });
    let path = format!("{PACKAGE}/1.2.3");
    registry.set_json(&path, &details);
    let document = run(&registry, &publish).expect(0).json();
    assert_eq!(document["status"], "unchanged");
    let warnings = document["warnings"].to_string();
    let expected = "the version is revoked, so no client can install it: contains a credential";
    assert_has!(warnings, expected);
    // The catalogue is no part of the publish.
    registry.set(&path, errors(503, &["storage did not answer"]));
    run(&registry, &[&publish[..], &["--retries", "0"]].concat()).expect(0);
}
