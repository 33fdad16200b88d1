//! Mirroring: accepted and refused versions, and later additions to a mirrored version.

use serde_json::json;

use crate::support::fixtures::{Signer, sha256};
use crate::support::{MirrorFixture, ProviderFixture, Registry};

fn platforms(registry: &Registry, fixture: &MirrorFixture) -> Vec<String> {
    let json = registry.read(&fixture.packages());
    json["archives"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect()
}

#[test]
fn platforms_and_a_signature_are_added_later_and_none_is_lost() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    let of = |arch: &'static str| fixture.clone().only(arch);
    let answer = of("amd64").unsigned().publish(&registry).json();
    let created = json!({ "status": "created", "address": fixture.address(), "version": "1.0.0" });
    assert_eq!(answer, created);
    assert_eq!(platforms(&registry, &fixture), ["linux_amd64"]);
    of("amd64").put(&registry).expect(201);
    let again = of("amd64").put(&registry).found();
    assert_eq!(again["status"], "unchanged");
    // A signed version gains no platform without the signature.
    let refused = fixture.clone().unsigned().put(&registry);
    refused.refuses(409, "terrace mirror add");
    of("arm64").publish(&registry);
    fixture.put(&registry).expect(200);
    of("amd64").unsigned().put(&registry).expect(200);
    let both = ["linux_amd64", "linux_arm64"];
    assert_eq!(platforms(&registry, &fixture), both);
}

#[test]
fn a_description_that_contradicts_the_mirrored_version_is_409_and_changes_nothing() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    fixture.clone().only("arm64").publish(&registry);
    let hashes = || {
        let packages = registry.read(&fixture.packages());
        packages["archives"]["linux_arm64"]["hashes"].clone()
    };
    let before = hashes();
    let arm64 = sha256(&fixture.origin.packages[1].3);
    let zeros = "0".repeat(64);
    let mut other_text = fixture.clone().only("amd64");
    let shasums = fixture.origin.shasums.replace(&arm64, &zeros);
    other_text.origin = other_text.origin.with_shasums(shasums);
    let mut other_key = fixture.clone().only("arm64");
    other_key.origin.sign(Signer::other());
    other_key.key = Signer::other().public_armor();
    let mut other_bytes = fixture.clone().unsigned();
    other_bytes.origin.packages[1].3 = fixture.origin.packages[0].3.clone();
    other_bytes.origin.packages.remove(0);
    for (refused, reasons) in [
        (other_text, &[arm64.as_str(), zeros.as_str()][..]),
        (other_key, &["signed by the key"]),
        (other_bytes, &["linux_arm64 has the sha256"]),
    ] {
        let errors = refused.put(&registry).expect(409).errors();
        for reason in reasons {
            assert!(errors.contains(reason), "{reason}: {errors}");
        }
    }
    let h1 = |digit: &str| {
        let mut body = fixture.clone().only("arm64").description();
        body["packages"][0]["h1"] = json!(format!("h1:{}A=", digit.repeat(42)));
        registry.put(&fixture.admin_path(), &body)
    };
    assert_eq!(hashes(), before);
    h1("B").expect(201);
    h1("B").expect(200);
    h1("C").refuses(409, "h1");
}

#[test]
fn a_release_that_clients_cannot_verify_is_refused_2_3_1_2_3_7_2_3_9() {
    let registry = Registry::start();
    let with_key = |key: String| MirrorFixture {
        key,
        ..MirrorFixture::new("1.0.0")
    };
    let mut other_zip = MirrorFixture::new("1.0.0");
    other_zip.origin.packages[0].3.push(0);
    let mut own = MirrorFixture::new("1.0.0");
    registry.hostname().clone_into(&mut own.hostname);
    for (fixture, status, reason) in [
        (
            with_key(Signer::other().public_armor()),
            422,
            "signature of SHA256SUMS",
        ),
        (with_key("no key".to_owned()), 422, "signing_key"),
        (other_zip, 422, "SHA256SUMS lists the sha256"),
        (own, 400, "this registry itself"),
    ] {
        fixture.put(&registry).refuses(status, reason);
    }
    let origin = ProviderFixture::new("1.0.0").with_files(&[("README.md", b"hello")]);
    let fixture = MirrorFixture::of(origin).only("amd64");
    fixture.upload(&registry);
    fixture
        .put(&registry)
        .refuses(422, "terraform-provider-widget");
    registry.get(&fixture.index()).expect(404);
}

#[test]
fn a_mirrored_release_is_shown_to_its_publishers() {
    let (registry, fixture) = (Registry::start(), MirrorFixture::new("1.0.0"));
    registry
        .admin("GET", &fixture.admin_path(), None)
        .expect(404);
    fixture.clone().only("arm64").publish(&registry);
    let json = registry.read_as_admin(&fixture.admin_path());
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
        shown.found()["signed"].clone()
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
    let put = |body: &serde_json::Value| registry.put(&fixture.admin_path(), body);
    put(&body).refuses(409, "65 platforms");
    let mut twin = zip.clone();
    twin["arch"] = json!("arm64");
    twin["filename"] = json!(zip["filename"].as_str().unwrap().replace("amd64", "arm64"));
    body["packages"] = json!([twin]);
    put(&body).refuses(409, "same sha256");
}
