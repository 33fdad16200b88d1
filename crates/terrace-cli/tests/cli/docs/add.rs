//! `terrace docs add`.

use serde_json::json;

use super::{module_details, provider_details};
use crate::support::registry::{Fault, Registry, errors};
use crate::support::{directory, run};

#[test]
fn documentation_is_added_to_a_version_of_a_module() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", "variable \"a\" {}")]);
    let path = module.path().to_str().unwrap();
    registry.put_release("/admin/v1/modules/acme/vpc/aws/1.0.0");
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
    registry.put_release("/admin/v1/modules/acme/vpc/aws/1.0.0");
    let module = directory(&[("main.tf", "variable \"a\" {}")]);
    let path = module.path().to_str().unwrap();
    let line = ["docs", "add", "acme/vpc/aws", "9.9.9", path];
    let reasons = run(&registry, &line).expect(3).errors();
    assert!(
        reasons.contains("there is no version 9.9.9 of acme/vpc/aws: publish it first"),
        "{reasons}"
    );
    let sent = registry.all_requests();
    assert!(sent.iter().all(|line| line.starts_with("GET ")), "{sent:?}");
    let line = [&line[..], &["--before-publish"]].concat();
    let report = run(&registry, &line).expect(0).json();
    assert_eq!(report["is_published"], false);
}

#[test]
fn a_mirrored_provider_needs_a_licence_and_an_origin() {
    let registry = Registry::start();
    registry.put_release("/admin/v1/mirror/r.example.com/acme/widget/1.0.0");
    let docs = directory(&[("docs/index.md", "---\npage_title: a\n---\n# A\n")]);
    let path = docs.path().to_str().unwrap();
    let line = ["docs", "add", "r.example.com/acme/widget", "1.0.0", path];
    let ended = run(&registry, &line).expect(3);
    let reasons = ended.errors();
    assert!(reasons.contains("license is missing"), "{reasons}");
    assert!(reasons.contains("origin is missing"), "{reasons}");
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
        let ended = run(&registry, &["docs", "add", address, "1.0.0", path]).expect(3);
        assert!(ended.errors().contains("no documentation"), "{ended:?}");
    }
    assert_eq!(registry.all_requests(), [""; 0]);
}

#[test]
fn an_older_registry_is_named_as_the_reason() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", "variable \"a\" {}")]);
    let path = module.path().to_str().unwrap();
    let answer = errors(405, &["the method is not allowed"]);
    registry.fail("PUT", "/documentation", Fault::Answer(answer));
    let ended = run(&registry, &["docs", "add", "acme/vpc/aws", "1.0.0", path]).expect(3);
    assert!(ended.errors().contains("too old"), "{ended:?}");
    assert_eq!(ended.json()["exit_code"], json!(3));
}

#[test]
fn an_address_of_another_shape_is_an_error_of_usage() {
    let registry = Registry::start();
    let ended = run(&registry, &["docs", "add", "acme", "1.0.0"]).expect(2);
    assert!(ended.stderr.contains("<namespace>/<type>"), "{ended:?}");
}

#[test]
fn the_hostname_of_the_registry_may_precede_the_address() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", "variable \"a\" {}")]);
    let path = module.path().to_str().unwrap();
    registry.put_release("/admin/v1/modules/acme/vpc/aws/1.0.0");
    let host = registry.url().strip_prefix("http://").unwrap();
    let address = format!("{host}/acme/vpc/aws");
    let report = run(&registry, &["docs", "add", &address, "1.0.0", path]).expect(0);
    assert_eq!(report.json()["address"], "acme/vpc/aws");
    let other = ["docs", "add", "localhost:1/acme/vpc/aws", "1.0.0", path];
    assert!(run(&registry, &other).expect(2).errors().contains(host));
    let twice = ["docs", "add", "acme/vpc/aws@1.0.0", "1.0.0", path];
    let message = run(&registry, &twice).expect(2).stderr;
    assert!(message.contains("acme/vpc/aws 1.0.0"), "{message}");
}

#[test]
fn a_schema_for_a_module_is_an_error_of_usage() {
    let registry = Registry::start();
    let line = [
        "docs",
        "add",
        "acme/vpc/aws",
        "1.0.0",
        ".",
        "--schema",
        "schema.json",
    ];
    let message = run(&registry, &line).expect(2).errors();
    assert!(message.contains("--schema is for providers"), "{message}");
    assert_eq!(registry.all_requests(), [""; 0]);
}
