//! The pages under test, by name.

use serde_json::{Value, json};
use terrace_core::api::details::{PackagePage, UsedByPage, VersionDetails, VersionSummary};
use terrace_core::api::route::FeedScope;
use terrace_core::documentation::DocumentPath;
use terrace_core::model::package::Package;
use terrace_core::model::package::PackageKind;
use terrace_web::badge::BadgeText;
use terrace_web::comparison::{self, ComparedVersion};
use terrace_web::feed::{Entry, feed};
use terrace_web::pages::{
    self, Browse, ComparedVersions, ExampleFile, Failure, Release, Searched, ShownDocument,
    ShownPart, Start,
};
use terrace_web::{Site, well_known};

use crate::fixtures::{self, module, parsed, provider, text};

/// Returns all pages with their names.
pub fn all() -> Vec<(&'static str, String)> {
    let site = fixtures::site();
    let mut pages = lists(&site);
    pages.extend(messages());
    pages.extend(providers(&site));
    pages.extend(modules(&site));
    pages.extend(comparisons(&site));
    pages.push(("hostile", hostile(HOSTILE)));
    pages.push(("compare-hostile", hostile_comparison(HOSTILE)));
    pages
}

/// A text that would run a script if it were not escaped.
pub const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u{202e}&lt;";

fn lists(site: &Site) -> Vec<(&'static str, String)> {
    let (recent, namespaces) = (fixtures::packages(), fixtures::namespaces());
    let start = Start {
        recent: &recent,
        namespaces: &namespaces,
        is_being_rebuilt: false,
    };
    let rebuilt = Start {
        is_being_rebuilt: true,
        ..Start::default()
    };
    let modules = fixtures::of_kind(PackageKind::Module);
    let browse = Browse {
        kind: PackageKind::Module,
        packages: &modules,
        next: Some("acme/vpc/aws"),
        namespaces: &namespaces,
        namespaces_after: "",
    };
    let owned = PackagePage {
        namespace: "acme".to_owned(),
        packages: recent.iter().take(2).cloned().collect(),
        next: None,
    };
    let owner = "acme".to_owned();
    let owner = terrace_core::model::owner::Owner::of_namespace(&owner);
    let vpc = Package::Module("acme/vpc/aws".parse().unwrap());
    let used_by = UsedByPage {
        address: vpc.address(),
        packages: modules.clone(),
        next: None,
    };
    vec![
        ("start", pages::start(site, &start)),
        ("start-empty", pages::start(site, &Start::default())),
        ("start-rebuilt", pages::start(site, &rebuilt)),
        (
            "start-empty-private",
            pages::start(
                &Site {
                    has_login: false,
                    client_hosts: Vec::new(),
                    ..fixtures::private_site()
                },
                &Start::default(),
            ),
        ),
        (
            "start-problems",
            pages::start(&fixtures::site_with_problems(), &start),
        ),
        ("browse", pages::browse(site, &browse)),
        (
            "browse-empty",
            pages::browse(
                site,
                &Browse {
                    packages: &[],
                    next: None,
                    namespaces: &[],
                    ..browse
                },
            ),
        ),
        ("namespace", pages::namespace(site, &owner, &owned)),
        ("used-by", pages::used_by(site, &vpc, &used_by)),
        ("search", search(site)),
        ("search-start", pages::search(site, &searched("", None))),
        (
            "search-nothing",
            pages::search(
                site,
                &searched(
                    "vcp",
                    Some(&parsed(json!({ "results": [], "did_you_mean": "vpc" }))),
                ),
            ),
        ),
        (
            "search-error",
            pages::search(
                site,
                &Searched {
                    error: Some("the search has 300 bytes, at most 200 are allowed"),
                    ..searched("x", None)
                },
            ),
        ),
    ]
}

fn searched<'a>(
    query: &'a str,
    results: Option<&'a terrace_core::api::details::SearchPage>,
) -> Searched<'a> {
    Searched {
        query,
        kind: "",
        namespace: "",
        is_continued: false,
        results,
        error: None,
    }
}

fn search(site: &Site) -> String {
    let [module, provider] = ["acme/vpc/aws", "acme/widget"].map(|address| {
        serde_json::to_value(fixtures::listed(
            address,
            "2.4.1",
            "Manage widgets, gadgets and a vpc",
        ))
        .expect("JSON")
    });
    let mut package = module;
    package["type"] = json!("package");
    package["highlights"] = json!({ "name": ["acme/", "vpc", "/aws"], "description": ["Manage widgets, gadgets and a ", "vpc"] });
    package["words"] = json!(["vpc", "flow"]);
    let results = json!({ "results": [package,
        { "type": "symbol", "kind": "resources", "name": "widget_vpc", "provider": provider, "version": "2.4.1",
          "path": "/api/v1/providers/acme/widget/2.4.1/docs/resources/vpc", "highlights": { "name": ["widget_", "vpc"] } },
        { "type": "symbol", "kind": "data-sources", "name": "widget_vpc_peering", "provider": provider, "version": "2.4.1",
          "highlights": { "name": ["widget_", "vpc", "_peering"] } }],
        "next": "cursor" });
    pages::search(site, &searched("vpc", Some(&parsed(results))))
}

