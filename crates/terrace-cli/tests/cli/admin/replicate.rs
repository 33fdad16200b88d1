//! `terrace admin replicate` and `terrace admin failover`.

use serde_json::{Value, json};
use terrace_base::digest::Sha256;

use crate::support::http::Response;
use crate::support::registry::{Fault, Registry};
use crate::support::run;

const ARCHIVE: &[u8] = b"an archive";

fn key() -> String {
    format!("archives/{}.zip", Sha256::of(ARCHIVE))
}

/// Returns a step of the replication in which one archive is missing.
fn with_missing(registry: &Registry) -> Value {
    let url = registry.url();
    json!({
        "stored": 1,
        "missing": [{
            "key": key(),
            "size": ARCHIVE.len(),
            "url": format!("{url}/main/archive"),
            "upload": { "method": "PUT", "url": format!("{url}/second/archive"), "headers": {} },
        }],
    })
}

fn answers(registry: &Registry, method: &str, path: &str, response: Response) {
    registry.fail(method, path, Fault::Answer(response));
}

fn compares(registry: &Registry, step: &Value) {
    let response = Response::new(200, step.to_string());
    answers(registry, "POST", "/admin/v1/replication", response);
}

const REPLICATE: [&str; 2] = ["admin", "replicate"];

#[test]
fn a_missing_archive_is_copied() {
    let registry = Registry::start();
    compares(&registry, &with_missing(&registry));
    answers(&registry, "GET", "/main/", Response::new(200, ARCHIVE));
    answers(&registry, "PUT", "/second/", Response::new(200, ""));
    let ended = run(&registry, &REPLICATE).expect(0);
    assert_eq!(ended.json()["copied"], 1, "{ended:?}");
}

#[test]
fn an_archive_that_the_registry_still_has_and_its_url_does_not_is_a_failure() {
    let registry = Registry::start();
    for _ in 0..2 {
        compares(&registry, &with_missing(&registry));
    }
    answers(&registry, "GET", "/main/", Response::new(404, ""));
    let message = run(&registry, &REPLICATE).expect(3).errors();
    assert!(
        message.contains(&key()) && message.contains("another bucket"),
        "{message}"
    );
}

#[test]
fn an_archive_that_was_removed_in_the_meantime_is_not_copied() {
    let registry = Registry::start();
    compares(&registry, &with_missing(&registry));
    answers(&registry, "GET", "/main/", Response::new(404, ""));
    compares(&registry, &json!({ "stored": 0 }));
    let ended = run(&registry, &REPLICATE).expect(0);
    assert_eq!(ended.json()["copied"], 0, "{ended:?}");
}

#[test]
fn a_change_to_a_bucket_without_copies_is_refused_without_force() {
    let registry = Registry::start();
    let errors = json!({ "errors": ["the second bucket cannot serve downloads: (--force)"] });
    let path = "/admin/v1/failover";
    answers(
        &registry,
        "PUT",
        path,
        Response::new(409, errors.to_string()),
    );
    let on = ["admin", "failover", "on", "--reason", "a test"];
    let message = run(&registry, &on).expect(4).errors();
    assert!(message.contains("--force"), "{message}");
    let state = json!({ "configured": true, "serving": "fallback", "recorded": true });
    answers(
        &registry,
        "PUT",
        path,
        Response::new(200, state.to_string()),
    );
    let ended = run(&registry, &[&on[..], &["--force"]].concat()).expect(0);
    assert_eq!(ended.json()["failover"]["serving"], "fallback");
}
