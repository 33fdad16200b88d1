//! Operator routes: repair, verification, garbage collection, and copies.

use serde_json::{Value, json};

use crate::support::fixtures::{sha256, zip_of};
use crate::support::registry::{Response, Sent, unique};
use crate::support::tokens::post;
use crate::support::{ModuleFixture, Registry};

/// The routes that take a body.
const ROUTES: [(&str, &str); 8] = [
    ("POST", "/admin/v1/reindex"),
    ("POST", "/admin/v1/verify"),
    ("PUT", "/admin/v1/facts"),
    ("POST", "/admin/v1/archives"),
    ("POST", "/admin/v1/garbage"),
    ("POST", "/admin/v1/erasures"),
    ("PUT", "/admin/v1/failover"),
    ("POST", "/admin/v1/replication"),
];

fn restore(registry: &Registry, body: &Value) -> Response {
    registry.put("/admin/v1/facts", body)
}

/// Returns the only document with this key.
fn fact(registry: &Registry, key: &str) -> Option<Value> {
    let path = format!("/admin/v1/facts?prefix={key}");
    let page = registry.read_as_admin(&path);
    page["facts"].as_array().unwrap().first().cloned()
}

/// Returns an archive that nothing refers to, and its key.
fn archive() -> (Vec<u8>, String) {
    let zip = zip_of(&[("main.tf", unique("# ").as_bytes())]);
    let key = format!("archives/{}.zip", sha256(&zip));
    (zip, key)
}

#[test]
fn an_invalid_request_is_rejected_with_the_value() {
    let registry = Registry::start();
    let many = vec!["archives/x.zip"; 41];
    let large = json!([{ "key": archive().1, "size": 6_000_000_000_u64 }]);
    for (path, body, status, told) in [
        ("reindex", json!({ "package": "acme" }), 400, "\"acme\""),
        ("reindex", json!({ "after": "x y" }), 400, "\"x y\""),
        ("verify", json!("x"), 400, "struct"),
        ("garbage", json!({ "mark": many }), 400, "41"),
        ("garbage", json!({ "delete": [] }), 400, "`delete`"),
        ("archives", json!({ "archives": large }), 422, "6000000000"),
        (
            "archives",
            json!({ "archives": [{ "key": "x", "size": 1 }] }),
            400,
            "\"x\"",
        ),
        (
            "erasures",
            json!({ "reason": "x", "archives": vec![archive().1; 81] }),
            400,
            "81",
        ),
        (
            "erasures",
            json!({ "reason": "x", "package": "acme/widget", "version": "1" }),
            400,
            "version",
        ),
    ] {
        post(&registry, &format!("/admin/v1/{path}"), &body).refuses(status, told);
    }
    for (query, told) in [
        ("facts?prefix=keys/&after=releases/x", "\"releases/x\""),
        ("archives?after=keys/acme", "\"keys/acme\""),
        ("archives?urls=yes", "yes"),
        ("archives?limit=-1", "limit"),
        ("audit?after=-1", "-1"),
        ("audit?since=yesterday", "yesterday"),
    ] {
        let answer = registry.admin("GET", &format!("/admin/v1/{query}"), None);
        answer.refuses(400, told);
    }
    let fact = json!({ "key": "keys/acme", "document": "{}" });
    restore(&registry, &json!({ "facts": vec![fact; 21] })).refuses(400, "20");
    for (method, path) in ROUTES {
        let sent = Sent::new(method, path).bearing(registry.token());
        registry.send(&sent.unsized_body("{}")).expect(411);
    }
}

#[test]
fn stored_bytes_are_hashed_by_the_platform() {
    let registry = Registry::start();
    let fixture = ModuleFixture::new("1.0.0");
    fixture.publish(&registry);
    // The cursor is the key before that of the archive.
    let digest = sha256(&fixture.archive);
    let after = json!({ "after": format!("archives/{digest}") });
    let step = post(&registry, "/admin/v1/verify", &after).found();
    assert!(step["looked_at"].as_u64().unwrap() >= 1, "{step}");
    assert!(step["bytes"].as_u64().unwrap() >= fixture.archive.len() as u64);
    assert_eq!(step["wrong"], json!([]), "{step}");
}

#[test]
fn stored_documents_and_bytes_are_listed_and_the_bytes_can_be_fetched() {
    let registry = Registry::start();
    let fixture = ModuleFixture::new("1.0.0");
    fixture.publish(&registry);
    let release = format!("releases/modules/{}/1.0.0", fixture.address);
    let fact = fact(&registry, &release).unwrap();
    assert_eq!(fact["key"], release);
    let document: Value = serde_json::from_str(fact["document"].as_str().unwrap()).unwrap();
    assert_eq!(document["version"], "1.0.0");
    let digest = sha256(&fixture.archive);
    let path = format!("/admin/v1/archives?urls=true&after=archives/{digest}");
    let page = registry.read_as_admin(&path);
    let stored = &page["archives"][0];
    assert_eq!(stored["key"], format!("archives/{digest}.zip"));
    assert_eq!(stored["size"], fixture.archive.len());
    assert!(stored["stored_at"].as_u64().unwrap() <= page["now"].as_u64().unwrap());
    let url = stored["url"].as_str().unwrap();
    assert_eq!(registry.get(url).expect(200).body, fixture.archive);
}

#[test]
fn an_erasure_of_nothing_or_without_a_reason_is_rejected() {
    let registry = Registry::start();
    let (_, key) = archive();
    for (body, status) in [
        (json!({ "reason": "x" }), 422),
        (json!({ "reason": "", "archives": [key] }), 422),
        (json!({ "reason": "two\nlines", "archives": [key] }), 422),
        (json!({ "reason": "x", "package": "acme/vpc/aws" }), 422),
        (
            json!({ "reason": "x", "version": "1.0.0", "archives": [key] }),
            422,
        ),
        (
            json!({ "reason": "x", "package": "nobody/vpc/aws", "version": "1.0.0" }),
            404,
        ),
    ] {
        let answer = post(&registry, "/admin/v1/erasures", &body);
        assert_eq!(answer.status, status, "{body} {}", answer.text());
    }
}
