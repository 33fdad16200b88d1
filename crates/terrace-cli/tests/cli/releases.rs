//! `terrace release`.

use serde_json::{Value, json};

use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{Dist, TOKEN, ended, run, terrace};

const STATUS: &str = "/admin/v1/providers/acme/hello/status";
const PACKAGE: &str = "/api/v1/providers/acme/hello";

/// A registry with a provider of three versions: one was deprecated, and the key of another is revoked.
fn registry() -> Registry {
    let registry = Registry::start();
    let set = |path: &str, document: &Value| {
        registry.set(path, Response::new(200, document.to_string()));
    };
    let deprecated =
        json!({ "state": "deprecated", "reason": "use 1.2.3", "at": 1_700_000_000, "by": "root" });
    set(STATUS, &json!({ "versions": { "1.1.0": deprecated } }));
    let deprecated =
        json!({ "state": "deprecated", "reason": "use 1.2.3", "at": "2023-11-14T22:13:20Z" });
    let by_key = "its signing key 61C051AC9CA350D4 is revoked: stolen";
    let revoked = json!({ "state": "revoked", "reason": by_key, "at": "2026-11-14T22:13:20Z" });
    set(
        PACKAGE,
        &json!({ "versions": [
            { "version": "1.2.3", "is_documented": false },
            { "version": "1.1.0", "is_documented": false, "status": deprecated },
            { "version": "1.0.0", "is_documented": false, "status": revoked },
        ]}),
    );
    set("/api/v1/namespaces?limit=1", &json!({ "namespaces": [] }));
    registry
}

#[test]
fn a_version_is_shown_as_revoked_if_its_signing_key_is() {
    let expected = "\
acme/hello
VERSION  STATUS      SINCE                 SET BY  REASON
1.2.3    active
1.1.0    deprecated  2023-11-14T22:13:20Z  root    use 1.2.3
1.0.0    revoked     2026-11-14T22:13:20Z          its signing key 61C051AC9CA350D4 is revoked: stolen
";
    let registry = registry();
    let mut command = terrace(&["release", "show", "acme/hello", "--url", registry.url()]);
    let shown = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0).stdout;
    assert_eq!(shown, expected);
}

#[test]
fn statuses_are_shown_with_times_in_rfc_3339() {
    let document = run(&registry(), &["release", "show", "acme/hello"])
        .expect(0)
        .json();
    let line = |at: usize| &document["versions"][at];
    assert_eq!(line(0)["state"], "active");
    let set = json!({ "state": "deprecated", "reason": "use 1.2.3", "at": "2023-11-14T22:13:20Z", "by": "root" });
    assert_eq!(document["statuses"]["versions"]["1.1.0"], set);
    assert_eq!((&line(1)["at"], &line(1)["by"]), (&set["at"], &set["by"]));
    assert_eq!(
        (&line(2)["state"], &line(2)["by"]),
        (&json!("revoked"), &Value::Null)
    );
}

#[test]
fn the_hostname_of_the_registry_may_precede_the_address() {
    let registry = registry();
    let host = registry.url().strip_prefix("http://").unwrap();
    let address = format!("{host}/acme/hello@1.0.0");
    let document = run(&registry, &["release", "show", &address]).expect(0);
    let versions = document.json()["versions"].clone();
    assert_eq!(versions.as_array().unwrap().len(), 1);
    assert_eq!(versions[0]["version"], "1.0.0");
    let other = ["release", "show", "localhost:1/acme/hello"];
    let message = run(&registry, &other).expect(2).errors();
    assert!(message.contains(host), "{message}");
}

#[test]
fn a_version_that_does_not_exist_is_not_shown() {
    let message = run(&registry(), &["release", "show", "acme/hello@9.9.9"])
        .expect(3)
        .errors();
    assert!(
        message.starts_with("acme/hello has no version 9.9.9 at http://"),
        "{message}"
    );
}

