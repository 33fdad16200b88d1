//! Packages that do not match the checksums or the signature.

use std::fs;

use serde_json::{Value, json};

use super::{command, refused, statuses};
use crate::support::http::Response;
use crate::support::origin::{Origin, description_of, zip_of};
use crate::support::registry::Registry;
use crate::support::{assert_has, ended, fixture};

#[test]
fn a_zip_with_other_bytes_than_promised_is_refused() {
    let origin = Origin::start();
    let other = fs::read(fixture(
        "release/terraform-provider-hello_1.2.3_linux_arm64.zip",
    ));
    origin.set(&zip_of("linux_amd64"), Response::new(200, other.unwrap()));
    let errors = refused(&origin);
    assert_has!(errors, "promises sha256");
}

#[test]
fn platforms_with_different_sha256sums_are_sent_one_by_one() {
    // This host needs no signature, so that either text is valid on its own.
    const UNSIGNED: &str = "registry.opentofu.org/acme/hello";
    let (origin, registry) = (Origin::start(), Registry::start());
    for platform in ["linux_amd64", "darwin_arm64"] {
        origin.edit(&description_of(platform), |text| {
            let mut document: Value = serde_json::from_str(text).unwrap();
            document["signing_keys"] = json!({ "gpg_public_keys": [] });
            document.to_string()
        });
    }
    let two = ["--platform", "linux_amd64", "--platform", "darwin_arm64"];
    let add = |registry: &Registry, more: &[&str]| {
        let mut command = command(&origin, registry, &[&["add", UNSIGNED], more].concat());
        let place = format!("registry.opentofu.org={}", origin.url());
        ended(command.args(["--origin", &place])).expect(0).json()
    };
    let report = add(&Registry::start(), &two);
    assert_eq!(statuses(&report), ["1.2.3 created"]);

    origin.set("/files/OTHER", origin.page("/files/SHA256SUMS"));
    origin.edit("/files/OTHER", |text| {
        let of_it = |line: &&str| line.contains("darwin_arm64");
        let lines = text.lines().filter(of_it);
        lines.map(|line| format!("{line}\n")).collect()
    });
    origin.edit(&description_of("darwin_arm64"), |text| {
        text.replace("\"/files/SHA256SUMS\"", "\"/files/OTHER\"")
    });
    let report = add(&registry, &two);
    let uploaded = &report["versions"][0]["uploaded"];
    assert_eq!(uploaded.as_array().unwrap().len(), 2, "{report}");
    let described = registry.description();
    assert_eq!(described["packages"].as_array().unwrap().len(), 1);
    // The request with the other bytes replaces them, and the next one adds to those.
    let path = format!("/admin/v1/mirror/{UNSIGNED}/1.2.3");
    registry.edit_release(&path, |release| {
        release["packages"][1]["sha256"] = json!("0".repeat(64));
    });
    let before = registry.descriptions().len();
    add(&registry, &["--versions", "1.2.3", "--replace", "anew"]);
    let sent = registry.descriptions();
    let reasons = sent[before..].iter().map(|it| &it["replace"]);
    let reasons: Vec<_> = reasons.collect();
    assert!(reasons.len() > 1, "{sent:?}");
    assert_eq!(reasons[0], "anew");
    assert!(reasons[1..].iter().all(|it| it.is_null()), "{reasons:?}");
}
