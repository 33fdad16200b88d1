//! OCI Distribution: repositories of published packages, and repositories that clients push to.

mod access;
mod artifacts;
mod blobs;
mod manifests;
mod providers;
mod referrers;

use serde_json::{Value, json};

use crate::support::pushed::Pushed;

const NOTHING: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Returns the bytes of a blob.
fn pull(pushed: &Pushed<'_>, digest: &str) -> Vec<u8> {
    let led = pushed.get(&format!("blobs/{digest}")).expect(307);
    assert_eq!(led.header("cache-control"), Some("no-store"));
    let location = led.header("location").unwrap();
    pushed.registry.get(location).expect(200).body
}

fn described(digest: &str) -> Value {
    json!({ "mediaType": "a/b", "digest": digest, "size": 2 })
}

fn referring_to(digest: &str) -> String {
    json!({ "schemaVersion": 2, "config": described(digest), "layers": [] }).to_string()
}

fn index_of(digest: &str) -> String {
    json!({ "schemaVersion": 2, "manifests": [described(digest)] }).to_string()
}
