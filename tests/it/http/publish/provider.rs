use serde_json::json;

use crate::support::fixtures::{Signer, armoured, send_upload, sha256, zip_of};
use crate::support::{ProviderFixture, Registry};

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
    registry.get(&fixture.versions()).expect(404);
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
    registry.get(&fixture.versions()).expect(404);
    send_upload(&registry, &missing[0], &fixture.packages[0].3);
    let answer = fixture.put(&registry).expect(202).json();
    let missing = answer["missing"].as_array().unwrap();
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0]["filename"], fixture.packages[1].0.as_str());
    fixture.upload(&registry);
    let answer = fixture.put(&registry).expect(201).json();
    let address = format!("{}/widget", fixture.namespace);
    assert_eq!(
        answer,
        json!({ "status": "created", "address": address, "version": "1.0.0" })
    );
    registry.get(&fixture.versions()).expect(200);
}

/// An `h1:` hash may be sent later.
#[test]
fn the_same_bytes_are_unchanged() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.publish(&registry);
    let again = fixture.put(&registry).found();
    assert_eq!(again["status"], "unchanged");
    let mut description = fixture.description();
    description["packages"][0]["h1"] = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=".into();
    description["signature"] = armoured(&fixture.signature).into();
    registry
        .put(&fixture.admin_path(), &description)
        .expect(200);
}

#[test]
fn other_bytes_for_a_published_version_are_a_conflict_and_change_nothing() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.publish(&registry);
    let download = fixture.download();
    let shasum = registry.get(&download).json()["shasum"].clone();
    let zip = zip_of(&[("terraform-provider-widget_v1.0.0", b"other")]);
    let other = fixture.clone().with_zip(zip);
    let answer = other.put(&registry);
    assert_eq!(answer.json()["status"], "conflict");
    answer.refuses(409, "never changes");
    assert_eq!(registry.get(&download).json()["shasum"], shasum);
}

/// Returns the provider with a changed SHA256SUMS.
fn listing(change: impl Fn(&ProviderFixture) -> String) -> ProviderFixture {
    let fixture = ProviderFixture::new("1.0.0");
    let shasums = change(&fixture);
    fixture.with_shasums(shasums)
}

/// Returns the provider after a change, signed again.
fn signed(change: impl Fn(&mut ProviderFixture)) -> ProviderFixture {
    let mut fixture = ProviderFixture::new("1.0.0");
    change(&mut fixture);
    fixture.sign(Signer::usual());
    fixture
}

#[test]
fn a_list_that_clients_reject_is_refused_2_3_1_2_3_2() {
    for (fixture, reasons) in [
        (
            listing(|it| it.shasums.replace("  ", " *")),
            &["bare file name"][..],
        ),
        (
            listing(|it| it.shasums.replace("  ", "  ./")),
            &["bare file name"],
        ),
        (listing(|it| format!("{}\n", it.shasums)), &["blank"]),
        (
            listing(|it| format!("{}\n", it.shasums.lines().next().unwrap())),
            &["does not list", "arm64"],
        ),
        (
            listing(|it| {
                let name = "terraform-provider-widget_1.0.0_darwin_arm64.zip";
                format!("{}{}  {name}\n", it.shasums, sha256(b"x"))
            }),
            &["not among the packages"],
        ),
        (
            listing(|it| {
                let first = sha256(&it.packages[0].3);
                it.shasums.replacen(&first, &sha256(b"x"), 1)
            }),
            &["SHA256SUMS lists the sha256"],
        ),
    ] {
        let errors = refused(&fixture);
        for reason in reasons {
            assert!(errors.contains(reason), "{reason}: {errors}");
        }
    }
}

#[test]
fn other_files_in_shasums_are_accepted_2_3_1() {
    for end in ["manifest.json", "docs.zip"] {
        let name = format!("terraform-provider-widget_1.0.0_{end}");
        let line = format!("{}  {name}\n", sha256(b"{}"));
        listing(|it| format!("{}{line}", it.shasums)).publish(&Registry::start());
    }
}

