//! `terrace mirror add` and `terrace mirror sync`.

mod add;
mod checks;
mod failures;
mod modules;
mod requests;
mod sync;

use std::process::Command;

use serde_json::Value;

use super::support::http::Head;
use super::support::origin::Origin;
use super::support::registry::Registry;
use super::support::{Ended, directory, ended, fixture, rows, terrace_at};

const ADDRESS: &str = "origin.example/acme/hello";
const PATH: &str = "/admin/v1/mirror/origin.example/acme/hello/1.2.3";
const RELEASE: &str = "PUT /admin/v1/mirror/origin.example/acme/hello/1.2.3";
const MIRRORED: &str = "GET /admin/v1/mirror/origin.example/acme/hello/1.2.3";

/// Returns a command line with both registries.
fn command(origin: &Origin, registry: &Registry, arguments: &[&str]) -> Command {
    let mut command = terrace_at(registry.url(), &["mirror"]);
    command.args(arguments).args(["--json", "--retries", "1"]);
    command.args(["--origin", &origin.place()]);
    command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
    command
}

#[track_caller]
fn add(origin: &Origin, registry: &Registry, arguments: &[&str]) -> Ended {
    let arguments = [&["add", ADDRESS], arguments].concat();
    ended(&mut command(origin, registry, &arguments))
}

/// Runs the command and checks that it rejects a Linux package before any request to the registry.
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
    rows(report, &["version", "status"])
}

/// Returns the zips that were downloaded since the last call.
fn downloads(origin: &Origin) -> Vec<String> {
    let seen = origin.requests();
    let targets = seen.into_iter().map(|head: Head| head.target);
    targets.filter(|target| target.contains(".zip")).collect()
}

/// Runs `mirror sync` for files below a directory.
#[track_caller]
fn sync_files(origin: &Origin, registry: &Registry, files: &[&str], more: &[&str]) -> Ended {
    let arguments = [&["sync"], files, &["--platform", "linux_amd64"], more].concat();
    ended(&mut command(origin, registry, &arguments))
}

/// Returns a list that names the provider this many times.
fn list(times: usize) -> String {
    format!("[[provider]]\naddress = \"{ADDRESS}\"\nversions = \"1.2.3\"\n").repeat(times)
}

#[track_caller]
fn sync(origin: &Origin, registry: &Registry, name: &str, text: &str) -> Ended {
    let files = directory(&[(name, text)]);
    let file = files.path().join(name);
    sync_files(origin, registry, &[file.to_str().unwrap()], &[])
}

fn lock(hashes: &str) -> String {
    format!("provider \"{ADDRESS}\" {{\n version = \"1.2.3\"\n hashes = [\n{hashes}]\n}}\n")
}
