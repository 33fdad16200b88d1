//! `terrace mirror add`.

use std::fs;

use serde_json::json;

use super::{ADDRESS, MIRRORED, PATH, RELEASE, add, command, downloads, statuses};
use crate::support::http::Response;
use crate::support::origin::{Origin, description_of, zip_of};
use crate::support::registry::{Fault, Registry};
use crate::support::{NAME, TOKEN, ended, fixture, terrace};

#[test]
fn the_newest_release_is_mirrored_for_all_platforms_with_its_signing_key() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let report = add(&origin, &registry, &[]).expect(0).json();
    assert_eq!(report["status"], "ok");
    assert_eq!(statuses(&report), ["1.2.3 created"]);
    let line = &report["versions"][0];
    assert_eq!(line["address"], ADDRESS);
    assert_eq!(line["platforms"].as_array().unwrap().len(), 6);
    assert_eq!(line["uploaded"].as_array().unwrap().len(), 6);
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("v9.9.9"), "{warnings}");

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
    assert_eq!(
        linux["h1"],
        "h1:pxtubu1FkPTGFvdPiX+uqyiDco+HPe04ej1tnFf4rso="
    );
    let requests = registry.requests();
    assert_eq!(requests[..2], [MIRRORED, RELEASE]);
    assert_eq!(requests.last().unwrap(), RELEASE);
}

#[test]
fn mirrored_packages_are_not_downloaded_again_but_still_sent_to_the_registry() {
    let (origin, registry) = (Origin::start(), Registry::start());
    add(&origin, &registry, &[]).expect(0);
    let first = registry.description();
    registry.requests();
    origin.requests();
    let report = add(&origin, &registry, &[]).expect(0).json();
    assert_eq!(statuses(&report), ["1.2.3 unchanged"]);
    let status = "GET /api/v1/mirror/origin.example/acme/hello/1.2.3";
    assert_eq!(registry.requests(), [MIRRORED, RELEASE, status]);
    assert_eq!(registry.description(), first);
    assert_eq!(downloads(&origin), [""; 0]);
}

#[test]
fn only_the_platforms_that_are_not_stored_are_downloaded_and_all_are_described() {
    let (origin, registry) = (Origin::start(), Registry::start());
    add(&origin, &registry, &["--platform", "linux_amd64"]).expect(0);
    origin.requests();
    let two = ["--platform", "linux_amd64", "--platform", "darwin_arm64"];
    let report = add(&origin, &registry, &two).expect(0).json();
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
    let two = ["--platform", "linux_amd64", "--platform", "darwin_arm64"];
    add(&origin, &registry, &two).expect(0);
    let mut promised = String::new();
    registry.edit_release(PATH, |release| {
        let sha256 = &mut release["packages"][1]["sha256"];
        promised = sha256.as_str().unwrap().to_owned();
        *sha256 = json!("0".repeat(64));
    });
    for dry in [&[][..], &["--dry-run"]] {
        registry.requests();
        let ended = add(&origin, &registry, &[&two[..], dry].concat()).expect(4);
        assert_eq!(statuses(&ended.json()), ["1.2.3 conflict"]);
        let errors = ended.errors();
        assert!(errors.contains("linux_amd64"), "{errors}");
        assert!(errors.contains(&"0".repeat(64)), "{errors}");
        assert!(errors.contains(&promised), "{errors}");
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
    assert_eq!(statuses(&report), ["1.2.3 created"]);
    assert_eq!(downloads(&origin), [zip_of("linux_amd64")]);
    assert!(registry.description()["packages"][0]["h1"].is_string());
}

#[test]
fn a_zip_that_the_registry_lists_and_has_lost_is_sent_again() {
    let (origin, registry) = (Origin::start(), Registry::start());
    add(&origin, &registry, &["--platform", "linux_amd64"]).expect(0);
    registry.lose_archives();
    let two = ["--platform", "linux_amd64", "--platform", "darwin_arm64"];
    let report = add(&origin, &registry, &two).expect(0).json();
    assert_eq!(statuses(&report), ["1.2.3 created"]);
    let uploaded = report["versions"][0]["uploaded"].as_array().unwrap().len();
    assert_eq!(uploaded, 2);
}

#[test]
fn a_broken_upload_is_resumed_where_it_stopped() {
    let (origin, registry) = (Origin::start(), Registry::start());
    registry.fail("PUT", "/bucket/", Fault::Answer(Response::new(400, "")));
    let broken = add(&origin, &registry, &[]).expect(3).json();
    assert_eq!(statuses(&broken), ["1.2.3 refused"]);
    let before = registry.uploads().len();
    assert!((1..=6).contains(&before), "{before}");
    registry.requests();
    let report = add(&origin, &registry, &[]).expect(0).json();
    assert_eq!(statuses(&report), ["1.2.3 created"]);
    let uploaded = report["versions"][0]["uploaded"].as_array().unwrap().len();
    assert!(
        uploaded <= 6 && uploaded + before > 6,
        "{uploaded}, {before}"
    );
}

#[test]
fn platforms_and_versions_can_be_selected() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let arguments = [
        "--versions",
        "~> 1.2.3",
        "--platform",
        "linux_amd64",
        "--platform",
        "plan9_386",
        "--platform",
        "linux_amd64",
    ];
    let report = add(&origin, &registry, &arguments).expect(0).json();
    assert_eq!(report["versions"][0]["platforms"], json!(["linux_amd64"]));
    assert!(
        report["warnings"].to_string().contains("plan9_386"),
        "{report}"
    );
    let none = add(&origin, &registry, &["--versions", "> 5"]).expect(3);
    assert!(
        none.errors().contains("newest version is 2.0.0-rc.1"),
        "{none:?}"
    );
}

