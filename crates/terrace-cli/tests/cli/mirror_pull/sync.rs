//! `terrace mirror sync`: lists, lock files and configurations.

use std::fs;

use super::{ADDRESS, add, command, list, lock, statuses, sync, sync_files};
use crate::support::http::Response;
use crate::support::origin::Origin;
use crate::support::registry::Registry;
use crate::support::{assert_has, directory, ended, fixture};

#[test]
fn an_erased_version_is_skipped_by_a_list_and_refused_by_name() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let list = format!("[[provider]]\naddress = \"{ADDRESS}\"\nversions = \"~> 1.2.3\"\n");
    let erase = || {
        let reason = format!("{ADDRESS} 1.2.3 was erased, and never returns: takedown");
        registry.refuse("PUT", "1.2.3", 410, &[&reason]);
    };
    erase();
    let ended = sync(&origin, &registry, "providers.toml", &list).expect(0);
    let report = ended.json();
    assert_eq!(statuses(&report), ["1.2.3 skipped"]);
    let reason = report["versions"][0]["reason"].as_str().unwrap();
    assert!(reason.ends_with("never returns: takedown"), "{reason}");
    erase();
    add(&origin, &registry, &["--platform", "linux_amd64"]).expect(3);
}

#[test]
fn a_selected_platform_that_the_origin_lacks_is_a_failure_with_a_lock_file() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let files = directory(&[(".terraform.lock.hcl", &lock(""))]);
    let file = files.path().join(".terraform.lock.hcl");
    let sync = |platforms: &[&str]| {
        let arguments = [&["sync", file.to_str().unwrap()], platforms].concat();
        let ended = ended(&mut command(&origin, &registry, &arguments)).expect(3);
        assert_has!(
            ended.errors(),
            "not available from the origin for plan9_386"
        );
        statuses(&ended.json())
    };
    let one = ["--platform", "plan9_386"];
    assert_eq!(sync(&one), ["1.2.3 refused"]);
    // Available platforms are mirrored nevertheless.
    let two = ["--platform", "plan9_386", "--platform", "linux_amd64"];
    assert_eq!(sync(&two), ["1.2.3 refused", "1.2.3 created"]);
}

#[test]
fn a_lock_file_is_mirrored_if_its_hashes_are_those_of_the_zips() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let shasums = fixture("release/terraform-provider-hello_1.2.3_SHA256SUMS");
    let shasums = fs::read_to_string(shasums).unwrap();
    let hash = |line: &str| format!("\"zh:{}\",\n", line.split(' ').next().unwrap());
    let hashes: String = shasums.lines().map(hash).collect();
    let name = ".terraform.lock.hcl";
    let wrong = lock(&format!("\"zh:{}\",", "0".repeat(64)));
    sync(&origin, &registry, name, &wrong).fails(3, "lock file");
    let report = sync(&origin, &registry, name, &lock(&hashes))
        .expect(0)
        .json();
    assert_eq!(statuses(&report), ["1.2.3 created"]);
}

/// A lock file that was made through a network mirror, which states no hashes of other platforms' zips.
#[test]
fn a_lock_file_of_a_network_mirror_is_mirrored_if_a_package_has_any_of_its_hashes() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let report = sync(&origin, &registry, "providers.toml", &list(1));
    report.expect(0);
    let h1 = registry.description()["packages"][0]["h1"].clone();
    let name = ".terraform.lock.hcl";
    let hashes = |h1: &str| lock(&format!("\"{h1}\",\n\"zh:{}\",", "0".repeat(64)));
    // A package that is stored is not downloaded again.
    for registry in [registry, Registry::start()] {
        let wrong = hashes("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        sync(&origin, &registry, name, &wrong).fails(3, "the lock file does not have");
        sync(&origin, &registry, name, &hashes(h1.as_str().unwrap())).expect(0);
    }
}

