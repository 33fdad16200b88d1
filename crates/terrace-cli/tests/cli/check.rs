//! `terrace check`.

use std::fs;

use serde_json::{Value, json};

use super::support::http::Response;
use super::support::registry::Registry;
use super::support::{TOKEN, ended, terrace};

/// A configuration with a lock file, installed modules in one directory, and only calls in another.
fn configuration(host: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "app/.terraform.lock.hcl",
        &format!(
            "provider \"{host}/acme/widget\" {{\n  version = \"1.0.0\"\n}}\n\nprovider \"registry.terraform.io/hashicorp/aws\" {{\n  version = \"6.1.0\"\n}}\n"
        ),
    );
    write(
        "app/main.tf",
        &format!(
            "module \"vpc\" {{\n  source = \"{host}/acme/vpc/aws//modules/x\"\n  version = \"~> 1.0\"\n}}\nmodule \"new\" {{\n  source = \"{host}/acme/vpc/aws\"\n  version = \"1.3.0\"\n}}\n"
        ),
    );
    let installed = json!({ "Modules": [
        { "Key": "", "Source": "", "Dir": "." },
        { "Key": "vpc", "Source": format!("{host}/acme/vpc/aws//modules/x"), "Version": "1.1.0", "Dir": ".terraform/modules/vpc" },
        { "Key": "other", "Source": "registry.terraform.io/other/vpc/aws", "Version": "1.1.0", "Dir": ".terraform/modules/other" },
    ] });
    write(
        "app/.terraform/modules/modules.json",
        &installed.to_string(),
    );
    write(
        "net/main.tf",
        &format!(
            "module \"vpc\" {{\n  source  = \"{host}/acme/vpc/aws\"\n  version = \"= 1.0.0\"\n}}\nmodule \"local\" {{\n  source = \"./x\"\n}}\nmodule \"app\" {{\n  source = \"{host}/acme/app/aws\"\n  version = \"~> 2.0\"\n}}\n"
        ),
    );
    directory
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
    assert!(text.contains("net/main.tf:2"), "{text}");
    assert!(text.contains("app/main.tf:2"), "{text}");
    assert!(text.contains("app/main.tf:6"), "not installed yet: {text}");
    assert!(text.contains("~> 2.0"), "{text}");
    assert!(text.contains("net/main.tf:9"), "{text}");
    assert!(text.contains("use acme/net/aws"), "{text}");
    assert!(
        text.contains(
            "5 packages checked: 3 deprecated, 1 missing; 2 packages are not mirrored here"
        ),
        "{text}"
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
        ended(
            command
                .current_dir(directory.path())
                .env("TERRACE_TOKEN", TOKEN),
        )
    };
    assert!(
        check()
            .expect(0)
            .stdout
            .contains("nothing of this registry")
    );
    fs::write(directory.path().join(".terraform.lock.hcl"), "provider {").unwrap();
    assert!(check().expect(2).stderr.contains(".terraform.lock.hcl"));
}
