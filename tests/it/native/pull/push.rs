//! Providers that are both pulled from an origin and pushed by OCI clients.

use super::{Pulling, another};
use crate::support::pushed::{Pushed, PushedProvider};
use crate::support::{MirrorFixture, ProviderFixture};

/// Returns a provider to push, with the zips of the first `platforms` platforms.
fn pushed(provider: &ProviderFixture, platforms: usize) -> PushedProvider {
    let zips = provider.packages.iter().take(platforms);
    let zips = zips.map(|(_, _, arch, zip)| match arch.as_str() {
        "amd64" => ("amd64", zip.clone()),
        _ => ("arm64", zip.clone()),
    });
    PushedProvider {
        namespace: provider.namespace.clone(),
        zips: zips.collect(),
    }
}

const PUSHED_HERE: (&str, &str) = (
    "TERRACE_OCI_PROVIDERS",
    "opentofu-providers=registry.example.com",
);

#[test]
fn a_pulled_version_can_be_pushed_with_the_bytes_that_its_origin_signed() {
    let pulling = Pulling::with(&[PUSHED_HERE]);
    let provider = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&provider);
    // The version has been requested, and none of its zips is stored.
    assert!(pulling.url(&fixture).contains("/pull/"));
    let ours = pushed(&provider, 2);
    let index = ours.prepare(&pulling.registry);
    ours.tag(&pulling.registry, "1.0.0", &index).expect(201);
    assert!(pulling.url(&fixture).contains("/archives/"));
    let other = pushed(&another(&provider, "1.0.1"), 2);
    let index = other.prepare(&pulling.registry);
    other.tag(&pulling.registry, "1.0.0", &index).expect(409);
}

#[test]
fn a_push_of_one_platform_does_not_hide_the_others_of_its_origin() {
    let pulling = Pulling::with(&[PUSHED_HERE]);
    let provider = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&provider);
    let ours = pushed(&provider, 1);
    let index = ours.prepare(&pulling.registry);
    ours.tag(&pulling.registry, "1.0.0", &index).expect(201);
    let archives = pulling.archives(&fixture);
    assert_eq!(archives.as_object().unwrap().len(), 2, "{archives}");
    assert!(pulling.url(&fixture).contains("/archives/"));
    // A version that the origin does not have exists only here.
    let own = another(&provider, "9.0.0");
    let ours = pushed(&own, 1);
    let index = ours.prepare(&pulling.registry);
    ours.tag(&pulling.registry, "9.0.0", &index).expect(201);
    let archives = pulling.archives(&MirrorFixture::of(own));
    assert_eq!(archives.as_object().unwrap().len(), 1);
}

#[test]
fn a_push_is_rejected_while_an_origin_that_might_contradict_it_is_down() {
    let pulling = Pulling::with(&[PUSHED_HERE]);
    let provider = ProviderFixture::new("1.0.0");
    let ours = pushed(&provider, 1);
    let index = ours.prepare(&pulling.registry);
    pulling.memory.disconnect();
    ours.tag(&pulling.registry, "1.0.0", &index).expect(502);
    let repository = Pushed::of(&pulling.registry, &ours.repository());
    repository.get("manifests/1.0.0").expect(404);
}
