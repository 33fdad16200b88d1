//! `terrace mirror add` and `terrace mirror sync`.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use terrace_core::limits;

use super::support::http::{Head, Response};
use super::support::origin::{Origin, description_of, zip_of};
use super::support::registry::{Fault, Registry, errors};
use super::support::{Ended, TOKEN, directory, ended, fixture, terrace};

const ADDRESS: &str = "origin.example/acme/hello";
const PATH: &str = "/admin/v1/mirror/origin.example/acme/hello/1.2.3";
const RELEASE: &str = "PUT /admin/v1/mirror/origin.example/acme/hello/1.2.3";
const MIRRORED: &str = "GET /admin/v1/mirror/origin.example/acme/hello/1.2.3";

/// A command line that knows both registries.
fn command(origin: &Origin, registry: &Registry, arguments: &[&str]) -> Command {
    let mut command = terrace(&["mirror"]);
    command.args(arguments).args(["--json", "--retries", "1"]);
    command.args(["--origin", &origin.place()]);
    command.env("TERRACE_URL", registry.url());
    command.env("TERRACE_TOKEN", TOKEN);
    command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
    command
}

#[track_caller]
fn add(origin: &Origin, registry: &Registry, arguments: &[&str]) -> Ended {
    let arguments = [&["add", ADDRESS], arguments].concat();
    ended(&mut command(origin, registry, &arguments))
}

/// Runs where a package of Linux must be refused before the registry gets anything.
#[track_caller]
fn refused(origin: &Origin) -> String {
    let registry = Registry::start();
    let ended = add(origin, &registry, &["--platform", "linux_amd64"]).expect(3);
    let is_change = |line: &String| line.starts_with("PUT");
    assert!(!registry.requests().iter().any(is_change), "{ended:?}");
    let report = ended.json();
    assert_eq!(report["versions"][0]["status"], "refused", "{report}");
    ended.errors()
}

fn statuses(report: &Value) -> Vec<String> {
    let versions = report["versions"].as_array().unwrap();
    let text = |version: &Value, name: &str| version[name].as_str().unwrap_or_default().to_owned();
    versions
        .iter()
        .map(|version| format!("{} {}", text(version, "version"), text(version, "status")))
        .collect()
}

#[test]
fn the_newest_release_is_mirrored_for_all_platforms_with_who_signed_it() {
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
    // By Go's dirhash.Hash1, computed by other means.
    assert_eq!(
        linux["h1"],
        "h1:pxtubu1FkPTGFvdPiX+uqyiDco+HPe04ej1tnFf4rso="
    );
    let requests = registry.requests();
    assert_eq!(requests[..2], [MIRRORED, RELEASE]);
    assert_eq!(requests.last().unwrap(), RELEASE);
}

/// The zips that were downloaded since the last time.
fn downloads(origin: &Origin) -> Vec<String> {
    let seen = origin.requests();
    let targets = seen.into_iter().map(|head: Head| head.target);
    targets.filter(|target| target.contains(".zip")).collect()
}

