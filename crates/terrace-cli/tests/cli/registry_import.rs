//! `terrace admin import --from`: the providers and modules of another registry.

use std::process::Command;

use serde_json::{Value, json};
use terrace_base::digest::Sha256;

use crate::support::http::{Head, Response};
use crate::support::origin::{Origin, description_of, located};
use crate::support::registry::Registry;
use crate::support::{
    Ended, NAME, assert_has, assert_lacks, directory, ended, fixture, rows, run_at, tar_gz,
    terrace, terrace_at, zip,
};

const PROVIDER: [&str; 2] = ["--provider", "acme/hello"];

const MODULE: [&str; 2] = ["--module", "acme/vpc/aws"];

const PROVIDER_PATH: &str = "/admin/v1/providers/acme/hello/1.2.3";

/// Returns an origin that has one version of the provider.
fn origin() -> Origin {
    let origin = Origin::start();
    origin.edit("/v1/acme/hello/versions", |text| {
        let mut document: Value = serde_json::from_str(text).unwrap();
        document["versions"].as_array_mut().unwrap().truncate(1);
        document.to_string()
    });
    origin
}

fn command(origin: &Origin, registry: &Registry, arguments: &[&str]) -> Command {
    let line = ["admin", "import", "--from", origin.url()];
    let mut command = terrace_at(registry.url(), &line);
    command.args(arguments).args(["--json", "--retries", "0"]);
    command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
    command
}

#[track_caller]
fn import(origin: &Origin, registry: &Registry, arguments: &[&str]) -> Ended {
    ended(&mut command(origin, registry, arguments))
}

/// Returns each version with its status.
fn statuses(report: &Value) -> Vec<String> {
    rows(report, &["address", "version", "status"])
}

/// Adds versions of the module `acme/vpc/aws`, each with the response about its location.
fn add_module(origin: &Origin, versions: &[(&str, Response)]) {
    origin.list_module("vpc/aws", versions);
}

#[test]
fn a_provider_is_published_with_its_key_and_without_its_manifest() {
    let (origin, registry) = (origin(), Registry::without_keys());
    let report = import(&origin, &registry, &PROVIDER).expect(0).json();
    assert_eq!(statuses(&report), ["acme/hello 1.2.3 created"]);
    let description = registry.description();
    assert_eq!(description["manifest_missing"], true);
    assert_eq!(description["protocols"], json!(["6.0"]));
    assert_eq!(description["packages"].as_array().unwrap().len(), 6);
    let shasums = std::fs::read_to_string(fixture(&format!("release/{NAME}_SHA256SUMS"))).unwrap();
    assert_eq!(description["shasums"], json!(shasums));
    let requests = registry.requests();
    let position = |line: &str| requests.iter().position(|it| it == line).unwrap();
    let key = position("PUT /admin/v1/namespaces/acme/keys");
    assert!(key < position(&format!("PUT {PROVIDER_PATH}")));

    let again = import(&origin, &registry, &PROVIDER).expect(0).json();
    assert_eq!(statuses(&again), ["acme/hello 1.2.3 unchanged"]);
    let keys = "PUT /admin/v1/namespaces/acme/keys".to_owned();
    assert!(!registry.requests().contains(&keys));
}

#[test]
fn packages_that_the_registry_has_are_not_downloaded_again() {
    let (origin, registry) = (origin(), Registry::start());
    import(&origin, &registry, &PROVIDER).expect(0);
    let platforms = registry.description()["packages"].clone();
    let details = json!({
        "kind": "provider", "address": "acme/hello", "path": "", "version": "1.2.3", "is_documented": false,
        "latest": "1.2.3", "platforms": platforms,
    });
    let details = Response::new(200, details.to_string());
    registry.set("/api/v1/providers/acme/hello/1.2.3", details);
    origin.requests();
    let report = import(&origin, &registry, &PROVIDER).expect(0).json();
    assert_eq!(statuses(&report), ["acme/hello 1.2.3 unchanged"]);
    let is_zip = |head: &Head| head.target.contains(".zip");
    assert!(!origin.requests().iter().any(is_zip));
}

