//! Mirroring: what is taken, what is refused, and what a mirrored version may gain.

use serde_json::json;

use crate::support::fixtures::Signer;
use crate::support::{MirrorFixture, ProviderFixture, Registry};

fn platforms(registry: &Registry, fixture: &MirrorFixture) -> Vec<String> {
    let json = registry.get(&fixture.packages()).expect(200).json();
    json["archives"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect()
}

#[test]
fn a_version_is_mirrored_with_the_same_two_requests_as_a_publish() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    let answer = fixture.publish(&registry).json();
    assert_eq!(
        answer,
        json!({ "status": "created", "address": fixture.address(), "version": "1.0.0" })
    );
    let again = fixture.put(&registry).expect(200).json();
    assert_eq!(again["status"], "unchanged");
}

#[test]
fn platforms_are_added_later_and_none_is_lost() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    fixture.clone().only("amd64").publish(&registry);
    assert_eq!(platforms(&registry, &fixture), ["linux_amd64"]);
    fixture.clone().only("arm64").publish(&registry);
    fixture.put(&registry).expect(200);
    fixture.clone().only("amd64").put(&registry).expect(200);
    fixture
        .clone()
        .only("amd64")
        .unsigned()
        .put(&registry)
        .expect(200);
}

#[test]
fn packages_are_mirrored_without_a_signature_and_gain_it_later() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    fixture.clone().unsigned().publish(&registry);
    fixture.put(&registry).expect(201);
    fixture.put(&registry).expect(200);
    assert_eq!(
        platforms(&registry, &fixture),
        ["linux_amd64", "linux_arm64"]
    );
}

#[test]
fn what_a_signature_covers_is_not_added_to_without_it() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    fixture.clone().only("amd64").publish(&registry);
    let refused = fixture
        .clone()
        .unsigned()
        .put(&registry)
        .expect(409)
        .errors();
    assert!(refused.contains("terrace mirror add"), "{refused}");
}

#[test]
fn other_bytes_for_a_mirrored_platform_are_409_and_change_nothing() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    fixture.clone().unsigned().publish(&registry);
    let before =
        registry.get(&fixture.packages()).expect(200).json()["archives"]["linux_amd64"]["hashes"]
            .clone();
    let mut other = fixture.clone().unsigned();
    let mut zip = fixture.origin.packages[1].3.clone();
    std::mem::swap(&mut other.origin.packages[0].3, &mut zip);
    other.origin.packages.truncate(1);
    let refused = other.put(&registry).expect(409).errors();
    assert!(refused.contains("linux_amd64 has the sha256"), "{refused}");
    let after = registry.get(&fixture.packages()).expect(200).json();
    assert_eq!(after["archives"]["linux_amd64"]["hashes"], before);
}

#[test]
fn another_key_or_another_text_for_a_signed_version_is_409() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    fixture.publish(&registry);
    let mut other_key = fixture.clone();
    other_key.origin.sign(Signer::other());
    other_key.key = Signer::other().public_armor();
    let refused = other_key.put(&registry).expect(409).errors();
    assert!(refused.contains("signed by the key"), "{refused}");
    let mut other_text = fixture.clone();
    let longer = format!("{}{}  more.json\n", fixture.origin.shasums, "0".repeat(64));
    other_text.origin = other_text.origin.with_shasums(longer);
    let refused = other_text.put(&registry).expect(409).errors();
    assert!(refused.contains("SHA256SUMS has the digest"), "{refused}");
}

#[test]
fn a_signature_that_does_not_hold_is_refused_2_3_7() {
    let registry = Registry::start();
    let mut fixture = MirrorFixture::new("1.0.0");
    fixture.key = Signer::other().public_armor();
    let refused = fixture.put(&registry).expect(422).errors();
    assert!(refused.contains("signature of SHA256SUMS"), "{refused}");
    fixture.key = "no key".to_owned();
    let refused = fixture.put(&registry).expect(422).errors();
    assert!(refused.contains("signing_key"), "{refused}");
}

#[test]
fn a_package_that_the_origin_did_not_sign_is_refused_2_3_1() {
    let registry = Registry::start();
    let mut fixture = MirrorFixture::new("1.0.0");
    let (_, _, _, zip) = &mut fixture.origin.packages[0];
    zip.push(0);
    let refused = fixture.put(&registry).expect(422).errors();
    assert!(refused.contains("SHA256SUMS says"), "{refused}");
}

#[test]
fn the_registrys_own_providers_are_published_and_not_mirrored() {
    let registry = Registry::start();
    let mut fixture = MirrorFixture::new("1.0.0");
    registry.hostname().clone_into(&mut fixture.hostname);
    let refused = fixture.put(&registry).expect(400).errors();
    assert!(refused.contains("this registry itself"), "{refused}");
}

#[test]
fn a_zip_without_the_providers_executable_is_refused_2_3_9() {
    let registry = Registry::start();
    let origin = ProviderFixture::new("1.0.0").with_files(&[("README.md", b"hello")]);
    let fixture = MirrorFixture::of(origin).only("amd64");
    fixture.upload(&registry);
    let refused = fixture.put(&registry).expect(422).errors();
    assert!(refused.contains("terraform-provider-widget"), "{refused}");
    registry.get(&fixture.index()).expect(404);
}
