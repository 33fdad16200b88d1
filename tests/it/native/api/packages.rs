//! Details of packages and versions.

use serde_json::json;
use terrace_base::time::UnixTime;
use terrace_core::model::status::{ReleaseState, ReleaseStatus};
use terrace_core::storage::key::IndexKey;

use crate::support::described;
use crate::support::documented::document;
use crate::support::memory::Memory;
use crate::support::registry::Sent;
use crate::support::statuses::{set_status, status_of};
use crate::support::{ModuleFixture, ProviderFixture, Registry};

const WIDGET: &str = "providers/hosted/acme/widget";
const VPC: &str = "modules/acme/vpc/aws";

/// Returns a registry with two versions of a provider and of a module, and their descriptions.
pub(in crate::native) fn published(vars: &[(&str, &str)]) -> (Memory, Registry) {
    let (memory, registry) = Registry::with_memory(vars);
    for version in ["1.0.0", "1.1.0"] {
        ProviderFixture::of("acme", "widget", version).publish(&registry);
        ModuleFixture::of("acme", version).publish(&registry);
    }
    described::describe(&memory, WIDGET, &["1.1.0", "1.0.0"]);
    described::describe(&memory, VPC, &["1.1.0", "1.0.0"]);
    (memory, registry)
}

fn revoke(memory: &Memory, key: &str, version: &str) {
    let status = ReleaseStatus {
        state: ReleaseState::Revoked,
        reason: "it deletes".parse().unwrap(),
        at: UnixTime(7),
        by: "token 0000000000000001 (secret name)".to_owned(),
    };
    described::set_status(memory, key, version, status);
}

#[test]
fn a_package_lists_its_versions_with_dates_and_statuses() {
    let (memory, registry) = published(&[]);
    revoke(&memory, WIDGET, "1.1.0");
    let response = registry.get("/api/v1/providers/acme/widget").expect(200);
    assert_eq!(
        response.json(),
        json!({
            "kind": "provider",
            "address": "acme/widget",
            "path": "/api/v1/providers/acme/widget",
            "latest": "1.0.0",
            "versions": [
                {
                    "version": "1.1.0",
                    "published_at": "2023-11-14T22:13:20Z",
                    "status": { "state": "revoked", "reason": "it deletes", "at": "1970-01-01T00:00:07Z" },
                    "is_documented": true,
                },
                { "version": "1.0.0", "published_at": "2023-11-14T22:13:20Z", "is_documented": true },
            ],
        })
    );
}

