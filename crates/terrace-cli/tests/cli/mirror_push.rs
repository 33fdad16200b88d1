//! `terrace mirror push`.

use std::fs;

use serde_json::{Value, json};

use super::support::mirror::{HELLO, Mirror, Zip};
use super::support::registry::Registry;
use super::support::{Ended, assert_has, assert_lacks, ended, rows, run, terrace, terrace_at};

#[track_caller]
fn push(registry: &Registry, mirror: &Mirror) -> Ended {
    run(registry, &["mirror", "push", &mirror.text()])
}

/// Runs the command and checks that it fails before any request to the registry.
#[track_caller]
fn refused(mirror: &Mirror) -> String {
    let registry = Registry::start();
    let errors = push(&registry, mirror).expect(3).errors();
    assert_eq!(registry.requests(), [""; 0], "nothing may be asked");
    errors
}

/// Creates a directory with these versions, each with its own zip.
fn versions(numbers: &[&str]) -> Mirror {
    let mirror = Mirror::new();
    for number in numbers {
        let zip = Zip::new(number);
        mirror.add(number, "linux_amd64", &zip, &[&zip.h1]);
    }
    mirror
}

fn statuses(report: &Value) -> Vec<String> {
    rows(report, &["status"])
}

fn release(version: &str) -> String {
    format!("PUT /admin/v1/mirror/{HELLO}/{version}")
}

#[test]
fn a_mirror_of_terraform_or_tofu_is_described_and_its_zips_are_sent_unchanged_5_10_5_11() {
    let registry = Registry::start();
    let mirror = Mirror::of_terraform();
    // `tofu` states the digest of a zip, from which no h1 can be derived.
    let zip = Zip::new("linux_amd64");
    mirror.add("1.2.3", "linux_amd64", &zip, &[&zip.zh]);
    let report = push(&registry, &mirror).expect(0).json();
    assert_eq!(report["status"], "ok");
    assert_eq!(report["kind"], "mirror");
    assert_eq!(report["warnings"], json!([]));
    let version = &report["versions"][0];
    assert_eq!(version["address"], HELLO);
    assert_eq!(version["version"], "1.2.3");
    assert_eq!(version["status"], "created");
    assert_eq!(version["uploaded"].as_array().unwrap().len(), 2);
    let requests = registry.requests();
    assert_eq!(requests.len(), 4, "{requests:?}");
    assert_eq!([&requests[0], &requests[3]], [&release("1.2.3"); 2]);
    let platforms = ["darwin_arm64", "linux_amd64"];
    let zips = platforms.map(Zip::new);
    assert!(zips.iter().any(|it| it.bytes == registry.last_archive()));
    let package = |(platform, zip): (&str, &Zip)| {
        let (os, arch) = platform.split_once('_').unwrap();
        json!({
            "os": os, "arch": arch,
            "filename": format!("terraform-provider-hello_1.2.3_{platform}.zip"),
            "sha256": zip.zh.replace("zh:", ""),
            "size": zip.bytes.len(),
            "h1": zip.h1,
        })
    };
    let packages: Vec<Value> = platforms.into_iter().zip(&zips).map(package).collect();
    assert_eq!(registry.description(), json!({ "packages": packages }));

    let again = push(&registry, &mirror).expect(0).json();
    assert_eq!(statuses(&again), ["unchanged"]);
    assert_eq!(again["versions"][0]["uploaded"], json!([]));
    let status = "GET /api/v1/mirror/registry.example.com/acme/hello/1.2.3";
    assert_eq!(registry.requests(), [&*release("1.2.3"), status]);
}