fn messages() -> Vec<(&'static str, String)> {
    let site = fixtures::private_site();
    let missing = Failure {
        status: 404,
        title: "This page does not exist",
        message: "There is no module acme/vpn/aws that you can see.",
        may_sign_in: true,
        package: None,
        words: "vpc",
    };
    vec![
        ("not-found", pages::error(&fixtures::site(), &missing)),
        ("not-found-private", pages::error(&site, &missing)),
    ]
}

fn providers(site: &Site) -> Vec<(&'static str, String)> {
    let widget = fixtures::package("acme/widget");
    let mirrored = fixtures::package("registry.opentofu.org/hashicorp/random");
    let versions = fixtures::versions(&[
        "2.5.0-rc.1",
        "2.4.1",
        "2.4.0",
        "2.3.0",
        "2.2.1",
        "2.2.0",
        "1.9.0",
        "1.0.0",
    ]);
    let page = |package: &Package, at: usize, documents: usize, change: fn(&mut VersionDetails)| {
        let mut details = provider::version_details(package, &versions[at], "2.4.1");
        change(&mut details);
        let navigation = provider::navigation(package, &versions[at], documents);
        pages::provider(site, &release(package, &details, &versions), &navigation)
    };
    let mut overview = fixtures::details(&widget, versions.clone());
    overview.latest = Some(fixtures::version("2.4.1"));
    overview.versions[6].status =
        Some(fixtures::status("withdrawn", "breaks schedules: use 2.2.1"));
    vec![
        ("provider", page(&widget, 1, 200, |_| ())),
        ("provider-small", page(&widget, 1, 12, |_| ())),
        ("provider-older", page(&widget, 3, 200, |_| ())),
        ("provider-prerelease", page(&widget, 0, 12, |_| ())),
        (
            "provider-mirrored",
            page(&mirrored, 1, 0, |it| {
                it.documentation = None;
                it.provenance = None;
                it.version.source = None;
            }),
        ),
        (
            "provider-deprecated",
            page(&widget, 1, 12, |it| {
                it.package_status = Some(fixtures::status("deprecated", "moved to acme/gadget"))
            }),
        ),
        (
            "provider-revoked",
            page(&widget, 6, 12, |it| {
                it.version.status = Some(fixtures::status(
                    "revoked",
                    "CVE-2026-1234: it leaks tokens; use 2.4.1",
                ));
                it.platforms.clear();
            }),
        ),
        ("versions", pages::versions(site, &widget, &overview, None)),
        ("document", document(site, &versions, 1, text::RESOURCE)),
        (
            "document-older",
            document(site, &versions, 3, text::RESOURCE),
        ),
    ]
}

fn release<'a>(
    package: &'a Package,
    details: &'a VersionDetails,
    versions: &'a [VersionSummary],
) -> Release<'a> {
    Release {
        package,
        details,
        versions,
    }
}

/// Returns the page of a document with this text.
pub fn document_with(markdown: &str) -> String {
    document(
        &fixtures::site(),
        &fixtures::versions(&["2.4.1"]),
        0,
        markdown,
    )
}

/// Returns the page of a module with this README.
pub fn readme_with(markdown: &str) -> String {
    let vpc = fixtures::package("acme/vpc/aws");
    let versions = fixtures::versions(&["5.2.0"]);
    let details = module::version_details(&vpc, &versions[0], "5.2.0", Some(module::view(8)));
    let readme = text::rendered(markdown);
    let release = release(&vpc, &details, &versions);
    pages::module(&fixtures::site(), &release, Some(&readme))
}

fn document(site: &Site, versions: &[VersionSummary], at: usize, markdown: &str) -> String {
    let package = &fixtures::package("acme/widget");
    let details = provider::version_details(package, &versions[at], "2.4.1");
    let navigation = provider::navigation(package, &versions[at], 200);
    let path = DocumentPath::parse(package, &["resources", "widget"]).expect("a document");
    let text = text::rendered(markdown);
    let mut views = navigation.documents.iter();
    let view = views
        .find(|it| it.kind == "resources" && it.name == "widget")
        .expect("a view");
    let shown = ShownDocument {
        path: &path,
        view,
        text: &text,
    };
    pages::document(
        site,
        &release(package, &details, versions),
        &navigation,
        &shown,
    )
}

