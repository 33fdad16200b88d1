//! `terrace list`, `terrace show` and `terrace search`.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::support::http::Response;
use super::support::registry::Registry;
use super::support::{JOB_SECRET, TOKEN, assert_has, assert_lacks, ended, terrace, words};

const NAMESPACES: &str = r#"{"namespaces": [
  {"namespace": "acme", "path": "/api/v1/namespaces/acme", "modules": 1, "providers": 1},
  {"namespace": "registry.opentofu.org/hashicorp", "path": "/api/v1/namespaces/registry.opentofu.org/hashicorp", "modules": 0, "providers": 31}
]}"#;

const VERSIONS: &str = r#"{
  "kind": "module", "address": "acme/vpc/aws", "path": "/api/v1/modules/acme/vpc/aws", "latest": "1.1.0",
  "later": { "than": "this command" },
  "versions": [
    { "version": "1.2.0-rc1", "published_at": "2025-11-13T02:13:20Z", "is_documented": true },
    { "version": "1.1.0", "published_at": "2023-11-14T22:13:20Z", "is_documented": true,
      "source": { "url": "https://github.com/acme/vpc", "claimed": true } },
    { "version": "1.0.0", "published_at": "2023-07-22T04:26:40Z", "is_documented": false,
      "status": { "state": "revoked", "reason": "contains a credential", "at": "2023-07-23T00:00:00Z" } }
  ]
}"#;

const MODULE: &str = r#"{
  "kind": "module", "address": "acme/vpc/aws", "path": "/api/v1/modules/acme/vpc/aws", "version": "1.1.0",
  "published_at": "2023-11-14T22:13:20Z", "is_documented": true, "latest": "1.1.0",
  "status": { "state": "deprecated", "reason": "use acme/network/aws", "at": "2023-11-15T00:00:00Z" },
  "documentation": {
    "path": "/api/v1/modules/acme/vpc/aws/1.1.0/docs", "changed_at": "2023-11-14T22:13:20Z", "changes": 0,
    "notes": ["examples/big/data.json was skipped"]
  },
  "module": {
    "root": {
      "readme": "VPC",
      "inputs": [
        { "name": "azs", "type": "list(string)", "default": "[]", "description": "Availability zones" },
        { "name": "cidr", "type": "string", "description": "The range of addresses" }
      ],
      "outputs": [{ "name": "id", "description": "The ID of the network" }],
      "resources": [{ "mode": "managed", "type": "aws_vpc", "name": "this", "provider": "aws" },
                    { "mode": "data", "type": "aws_region", "name": "current", "provider": "aws" }],
      "providers": [{ "name": "aws", "source": "hashicorp/aws", "versions": [">= 6.0"] }],
      "required_versions": [">= 1.6"],
      "errors": ["main.tf:3: the block is not closed"]
    },
    "submodules": [{ "name": "endpoints", "errors": ["modules/endpoints/a.tf:1: the block is not closed"] }],
    "examples": [{ "name": "simple", "errors": ["examples/simple/a.tf:2: the block is not closed"] }]
  }
}"#;

const PROVIDER: &str = r#"{
  "kind": "provider", "address": "acme/widget", "path": "/api/v1/providers/acme/widget", "version": "1.0.0",
  "published_at": "2023-11-14T22:13:20Z", "is_documented": true, "latest": "1.0.0", "protocols": ["5.0", "6.0"],
  "platforms": [{ "os": "linux", "arch": "amd64", "filename": "terraform-provider-widget_1.0.0_linux_amd64.zip", "size": 10485760,
                  "sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" }],
  "signing_key": { "key_id": "61C051AC9CA350D4", "fingerprint": "61C051AC9CA350D461C051AC9CA350D461C051AC", "ascii_armor": "" },
  "documentation": {
    "path": "/api/v1/providers/acme/widget/1.0.0/docs", "license": "MPL-2.0", "changes": 2, "changed_at": "2025-11-13T02:13:20Z"
  }
}"#;

const DOCUMENTS: &str = r#"{
  "kind": "provider", "address": "acme/widget", "path": "/api/v1/providers/acme/widget", "version": "1.0.0", "symbols": [],
  "documents": [
    { "kind": "resources", "name": "widget", "path": "/api/v1/providers/acme/widget/1.0.0/docs/resources/widget", "size": 10 },
    { "kind": "resources", "name": "gadget", "path": "/api/v1/providers/acme/widget/1.0.0/docs/resources/gadget", "size": 10 },
    { "kind": "data-sources", "name": "widget", "path": "/api/v1/providers/acme/widget/1.0.0/docs/data-sources/widget", "size": 10 }
  ]
}"#;

fn page(json: &str) -> Response {
    Response::new(200, json)
}

/// Returns a registry with a catalogue, which everyone may read.
fn registry() -> Registry {
    let registry = Registry::start();
    for (target, json) in [
        ("/api/v1/namespaces?limit=100", NAMESPACES),
        ("/api/v1/namespaces", NAMESPACES),
        ("/api/v1/modules/acme/vpc/aws", VERSIONS),
        ("/api/v1/modules/acme/vpc/aws/1.1.0", MODULE),
        ("/api/v1/providers/acme/widget/1.0.0", PROVIDER),
        ("/api/v1/providers/acme/widget/1.0.0/docs", DOCUMENTS),
    ] {
        registry.set(target, page(json));
    }
    registry
}

