//! Requests to an origin: redirects, private networks, lengths, tokens.

use std::fs;

use serde_json::json;
use terrace_core::limits;

use super::{ADDRESS, add, command, refused, statuses};
use crate::support::http::{Head, Response};
use crate::support::origin::{Origin, description_of, zip_of};
use crate::support::registry::Registry;
use crate::support::{directory, ended, fixture};

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
    for (location, message) in [
        (format!("{plain}/elsewhere?a=%2F"), "only https is allowed"),
        // Also on this machine, but not on the command line.
        (format!("{}/", elsewhere.url()), "this machine"),
        ("https://localhost/".to_owned(), "localhost"),
        ("https://[::ffff:127.0.0.1]/".to_owned(), "IPv4-mapped"),
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
            let location = match message {
                "more than 5 redirects" => target,
                _ => &location,
            };
            origin.redirect(target, location);
            let errors = refused(&origin);
            assert!(errors.contains(message), "{target} to {location}: {errors}");
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
fn a_document_that_is_too_long_is_read_only_up_to_the_limit() {
    let origin = Origin::start();
    // A reader that continues would see the connection break, and report a network failure.
    let endless = " ".repeat(1024 * 1024 + 64 * 1024);
    let endless = Response::new(200, endless).announcing(1 << 40);
    origin.set(&description_of("linux_amd64"), endless);
    let errors = refused(&origin);
    assert!(errors.contains("longer than 1048576 bytes"), "{errors}");
}

#[test]
fn a_zip_with_an_announced_length_above_the_limit_is_not_downloaded() {
    let origin = Origin::start();
    let huge = Response::new(200, "PK").announcing(limits::ARCHIVE_BYTES + 1);
    origin.set(&zip_of("linux_amd64"), huge);
    let errors = refused(&origin);
    assert!(errors.contains("larger than"), "{errors}");
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
fn an_archive_comes_from_a_private_host_only_if_the_user_names_it() {
    let (origin, storage) = (Origin::start(), Origin::start());
    let zip = fixture("release/terraform-provider-hello_1.2.3_linux_amd64.zip");
    storage.set("/hello.zip", Response::new(200, fs::read(zip).unwrap()));
    let elsewhere = format!("{}/hello.zip", storage.url());
    let zip = zip_of("linux_amd64");
    origin.edit(&description_of("linux_amd64"), |text| {
        text.replace(&zip, &elsewhere)
    });
    let host = storage.url().replace("https://", "");
    let errors = refused(&origin);
    let advice = format!("if this host is meant to be contacted, add --archive-host {host}");
    assert!(errors.contains(&advice), "{errors}");
    assert!(storage.requests().is_empty());
    let registry = Registry::start();
    let list = directory(&[("list.toml", &super::list(1))]);
    let list = list.path().join("list.toml");
    for arguments in [["add", ADDRESS], ["sync", list.to_str().unwrap()]] {
        let mut command = command(&origin, &registry, &arguments);
        command.args(["--platform", "linux_amd64", "--archive-host", &host]);
        ended(command.env("TF_TOKEN_origin_example", "a-token-of-the-origin")).expect(0);
    }
    let seen = storage.requests();
    assert!(!seen.is_empty());
    let has_token = |head: &Head| head.headers.contains_key("authorization");
    assert!(!seen.iter().any(has_token));
}

#[test]
fn a_refused_url_names_the_option_only_if_the_option_would_help() {
    for (location, advice) in [
        (
            "https://localhost:9000/a",
            Some("--archive-host localhost:9000"),
        ),
        ("https://10.0.0.1/a", Some("--archive-host 10.0.0.1:443")),
        ("http://10.0.0.1/a", None),
        ("https://user@10.0.0.1/a", None),
    ] {
        let origin = Origin::start();
        origin.redirect("/v1/acme/hello/versions", location);
        let errors = refused(&origin);
        match advice {
            Some(advice) => assert!(errors.contains(advice), "{errors}"),
            None => assert!(!errors.contains("--archive-host"), "{errors}"),
        }
    }
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
fn the_origins_token_is_not_sent_to_another_host_from_discovery() {
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
fn the_origins_stored_token_goes_to_its_json_too_8_1() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let text = r#"credentials "origin.example" { token = "a-token-of-the-origin" }"#;
    let files = directory(&[("client.tfrc", text)]);
    let mut command = command(&origin, &registry, &["add", ADDRESS]);
    command.env("TF_CLI_CONFIG_FILE", files.path().join("client.tfrc"));
    let ended = ended(&mut command).expect(0);
    assert!(!format!("{ended:?}").contains("a-token-of-the-origin"));
    for head in origin.requests() {
        let token = head.headers.get("authorization").map(String::as_str);
        let is_json = !head.target.starts_with("/files/");
        let expected = is_json.then_some("Bearer a-token-of-the-origin");
        assert_eq!(token, expected, "{}", head.target);
    }
}

#[test]
fn documents_that_all_packages_share_are_fetched_once() {
    let (origin, registry) = (Origin::start(), Registry::start());
    add(&origin, &registry, &["--dry-run"]).expect(0);
    let shasums = |head: &&Head| head.target == "/files/SHA256SUMS";
    let count = origin.requests().iter().filter(shasums).count();
    assert!((1..=4).contains(&count), "{count}");
}
