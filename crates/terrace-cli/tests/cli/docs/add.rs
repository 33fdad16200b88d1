//! `terrace docs add`.

use tempfile::TempDir;

use super::{module_details, provider_details};
use crate::support::http::Response;
use crate::support::registry::Registry;
use crate::support::{assert_has, directory, run, run_at, words};

/// Publishes a version of a module without documentation. Returns the directory of the module.
fn publish(registry: &Registry) -> TempDir {
    let module = directory(&[("main.tf", "variable \"a\" {}")]);
    let line = words("publish module --address acme/vpc/aws --version 1.0.0 --no-docs");
    let line = [&line[..], &[module.path().to_str().unwrap()]].concat();
    run_at(&registry.unrecorded(), &line).expect(0);
    module
}

#[test]
fn documentation_is_added_to_a_version_of_a_module() {
    let registry = Registry::start();
    let module = publish(&registry);
    let path = module.path().to_str().unwrap();
    let line = ["docs", "add", "acme/vpc/aws", "1.0.0", path];
    let report = run(&registry, &line).expect(0).json();
    assert_eq!(report["status"], "created");
    assert_eq!(report["is_published"], true);
    assert_eq!(report["documentation"]["inputs"], 1);
    let get = "GET /api/v1/modules/acme/vpc/aws/1.0.0";
    let put = "PUT /admin/v1/modules/acme/vpc/aws/1.0.0/documentation";
    assert_eq!(registry.all_requests(), [get, put, "PUT /docs-bucket", put]);
    let details = module_details(registry.documentation_head("acme/vpc/aws"));
    assert_eq!(details.root.inputs[0].name, "a");
    let again = run(&registry, &line).expect(0).json();
    assert_eq!(again["status"], "unchanged");
}

#[test]
fn a_version_that_is_not_published_is_refused_unless_it_is_about_to_be() {
    let registry = Registry::start();
    let module = publish(&registry);
    let path = module.path().to_str().unwrap();
    let line = ["docs", "add", "acme/vpc/aws", "9.9.9", path];
    run(&registry, &line).fails(3, "there is no version 9.9.9 of acme/vpc/aws");
    let sent = registry.all_requests();
    assert!(sent.iter().all(|line| line.starts_with("GET ")), "{sent:?}");
    let line = [&line[..], &["--before-publish"]].concat();
    let report = run(&registry, &line).expect(0).json();
    assert_eq!(report["is_published"], false);
}

#[test]
fn a_mirrored_provider_needs_a_licence_and_an_origin() {
    let registry = Registry::start();
    let details = "/api/v1/mirror/r.example.com/acme/widget/1.0.0";
    registry.set(details, Response::new(200, "{}"));
    let docs = directory(&[("docs/index.md", "---\npage_title: a\n---\n# A\n")]);
    let path = docs.path().to_str().unwrap();
    let line = ["docs", "add", "r.example.com/acme/widget", "1.0.0", path];
    let ended = run(&registry, &line).expect(3);
    let reasons = ended.errors();
    assert_has!(reasons, "license is missing", "origin is missing");
    assert_eq!(registry.all_requests(), [""; 0]);
    let origin = "https://r.example.com/acme/widget/1.0.0";
    let terms = ["--license", "MPL-2.0", "--origin", origin];
    run(&registry, &[&line[..], &terms].concat()).expect(0);
    let path = "/admin/v1/mirror/r.example.com/acme/widget/1.0.0";
    let sent = registry.documentation(path).unwrap();
    assert_eq!(sent["license"], "MPL-2.0");
    assert_eq!(sent["origin"], origin);
    let details = provider_details(registry.documentation_head("r.example.com/acme/widget"));
    assert_eq!(details.pages[0].title, "a");
}

#[test]
fn nothing_is_sent_without_documentation() {
    let registry = Registry::start();
    let empty = directory(&[("notes.txt", "")]);
    let path = empty.path().to_str().unwrap();
    for address in ["acme/vpc/aws", "acme/widget"] {
        run(&registry, &["docs", "add", address, "1.0.0", path]).fails(3, "no documentation");
    }
    assert_eq!(registry.all_requests(), [""; 0]);
}