#[test]
fn a_version_of_a_provider_has_its_platforms_with_hashes_and_its_signing_key() {
    let (_, registry) = published(&[]);
    let details = registry.read("/api/v1/providers/acme/widget/1.0.0");
    let fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    let description = fixture.description();
    let expected = description["packages"].as_array().unwrap();
    let platforms = details["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), expected.len());
    for (platform, expected) in platforms.iter().zip(expected) {
        for field in ["os", "arch", "filename", "sha256", "size", "h1"] {
            assert_eq!(platform[field], expected[field], "{field}");
        }
    }
    let key = &details["signing_key"];
    let (fingerprint, id) = (
        key["fingerprint"].as_str().unwrap(),
        key["key_id"].as_str().unwrap(),
    );
    assert!(fingerprint.to_uppercase().ends_with(id), "{key}");
    assert_eq!(details["protocols"], description["protocols"]);
    assert_eq!(details["latest"], "1.1.0");
    assert_eq!(
        details["documentation"]["notes"][0],
        "docs/old.md is not UTF-8: skipped"
    );
    assert_eq!(
        details["documentation"]["path"],
        "/api/v1/providers/acme/widget/1.0.0/docs"
    );
}

#[test]
fn a_hosted_provider_under_the_registrys_own_hostname_is_the_same_package() {
    let (_, registry) = published(&[]);
    let [own, hosted] = ["mirror/registry.test", "providers"].map(|start| {
        let path = format!("/api/v1/{start}/acme/widget/1.0.0");
        registry.read(&path)
    });
    assert_eq!(own, hosted);
}

#[test]
fn latest_redirects_to_the_newest_version_that_can_be_installed() {
    let (memory, registry) = published(&[]);
    let location = |path: &str| {
        let response = registry.get(path).expect(302);
        response.header("location").unwrap().to_owned()
    };
    let widget = "/api/v1/providers/acme/widget";
    assert_eq!(
        location(&format!("{widget}/latest")),
        format!("{widget}/1.1.0")
    );
    revoke(&memory, WIDGET, "1.1.0");
    for rest in ["", "/docs", "/docs/resources/widget", "/docs/overview"] {
        let expected = format!("{widget}/1.0.0{rest}");
        assert_eq!(location(&format!("{widget}/latest{rest}")), expected);
    }
    assert_eq!(
        location("/v1/providers/acme/widget"),
        "/v1/providers/acme/widget/1.0.0"
    );
    assert_eq!(
        location("/v1/modules/acme/vpc/aws"),
        "/v1/modules/acme/vpc/aws/1.1.0"
    );
    revoke(&memory, WIDGET, "1.0.0");
    registry.get(&format!("{widget}/latest")).expect(404);
}

#[test]
fn a_navigation_lists_the_documents_that_can_be_read() {
    let (_, registry) = published(&[]);
    for package in ["providers/acme/widget", "modules/acme/vpc/aws"] {
        let path = format!("/api/v1/{package}/1.0.0/docs");
        let navigation = registry.read(&path);
        let documents = navigation["documents"].as_array().unwrap();
        assert!(documents.len() > 1, "{navigation}");
        for document in documents {
            let path = document["path"].as_str().unwrap();
            let text = registry.get(path).expect(200).text();
            assert_eq!(document["size"], text.len(), "{path}");
        }
    }
    let path = "/api/v1/providers/acme/widget/1.0.0/docs";
    let navigation = registry.read(path);
    assert_eq!(
        navigation["symbols"],
        json!([{ "kind": "resources", "name": "acme_widget", "path": format!("{path}/resources/widget") }])
    );
}

#[test]
fn a_composed_answer_is_304_until_one_of_its_indices_changes() {
    let (memory, registry) = published(&[]);
    for path in [
        "/api/v1/providers/acme/widget",
        "/api/v1/providers/acme/widget/1.0.0",
        "/v1/providers/acme/widget/1.0.0",
    ] {
        let etag = registry.get(path).etag();
        let again = || registry.send(&Sent::new("GET", path).header("if-none-match", &etag));
        let unchanged = again().expect(304);
        assert_eq!(unchanged.header("etag"), Some(etag.as_str()));
        assert_eq!(unchanged.header("cache-control"), Some("no-cache"));
        described::describe(&memory, WIDGET, &["1.0.0"]);
        again().expect(200);
        described::describe(&memory, WIDGET, &["1.1.0", "1.0.0"]);
        again().expect(304);
    }
}

#[test]
fn a_condition_that_every_answer_meets_hides_no_error() {
    let (memory, registry) = published(&[]);
    revoke(&memory, VPC, "1.0.0");
    for (path, status) in [
        ("/api/v1/modules/acme/vpc/aws", 304),
        ("/v1/modules/acme/vpc/aws/1.1.0", 304),
        ("/v1/modules/acme/vpc/aws/1.0.0", 410),
        ("/v1/modules/acme/vpc/aws/9.9.9", 404),
        ("/api/v1/modules/acme/nothing/aws", 404),
        ("/api/v1/modules/acme/vpc/aws/latest", 302),
        ("/api/v1/modules/acme/vpc/aws/1.1.0/docs/readme", 304),
        (
            "/api/v1/modules/acme/vpc/aws/1.1.0/docs/examples/simple/main.tf",
            304,
        ),
        ("/api/v1/modules/acme/vpc/aws/1.1.0/docs/examples/none", 404),
        ("/api/v1/modules/acme/vpc/aws/9.9.9/docs/readme", 404),
    ] {
        let sent = Sent::new("GET", path).header("if-none-match", "*");
        let response = registry.send(&sent);
        assert_eq!(response.status, status, "{path}: {}", response.text());
    }
    let about = "modules/acme/vpc/aws/about/1.1.0";
    described::put(&memory, &IndexKey::parse(about).unwrap(), "{".to_owned());
    let sent = Sent::new("GET", "/api/v1/modules/acme/vpc/aws/1.1.0");
    let rebuilt = registry.send(&sent.header("if-none-match", "*"));
    rebuilt.expect(304);
    assert_ne!(memory.index(about).text, "{");
}

#[test]
fn a_revoked_version_is_described_without_platforms() {
    let (memory, registry) = published(&[]);
    let path = "/admin/v1/providers/acme/widget/1.0.0/status";
    let body = br#"{"state": "revoked", "reason": "it deletes"}"#;
    let changed = registry.admin("PUT", path, Some(body));
    assert!(changed.status < 300, "{}", changed.text());
    described::describe(&memory, WIDGET, &["1.1.0", "1.0.0"]);
    revoke(&memory, WIDGET, "1.0.0");
    let details = registry.read("/api/v1/providers/acme/widget/1.0.0");
    assert_eq!(details["status"]["state"], "revoked");
    assert_eq!(details.get("platforms"), None);
    registry.get("/v1/providers/acme/widget/1.0.0").expect(410);
    revoke(&memory, VPC, "1.0.0");
    registry.get("/v1/modules/acme/vpc/aws/1.0.0").expect(410);
}

#[test]
fn the_details_of_a_module_have_the_shape_of_the_public_registry() {
    let (_, registry) = published(&[]);
    let details = registry.read("/v1/modules/acme/vpc/aws/1.0.0");
    let root = &details["root"];
    assert_eq!(details["id"], "acme/vpc/aws/1.0.0");
    assert_eq!(details["description"], "A virtual private cloud.");
    assert_eq!(details["versions"], json!(["1.0.0", "1.1.0"]));
    assert_eq!(details["providers"], json!(["aws"]));
    assert_eq!(
        root["inputs"],
        json!([
            { "name": "cidr", "type": "string", "description": "The range.", "default": "", "required": true },
            { "name": "tags", "type": "map(string)", "description": "", "default": "{}", "required": false },
            { "name": "zones", "type": "any", "description": "", "default": "[\"a\", \"b\"]", "required": false },
        ])
    );
    assert_eq!(
        root["outputs"],
        json!([{ "name": "id", "description": "The ID." }])
    );
    assert_eq!(
        root["resources"],
        json!([{ "name": "this", "type": "aws_vpc" }])
    );
    assert_eq!(
        root["provider_dependencies"],
        json!([{ "name": "aws", "namespace": "hashicorp", "source": "hashicorp/aws", "version": ">= 5.0, < 7.0" }])
    );
    assert_eq!(
        root["dependencies"],
        json!([{ "name": "subnets", "source": "./modules/subnets", "version": "" }])
    );
    assert_eq!(details["submodules"][0]["path"], "modules/subnets");
    assert_eq!(details["examples"][0]["path"], "examples/simple");
}

#[test]
fn the_details_of_a_provider_have_the_shape_of_the_public_registry() {
    let (_, registry) = published(&[]);
    let details = registry.read("/v1/providers/acme/widget/1.0.0");
    assert_eq!(details["id"], "acme/widget/1.0.0");
    assert_eq!(details["description"], "Widgets of Acme.");
    assert_eq!(details["published_at"], "2023-11-14T22:13:20Z");
    assert_eq!(
        details["docs"][1],
        json!({
            "id": "resources/widget",
            "title": "acme_widget",
            "path": "docs/resources/widget.md",
            "slug": "widget",
            "category": "resources",
            "subcategory": "Widgets",
            "language": "hcl",
        })
    );
}

#[test]
fn an_undocumented_version_is_described() {
    let (memory, registry) = published(&[]);
    let text = r#"{"published_at":1700000000}"#;
    memory.put_index("modules/acme/vpc/aws/about/1.0.0", text);
    let details = registry.read("/v1/modules/acme/vpc/aws/1.0.0");
    assert_eq!(details["root"]["empty"], true);
    let details = registry.read("/api/v1/modules/acme/vpc/aws/1.0.0");
    assert_eq!(details["is_documented"], false);
    let navigation = registry.read("/api/v1/modules/acme/vpc/aws/1.0.0/docs");
    assert_eq!(navigation["documents"], json!([]));
    registry
        .get("/api/v1/modules/acme/vpc/aws/1.0.0/docs/readme")
        .expect(404);
}

#[test]
fn a_package_is_used_by_the_modules_whose_newest_installable_version_calls_it() {
    let (memory, registry) = Registry::with_memory(&[("TERRACE_HOSTNAMES", "modules.example.com")]);
    let calling = |namespace: &str, source: &str| {
        let calls = json!([{ "name": "x", "source": source }]);
        let providers = json!([{ "name": "aws", "source": "hashicorp/aws" }]);
        let root = json!({ "calls": calls, "providers": providers });
        let head = json!({ "schema": 1, "contents": { "module": { "root": root } } });
        let package = format!("modules/{namespace}/vpc/aws");
        document(&memory, &package, "1.0.0", &head);
        ModuleFixture::of(namespace, "1.0.0").publish(&registry);
    };
    calling("one", "registry.test/acme/vpc/aws//modules/x");
    calling("two", "modules.example.com/acme/vpc/aws");
    calling("three", "acme/vpc/aws");
    registry.merge_catalog();
    let users = |address: &str| {
        let page = registry.read(&format!("/api/v1/{address}/used-by"));
        let packages = page["packages"].as_array().unwrap().iter();
        let namespaces = packages.map(|it| it["address"].as_str().unwrap().split('/').next());
        namespaces
            .map(|it| it.unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(users("modules/acme/vpc/aws"), ["one", "two"]);
    // After the first answer of a minute, the registry looks whether the catalogue is current.
    memory.forget_operations();
    users("modules/acme/vpc/aws");
    assert_eq!(memory.operations(), ["KV get merged-catalog/1"]);
    let aws = "mirror/registry.opentofu.org/hashicorp/aws";
    assert_eq!(users(aws), ["one", "three", "two"]);
    set_status(
        &registry,
        &status_of("modules/one/vpc/aws/1.0.0"),
        "revoked",
    )
    .expect(200);
    let body = json!({ "package": "three/vpc/aws", "version": "1.0.0", "reason": "a test" });
    let erased = registry.admin(
        "POST",
        "/admin/v1/erasures",
        Some(body.to_string().as_bytes()),
    );
    erased.expect(200);
    registry.merge_catalog();
    assert_eq!(users(aws), ["two"]);
    assert_eq!(users("modules/acme/vpc/aws"), ["two"]);
}
