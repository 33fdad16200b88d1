//! The pages under test, by name.

use std::sync::LazyLock;

use serde_json::{Value, json};
use terrace_core::api::details::{
    PackagePage, SearchPage, UsedByPage, VersionDetails, VersionSummary,
};
use terrace_core::documentation::DocumentPath;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::{Package, PackageKind};
use terrace_web::Site;
use terrace_web::comparison::{self, ComparedVersion, Comparison};
use terrace_web::pages::{
    self, Browse, ComparedVersions, ExampleFile, Failure, Release, Searched, Start,
};

use crate::fixtures::{self, module, parsed, provider, text};
use crate::html::Html;

/// The module of most tests.
pub const VPC: &str = "acme/vpc/aws";

/// A text that would run a script if it were not escaped.
pub const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u{202e}&lt;";

/// All pages with their names.
pub static ALL: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let site = fixtures::site();
    let mut pages = lists(&site);
    pages.extend(providers(&site));
    pages.extend(modules(&site));
    pages.extend(comparisons(&site));
    pages.push(("hostile", hostile(HOSTILE)));
    pages.push(("compare-hostile", hostile_comparison(HOSTILE)));
    pages
});

/// Returns all pages as a browser parses them.
pub(crate) fn parsed_pages() -> impl Iterator<Item = (&'static str, Html)> {
    ALL.iter().map(|(name, page)| (*name, Html::parse(page)))
}

/// Returns the page of this name.
pub fn named(name: &str) -> &'static str {
    let page = ALL.iter().find(|it| it.0 == name);
    &page.expect(name).1
}

fn lists(site: &Site) -> Vec<(&'static str, String)> {
    let private = fixtures::private_site();
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
    let without_login = Site {
        has_login: false,
        client_hosts: Vec::new(),
        ..private.clone()
    };
    let modules: Vec<_> = recent
        .iter()
        .filter(|it| it.package.kind == PackageKind::Module)
        .cloned()
        .collect();
    let browse = Browse {
        kind: PackageKind::Module,
        packages: &modules,
        next: Some(VPC),
        namespaces: &namespaces,
        namespaces_after: "",
    };
    let browse_empty = Browse {
        packages: &[],
        next: None,
        namespaces: &[],
        ..browse
    };
    let owned = PackagePage {
        namespace: "acme".to_owned(),
        packages: recent.clone(),
        next: None,
    };
    let vpc = fixtures::package(VPC);
    let used_by = UsedByPage {
        address: vpc.address(),
        packages: modules.clone(),
        next: None,
    };
    let nothing = parsed(json!({ "results": [], "did_you_mean": "vpc" }));
    let too_long = Searched {
        error: Some("the search has 300 bytes, at most 200 are allowed"),
        ..searched("x", None)
    };
    let missing = Failure {
        status: 404,
        title: "This page does not exist",
        message: "There is no module acme/vpn/aws that you can see.",
        may_sign_in: true,
        package: None,
        words: "vpc",
    };
    let with_problems = fixtures::site_with_problems();
    let owner = Owner::of_namespace("acme");
    vec![
        ("start", pages::start(site, &start)),
        ("start-empty", pages::start(site, &Start::default())),
        ("start-rebuilt", pages::start(site, &rebuilt)),
        (
            "start-private",
            pages::start(&without_login, &Start::default()),
        ),
        ("start-problems", pages::start(&with_problems, &start)),
        ("browse", pages::browse(site, &browse)),
        ("browse-empty", pages::browse(site, &browse_empty)),
        ("namespace", pages::namespace(site, &owner, &owned)),
        ("used-by", pages::used_by(site, &vpc, &used_by)),
        (
            "search",
            pages::search(site, &searched("vpc", Some(&results()))),
        ),
        ("search-start", pages::search(site, &searched("", None))),
        (
            "search-nothing",
            pages::search(site, &searched("vcp", Some(&nothing))),
        ),
        ("search-error", pages::search(site, &too_long)),
        ("not-found", pages::error(site, &missing)),
        ("not-found-private", pages::error(&private, &missing)),
    ]
}

/// Returns a search without filters.
pub fn searched<'a>(query: &'a str, results: Option<&'a SearchPage>) -> Searched<'a> {
    Searched {
        query,
        kind: "",
        namespace: "",
        is_continued: false,
        results,
        error: None,
    }
}

fn results() -> SearchPage {
    let listed = |address| fixtures::listed(address, "2.4.1", "Manage widgets and a vpc");
    let mut package = serde_json::to_value(listed(VPC)).expect("JSON");
    package["type"] = json!("package");
    package["highlights"] = json!({ "name": ["acme/", "vpc", "/aws"], "description": ["Manage widgets and a ", "vpc"] });
    package["words"] = json!(["vpc", "flow"]);
    let provider = listed("acme/widget");
    parsed(json!({ "results": [package,
        { "type": "symbol", "kind": "resources", "name": "widget_vpc", "provider": provider, "version": "2.4.1",
          "path": "/api/v1/providers/acme/widget/2.4.1/docs/resources/vpc", "highlights": { "name": ["widget_", "vpc"] } },
        { "type": "symbol", "kind": "data-sources", "name": "widget_vpc_peering", "provider": provider, "version": "2.4.1",
          "highlights": { "name": ["widget_", "vpc", "_peering"] } }],
        "next": "cursor" }))
}

