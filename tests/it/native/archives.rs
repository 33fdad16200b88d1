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

use serde_json::Value;

use crate::support::ModuleFixture;
use crate::support::fixtures::sha256;
use crate::support::registry::{Registry, Response};
use crate::support::tokens::post;

fn key_of(fixture: &ModuleFixture) -> String {
    format!("archives/{}.zip", sha256(&fixture.archive))
}

fn erase(registry: &Registry, body: &Value) -> Response {
    post(registry, "/admin/v1/erasures", body)
}
