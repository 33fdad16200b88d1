//! `terrace check`.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::support::http::Response;
use super::support::registry::Registry;
use super::support::{TOKEN, assert_has, directory, ended, terrace};

/// A configuration with a lock file, installed modules in one directory, and only calls in another.
fn configuration(host: &str) -> TempDir {
    let lock = "provider \"HOST/acme/widget\" {\n  version = \"1.0.0\"\n}\n\n\
        provider \"registry.terraform.io/hashicorp/aws\" {\n  version = \"6.1.0\"\n}\n";
    let app = "module \"vpc\" {\n  source = \"HOST/acme/vpc/aws//modules/x\"\n  version = \"~> 1.0\"\n}\n\
        module \"new\" {\n  source = \"HOST/acme/vpc/aws\"\n  version = \"1.3.0\"\n}\n";
    let net = "module \"vpc\" {\n  source  = \"HOST/acme/vpc/aws\"\n  version = \"= 1.0.0\"\n}\n\
        module \"local\" {\n  source = \"./x\"\n}\n\
        module \"app\" {\n  source = \"HOST/acme/app/aws\"\n  version = \"~> 2.0\"\n}\n";
    let [lock, app, net] = [lock, app, net].map(|text| text.replace("HOST", host));
    let installed = json!({ "Modules": [
        { "Key": "", "Source": "", "Dir": "." },
        { "Key": "vpc", "Source": format!("{host}/acme/vpc/aws//modules/x"), "Version": "1.1.0", "Dir": "x" },
        { "Key": "other", "Source": "registry.terraform.io/other/vpc/aws", "Version": "1.1.0", "Dir": "y" },
    ] });
    directory(&[
        ("app/.terraform.lock.hcl", &lock),
        ("app/main.tf", &app),
        (
            "app/.terraform/modules/modules.json",
            &installed.to_string(),
        ),
        ("net/main.tf", &net),
    ])
}

fn judged(address: &str, version: &str, state: &str) -> Value {
    json!({ "address": address, "version": version, "state": state, "reason": "use acme/net/aws", "newer": "2.0.0" })
}

#[test]
fn versions_in_use_are_judged_with_their_places() {
    let registry = Registry::start();
    let host = registry.url().strip_prefix("http://").unwrap().to_owned();
    let directory = configuration(&host);
    let answer = |state: &str| {
        let packages = json!([
            judged("acme/vpc/aws", "1.0.0", "deprecated"),
            judged("acme/vpc/aws", "1.1.0", state),
            judged("acme/vpc/aws", "1.3.0", "deprecated"),
            { "address": "acme/app/aws", "constraint": "~> 2.0", "state": "missing" },
            { "address": "acme/widget", "version": "1.0.0", "state": "active" },
            { "address": "registry.opentofu.org/other/vpc/aws", "version": "1.1.0", "state": "unknown" },
            { "address": "registry.terraform.io/hashicorp/aws", "version": "6.1.0", "state": "unknown" },
        ]);
        let answer = json!({ "packages": packages });
        registry.set("POST /api/v1/check", Response::new(200, answer.to_string()));
    };
    let check = |more: &[&str]| {
        let mut command = terrace(&["check", "--url", registry.url()]);
        command.args(more).current_dir(directory.path());
        ended(command.env("TERRACE_TOKEN", TOKEN))
    };

    answer("deprecated");
    check(&["--strict"]).expect(3);
    let text = check(&[]).expect(0).stdout;
    assert_has!(
        text,
        "net/main.tf:2",
        "app/main.tf:2",
        // Not installed yet.
        "app/main.tf:6",
        "~> 2.0",
        "net/main.tf:9",
        "use acme/net/aws",
        "5 packages checked: 3 deprecated, 1 missing; 2 packages are not mirrored here",
    );
    answer("revoked");
    let document = check(&["--json"]).expect(3).json();
    let first = &document["packages"][0];
    assert_eq!(
        (&first["state"], &first["version"]),
        (&json!("revoked"), &json!("1.1.0"))
    );
    assert_eq!(
        first["places"],
        json!([{ "file": "app/main.tf", "line": 2 }])
    );

    let sarif: Value = serde_json::from_str(&check(&["--sarif"]).expect(3).stdout).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(
        (&result["ruleId"], &result["level"]),
        (&json!("revoked"), &json!("error"))
    );
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "app/main.tf");
    assert_eq!(place["region"]["startLine"], 2);
}

#[test]
fn nothing_to_read_is_no_failure_and_a_broken_file_is_one() {
    let registry = Registry::start();
    let directory = tempfile::tempdir().unwrap();
    let check = || {
        let mut command = terrace(&["check", "--url", registry.url()]);
        command.current_dir(directory.path());
        ended(command.env("TERRACE_TOKEN", TOKEN))
    };
    assert_has!(check().expect(0).stdout, "nothing of", registry.url());
    fs::write(directory.path().join(".terraform.lock.hcl"), "provider {").unwrap();
    assert_has!(check().expect(2).stderr, ".terraform.lock.hcl");
}
