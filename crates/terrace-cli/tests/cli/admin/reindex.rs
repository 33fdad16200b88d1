//! `terrace admin reindex`.

use serde_json::{Value, json};

use super::ACCEPT;
use crate::support::http::Response;
use crate::support::registry::{Fault, Registry};
use crate::support::run;

#[test]
fn a_lost_release_makes_reindex_exit_with_3() {
    let registry = Registry::start();
    let step = |lost: Value| {
        let step =
            json!({ "looked_at": 1, "rewritten": [], "removed": [], "failed": [], "lost": lost });
        let answer = Response::new(200, step.to_string());
        registry.fail("POST", "/admin/v1/reindex", Fault::Answer(answer));
    };
    step(json!(["acme/vpc/aws@1.0.0"]));
    let refused = run(&registry, &["admin", "reindex"]).expect(3);
    let message = refused.errors();
    assert!(
        message.contains("--accept-loss acme/vpc/aws@1.0.0"),
        "{message}"
    );
    step(json!([]));
    run(&registry, &[&["admin", "reindex"], &ACCEPT[..]].concat()).expect(0);
    // An audit log entry has no index, so a reindex cannot accept its loss.
    let refused = run(
        &registry,
        &["admin", "reindex", "--accept-loss", "audit-log"],
    )
    .expect(2);
    assert!(
        refused.errors().contains("audit-log"),
        "{}",
        refused.errors()
    );
}

#[test]
fn the_hostname_of_the_registry_may_precede_the_package() {
    let registry = Registry::start();
    let step = json!({ "looked_at": 1, "rewritten": [], "removed": [], "failed": [], "lost": [] });
    let answer = Response::new(200, step.to_string());
    registry.fail("POST", "/admin/v1/reindex", Fault::Answer(answer));
    let host = registry.url().strip_prefix("http://").unwrap();
    let own = format!("{host}/acme/vpc/aws");
    run(&registry, &["admin", "reindex", "--package", &own]).expect(0);
    for (package, part) in [
        ("localhost:1/acme/vpc/aws", host),
        ("acme/vpc/aws@1.0.0", "not an address"),
    ] {
        let refused = run(&registry, &["admin", "reindex", "--package", package]).expect(2);
        assert!(refused.errors().contains(part), "{refused:?}");
    }
}