#[test]
fn a_platform_that_the_origin_lists_and_does_not_have_is_left_out_unless_it_is_named() {
    let (origin, registry) = (Origin::start(), Registry::start());
    origin.set(&description_of("linux_amd64"), Response::new(404, ""));
    let report = add(&origin, &registry, &[]).expect(0).json();
    let platforms = report["versions"][0]["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), 5, "{report}");
    assert!(
        report["warnings"].to_string().contains("linux_amd64"),
        "{report}"
    );
    let two = ["--platform", "linux_amd64", "--platform", "darwin_arm64"];
    let named = add(&origin, &registry, &two).expect(3);
    assert!(named.errors().contains("linux_amd64"), "{named:?}");
}

#[test]
fn each_signature_of_a_version_is_sent_with_its_packages() {
    let (origin, registry) = (Origin::start(), Registry::start());
    // A file may hold several signatures, so these are two files of one key.
    let once = origin.page("/files/SHA256SUMS.sig").body;
    let twice = Response::new(200, [&once[..], &once[..]].concat());
    origin.set("/files/twice.sig", twice);
    origin.edit(&description_of("linux_amd64"), |text| {
        text.replace("SHA256SUMS.sig", "twice.sig")
    });
    let two = ["--platform", "linux_amd64", "--platform", "darwin_arm64"];
    let report = add(&origin, &registry, &two).expect(0).json();
    let line = &report["versions"][0];
    assert_eq!(line["status"], "created");
    assert_eq!(line["uploaded"].as_array().unwrap().len(), 2, "{line}");
    let described = registry.description();
    assert_eq!(described["packages"].as_array().unwrap().len(), 1);
    assert_eq!(described["packages"][0]["arch"], "amd64");
    // The request with the other bytes replaces them, and the next one adds to those.
    registry.edit_release(PATH, |release| {
        release["packages"][1]["sha256"] = json!("0".repeat(64));
    });
    let before = registry.descriptions().len();
    let replace = ["--versions", "1.2.3", "--replace", "anew"];
    add(&origin, &registry, &replace).expect(0);
    let sent = registry.descriptions();
    let reasons = sent[before..].iter().map(|it| &it["replace"]);
    let reasons: Vec<_> = reasons.collect();
    assert!(reasons.len() > 1, "{sent:?}");
    assert_eq!(reasons[0], "anew");
    assert!(reasons[1..].iter().all(|it| it.is_null()), "{reasons:?}");
}

#[test]
fn the_file_name_of_a_package_is_its_publishers_choice() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let name = "terraform-provider-hello_v1.2.3_linux_amd64.zip";
    origin.edit(&description_of("linux_amd64"), |text| {
        text.replace(
            &format!("\"{NAME}_linux_amd64.zip\""),
            &format!("\"{name}\""),
        )
    });
    let named = add(&origin, &registry, &["--platform", "linux_amd64"]).expect(3);
    let errors = named.errors();
    assert!(
        errors.contains(&format!("SHA256SUMS does not list {name}")),
        "{errors}"
    );
}

