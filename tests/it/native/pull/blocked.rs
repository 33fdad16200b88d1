//! Providers that are never fetched: blocked, not configured, or of this registry itself.

use super::{PATTERN, Pulling, another};
use crate::native::oci::artifacts;
use crate::support::memory::Memory;
use crate::support::pushed::code;
use crate::support::{MirrorFixture, ProviderFixture, Registry};

/// Prevents dependency confusion: a provider under this registry's own hostname is never requested from
/// another registry, whatever the patterns are, and whether it exists or not.
#[test]
fn the_registrys_own_hostnames_are_not_fetched() {
    let memory = Memory::new();
    let vars = [
        (
            "TERRACE_PULL_THROUGH",
            "registry.test/*/* own.example.com/*/*",
        ),
        ("TERRACE_HOSTNAMES", "own.example.com"),
    ];
    let registry = Registry::in_memory(&memory, &vars);
    memory.connect(|url| panic!("asked for {url}"));
    for host in ["registry.test", "own.example.com"] {
        for file in ["index", "1.0.0"] {
            let path = format!("/mirror/{host}/acme/widget/{file}.json");
            registry.get(&path).expect(404);
            registry.head(&path).expect(404);
        }
    }
}

#[test]
fn a_blocked_version_is_neither_listed_nor_described_nor_served() {
    let (pulling, fixture) = Pulling::one();
    let bad = pulling.publish(&another(&fixture.origin, "1.1.0"));
    let url = pulling.url(&bad);
    let mirrored = MirrorFixture::of(another(&fixture.origin, "1.2.0"));
    mirrored.publish(&pulling.registry);
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0", "1.2.0"]);
    let address = fixture.address();
    let repository = format!("providers/{address}");
    let mut artifact = artifacts::paths(&pulling.registry, &repository, "1.2.0");
    let tags = artifact.remove(0);
    let blocked = format!("{address}@1.1.0, {address}@1.2.0");
    let blocking = super::pulling(&pulling.memory, &[("TERRACE_PULL_BLOCK", &blocked)]);
    let json = blocking.read(&fixture.index());
    assert_eq!(json["versions"], serde_json::json!({ "1.0.0": {} }));
    let details = format!("/api/v1/mirror/{address}/1.2.0");
    pulling.registry.get(&details).expect(200);
    let documents = [
        format!("{details}/docs"),
        format!("{details}/docs/overview"),
    ];
    for path in [&bad.packages(), &mirrored.packages(), &url, &details]
        .into_iter()
        .chain(&documents)
    {
        blocking.get(path).refuses(404, "blocked");
    }
    for (registry, has_it) in [(&pulling.registry, true), (&blocking, false)] {
        let list = registry.read(&tags)["tags"].to_string();
        assert_eq!(list.contains("\"1.2.0\""), has_it, "{list}");
    }
    for path in artifact {
        let refused = blocking.get(&path).expect(404);
        assert_eq!(code(&refused), "NAME_UNKNOWN", "{path}");
    }
    // Without the block list, they are listed again.
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0", "1.2.0"]);
}

#[test]
fn a_block_list_needs_no_pull_through() {
    let memory = Memory::new();
    let fixture = MirrorFixture::new("1.0.0");
    let blocked = fixture.address();
    let registry = Registry::in_memory(&memory, &[("TERRACE_PULL_BLOCK", &blocked)]);
    let published = fixture.publish(&registry).json();
    let warnings = published["warnings"].to_string();
    assert!(warnings.contains("TERRACE_PULL_BLOCK"), "{warnings}");
    registry.get(&fixture.index()).expect(404);
    registry.get(&fixture.packages()).expect(404);
    let unblocked = Registry::in_memory(&memory, &[]);
    unblocked.get(&fixture.index()).expect(200);
    unblocked.get(&fixture.packages()).expect(200);
}

#[test]
fn a_provider_that_is_no_longer_allowed_is_not_fetched() {
    let (pulling, fixture) = Pulling::one();
    let stored = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.versions(&fixture);
    let url = pulling.url(&fixture);
    pulling.versions(&stored);
    let stored_url = pulling.url(&stored);
    pulling.registry.get(&stored_url).expect(200);
    pulling.memory.forget_operations();
    let own = [
        ("TERRACE_PULL_THROUGH", PATTERN),
        ("TERRACE_HOSTNAMES", "registry.example.com"),
    ];
    for registry in [
        Registry::in_memory(&pulling.memory, &[]),
        Registry::in_memory(&pulling.memory, &[("TERRACE_PULL_BLOCK", "a.test/b/*")]),
        Registry::in_memory(&pulling.memory, &own),
    ] {
        registry.get(&url).expect(404);
        registry.get(&fixture.packages()).expect(404);
        registry.get(&fixture.index()).expect(404);
        // A stored zip belongs to this registry.
        registry.get(&stored_url).expect(302);
    }
    let left = Registry::in_memory(&pulling.memory, &[]);
    let json = left.get(&stored.packages()).found();
    assert_eq!(json["archives"].as_object().unwrap().len(), 1);
    left.get(&stored.index()).expect(200);
    assert_eq!(pulling.asked(""), 0);
}
