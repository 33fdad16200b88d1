//! `terrace publish module`.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::support::http::Response;
use super::support::registry::{Fault, Registry};
use super::support::{Ended, TOKEN, directory, ended, run, terrace};

const RELEASE: &str = "PUT /admin/v1/modules/Acme/vpc/aws/1.0.0-rc.1";

#[track_caller]
fn publish(registry: &Registry, path: &Path, more: &[&str]) -> Ended {
    let path = path.to_str().unwrap();
    let fixed = [
        "publish",
        "module",
        path,
        "--address",
        "Acme/vpc/aws",
        "--version",
        "1.0.0-rc.1",
    ];
    run(registry, &[&fixed, more].concat())
}

fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, ::zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn tar_gz(files: &[(&str, &str)]) -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut tar = tar::Builder::new(gzip);
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, content.as_bytes())
            .unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    (directory, path)
}

#[test]
fn a_directory_is_packed_sent_and_published() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", ""), ("README.md", "")]);
    let report = publish(&registry, module.path(), &[]).expect(0).json();
    assert_eq!(
        (&report["status"], &report["kind"]),
        (&"created".into(), &"module".into())
    );
    assert_eq!(
        report["uploaded"],
        serde_json::json!(["vpc-1.0.0-rc.1.zip"])
    );
    let requests = registry.requests();
    assert_eq!(
        (&*requests[0], &*requests[2], requests.len()),
        (RELEASE, RELEASE, 3)
    );
    let archive = &registry.description()["archive"];
    assert_eq!(archive["format"], "zip");
    assert_eq!(archive["size"], registry.last_archive().len());
    let again = publish(&registry, module.path(), &[]).expect(0).json();
    assert_eq!(again["status"], "unchanged");
}

#[test]
fn a_conflict_is_one_error_that_compares_both_archives() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", "")]);
    publish(&registry, module.path(), &[]).expect(0);
    let conflict = |differences: &str| {
        let reasons = ["Acme/vpc/aws 1.0.0-rc.1 is already published", differences];
        let body = serde_json::json!({ "status": "conflict", "errors": reasons }).to_string();
        registry.fail("PUT", "/modules/", Fault::Answer(Response::new(409, body)));
        publish(&registry, module.path(), &[]).expect(4)
    };
    let ended = conflict("its archive is a zip of 203 bytes with sha256 aaaa");
    assert_eq!(ended.stderr.matches("error: ").count(), 1, "{ended:?}");
    let archive = &registry.description()["archive"];
    let (size, sha256) = (&archive["size"], archive["sha256"].as_str().unwrap());
    let expected = format!(
        "Acme/vpc/aws 1.0.0-rc.1 is already published. Of the published one: its archive is a zip of 203 bytes with \
         sha256 aaaa. Of yours: vpc-1.0.0-rc.1.zip has {size} bytes and the sha256 {sha256}"
    );
    assert_eq!(ended.errors(), expected);
    // The registry has compared this one itself.
    let compared = format!("its archive has the sha256 {sha256}, but was published with aaaa");
    assert!(conflict(&compared).errors().ends_with(&compared));
}

#[test]
fn the_source_is_sent_as_given() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", ""), ("README.md", "")]);
    let source = ["--source", "https://git.example.com/acme/vpc"];
    publish(&registry, module.path(), &source).expect(0);
    assert_eq!(registry.description()["source"], source[1]);
}

#[test]
fn the_commit_is_sent_with_its_source_and_not_without() {
    let module = directory(&[("main.tf", ""), ("README.md", "")]);
    let commit = "0a1b2c3d".repeat(5);
    let registry = Registry::start();
    let source = ["--source", "https://git.example.com/acme/vpc"];
    let given = [source[0], source[1], "--commit", &commit.to_uppercase()];
    publish(&registry, module.path(), &given).expect(0);
    assert_eq!(registry.description()["commit"], *commit);
    let registry = Registry::start();
    let refused = publish(&registry, module.path(), &["--commit", &commit]).expect(3);
    assert!(refused.errors().contains("add --source"), "{refused:?}");
    for (wrong, rule) in [
        (
            ["--source", source[1], "--commit", "main"].as_slice(),
            "40 or 64",
        ),
        (&["--no-source", "--commit", &commit], "cannot be used with"),
    ] {
        let refused = publish(&registry, module.path(), wrong).expect(2);
        assert!(refused.stderr.contains(rule), "{refused:?}");
    }
    assert!(registry.requests().is_empty(), "{:?}", registry.requests());
}