#[test]
fn a_package_that_does_not_exist_is_not_shown() {
    for (address, path, hint) in [
        ("acme/vpc", "providers/acme/vpc", "a module has three"),
        ("acme/vpc/aws", "modules/acme/vpc/aws", ""),
        ("a.test/acme/vpc", "mirror/a.test/acme/vpc", "leave it out"),
    ] {
        let registry = registry();
        let status = format!("/admin/v1/{path}/status");
        registry.set(&status, Response::new(200, "{}"));
        let show = ["release", "show", address];
        let message = run(&registry, &show).expect(3).errors();
        let expected = format!("there is no {address} at {}", registry.url());
        assert!(message.starts_with(&expected), "{message}");
        assert!(message.contains(hint), "{message}");
        registry.set(&format!("/api/v1/{path}"), Response::new(404, "<html>"));
        run(&registry, &show).expect(5);
    }
}

#[test]
fn a_status_that_clients_do_not_see_yet_is_announced() {
    let registry = registry();
    let withdrawn = json!({ "state": "withdrawn", "reason": "broken", "at": 1, "by": "root" });
    let set = json!({ "versions": { "1.2.3": withdrawn, "1.0.0": withdrawn } });
    registry.set(STATUS, Response::new(200, set.to_string()));
    let document = run(&registry, &["release", "show", "acme/hello"])
        .expect(0)
        .json();
    // The key of 1.0.0 is revoked, which no other status changes.
    let expected = ["1.2.3 was set to withdrawn, which clients see within five minutes"];
    assert_eq!(document["warnings"], json!(expected));
}

#[test]
fn a_publish_of_a_revoked_version_warns_that_nobody_can_install_it() {
    let registry = Registry::start();
    let dist = Dist::new();
    let path = dist.path();
    let publish = ["publish", "provider", &path, "--namespace", "acme"];
    run(&registry, &publish).expect(0);
    let status = json!({ "state": "revoked", "reason": "contains a credential" });
    let details = json!({ "version": "1.2.3", "is_documented": false, "status": status });
    let path = format!("{PACKAGE}/1.2.3");
    registry.set(&path, Response::new(200, details.to_string()));
    let document = run(&registry, &publish).expect(0).json();
    assert_eq!(document["status"], "unchanged");
    let warnings = document["warnings"].to_string();
    let expected = "the version is revoked, so no client can install it: contains a credential";
    assert!(warnings.contains(expected), "{warnings}");
    // The catalogue is no part of the publish.
    registry.set(&path, errors(503, &["storage did not answer"]));
    run(&registry, &[&publish[..], &["--retries", "0"]].concat()).expect(0);
}

#[test]
fn a_changed_status_has_its_time_in_rfc_3339() {
    let registry = Registry::start();
    let status =
        json!({ "state": "deprecated", "reason": "old", "at": 1_700_000_000, "by": "root" });
    let answer = Response::new(200, json!({ "package": status }).to_string());
    registry.fail("PUT", "/status", Fault::Answer(answer));
    let deprecate = ["release", "deprecate", "acme/hello", "--reason", "old"];
    let document = run(&registry, &deprecate).expect(0).json();
    assert_eq!(
        document["statuses"]["package"]["at"],
        "2023-11-14T22:13:20Z"
    );
}

#[test]
fn a_restored_version_whose_signing_key_is_revoked_is_not_called_active() {
    let registry = Registry::start();
    let restored = |reason: &str| {
        registry.fail("PUT", "/status", Fault::Answer(Response::new(200, "{}")));
        let status = json!({ "state": "revoked", "reason": reason });
        let details = json!({ "version": "1.0.0", "is_documented": false, "status": status });
        registry.set(
            &format!("{PACKAGE}/1.0.0"),
            Response::new(200, details.to_string()),
        );
        let line = [
            "release",
            "restore",
            "acme/hello@1.0.0",
            "--reason",
            "a mistake",
        ];
        let mut command = terrace(&line);
        command
            .env("TERRACE_URL", registry.url())
            .env("TERRACE_TOKEN", TOKEN);
        ended(&mut command).expect(0).stdout
    };
    let text = restored("its signing key 61C051AC9CA350D4 is revoked: stolen");
    assert!(
        text.contains("still cannot be installed, because its signing key"),
        "{text}"
    );
    assert!(!text.contains("active again\n"), "{text}");
    // The catalogue may be some minutes behind.
    let text = restored("contains a credential");
    assert!(text.contains("is active again"), "{text}");
}
