//! `terrace admin import --from`: the providers and modules of another registry.

use std::io::{Cursor, Write as _};
use std::process::Command;

use serde_json::{Value, json};
use terrace_base::digest::Sha256;

use crate::support::http::{Head, Response};
use crate::support::origin::{Origin, description_of, zip_of};
use crate::support::registry::Registry;
use crate::support::{Ended, NAME, TOKEN, directory, ended, fixture, terrace};

const PROVIDER: [&str; 2] = ["--provider", "acme/hello"];

const PROVIDER_PATH: &str = "/admin/v1/providers/acme/hello/1.2.3";

/// Returns an origin that has one version of the provider, and serves modules.
fn origin() -> Origin {
    let origin = Origin::start();
    let discovery = json!({ "providers.v1": "/v1/", "modules.v1": "/modules/" });
    let discovery = Response::new(200, discovery.to_string());
    origin.set(
        "/.well-known/terraform.json",
        discovery.with("content-type", "application/json"),
    );
    origin.edit("/v1/acme/hello/versions", |text| {
        let mut document: Value = serde_json::from_str(text).unwrap();
        document["versions"].as_array_mut().unwrap().truncate(1);
        document.to_string()
    });
    origin
}

fn command(origin: &Origin, registry: &Registry, arguments: &[&str]) -> Command {
    let mut command = terrace(&["admin", "import", "--from", origin.url()]);
    command.args(arguments).args(["--json", "--retries", "0"]);
    command.env("TERRACE_URL", registry.url());
    command.env("TERRACE_TOKEN", TOKEN);
    command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
    command
}

#[track_caller]
fn import(origin: &Origin, registry: &Registry, arguments: &[&str]) -> Ended {
    ended(&mut command(origin, registry, arguments))
}

/// Returns each version with its status.
fn statuses(report: &Value) -> Vec<String> {
    let versions = report["versions"].as_array().unwrap().iter();
    let text = |version: &Value, name: &str| version[name].as_str().unwrap_or_default().to_owned();
    let line = |version: &Value| {
        ["address", "version", "status"]
            .map(|name| text(version, name))
            .join(" ")
    };
    versions.map(line).collect()
}

fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = ::zip::write::SimpleFileOptions::default();
    for (name, content) in files {
        zip.start_file(*name, options).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn tar_gz() -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gzip);
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    header.set_mode(0o644);
    tar.append_data(&mut header, "main.tf", std::io::empty())
        .unwrap();
    tar.into_inner().unwrap().finish().unwrap()
}

/// Adds versions of the module `acme/vpc/aws`, each with the response about its location.
fn add_module(origin: &Origin, versions: &[(&str, Response)]) {
    let listed = versions
        .iter()
        .map(|(version, _)| json!({ "version": version }));
    let listed: Vec<Value> = listed.collect();
    let list = json!({ "modules": [{ "versions": listed, "source": "acme/vpc/aws" }] });
    origin.set_json("/modules/acme/vpc/aws/versions", &list);
    for (version, response) in versions {
        let target = format!("/modules/acme/vpc/aws/{version}/download");
        origin.set(&target, response.clone());
    }
}

fn located(location: &str) -> Response {
    Response::new(204, "").with("x-terraform-get", location)
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
    let keys = registry.requests();
    assert!(!keys.contains(&"PUT /admin/v1/namespaces/acme/keys".to_owned()));
}

#[test]
fn packages_that_the_registry_has_are_not_downloaded_again() {
    let (origin, registry) = (origin(), Registry::start());
    import(&origin, &registry, &PROVIDER).expect(0);
    let platforms = registry.description()["packages"].clone();
    let details = json!({ "version": "1.2.3", "platforms": platforms });
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
    let both = [&PROVIDER[..], &["--module", "acme/vpc/aws"]].concat();
    let ended = import(&origin, &registry, &both).expect(3);
    let expected = ["acme/hello 1.2.3 refused", "acme/vpc/aws 1.0.0 created"];
    assert_eq!(statuses(&ended.json()), expected);
    let errors = ended.errors();
    assert!(
        errors.contains(&format!("SHA256SUMS lists {NAME}_freebsd_amd64.zip")),
        "{errors}"
    );
}

#[test]
fn a_changed_zip_or_signature_is_refused_as_clients_refuse_it() {
    let changes: [(&str, &str); 2] = [
        (&zip_of("linux_amd64"), "the origin promises sha256"),
        ("/files/SHA256SUMS.sig", "signature"),
    ];
    for (target, message) in changes {
        let (origin, registry) = (origin(), Registry::without_keys());
        origin.set(target, Response::new(200, "other"));
        let ended = import(&origin, &registry, &PROVIDER).expect(3);
        assert!(ended.errors().contains(message), "{ended:?}");
        let requests = registry.requests();
        assert!(!requests.contains(&format!("PUT {PROVIDER_PATH}")));
    }
}

