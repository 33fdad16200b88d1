//! `terrace mirror push`.

use std::fs;

use serde_json::{Value, json};

use super::support::http::Response;
use super::support::mirror::{HELLO, Mirror, Zip};
use super::support::registry::{Fault, Registry, errors};
use super::support::{Ended, TOKEN, ended, run, terrace};

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

/// Returns the status of each version.
fn statuses(report: &Value) -> Vec<&str> {
    let versions = report["versions"].as_array().expect("versions").iter();
    versions
        .map(|version| version["status"].as_str().unwrap())
        .collect()
}

/// Returns the request for the status of a version.
fn status(version: &str) -> String {
    format!("GET /api/v1/mirror/registry.example.com/acme/hello/{version}")
}

fn release(version: &str) -> String {
    format!("PUT /admin/v1/mirror/{HELLO}/{version}")
}

fn soon(status: u16) -> Fault {
    Fault::Answer(errors(status, &["storage did not answer"]).with("retry-after", "0"))
}

#[test]
fn a_mirror_of_terraform_is_described_and_its_zips_are_sent_unchanged_5_10() {
    let registry = Registry::start();
    let mirror = Mirror::of_terraform();
    let report = push(&registry, &mirror).expect(0).json();
    assert_eq!(report["status"], "ok");
    assert_eq!(report["kind"], "mirror");
    let version = &report["versions"][0];
    assert_eq!(version["address"], HELLO);
    assert_eq!(version["version"], "1.2.3");
    assert_eq!(version["status"], "created");
    assert_eq!(version["uploaded"].as_array().unwrap().len(), 2);
    let requests = registry.requests();
    assert_eq!(requests.len(), 4, "{requests:?}");
    assert_eq!(requests[0], release("1.2.3"));
    assert_eq!(requests[3], release("1.2.3"));
    let zips = ["linux_amd64", "darwin_arm64"].map(|platform| Zip::new(platform).bytes);
    assert!(zips.contains(&registry.last_archive()));
}

#[test]
fn the_description_is_complete_and_omits_unknown_fields() {
    let registry = Registry::start();
    push(&registry, &Mirror::of_terraform()).expect(0);
    let package = |os: &str, arch: &str| {
        let zip = Zip::new(&format!("{os}_{arch}"));
        json!({
            "os": os, "arch": arch,
            "filename": format!("terraform-provider-hello_1.2.3_{os}_{arch}.zip"),
            "sha256": zip.zh.replace("zh:", ""),
            "size": zip.bytes.len(),
            "h1": zip.h1,
        })
    };
    let packages = [package("darwin", "arm64"), package("linux", "amd64")];
    assert_eq!(registry.description(), json!({ "packages": packages }));
}

#[test]
fn a_mirror_of_tofu_is_published_5_11() {
    let registry = Registry::start();
    let mirror = Mirror::new();
    let zip = Zip::new("");
    mirror.add("1.2.3", "linux_amd64", &zip, &[&zip.zh]);
    let report = push(&registry, &mirror).expect(0).json();
    assert_eq!(statuses(&report), ["created"]);
    assert_eq!(report["warnings"], json!([]));
    assert_eq!(registry.description()["packages"][0]["h1"], zip.h1);
}

#[test]
fn the_same_directory_again_is_unchanged_and_sends_nothing() {
    let registry = Registry::start();
    let mirror = Mirror::of_terraform();
    push(&registry, &mirror).expect(0);
    registry.requests();
    let report = push(&registry, &mirror).expect(0).json();
    assert_eq!(statuses(&report), ["unchanged"]);
    assert_eq!(report["versions"][0]["uploaded"], json!([]));
    assert_eq!(registry.requests(), [release("1.2.3"), status("1.2.3")]);
}

#[test]
fn fifty_versions_are_published_one_after_another() {
    let registry = Registry::start();
    let mirror = Mirror::new();
    for minor in 0..50 {
        // Some zips have the same bytes, which are sent once.
        let zip = Zip::new(&(minor % 5).to_string());
        let version = format!("1.{minor}.0");
        mirror.add(&version, "linux_amd64", &zip, &[&zip.h1, &zip.zh]);
    }
    let report = push(&registry, &mirror).expect(0).json();
    assert_eq!(statuses(&report), ["created"; 50]);
    assert_eq!(registry.uploads().len(), 5);
    registry.requests();
    let report = push(&registry, &mirror).expect(0).json();
    assert_eq!(statuses(&report), ["unchanged"; 50]);
    let requests = |minor| {
        let version = format!("1.{minor}.0");
        [release(&version), status(&version)]
    };
    let expected: Vec<String> = (0..50).flat_map(requests).collect();
    assert_eq!(registry.requests(), expected);
}