fn providers(site: &Site) -> Vec<(&'static str, String)> {
    let widget = fixtures::package("acme/widget");
    let versions = fixtures::versions(&["2.5.0-rc.1", "2.4.1", "2.4.0", "2.3.0", "1.9.0", "1.0.0"]);
    let mirrored = fixtures::package(RANDOM);
    let page = |package: &Package, at: usize, documents: usize, change: fn(&mut VersionDetails)| {
        let mut details = provider::version_details(package, &versions[at], "2.4.1");
        change(&mut details);
        let navigation = provider::navigation(package, &versions[at], documents);
        pages::provider(site, &release(package, &details, &versions), &navigation)
    };
    let mut overview = fixtures::details(&widget, versions.clone());
    overview.latest = Some(fixtures::version("2.4.1"));
    overview.versions[4].status = Some(fixtures::status("withdrawn", "breaks schedules"));
    let older = page(&widget, 3, 12, |it| {
        it.package_status = Some(fixtures::status("deprecated", "moved to acme/gadget"));
    });
    let of_mirror = page(&mirrored, 1, 0, |it| {
        it.documentation = None;
        it.provenance = None;
        it.version.source = None;
    });
    let revoked = page(&widget, 5, 12, |it| {
        it.version.status = Some(fixtures::status("revoked", "CVE-2026-1234"));
        it.platforms.clear();
    });
    vec![
        ("provider", page(&widget, 1, 200, |_| ())),
        ("provider-older", older),
        ("provider-prerelease", page(&widget, 0, 12, |_| ())),
        ("provider-mirrored", of_mirror),
        ("provider-revoked", revoked),
        ("versions", pages::versions(site, &widget, &overview, None)),
        ("document", document(site, &versions, 1, text::DOCUMENT)),
        (
            "document-older",
            document(site, &versions, 3, text::DOCUMENT),
        ),
    ]
}

/// The mirrored provider of the tests.
pub const RANDOM: &str = "registry.opentofu.org/hashicorp/random";

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
    let versions = fixtures::versions(&["2.4.1"]);
    document(&fixtures::site(), &versions, 0, markdown)
}

fn document(site: &Site, versions: &[VersionSummary], at: usize, markdown: &str) -> String {
    let package = &fixtures::package("acme/widget");
    let details = provider::version_details(package, &versions[at], "2.4.1");
    let navigation = provider::navigation(package, &versions[at], 200);
    let path = DocumentPath::parse(package, &["resources", "widget"]).expect("a document");
    let mut views = navigation.documents.iter();
    let view = views.find(|it| it.kind == "resources" && it.name == "widget");
    let (view, text) = (view.expect("a view"), text::rendered(markdown));
    let release = release(package, &details, versions);
    pages::document(site, &release, &navigation, &path, view, &text)
}

/// Returns the page of a provider's newest version.
pub fn provider_at(site: &Site, address: &str) -> String {
    let package = fixtures::package(address);
    let versions = fixtures::versions(&["2.4.1"]);
    let details = provider::version_details(&package, &versions[0], "2.4.1");
    let navigation = provider::navigation(&package, &versions[0], 0);
    pages::provider(site, &release(&package, &details, &versions), &navigation)
}

/// Returns the page of a module's newest version, after a change of its details. The module is mirrored if its address has a
/// hostname.
pub fn module_page(
    site: &Site,
    address: &str,
    version: &str,
    change: impl FnOnce(&mut VersionDetails),
) -> String {
    let package = fixtures::package(address);
    let versions = fixtures::versions(&[version]);
    let view = Some(module::view(8));
    let mut details = module::version_details(&package, &versions[0], version, view);
    change(&mut details);
    pages::module(site, &release(&package, &details, &versions), None)
}

/// Returns the page of a module whose root has this part of a view.
pub fn module_with(root: Value) -> String {
    module_page(&fixtures::site(), VPC, "5.2.0", |it| {
        it.module = Some(module::view_of(root));
    })
}

/// Returns the page of a module with this README.
pub fn readme_with(markdown: &str) -> String {
    let vpc = fixtures::package(VPC);
    let versions = fixtures::versions(&["5.2.0"]);
    let details = module::version_details(&vpc, &versions[0], "5.2.0", None);
    let readme = text::rendered(markdown);
    let release = release(&vpc, &details, &versions);
    pages::module(&fixtures::site(), &release, Some(&readme))
}

