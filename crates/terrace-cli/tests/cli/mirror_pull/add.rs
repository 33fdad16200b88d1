//! `terrace mirror add`.

use std::fs;

use serde_json::json;

use super::{ADDRESS, MIRRORED, PATH, RELEASE, add, command, downloads, statuses};
use crate::support::http::Response;
use crate::support::origin::{Origin, description_of, zip_of};
use crate::support::registry::Registry;
use crate::support::{assert_has, ended, fixture, words};

const TWO: [&str; 4] = ["--platform", "linux_amd64", "--platform", "darwin_arm64"];

#[test]
fn the_newest_release_is_mirrored_for_all_platforms_with_its_signing_key() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let ended = add(&origin, &registry, &[]).expect(0);
    assert_has!(ended.warnings(), "v9.9.9");
    let report = ended.json();
    assert_eq!(report["status"], "ok");
    assert_eq!(statuses(&report), ["1.2.3 created"]);
    let line = &report["versions"][0];
    assert_eq!(line["address"], ADDRESS);
    assert_eq!(line["platforms"].as_array().unwrap().len(), 6);
    assert_eq!(line["uploaded"].as_array().unwrap().len(), 6);

    let body = registry.description();
    assert_eq!(body["protocols"], json!(["6.0"]));
    let shasums = fs::read_to_string(fixture("release/terraform-provider-hello_1.2.3_SHA256SUMS"));
    assert_eq!(body["signed"]["shasums"], shasums.unwrap());
    let key = body["signed"]["signing_key"].as_str().unwrap();
    assert!(key.starts_with("-----BEGIN PGP PUBLIC KEY BLOCK"), "{key}");
    let linux = &body["packages"][3];
    assert_eq!(
        (&linux["os"], &linux["size"]),
        (&json!("linux"), &json!(299))
    );
    // Computed by Go's dirhash.Hash1, independently.
    let h1 = "h1:pxtubu1FkPTGFvdPiX+uqyiDco+HPe04ej1tnFf4rso=";
    assert_eq!(linux["h1"], h1);
    let requests = registry.requests();
    assert_eq!(requests[..2], [MIRRORED, RELEASE]);
    assert_eq!(requests.last().unwrap(), RELEASE);

    // The packages are not downloaded again, but still sent to the registry.
    origin.requests();
    let report = add(&origin, &registry, &[]).expect(0).json();
    assert_eq!(statuses(&report), ["1.2.3 unchanged"]);
    let status = "GET /api/v1/mirror/origin.example/acme/hello/1.2.3";
    assert_eq!(registry.requests(), [MIRRORED, RELEASE, status]);
    assert_eq!(registry.description(), body);
    assert_eq!(downloads(&origin), [""; 0]);
}

#[test]
fn platforms_and_versions_can_be_selected() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let line = words(
        "--versions ~>1.2.3 --platform linux_amd64 --platform plan9_386 --platform linux_amd64",
    );
    let ended = add(&origin, &registry, &line).expect(0);
    assert_eq!(
        ended.json()["versions"][0]["platforms"],
        json!(["linux_amd64"])
    );
    assert_has!(ended.warnings(), "plan9_386");
    let none = add(&origin, &registry, &["--versions", "> 5"]);
    none.fails(3, "newest version is 2.0.0-rc.1");
    let ended = add(&origin, &registry, &["--platform", "plan9_386"]).expect(3);
    assert_eq!(statuses(&ended.json()), ["1.2.3 skipped", " refused"]);
    assert_has!(ended.errors(), "these platforms");
}

#[test]
fn only_the_platforms_that_are_not_stored_are_downloaded_and_all_are_described() {
    let (origin, registry) = (Origin::start(), Registry::start());
    add(&origin, &registry, &["--platform", "linux_amd64"]).expect(0);
    origin.requests();
    let report = add(&origin, &registry, &TWO).expect(0).json();
    assert_eq!(statuses(&report), ["1.2.3 created"]);
    assert_eq!(report["versions"][0]["stored"], json!(["linux_amd64"]));
    assert_eq!(downloads(&origin), [zip_of("darwin_arm64")]);
    let described = registry.description();
    assert_eq!(described["packages"].as_array().unwrap().len(), 2);
    assert!(described["signed"]["shasums"].is_string(), "{described}");
}

