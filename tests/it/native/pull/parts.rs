//! Blocks of all providers of a namespace or host, by a rule that the registry stores.

use serde_json::json;

use super::block::{REASON, assert_blocked, block, repair, unblock};
use super::{Pulling, another};
use crate::support::faults::{Failure, When};
use crate::support::memory::Memory;
use crate::support::registry::Sent;
use crate::support::tokens::{add_rule, create, post};
use crate::support::{MirrorFixture, ProviderFixture, Registry, Response};

pub(super) const HOST: &str = "registry.example.com";

/// The time after which every isolate knows a rule, in seconds.
const KNOWN: u64 = 60;

fn add(registry: &Registry, part: &str) -> Response {
    add_rule(
        registry,
        "block",
        &json!({ "providers": part, "reason": REASON }),
    )
}

/// Blocks a part of the mirror. Returns the path of the rule.
pub(super) fn blocks(registry: &Registry, part: &str) -> String {
    let added = add(registry, part).expect(201);
    added.header("location").unwrap().to_owned()
}

fn lift(registry: &Registry, rule: &str) {
    registry.admin("DELETE", rule, None).expect(200);
}

/// Returns the host and namespace of a provider.
fn namespace_of(fixture: &MirrorFixture) -> String {
    fixture.address().rsplit_once('/').unwrap().0.to_owned()
}

#[test]
fn a_provider_of_a_blocked_namespace_is_not_looked_up_at_its_origin() {
    let (pulling, fixture) = Pulling::one();
    let other = pulling.publish(&ProviderFixture::of("other", "widget", "1.0.0"));
    let rule = blocks(&pulling.registry, &namespace_of(&fixture));
    let details = format!("/api/v1/mirror/{}", fixture.address());
    let paths = [fixture.index(), fixture.packages(), details];
    for seconds in [0, 24 * 60 * 60] {
        pulling.advance(seconds);
        paths
            .iter()
            .for_each(|path| assert_blocked(&pulling.registry, path));
    }
    assert_eq!(pulling.asked(""), 0);
    assert_eq!(pulling.versions(&other), ["1.0.0"]);
    lift(&pulling.registry, &rule);
    pulling.advance(KNOWN);
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    pulling.registry.get(&fixture.packages()).expect(200);
}

#[test]
fn nothing_of_a_blocked_host_is_fetched_a_minute_after_the_block() {
    let (pulling, fixture) = Pulling::one();
    let later = pulling.publish(&another(&fixture.origin, "1.1.0"));
    // The list and an offer of a package are known, and the rules are cached.
    let url = pulling.url(&fixture);
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0"]);
    let rule = blocks(&pulling.registry, HOST);
    pulling.advance(KNOWN);
    pulling.memory.forget_operations();
    for path in [&later.packages(), &url] {
        assert_blocked(&pulling.registry, path);
    }
    assert_eq!(pulling.asked(""), 0);
    // The list that was written before is replaced when it is due.
    pulling.advance(20 * 60);
    pulling.registry.get(&fixture.index());
    assert_blocked(&pulling.registry, &fixture.index());
    lift(&pulling.registry, &rule);
    pulling.advance(KNOWN);
    repair(&pulling.registry, &fixture.address());
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0"]);
    let url = pulling.url(&fixture);
    pulling.registry.get(&url).expect(200);
}

#[test]
fn the_stored_versions_of_a_blocked_namespace_follow_by_a_repair_of_each_provider() {
    let (_, registry) = Registry::with_memory(&[]);
    let fixture = MirrorFixture::new("1.0.0");
    fixture.publish(&registry);
    let other = MirrorFixture::of(ProviderFixture::of("other", "widget", "1.0.0"));
    other.publish(&registry);
    let address = fixture.address();
    let rule = blocks(&registry, &namespace_of(&fixture));
    // The isolate that answers may still have older rules: the repair reads the facts.
    repair(&registry, &address);
    for path in [
        fixture.index(),
        fixture.packages(),
        format!("/v2/providers/{address}/tags/list"),
        format!("/v2/providers/{address}/manifests/1.0.0"),
        format!("/api/v1/mirror/{address}"),
    ] {
        assert_blocked(&registry, &path);
    }
    repair(&registry, &other.address());
    registry.get(&other.packages()).expect(200);
    lift(&registry, &rule);
    repair(&registry, &address);
    for path in [fixture.index(), fixture.packages()] {
        registry.get(&path).expect(200);
    }
}