#[test]
fn what_is_mirrored_is_not_downloaded_again_and_still_settled_with_the_registry() {
    let (origin, registry) = (Origin::start(), Registry::start());
    add(&origin, &registry, &[]).expect(0);
    let first = registry.description();
    registry.requests();
    origin.requests();
    let report = add(&origin, &registry, &[]).expect(0).json();
    assert_eq!(statuses(&report), ["1.2.3 unchanged"]);
    assert_eq!(registry.requests(), [MIRRORED, RELEASE]);
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
fn a_platform_that_is_stored_with_other_bytes_is_a_conflict_that_tells_both_digests() {
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
fn platforms_and_versions_can_be_named() {
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
fn one_version_that_fails_does_not_keep_the_others() {
    let (origin, registry) = (Origin::start(), Registry::start());
    // The origin lists 1.2.2, and has nothing of it.
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
fn a_dry_run_says_what_is_stored_already_and_does_without_a_registry() {
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
fn people_are_told_what_was_mirrored_and_who_signed_it() {
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
fn a_registry_that_refuses_the_token_ends_the_run() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let mut command = command(
        &origin,
        &registry,
        &["add", ADDRESS, "--versions", "~> 1.2.3"],
    );
    let ended = ended(command.env("TERRACE_TOKEN", "another-token-that-is-wrong")).expect(5);
    assert_eq!(statuses(&ended.json()), ["1.2.3 not_allowed"]);
}

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
    assert!(errors.contains("SHA256SUMS says"), "{errors}");
}

#[test]
fn a_signature_of_other_bytes_or_by_another_key_is_refused_2_3_7() {
    let origin = Origin::start();
    origin.edit("/files/SHA256SUMS", |text| text.replace("  ", " "));
    let errors = refused(&origin);
    assert!(errors.contains("does not fit"), "{errors}");

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
fn redirects_are_followed_to_other_paths_and_not_to_http_or_private_hosts() {
    let origin = Origin::start();
    let zip = fs::read(fixture(
        "release/terraform-provider-hello_1.2.3_linux_amd64.zip",
    ));
    origin.set("/elsewhere?a=%2F", Response::new(200, zip.unwrap()));
    origin.redirect(&zip_of("linux_amd64"), "/elsewhere?a=%2F");
    let registry = Registry::start();
    add(&origin, &registry, &["--platform", "linux_amd64"]).expect(0);

    let elsewhere = Origin::start();
    let plain = origin.url().replace("https:", "http:");
    for (location, told) in [
        (format!("{plain}/elsewhere?a=%2F"), "only https is"),
        // Of this machine, too, but nobody has named it.
        (format!("{}/", elsewhere.url()), "of this machine"),
        ("https://localhost/".to_owned(), "localhost"),
        ("https://[::ffff:127.0.0.1]/".to_owned(), "in disguise"),
        ("https://169.254.169.254/latest/".to_owned(), "link-local"),
        ("https://user@origin.example/".to_owned(), "user name"),
        ("https://origin.example:99999/".to_owned(), "malformed"),
        (zip_of("linux_amd64"), "more than 5 redirects"),
    ] {
        for target in [
            &zip_of("linux_amd64"),
            "/files/SHA256SUMS",
            "/v1/acme/hello/versions",
        ] {
            let origin = Origin::start();
            let location = match told {
                "more than 5 redirects" => target,
                _ => &location,
            };
            origin.redirect(target, location);
            let errors = refused(&origin);
            assert!(errors.contains(told), "{target} to {location}: {errors}");
        }
    }
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn five_redirects_are_followed_and_a_sixth_is_not() {
    let chain = |length: usize| {
        let origin = Origin::start();
        let hop = |number: usize| match number {
            0 => "/v1/acme/hello/versions".to_owned(),
            number => format!("/hop/{number}"),
        };
        let list = origin.page(&hop(0));
        origin.set(&hop(length), list);
        for number in 0..length {
            origin.redirect(&hop(number), &hop(number + 1));
        }
        origin
    };
    let registry = Registry::start();
    let five = add(&chain(5), &registry, &["--dry-run"]).expect(0);
    assert_eq!(statuses(&five.json()), ["1.2.3 dry_run"]);
    let six = add(&chain(6), &registry, &["--dry-run"]).expect(3);
    assert!(six.errors().contains("more than 5 redirects"), "{six:?}");
}

#[test]
fn of_a_document_no_more_is_read_than_shows_that_it_is_too_long() {
    let origin = Origin::start();
    // Whoever reads on finds that it breaks off, and takes that for a network that fails.
    let endless = " ".repeat(1024 * 1024 + 64 * 1024);
    let endless = Response::new(200, endless).announcing(1 << 40);
    origin.set(&description_of("linux_amd64"), endless);
    let errors = refused(&origin);
    assert!(errors.contains("longer than 1048576 bytes"), "{errors}");
}

#[test]
fn a_zip_that_is_announced_with_more_than_is_allowed_is_not_downloaded() {
    let origin = Origin::start();
    let huge = Response::new(200, "PK").announcing(limits::ARCHIVE_BYTES + 1);
    origin.set(&zip_of("linux_amd64"), huge);
    let errors = refused(&origin);
    assert!(errors.contains("longer than"), "{errors}");
}

#[test]
fn platforms_with_different_sha256sums_are_refused() {
    // Nobody signs here, so that either text is good by itself.
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
    let ended = add(&registry).expect(3);
    assert!(ended.errors().contains("different SHA256SUMS"), "{ended:?}");
    assert_eq!(registry.requests(), [""; 0]);
}

#[test]
fn a_url_of_the_description_that_leads_into_a_private_network_is_refused() {
    let origin = Origin::start();
    origin.edit(&description_of("linux_amd64"), |text| {
        text.replace("/files/SHA256SUMS.sig", "https://10.0.0.1/SHA256SUMS.sig")
    });
    let errors = refused(&origin);
    assert!(
        errors.contains("\"10.0.0.1\"") && errors.contains("private"),
        "{errors}"
    );
}

#[test]
fn the_origins_token_goes_to_its_json_and_never_to_archives_8_3() {
    const ORIGIN_TOKEN: &str = "a-token-of-the-origin";
    let (origin, registry) = (Origin::start(), Registry::start());
    let mut command = command(&origin, &registry, &["add", ADDRESS]);
    command.env("TF_TOKEN_origin_example", ORIGIN_TOKEN);
    command.env("TF_TOKEN_other_example", "a-token-of-another");
    let ended = ended(&mut command).expect(0);
    assert!(!format!("{ended:?}").contains(ORIGIN_TOKEN));
    for head in origin.requests() {
        let token = head.headers.get("authorization").map(String::as_str);
        let is_json = !head.target.starts_with("/files/");
        let expected = format!("Bearer {ORIGIN_TOKEN}");
        assert_eq!(
            token,
            is_json.then_some(expected.as_str()),
            "{}",
            head.target
        );
    }
}

#[test]
fn the_origins_token_goes_to_no_other_host_that_discovery_names() {
    let (origin, other, registry) = (Origin::start(), Origin::start(), Registry::start());
    let discovery = json!({ "providers.v1": format!("{}/v1/", other.url()) });
    let discovery = Response::new(200, discovery.to_string());
    let discovery = discovery.with("content-type", "application/json");
    origin.set("/.well-known/terraform.json", discovery);
    let mut command = command(&origin, &registry, &["add", ADDRESS]);
    let place = format!("other.example={}", other.url());
    command.args(["--origin", &place]);
    command.env("TF_TOKEN_origin_example", "a-token-of-the-origin");
    ended(&mut command).expect(0);
    assert!(origin.requests()[0].headers.contains_key("authorization"));
    let elsewhere = other.requests();
    assert!(!elsewhere.is_empty());
    let has_token = |head: &Head| head.headers.contains_key("authorization");
    assert!(!elsewhere.iter().any(has_token));
}

#[test]
fn what_all_packages_share_is_not_asked_for_again_and_again() {
    let (origin, registry) = (Origin::start(), Registry::start());
    add(&origin, &registry, &["--dry-run"]).expect(0);
    let shasums = |head: &&Head| head.target == "/files/SHA256SUMS";
    let count = origin.requests().iter().filter(shasums).count();
    assert!((1..=4).contains(&count), "{count}");
}

#[test]
fn trouble_that_passes_is_waited_for() {
    let (origin, registry) = (Origin::start(), Registry::start());
    origin.set(
        "/files/SHA256SUMS",
        Response::new(503, "").with("retry-after", "0"),
    );
    let ended = add(&origin, &registry, &["--platform", "linux_amd64"]).expect(6);
    assert!(ended.stderr.contains("trying again"), "{ended:?}");
    assert!(ended.errors().contains("503"), "{ended:?}");
}

#[cfg(unix)]
#[test]
fn a_disk_that_keeps_nothing_is_not_the_origins_fault_and_nothing_is_tried_again() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let arguments = ["add", ADDRESS, "--platform", "linux_amd64"];
    let mut command = command(&origin, &registry, &arguments);
    command.env("TMPDIR", "/nowhere/at/all");
    let ended = ended(&mut command).expect(1);
    assert_eq!(statuses(&ended.json()), ["1.2.3 local"]);
    assert!(ended.errors().contains("/nowhere/at/all"), "{ended:?}");
    assert!(!ended.stderr.contains("trying again"), "{ended:?}");
    assert_eq!(downloads(&origin), [zip_of("linux_amd64")]);
}

/// A list with the provider so many times.
fn list(times: usize) -> String {
    format!("[[provider]]\naddress = \"{ADDRESS}\"\nversions = \"1.2.3\"\n").repeat(times)
}

fn unavailable() -> Fault {
    Fault::Answer(errors(503, &["storage did not answer"]).with("retry-after", "0"))
}

#[test]
fn a_registry_that_does_not_answer_twice_in_a_row_leaves_the_rest_untried() {
    let (origin, registry) = (Origin::start(), Registry::start());
    // Each is tried twice.
    for _ in 0..4 {
        registry.fail("GET", PATH, unavailable());
    }
    let ended = sync(&origin, &registry, "providers.toml", &list(4)).expect(6);
    let expected = [
        "1.2.3 unavailable",
        "1.2.3 unavailable",
        " not_tried",
        " not_tried",
    ];
    assert_eq!(statuses(&ended.json()), expected);
    assert!(ended.errors().contains("2 more were not tried"));
    assert_eq!(registry.requests(), [MIRRORED; 4]);
}

#[test]
fn a_registry_that_answers_in_between_is_asked_on() {
    let (origin, registry) = (Origin::start(), Registry::start());
    for _ in 0..2 {
        registry.fail("GET", PATH, unavailable());
    }
    let ended = sync(&origin, &registry, "providers.toml", &list(3)).expect(6);
    let expected = ["1.2.3 unavailable", "1.2.3 created", "1.2.3 unchanged"];
    assert_eq!(statuses(&ended.json()), expected);
}

#[test]
fn an_origin_that_does_not_answer_says_nothing_about_the_registry() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let answer = Response::new(503, "").with("retry-after", "0");
    origin.set(&description_of("linux_amd64"), answer);
    let ended = sync(&origin, &registry, "providers.toml", &list(3)).expect(6);
    assert_eq!(statuses(&ended.json()), ["1.2.3 unavailable"; 3]);
}

#[test]
fn an_address_needs_all_three_parts() {
    let ended = ended(&mut terrace(&["mirror", "add", "hashicorp/random"])).expect(2);
    assert!(
        ended.stderr.contains("hostname/namespace/type"),
        "{ended:?}"
    );
}

#[track_caller]
fn sync(origin: &Origin, registry: &Registry, name: &str, text: &str) -> Ended {
    let files = directory(&[(name, text)]);
    let file = files.path().join(name);
    let arguments = ["sync", file.to_str().unwrap(), "--platform", "linux_amd64"];
    ended(&mut command(origin, registry, &arguments))
}

#[test]
fn a_list_is_mirrored() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let list = format!("[[provider]]\naddress = \"{ADDRESS}\"\nversions = \"~> 1.2.3\"\n");
    let report = sync(&origin, &registry, "providers.toml", &list)
        .expect(0)
        .json();
    assert_eq!(statuses(&report), ["1.2.3 created"]);
}

fn lock(hashes: &str) -> String {
    format!("provider \"{ADDRESS}\" {{\n version = \"1.2.3\"\n hashes = [\n{hashes}]\n}}\n")
}

#[test]
fn a_platform_that_a_lock_file_is_wanted_for_and_the_origin_has_not_is_a_failure() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let files = directory(&[(".terraform.lock.hcl", &lock(""))]);
    let file = files.path().join(".terraform.lock.hcl");
    let sync = |platforms: &[&str]| {
        let arguments = [&["sync", file.to_str().unwrap()], platforms].concat();
        let ended = ended(&mut command(&origin, &registry, &arguments)).expect(3);
        assert!(ended.errors().contains("not for plan9_386"), "{ended:?}");
        statuses(&ended.json())
    };
    let one = ["--platform", "plan9_386"];
    assert_eq!(sync(&one), ["1.2.3 refused"]);
    // What is there is mirrored all the same.
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
    let ended = sync(&origin, &registry, name, &wrong).expect(3);
    assert!(ended.errors().contains("lock file"), "{ended:?}");
    let report = sync(&origin, &registry, name, &lock(&hashes))
        .expect(0)
        .json();
    assert_eq!(statuses(&report), ["1.2.3 created"]);
}

#[test]
fn a_configuration_is_mirrored_and_what_needs_no_mirror_is_passed_over() {
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
    let arguments = [
        "sync",
        place,
        "--default-host",
        "origin.example",
        "--platform",
        "linux_amd64",
    ];
    let report = ended(&mut command(&origin, &registry, &arguments))
        .expect(0)
        .json();
    let mut found = statuses(&report);
    found.sort();
    assert_eq!(found, [" skipped", " skipped", "1.2.3 created"]);
    let text = report.to_string();
    assert!(
        text.contains("built into") && text.contains("this registry itself"),
        "{text}"
    );
}

#[test]
fn a_configuration_in_json_is_mirrored_from_its_directory() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let text = r#"{"terraform": {"required_providers": {"hello": {
        "source": "origin.example/acme/hello", "version": "~> 1.0"}}}}"#;
    for name in ["main.tf.json", "main.tofu.json"] {
        let files = directory(&[(name, text), (".main.tf.json", "of an editor")]);
        let place = files.path().to_str().unwrap();
        let arguments = ["sync", place, "--platform", "linux_amd64", "--dry-run"];
        let report = ended(&mut command(&origin, &registry, &arguments));
        assert_eq!(statuses(&report.expect(0).json()), ["1.2.3 dry_run"]);
    }
}

