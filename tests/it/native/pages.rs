//! The pages, and what their readers may see.

mod badges;
mod comparison;
mod formats;
mod missing;
mod mixed;
mod origin;

use terrace_base::time::UnixTime;
use terrace_core::index::about::About;
use terrace_core::limits::SHOWN_VERSIONS;
use terrace_core::model::package::Package;
use terrace_core::model::status::{ReleaseState, ReleaseStatus};
use terrace_core::storage::key::IndexKey;

use crate::native::api::packages::published;
use crate::support::described::{self, set_status};
use crate::support::documentation::{Documentation, path_of};
use crate::support::memory::Memory;
use crate::support::people::{LOGIN, session};
use crate::support::registry::{CATALOG_SECONDS, Response, Sent};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry};

const WIDGET: &str = "providers/hosted/acme/widget";
const VPC: &str = "modules/acme/vpc/aws";
const NOW: u64 = 1_800_000_000;

fn mark(memory: &Memory, key: &str, version: &str, state: ReleaseState) {
    let status = ReleaseStatus {
        state,
        reason: "it deletes".parse().unwrap(),
        at: UnixTime(7),
        by: "root".to_owned(),
    };
    set_status(memory, key, version, status);
}

/// Asserts that a path redirects to another.
#[track_caller]
fn assert_leads(registry: &Registry, from: &str, to: &str) {
    let response = registry.get(from).expect(302);
    assert_eq!(response.header("location"), Some(to), "{from}");
    assert_eq!(response.header("cache-control"), Some("no-store"));
}

/// Returns the request of a browser.
fn opened(path: &str) -> Sent {
    Sent::new("GET", path).header("accept", "text/html")
}

#[test]
fn latest_leads_past_withdrawn_and_revoked_versions() {
    for state in [ReleaseState::Withdrawn, ReleaseState::Revoked] {
        let (memory, registry) = published(&[]);
        mark(&memory, WIDGET, "1.1.0", state);
        mark(&memory, VPC, "1.1.0", state);
        for (from, to) in [
            ("/providers/acme/widget", ""),
            ("/providers/acme/widget/latest", ""),
            (
                "/providers/acme/widget/latest/docs/resources/widget",
                "/docs/resources/widget",
            ),
            ("/modules/acme/vpc/aws/latest/readme.md", "/readme.md"),
            ("/api/v1/modules/acme/vpc/aws/latest", ""),
        ] {
            let package = from.split("/latest").next().unwrap();
            assert_leads(&registry, from, &format!("{package}/1.0.0{to}"));
        }
        let page = registry.get("/providers/acme/widget/1.1.0");
        let page = page.expect(200).text();
        let link = "/providers/acme/widget/1.0.0\">Use version 1.0.0</a>";
        assert!(page.contains(link), "{page}");
    }
}

#[test]
fn a_package_whose_versions_are_all_withdrawn_or_revoked_says_so() {
    let (memory, registry) = published(&[]);
    let package = "/providers/acme/widget";
    let shown = |path: &str| registry.get(&format!("{package}{path}")).expect(200).text();
    for version in ["1.0.0", "1.1.0"] {
        mark(&memory, WIDGET, version, ReleaseState::Revoked);
    }
    let none = "No version can be installed: all are revoked.";
    let no_other = "There is no version to use instead";
    for (path, text) in [
        ("", none),
        ("/latest", none),
        ("/versions", none),
        ("/1.0.0", no_other),
    ] {
        let page = shown(path);
        assert!(page.contains(text), "{page}");
    }
    mark(&memory, WIDGET, "1.0.0", ReleaseState::Withdrawn);
    assert_leads(&registry, package, &format!("{package}/1.0.0"));
    let page = shown("/versions");
    assert!(page.contains("No version should be adopted"), "{page}");
    // A withdrawn version is no alternative to a revoked one.
    let page = shown("/1.1.0");
    assert!(page.contains(no_other), "{page}");
    assert!(!page.contains("Use version"), "{page}");
}

