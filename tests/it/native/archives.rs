//! Archives in the bucket: who may refer to them, when they are removed, and how their URLs are signed.

mod copies;
mod documentation;
mod edge;
mod erased_documentation;
mod erasure;
mod failover;
mod garbage;
mod presigned;
mod staging;

use serde_json::{Value, json};

use crate::support::ModuleFixture;
use crate::support::fixtures::sha256;
use crate::support::registry::{Registry, Response};
use crate::support::tokens::post;

fn key_of(fixture: &ModuleFixture) -> String {
    format!("archives/{}.zip", sha256(&fixture.archive))
}

const REASON: &str = "a leaked key";

/// Returns the body of a request that erases the first version of the module, with these archives.
fn whole(archives: &[&str]) -> Value {
    let address = "acme/vpc/aws";
    json!({ "package": address, "version": "1.0.0", "reason": REASON, "archives": archives })
}

/// Returns the body of a request that erases only archives.
fn alone(archives: &[&str]) -> Value {
    json!({ "reason": REASON, "archives": archives })
}

fn erase(registry: &Registry, body: &Value) -> Response {
    post(registry, "/admin/v1/erasures", body)
}