/// The answers are those that the registries document, or that were observed with them.
#[test]
fn modules_are_found_where_each_kind_of_registry_puts_them() {
    let (origin, registry) = (origin(), Registry::start());
    let zip = zip(&[
        ("vpc-1.0.0/main.tf", ""),
        ("vpc-1.0.0/modules/a/main.tf", ""),
    ]);
    for target in ["/s3/o.zip?X-Amz-Signature=a%2Fb", "/files/v1.zip"] {
        origin.set(target, Response::new(200, zip.clone()));
    }
    for target in [
        "/api/v4/file?token=jwt",
        "/v1/object/dmF1bHQ",
        "/modules/acme/vpc/aws/archive",
    ] {
        origin.set(target, Response::new(200, tar_gz()));
    }
    let presigned = format!("{}/s3/o.zip//vpc-1.0.0?X-Amz-Signature=a%2Fb", origin.url());
    add_module(
        &origin,
        &[
            // boring-registry: a presigned URL.
            ("1.0.0", located(&presigned)),
            // GitLab: its own file with a token, and the format.
            ("1.1.0", located("/api/v4/file?token=jwt&archive=tgz")),
            // HCP Terraform: an object without an ending, and its format.
            ("1.2.0", located("/v1/object/dmF1bHQ?archive=tar.gz")),
            // Artifactory: relative to the request.
            ("1.3.0", located("../archive?archive=tar.gz")),
            // The body, as OpenTofu prefers it, and the only directory of an archive.
            (
                "1.4.0",
                Response::new(200, r#"{"location": "/files/v1.zip//*/modules/a"}"#),
            ),
            // A format that only the bytes tell.
            ("1.5.0", located("/v1/object/dmF1bHQ")),
        ],
    );
    let report = import(&origin, &registry, &["--module", "acme/vpc/aws"]);
    let report = report.expect(0).json();
    let created: Vec<String> = (0..=5)
        .map(|minor| format!("acme/vpc/aws 1.{minor}.0 created"))
        .collect();
    assert_eq!(statuses(&report), created);
    let again = import(&origin, &registry, &["--module", "acme/vpc/aws"]);
    assert!(
        statuses(&again.expect(0).json())
            .iter()
            .all(|line| line.ends_with("unchanged"))
    );
}

#[test]
fn a_module_in_a_repository_is_refused_with_advice_and_the_others_go_on() {
    let (origin, registry) = (origin(), Registry::start());
    origin.set("/v.tar.gz", Response::new(200, tar_gz()));
    add_module(
        &origin,
        &[
            ("1.0.0", located("git::https://git.example/vpc?ref=v1.0.0")),
            ("1.1.0", Response::new(204, "")),
            ("1.2.0", Response::new(404, "")),
            ("1.3.0", located("/v.tar.gz")),
        ],
    );
    let ended = import(&origin, &registry, &["--module", "acme/vpc/aws"]).expect(3);
    let report = ended.json();
    let lines = statuses(&report);
    assert_eq!(lines[3], "acme/vpc/aws 1.3.0 created");
    let refused = |line: &String| line.ends_with("refused");
    assert!(lines[..3].iter().all(refused), "{lines:?}");
    let errors = ended.errors();
    for part in ["terrace publish modules", "X-Terraform-Get", "status 404"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

#[test]
fn an_archive_may_come_from_a_private_host_only_if_the_user_names_it() {
    let (origin, storage, registry) = (origin(), Origin::start(), Registry::start());
    storage.set("/vpc.tar.gz", Response::new(200, tar_gz()));
    let location = format!("{}/vpc.tar.gz", storage.url());
    add_module(&origin, &[("1.0.0", located(&location))]);
    let module = ["--module", "acme/vpc/aws"];
    let refused = import(&origin, &registry, &module).expect(3);
    assert!(refused.errors().contains("this machine"), "{refused:?}");
    assert!(storage.requests().is_empty());
    let host = storage.url().replace("https://", "");
    let named = [&module[..], &["--archive-host", &host]].concat();
    import(&origin, &registry, &named).expect(0);
}

#[test]
fn the_token_goes_to_the_origin_alone_and_never_to_archives() {
    let (origin, storage, registry) = (origin(), Origin::start(), Registry::start());
    storage.set("/vpc.tar.gz", Response::new(200, tar_gz()));
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
        assert!(!format!("{ended:?}").contains("t-of-origin"), "{ended:?}");
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
    let missing = import(&origin, &registry, &["--from-token-env", "ABSENT"]).expect(2);
    assert!(missing.errors().contains("ABSENT is not set"));
}

/// Adds the lists of the public registry's API, in pages of one entry.
fn add_lists(origin: &Origin) {
    for path in ["/v1", "/v1/acme"] {
        let first = format!("{path}?limit=100&offset=0");
        origin.set_json(
            &first,
            &json!({
                "meta": { "limit": 1, "current_offset": 0, "next_offset": 1 },
                "providers": [{ "namespace": "acme", "name": "hello" }],
            }),
        );
        let second = format!("{path}?limit=100&offset=1");
        origin.set_json(
            &second,
            &json!({ "meta": { "limit": 1, "current_offset": 1 }, "providers": [] }),
        );
    }
    for path in ["/modules", "/modules/acme"] {
        origin.set_json(
            &format!("{path}?limit=100&offset=0"),
            &json!({ "modules": [
                { "namespace": "acme", "name": "vpc", "provider": "aws" },
                { "namespace": "..", "name": "vpc", "provider": "aws" },
            ] }),
        );
    }
}

#[test]
fn everything_that_the_origin_lists_is_imported_without_names() {
    for names in [&[][..], &["--namespace", "acme"]] {
        let (origin, registry) = (origin(), Registry::start());
        origin.set("/v.tar.gz", Response::new(200, tar_gz()));
        add_module(&origin, &[("1.0.0", located("/v.tar.gz"))]);
        add_lists(&origin);
        let report = import(&origin, &registry, names).expect(0).json();
        let expected = ["acme/hello 1.2.3 created", "acme/vpc/aws 1.0.0 created"];
        assert_eq!(statuses(&report), expected, "{names:?}");
        let warnings = report["warnings"].to_string();
        assert!(warnings.contains("../vpc/aws"), "{warnings}");
    }
}

#[test]
fn a_namespace_needs_packages_of_one_kind_only() {
    let (origin, registry) = (origin(), Registry::start());
    add_lists(&origin);
    origin.set("/modules/acme?limit=100&offset=0", Response::new(404, "{}"));
    let report = import(&origin, &registry, &["--namespace", "acme"]);
    let report = report.expect(0).json();
    assert_eq!(statuses(&report), ["acme/hello 1.2.3 created"]);

    let absent = ["--namespace", "absent", "--namespace", "missing"];
    let errors = import(&origin, &registry, &absent).expect(3).errors();
    for namespace in ["absent", "missing"] {
        let expected = format!("has no such namespace: {namespace} has neither");
        assert!(errors.contains(&expected), "{errors}");
    }
}

#[test]
fn an_origin_without_lists_needs_the_names_and_says_which() {
    let (origin, registry) = (origin(), Registry::start());
    // A web application answers every path.
    let page = Response::new(200, "<!doctype html>").with("content-type", "text/html");
    origin.set("/modules?limit=100&offset=0", page);
    let ended = import(&origin, &registry, &[]).expect(3);
    let errors = ended.errors();
    for part in [
        "--provider NAMESPACE/TYPE",
        "--module NAMESPACE/NAME/SYSTEM",
        "--list",
    ] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    // Named providers of a namespace need no list of its providers.
    let some = ["--namespace", "acme", "--provider", "acme/hello"];
    let ended = import(&origin, &registry, &some).expect(3);
    let expected = ["modules of acme  refused", "acme/hello 1.2.3 created"];
    assert_eq!(statuses(&ended.json()), expected);
}

#[test]
fn names_are_read_from_a_file() {
    let (origin, registry) = (origin(), Registry::start());
    origin.set("/v.tar.gz", Response::new(200, tar_gz()));
    add_module(&origin, &[("1.0.0", located("/v.tar.gz"))]);
    let files = directory(&[
        ("names", "# ours\nacme/hello\n\n acme/vpc/aws # network\n"),
        ("wrong", "acme/hello\nacme\n"),
    ]);
    let path = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
    let report = import(&origin, &registry, &["--list", &path("names")]);
    assert_eq!(statuses(&report.expect(0).json()).len(), 2);
    let wrong = import(&origin, &registry, &["--list", &path("wrong")]).expect(3);
    assert!(wrong.errors().contains("line 2: \"acme\""), "{wrong:?}");
}

#[test]
fn a_dry_run_lists_what_is_new_and_downloads_nothing() {
    let (origin, registry) = (origin(), Registry::start());
    add_module(
        &origin,
        &[("1.0.0", located("/v.zip")), ("1.1.0", located("/v.zip"))],
    );
    let known = json!({ "latest": "1.0.0", "versions": [{ "version": "1.0.0" }] });
    registry.set(
        "/api/v1/modules/acme/vpc/aws",
        Response::new(200, known.to_string()),
    );
    let module = ["--module", "acme/vpc/aws", "--dry-run"];
    let report = import(&origin, &registry, &module).expect(0).json();
    assert_eq!(report["status"], "dry_run");
    let versions = json!([
        { "version": "1.0.0", "is_published": true },
        { "version": "1.1.0", "is_published": false },
    ]);
    assert_eq!(report["packages"][0]["versions"], versions);
    let is_download = |head: &Head| head.target.ends_with("/download");
    assert!(!origin.requests().iter().any(is_download));
    assert!(
        !registry
            .requests()
            .iter()
            .any(|line| line.starts_with("PUT"))
    );

    let mut people = terrace(&["admin", "import", "--from", origin.url(), "--dry-run"]);
    people.args(["--module", "acme/vpc/aws"]);
    let shown = ended(people.env("SSL_CERT_FILE", fixture("tls/cert.pem"))).expect(0);
    assert!(
        shown.stdout.contains("acme/vpc/aws  module  2"),
        "{shown:?}"
    );
}

#[test]
fn a_registry_is_not_imported_into_itself_and_only_by_https() {
    let registry = Registry::start();
    let run = |from: &str, url: &str| {
        let mut command = terrace(&["admin", "import", "--from", from, "--json", "--url", url]);
        ended(command.env("TERRACE_TOKEN", TOKEN)).expect(2).stderr
    };
    let message = run("https://r.example.com", "https://R.example.com/");
    assert!(message.contains("into itself"), "{message}");
    let message = run("http://old.example.com", registry.url());
    assert!(message.contains("https only"), "{message}");
    let mut both = terrace(&["admin", "import", "dir", "--from", "https://a.example.com"]);
    ended(&mut both).expect(2);
    ended(&mut terrace(&["admin", "import"])).expect(2);
}

#[test]
fn the_digest_that_a_location_promises_is_checked() {
    let (origin, registry) = (origin(), Registry::start());
    origin.set("/v.tar.gz", Response::new(200, tar_gz()));
    let location = |digest: Sha256| located(&format!("/v.tar.gz?checksum=sha256:{digest}"));
    add_module(
        &origin,
        &[
            ("1.0.0", location(Sha256::of(&tar_gz()))),
            ("1.1.0", location(Sha256::of(b"other"))),
        ],
    );
    let ended = import(&origin, &registry, &["--module", "acme/vpc/aws"]).expect(3);
    let expected = ["acme/vpc/aws 1.0.0 created", "acme/vpc/aws 1.1.0 refused"];
    assert_eq!(statuses(&ended.json()), expected);
}

/// Imports from a registry that runs, into the fake one: `IMPORT_FROM` is its URL, `IMPORT_NAMES` a file with names.
#[test]
#[ignore = "needs a running registry"]
fn a_running_registry_is_imported() {
    let registry = Registry::without_keys();
    let variable = |name: &str| std::env::var(name).expect(name);
    let mut command = terrace(&[
        "admin",
        "import",
        "--from",
        &variable("IMPORT_FROM"),
        "--json",
    ]);
    command.args(["--list", &variable("IMPORT_NAMES")]);
    command.args(["--archive-host", &variable("IMPORT_STORAGE")]);
    command.env("TERRACE_URL", registry.url());
    command.env("TERRACE_TOKEN", TOKEN);
    if let Ok(token) = std::env::var("IMPORT_TOKEN") {
        command.args(["--from-token-env", "OLD"]).env("OLD", token);
    }
    for status in ["created", "unchanged"] {
        let ended = ended(command.env("SSL_CERT_FILE", fixture("tls/cert.pem")));
        let lines = statuses(&ended.json());
        println!("{lines:#?}");
        assert!(
            lines.iter().all(|line| line.ends_with(status)),
            "{ended:#?}"
        );
    }
    println!("{:#}", registry.description());
}

/// Terrareg 4.4.0, unless `ALLOW_UNIDENTIFIED_DOWNLOADS` is set.
#[test]
fn a_refused_download_of_a_module_names_the_reason_that_the_registry_gives() {
    let (origin, registry) = (origin(), Registry::start());
    let text = "\nAn analytics token must be provided.\nPlease update module source to include analytics token.\n";
    let page = Response::new(403, "<html>Forbidden</html>");
    add_module(
        &origin,
        &[("1.0.0", Response::new(401, text)), ("1.1.0", page)],
    );
    let ended = import(&origin, &registry, &["--module", "acme/vpc/aws"]).expect(5);
    let errors = ended.errors();
    assert!(
        errors.contains(r#"(status 401, "An analytics token must be provided.")"#),
        "{errors}"
    );
    assert!(errors.contains("(status 403): give its token"), "{errors}");
}
