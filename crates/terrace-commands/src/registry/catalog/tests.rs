//! Tests with the core's own types as the other side.

use serde::Serialize;
use serde_json::Value;
use terrace_core::api::details;

use super::*;

/// A package with every field.
const PACKAGE: &str = r#"{
  "kind": "module", "address": "acme/vpc/aws", "path": "/api/v1/modules/acme/vpc/aws", "latest": "1.1.0",
  "status": { "state": "deprecated", "reason": "use acme/network/aws", "at": "2023-11-15T00:00:00Z" },
  "versions": [{
    "version": "1.1.0", "published_at": "2023-11-14T22:13:20Z", "is_documented": true,
    "status": { "state": "withdrawn", "reason": "is slow", "at": "2023-11-15T00:00:00Z" },
    "source": { "url": "https://github.com/acme/vpc", "commit": "0f1e2d3c4b5a69788796a5b4c3d2e1f000112233", "claimed": true }
  }]
}"#;

/// A version with every field: those of a provider and those of a module.
const VERSION: &str = r#"{
  "kind": "module", "address": "acme/vpc/aws", "path": "/api/v1/modules/acme/vpc/aws", "latest": "1.1.0",
  "version": "1.1.0", "published_at": "2023-11-14T22:13:20Z", "is_documented": true,
  "status": { "state": "withdrawn", "reason": "is slow", "at": "2023-11-15T00:00:00Z" },
  "source": { "url": "https://github.com/acme/vpc", "commit": "0f1e2d3c4b5a69788796a5b4c3d2e1f000112233", "claimed": true },
  "package_status": { "state": "deprecated", "reason": "use acme/network/aws", "at": "2023-11-15T00:00:00Z" },
  "provenance": {
    "issuer": "https://token.actions.githubusercontent.com", "repository": "acme/vpc", "url": "https://github.com/acme/vpc",
    "commit": "0f1e2d3c4b5a69788796a5b4c3d2e1f000112233", "ref": "refs/tags/v1.1.0", "workflow": "release.yml", "run": "7"
  },
  "documentation": {
    "path": "/api/v1/modules/acme/vpc/aws/1.1.0/docs", "changed_at": "2023-11-14T22:13:20Z", "changes": 2,
    "license": "MPL-2.0", "origin": "https://github.com/acme/vpc", "notes": ["examples/big/data.json was skipped"]
  },
  "protocols": ["5.0"],
  "platforms": [{
    "os": "linux", "arch": "amd64", "filename": "terraform-provider-widget_1.1.0_linux_amd64.zip", "size": 12,
    "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  }],
  "signing_key": { "key_id": "34365D9472D7468F", "fingerprint": "C874011F0AB405110D02105534365D9472D7468F", "ascii_armor": "x" },
  "module": {
    "root": {
      "inputs": [{
        "name": "cidr", "type": "string", "default": "\"10.0.0.0/8\"", "description": "The range", "deprecated": "use ranges"
      }],
      "outputs": [{ "name": "id", "description": "The ID of the network" }],
      "resources": [{ "mode": "managed", "type": "aws_vpc", "name": "this", "provider": "aws" }],
      "providers": [{ "name": "aws", "source": "hashicorp/aws", "versions": [">= 6.0"] }],
      "required_versions": [">= 1.6"],
      "errors": ["main.tf:3: the block is not closed"],
      "is_opentofu_only": true,
      "opentofu": {
        "inputs": [{ "name": "range", "type": "string", "default": "null", "description": "The range", "deprecated": "use cidr" }],
        "outputs": [{ "name": "arn", "description": "The ARN" }],
        "resources": [{ "mode": "data", "type": "aws_vpc", "name": "this", "provider": "aws" }],
        "providers": [{ "name": "aws", "source": "hashicorp/aws", "versions": [">= 5.0"] }],
        "required_versions": [">= 1.8"],
        "errors": ["main.tofu:3: the block is not closed"],
        "is_opentofu_only": true
      }
    },
    "submodules": [{ "name": "endpoints", "errors": ["modules/endpoints/main.tf:1: the block is not closed"] }],
    "examples": [{ "name": "complete", "errors": ["examples/complete/main.tf:1: the block is not closed"] }]
  }
}"#;

const NAVIGATION: &str = r#"{
  "kind": "provider", "address": "acme/widget", "path": "/api/v1/providers/acme/widget", "version": "1.1.0",
  "documents": [{ "kind": "resources", "name": "gear", "path": "/api/v1/providers/acme/widget/1.1.0/docs/resources/gear", "size": 7 }],
  "symbols": []
}"#;

const NAMESPACES: &str = r#"{
  "namespaces": [{ "namespace": "acme", "path": "/api/v1/namespaces/acme", "modules": 1, "providers": 2 }],
  "next": "acme"
}"#;