/// Returns the page of a provider's newest version.
pub fn provider_at(site: &Site, address: &str) -> String {
    let package = fixtures::package(address);
    let versions = fixtures::versions(&["2.4.1"]);
    let details = provider::version_details(&package, &versions[0], "2.4.1");
    let navigation = provider::navigation(&package, &versions[0], 0);
    pages::provider(site, &release(&package, &details, &versions), &navigation)
}

/// Returns the page of a module's newest version.
pub fn module_at(site: &Site, version: &str) -> String {
    let vpc = fixtures::package("acme/vpc/aws");
    let versions = fixtures::versions(&[version]);
    let details = module::version_details(&vpc, &versions[0], version, Some(module::view(8)));
    pages::module(site, &release(&vpc, &details, &versions), None)
}

/// Returns the page of the newest version of a module, which is mirrored if its address has a hostname.
pub fn module_of(site: &Site, address: &str) -> String {
    let package = fixtures::package(address);
    let versions = fixtures::versions(&["5.2.0"]);
    let details = module::version_details(&package, &versions[0], "5.2.0", Some(module::view(8)));
    pages::module(site, &release(&package, &details, &versions), None)
}

fn modules(site: &Site) -> Vec<(&'static str, String)> {
    let vpc = fixtures::package("acme/vpc/aws");
    let versions = fixtures::versions(&["5.2.0", "5.1.0", "5.0.0", "4.9.9"]);
    let readme = text::rendered(text::README);
    let page = |inputs: usize, at: usize| {
        let details =
            module::version_details(&vpc, &versions[at], "5.2.0", Some(module::view(inputs)));
        pages::module(site, &release(&vpc, &details, &versions), Some(&readme))
    };
    let mut bare = module::version_details(&vpc, &versions[0], "5.2.0", None);
    bare.documentation = None;
    let mut withdrawn = module::version_details(&vpc, &versions[2], "5.2.0", Some(module::view(8)));
    withdrawn.version.status = Some(fixtures::status(
        "withdrawn",
        "destroys the route tables of an existing VPC",
    ));
    let details = module::version_details(&vpc, &versions[0], "5.2.0", Some(module::view(40)));
    let shown = details.module.as_ref().expect("a module");
    let submodule = ShownPart {
        path: &DocumentPath::Submodule("endpoints".parse().expect("a name")),
        view: &shown.submodules[0],
        readme: Some(&readme),
        files: &[],
    };
    let files = [
        ExampleFile {
            name: "main.tf",
            text: Some("module \"vpc\" {\n  source = \"../..\"\n}\n"),
            path: "/api/v1/modules/acme/vpc/aws/5.2.0/docs/examples/complete/main.tf",
        },
        ExampleFile {
            name: "outputs.tf",
            text: None,
            path: "/api/v1/modules/acme/vpc/aws/5.2.0/docs/examples/complete/outputs.tf",
        },
    ];
    let example = ShownPart {
        path: &DocumentPath::Example("complete".parse().expect("a name")),
        view: &shown.examples[0],
        readme: None,
        files: &files,
    };
    let current = release(&vpc, &details, &versions);
    let of_view = |view| {
        let details = module::version_details(&vpc, &versions[0], "5.2.0", Some(view));
        let site = &fixtures::private_site();
        pages::module(site, &release(&vpc, &details, &versions), None)
    };
    let mut only = module::view(7);
    only.root.is_opentofu_only = true;
    vec![
        ("module-two-clients", of_view(module::of_two_clients())),
        ("module-opentofu", of_view(only)),
        (
            "module-mirrored",
            module_of(
                &fixtures::private_site(),
                "registry.opentofu.org/acme/vpc/aws",
            ),
        ),
        ("module", page(40, 0)),
        ("module-200-inputs", page(200, 0)),
        ("module-older", page(8, 1)),
        (
            "module-withdrawn",
            pages::module(site, &release(&vpc, &withdrawn, &versions), None),
        ),
        (
            "module-bare",
            pages::module(
                &fixtures::private_site(),
                &release(&vpc, &bare, &versions),
                None,
            ),
        ),
        (
            "module-submodule",
            pages::module_part(site, &current, &submodule),
        ),
        (
            "module-example",
            pages::module_part(site, &current, &example),
        ),
    ]
}

