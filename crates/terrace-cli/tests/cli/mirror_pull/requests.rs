//! Requests to an origin: redirects, private networks, lengths, tokens.

use std::fs;

use serde_json::json;
use terrace_core::limits;

use super::{ADDRESS, add, command, refused};
use crate::support::http::{Head, Response};
use crate::support::origin::{Origin, description_of, zip_of};
use crate::support::registry::Registry;
use crate::support::{assert_has, assert_lacks, directory, ended, fixture};

const ORIGIN_TOKEN: &str = "a-token-of-the-origin";

/// Checks that a server was asked, and without a token.
#[track_caller]
fn assert_without_token(origin: &Origin) {
    let seen = origin.requests();
    assert!(!seen.is_empty());
    let has_token = |head: &Head| head.headers.contains_key("authorization");
    assert!(!seen.iter().any(has_token));
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
    for (location, message) in [
        (format!("{plain}/elsewhere?a=%2F"), "only https is allowed"),
        // Also on this machine, but not on the command line.
        (format!("{}/", elsewhere.url()), "this machine"),
        ("https://localhost/".to_owned(), "localhost"),
        ("https://[::ffff:127.0.0.1]/".to_owned(), "public internet"),
        (
            "https://169.254.169.254/latest/".to_owned(),
            "public internet",
        ),
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
            assert_has!(errors, message);
        }
    }
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn what_is_too_long_is_read_only_up_to_the_limit() {
    let origin = Origin::start();
    let huge = Response::new(200, "PK").announcing(limits::ARCHIVE_BYTES + 1);
    origin.set(&zip_of("linux_amd64"), huge);
    assert_has!(refused(&origin), "larger than");
    // A reader that continues would see the connection break, and report a network failure.
    let endless = " ".repeat(1024 * 1024 + 64 * 1024);
    let endless = Response::new(200, endless).announcing(1 << 40);
    origin.set(&description_of("linux_amd64"), endless);
    assert_has!(refused(&origin), "longer than 1048576 bytes");
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
    assert_has!(errors, &advice);
    assert!(storage.requests().is_empty());
    let registry = Registry::start();
    let list = directory(&[("list.toml", &super::list(1))]);
    let list = list.path().join("list.toml");
    for arguments in [["add", ADDRESS], ["sync", list.to_str().unwrap()]] {
        let mut command = command(&origin, &registry, &arguments);
        command.args(["--platform", "linux_amd64", "--archive-host", &host]);
        ended(command.env("TF_TOKEN_origin_example", ORIGIN_TOKEN)).expect(0);
    }
    assert_without_token(&storage);
}

#[test]
fn the_origins_token_goes_to_its_json_and_never_to_archives_8_1_8_3() {
    let origin = Origin::start();
    let text = format!("credentials \"origin.example\" {{ token = \"{ORIGIN_TOKEN}\" }}");
    let files = directory(&[("client.tfrc", &text)]);
    let file = files.path().join("client.tfrc");
    for (name, value) in [
        ("TF_TOKEN_origin_example", ORIGIN_TOKEN),
        ("TF_CLI_CONFIG_FILE", file.to_str().unwrap()),
    ] {
        let registry = Registry::start();
        let mut command = command(&origin, &registry, &["add", ADDRESS]);
        command.env("TF_TOKEN_other_example", "a-token-of-another");
        let ended = ended(command.env(name, value)).expect(0);
        assert_lacks!(format!("{ended:?}"), ORIGIN_TOKEN);
        let seen = origin.requests();
        assert!(seen.iter().any(|head| head.target.contains(".zip")));
        for head in seen {
            let token = head.headers.get("authorization").cloned();
            let is_json = !head.target.starts_with("/files/");
            let expected = is_json.then(|| format!("Bearer {ORIGIN_TOKEN}"));
            assert_eq!(token, expected, "{}", head.target);
        }
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
    command.env("TF_TOKEN_origin_example", ORIGIN_TOKEN);
    ended(&mut command).expect(0);
    assert!(origin.requests()[0].headers.contains_key("authorization"));
    assert_without_token(&other);
}