const PACKAGES: &str = r#"{
  "namespace": "acme",
  "packages": [{
    "kind": "module", "address": "acme/vpc/aws", "path": "/api/v1/modules/acme/vpc/aws", "latest": "1.2.0",
    "published_at": "2023-11-14T22:13:20Z", "versions": 3, "state": "deprecated", "is_documented": true,
    "description": "A network"
  }],
  "next": "modules/acme/vpc/aws"
}"#;

const RESULTS: &str = r#"{
  "results": [
    {
      "type": "package", "kind": "module", "address": "acme/vpc/aws", "path": "/api/v1/modules/acme/vpc/aws",
      "latest": "1.2.0", "published_at": "2023-11-14T22:13:20Z", "versions": 3, "state": "deprecated",
      "is_documented": true, "description": "A network", "highlights": { "name": ["acme/", "vpc", "/aws"] }
    },
    {
      "type": "symbol", "kind": "resources", "name": "widget_gear", "version": "1.1.0",
      "provider": { "kind": "provider", "address": "acme/widget", "path": "/api/v1/providers/acme/widget" },
      "highlights": { "name": ["widget_", "gear"] }
    }
  ],
  "next": "0/acme"
}"#;

/// Asserts that `Command` reads only fields that `Registry` writes, and reads them unchanged.
#[track_caller]
fn assert_reads<Registry, Command>(text: &str)
where
    Registry: Serialize + DeserializeOwned,
    Command: Serialize + DeserializeOwned,
{
    let registry: Registry = serde_json::from_str(text).unwrap();
    let written = serde_json::to_value(registry).unwrap();
    let command: Command = serde_json::from_value(written.clone()).unwrap();
    let read = serde_json::to_value(command).unwrap();
    assert_within(&read, &written, "");
}

#[track_caller]
fn assert_within(read: &Value, written: &Value, place: &str) {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => {
            for (name, value) in read {
                let place = format!("{place}.{name}");
                let Some(written) = written.get(name) else {
                    panic!("{place} is not written, or not part of the sample");
                };
                assert_within(value, written, &place);
            }
        }
        (Value::Array(read), Value::Array(written)) => {
            assert!(!read.is_empty(), "the sample has nothing in {place}");
            assert_eq!(read.len(), written.len(), "{place}");
            for (read, written) in read.iter().zip(written) {
                assert_within(read, written, place);
            }
        }
        _ => assert_eq!(read, written, "{place}"),
    }
}

#[test]
fn every_field_that_the_command_reads_is_written_by_the_registry() {
    assert_reads::<details::PackageDetails, PackageDetails>(PACKAGE);
    assert_reads::<details::VersionDetails, VersionDetails>(VERSION);
    assert_reads::<details::Navigation, Navigation>(NAVIGATION);
    assert_reads::<details::NamespacePage, NamespacesPage>(NAMESPACES);
    assert_reads::<details::PackagePage, PackagesPage>(PACKAGES);
    assert_reads::<details::SearchPage, SearchPage>(RESULTS);
}

#[test]
fn fields_of_unknown_forms_count_as_missing() {
    let text = r#"{
      "status": 7, "new": {},
      "versions": [
        { "version": "1.1.0", "published_at": "2026-11-22T18:00:00Z", "status": "deprecated", "source": "x" },
        { "version": "1.0.0", "published_at": 1700000000, "is_documented": "yes",
          "status": { "state": "revoked", "reason": "leaks", "at": "2026-11-22T18:00:00Z" },
          "source": { "url": "https://git.example/x", "claimed": true, "commit": "0f1e" } }
      ]
    }"#;
    let details: PackageDetails = serde_json::from_str(text).unwrap();
    assert!(details.status.is_none() && details.latest.is_none());
    let [newer, older] = &details.versions[..] else {
        panic!("{details:?}")
    };
    assert_eq!(
        newer.published_at.as_ref().unwrap().to_string(),
        "2026-11-22"
    );
    assert!(newer.status.is_none() && newer.source.is_none());
    assert!(older.published_at.is_none() && !older.is_documented);
    assert_eq!(older.status.as_ref().unwrap().to_string(), "revoked: leaks");
    let source = older.source.as_ref().unwrap().to_string();
    assert_eq!(
        source,
        "https://git.example/x at 0f1e (claimed by the publisher)"
    );
}

#[test]
fn a_result_of_an_unknown_kind_is_left_to_a_newer_command() {
    let text = r#"{ "results": [{ "type": "template", "stars": 3 }] }"#;
    let page: SearchPage = serde_json::from_str(text).unwrap();
    assert!(
        matches!(page.results[..], [SearchResult::Unknown]),
        "{page:?}"
    );
}

#[test]
fn an_answer_without_its_list_is_malformed() {
    assert!(serde_json::from_str::<PackageDetails>("{}").is_err());
    assert!(serde_json::from_str::<SearchPage>("[]").is_err());
}
