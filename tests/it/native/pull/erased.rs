//! Pulled versions and packages that an operator has erased.

use serde_json::json;

use super::Pulling;
use crate::support::fixtures::sha256;
use crate::support::tokens::post;

#[test]
fn an_erased_version_is_not_fetched_again() {
    let (pulling, fixture) = Pulling::listed();
    let url = pulling.url(&fixture);
    pulling.registry.get(&url).expect(200);
    let body =
        json!({ "package": fixture.address(), "version": "1.0.0", "reason": "a leaked key" });
    post(&pulling.registry, "/admin/v1/erasures", &body).expect(200);
    pulling.memory.lose_indices();
    pulling.memory.forget_operations();
    pulling.registry.get(&fixture.packages()).expect(410);
    pulling.registry.get(&url).refuses(410, "a leaked key");
    assert_eq!(pulling.asked(".zip"), 0);
    let list = pulling.registry.read(&fixture.index());
    assert_eq!(list["versions"], json!({}));
}

#[test]
fn an_erased_package_is_neither_passed_on_nor_stored() {
    let (pulling, fixture) = Pulling::listed();
    let url = pulling.url(&fixture);
    let key = format!("archives/{}.zip", sha256(super::amd64(&fixture)));
    let body = json!({ "archives": [key], "reason": "a leaked key" });
    post(&pulling.registry, "/admin/v1/erasures", &body).expect(200);
    pulling.registry.get(&url).expect(410);
    assert!(!pulling.memory.keys().contains(&key));
    assert_eq!(pulling.asked(".zip"), 0);
}
