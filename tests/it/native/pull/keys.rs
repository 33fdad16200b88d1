//! Signatures, and the key to which a provider is pinned.

use std::rc::Rc;
use terrace_core::upstream::pull::PULL_CHECK_SECONDS;

use super::{Pulling, another};
use crate::support::fixtures::{Signer, add_key};
use crate::support::memory::Memory;
use crate::support::{MirrorFixture, ProviderFixture, Registry, Response};

#[test]
fn a_second_key_is_refused_until_an_administrator_accepts_it() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    pulling.archives(&fixture);
    add_key(&pulling.origin, &first.namespace, Signer::other());
    let mut others = Vec::new();
    for version in ["1.1.0", "1.2.0"] {
        let mut other = another(&first, version);
        other.sign(Signer::other());
        others.push(pulling.publish(&other));
    }
    pulling.advance(PULL_CHECK_SECONDS);
    pulling
        .registry
        .get(&others[0].packages())
        .refuses(502, "pinned");
    assert!(pulling.logs("pinned"));
    // Versions signed by the first key are not affected.
    pulling.publish(&another(&first, "1.3.0"));
    pulling.archives(&fixture);
    // Mirroring a version accepts its key.
    others[0].key = Signer::other().public_armor();
    others[0].publish(&pulling.registry);
    pulling.advance(30);
    pulling.archives(&others[1]);
}

#[test]
fn two_concurrent_keys_pin_one_of_them() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let mut second = another(&first, "1.1.0");
    let first = pulling.publish(&first);
    add_key(&pulling.origin, &first.origin.namespace, Signer::other());
    second.sign(Signer::other());
    let second = pulling.publish(&second);
    pulling.memory.interleave();
    let paths = [first.packages(), second.packages()];
    let answers = pulling.registry.get_together(&paths);
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 502]);
}

#[test]
fn a_provider_that_was_signed_is_not_pulled_without_a_signature() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let mut fixture = pulling.publish(&first);
    let mut second = pulling.publish(&another(&first, "1.1.0"));
    for fixture in [&mut fixture, &mut second] {
        fixture.hostname = "registry.opentofu.org".to_owned();
    }
    let unsigned = |url: &str, mut response: Response| {
        if url.contains("/download/") {
            let mut json = response.json();
            json["signing_keys"]["gpg_public_keys"] = serde_json::json!([]);
            response.body = json.to_string().into_bytes();
        }
        response
    };
    pulling.archives(&fixture);
    pulling.tamper(Rc::new(unsigned));
    pulling
        .registry
        .get(&second.packages())
        .refuses(502, "not signed");
    // A provider that was never signed is pulled from the OpenTofu registry, as clients install it from
    // there.
    let never = pulling.publish(&ProviderFixture::new("1.0.0"));
    let mut tofu = never.clone();
    tofu.hostname = "registry.opentofu.org".to_owned();
    pulling.archives(&tofu);
    pulling.registry.get(&never.packages()).expect(502);
}

#[test]
fn a_mirrored_release_pins_its_key_only_if_it_is_pulled() {
    let is_seen = |memory: &Memory| !memory.keys_with("origins/").is_empty();
    let pulling = Pulling::new();
    let fixture = MirrorFixture::new("1.0.0");
    fixture.put(&pulling.registry).expect(202);
    assert!(!is_seen(&pulling.memory));
    fixture.publish(&pulling.registry);
    assert!(is_seen(&pulling.memory));
    let memory = Memory::new();
    fixture.publish(&Registry::in_memory(&memory, &[]));
    assert!(!is_seen(&memory));
}