#[test]
fn a_signature_that_no_registered_key_made_is_refused_2_3_5_2_3_7() {
    let mut fixture = ProviderFixture::new("1.0.0");
    fixture.signature = Signer::usual().sign(b"another text");
    assert!(refused(&fixture).contains("signature"));
    fixture.sign(Signer::other());
    let reasons = refused(&fixture);
    assert!(reasons.contains(&Signer::other().key_id()), "{reasons}");
}

#[test]
fn a_package_that_clients_cannot_install_is_refused_2_2_3_2_3_9_2_3_10_2_4_3() {
    const EXECUTABLE: &str = "terraform-provider-widget_v1.0.0";
    let files = |files: &[(&str, &[u8])]| ProviderFixture::new("1.0.0").with_files(files);
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file(EXECUTABLE, options).unwrap();
    zip.add_directory("docs", options).unwrap();
    let zip = zip.finish().unwrap().into_inner();
    for (fixture, reason) in [
        (files(&[("README.md", b"x")]), "terraform-provider-widget"),
        (files(&[(EXECUTABLE, b"x"), ("../evil", b"x")]), "../evil"),
        (ProviderFixture::new("1.0.0").with_zip(zip), "docs/"),
        (
            ProviderFixture::new("1.0.0").with_zip(b"no zip".to_vec()),
            "_linux_amd64.zip",
        ),
        (
            signed(|it| it.packages[1].3 = it.packages[0].3.clone()),
            "same sha256",
        ),
        (
            signed(|it| it.add_package("macos", "arm64", zip_of(&[(EXECUTABLE, b"# mac")]))),
            "they ask for darwin_arm64",
        ),
        (signed(|it| it.protocols = vec!["4.1".to_owned()]), "5.0"),
    ] {
        let errors = refused(&fixture);
        assert!(errors.contains(reason), "{reason}: {errors}");
    }
}

#[test]
fn the_signed_name_of_a_package_is_served_2_3_1() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0").with_v());
    fixture.publish(&registry);
    let download = fixture.download();
    let answer = registry.read(&download);
    assert_eq!(answer["filename"], fixture.packages[0].0);
    let mut fixture = ProviderFixture::new("1.0.0");
    for name in ["../a.zip", "", "a b.zip", "é.zip", ".zip"] {
        name.clone_into(&mut fixture.packages[0].0);
        let reasons = refused(&fixture);
        assert!(reasons.contains("visible ASCII"), "{name:?}: {reasons}");
    }
}

#[test]
fn only_a_manifest_that_shasums_lists_can_be_missing() {
    let registry = Registry::start();
    let fixture = ProviderFixture::new("1.0.0");
    fixture.add_key(&registry);
    let put = |fixture: &ProviderFixture| {
        let mut description = fixture.description();
        description["manifest_missing"] = json!(true);
        registry.put(&fixture.admin_path(), &description)
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
    let facts = facts.found();
    let document = facts["facts"][0]["document"].as_str().unwrap();
    assert!(document.contains("\"manifest_missing\":true"), "{document}");
    // The release is the same with the manifest at hand.
    listed.put(&registry).expect(200);
}

#[test]
fn a_namespace_without_keys_publishes_nothing_2_3_6() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    fixture.put(&registry).refuses(422, "no signing keys");
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
    let answer = registry.put(&fixture.admin_path(), &description);
    let errors = answer.expect(422).errors();
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
    let refused = registry.put(&fixture.admin_path(), &description);
    refused.refuses(422, "12345");
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
fn too_many_packages_or_protocols_are_refused() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    let package = fixture.description()["packages"][0].clone();
    let protocols: Vec<String> = (0..100).map(|minor| format!("5.{minor}")).collect();
    for (field, values, reason) in [
        ("packages", json!(vec![package; 65]), "64"),
        ("protocols", json!(protocols), "protocols"),
    ] {
        let mut description = fixture.description();
        description[field] = values;
        let refused = registry.put(&fixture.admin_path(), &description);
        refused.refuses(422, reason);
    }
}