#[test]
fn a_version_that_is_mirrored_into_a_blocked_namespace_cannot_be_installed() {
    let (memory, registry) = Registry::with_memory(&[]);
    let first = MirrorFixture::new("1.0.0");
    // From here on, the rules are cached.
    first.publish(&registry);
    blocks(&registry, &namespace_of(&first));
    let second = MirrorFixture::of(another(&first.origin, "1.1.0"));
    second.publish(&registry);
    assert_blocked(&registry, &second.packages());
    assert_blocked(&registry, &second.index());
    memory.advance(KNOWN);
    let warnings = second.put(&registry).found()["warnings"].to_string();
    assert!(warnings.contains("is blocked"), "{warnings}");
    assert!(warnings.contains(REASON), "{warnings}");
}

#[test]
fn nothing_is_fetched_while_the_rules_cannot_be_read() {
    let (pulling, fixture) = Pulling::one();
    blocks(&pulling.registry, HOST);
    pulling.advance(KNOWN);
    pulling.memory.forget_operations();
    // Without the index, the rules are read from R2; without both, nothing is decided.
    let index = pulling
        .memory
        .fail("KV get rules", 0.., When::Before, Failure::Error);
    assert_blocked(&pulling.registry, &fixture.packages());
    let facts = pulling
        .memory
        .fail("R2 list rules/", 0.., When::Before, Failure::Error);
    pulling.advance(KNOWN);
    pulling.registry.get(&fixture.packages()).expect(503);
    assert_eq!(pulling.asked(""), 0);
    drop((index, facts));
}

#[test]
fn a_block_of_a_provider_outlives_that_of_its_namespace() {
    let (_, registry) = Registry::with_memory(&[]);
    let fixture = MirrorFixture::new("1.0.0");
    fixture.publish(&registry);
    let address = fixture.address();
    block(&registry, &address);
    let rule = blocks(&registry, HOST);
    repair(&registry, &address);
    lift(&registry, &rule);
    repair(&registry, &address);
    assert_blocked(&registry, &fixture.packages());
    unblock(&registry, &address);
    repair(&registry, &address);
    registry.get(&fixture.packages()).expect(200);
}

#[test]
fn a_flood_of_requests_for_blocked_providers_reads_the_rules_once() {
    let pulling = Pulling::new();
    blocks(&pulling.registry, HOST);
    pulling.memory.forget_operations();
    for name in 0..10 {
        assert_blocked(
            &pulling.registry,
            &format!("/mirror/{HOST}/acme/n{name}/1.0.0.json"),
        );
    }
    let operations = pulling.memory.operations();
    let of_rules = operations.iter().filter(|it| it.contains("rules"));
    assert!(of_rules.count() <= 1, "{operations:?}");
    assert_eq!(pulling.asked(""), 0);
}

#[test]
fn only_administrators_of_the_registry_block_namespaces_and_see_the_blocks() {
    let (_, registry) = Registry::with_memory(&[]);
    let rule = blocks(&registry, HOST);
    let (_, token) = create(&registry, &["admin:registry.example.com"], None);
    let as_delegate = |method: &str, path: &str| {
        let body = json!({ "kind": "block", "rule": { "providers": HOST, "reason": "x" } });
        let sent = Sent::new(method, path).bearing(&token);
        registry.send(&sent.body(body.to_string()))
    };
    as_delegate("POST", "/admin/v1/rules").refuses(403, "requires the scope admin");
    as_delegate("DELETE", &rule).expect(404);
    let seen = registry.get_as(&token, "/admin/v1/rules").found();
    assert_eq!(seen, json!({ "rules": [] }));
}

#[test]
fn the_registry_itself_and_a_single_provider_are_no_parts_to_block() {
    let registry = Registry::in_memory(&Memory::new(), &[("TERRACE_HOSTNAMES", "own.example")]);
    for (part, message) in [
        ("registry.test", "this registry itself"),
        ("own.example/acme", "this registry itself"),
        ("registry.example.com/acme/widget", "hostname/namespace"),
        ("acme", "hostname/namespace"),
    ] {
        add(&registry, part).refuses(422, message);
    }
    let unknown = json!({ "kind": "ban", "rule": {} });
    post(&registry, "/admin/v1/rules", &unknown).expect(400);
}
