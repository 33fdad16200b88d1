//! `terrace list`, `terrace show` and `terrace search`.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{Ended, JOB_SECRET, TOKEN, ended, terrace};

const NAMESPACES: &str = r#"{"namespaces": [
  {"namespace": "acme", "path": "/api/v1/namespaces/acme", "modules": 1, "providers": 1},
  {"namespace": "registry.opentofu.org/hashicorp", "path": "/api/v1/namespaces/registry.opentofu.org/hashicorp", "modules": 0, "providers": 31}
]}"#;

const PACKAGES: &str = r#"{
  "namespace": "acme",
  "packages": [
    { "kind": "module", "address": "acme/vpc/aws", "path": "/api/v1/modules/acme/vpc/aws", "latest": "1.2.0",
      "versions": 3, "published_at": "2023-11-14T22:13:20Z", "is_documented": true,
      "description": "A network with public and private subnets in each availability zone, and endpoints" },
    { "kind": "provider", "address": "acme/widget", "path": "/api/v1/providers/acme/widget", "latest": "10.0.1",
      "versions": 41, "published_at": "2025-11-13T02:13:20Z", "state": "deprecated", "is_documented": false,
      "description": "Manages widgets 網路\u001b[31m" }
  ],
  "later": { "than": "this command" }
}"#;

const VERSIONS: &str = r#"{
  "kind": "module", "address": "acme/vpc/aws", "path": "/api/v1/modules/acme/vpc/aws", "latest": "1.1.0",
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
        ("/api/v1/namespaces/acme?limit=100", PACKAGES),
        ("/api/v1/namespaces/acme", PACKAGES),
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

#[track_caller]
fn failed(registry: &Registry, arguments: &[&str], code: i32) -> Ended {
    ended(anonymous(registry, arguments).arg("--json")).expect(code)
}

#[test]
fn a_provider_under_another_hostname_of_the_registry_is_not_called_mirrored() {
    let registry = registry();
    for (address, kind) in [
        ("acme/widget", "provider"),
        ("other.example/acme/widget", "mirrored provider"),
    ] {
        let answer = PROVIDER.replace("\"acme/widget\"", &format!("\"{address}\""));
        let path = "/api/v1/mirror/other.example/acme/widget/1.0.0";
        registry.set(path, Response::new(200, answer));
        registry.set(&format!("{path}/docs"), Response::new(200, DOCUMENTS));
        let shown = shown(&registry, &["show", "other.example/acme/widget@1.0.0"]);
        let line = shown.lines().find(|line| line.starts_with("kind")).unwrap();
        assert_eq!(line.trim_start_matches("kind").trim(), kind);
    }
}

#[test]
fn namespaces_are_listed_with_their_numbers_of_packages() {
    let expected = "\
NAMESPACE                        MODULES  PROVIDERS
acme                             1        1
registry.opentofu.org/hashicorp  0        31
";
    assert_eq!(shown(&registry(), &["list"]), expected);
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
    registry.set("/api/v1/namespaces/acme?kind=module&limit=1", page(&first));
    registry.set("/api/v1/namespaces/acme", page(&first));
    let table = shown(&registry, &["list", "acme"]);
    assert!(
        table.contains("acme/a/aws") && table.contains("acme/b/aws"),
        "{table}"
    );
    for arguments in [
        &["list", "acme", "--json"] as &[&str],
        &["list", "acme", "--kind", "module", "--limit", "1"],
    ] {
        let ended = ended(&mut anonymous(&registry, arguments)).expect(0);
        assert_eq!(ended.stderr, "1 package; there are more: --after c=1\n");
        assert!(!ended.stdout.contains("acme/b/aws"), "{ended:?}");
    }
}