#[test]
fn one_version_that_fails_does_not_stop_the_others() {
    let (origin, registry) = (Origin::start(), Registry::start());
    // The origin lists 1.2.2, but has none of its files.
    let ended = add(&origin, &registry, &["--versions", "~> 1.2.0"]).expect(3);
    assert_eq!(statuses(&ended.json()), ["1.2.2 refused", "1.2.3 created"]);
    assert!(ended.errors().contains("404"), "{ended:?}");
}

#[test]
fn a_dry_run_checks_signatures_and_sends_nothing() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let report = add(&origin, &registry, &["--dry-run"]).expect(0).json();
    assert_eq!(report["status"], "dry_run");
    assert_eq!(statuses(&report), ["1.2.3 dry_run"]);
    assert_eq!(registry.requests(), [MIRRORED]);
    let fetched = origin.requests();
    assert!(fetched.iter().any(|head| head.target.ends_with(".sig")));
    assert!(!fetched.iter().any(|head| head.target.contains(".zip")));
}

#[test]
fn a_dry_run_reports_stored_packages_and_works_without_a_registry() {
    let (origin, registry) = (Origin::start(), Registry::start());
    add(&origin, &registry, &["--platform", "linux_amd64"]).expect(0);
    let two = ["--platform", "linux_amd64", "--platform", "darwin_arm64"];
    let arguments = [&["add", ADDRESS, "--dry-run"], &two[..]].concat();
    let report = ended(&mut command(&origin, &registry, &arguments));
    let version = &report.expect(0).json()["versions"][0];
    assert_eq!(version["platforms"], json!(["darwin_arm64", "linux_amd64"]));
    assert_eq!(version["stored"], json!(["linux_amd64"]));

    let mut alone = command(&origin, &registry, &arguments);
    alone.env_remove("TERRACE_TOKEN");
    let report = ended(&mut alone).expect(0).json();
    assert_eq!(statuses(&report), ["1.2.3 dry_run"]);
    assert_eq!(report["versions"][0]["stored"], json!([]));
}

#[test]
fn the_text_output_lists_mirrored_versions_and_their_signing_keys() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let mut command = terrace(&["mirror", "add", ADDRESS, "--platform", "linux_amd64"]);
    command.args(["--origin", &origin.place(), "--url", registry.url()]);
    command.env("TERRACE_TOKEN", TOKEN);
    command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
    let ended = ended(&mut command).expect(0);
    let (line, summary) = ended.stdout.trim_end().split_once('\n').unwrap();
    assert_eq!(summary, format!("1 created at {}", registry.url()));
    let start = "created      origin.example/acme/hello 1.2.3, signed by ";
    assert!(line.starts_with(start), "{line}");
    assert!(line.ends_with(": linux_amd64"), "{line}");
}

#[test]
fn an_address_needs_all_three_parts() {
    let ended = ended(&mut terrace(&["mirror", "add", "hashicorp/random"])).expect(2);
    assert!(
        ended.stderr.contains("hostname/namespace/type"),
        "{ended:?}"
    );
}

#[test]
fn a_url_or_a_version_as_the_address_is_refused_with_the_right_arguments() {
    for (arguments, advice) in [
        (
            &["mirror", "add", "https://origin.example/acme/hello"][..],
            "write origin.example/acme/hello",
        ),
        (
            &["mirror", "add", "origin.example/acme/hello@2.1.0"],
            "write origin.example/acme/hello --versions 2.1.0",
        ),
        (
            &["mirror", "remove", "origin.example/acme", "--reason", "x"],
            "`terrace mirror list origin.example/acme` lists them",
        ),
        (
            &["mirror", "sync", "nothere"],
            "nothere: there is no file or directory of this name",
        ),
    ] {
        let mut command = terrace(arguments);
        command.args(["--url", "https://registry.example"]);
        let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(2);
        assert!(ended.stderr.contains(advice), "{ended:?}");
    }
}

#[test]
fn the_registrys_own_hostname_is_rejected_without_a_request() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let ended = ended(&mut command(
        &origin,
        &registry,
        &["add", "127.0.0.1/acme/hello"],
    ))
    .expect(3);
    assert!(ended.errors().contains("the registry itself"), "{ended:?}");
}

#[test]
fn a_platform_that_no_version_has_is_a_failure_if_it_was_selected() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let ended = add(&origin, &registry, &["--platform", "plan9_386"]).expect(3);
    assert_eq!(statuses(&ended.json()), ["1.2.3 skipped", " refused"]);
    assert!(ended.errors().contains("these platforms"), "{ended:?}");
}