fn comparisons(site: &Site) -> Vec<(&'static str, String)> {
    let vpc = fixtures::package("acme/vpc/aws");
    let versions = fixtures::versions(&["5.2.0", "5.1.0", "5.0.0"]);
    let (mut old, new) = (module::view(12), module::view(15));
    old.root.inputs[1].default = Some("\"main\"".to_owned());
    old.root.inputs[2].constraint = Some("set(string)".to_owned());
    old.root.outputs.remove(1);
    old.root.providers[0].versions = vec![">= 4.0".to_owned()];
    old.submodules.pop();
    let differences = comparison::modules(&old, &new);
    let compared = |comparison| ComparedVersions {
        from: &versions[1].version,
        to: &versions[0].version,
        comparison,
        is_only_breaking: false,
    };
    let widget = fixtures::package("acme/widget");
    let details = provider::version_details(&widget, &versions[0], "5.2.0");
    let [before, after] = [40, 30].map(|count| provider::navigation(&widget, &versions[0], count));
    let changed = comparison::versions(
        ComparedVersion {
            details: &details,
            navigation: &before,
        },
        ComparedVersion {
            details: &details,
            navigation: &after,
        },
    );
    vec![
        (
            "compare",
            pages::comparison(site, &vpc, &versions, Some(&compared(Some(&differences)))),
        ),
        (
            "compare-provider",
            pages::comparison(site, &widget, &versions, Some(&compared(changed.as_ref()))),
        ),
        (
            "compare-form",
            pages::comparison(site, &vpc, &versions, None),
        ),
        (
            "compare-undocumented",
            pages::comparison(site, &vpc, &versions, Some(&compared(None))),
        ),
    ]
}

/// Returns the page of a module with `text` as each of its texts.
pub fn hostile(text: &str) -> String {
    let vpc = fixtures::package("acme/vpc/aws");
    let versions = fixtures::versions(&["5.2.0"]);
    let site = Site {
        name: text.to_owned(),
        ..fixtures::site()
    };
    let part = json!({
        "inputs": [{ "name": text, "type": text, "deprecated": text },
            { "name": "x", "default": text, "type": format!("object({{\n{text}\n}})") }],
        "outputs": [{ "name": text, "deprecated": text }],
        "resources": [{ "mode": "managed", "type": text, "name": text, "provider": text }],
        "providers": [{ "name": text, "source": text, "versions": [text], "aliases": [text] }],
        "required_versions": [text], "calls": [{ "name": text, "source": text, "version": text }], "errors": [text],
    });
    let view = parsed(json!({ "root": part, "submodules": [], "examples": [] }));
    let mut details = module::version_details(&vpc, &versions[0], "5.2.0", Some(view));
    if let Some(documentation) = &mut details.documentation {
        documentation.license = Some(text.to_owned());
        documentation.notes = vec![text.to_owned()];
        documentation.changed_at = text.to_owned();
    }
    details.version.published_at = Some(text.to_owned());
    pages::module(&site, &release(&vpc, &details, &versions), None)
}

/// Returns the page of a module with this archive.
pub fn packed(archive: Value) -> String {
    let vpc = fixtures::package("acme/vpc/aws");
    let versions = fixtures::versions(&["5.2.0"]);
    let mut details = module::version_details(&vpc, &versions[0], "5.2.0", None);
    details.archive = parsed(archive);
    pages::module(&fixtures::site(), &release(&vpc, &details, &versions), None)
}

/// Returns the comparison of two modules with inputs that differ by `text`.
pub fn hostile_comparison(text: &str) -> String {
    let vpc = fixtures::package("acme/vpc/aws");
    let versions = fixtures::versions(&["5.2.0", "5.1.0"]);
    let view = |text: &str| {
        let inputs = json!([{ "name": "x", "description": text, "default": text }]);
        parsed(json!({ "root": { "inputs": inputs }, "submodules": [], "examples": [] }))
    };
    let differences = comparison::modules(&view(&format!("old {text}")), &view(text));
    let compared = ComparedVersions {
        from: &versions[1].version,
        to: &versions[0].version,
        comparison: Some(&differences),
        is_only_breaking: false,
    };
    pages::comparison(&fixtures::site(), &vpc, &versions, Some(&compared))
}

/// Returns the documents around pages, by their file names.
pub fn documents() -> Vec<(&'static str, String)> {
    let site = fixtures::site();
    let packages = fixtures::packages();
    let entries: Vec<Entry> = packages.iter().filter_map(Entry::of_package).collect();
    let latest = fixtures::version("2.4.1");
    vec![
        ("feed.atom", feed(&site, &FeedScope::Registry, &entries)),
        ("opensearch.xml", well_known::open_search(&site)),
        ("robots.txt", well_known::robots(&site)),
        (
            "version.svg",
            BadgeText::version("acme/widget", Some(&latest), None).to_svg(),
        ),
        (
            "status.svg",
            BadgeText::status(
                "acme/vpc/aws",
                Some(terrace_core::model::status::ReleaseState::Deprecated),
            )
            .to_svg(),
        ),
    ]
}