#[test]
fn all_lock_files_below_a_directory_are_mirrored_and_one_with_an_error_does_not_stop_the_others() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let configuration =
        "terraform {\n required_providers {\n x = { source = \"origin.example/acme/x\" }\n }\n}\n";
    let broken = lock("").replace("1.2.3", "1.2");
    let files = directory(&[
        ("prod/eu/.terraform.lock.hcl", &lock("")),
        ("prod/us/.terraform.lock.hcl", &lock("")),
        ("empty/.terraform.lock.hcl", "# empty\n"),
        ("prod/eu/main.tf", configuration),
        ("modules/network/main.tf", configuration),
        ("prod/eu/.terraform/modules/x/.terraform.lock.hcl", &broken),
        (".git/.terraform.lock.hcl", &broken),
    ]);
    let sync = |below: &str| {
        let place = files.path().join(below);
        sync_files(&origin, &registry, &[place.to_str().unwrap()], &[])
    };
    // Two files lock the same version.
    let report = sync("").expect(0).json();
    assert_eq!(statuses(&report), [" skipped", "1.2.3 created"]);
    sync("empty").fails(3, "empty/.terraform.lock.hcl: it locks no provider");
    fs::write(files.path().join("prod/us/.terraform.lock.hcl"), &broken).unwrap();
    let failed = sync("").expect(3);
    assert_has!(failed.errors(), "prod/us/.terraform.lock.hcl");
    let expected = [" skipped", "1.2.3 unchanged"];
    assert_eq!(statuses(&failed.json()), expected);
}

#[test]
fn a_version_below_the_minimum_age_is_skipped_if_its_origin_gives_a_date() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let files = directory(&[(".terraform.lock.hcl", &lock(""))]);
    let place = files.path().to_str().unwrap();
    let run = || sync_files(&origin, &registry, &[place], &["--minimum-age", "3d"]);
    let sync = || run().expect(0).json();
    // The origin gives no date.
    assert_eq!(statuses(&sync()), ["1.2.3 created"]);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap().as_secs();
    let dated = |seconds: u64| {
        let at = terrace_base::time::UnixTime(now - seconds).to_string();
        let description = serde_json::json!({ "version": "1.2.3", "published_at": at });
        origin.set_json("/v1/acme/hello/1.2.3", &description);
    };
    dated(2 * 86_400);
    let skipped = sync();
    assert_eq!(statuses(&skipped), ["1.2.3 skipped"]);
    let reason = skipped["versions"][0]["reason"].as_str().unwrap();
    assert_has!(reason, "--minimum-age is 3days");
    dated(4 * 86_400);
    assert_eq!(statuses(&sync()), ["1.2.3 unchanged"]);
    // It cannot say whether the version is new.
    origin.set("/v1/acme/hello/1.2.3", Response::new(503, ""));
    let failed = run().expect(6).json();
    assert_eq!(statuses(&failed), ["1.2.3 unavailable"]);
}

#[test]
fn a_configuration_is_mirrored_except_sources_that_need_no_mirror() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let files = directory(&[
        (
            "main.tf",
            "terraform {\n required_providers {\n hello = { source = \"acme/hello\", version = \"~> 1.0\" }\n }\n}\n",
        ),
        (
            "more.tf",
            "terraform {\n required_providers {\n own = { source = \"127.0.0.1/acme/own\" }\n terraform = { source = \"terraform.io/builtin/terraform\" }\n }\n}\n",
        ),
    ]);
    let place = files.path().to_str().unwrap();
    let more = ["--default-host", "origin.example"];
    let report = sync_files(&origin, &registry, &[place], &more);
    let report = report.expect(0).json();
    let mut found = statuses(&report);
    found.sort();
    assert_eq!(found, [" skipped", " skipped", "1.2.3 created"]);
    let text = report.to_string();
    assert_has!(text, "built into", "this registry itself");
}

#[test]
fn a_configuration_that_requires_nothing_and_a_file_that_cannot_be_read_are_failures() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let (long, odd) = ("\0".repeat(5_000_000), "\0".repeat(3_000_000));
    let files = directory(&[
        ("native/main.tf", "resource \"hello_world\" \"it\" {}\n"),
        ("json/main.tf.json", "{}"),
        ("none/README.md", ""),
        ("long.toml", &long),
        ("odd.toml", &odd),
    ]);
    std::os::unix::fs::symlink("/dev/zero", files.path().join("zero.toml")).unwrap();
    for (name, message) in [
        ("native", "requires a provider"),
        ("json", "requires a provider"),
        ("none", "it contains no .terraform.lock.hcl"),
        ("long.toml", "larger than"),
        ("zero.toml", "not a regular file"),
        ("odd.toml", "odd.toml"),
    ] {
        let place = files.path().join(name);
        let ended = sync_files(&origin, &registry, &[place.to_str().unwrap()], &[]);
        let errors = ended.fails(3, message);
        assert!(errors.len() < 10_000);
    }
}
