use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::support::fixtures::{Signer, send_upload, sha256, zip_of};
use crate::support::{ProviderFixture, Registry, Response};

/// Publishes and expects a refusal. Returns all its errors.
#[track_caller]
fn refused(fixture: &ProviderFixture) -> String {
    let registry = Registry::start();
    fixture.add_key(&registry);
    let answer = fixture.put(&registry);
    let answer = if answer.status == 202 {
        fixture.upload(&registry);
        fixture.put(&registry)
    } else {
        answer
    };
    let answer = answer.expect(422);
    assert_eq!(answer.json()["status"], "invalid");
    registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(404);
    answer.errors()
}

#[test]
fn a_publish_lists_the_missing_archives_and_is_created_after_their_upload() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.add_key(&registry);
    let answer = fixture.put(&registry).expect(202).json();
    assert_eq!(answer["status"], "incomplete");
    let missing = answer["missing"].as_array().unwrap();
    assert_eq!(missing.len(), 2);
    assert_eq!(missing[0]["filename"], fixture.packages[0].0.as_str());
    registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(404);
    fixture.upload(&registry);
    let answer = fixture.put(&registry).expect(201).json();
    let address = format!("{}/widget", fixture.namespace);
    assert_eq!(
        answer,
        json!({ "status": "created", "address": address, "version": "1.0.0" })
    );
    registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(200);
}

#[test]
fn the_same_bytes_again_are_unchanged() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.publish(&registry);
    assert_eq!(
        fixture.put(&registry).expect(200).json()["status"],
        "unchanged"
    );
}

#[test]
fn the_same_bytes_with_a_hash_sent_for_the_first_time_are_unchanged() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.publish(&registry);
    let mut description = fixture.description();
    description["packages"][0]["h1"] = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=".into();
    let body = description.to_string();
    registry
        .admin("PUT", &fixture.admin_path(), Some(body.as_bytes()))
        .expect(200);
}

#[test]
fn a_publish_requests_only_the_missing_archives() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.add_key(&registry);
    let answer = fixture.put(&registry).json();
    send_upload(&registry, &answer["missing"][0], &fixture.packages[0].3);
    let answer = fixture.put(&registry).expect(202).json();
    let missing = answer["missing"].as_array().unwrap();
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0]["filename"], fixture.packages[1].0.as_str());
}

#[test]
fn other_bytes_for_a_published_version_are_a_conflict_and_change_nothing() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.publish(&registry);
    let download = format!("{}/1.0.0/download/linux/amd64", fixture.path());
    let shasum = registry.get(&download).json()["shasum"].clone();
    let zip = zip_of(&[("terraform-provider-widget_v1.0.0", b"other")]);
    let other = fixture.clone().with_zip(zip);
    let answer = other.put(&registry).expect(409);
    assert_eq!(answer.json()["status"], "conflict");
    assert!(
        answer.errors().contains("never changes"),
        "{}",
        answer.text()
    );
    assert_eq!(registry.get(&download).json()["shasum"], shasum);
}

#[test]
fn an_armoured_signature_is_accepted_and_served_binary_2_3_3() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.publish(&registry);
    let mut description = fixture.description();
    let armored = format!(
        "-----BEGIN PGP SIGNATURE-----\n\n{}\n-----END PGP SIGNATURE-----\n",
        STANDARD.encode(&fixture.signature)
    );
    description["signature"] = armored.into();
    let body = description.to_string();
    // Without the armour the bytes are the same, so the release is the same.
    registry
        .admin("PUT", &fixture.admin_path(), Some(body.as_bytes()))
        .expect(200);
}

#[test]
fn a_binary_mode_name_is_refused_2_3_1() {
    let fixture = ProviderFixture::new("1.0.0");
    let text = fixture.shasums.replace("  ", " *");
    assert!(refused(&fixture.with_shasums(text)).contains("bare file name"));
}

#[test]
fn the_signed_name_of_a_package_is_served_2_3_1() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0").with_v());
    fixture.publish(&registry);
    let download = format!("{}/1.0.0/download/linux/amd64", fixture.path());
    let answer = registry.get(&download).expect(200).json();
    assert_eq!(answer["filename"], fixture.packages[0].0);
    let mut fixture = ProviderFixture::new("1.0.0");
    for name in ["../a.zip", "", "a b.zip", "é.zip", ".zip"] {
        name.clone_into(&mut fixture.packages[0].0);
        let reasons = refused(&fixture);
        assert!(reasons.contains("visible ASCII"), "{name:?}: {reasons}");
    }
}

#[test]
fn a_dotted_name_is_refused_2_3_1() {
    let fixture = ProviderFixture::new("1.0.0");
    let text = fixture.shasums.replace("  ", "  ./");
    assert!(refused(&fixture.with_shasums(text)).contains("bare file name"));
}