#[test]
fn the_job_that_published_a_release_is_named() {
    let provenance = serde_json::json!({
        "issuer": "https://token.actions.githubusercontent.com",
        "url": "https://github.com/acme/vpc",
        "commit": "0a1b2c3d".repeat(5),
        "workflow": "acme/vpc/.github/workflows/release.yml@refs/tags/v1",
    });
    let module = directory(&[("main.tf", ""), ("README.md", "")]);
    let job = format!(
        "workflow acme/vpc/.github/workflows/release.yml@refs/tags/v1 of repository https://github.com/acme/vpc at \
         commit {}",
        "0a1b2c3d".repeat(5)
    );
    for (status, words) in [
        ("created", "published by"),
        ("unchanged", "it was published by"),
    ] {
        let registry = Registry::start();
        let body = serde_json::json!({
            "status": status, "address": "Acme/vpc/aws", "version": "1.0.0-rc.1", "provenance": provenance,
        });
        let answers = || {
            let answer = Response::new(200, body.to_string());
            registry.fail("PUT", "/modules/", Fault::Answer(answer));
        };
        answers();
        let report = publish(&registry, module.path(), &[]).expect(0);
        assert_eq!(report.json()["provenance"], provenance);
        answers();
        let mut command = terrace(&["publish", "module", module.path().to_str().unwrap()]);
        command.args(["--address", "Acme/vpc/aws", "--version", "1.0.0-rc.1"]);
        command
            .env("TERRACE_URL", registry.url())
            .env("TERRACE_TOKEN", TOKEN);
        let shown = ended(&mut command).expect(0);
        let line = format!("{words} {job}");
        assert!(shown.stdout.lines().any(|it| it == line), "{shown:?}");
    }
}

#[test]
fn the_source_defaults_to_the_only_git_remote() {
    let module = directory(&[("main.tf", ""), ("README.md", "")]);
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        let done = git.arg("-C").arg(module.path()).args(arguments).output();
        assert!(done.expect("git is on PATH").status.success());
    };
    git(&["init", "--quiet"]);
    git(&[
        "remote",
        "add",
        "origin",
        "git@git.example.com:acme/vpc.git",
    ]);
    let sent = |more: &[&str]| {
        let registry = Registry::start();
        let published = publish(&registry, module.path(), more).expect(0);
        (registry.description()["source"].clone(), published)
    };
    let url = "https://git.example.com/acme/vpc";
    let (source, published) = sent(&["--quiet"]);
    assert_eq!(source, url);
    let warning = format!("the source URL {url}, which is the git remote, is published");
    let shown = format!("warning: {warning}");
    assert!(published.stderr.contains(&shown), "{published:?}");
    let message = published.json()["warnings"].to_string();
    assert!(message.contains(&warning), "{message}");
    for more in [["--quiet", "--no-source"], ["--source", url]] {
        let (source, published) = sent(&more);
        assert_eq!(source == url, more[1] == url);
        assert!(!published.stderr.contains("warning: "), "{published:?}");
    }
    git(&["remote", "add", "fork", "git@git.example.com:me/vpc.git"]);
    assert_eq!(sent(&[]).0, serde_json::Value::Null);
}

#[test]
fn a_source_that_differs_between_the_job_and_git_is_not_sent() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", ""), ("README.md", "")]);
    let of_job = |registry: &Registry| {
        let mut command = terrace(&[
            "publish",
            "module",
            module.path().to_str().unwrap(),
            "--address",
            "acme/vpc/aws",
            "--version",
            "1.0.0-rc.1",
            "--json",
        ]);
        command
            .env("TERRACE_URL", registry.url())
            .env("TERRACE_TOKEN", TOKEN);
        command.env("CI_PROJECT_URL", "https://git.example.com/acme/other");
        ended(&mut command).expect(0)
    };
    let published = of_job(&registry);
    assert_eq!(published.json()["warnings"], serde_json::json!([]));
    assert_eq!(
        registry.description()["source"],
        "https://git.example.com/acme/other"
    );
    for arguments in [["init", "--quiet", "."], ["remote", "add", "origin"]] {
        let mut git = Command::new("git");
        git.arg("-C").arg(module.path()).args(arguments);
        if arguments[0] == "remote" {
            git.arg("https://git.example.com/acme/vpc");
        }
        assert!(git.status().expect("git is on PATH").success());
    }
    let registry = Registry::start();
    let message = of_job(&registry).stderr;
    assert!(message.contains("choose one with --source"), "{message}");
    assert_eq!(registry.description()["source"], serde_json::Value::Null);
}

