//! Blocks at run time: of whole providers and of versions, before and after they are pulled or mirrored.

use std::cell::Cell;
use std::rc::Rc;

use serde_json::{Value, json};

use super::parts::{HOST, blocks};
use super::{Pulling, another};
use crate::support::memory::Memory;
use crate::support::registry::Sent;
use crate::support::reindexed::{reindex, reindex_with};
use crate::support::tokens::create;
use crate::support::{MirrorFixture, ProviderFixture, Registry, Response};

pub(super) const REASON: &str = "it steals tokens";

/// Sends a block, or lifts it. `what` is the address, with a version after a slash if only one is meant.
fn set(registry: &Registry, what: &str, state: &str) -> Response {
    let path = format!("/admin/v1/mirror/{what}/status");
    let body = json!({ "state": state, "reason": REASON });
    registry.put(&path, &body)
}

pub(super) fn block(registry: &Registry, what: &str) {
    set(registry, what, "blocked").expect(200);
}

pub(super) fn unblock(registry: &Registry, what: &str) {
    set(registry, what, "unblocked").expect(200);
}

/// Checks that a path is answered like a missing one, with the reason of the block.
pub(super) fn assert_blocked(registry: &Registry, path: &str) {
    let refused = registry.get(path).expect(404);
    let text = String::from_utf8_lossy(&refused.body).into_owned();
    assert!(text.contains("blocked by the operator"), "{path}: {text}");
    assert!(text.contains(REASON), "{path}: {text}");
}

#[test]
fn a_blocked_version_is_not_listed_and_each_of_its_paths_names_the_reason() {
    let (pulling, fixture) = Pulling::one();
    let bad = pulling.publish(&another(&fixture.origin, "1.1.0"));
    let url = pulling.url(&bad);
    let address = fixture.address();
    block(&pulling.registry, &format!("{address}/1.1.0"));
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    // A URL that was signed before the block leads nowhere.
    for path in [&bad.packages(), &url] {
        assert_blocked(&pulling.registry, path);
    }
    // People see the version, with the reason.
    let details = pulling
        .registry
        .get(&format!("/api/v1/mirror/{address}/1.1.0"));
    let details = details.found();
    assert_eq!(details["status"]["state"], "blocked", "{details}");
    unblock(&pulling.registry, &format!("{address}/1.1.0"));
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0"]);
    pulling.registry.get(&bad.packages()).expect(200);
    pulling.registry.get(&url).expect(200);
}

#[test]
fn the_audit_log_records_whether_a_block_applies_after_a_change() {
    let (_, registry) = Registry::with_memory(&[]);
    let provider = "registry.example.com/acme/widget";
    let version = format!("{provider}/1.0.0");
    block(&registry, provider);
    block(&registry, &version);
    unblock(&registry, &version);
    unblock(&registry, provider);
    let page = registry.admin("GET", "/admin/v1/audit", None).json();
    let change = |entry: &Value| {
        let entry: Value = serde_json::from_str(entry.as_str().unwrap()).unwrap();
        ["from", "to"].map(|name| entry["change"][name].clone())
    };
    let entries = page["entries"].as_array().unwrap().iter();
    let changes: Vec<[Value; 2]> = entries.map(change).collect();
    let expected = [
        ["unblocked", "blocked"],
        ["blocked", "blocked"],
        ["blocked", "blocked"],
        ["blocked", "unblocked"],
    ];
    assert_eq!(changes, expected.map(|it| it.map(Value::from)));
}

#[test]
fn an_administrator_of_a_host_cannot_block_its_providers() {
    let registry = Registry::in_memory(&Memory::new(), &[]);
    let (_, token) = create(&registry, &["admin:registry.example.com"], None);
    let path = "/admin/v1/mirror/registry.example.com/acme/widget/status";
    for state in ["blocked", "unblocked"] {
        let body = json!({ "state": state, "reason": REASON }).to_string();
        let sent = Sent::new("PUT", path).bearing(&token).body(body);
        registry
            .send(&sent)
            .refuses(403, "requires the scope admin");
    }
}

#[test]
fn a_version_that_is_blocked_before_it_is_stored_is_never_fetched() {
    let (pulling, fixture) = Pulling::one();
    let bad = pulling.publish(&another(&fixture.origin, "1.1.0"));
    block(&pulling.registry, &format!("{}/1.1.0", fixture.address()));
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    pulling.memory.forget_operations();
    assert_blocked(&pulling.registry, &bad.packages());
    assert_eq!(pulling.asked(""), 0);
    // It counts as missing, so that a client without other sources sees an error.
    unblock(&pulling.registry, &format!("{}/1.1.0", fixture.address()));
    pulling.registry.get(&bad.packages()).expect(200);
}

