//! Signing keys that are registered again: the indices of published versions have their newest copy.

use serde_json::{Value, json};

use crate::support::fixtures::Signer;
use crate::support::memory::Memory;
use crate::support::reindexed::{reindex, reindex_with};
use crate::support::{ProviderFixture, Registry};

const KEYS: &str = "/admin/v1/namespaces/acme/keys";

/// Registers a copy of a key, in as many requests as the registry asks for. Returns the last response, and their number.
fn add(registry: &Registry, armor: &str) -> (Value, u32) {
    let (mut path, mut requests) = (KEYS.to_owned(), 1);
    loop {
        let answer = registry.admin("PUT", &path, Some(armor.as_bytes()));
        let answer = answer.found();
        let Some(next) = answer["next"].as_str() else {
            return (answer, requests);
        };
        path = format!("{KEYS}?after={}", next.replace('/', "%2F"));
        requests += 1;
    }
}

/// Returns the key that a version is served with.
fn served(registry: &Registry, version: &str) -> String {
    let path = format!("/v1/providers/acme/widget/{version}/download/linux/amd64");
    let answer = registry.read(&path);
    let key = &answer["signing_keys"]["gpg_public_keys"][0]["ascii_armor"];
    key.as_str().unwrap().to_owned()
}

/// Returns the body of an armoured text, which the registry writes with a checksum.
fn body(armor: &str) -> String {
    armor
        .lines()
        .filter(|line| !line.starts_with('='))
        .collect()
}

#[test]
fn a_renewed_key_is_served_with_published_versions() {
    let (memory, registry) = Registry::with_memory(&[]);
    ProviderFixture::of("acme", "widget", "1.0.0").publish(&registry);
    let (old, new) = (
        Signer::usual().public_armor(),
        Signer::usual().renewed_armor(60),
    );
    let id = Signer::usual().key_id();
    assert_eq!(body(&served(&registry, "1.0.0")), body(&old));
    let (answer, _) = add(&registry, &new);
    assert_eq!(answer["updated"][&id]["by"], "root");
    assert_eq!(answer["validity"][&id]["expires"], 1_735_603_200);
    ProviderFixture::of("acme", "widget", "1.1.0").publish(&registry);
    let one = format!("{KEYS}/{id}");
    let holds = |registry: &Registry| {
        for version in ["1.0.0", "1.1.0"] {
            assert_eq!(body(&served(registry, version)), body(&new), "{version}");
        }
        let before = memory.documents();
        let full = reindex_with(registry, json!({ "full": true }));
        let rewritten = full.rewritten.iter().find(|key| key.contains("1.0.0"));
        assert_eq!(rewritten, None);
        memory.lose_indices();
        reindex(registry);
        let after = memory.documents();
        let of_versions = before.iter().filter(|(key, _)| key.contains("1.0.0"));
        for (key, document) in of_versions {
            assert_eq!(after.get(key), Some(document), "{key}");
        }
    };
    holds(&registry);
    // An older copy takes nothing away.
    let (answer, _) = add(&registry, &old);
    let kept = answer["keys"][0]["ascii_armor"].as_str().unwrap();
    assert_eq!(body(kept), body(&new));
    holds(&registry);
    // Removed, the key stays as it was.
    let removed = registry.admin("DELETE", &one, None).found();
    for name in ["updated", "removed"] {
        assert_eq!(removed.get(name), None, "{removed}");
    }
    holds(&registry);
    // Added after its removal, it is what was sent.
    add(&registry, &old);
    assert_eq!(body(&served(&registry, "1.0.0")), body(&old));
}

#[test]
fn the_renewal_of_a_key_with_many_versions_takes_several_requests() {
    let registry = Registry::in_memory(&Memory::new(), &[]);
    let versions: Vec<String> = (0..45).map(|patch| format!("1.0.{patch}")).collect();
    for version in &versions {
        ProviderFixture::of("acme", "widget", version).publish(&registry);
    }
    let new = Signer::usual().renewed_armor(60);
    let (_, requests) = add(&registry, &new);
    assert!(requests > 1, "{requests}");
    for version in &versions {
        assert_eq!(body(&served(&registry, version)), body(&new), "{version}");
    }
}

#[test]
fn copies_from_the_future_and_those_that_cannot_be_merged_are_refused() {
    let registry = Registry::in_memory(&Memory::new(), &[]);
    // The tests take place in 2027, three years after the creation of the key.
    let ahead = Signer::usual().renewed_armor(5 * 31_536_000);
    let first = registry.admin("PUT", KEYS, Some(ahead.as_bytes()));
    first.refuses(422, "in the future");
    add(&registry, &Signer::usual().public_armor());
    let refused = registry.admin("PUT", KEYS, Some(ahead.as_bytes()));
    let told = refused.refuses(422, "in the future");
    assert!(told.contains("remove it first"), "{told}");
}

#[test]
fn a_request_that_continues_another_one_adds_no_key() {
    let registry = Registry::in_memory(&Memory::new(), &[]);
    let armor = Signer::usual().public_armor();
    let continued = format!("{KEYS}?after=zzz");
    let put = || registry.admin("PUT", &continued, Some(armor.as_bytes()));
    put().refuses(400, "omit after");
    add(&registry, &armor);
    put().expect(200);
}