fn modules(site: &Site) -> Vec<(&'static str, String)> {
    let vpc = fixtures::package(VPC);
    let versions = fixtures::versions(&["5.2.0", "5.1.0"]);
    let readme = text::rendered(text::DOCUMENT);
    let details =
        |at: usize| module::version_details(&vpc, &versions[at], "5.2.0", Some(module::view(40)));
    let mut older = details(1);
    older.version.status = Some(fixtures::status("withdrawn", "destroys route tables"));
    let details = details(0);
    let shown = details.module.as_ref().expect("a module");
    let path = "/api/v1/modules/acme/vpc/aws/5.2.0/docs/examples/complete/main.tf";
    let files = [
        (
            "main.tf",
            Some("module \"vpc\" {\n  source = \"../..\"\n}\n"),
        ),
        ("a.tf", None),
    ]
    .map(|(name, text)| ExampleFile { name, text, path });
    let current = release(&vpc, &details, &versions);
    let part = |path: DocumentPath, view, readme, files| {
        pages::module_part(site, &current, &path, view, readme, files)
    };
    let endpoints = DocumentPath::Submodule("endpoints".parse().expect("a name"));
    let complete = DocumentPath::Example("complete".parse().expect("a name"));
    let private = &fixtures::private_site();
    let changed = |change: fn(&mut VersionDetails)| module_page(private, VPC, "5.2.0", change);
    let bare = |it: &mut VersionDetails| {
        it.module = None;
        it.documentation = None;
    };
    let of_opentofu = |it: &mut VersionDetails| {
        it.module.as_mut().expect("a module").root.is_opentofu_only = true;
    };
    vec![
        ("module", pages::module(site, &current, Some(&readme))),
        (
            "module-older",
            pages::module(site, &release(&vpc, &older, &versions), None),
        ),
        ("module-bare", changed(bare)),
        ("module-opentofu", changed(of_opentofu)),
        (
            "module-two-clients",
            changed(|it| it.module = Some(module::of_two_clients())),
        ),
        (
            "module-mirrored",
            module_page(
                private,
                "registry.opentofu.org/acme/vpc/aws",
                "5.2.0",
                |_| (),
            ),
        ),
        (
            "module-submodule",
            part(endpoints, &shown.submodules[0], Some(&readme), &[]),
        ),
        (
            "module-example",
            part(complete, &shown.examples[0], None, &files),
        ),
    ]
}

fn comparisons(site: &Site) -> Vec<(&'static str, String)> {
    let vpc = fixtures::package(VPC);
    let versions = fixtures::versions(&["2.0.0", "1.0.0"]);
    let (mut old, new) = (module::view(12), module::view(15));
    old.root.inputs[1].default = Some("\"main\"".to_owned());
    old.root.inputs[2].constraint = Some("set(string)".to_owned());
    old.root.outputs.remove(1);
    old.root.providers[0].versions = vec![">= 4.0".to_owned()];
    old.submodules.pop();
    let differences = comparison::modules(&old, &new);
    let widget = fixtures::package("acme/widget");
    let details = provider::version_details(&widget, &versions[0], "2.0.0");
    let [before, after] = [40, 30].map(|count| provider::navigation(&widget, &versions[0], count));
    let [before, after] = [&before, &after].map(|navigation| ComparedVersion {
        details: &details,
        navigation,
    });
    let changed = comparison::versions(before, after);
    vec![
        ("compare", compared(VPC, Some(&differences), false)),
        (
            "compare-provider",
            compared("acme/widget", changed.as_ref(), false),
        ),
        (
            "compare-form",
            pages::comparison(site, &vpc, &versions, None),
        ),
        ("compare-undocumented", compared(VPC, None, false)),
    ]
}

/// Returns the page that compares the versions 1.0.0 and 2.0.0 of a package.
pub fn compared(address: &str, comparison: Option<&Comparison>, is_only_breaking: bool) -> String {
    let versions = fixtures::versions(&["2.0.0", "1.0.0"]);
    let compared = ComparedVersions {
        from: &versions[1].version,
        to: &versions[0].version,
        comparison,
        is_only_breaking,
    };
    let package = fixtures::package(address);
    pages::comparison(&fixtures::site(), &package, &versions, Some(&compared))
}

/// Returns the page of a module with `text` as each of its texts.
pub fn hostile(text: &str) -> String {
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
    module_page(&site, VPC, "5.2.0", |details| {
        details.module = Some(module::view_of(part));
        if let Some(documentation) = &mut details.documentation {
            documentation.license = Some(text.to_owned());
            documentation.notes = vec![text.to_owned()];
            documentation.changed_at = text.to_owned();
        }
        details.version.published_at = Some(text.to_owned());
    })
}

/// Returns the comparison of two modules with inputs that differ by `text`.
pub fn hostile_comparison(text: &str) -> String {
    let view = |text: &str| {
        module::view_of(
            json!({ "inputs": [{ "name": "x", "description": text, "default": text }] }),
        )
    };
    let differences = comparison::modules(&view(&format!("old {text}")), &view(text));
    compared(VPC, Some(&differences), false)
}