/// Returns a command of a user without a token.
fn anonymous(registry: &Registry, arguments: &[&str]) -> Command {
    let mut command = terrace(arguments);
    command.args(["--url", registry.url(), "--retries", "0"]);
    command
}

#[track_caller]
fn shown(registry: &Registry, arguments: &[&str]) -> String {
    let ended = ended(&mut anonymous(registry, arguments)).expect(0);
    assert!(ended.stderr.is_empty(), "{ended:?}");
    ended.stdout
}

#[test]
fn a_list_for_people_has_all_pages_and_one_for_programs_has_one() {
    let registry = Registry::start();
    let page_of = |name: &str, next: Option<&str>| {
        let package = json!({ "kind": "module", "address": name, "path": "", "latest": "1.0.0", "versions": 1,
                              "is_documented": false, "description": "" });
        json!({ "namespace": "acme", "packages": [package], "next": next }).to_string()
    };
    let first = page_of("acme/a/aws", Some("c=1"));
    let second = page_of("acme/b/aws", None);
    registry.set("/api/v1/namespaces/acme?limit=100", page(&first));
    registry.set(
        "/api/v1/namespaces/acme?limit=100&after=c%3D1",
        page(&second),
    );
    registry.set("/api/v1/namespaces/acme?kind=modules&limit=1", page(&first));
    registry.set("/api/v1/namespaces/acme", page(&first));
    let table = shown(&registry, &["list", "acme"]);
    assert_has!(table, "acme/a/aws", "acme/b/aws");
    for arguments in [
        &["list", "acme", "--json"] as &[&str],
        &["list", "acme", "--kind", "modules", "--limit", "1"],
    ] {
        let ended = ended(&mut anonymous(&registry, arguments)).expect(0);
        assert_eq!(ended.stderr, "1 package; there are more: --after c=1\n");
        assert_lacks!(ended.stdout, "acme/b/aws");
    }
}

#[test]
fn json_is_that_of_the_registry() {
    let registry = registry();
    for (arguments, json) in [
        (&["list"] as &[&str], NAMESPACES),
        (&["show", "acme/vpc/aws"], VERSIONS),
        (&["show", "acme/vpc/aws", "--inputs"], MODULE),
        (&["show", "acme/vpc/aws", "1.1.0"], MODULE),
        (&["show", "acme/widget@1.0.0"], PROVIDER),
    ] {
        let printed = shown(&registry, &[arguments, &["--json"]].concat());
        assert_eq!(printed, format!("{json}\n"), "{arguments:?}");
    }
}

#[test]
fn a_package_and_its_versions_are_shown() {
    let registry = registry();
    let host = registry.url().trim_start_matches("http://");
    let source = format!("source  = \"{host}/acme/vpc/aws\"");
    let of_page = format!("http://{host}/modules/acme/vpc/aws");
    let of_provider = VERSIONS.replace("modules/acme/vpc/aws", "providers/acme/widget");
    let of_provider = of_provider.replace("acme/vpc/aws", "acme/widget");
    let of_provider = of_provider.replace("1.1.0", "1.0.0");
    registry.set("/api/v1/providers/acme/widget", page(&of_provider));
    let (module, widget) = ("acme/vpc/aws", "acme/widget");
    let of_version = [
        "deprecated: use acme/network/aws",
        "Terraform or OpenTofu >= 1.6",
        "(required)",
        "hashicorp/aws",
        "aws_region",
        "endpoints",
        "simple",
        "examples/big/data.json was skipped",
        "modules/endpoints/a.tf:1: the block is not closed",
    ];
    for (arguments, parts) in [
        (
            &["show", module][..],
            &[
                &*source,
                "version = \"~> 1.1\"",
                "2 inputs (1 required)",
                "1.0.0 (2023-07-22, revoked)",
                &of_page,
            ][..],
        ),
        (
            &["show", module, "--versions"],
            &["https://github.com/acme/vpc", "contains a credential"],
        ),
        (&["show", module, "1.1.0"], &of_version),
        (&["show", "acme/vpc/aws@1.1.0"], &of_version),
        (&["show", module, "latest"], &of_version),
        (
            &["show", widget],
            &["widget = {", "0 resources, 0 data sources, 0 functions"],
        ),
        (
            &["show", widget, "1.0.0"],
            &[
                "5.0, 6.0",
                "61C051AC9CA350D461C051AC9CA350D461C051AC",
                "changed on 2025-11-13",
                "linux_amd64  10.00 MiB",
                "widget, gadget",
            ],
        ),
    ] {
        let shown = shown(&registry, arguments);
        for part in parts {
            assert_has!(shown, part);
        }
    }
    let inputs = shown(&registry, &["show", module, "--inputs"]);
    let names = inputs.lines().map(|line| line.split(' ').next().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["NAME", "cidr", "azs"]);
}

