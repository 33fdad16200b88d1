//! `terrace list`, `terrace show` and `terrace search`.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde_json::json;
use terrace_core::api::details;

use super::support::http::Response;
use super::support::registry::{Registry, errors};
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
        ("/api/v1/namespaces?limit=1", NAMESPACES),
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
fn the_answers_of_these_tests_have_the_forms_of_the_registry() {
    #[track_caller]
    fn parse<T: DeserializeOwned>(text: &str) {
        let parsed: Result<T, _> = serde_json::from_str(text);
        parsed.map(drop).unwrap();
    }
    parse::<details::NamespacePage>(NAMESPACES);
    parse::<details::PackagePage>(PACKAGES);
    parse::<details::PackageDetails>(VERSIONS);
    parse::<details::VersionDetails>(MODULE);
    parse::<details::VersionDetails>(PROVIDER);
    parse::<details::Navigation>(DOCUMENTS);
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
fn packages_of_a_namespace_are_listed_whole_for_a_pipe() {
    let expected = "\
PACKAGE       KIND      LATEST  VERSIONS  PUBLISHED   STATUS      DESCRIPTION
acme/vpc/aws  module    1.2.0   3         2023-11-14              A network with public and private subnets in each availability zone, and endpoints
acme/widget   provider  10.0.1  41        2025-11-13  deprecated  Manages widgets 網路\\u{1b}[31m
";
    assert_eq!(shown(&registry(), &["list", "Acme"]), expected);
}

#[test]
fn a_narrow_terminal_cuts_descriptions_and_leaves_columns_out() {
    let registry = registry();
    let at = |columns: &str| {
        let mut command = anonymous(&registry, &["list", "acme"]);
        ended(command.env("COLUMNS", columns)).expect(0).stdout
    };
    assert_eq!(
        at("80"),
        "PACKAGE       KIND      LATEST  PUBLISHED   STATUS      DESCRIPTION\n\
         acme/vpc/aws  module    1.2.0   2023-11-14              A network with public a…\n\
         acme/widget   provider  10.0.1  2025-11-13  deprecated  Manages widgets 網路\\u{…\n"
    );
    assert_eq!(
        at("60"),
        "PACKAGE       LATEST  STATUS      DESCRIPTION\n\
         acme/vpc/aws  1.2.0               A network with public and…\n\
         acme/widget   10.0.1  deprecated  Manages widgets 網路\\u{1b…\n"
    );
}

#[test]
fn a_list_for_people_has_all_pages_and_one_for_programs_has_one() {
    let registry = Registry::start();
    let package = |name: &str| json!({ "kind": "module", "address": name, "latest": "1.0.0" });
    let first = json!({ "packages": [package("acme/a/aws")], "next": "c=1" }).to_string();
    let second = json!({ "packages": [package("acme/b/aws")] }).to_string();
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
fn a_list_after_its_last_entry_says_that_it_ends_before() {
    let registry = Registry::start();
    let none = json!({ "packages": [] }).to_string();
    registry.set("/api/v1/namespaces/acme?limit=100&after=z", page(&none));
    let text = shown(&registry, &["list", "acme", "--after", "z"]);
    assert_eq!(text, "there is no package after z: the list ends before\n");
}

#[test]
fn json_is_that_of_the_registry() {
    let registry = registry();
    for (arguments, json) in [
        (&["list"] as &[&str], NAMESPACES),
        (&["list", "acme"], PACKAGES),
        (&["show", "acme/vpc/aws"], VERSIONS),
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

Versions
VERSION    PUBLISHED   STATUS   DOCUMENTATION  REASON                 SOURCE
1.2.0-rc1  2025-11-13           yes
1.1.0      2023-11-14           yes                                   https://github.com/acme/vpc (claimed by the publisher)
1.0.0      2023-07-22  revoked                 contains a credential
";
    assert_eq!(shown(&registry(), &["show", "acme/vpc/aws"]), expected);
}

#[test]
fn a_module_whose_files_differ_is_shown_as_each_client_reads_it() {
    let opentofu = r#""errors": [], "opentofu": {
        "inputs": [{ "name": "azs", "type": "list(string)", "default": "[]", "description": "Availability zones" },
                   { "name": "passphrase" }],
        "outputs": [{ "name": "id", "description": "The ID of the network" }]
      } },
      "submodules""#;
    let (start, rest) = MODULE.split_once(r#""errors": ["main"#).unwrap();
    let (_, end) = rest.split_once(r#""submodules""#).unwrap();
    let module = format!("{start}{opentofu}{end}");
    let registry = registry();
    registry.set("/api/v1/modules/acme/vpc/aws/1.1.0", page(&module));
    let text = shown(&registry, &["show", "acme/vpc/aws", "1.1.0"]);
    for line in [
        "requires       Terraform >= 1.6; OpenTofu\n",
        "cidr (Terraform)       string        (required)  The range of addresses\n",
        "passphrase (OpenTofu)  any           (required)\n",
        "azs                    list(string)  []          Availability zones\n",
        "aws (Terraform)  hashicorp/aws  >= 6.0\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
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
fn the_latest_version_is_the_newest_that_can_be_installed() {
    let registry = Registry::start();
    let version = |version: &str, state: Option<&str>| {
        let status = state.map(|state| json!({ "state": state, "reason": "x" }));
        json!({ "version": version, "status": status })
    };
    for (versions, newest) in [
        (
            json!([version("2.0.0-rc1", None), version("1.0.0", None)]),
            "1.0.0",
        ),
        (
            json!([
                version("2.0.0", Some("revoked")),
                version("1.0.0", Some("deprecated"))
            ]),
            "1.0.0",
        ),
        (json!([version("2.0.0-rc1", None)]), "2.0.0-rc1"),
    ] {
        let list = json!({ "versions": versions }).to_string();
        registry.set("/api/v1/providers/acme/widget", page(&list));
        let details = json!({ "version": newest }).to_string();
        registry.set(
            &format!("/api/v1/providers/acme/widget/{newest}"),
            page(&details),
        );
        let table = shown(&registry, &["show", "acme/widget", "latest"]);
        assert!(
            table.starts_with(&format!("acme/widget {newest}\n")),
            "{table}"
        );
    }
    let list = json!({ "versions": [version("1.0.0", Some("revoked"))] }).to_string();
    registry.set("/api/v1/providers/acme/widget", page(&list));
    let errors = failed(&registry, &["show", "acme/widget", "latest"], 3).errors();
    assert!(
        errors.contains("no version that can be installed"),
        "{errors}"
    );
}

#[test]
fn a_search_sends_all_words_and_shows_packages_and_symbols() {
    let registry = Registry::start();
    let provider = json!({ "kind": "provider", "address": "acme/widget", "path": "/api/v1/providers/acme/widget" });
    let results = json!({ "results": [
        { "type": "package", "kind": "module", "address": "acme/vpc/aws", "latest": "1.2.0", "description": "A network",
          "state": "deprecated", "highlights": { "name": ["acme/", "vpc", "/aws"] } },
        { "type": "symbol", "kind": "data-sources", "name": "acme_network", "provider": provider, "version": "1.0.0" },
        { "type": "template", "stars": 3 },
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
        "nothing that you may see matches: x\n"
    );
    assert_eq!(
        shown(&registry, &["search", "x", "--json"]),
        "{\"results\":[]}\n"
    );
}

#[test]
fn a_registry_without_a_catalogue_is_reported_as_old() {
    let registry = Registry::start();
    for arguments in [
        &["list"] as &[&str],
        &["list", "acme"],
        &["show", "acme/vpc/aws"],
        &["show", "acme/vpc/aws", "1.0.0"],
        &["search", "x"],
    ] {
        let mut command = anonymous(&registry, arguments);
        let ended = ended(command.args(["--json", "--token", TOKEN])).expect(3);
        assert!(
            ended.errors().contains("is older than this command"),
            "{ended:?}"
        );
    }
}

#[test]
fn an_absent_package_is_reported_with_the_registrys_reason() {
    let registry = registry();
    let absent = errors(404, &["this registry has no provider acme/gadget"]);
    registry.set("/api/v1/providers/acme/gadget", absent);
    let errors = failed(&registry, &["show", "acme/gadget"], 3).errors();
    assert!(
        errors.contains("there is no acme/gadget at http"),
        "{errors}"
    );
    assert!(
        errors.contains("this registry has no provider acme/gadget"),
        "{errors}"
    );
    assert!(errors.contains("such as acme/gadget/aws"), "{errors}");
}

#[test]
fn a_version_given_twice_is_rejected() {
    let registry = registry();
    let errors = failed(&registry, &["show", "acme/widget@1.0.0", "1.0.0"], 2).errors();
    assert!(errors.contains("the version is given twice"), "{errors}");
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
fn the_token_of_a_job_for_another_registry_is_not_sent() {
    let registry = registry();
    let claims = URL_SAFE_NO_PAD.encode(r#"{"aud":"https://registry.example.com"}"#);
    let mut command = anonymous(&registry, &["list"]);
    let job = format!("eyJ.{claims}.{JOB_SECRET}");
    ended(command.env("TERRACE_ID_TOKEN", job)).expect(0);
    let requests = registry.all_requests();
    assert!(
        !requests.iter().any(|it| it.contains("/oauth/")),
        "{requests:?}"
    );
}

#[test]
fn an_answer_that_is_not_of_a_catalogue_is_malformed() {
    let registry = Registry::start();
    registry.set("/api/v1/namespaces?limit=100", page("<html>"));
    let ended = ended(&mut anonymous(&registry, &["list"])).expect(1);
    assert!(ended.stderr.contains("malformed body"), "{ended:?}");
}

#[test]
fn an_unknown_kind_is_an_error_of_usage() {
    let registry = registry();
    for (arguments, known) in [
        (["search", "x", "--kind", "bogus"], "data-source"),
        (["list", "acme", "--kind", "resource"], "provider"),
    ] {
        let reasons = failed(&registry, &arguments, 2).errors();
        assert!(reasons.contains(known), "{reasons}");
    }
    assert_eq!(registry.all_requests(), [""; 0]);
}
