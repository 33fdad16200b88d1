//! Packages with documentation, as their indices and archives describe them.

use serde_json::json;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::documentation::DocumentationKind;
use terrace_core::index::about::About;
use terrace_core::index::card::ListedCard;
use terrace_core::index::catalog::{self, CatalogLine, CatalogSymbol};
use terrace_core::index::overview::{Overview, OverviewVersion};
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::model::status::ReleaseStatus;
use terrace_core::storage::index_document::{IndexDocument, IndexMetadata, short_etag};
use terrace_core::storage::key::IndexKey;

use super::documentation::member;
use super::memory::Memory;

/// The text of the page of a resource.
pub const WIDGET_PAGE: &str = "# acme_widget\n\nManages a *widget*.\n";

/// The text of the README of a module.
pub const README: &str = "# VPC\n\nA virtual private cloud.\n";

/// The text of a file of an example.
pub const MAIN: &str = "module \"vpc\" {\n  source = \"registry.test/acme/vpc/aws\"\n}\n";

/// The time of every publish here.
pub const PUBLISHED: UnixTime = UnixTime(1_700_000_000);

/// Describes versions of packages, each with documentation: the newest first.
pub fn describe(memory: &Memory, key: &str, versions: &[&str]) {
    let package = Package::parse_key(key).expect(key);
    let listed = versions.iter().map(|version| OverviewVersion {
        published_at: Some(PUBLISHED),
        is_documented: true,
        ..OverviewVersion::new(version.parse().unwrap())
    });
    let overview = Overview {
        status: None,
        versions: listed.collect(),
    };
    put_overview(memory, &package, &overview);
    for version in versions {
        let key = IndexKey::About(package.clone(), version.parse().unwrap());
        let about = about(memory, &package);
        put(memory, &key, serde_json::to_string(&about).unwrap());
    }
}

/// Sets the status of a version in the overview of its package.
pub fn set_status(memory: &Memory, key: &str, version: &str, status: ReleaseStatus) {
    let package = Package::parse_key(key).unwrap();
    let index = memory.index(&IndexKey::Overview(package.clone()).to_string());
    let mut overview: Overview = serde_json::from_str(&index.text).unwrap();
    let listed = overview.versions.iter_mut();
    for listed in listed.filter(|listed| listed.version.to_string() == version) {
        listed.status = Some(status.clone());
    }
    put_overview(memory, &package, &overview);
}

fn put_overview(memory: &Memory, package: &Package, overview: &Overview) {
    let key = IndexKey::Overview(package.clone());
    put(memory, &key, serde_json::to_string(overview).unwrap());
}

/// Writes an index as an index function does.
pub fn put(memory: &Memory, key: &IndexKey, text: String) {
    let metadata = IndexMetadata {
        etag: short_etag(&text),
        ..IndexMetadata::default()
    };
    memory.restore_index(&key.to_string(), IndexDocument { text, metadata });
}

fn about(memory: &Memory, package: &Package) -> About {
    let (pages, head) = match package {
        Package::Module(_) => module(),
        Package::Provider(_) | Package::Mirrored(_) => provider(),
    };
    let head_member = member(head.to_string().as_bytes());
    let archive = [head_member.clone(), pages.concat()].concat();
    let digest = Sha256::of(&archive);
    memory.put_object(&format!("archives/{digest}.docs"), &archive);
    let documentation = json!({
        "archive": digest.to_string(),
        "head_length": head_member.len(),
        "changed_at": PUBLISHED.0,
        "changes": 1,
        "license": "MPL-2.0",
        "head": head,
    });
    let about = json!({
        "published_at": PUBLISHED.0,
        "source": { "url": "https://github.com/acme/code", "claimed": true },
        "documentation": documentation,
    });
    serde_json::from_value(about).unwrap()
}

/// Returns the pages and the head of a provider's documentation.
pub fn provider() -> (Vec<Vec<u8>>, serde_json::Value) {
    let texts = ["# Acme\n", WIDGET_PAGE];
    let members: Vec<Vec<u8>> = texts.iter().map(|text| member(text.as_bytes())).collect();
    let lengths: Vec<usize> = members.iter().map(Vec::len).collect();
    let head = json!({
        "schema": 1,
        "contents": { "provider": {
        "pages": [
            { "kind": "overview", "name": "index", "title": "Acme", "description": "Widgets of Acme.",
              "member": { "offset": 0, "length": lengths[0], "size": texts[0].len() } },
            { "kind": "resources", "name": "widget", "title": "acme_widget", "subcategory": "Widgets",
              "member": { "offset": lengths[0], "length": lengths[1], "size": texts[1].len() } },
        ],
        "symbols": [{ "kind": "resources", "name": "acme_widget", "page": "widget" }],
        } },
        "notes": ["docs/old.md is not UTF-8: skipped"],
    });
    (members, head)
}