#[test]
fn a_blank_line_is_refused_2_3_2() {
    let fixture = ProviderFixture::new("1.0.0");
    let text = format!("{}\n", fixture.shasums);
    assert!(refused(&fixture.with_shasums(text)).contains("blank"));
}

#[test]
fn a_missing_platform_is_refused_2_3_1() {
    let fixture = ProviderFixture::new("1.0.0");
    let text = fixture.shasums.lines().next().unwrap().to_owned();
    let reasons = refused(&fixture.with_shasums(format!("{text}\n")));
    assert!(
        reasons.contains("does not list") && reasons.contains("arm64"),
        "{reasons}"
    );
}

#[test]
fn an_extra_platform_is_refused_2_3_1() {
    let fixture = ProviderFixture::new("1.0.0");
    let line = format!(
        "{}  terraform-provider-widget_1.0.0_darwin_arm64.zip\n",
        sha256(b"x")
    );
    let text = format!("{}{line}", fixture.shasums);
    assert!(refused(&fixture.with_shasums(text)).contains("not among the packages"));
}

#[test]
fn a_platform_that_no_client_asks_for_is_refused_with_the_one_that_is_meant() {
    let mut fixture = ProviderFixture::new("1.0.0");
    let executable = (
        "terraform-provider-widget_v1.0.0",
        &b"#!/bin/sh\n# mac\n"[..],
    );
    fixture.add_package("macos", "arm64", zip_of(&[executable]));
    fixture.sign(Signer::usual());
    let reasons = refused(&fixture);
    assert!(reasons.contains("they ask for darwin_arm64"), "{reasons}");
}

#[test]
fn a_manifest_in_shasums_is_accepted_2_3_1() {
    publish_with_listed("manifest.json");
}

#[test]
fn an_archive_of_documentation_in_shasums_is_accepted_2_3_1() {
    publish_with_listed("docs.zip");
}

#[test]
fn only_a_manifest_that_shasums_lists_can_be_missing() {
    let registry = Registry::start();
    let fixture = ProviderFixture::new("1.0.0");
    fixture.add_key(&registry);
    let put = |fixture: &ProviderFixture| {
        let mut description = fixture.description();
        description["manifest_missing"] = json!(true);
        let body = description.to_string();
        registry.admin("PUT", &fixture.admin_path(), Some(body.as_bytes()))
    };
    let errors = put(&fixture).expect(422).errors();
    let name = "terraform-provider-widget_1.0.0_manifest.json";
    assert!(
        errors.contains(&format!("does not list {name}")),
        "{errors}"
    );

    let line = format!("{}  {name}\n", sha256(b"{}"));
    let listed = format!("{}{line}", fixture.shasums);
    let listed = fixture.clone().with_shasums(listed);
    put(&listed).expect(202);
    listed.upload(&registry);
    put(&listed).expect(201);
    let key = format!(
        "releases/providers/hosted/{}/widget/1.0.0",
        listed.namespace
    );
    let facts = registry.admin("GET", &format!("/admin/v1/facts?prefix={key}"), None);
    let facts = facts.expect(200).json();
    let document = facts["facts"][0]["document"].as_str().unwrap();
    assert!(document.contains("\"manifest_missing\":true"), "{document}");
    // The release is the same with the manifest at hand.
    listed.put(&registry).expect(200);
}

/// Publishes a provider whose SHA256SUMS also lists a file that is no package.
#[track_caller]
fn publish_with_listed(end: &str) {
    let registry = Registry::start();
    let fixture = ProviderFixture::new("1.0.0");
    let digest = sha256(b"{}");
    let line = format!("{digest}  terraform-provider-widget_1.0.0_{end}\n");
    let text = format!("{}{line}", fixture.shasums);
    fixture.with_shasums(text).publish(&registry);
}

#[test]
fn a_wrong_digest_in_shasums_is_refused_2_3_1() {
    let fixture = ProviderFixture::new("1.0.0");
    let text = fixture
        .shasums
        .replacen(&sha256(&fixture.packages[0].3), &sha256(b"x"), 1);
    assert!(refused(&fixture.with_shasums(text)).contains("SHA256SUMS lists the sha256"));
}

#[test]
fn a_signature_by_a_key_that_is_not_registered_is_refused_2_3_5() {
    let mut fixture = ProviderFixture::new("1.0.0");
    fixture.sign(Signer::other());
    let reasons = refused(&fixture);
    assert!(reasons.contains(&Signer::other().key_id()), "{reasons}");
}