#[test]
fn a_module_of_one_file_is_reported_in_the_singular() {
    let registry = Registry::start();
    let packed = publish(&registry, directory(&[("main.tf", "")]).path(), &[]).expect(0);
    assert!(packed.stderr.contains("packed 1 file into "), "{packed:?}");
    let module = directory(&[("main.tf", ""), ("README.md", "")]);
    let packed = publish(&registry, module.path(), &["--dry-run"]).expect(0);
    assert!(packed.stderr.contains("packed 2 files into "), "{packed:?}");
}

#[test]
fn an_interrupted_upload_of_a_packed_module_restarts_from_its_first_byte() {
    let registry = Registry::start();
    registry.fail("PUT", "/bucket/", Fault::HangUpAfter(10));
    let module = directory(&[("main.tf", ""), ("README.md", "")]);
    publish(&registry, module.path(), &[]).expect(0);
}

#[test]
fn an_archive_is_sent_unchanged() {
    let files = [("top/main.tf", ""), ("top/README.md", "")];
    for (name, format, bytes) in [
        ("vpc.zip", "zip", zip(&files)),
        ("vpc.tar.gz", "tar.gz", tar_gz(&files)),
        ("vpc.TGZ", "tar.gz", tar_gz(&files)),
    ] {
        let registry = Registry::start();
        let (_directory, path) = file(name, &bytes);
        publish(&registry, &path, &["--subdir", "top"]).expect(0);
        let description = registry.description();
        assert_eq!(description["archive"]["format"], format);
        assert_eq!(description["subdir"], "top");
        assert_eq!(registry.last_archive(), bytes);
    }
}

#[test]
fn an_archive_that_no_client_could_install_is_never_sent() {
    let good = [("main.tf", "")];
    let mut damaged_zip = zip(&[("main.tf", "variable \"damaged\" {}")]);
    damaged_zip[45] ^= 0xff;
    let mut damaged_tar = tar_gz(&good);
    let end = damaged_tar.len() - 6;
    damaged_tar[end] ^= 0xff;
    for (name, bytes, more, reason) in [
        (
            "m.zip",
            zip(&[("README.md", "")]),
            &[] as &[&str],
            "no configuration",
        ),
        ("m.zip", zip(&[("../main.tf", "")]), &[], "../main.tf"),
        ("m.zip", zip(&good), &["--subdir", "sub"], "below"),
        ("m.zip", damaged_zip, &[], "main.tf"),
        ("m.zip", b"hello".to_vec(), &[], "not a zip"),
        ("m.zip", Vec::new(), &[], "0 bytes"),
        ("m.tar.gz", damaged_tar, &[], "checksum"),
        ("m.tar.gz", zip(&good), &[], "not a tar.gz"),
        ("m.tar.xz", zip(&good), &[], ".tar.gz or .tgz"),
    ] {
        let registry = Registry::start();
        let (_directory, path) = file(name, &bytes);
        let errors = publish(&registry, &path, more).expect(3).errors();
        assert!(errors.contains(reason), "{reason:?} is not in {errors}");
        assert!(registry.requests().is_empty());
    }
}

#[test]
fn a_missing_path_is_reported_by_name() {
    let registry = Registry::start();
    let ended = publish(&registry, Path::new("/nowhere/module.zip"), &[]).expect(3);
    assert!(ended.errors().contains("/nowhere/module.zip"), "{ended:?}");
}

#[test]
fn addresses_versions_and_subdirectories_that_clients_refuse_are_usage_errors() {
    let registry = Registry::start();
    for arguments in [
        [
            "--address",
            "acme/vpc",
            "--version",
            "1.0.0",
            "--subdir",
            "a",
        ],
        [
            "--address",
            "acme/vpc/AWS",
            "--version",
            "1.0.0",
            "--subdir",
            "a",
        ],
        [
            "--address",
            "acme/vpc/aws",
            "--version",
            "v1.0.0",
            "--subdir",
            "a",
        ],
        [
            "--address",
            "acme/vpc/aws",
            "--version",
            "1.0",
            "--subdir",
            "a",
        ],
        [
            "--address",
            "acme/vpc/aws",
            "--version",
            "1.0.0",
            "--subdir",
            "../a",
        ],
    ] {
        run(
            &registry,
            &[&["publish", "module", "."], &arguments[..]].concat(),
        )
        .expect(2);
    }
    assert!(registry.requests().is_empty());
}