#[test]
fn a_configuration_that_requires_nothing_is_a_failure() {
    let (origin, registry) = (Origin::start(), Registry::start());
    for (name, text) in [
        ("main.tf", "resource \"hello_world\" \"it\" {}\n"),
        ("main.tf.json", "{}"),
        ("README.md", ""),
    ] {
        let files = directory(&[(name, text)]);
        let place = files.path().to_str().unwrap();
        let ended = ended(&mut command(&origin, &registry, &["sync", place])).expect(3);
        let told = match name {
            "README.md" => "no file in it ends in",
            _ => "requires no provider",
        };
        assert!(ended.errors().contains(told), "{name}: {ended:?}");
    }
}

#[test]
fn a_file_of_another_kind_is_a_wrong_command_line() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let ended = sync(&origin, &registry, "providers.yaml", "").expect(2);
    assert!(ended.errors().contains(".toml"), "{ended:?}");
}

#[test]
fn what_is_no_file_or_too_long_is_not_read() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let long = "\0".repeat(5_000_000);
    let odd = "\0".repeat(3_000_000);
    let files = directory(&[("long.toml", &long), ("odd.toml", &odd)]);
    let place = |name: &str| files.path().join(name).display().to_string();
    let mut told = vec![("long.toml", "longer than")];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/zero", files.path().join("zero.toml")).unwrap();
        told.push(("zero.toml", "no file"));
    }
    for (name, rule) in told {
        let ended = ended(&mut command(&origin, &registry, &["sync", &place(name)])).expect(3);
        assert!(ended.errors().contains(rule), "{name}: {ended:?}");
    }
    let ended = ended(&mut command(
        &origin,
        &registry,
        &["sync", &place("odd.toml")],
    ))
    .expect(3);
    assert!(ended.errors().len() < 10_000);
}

#[test]
fn the_registrys_own_hostname_is_asked_of_nobody() {
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
fn a_platform_that_no_version_has_is_a_failure_of_who_named_it() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let ended = add(&origin, &registry, &["--platform", "plan9_386"]).expect(3);
    assert_eq!(statuses(&ended.json()), ["1.2.3 skipped", " refused"]);
    assert!(ended.errors().contains("these platforms"), "{ended:?}");
}