#[test]
fn two_versions_are_compared_as_text_markdown_and_json() {
    let registry = registry();
    let old = MODULE
        .replace("1.1.0", "1.0.0")
        .replace("azs", "zones")
        .replace(r#""default": "[]", "#, "")
        .replace(">= 6.0", ">= 6.2");
    registry.set("/api/v1/modules/acme/vpc/aws/1.0.0", page(&old));
    for version in ["1.0.0", "1.1.0"] {
        let path = format!("/api/v1/modules/acme/vpc/aws/{version}/docs");
        registry.set(&path, page(DOCUMENTS));
    }
    let compare = |more: &[&str]| {
        let base = ["compare", "acme/vpc/aws", "1.1.0..1.0.0"];
        shown(&registry, &[&base[..], more].concat())
    };
    assert_has!(
        compare(&[]),
        "2 changes may break",
        "/compare/1.1.0...1.0.0",
        "- azs  may break",
        "+ zones  may break\n      type         list(string)\n      required     yes\n",
        ">= 6.0 → >= 6.2",
    );
    let markdown = compare(&["--only-breaking", "--format", "markdown"]);
    let added = "- `zones` added, **may break**: type `list(string)`; required `yes`; ";
    assert_has!(markdown, "\n\n- `azs` removed, **may break**\n", added);
    let json: serde_json::Value = serde_json::from_str(&compare(&["--json"])).unwrap();
    assert_eq!(json["breaking"], 2);
    assert_eq!(json["sections"][0]["changes"][0]["kind"], "removed");
}

#[test]
fn a_search_sends_all_words_and_shows_packages_and_symbols() {
    let registry = Registry::start();
    let provider = json!({ "kind": "provider", "address": "acme/widget", "path": "/api/v1/providers/acme/widget" });
    let results = json!({ "results": [
        { "type": "package", "kind": "module", "address": "acme/vpc/aws", "path": "/api/v1/modules/acme/vpc/aws",
          "latest": "1.2.0", "versions": 3, "is_documented": true, "description": "A network",
          "state": "deprecated", "highlights": { "name": ["acme/", "vpc", "/aws"] } },
        { "type": "symbol", "kind": "data-sources", "name": "acme_network", "provider": provider, "version": "1.0.0",
          "highlights": { "name": ["acme_", "network"] } },
    ], "next": "12:acme" });
    let target = "/api/v1/search?q=private%20network&namespace=acme&kind=module&limit=20";
    registry.set(target, page(&results.to_string()));
    let line = words("search private network --namespace acme --kind module");
    let found = ended(&mut anonymous(&registry, &line)).expect(0);
    let lines = ["acme/vpc/aws  1.2.0", "\ndata-sources  acme_network"];
    assert_has!(found.stdout, lines[0], lines[1]);
    assert_has!(found.stderr, "--after 12:acme");
    let none = r#"{"results":[],"did_you_mean":"vpc"}"#;
    for target in ["/api/v1/search?q=vcp&limit=20", "/api/v1/search?q=vcp"] {
        registry.set(target, page(none));
    }
    assert_has!(shown(&registry, &["search", "vcp"]), "did you mean vpc?");
    let json = shown(&registry, &["search", "vcp", "--json"]);
    assert_eq!(json.trim_end(), none);
}

#[test]
fn a_package_without_an_installable_version_has_no_latest() {
    let registry = registry();
    let versions = VERSIONS.replace(r#""latest": "1.1.0""#, r#""latest": null"#);
    registry.set("/api/v1/modules/acme/vpc/aws", page(&versions));
    let show = |line: &str| ended(anonymous(&registry, &words(line)).arg("--json"));
    show("show acme/vpc/aws latest").fails(3, "no version that can be installed");
    show("show acme/vpc/aws@1.0.0 --used-by").fails(2, "leave out @1.0.0");
}

#[test]
fn a_public_registry_is_read_without_a_token_and_a_private_one_asks_for_it() {
    let registry = registry();
    shown(&registry, &["list"]);
    assert!(registry.authorizations().is_empty());
    let mut command = anonymous(&registry, &["list"]);
    ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0);
    assert_eq!(registry.authorizations(), [format!("Bearer {TOKEN}")]);

    let private = Registry::start();
    private.refuse(
        "GET",
        "/api/v1/namespaces",
        401,
        &["a valid token is needed"],
    );
    let refused = ended(anonymous(&private, &["list"]).arg("--json"));
    refused.fails(5, "the registry requires a token");
}

#[test]
fn a_job_that_the_registry_does_not_trust_reads_without_a_token() {
    let registry = registry();
    let mut command = anonymous(&registry, &["list", "--verbose"]);
    let claims = URL_SAFE_NO_PAD.encode(format!(r#"{{"aud":"{}"}}"#, registry.url()));
    let job = format!("eyJ.{claims}.{JOB_SECRET}");
    let ended = ended(command.env("TERRACE_ID_TOKEN", job)).expect(0);
    let told = "no token is sent: the registry does not trust";
    assert_has!(ended.stderr, told);
    assert!(registry.authorizations().is_empty());
}