/// Returns the pages and the head of a module's documentation.
pub fn module() -> (Vec<Vec<u8>>, serde_json::Value) {
    let main = member(MAIN.as_bytes());
    let head = json!({
        "schema": 1,
        "contents": { "module": {
        "root": {
            "readme": README,
            "inputs": [
                { "name": "cidr", "type": "string", "description": "The range." },
                { "name": "tags", "type": "map(string)", "default": "{}" },
                { "name": "zones", "default": "[\"a\", \"b\"]", "is_sensitive": true },
            ],
            "outputs": [{ "name": "id", "description": "The ID." }],
            "resources": [
                { "mode": "managed", "type": "aws_vpc", "name": "this", "provider": "aws" },
                { "mode": "data", "type": "aws_region", "name": "current", "provider": "aws" },
            ],
            "providers": [{ "name": "aws", "source": "hashicorp/aws", "versions": [">= 5.0", "< 7.0"] }],
            "required_versions": [">= 1.5"],
            "calls": [{ "name": "subnets", "source": "./modules/subnets" }],
        },
        "submodules": [{ "name": "subnets", "part": { "readme": "# Subnets\n" } }],
        "examples": [{
            "name": "simple",
            "part": { "calls": [{ "name": "vpc", "source": "registry.test/acme/vpc/aws", "version": "1.0.0" }] },
            "files": [{ "name": "main.tf", "member": { "offset": 0, "length": main.len(), "size": MAIN.len() } }],
        }],
        } },
    });
    (vec![main], head)
}

/// Returns the line of a package in the catalogue.
pub fn line(key: &str, description: &str) -> CatalogLine {
    CatalogLine {
        package: Package::parse_key(key).expect(key),
        latest: "1.0.0".parse().unwrap(),
        published_at: Some(PUBLISHED),
        versions: 1,
        state: None,
        is_documented: true,
        description: description.to_owned(),
    }
}

/// Returns the card of a package whose interface has the words `cidr` and `block`, and which calls a module of this registry.
pub fn card(line: CatalogLine) -> ListedCard {
    ListedCard {
        line,
        words: "block cidr".to_owned(),
        calls: "/registry.test/acme/vpc/aws".to_owned(),
        symbols: 0,
    }
}

/// Returns the symbol of a provider, described by a page of the same name.
pub fn symbol(key: &str, name: &str) -> CatalogSymbol {
    CatalogSymbol {
        kind: DocumentationKind::Resource,
        name: name.to_owned(),
        package: Package::parse_key(key).expect(key),
        version: "1.0.0".parse().unwrap(),
        page: name.split_once('_').and_then(|(_, page)| page.parse().ok()),
    }
}

/// Writes the catalogues of these packages and symbols: those of their owners, and the merged one.
pub fn put_catalog(memory: &Memory, lines: &[CatalogLine], symbols: &[CatalogSymbol]) {
    let cards: Vec<ListedCard> = lines.iter().cloned().map(card).collect();
    let owners = lines.iter().map(|line| Owner::of(&line.package));
    for owner in owners {
        let is_of = |package: &Package| Owner::of(package) == owner;
        let own: Vec<ListedCard> = cards
            .iter()
            .filter(|it| is_of(&it.line.package))
            .cloned()
            .collect();
        let key = IndexKey::Catalog(owner.clone()).to_string();
        memory.restore_index(&key, catalog::catalog(&own));
        let own: Vec<CatalogSymbol> = symbols
            .iter()
            .filter(|it| is_of(&it.package))
            .cloned()
            .collect();
        if !own.is_empty() {
            let key = IndexKey::Symbols(owner.clone()).to_string();
            memory.restore_index(&key, catalog::symbols(&own));
        }
    }
    for (part, document) in (1..).zip(catalog::merged(&cards, symbols)) {
        let key = IndexKey::MergedCatalog(part).to_string();
        memory.restore_index(&key, document);
    }
}