#[test]
fn a_listed_zip_that_the_origin_does_not_serve_stops_its_version_alone() {
    let (origin, registry) = (origin(), Registry::start());
    origin.edit("/v1/acme/hello/versions", |text| {
        // The origin lists the platform no longer either: SHA256SUMS names it.
        text.replace(r#"{"arch":"amd64","os":"freebsd"},"#, "")
    });
    origin.set(&description_of("freebsd_amd64"), Response::new(404, ""));
    let zip = zip(&[("main.tf", "")]);
    origin.set("/files/vpc.zip", Response::new(200, zip));
    add_module(&origin, &[("1.0.0", located("/files/vpc.zip"))]);
    let both = [PROVIDER, MODULE].concat();
    let ended = import(&origin, &registry, &both).expect(3);
    let expected = ["acme/hello 1.2.3 refused", "acme/vpc/aws 1.0.0 created"];
    assert_eq!(statuses(&ended.json()), expected);
    let message = format!("SHA256SUMS lists {NAME}_freebsd_amd64.zip");
    assert_has!(ended.errors(), message);
}

#[test]
fn a_module_is_published_from_its_directory_and_in_the_format_of_its_bytes() {
    let (origin, registry) = (origin(), Registry::start());
    let zip = zip(&[
        ("vpc-1.0.0/main.tf", ""),
        ("vpc-1.0.0/modules/a/main.tf", ""),
    ]);
    origin.set("/files/v1.zip", Response::new(200, zip));
    let tar = tar_gz(&[("main.tf", "")]);
    origin.set("/v1/object/dmF1bHQ", Response::new(200, tar));
    // The only directory of an archive, and a format that only the bytes tell.
    let only = Response::new(200, r#"{"location": "/files/v1.zip//*/modules/a"}"#);
    add_module(
        &origin,
        &[("1.0.0", only), ("1.1.0", located("/v1/object/dmF1bHQ"))],
    );
    for status in ["created", "unchanged"] {
        let report = import(&origin, &registry, &MODULE).expect(0).json();
        let expected = [0, 1].map(|minor| format!("acme/vpc/aws 1.{minor}.0 {status}"));
        assert_eq!(statuses(&report), expected);
    }
}

#[test]
fn the_token_goes_to_the_origin_alone_and_never_to_archives() {
    let (origin, storage, registry) = (origin(), Origin::start(), Registry::start());
    storage.set(
        "/vpc.tar.gz",
        Response::new(200, tar_gz(&[("main.tf", "")])),
    );
    let location = format!("{}/vpc.tar.gz", storage.url());
    add_module(&origin, &[("1.0.0", located(&location))]);
    let hosts = origin.url().replace("https://", "");
    let configured = format!("credentials {hosts:?} {{ token = \"t-of-origin\" }}\n");
    let files = directory(&[("client.tfrc", &configured)]);
    for variable in [None, Some("OLD_TOKEN")] {
        let host = storage.url().replace("https://", "");
        let mut arguments = vec!["--module", "acme/vpc/aws", "--archive-host", &host];
        arguments.extend(PROVIDER);
        arguments.extend(variable.into_iter().flat_map(|it| ["--from-token-env", it]));
        let mut command = command(&origin, &registry, &arguments);
        match variable {
            Some(name) => command.env(name, "t-of-origin"),
            None => command.env("TF_CLI_CONFIG_FILE", files.path().join("client.tfrc")),
        };
        let ended = ended(&mut command).expect(0);
        assert_lacks!(format!("{ended:?}"), "t-of-origin");
        for head in origin.requests() {
            let token = head.headers.get("authorization").map(String::as_str);
            let is_json = !head.target.starts_with("/files/");
            let expected = is_json.then_some("Bearer t-of-origin");
            assert_eq!(token, expected, "{}", head.target);
        }
        let elsewhere = storage.requests();
        assert!(!elsewhere.is_empty());
        let has_token = |head: &Head| head.headers.contains_key("authorization");
        assert!(!elsewhere.iter().any(has_token));
    }
    import(&origin, &registry, &["--from-token-env", "ABSENT"]).fails(2, "ABSENT is not set");
}

/// Adds the lists of the public registry's API, in pages of one entry.
fn add_lists(origin: &Origin) {
    for path in ["/v1", "/v1/acme"] {
        let first = json!({
            "meta": { "limit": 1, "current_offset": 0, "next_offset": 1 },
            "providers": [{ "namespace": "acme", "name": "hello" }],
        });
        origin.set_json(&format!("{path}?limit=100&offset=0"), &first);
        let second = json!({ "meta": { "limit": 1, "current_offset": 1 }, "providers": [] });
        origin.set_json(&format!("{path}?limit=100&offset=1"), &second);
    }
    let module =
        |namespace: &str| json!({ "namespace": namespace, "name": "vpc", "provider": "aws" });
    let without_system = json!({ "namespace": "acme", "name": "base" });
    let modules = json!({ "modules": [module("acme"), module(".."), without_system] });
    for path in ["/modules", "/modules/acme"] {
        origin.set_json(&format!("{path}?limit=100&offset=0"), &modules);
    }
}

#[test]
fn everything_that_the_origin_lists_is_imported_without_names() {
    for names in [&[][..], &["--namespace", "acme"]] {
        let (origin, registry) = (origin(), Registry::start());
        origin.set("/v.tar.gz", Response::new(200, tar_gz(&[("main.tf", "")])));
        let location = || located("/v.tar.gz");
        add_module(&origin, &[("1.0.0", location()), ("latest", location())]);
        add_lists(&origin);
        let report = import(&origin, &registry, names).expect(0).json();
        let expected = ["acme/hello 1.2.3 created", "acme/vpc/aws 1.0.0 created"];
        assert_eq!(statuses(&report), expected, "{names:?}");
        let warnings = report["warnings"].to_string();
        assert_has!(warnings, "whose address is not valid here", "base");
        assert_has!(warnings, "acme/vpc/aws: skipped: ", "latest");
    }
}

#[test]
fn a_namespace_needs_packages_of_one_kind_only() {
    let (origin, registry) = (origin(), Registry::start());
    add_lists(&origin);
    origin.set("/modules/acme?limit=100&offset=0", Response::new(404, "{}"));
    let report = import(&origin, &registry, &["--namespace", "acme"]).expect(0);
    assert_eq!(statuses(&report.json()), ["acme/hello 1.2.3 created"]);

    let absent = ["--namespace", "absent", "--namespace", "missing"];
    let errors = import(&origin, &registry, &absent).expect(3).errors();
    for namespace in ["absent", "missing"] {
        let expected = format!("has no such namespace: {namespace} has neither");
        assert_has!(errors, &expected);
    }
}

#[test]
fn an_origin_without_lists_needs_the_names_and_says_which() {
    let (origin, registry) = (origin(), Registry::start());
    // A web application answers every path.
    let page = Response::new(200, "<!doctype html>").with("content-type", "text/html");
    origin.set("/modules?limit=100&offset=0", page);
    let ended = import(&origin, &registry, &[]);
    let errors = ended.fails(3, "--provider NAMESPACE/TYPE");
    assert_has!(errors, "--module NAMESPACE/NAME/SYSTEM", "--list");
    // Named providers of a namespace need no list of its providers.
    let some = ["--namespace", "acme", "--provider", "acme/hello"];
    let ended = import(&origin, &registry, &some).expect(3);
    let expected = ["modules of acme  refused", "acme/hello 1.2.3 created"];
    assert_eq!(statuses(&ended.json()), expected);
}

#[test]
fn an_origin_may_have_only_providers_or_only_modules() {
    let discovery = |text: &str| Response::new(200, text).with("content-type", "application/json");
    for (services, present, absent, reason) in [
        (
            r#"{"providers.v1":"/v1/"}"#,
            PROVIDER,
            MODULE,
            "has no registry of modules",
        ),
        (
            r#"{"modules.v1":"/modules/"}"#,
            MODULE,
            PROVIDER,
            "has no registry of providers",
        ),
    ] {
        let (origin, registry) = (origin(), Registry::start());
        origin.set("/v.tar.gz", Response::new(200, tar_gz(&[("main.tf", "")])));
        add_module(&origin, &[("1.0.0", located("/v.tar.gz"))]);
        origin.set("/.well-known/terraform.json", discovery(services));
        let report = import(&origin, &registry, &present).expect(0).json();
        assert_eq!(report["versions"][0]["status"], "created", "{services}");
        import(&origin, &registry, &absent).fails(3, reason);
    }
}

#[test]
fn names_are_read_from_a_file() {
    let (origin, registry) = (origin(), Registry::start());
    origin.set("/v.tar.gz", Response::new(200, tar_gz(&[("main.tf", "")])));
    add_module(&origin, &[("1.0.0", located("/v.tar.gz"))]);
    let files = directory(&[
        ("names", "# ours\nacme/hello\n\n acme/vpc/aws # network\n"),
        ("wrong", "acme/hello\nacme\n"),
    ]);
    let path = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
    let report = import(&origin, &registry, &["--list", &path("names")]);
    assert_eq!(statuses(&report.expect(0).json()).len(), 2);
    import(&origin, &registry, &["--list", &path("wrong")]).fails(3, "line 2: \"acme\"");
}

#[test]
fn a_dry_run_lists_what_is_new_and_downloads_nothing() {
    let (origin, registry) = (origin(), Registry::start());
    add_module(
        &origin,
        &[("1.0.0", located("/v.zip")), ("1.1.0", located("/v.zip"))],
    );
    let known = json!([{ "version": "1.0.0", "is_documented": false }]);
    registry.set_package("modules/acme/vpc/aws", &known);
    let dry = [&MODULE[..], &["--dry-run"]].concat();
    let report = import(&origin, &registry, &dry).expect(0).json();
    assert_eq!(report["status"], "dry_run");
    let versions = json!([
        { "version": "1.0.0", "is_published": true },
        { "version": "1.1.0", "is_published": false },
    ]);
    assert_eq!(report["packages"][0]["versions"], versions);
    let is_download = |head: &Head| head.target.ends_with("/download");
    assert!(!origin.requests().iter().any(is_download));
    assert_eq!(registry.changes(), [""; 0]);

    let mut people = terrace(&["admin", "import", "--from", origin.url(), "--dry-run"]);
    people.args(["--module", "acme/vpc/aws"]);
    let shown = ended(people.env("SSL_CERT_FILE", fixture("tls/cert.pem"))).expect(0);
    assert_has!(shown.stdout, "acme/vpc/aws  module  2");
}

#[test]
fn a_registry_is_not_imported_into_itself_and_only_by_https() {
    let registry = Registry::start();
    for (from, url, message) in [
        (
            "https://r.example.com",
            "https://R.example.com/",
            "into itself",
        ),
        ("http://old.example.com", registry.url(), "https only"),
    ] {
        run_at(url, &["admin", "import", "--from", from]).fails(2, message);
    }
    let mut both = terrace(&["admin", "import", "dir", "--from", "https://a.example.com"]);
    ended(&mut both).expect(2);
    ended(&mut terrace(&["admin", "import"])).expect(2);
}

#[test]
fn a_version_that_fails_does_not_stop_the_others_and_a_promised_digest_is_checked() {
    let (origin, registry) = (origin(), Registry::start());
    let tar = tar_gz(&[("main.tf", "")]);
    let location = |digest: Sha256| located(&format!("/v.tar.gz?checksum=sha256:{digest}"));
    add_module(
        &origin,
        &[
            ("1.0.0", located("hg::https://hg.example/vpc?rev=1")),
            ("1.1.0", Response::new(204, "")),
            ("1.2.0", location(Sha256::of(b"other"))),
            ("1.3.0", location(Sha256::of(&tar))),
        ],
    );
    origin.set("/v.tar.gz", Response::new(200, tar));
    let ended = import(&origin, &registry, &MODULE).expect(3);
    let statuses = ["refused", "refused", "refused", "created"];
    let expected = statuses.iter().zip(0..);
    let expected = expected.map(|(it, minor)| format!("acme/vpc/aws 1.{minor}.0 {it}"));
    assert_eq!(self::statuses(&ended.json()), Vec::from_iter(expected));
}

/// Terrareg 4.4.0, unless `ALLOW_UNIDENTIFIED_DOWNLOADS` is set.
#[test]
fn a_refused_download_of_a_module_names_the_reason_that_the_registry_gives() {
    let (origin, registry) = (origin(), Registry::start());
    let text = Response::new(
        401,
        "\nAn analytics token must be provided.\nPlease update it.\n",
    );
    let page = Response::new(403, "<html>Forbidden</html>");
    add_module(&origin, &[("1.0.0", text), ("1.1.0", page)]);
    let errors = import(&origin, &registry, &MODULE).expect(5).errors();
    assert_has!(
        errors,
        r#"(status 401, "An analytics token must be provided.")"#
    );
    assert_has!(errors, "(status 403): give its token");
}