#[test]
fn json_is_that_of_the_registry() {
    let registry = registry();
    for (arguments, json) in [
        (&["list"] as &[&str], NAMESPACES),
        (&["list", "acme"], PACKAGES),
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
fn the_versions_of_a_package_are_shown_with_status_and_source() {
    let expected = "\
acme/vpc/aws
kind    module
latest  1.1.0
source  https://github.com/acme/vpc

Versions
VERSION    PUBLISHED   STATUS   DOCUMENTATION  REASON
1.2.0-rc1  2025-11-13           yes
1.1.0      2023-11-14           yes
1.0.0      2023-07-22  revoked                 contains a credential
";
    let arguments = ["show", "acme/vpc/aws", "--versions"];
    assert_eq!(shown(&registry(), &arguments), expected);
}

#[test]
fn a_package_is_shown_as_a_summary_of_its_newest_version() {
    let registry = registry();
    let host = registry.url().trim_start_matches("http://");
    let expected = format!(
        "\
acme/vpc/aws 1.1.0
VPC

  source  = \"{host}/acme/vpc/aws\"
  version = \"~> 1.1\"

published  2023-11-14
status     deprecated: use acme/network/aws
requires   Terraform or OpenTofu >= 1.6; hashicorp/aws >= 6.0
contents   2 inputs (1 required), 1 output, 1 resource, 1 data source, 1 submodule
page       http://{host}/modules/acme/vpc/aws
versions   1.2.0-rc1 (2025-11-13), 1.1.0 (2023-11-14), 1.0.0 (2023-07-22, revoked)
"
    );
    assert_eq!(shown(&registry, &["show", "acme/vpc/aws"]), expected);
    let inputs = shown(&registry, &["show", "acme/vpc/aws", "--inputs"]);
    assert!(
        inputs.starts_with("NAME  TYPE") && inputs.lines().count() == 3,
        "{inputs}"
    );

    let versions = VERSIONS.replace("modules/acme/vpc/aws", "providers/acme/widget");
    let versions = versions
        .replace("acme/vpc/aws", "acme/widget")
        .replace("1.1.0", "1.0.0");
    registry.set("/api/v1/providers/acme/widget", page(&versions));
    let provider = shown(&registry, &["show", "acme/widget"]);
    let to_paste = format!(
        "  widget = {{\n    source  = \"{host}/acme/widget\"\n    version = \"~> 1.0\"\n  }}\n"
    );
    assert!(provider.contains(&to_paste), "{provider}");
    assert!(
        provider.contains("contents   0 resources, 0 data sources, 0 functions"),
        "{provider}"
    );
}

#[test]
fn two_versions_are_compared_as_text_markdown_and_json() {
    let registry = registry();
    let old = MODULE
        .replace("1.1.0", "1.0.0")
        .replace("azs", "zones")
        .replace(">= 6.0", ">= 6.2");
    registry.set("/api/v1/modules/acme/vpc/aws/1.0.0", page(&old));
    for version in ["1.0.0", "1.1.0"] {
        let path = format!("/api/v1/modules/acme/vpc/aws/{version}/docs");
        registry.set(&path, page(DOCUMENTS));
    }
    let url = format!(
        "{}/modules/acme/vpc/aws/compare/1.1.0...1.0.0",
        registry.url()
    );
    let base = ["compare", "acme/vpc/aws", "1.1.0..1.0.0"];
    let verdict = "1 change may break configurations that work with 1.1.0.";
    let text = format!(
        "\
acme/vpc/aws 1.1.0 to 1.0.0
{verdict}
{url}

Inputs: 1 removed, 1 added
  - azs  may break
  + zones

Providers: 1 raised
  ↑ aws
      version  >= 6.0 → >= 6.2
"
    );
    assert_eq!(shown(&registry, &base), text);
    let markdown = format!(
        "\
### acme/vpc/aws 1.1.0 to 1.0.0

{verdict} [Comparison]({url})

#### Inputs: 1 removed

- `azs` removed, **may break**
"
    );
    let arguments = [&base as &[_], &["--only-breaking", "--format", "markdown"]].concat();
    assert_eq!(shown(&registry, &arguments), markdown);
    let json = shown(&registry, &[&base as &[_], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (
            &json["breaking"],
            &json["sections"][0]["changes"][0]["kind"]
        ),
        (&json!(1), &json!("removed"))
    );
}

#[test]
fn a_version_of_a_module_is_shown_with_required_inputs_first() {
    let expected = "\
acme/vpc/aws 1.1.0
kind           module
published      2023-11-14
status         deprecated: use acme/network/aws
requires       Terraform or OpenTofu >= 1.6
documentation  yes

Inputs
NAME  TYPE          DEFAULT     DESCRIPTION
cidr  string        (required)  The range of addresses
azs   list(string)  []          Availability zones

Outputs
NAME  DESCRIPTION
id    The ID of the network

Providers
NAME  SOURCE         VERSIONS
aws   hashicorp/aws  >= 6.0

Resources
TYPE        NAME     MODE
aws_vpc     this     resource
aws_region  current  data

Submodules
NAME
endpoints

Examples
NAME
simple

Notes
examples/big/data.json was skipped
main.tf:3: the block is not closed
modules/endpoints/a.tf:1: the block is not closed
examples/simple/a.tf:2: the block is not closed
";
    let registry = registry();
    for arguments in [
        &["show", "acme/vpc/aws", "1.1.0"] as &[&str],
        &["show", "acme/vpc/aws@1.1.0"],
        &["show", "acme/vpc/aws", "latest"],
    ] {
        assert_eq!(shown(&registry, arguments), expected);
    }
}

#[test]
fn a_version_of_a_provider_is_shown_with_platforms_and_pages() {
    let expected = "\
acme/widget 1.0.0
kind           provider
published      2023-11-14
protocols      5.0, 6.0
signing key    61C051AC9CA350D461C051AC9CA350D461C051AC
documentation  changed on 2025-11-13, after it was added
license        MPL-2.0

Platforms
PLATFORM     SIZE       SHA256
linux_amd64  10.00 MiB  0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

Documentation
resources     widget, gadget
data-sources  widget
";
    assert_eq!(
        shown(&registry(), &["show", "acme/widget", "1.0.0"]),
        expected
    );
}

#[test]
fn a_package_without_an_installable_version_has_no_latest() {
    let registry = registry();
    let versions = VERSIONS.replace(r#""latest": "1.1.0""#, r#""latest": null"#);
    registry.set("/api/v1/modules/acme/vpc/aws", page(&versions));
    let errors = failed(&registry, &["show", "acme/vpc/aws", "latest"], 3).errors();
    assert!(
        errors.contains("no version that can be installed"),
        "{errors}"
    );
    let errors = failed(&registry, &["show", "acme/vpc/aws@1.0.0", "--used-by"], 2).errors();
    assert!(errors.contains("leave out @1.0.0"), "{errors}");
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
    let words = [
        "search",
        "private",
        "network",
        "--namespace",
        "acme",
        "--kind",
        "module",
    ];
    let found = ended(&mut anonymous(&registry, &words)).expect(0);
    let expected = "\
KIND         NAME          PACKAGE       VERSION  STATUS      DESCRIPTION
module                     acme/vpc/aws  1.2.0    deprecated  A network
data-source  acme_network  acme/widget   1.0.0
";
    assert_eq!(found.stdout, expected);
    assert_eq!(found.stderr, "there are more results: --after 12:acme\n");

    registry.set("/api/v1/search?q=x", page(r#"{"results":[]}"#));
    registry.set("/api/v1/search?q=x&limit=20", page(r#"{"results":[]}"#));
    assert_eq!(
        shown(&registry, &["search", "x"]),
        "no results for x; packages published in the last minute or two may be missing\n"
    );
    let meant = page(r#"{"results":[],"did_you_mean":"vpc"}"#);
    registry.set("/api/v1/search?q=vcp&limit=20", meant);
    assert_eq!(
        shown(&registry, &["search", "vcp"]),
        "no results for vcp; did you mean vpc?\n"
    );
    assert_eq!(
        shown(&registry, &["search", "x", "--json"]),
        "{\"results\":[]}\n"
    );
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
    let refused = Fault::Answer(errors(401, &["a valid token is needed"]));
    private.fail("GET", "/api/v1/namespaces", refused);
    let errors = failed(&private, &["list"], 5).errors();
    assert!(errors.contains("the registry requires a token"), "{errors}");
    assert!(
        errors.contains("`terrace login`, `terraform login`"),
        "{errors}"
    );
}

#[test]
fn a_job_that_the_registry_does_not_trust_reads_without_a_token() {
    let registry = registry();
    let mut command = anonymous(&registry, &["list", "--verbose"]);
    let claims = URL_SAFE_NO_PAD.encode(format!(r#"{{"aud":"{}"}}"#, registry.url()));
    let job = format!("eyJ.{claims}.{JOB_SECRET}");
    let ended = ended(command.env("TERRACE_ID_TOKEN", job)).expect(0);
    assert!(
        ended
            .stderr
            .contains("no token is sent: the registry does not trust"),
        "{ended:?}"
    );
    assert!(registry.authorizations().is_empty());
}

#[test]
fn an_answer_that_is_not_of_a_catalogue_is_malformed() {
    let registry = Registry::start();
    registry.set("/api/v1/namespaces?limit=100", page("<html>"));
    let ended = ended(&mut anonymous(&registry, &["list"])).expect(1);
    assert!(ended.stderr.contains("malformed body"), "{ended:?}");
}
