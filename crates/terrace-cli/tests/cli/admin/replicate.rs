//! `terrace admin replicate` and `terrace admin failover`.

use serde_json::{Value, json};
use terrace_base::digest::Sha256;

use crate::support::http::Response;
use crate::support::registry::{Fault, Registry};
use crate::support::{assert_has, run};

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

fn compares(registry: &Registry, step: &Value) {
    registry.answer("POST", "/admin/v1/replication", step);
}

const REPLICATE: [&str; 2] = ["admin", "replicate"];

#[test]
fn a_missing_archive_is_copied() {
    let registry = Registry::start();
    compares(&registry, &with_missing(&registry));
    registry.fail("GET", "/main/", Fault::Answer(Response::new(200, ARCHIVE)));
    registry.fail("PUT", "/second/", Fault::Answer(Response::new(200, "")));
    let ended = run(&registry, &REPLICATE).expect(0);
    assert_eq!(ended.json()["copied"], 1, "{ended:?}");
}

#[test]
fn an_archive_that_the_registry_has_and_its_url_does_not_is_a_failure_and_one_that_was_removed_none()
 {
    let registry = Registry::start();
    let absent = || Fault::Answer(Response::new(404, ""));
    for _ in 0..2 {
        compares(&registry, &with_missing(&registry));
        registry.fail("GET", "/main/", absent());
    }
    let once = [&REPLICATE[..], &["--retries", "1"]].concat();
    let errors = run(&registry, &once).fails(3, &key());
    assert_has!(errors, "another bucket");

    compares(&registry, &with_missing(&registry));
    registry.fail("GET", "/main/", absent());
    compares(&registry, &json!({ "stored": 0 }));
    let ended = run(&registry, &REPLICATE).expect(0);
    assert_eq!(ended.json()["copied"], 0, "{ended:?}");
}

#[test]
fn a_change_to_a_bucket_without_copies_is_refused_without_force() {
    let registry = Registry::start();
    let path = "/admin/v1/failover";
    let reason = "the second bucket cannot serve downloads: (--force)";
    registry.refuse("PUT", path, 409, &[reason]);
    let on = ["admin", "failover", "on", "--reason", "a test"];
    run(&registry, &on).fails(4, "--force");
    let state = json!({ "configured": true, "serving": "fallback", "recorded": true });
    registry.answer("PUT", path, &state);
    let ended = run(&registry, &[&on[..], &["--force"]].concat()).expect(0);
    assert_eq!(ended.json()["failover"]["serving"], "fallback");
}