/// Removes the page of the resource from the newest version.
fn remove_document(memory: &Memory) {
    let key = IndexKey::About(
        Package::parse_key(WIDGET).unwrap(),
        "1.1.0".parse().unwrap(),
    );
    let text = memory.index(&key.to_string()).text;
    let changed = text.replace("\"name\":\"widget\"", "\"name\":\"gadget\"");
    assert_ne!(changed, text);
    let _: About = serde_json::from_str(&changed).unwrap();
    described::put(memory, &key, changed);
}

#[test]
fn an_older_document_leads_to_the_same_one_of_the_newest_version_or_to_that_version() {
    let (memory, registry) = published(&[]);
    let package = "/providers/acme/widget";
    let [old, new, document] = ["1.0.0", "1.1.0", "latest"]
        .map(|version| format!("{package}/{version}/docs/resources/widget"));
    let from = format!("{document}?from=1.0.0");
    let page = registry.get(&old).expect(200).text();
    assert!(page.contains(&format!("href=\"{from}\"")), "{page}");
    assert_leads(&registry, &from, &new);
    assert_leads(
        &registry,
        "/modules/acme/vpc/aws/latest/submodules/subnets?from=1.0.0",
        "/modules/acme/vpc/aws/1.1.0/submodules/subnets",
    );
    remove_document(&memory);
    assert_leads(&registry, &from, &format!("{package}/1.1.0"));
    // A typed path keeps its error.
    assert_leads(&registry, &document, &new);
    registry.get(&new).expect(404);
}

#[test]
fn the_start_page_is_shown_without_lists_while_the_catalogue_is_rebuilt() {
    let (memory, registry) = published(&[]);
    registry.merge_catalog();
    registry.get("/").shows(200, "Recently published");
    memory.advance(CATALOG_SECONDS);
    memory.lose_index("merged-catalog/1");
    let response = registry.get("/").expect(200);
    assert_eq!(response.header("cache-control"), Some("no-cache"));
    let page = response.text();
    assert!(page.contains("are being rebuilt"), "{page}");
    assert!(
        !page.contains("First steps") && !page.contains("Recently published"),
        "{page}"
    );
    // The rebuild happens after that response.
    registry.get("/").shows(200, "Recently published");
}

fn private() -> Registry {
    let (_, registry) = published(&[&LOGIN[..], &[("TERRACE_ACCESS", "private")]].concat());
    registry
}

fn as_reader(registry: &Registry, path: &str) -> Response {
    let sent = opened(path).header("cookie", &session("read:acme", NOW));
    registry.send(&sent)
}

#[test]
fn the_page_of_an_error_shows_whether_its_reader_is_signed_in() {
    let registry = private();
    for path in [
        "/modules/acme/none/aws",
        "/modules/ACME!/x/y",
        "/nothing/here/at/all",
    ] {
        let page = as_reader(&registry, path).expect(404).text();
        assert!(
            page.contains("Sign out") && !page.contains("Sign in"),
            "{path}: {page}"
        );
    }
    for path in ["/modules/ACME!/x/y", "/nothing/here/at/all"] {
        let page = registry.send(&opened(path)).expect(404).text();
        assert!(
            page.contains("Sign in") && !page.contains("Sign out"),
            "{path}: {page}"
        );
        let stale = opened(path).header("cookie", &session("read", NOW - 90_000));
        let page = registry.send(&stale).expect(404).text();
        assert!(page.contains("Sign in"), "{path}: {page}");
    }
}