#[test]
fn a_namespace_without_keys_publishes_nothing_2_3_6() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    let errors = fixture.put(&registry).expect(422).errors();
    assert!(errors.contains("no signing keys"), "{errors}");
}

#[test]
fn a_signature_of_another_text_is_refused_2_3_7() {
    let mut fixture = ProviderFixture::new("1.0.0");
    fixture.signature = Signer::usual().sign(b"another text");
    assert!(refused(&fixture).contains("signature"));
}

#[test]
fn a_zip_without_the_executable_is_refused_2_3_9() {
    let fixture = ProviderFixture::new("1.0.0").with_files(&[("README.md", b"x")]);
    assert!(refused(&fixture).contains("terraform-provider-widget"));
}

#[test]
fn a_zip_whose_paths_escape_is_refused_2_3_9() {
    let fixture = ProviderFixture::new("1.0.0").with_files(&[
        ("terraform-provider-widget_v1.0.0", b"x"),
        ("../evil", b"x"),
    ]);
    assert!(refused(&fixture).contains("../evil"));
}

#[test]
fn a_zip_with_directory_entries_is_refused_2_3_10() {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("terraform-provider-widget_v1.0.0", options)
        .unwrap();
    zip.add_directory("docs", options).unwrap();
    let fixture = ProviderFixture::new("1.0.0").with_zip(zip.finish().unwrap().into_inner());
    assert!(refused(&fixture).contains("docs/"));
}

#[test]
fn a_file_that_is_not_a_zip_is_refused() {
    let fixture = ProviderFixture::new("1.0.0").with_zip(b"this is no zip at all".to_vec());
    assert!(refused(&fixture).contains("_linux_amd64.zip"));
}

#[test]
fn equal_zips_for_two_platforms_are_refused_2_4_3() {
    let mut fixture = ProviderFixture::new("1.0.0");
    fixture.packages[1].3 = fixture.packages[0].3.clone();
    fixture.sign(Signer::usual());
    assert!(refused(&fixture).contains("same sha256"));
}

#[test]
fn all_errors_are_reported_at_once() {
    let registry = Registry::start();
    let fixture = ProviderFixture::new("1.0.0");
    let mut description = fixture.description();
    description["protocols"] = json!(["4.0", "x"]);
    description["shasums"] = format!("\n{}", fixture.shasums).into();
    description["packages"][0]["os"] = "Linux".into();
    description["packages"][1]["sha256"] = "abc".into();
    description["packages"][1]["size"] = 0.into();
    let body = description.to_string();
    let answer: Response = registry
        .admin("PUT", &fixture.admin_path(), Some(body.as_bytes()))
        .expect(422);
    let errors = answer.errors();
    for reason in [
        "protocol \"x\"",
        "line 1 is blank",
        "\"Linux\"",
        "\"abc\"",
        "the size is 0 bytes",
    ] {
        assert!(errors.contains(reason), "{reason}: {errors}");
    }
}

#[test]
fn an_archive_of_another_size_than_promised_is_refused() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.add_key(&registry);
    fixture.upload(&registry);
    let mut description = fixture.description();
    description["packages"][0]["size"] = 12_345.into();
    let body = description.to_string();
    let errors = registry
        .admin("PUT", &fixture.admin_path(), Some(body.as_bytes()))
        .expect(422)
        .errors();
    assert!(errors.contains("12345"), "{errors}");
}

#[test]
fn bytes_of_another_digest_are_never_published() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.add_key(&registry);
    let answer = fixture.put(&registry).json();
    let wrong = vec![b'x'; fixture.packages[0].3.len()];
    let response = send_upload(&registry, &answer["missing"][0], &wrong);
    // R2 and the Worker reject wrong bytes. A store that accepts them is detected by the next publish.
    if response.status != 200 {
        assert!((400..500).contains(&response.status), "{response:?}");
    }
    let answer = fixture.put(&registry).expect(202).json();
    assert_eq!(answer["missing"].as_array().unwrap().len(), 2);
    fixture.publish(&registry);
}

#[test]
fn a_version_that_is_not_canonical_is_refused_2_1_3() {
    let registry = Registry::start();
    for version in ["1.0", "v1.0.0", "latest", "1.0.0.0", "01.0.0"] {
        let path = format!("/admin/v1/providers/acme/widget/{version}");
        let errors = registry
            .admin("PUT", &path, Some(b"{}"))
            .expect(400)
            .errors();
        assert!(errors.contains(version), "{errors}");
    }
}

#[test]
fn a_protocol_list_that_no_client_supports_is_refused_2_2_3() {
    let mut fixture = ProviderFixture::new("1.0.0");
    fixture.protocols = vec!["4.1".to_owned()];
    assert!(refused(&fixture).contains("5.0"));
}