#[test]
fn a_blocked_provider_disappears_at_once_and_its_versions_by_the_steps_of_a_repair() {
    let (memory, registry) = Registry::with_memory(&[]);
    let first = MirrorFixture::new("1.0.0");
    let second = MirrorFixture::of(another(&first.origin, "1.1.0"));
    first.publish(&registry);
    second.publish(&registry);
    let address = first.address();
    block(&registry, &address);
    for path in [
        first.index(),
        format!("/v2/providers/{address}/tags/list"),
        format!("/api/v1/mirror/{address}"),
        format!("/api/v1/mirror/{address}/1.0.0"),
    ] {
        assert_blocked(&registry, &path);
    }
    // An ordinary repair completes a block, and the end of one.
    reindex(&registry);
    assert_blocked(&registry, &first.packages());
    assert_blocked(
        &registry,
        &format!("/v2/providers/{address}/manifests/1.0.0"),
    );
    assert_blocked(&registry, &second.packages());
    unblock(&registry, &address);
    reindex(&registry);
    for path in [first.index(), first.packages(), second.packages()] {
        registry.get(&path).expect(200);
    }
    block(&registry, &format!("{address}/1.1.0"));
    for (path, status) in [
        (first.index(), 200),
        (first.packages(), 200),
        (second.packages(), 404),
    ] {
        memory.forget_operations();
        registry.get(&path).expect(status);
        let operations = memory.operations();
        let is_read = |it: &String| it.starts_with("KV get ");
        assert!(
            operations.len() == 1 && is_read(&operations[0]),
            "{path}: {operations:?}"
        );
    }
}

pub(super) fn repair(registry: &Registry, address: &str) {
    let done = reindex_with(registry, json!({ "package": address }));
    assert!(done.failed.is_empty(), "{done:?}");
}

#[test]
fn a_mirrored_version_that_is_blocked_or_revoked_is_published_with_a_warning() {
    let (_, registry) = Registry::with_memory(&[]);
    let fixture = MirrorFixture::new("1.0.0");
    let version = format!("{}/1.0.0", fixture.address());
    block(&registry, &version);
    let warnings = |published: Response| published.json()["warnings"].to_string();
    let published = warnings(fixture.publish(&registry));
    assert!(published.contains("is blocked"), "{published}");
    assert_blocked(&registry, &fixture.packages());
    unblock(&registry, &version);
    set(&registry, &version, "revoked").expect(200);
    let published = warnings(fixture.put(&registry).expect(200));
    assert!(published.contains("is revoked"), "{published}");
    assert!(published.contains(REASON), "{published}");
    // A block leaves the status of the version as it is.
    registry.get(&fixture.packages()).expect(410);
    block(&registry, &version);
    assert_blocked(&registry, &fixture.packages());
    unblock(&registry, &version);
    registry.get(&fixture.packages()).expect(410);
}

#[test]
fn only_mirrored_providers_can_be_blocked() {
    let (_, registry) = Registry::with_memory(&[]);
    ProviderFixture::new("1.0.0").publish(&registry);
    let body = json!({ "state": "blocked", "reason": REASON });
    let path = "/admin/v1/providers/acme/widget/status";
    registry
        .put(path, &body)
        .refuses(422, "only a mirrored package");
    set(&registry, "registry.test/acme/widget", "blocked").refuses(400, "this registry itself");
}

#[test]
fn a_block_of_a_version_or_of_its_host_while_it_is_pulled_wins() {
    for is_of_host in [false, true] {
        let (pulling, fixture) = Pulling::listed();
        let version = format!("{}/1.0.0", fixture.address());
        // The block arrives while the registry asks the origin for the package.
        let memory = pulling.memory.clone();
        let is_blocked = Cell::new(false);
        pulling.tamper(Rc::new(move |url: &str, response| {
            if url.contains("/download/") && !is_blocked.replace(true) {
                let registry = Registry::in_memory(&memory, &[]);
                match is_of_host {
                    true => drop(blocks(&registry, HOST)),
                    false => block(&registry, &version),
                }
            }
            response
        }));
        let first = pulling.registry.get(&fixture.packages());
        assert!(is_of_host || first.status == 404, "{}", first.status);
        assert_blocked(&pulling.registry, &fixture.packages());
    }
}
