//! `terrace publish module`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::support::registry::{Fault, Registry};
use super::support::{
    Ended, TOKEN, assert_has, assert_lacks, directory, ended, run, tar_gz, terrace, words, zip,
};

const RELEASE: &str = "PUT /admin/v1/modules/Acme/vpc/aws/1.0.0-rc.1";

#[track_caller]
fn publish(registry: &Registry, path: &Path, more: &[&str]) -> Ended {
    let path = path.to_str().unwrap();
    let fixed = words("publish module --address Acme/vpc/aws --version 1.0.0-rc.1");
    run(registry, &[&fixed[..], &[path], more].concat())
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
    // The upload of a packed module restarts from its first byte.
    registry.fail("PUT", "/bucket/", Fault::HangUpAfter(10));
    let report = publish(&registry, module.path(), &[]).expect(0).json();
    assert_eq!(report["status"], "created");
    assert_eq!(report["kind"], "module");
    assert_eq!(report["uploaded"], json!(["vpc-1.0.0-rc.1.zip"]));
    let requests = registry.requests();
    assert_eq!([&requests[0], requests.last().unwrap()], [RELEASE; 2]);
    let archive = &registry.description()["archive"];
    assert_eq!(archive["format"], "zip");
    assert_eq!(archive["size"], registry.last_archive().len());
    let again = publish(&registry, module.path(), &[]).expect(0).json();
    assert_eq!(again["status"], "unchanged");
}

#[test]
fn the_commit_is_sent_with_its_source_and_not_without() {
    let module = directory(&[("main.tf", "")]);
    let commit = "0a1b2c3d".repeat(5);
    let registry = Registry::start();
    publish(&registry, module.path(), &["--commit", &commit]).fails(3, "add --source");
    assert_eq!(registry.requests(), [""; 0]);
    let source = "https://git.example.com/acme/vpc";
    let upper = commit.to_uppercase();
    let given = ["--source", source, "--commit", &upper];
    publish(&registry, module.path(), &given).expect(0);
    assert_eq!(registry.description()["commit"], *commit);
}

#[test]
fn the_source_defaults_to_the_repository_of_the_job_or_the_only_git_remote_unless_they_differ() {
    let module = directory(&[("main.tf", ""), ("README.md", "")]);
    let git = |line: &str| {
        let mut git = Command::new("git");
        let status = git.arg("-C").arg(module.path()).args(words(line)).status();
        assert!(status.expect("git is on PATH").success());
    };
    let url = "https://git.example.com/acme/vpc";
    let of_job = "https://git.example.com/acme/other";
    let sent = |more: &[&str], job: Option<&str>| {
        let registry = Registry::start();
        let line = "publish module --address acme/vpc/aws --version 1.0.0-rc.1 --json";
        let mut command = terrace(&words(line));
        command.arg(module.path()).args(more);
        command.envs(job.map(|url| ("CI_PROJECT_URL", url)));
        command.env("TERRACE_URL", registry.url());
        let published = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0);
        (registry.description()["source"].clone(), published)
    };
    let (source, published) = sent(&[], Some(of_job));
    assert_eq!(published.json()["warnings"], json!([]));
    assert_eq!(source, of_job);
    git("init --quiet");
    git("remote add origin git@git.example.com:acme/vpc.git");
    let (source, published) = sent(&["--quiet"], None);
    assert_eq!(source, url);
    let warning = format!("the source URL {url}, which is the git remote, is published");
    assert_has!(published.stderr, format!("warning: {warning}"));
    assert_has!(published.warnings(), warning);
    for more in [["--quiet", "--no-source"], ["--source", url]] {
        let (source, published) = sent(&more, None);
        assert_eq!(source == url, more[1] == url);
        assert_lacks!(published.stderr, "warning: ");
    }
    let (source, published) = sent(&[], Some(of_job));
    assert_has!(published.stderr, "choose one with --source");
    assert_eq!(source, Value::Null);
    git("remote add fork git@git.example.com:me/vpc.git");
    assert_eq!(sent(&[], None).0, Value::Null);
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
        ("m.zip", zip(&[("a", "")]), &[][..], "no configuration"),
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
        publish(&registry, &path, more).fails(3, reason);
        assert!(registry.requests().is_empty());
    }
}