#[test]
fn a_wrong_hash_is_reported_with_the_file_and_both_hashes_5_8() {
    let (zip, other) = (Zip::new("this"), Zip::new("that"));
    for (listed, wrong, computed) in [
        (&[&*zip.zh, &other.h1][..], &other.h1, &zip.h1),
        (&[&*other.zh, &zip.h1], &other.zh, &zip.zh),
    ] {
        let mirror = Mirror::new();
        mirror.add("1.2.3", "linux_amd64", &zip, listed);
        let errors = refused(&mirror);
        let path = mirror.zip("1.2.3", "linux_amd64");
        assert_has!(errors, path.to_str().unwrap(), wrong, computed);
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    // The damage of a zip is reported with the hash.
    let mirror = Mirror::new();
    mirror.add("1.2.3", "linux_amd64", &zip, &[&zip.zh]);
    let half = zip.bytes.len() / 2;
    fs::write(mirror.zip("1.2.3", "linux_amd64"), &zip.bytes[..half]).unwrap();
    let errors = refused(&mirror);
    assert_has!(errors, &zip.zh);
    assert_eq!(errors.lines().count(), 2, "{errors}");
}

#[test]
fn the_exit_code_is_that_of_the_most_urgent_failure() {
    let registry = Registry::start();
    push(&registry, &versions(&["1.0.0"])).expect(0);
    let mirror = versions(&["1.1.0", "1.2.0", "1.3.0"]);
    let zip = Zip::new("other bytes");
    mirror.add("1.0.0", "linux_amd64", &zip, &[&zip.h1]);
    fs::write(mirror.zip("1.1.0", "linux_amd64"), "damaged").unwrap();
    registry.refuse("PUT", "/1.2.0", 503, &["storage did not answer"]);
    let line = ["mirror", "push", &mirror.text(), "--retries", "0"];
    let report = run(&registry, &line).expect(6).json();
    assert_eq!(report["status"], "unavailable");
    let expected = ["conflict", "refused", "unavailable", "created"];
    assert_eq!(statuses(&report), expected);
}

#[test]
fn a_wrong_token_is_reported_once() {
    let registry = Registry::start();
    let mirror = versions(&["1.0.0", "1.1.0", "1.2.0"]);
    let line = ["mirror", "push", &mirror.text(), "--json"];
    let mut command = terrace_at(registry.url(), &line);
    let ended = ended(command.env("TERRACE_TOKEN", "another-secret")).expect(5);
    assert_eq!(
        statuses(&ended.json()),
        ["not_allowed", "not_tried", "not_tried"]
    );
    assert_has!(ended.errors(), "2 more were not tried");
    assert_lacks!(format!("{ended:?}"), "another-secret");
    assert_eq!(registry.requests().len(), 1);
}

#[test]
fn a_dry_run_checks_everything_and_shows_the_requests_without_a_registry() {
    let mirror = versions(&["1.0.0", "1.1.0"]);
    let arguments = ["mirror", "push", &mirror.text(), "--dry-run"];
    let text = ended(&mut terrace(&arguments)).expect(0).stdout;
    assert_has!(
        text,
        "terraform-provider-hello_1.1.0_linux_amd64.zip",
        "nothing was sent"
    );
    fs::write(mirror.zip("1.1.0", "linux_amd64"), "damaged").unwrap();
    let report = ended(terrace(&arguments).arg("--json")).expect(3).json();
    assert_eq!(statuses(&report), ["dry_run", "refused"]);
    let request = &report["versions"][0]["request"];
    let path = request["path"].as_str().unwrap();
    assert_eq!(format!("PUT {path}"), release("1.0.0"));
    assert_eq!(request["body"]["packages"].as_array().unwrap().len(), 1);
}

#[test]
fn a_directory_without_mirrorable_providers_is_rejected_with_the_skipped_paths() {
    let mirror = Mirror::new();
    fs::write(mirror.path().join("README.md"), "about").unwrap();
    assert_has!(refused(&mirror), "contains no provider", "README.md");
}

#[test]
fn zips_without_json_are_published_under_the_names_that_clients_expect() {
    let registry = Registry::start();
    let mirror = Mirror::new();
    let directory = mirror.path().join("Registry.Example.com/ACME/Hello");
    fs::create_dir_all(&directory).unwrap();
    let name = "terraform-provider-Hello_1.2.3_linux_amd64.zip";
    fs::write(directory.join(name), Zip::new("").bytes).unwrap();
    push(&registry, &mirror).expect(0);
    let filename = &registry.description()["packages"][0]["filename"];
    assert_eq!(filename, "terraform-provider-hello_1.2.3_linux_amd64.zip");
    assert!(registry.requests().contains(&release("1.2.3")));
}
