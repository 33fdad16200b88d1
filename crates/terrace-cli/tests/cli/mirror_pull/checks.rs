//! Packages that do not match the checksums or the signature.

use std::fs;

use serde_json::{Value, json};

use super::{command, refused, statuses};
use crate::support::http::Response;
use crate::support::origin::{Origin, description_of, zip_of};
use crate::support::registry::Registry;
use crate::support::{ended, fixture};

#[test]
fn a_zip_with_other_bytes_than_promised_is_refused() {
    let origin = Origin::start();
    let other = fs::read(fixture(
        "release/terraform-provider-hello_1.2.3_linux_arm64.zip",
    ));
    origin.set(&zip_of("linux_amd64"), Response::new(200, other.unwrap()));
    let errors = refused(&origin);
    assert!(errors.contains("promises sha256"), "{errors}");
}

#[test]
fn a_digest_that_sha256sums_does_not_have_is_refused_2_3_1() {
    let origin = Origin::start();
    origin.edit(&description_of("linux_amd64"), |text| {
        let mut document: Value = serde_json::from_str(text).unwrap();
        document["shasum"] = json!("0".repeat(64));
        document.to_string()
    });
    let errors = refused(&origin);
    assert!(errors.contains("SHA256SUMS lists the sha256"), "{errors}");
}

#[test]
fn a_signature_of_other_bytes_or_by_another_key_is_refused_2_3_7() {
    let origin = Origin::start();
    origin.edit("/files/SHA256SUMS", |text| text.replace("  ", " "));
    let errors = refused(&origin);
    assert!(errors.contains("does not match the file"), "{errors}");

    let origin = Origin::start();
    let other = fs::read_to_string(fixture("other.asc")).unwrap();
    let keys = json!({ "gpg_public_keys": [{ "ascii_armor": other }] });
    origin.edit(&description_of("linux_amd64"), |text| {
        let mut document: Value = serde_json::from_str(text).unwrap();
        document["signing_keys"] = keys.clone();
        document.to_string()
    });
    let errors = refused(&origin);
    assert!(errors.contains("is signed by 61C051AC9CA350D4"), "{errors}");
}

#[test]
fn platforms_with_different_sha256sums_are_accepted() {
    // This host needs no signature, so that either text is valid on its own.
    const UNSIGNED: &str = "registry.opentofu.org/acme/hello";
    let origin = Origin::start();
    for platform in ["linux_amd64", "darwin_arm64"] {
        origin.edit(&description_of(platform), |text| {
            let mut document: Value = serde_json::from_str(text).unwrap();
            document["signing_keys"] = json!({ "gpg_public_keys": [] });
            document.to_string()
        });
    }
    let add = |registry: &Registry| {
        let mut arguments = vec!["add", UNSIGNED];
        arguments.extend(["--platform", "linux_amd64", "--platform", "darwin_arm64"]);
        let mut command = command(&origin, registry, &arguments);
        let place = format!("registry.opentofu.org={}", origin.url());
        ended(command.args(["--origin", &place]))
    };
    let report = add(&Registry::start()).expect(0).json();
    assert_eq!(statuses(&report), ["1.2.3 created"]);

    origin.set("/files/OTHER", origin.page("/files/SHA256SUMS"));
    origin.edit("/files/OTHER", |text| {
        format!("{text}{}  other.txt\n", "0".repeat(64))
    });
    origin.edit(&description_of("darwin_arm64"), |text| {
        text.replace("\"/files/SHA256SUMS\"", "\"/files/OTHER\"")
    });
    let registry = Registry::start();
    let report = add(&registry).expect(0).json();
    let uploaded = &report["versions"][0]["uploaded"];
    assert_eq!(uploaded.as_array().unwrap().len(), 2, "{report}");
}
