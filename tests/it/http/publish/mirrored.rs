//! Mirroring: accepted and refused versions, and later additions to a mirrored version.

use serde_json::json;

use crate::support::fixtures::{Signer, sha256};
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
fn a_signed_version_gains_no_platform_without_the_signature() {
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
fn a_mirrored_release_is_shown_to_its_publishers() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    registry
        .admin("GET", &fixture.admin_path(), None)
        .expect(404);
    fixture.clone().only("arm64").publish(&registry);
    let json = registry
        .admin("GET", &fixture.admin_path(), None)
        .expect(200)
        .json();
    let sent = fixture.clone().only("arm64").description();
    assert_eq!(json["packages"], sent["packages"]);
    assert_eq!(json["protocols"], sent["protocols"]);
    assert_eq!(json["signed"], json!(true));
    registry.get(&fixture.admin_path()).expect(401);
}

/// Returns the request for one platform, with a SHA256SUMS for it alone.
fn alone(fixture: &MirrorFixture, architecture: &'static str) -> MirrorFixture {
    let mut alone = fixture.clone().only(architecture);
    let of_it = |line: &&str| line.contains(architecture);
    let shasums = fixture.origin.shasums.lines().filter(of_it);
    let shasums: String = shasums.map(|line| format!("{line}\n")).collect();
    alone.origin = alone.origin.with_shasums(shasums);
    alone
}

#[test]
fn an_origin_may_sign_one_sha256sums_for_each_platform() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    let is_signed = || {
        let shown = registry.admin("GET", &fixture.admin_path(), None);
        shown.expect(200).json()["signed"].clone()
    };
    fixture.clone().unsigned().publish(&registry);
    for (architecture, signed) in [("amd64", false), ("arm64", true)] {
        alone(&fixture, architecture).put(&registry).expect(201);
        alone(&fixture, architecture).put(&registry).expect(200);
        assert_eq!(is_signed(), json!(signed));
    }
    assert_eq!(
        platforms(&registry, &fixture),
        ["linux_amd64", "linux_arm64"]
    );
}

#[test]
fn a_sha256sums_that_contradicts_another_platform_is_409() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    fixture.clone().only("arm64").publish(&registry);
    let mut anew = fixture.clone().only("amd64");
    let arm64 = sha256(&fixture.origin.packages[1].3);
    let shasums = fixture.origin.shasums.replace(&arm64, &"0".repeat(64));
    anew.origin = anew.origin.with_shasums(shasums);
    let refused = anew.put(&registry).expect(409).errors();
    assert!(
        refused.contains(&arm64) && refused.contains(&"0".repeat(64)),
        "{refused}"
    );
}

#[test]
fn another_h1_hash_for_a_mirrored_platform_is_409() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    let fixture = fixture.unsigned().only("amd64");
    fixture.publish(&registry);
    let with_h1 = |digit: char| {
        let mut body = fixture.description();
        let h1: String = std::iter::repeat_n(digit, 42).collect();
        body["packages"][0]["h1"] = json!(format!("h1:{h1}A="));
        registry.admin(
            "PUT",
            &fixture.admin_path(),
            Some(body.to_string().as_bytes()),
        )
    };
    with_h1('B').expect(201);
    with_h1('B').expect(200);
    let refused = with_h1('C').expect(409).errors();
    assert!(refused.contains("h1"), "{refused}");
}

#[test]
fn platforms_over_the_limit_are_rejected_however_they_come() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    let fixture = fixture.unsigned().only("amd64");
    fixture.publish(&registry);
    let zip = &fixture.description()["packages"][0];
    let mut body = fixture.description();
    let other = |number: usize| {
        let mut package = zip.clone();
        package["arch"] = json!(format!("arch{number}"));
        package["filename"] = json!(
            zip["filename"]
                .as_str()
                .unwrap()
                .replace("amd64", &format!("arch{number}"))
        );
        package["sha256"] = json!(format!("{number:064x}"));
        package
    };
    body["packages"] = (1..=64).map(other).collect();
    let put = |body: &serde_json::Value| {
        let text = body.to_string();
        registry.admin("PUT", &fixture.admin_path(), Some(text.as_bytes()))
    };
    let refused = put(&body).expect(409).errors();
    assert!(refused.contains("65 platforms"), "{refused}");
    let mut twin = zip.clone();
    twin["arch"] = json!("arm64");
    twin["filename"] = json!(zip["filename"].as_str().unwrap().replace("amd64", "arm64"));
    body["packages"] = json!([twin]);
    let refused = put(&body).expect(409).errors();
    assert!(refused.contains("same sha256"), "{refused}");
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
fn another_key_for_a_signed_version_is_409() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    fixture.publish(&registry);
    let mut other_key = fixture.clone();
    other_key.origin.sign(Signer::other());
    other_key.key = Signer::other().public_armor();
    let refused = other_key.put(&registry).expect(409).errors();
    assert!(refused.contains("signed by the key"), "{refused}");
    // A longer text about the same packages adds nothing to them.
    let mut other_text = fixture.clone();
    let longer = format!("{}{}  more.json\n", fixture.origin.shasums, "0".repeat(64));
    other_text.origin = other_text.origin.with_shasums(longer);
    other_text.put(&registry).expect(200);
}

#[test]
fn an_invalid_signature_is_refused_2_3_7() {
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
    assert!(refused.contains("SHA256SUMS lists the sha256"), "{refused}");
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