#[test]
fn a_reader_without_access_sees_the_same_page_for_missing_and_for_forbidden_packages() {
    let registry = private();
    let module = ModuleFixture::of("globex", "1.0.0");
    let provider = ProviderFixture::of("globex", "widget", "1.0.0");
    module.publish(&registry);
    provider.publish(&registry);
    // Its archives are stored already.
    MirrorFixture::of(provider).put(&registry).expect(201);
    let of_provider = Documentation::of_provider(&[("widget", "# Widget")]);
    let documented = path_of("providers", "globex/widget", "1.0.0");
    of_provider.add(&registry, &documented).expect(201);
    let documented = path_of("modules", &module.address, "1.0.0");
    let of_module = Documentation::of_module("# VPC");
    of_module.add(&registry, &documented).expect(201);
    // Whoever may read the packages gets them by the same paths.
    let may_read = session("read", NOW);
    // The same letters, so that the badges are equally wide.
    let owners = ["globex", "xeglob"];
    for path in [
        "/modules/OWNER/vpc/aws",
        "/modules/OWNER/vpc/aws/1.0.0",
        "/modules/OWNER/vpc/aws/latest",
        "/modules/OWNER/vpc/aws/versions",
        "/modules/OWNER/vpc/aws/compare",
        "/modules/OWNER/vpc/aws/compare/1.0.0...1.0.0",
        "/modules/OWNER/vpc/aws/feed.atom",
        "/modules/OWNER/vpc/aws/1.0.0/readme.md",
        "/badges/modules/OWNER/vpc/aws/version.svg",
        "/providers/OWNER/widget",
        "/providers/OWNER/widget/1.0.0",
        "/providers/OWNER/widget/latest",
        "/providers/OWNER/widget/versions",
        "/providers/OWNER/widget/compare/1.0.0...1.0.0",
        "/providers/OWNER/widget/1.0.0/docs/resources/widget",
        "/providers/OWNER/widget/1.0.0/docs/resources/widget.md",
        "/providers/OWNER/widget/latest/docs/resources/widget",
        "/providers/OWNER/widget/feed.atom",
        "/badges/providers/OWNER/widget/version.svg",
        "/mirrored/registry.example.com/OWNER/widget",
        "/mirrored/registry.example.com/OWNER/widget/1.0.0",
        "/mirrored/registry.example.com/OWNER/widget/versions",
        "/mirrored/registry.example.com/OWNER/widget/feed.atom",
        "/badges/mirrored/registry.example.com/OWNER/widget/version.svg",
        "/namespaces/OWNER",
        "/namespaces/OWNER/feed.atom",
        "/namespaces/registry.example.com/OWNER",
        "/namespaces/registry.example.com/OWNER/feed.atom",
    ] {
        let allowed = opened(&path.replace("OWNER", "globex")).header("cookie", &may_read);
        let status = registry.send(&allowed).status;
        assert!(matches!(status, 200 | 302), "{path}: {status}");
        let [hidden, missing] = owners.map(|owner| {
            let response = as_reader(&registry, &path.replace("OWNER", owner));
            let text = response.text().replace(owner, "OWNER");
            (response.status, response.headers, text)
        });
        assert_eq!(hidden, missing, "{path}");
        assert_eq!(hidden.0, 404, "{path}");
    }
}

#[test]
fn a_list_continues_after_the_name_in_its_query() {
    let (memory, registry) = published(&[]);
    let versions = (0..=SHOWN_VERSIONS).rev().map(|at| format!("1.0.{at}"));
    let versions: Vec<String> = versions.collect();
    let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
    described::describe(&memory, VPC, &versions);
    let path = "/modules/acme/vpc/aws/versions";
    let rows = |path: &str| {
        let page = registry.get(path).expect(200).text();
        page.matches("<th scope=\"row\">").count()
    };
    assert_eq!(rows(path), SHOWN_VERSIONS);
    assert_eq!(rows(&format!("{path}?after=1.0.1")), 1);
    registry
        .get(&format!("{path}?after=x"))
        .shows(400, "parameter after");
    let namespaces = |query: &str| {
        let page = registry.get(&format!("/browse/modules{query}")).expect(200);
        page.text().contains("class=\"namespaces\"")
    };
    assert!(namespaces("") && namespaces("?namespaces=a") && !namespaces("?namespaces=zzz"));
}
