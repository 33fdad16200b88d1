//! `terrace admin reindex`.

use serde_json::{Value, json};

use super::ACCEPT;
use crate::support::registry::Registry;
use crate::support::run;

#[test]
fn a_lost_release_makes_reindex_exit_with_3() {
    let registry = Registry::start();
    let step = |lost: Value| {
        let step =
            json!({ "looked_at": 1, "rewritten": [], "removed": [], "failed": [], "lost": lost });
        registry.answer("POST", "/admin/v1/reindex", &step);
    };
    let reindex = |more: &[&str]| run(&registry, &[&["admin", "reindex"], more].concat());
    step(json!(["acme/vpc/aws@1.0.0"]));
    reindex(&[]).fails(3, "--accept-loss acme/vpc/aws@1.0.0");
    step(json!([]));
    reindex(&ACCEPT).expect(0);
    // An audit log entry has no index, so a reindex cannot accept its loss.
    reindex(&["--accept-loss", "audit-log"]).fails(2, "audit-log");
}