#[test]
fn a_wrong_hash_is_reported_with_the_file_and_both_hashes_5_8() {
    let (zip, other) = (Zip::new("this"), Zip::new("that"));
    for (listed, wrong, computed) in [
        (vec![&other.h1], &other.h1, &zip.h1),
        (vec![&other.zh], &other.zh, &zip.zh),
        (vec![&zip.zh, &other.h1], &other.h1, &zip.h1),
        (vec![&other.zh, &zip.h1], &other.zh, &zip.zh),
    ] {
        let mirror = Mirror::new();
        let hashes: Vec<&str> = listed.iter().map(|hash| hash.as_str()).collect();
        mirror.add("1.2.3", "linux_amd64", &zip, &hashes);
        let errors = refused(&mirror);
        let path = mirror.zip("1.2.3", "linux_amd64");
        for part in [path.to_str().unwrap(), wrong, computed] {
            assert!(errors.contains(part), "{part} is not in {errors}");
        }
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

#[test]
fn a_zip_that_clients_could_not_install_is_rejected_with_its_path() {
    let mirror = Mirror::new();
    let zip = Zip::of("README.md", "nothing else");
    mirror.add("1.2.3", "linux_amd64", &zip, &[&zip.h1, &zip.zh]);
    let errors = refused(&mirror);
    let path = mirror.zip("1.2.3", "linux_amd64");
    assert!(errors.contains(path.to_str().unwrap()), "{errors}");
    assert!(
        errors.contains("no file \"terraform-provider-hello\""),
        "{errors}"
    );
}

#[test]
fn a_damaged_zip_is_reported_with_the_damage_and_the_hash() {
    let mirror = Mirror::of_terraform();
    let zip = Zip::new("linux_amd64");
    mirror.add("1.2.3", "linux_amd64", &zip, &[&zip.zh]);
    let half = zip.bytes.len() / 2;
    fs::write(mirror.zip("1.2.3", "linux_amd64"), &zip.bytes[..half]).unwrap();
    let errors = refused(&mirror);
    assert!(errors.contains(&zip.zh), "{errors}");
    assert_eq!(errors.lines().count(), 2, "{errors}");
}

#[test]
fn a_listed_zip_that_is_missing_is_reported_with_its_path() {
    let mirror = Mirror::of_terraform();
    let path = mirror.zip("1.2.3", "darwin_arm64");
    fs::remove_file(&path).unwrap();
    let errors = refused(&mirror);
    assert!(errors.contains(path.to_str().unwrap()), "{errors}");
}

#[test]
fn a_url_that_leads_out_of_the_directory_is_refused() {
    let mirror = Mirror::of_terraform();
    let document = json!({ "archives": { "linux_amd64": { "url": "../../../../x.zip" } } });
    fs::write(mirror.file("1.2.3.json"), document.to_string()).unwrap();
    assert!(refused(&mirror).contains("leads out of the directory"));
}

#[test]
fn one_invalid_version_does_not_stop_the_others() {
    let registry = Registry::start();
    let mirror = versions(&["1.0.0", "1.1.0", "1.2.0"]);
    fs::write(mirror.zip("1.1.0", "linux_amd64"), "damaged").unwrap();
    let ended = push(&registry, &mirror).expect(3);
    let report = ended.json();
    assert_eq!(report["status"], "refused");
    assert_eq!(report["exit_code"], 3);
    assert_eq!(statuses(&report), ["created", "refused", "created"]);
    assert_eq!(report["versions"][0]["errors"], Value::Null);
    assert_eq!(report["versions"][1]["errors"].as_array().unwrap().len(), 1);
    let errors = ended.errors();
    assert!(errors.starts_with(&format!("{HELLO} 1.1.0: ")), "{errors}");
    assert!(!registry.requests().contains(&release("1.1.0")));
}

#[test]
fn other_bytes_for_a_published_version_are_a_conflict_of_that_version() {
    let registry = Registry::start();
    push(&registry, &versions(&["1.0.0", "1.1.0"])).expect(0);
    let mirror = versions(&["1.1.0", "1.2.0"]);
    let zip = Zip::new("other bytes");
    mirror.add("1.0.0", "linux_amd64", &zip, &[&zip.h1]);
    let ended = push(&registry, &mirror).expect(4);
    let report = ended.json();
    assert_eq!(report["status"], "conflict");
    assert_eq!(statuses(&report), ["conflict", "unchanged", "created"]);
    assert!(ended.errors().contains("other bytes"), "{ended:?}");
}

#[test]
fn an_error_from_the_registry_is_reported_with_the_version() {
    let registry = Registry::start();
    let body = r#"{"status":"invalid","errors":["one reason","another"]}"#;
    registry.fail("PUT", "/1.0.0", Fault::Answer(Response::new(422, body)));
    let ended = push(&registry, &versions(&["1.0.0", "1.1.0"])).expect(3);
    let report = ended.json();
    assert_eq!(statuses(&report), ["refused", "created"]);
    assert_eq!(
        report["versions"][0]["errors"],
        json!(["one reason", "another"])
    );
}

#[test]
fn the_exit_code_is_that_of_the_most_urgent_failure() {
    let registry = Registry::start();
    push(&registry, &versions(&["1.0.0"])).expect(0);
    let mirror = versions(&["1.1.0", "1.2.0", "1.3.0"]);
    let zip = Zip::new("other bytes");
    mirror.add("1.0.0", "linux_amd64", &zip, &[&zip.h1]);
    fs::write(mirror.zip("1.1.0", "linux_amd64"), "damaged").unwrap();
    registry.fail("PUT", "/1.2.0", soon(503));
    let arguments = ["mirror", "push", &mirror.text(), "--retries", "0"];
    let report = run(&registry, &arguments).expect(6).json();
    assert_eq!(report["status"], "unavailable");
    assert_eq!(
        statuses(&report),
        ["conflict", "refused", "unavailable", "created"]
    );
}

#[test]
fn without_retries_a_failed_upload_is_neither_retried_nor_announced_as_such() {
    let registry = Registry::start();
    registry.fail("PUT", "/bucket/", soon(503));
    let mirror = versions(&["1.0.0"]);
    let mut command = terrace(&["mirror", "push", &mirror.text(), "--retries", "0"]);
    command.env("TERRACE_URL", registry.url());
    let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(6);
    assert!(!ended.stderr.contains("retrying"), "{ended:?}");
    assert!(ended.stderr.contains("status 503"), "{ended:?}");
    // The description, and one attempt to send the archive.
    let requests = registry.all_requests();
    assert_eq!(requests.len(), 2, "{requests:?}");
}

#[test]
fn a_wrong_token_is_reported_once() {
    let registry = Registry::start();
    let mirror = versions(&["1.0.0", "1.1.0", "1.2.0"]);
    let mut command = terrace(&["mirror", "push", &mirror.text(), "--json"]);
    command.env("TERRACE_URL", registry.url());
    let ended = ended(command.env("TERRACE_TOKEN", "another-secret")).expect(5);
    let report = ended.json();
    assert_eq!(statuses(&report), ["not_allowed", "not_tried", "not_tried"]);
    assert!(ended.errors().contains("2 more were not tried"));
    assert!(!ended.stderr.contains("another-secret"), "{ended:?}");
    assert_eq!(registry.requests().len(), 1);
}

#[test]
fn a_registry_that_stays_unavailable_ends_the_run_after_two_versions() {
    let registry = Registry::start();
    for _ in 0..10 {
        registry.fail("PUT", "/admin/", soon(503));
    }
    let mirror = versions(&["1.0.0", "1.1.0", "1.2.0"]);
    let arguments = ["mirror", "push", &mirror.text(), "--retries", "1"];
    let report = run(&registry, &arguments).expect(6).json();
    assert_eq!(
        statuses(&report),
        ["unavailable", "unavailable", "not_tried"]
    );
    assert_eq!(registry.requests().len(), 4);
}

#[test]
fn an_interrupted_upload_is_retried() {
    let registry = Registry::start();
    registry.fail("PUT", "/bucket/", Fault::HangUpAfter(10));
    let ended = push(&registry, &Mirror::of_terraform()).expect(0);
    assert!(ended.stderr.contains("the upload failed"), "{ended:?}");
    assert_eq!(statuses(&ended.json()), ["created"]);
}

#[test]
fn a_dry_run_checks_everything_and_shows_the_requests_without_a_registry() {
    let mirror = versions(&["1.0.0", "1.1.0"]);
    let arguments = ["mirror", "push", &mirror.text(), "--dry-run"];
    let text = ended(&mut terrace(&arguments)).expect(0).stdout;
    assert!(
        text.contains("  terraform-provider-hello_1.1.0_linux_amd64.zip  "),
        "{text}"
    );
    assert!(
        text.contains("2 checked in a dry run: nothing was sent"),
        "{text}"
    );
    let report = ended(terrace(&arguments).arg("--json")).expect(0).json();
    assert_eq!(report["status"], "dry_run");
    assert_eq!(statuses(&report), ["dry_run", "dry_run"]);
    let request = &report["versions"][1]["request"];
    assert_eq!(
        format!("PUT {}", request["path"].as_str().unwrap()),
        release("1.1.0")
    );
    assert_eq!(request["body"]["packages"].as_array().unwrap().len(), 1);

    let registry = Registry::start();
    fs::write(mirror.zip("1.1.0", "linux_amd64"), "damaged").unwrap();
    let report = run(&registry, &arguments).expect(3).json();
    assert_eq!(statuses(&report), ["dry_run", "refused"]);
    assert_eq!(registry.requests(), [""; 0]);
}

#[cfg(unix)] // Elsewhere no name of a file has a colon.
#[test]
fn a_directory_without_mirrorable_providers_is_rejected_with_the_skipped_paths_5_6() {
    let registry = Registry::start();
    let mirror = Mirror::of_terraform();
    let with_port = mirror.path().join("registry.example.com:8443/acme/hello");
    fs::create_dir_all(&with_port).unwrap();
    fs::write(mirror.path().join("README.md"), "about").unwrap();
    let report = push(&registry, &mirror).expect(0).json();
    assert_eq!(report["status"], "ok");
    let skipped = report["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 2, "{skipped:?}");
    assert!(skipped[1]["reason"].as_str().unwrap().contains("port"));

    let directory = mirror.path().join("registry.example.com");
    fs::remove_dir_all(directory).unwrap();
    let errors = refused(&mirror);
    assert!(errors.contains("contains no provider"), "{errors}");
    assert!(errors.contains("port"), "{errors}");
}

#[test]
fn zips_without_json_are_published_under_the_names_that_clients_expect() {
    let registry = Registry::start();
    let mirror = Mirror::new();
    let directory = mirror.path().join("Registry.Example.com/ACME/Hello");
    fs::create_dir_all(&directory).unwrap();
    let zip = Zip::new("");
    let name = "terraform-provider-Hello_1.2.3_linux_amd64.zip";
    fs::write(directory.join(name), &zip.bytes).unwrap();
    let report = push(&registry, &mirror).expect(0).json();
    assert_eq!(statuses(&report), ["created"]);
    let warning = report["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains(name) && warning.contains("not listed in any JSON document"),
        "{warning}"
    );
    assert_eq!(
        registry.description()["packages"][0]["filename"],
        "terraform-provider-hello_1.2.3_linux_amd64.zip"
    );
    assert!(registry.requests().contains(&release("1.2.3")));
}

#[test]
fn the_text_output_lists_the_result_of_each_version() {
    let registry = Registry::start();
    let mirror = versions(&["1.0.0", "1.1.0"]);
    fs::write(mirror.zip("1.1.0", "linux_amd64"), "damaged").unwrap();
    fs::write(mirror.path().join("README.md"), "about").unwrap();
    let mut command = terrace(&["mirror", "push", &mirror.text(), "--quiet"]);
    command.env("TERRACE_URL", registry.url());
    let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(3);
    let text = &ended.stdout;
    for part in [
        format!("created      {HELLO} 1.0.0\n"),
        format!("refused      {HELLO} 1.1.0\n"),
        format!("skipped      {}", mirror.path().join("README.md").display()),
        format!("1 created, 1 failed, 1 skipped at {}", registry.url()),
    ] {
        assert!(text.contains(&part), "{part:?} is not in {text}");
    }
    assert!(ended.stderr.starts_with("error: "), "{ended:?}");
}

#[test]
fn two_platforms_with_one_zip_are_rejected_as_by_the_registry() {
    let mirror = Mirror::new();
    let zip = Zip::new("");
    for platform in ["linux_amd64", "darwin_arm64"] {
        mirror.add("1.2.3", platform, &zip, &[&zip.h1]);
    }
    assert!(refused(&mirror).contains("same sha256"));
}

#[test]
fn the_providers_of_the_registry_itself_are_left_out() {
    let mirror = versions(&["1.0.0", "1.1.0"]);
    let arguments = ["mirror", "push", &mirror.text(), "--dry-run", "--json"];
    let mut command = terrace(&arguments);
    command.env("TERRACE_URL", "https://registry.example.com:8443");
    let errors = ended(&mut command).expect(3).errors();
    assert!(errors.contains("is the registry's own"), "{errors}");

    let another = mirror.path().join("another.example.com");
    fs::create_dir(&another).unwrap();
    let provider = mirror.path().join("registry.example.com/acme");
    fs::rename(&provider, another.join("acme")).unwrap();
    mirror.add("1.0.0", "linux_amd64", &Zip::new(""), &[]);
    let report = ended(&mut command).expect(0).json();
    assert_eq!(statuses(&report), ["dry_run", "dry_run"]);
    let skipped = report["skipped"][0]["path"].as_str().unwrap();
    assert!(skipped.ends_with("registry.example.com"), "{skipped}");
}