#[test]
fn a_platform_that_is_stored_with_other_bytes_is_a_conflict_with_both_digests() {
    let (origin, registry) = (Origin::start(), Registry::start());
    add(&origin, &registry, &TWO).expect(0);
    let mut promised = String::new();
    registry.edit_release(PATH, |release| {
        let sha256 = &mut release["packages"][1]["sha256"];
        promised = sha256.as_str().unwrap().to_owned();
        *sha256 = json!("0".repeat(64));
    });
    for dry in [&[][..], &["--dry-run"]] {
        registry.requests();
        let ended = add(&origin, &registry, &[&TWO[..], dry].concat()).expect(4);
        assert_eq!(statuses(&ended.json()), ["1.2.3 conflict"]);
        let errors = ended.errors();
        assert_has!(errors, "linux_amd64", &"0".repeat(64), &promised);
        assert_eq!(registry.requests(), [MIRRORED]);
    }
}

#[test]
fn a_platform_that_is_stored_without_its_h1_is_downloaded_to_compute_it() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let one = ["--platform", "linux_amd64"];
    add(&origin, &registry, &one).expect(0);
    registry.edit_release(PATH, |release| {
        let package = release["packages"][0].as_object_mut().unwrap();
        package.remove("h1").unwrap();
    });
    origin.requests();
    let report = add(&origin, &registry, &one).expect(0).json();
    assert_eq!(statuses(&report), ["1.2.3 unchanged"]);
    assert_eq!(downloads(&origin), [zip_of("linux_amd64")]);
    assert!(registry.description()["packages"][0]["h1"].is_string());
}

#[test]
fn a_zip_that_the_registry_lists_and_has_lost_is_sent_again() {
    let (origin, registry) = (Origin::start(), Registry::start());
    add(&origin, &registry, &["--platform", "linux_amd64"]).expect(0);
    registry.lose_archives();
    let report = add(&origin, &registry, &TWO).expect(0).json();
    assert_eq!(statuses(&report), ["1.2.3 created"]);
    let uploaded = report["versions"][0]["uploaded"].as_array().unwrap().len();
    assert_eq!(uploaded, 2);
}

#[test]
fn a_platform_that_the_origin_lists_and_does_not_have_is_left_out_unless_it_is_named() {
    let (origin, registry) = (Origin::start(), Registry::start());
    origin.set(&description_of("linux_amd64"), Response::new(404, ""));
    let report = add(&origin, &registry, &[]).expect(0).json();
    let platforms = report["versions"][0]["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), 5, "{report}");
    assert_has!(report["warnings"].to_string(), "linux_amd64");
    add(&origin, &registry, &TWO).fails(3, "linux_amd64");
}

#[test]
fn one_version_that_fails_does_not_stop_the_others() {
    let (origin, registry) = (Origin::start(), Registry::start());
    // The origin lists 1.2.2, but has none of its files.
    let ended = add(&origin, &registry, &["--versions", "~> 1.2.0"]).expect(3);
    assert_eq!(statuses(&ended.json()), ["1.2.2 refused", "1.2.3 created"]);
    assert_has!(ended.errors(), "404");
}

#[test]
fn a_dry_run_checks_signatures_sends_nothing_and_works_without_a_registry() {
    let (origin, registry) = (Origin::start(), Registry::start());
    add(&origin, &registry, &["--platform", "linux_amd64"]).expect(0);
    registry.requests();
    origin.requests();
    let line = ["add", ADDRESS, "--dry-run"];
    let line = [&line[..], &TWO].concat();
    for (stored, requests) in [(json!(["linux_amd64"]), &[MIRRORED][..]), (json!([]), &[])] {
        let mut command = command(&origin, &registry, &line);
        if requests.is_empty() {
            command.env_remove("TERRACE_TOKEN");
        }
        let report = ended(&mut command).expect(0).json();
        assert_eq!(report["status"], "dry_run");
        assert_eq!(statuses(&report), ["1.2.3 dry_run"]);
        assert_eq!(report["versions"][0]["stored"], stored);
        assert_eq!(registry.requests(), requests);
        let fetched = origin.requests();
        assert!(fetched.iter().any(|head| head.target.ends_with(".sig")));
        assert!(!fetched.iter().any(|head| head.target.contains(".zip")));
    }
}

#[test]
fn the_registrys_own_hostname_is_rejected_without_a_request() {
    let (origin, registry) = (Origin::start(), Registry::start());
    ended(&mut command(
        &origin,
        &registry,
        &["add", "127.0.0.1/acme/hello"],
    ))
    .fails(3, "the registry itself");
}
