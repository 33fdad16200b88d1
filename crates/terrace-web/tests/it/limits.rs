//! Lists and texts that are longer than a page may be.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use terrace_core::api::details::{NamespaceView, VersionSummary};
use terrace_core::limits::SHOWN_VERSIONS;
use terrace_core::model::package::PackageKind;
use terrace_web::comparison::modules;
use terrace_web::limits::{ROWS_BYTES, SNIPPET_INPUTS};
use terrace_web::pages::{
    Browse, ComparedVersions, SHOWN_NAMESPACES, Start, browse, comparison, start, versions,
};

use crate::fixtures;
use crate::fixtures::module::view_of;
use crate::html::Html;
use crate::pages::{self, VPC, compared, module_with};

fn namespaces(count: usize) -> Vec<NamespaceView> {
    let views = (0..count).map(|at| NamespaceView {
        namespace: format!("team-{at:04}"),
        path: String::new(),
        modules: 1,
        providers: 0,
    });
    views.collect()
}

fn many_versions(count: usize) -> Vec<VersionSummary> {
    let texts: Vec<String> = (0..count).rev().map(|at| format!("1.{at}.0")).collect();
    texts
        .iter()
        .flat_map(|text| fixtures::versions(&[text]))
        .collect()
}

/// Returns the targets of the links of a page that begin with `start`.
fn links(page: &Html, start: &str) -> Vec<String> {
    let links = page.named("a").map(|it| it.attribute("href").to_owned());
    links.filter(|link| link.starts_with(start)).collect()
}

#[test]
fn the_namespaces_of_a_large_registry_are_listed_in_parts_that_lead_to_each_other() {
    let namespaces = namespaces(SHOWN_NAMESPACES * 2 + 5);
    let first = Start {
        recent: &fixtures::packages(),
        namespaces: &namespaces,
        is_being_rebuilt: false,
    };
    let mut html = start(&fixtures::site(), &first);
    let mut seen = BTreeSet::new();
    for part in 0..3 {
        let page = Html::parse(&html);
        let listed = links(&page, "/namespaces/team-");
        assert!(listed.len() <= SHOWN_NAMESPACES, "{}", listed.len());
        seen.extend(listed);
        let next = links(&page, "/browse/modules?namespaces=");
        if part == 2 {
            assert_eq!(next, [] as [String; 0]);
            break;
        }
        let (_, after) = next[0].split_once("namespaces=").unwrap();
        let (after, _) = after.split_once('#').unwrap();
        let next = Browse {
            kind: PackageKind::Module,
            packages: &[],
            next: None,
            namespaces: &namespaces,
            namespaces_after: after,
        };
        html = browse(&fixtures::site(), &next);
    }
    assert_eq!(seen.len(), namespaces.len());
}

#[test]
fn the_versions_of_a_package_are_listed_in_parts_that_lead_to_each_other() {
    let package = fixtures::package(VPC);
    let details = fixtures::details(&package, many_versions(SHOWN_VERSIONS * 2 + 5));
    let mut after = None;
    let mut seen = BTreeSet::new();
    for part in 0..3 {
        let html = versions(&fixtures::site(), &package, &details, after.as_ref());
        let page = Html::parse(&html);
        let listed = links(&page, "/modules/acme/vpc/aws/1.");
        assert!(listed.len() <= SHOWN_VERSIONS, "{}", listed.len());
        seen.extend(listed);
        // The last row of a part is compared with the first one of the next.
        let compared = links(&page, "/modules/acme/vpc/aws/compare/");
        let last = usize::from(part == 2);
        let rows = page.named("tr").count() - 1;
        assert_eq!(compared.len(), rows - last);
        let next = links(&page, "/modules/acme/vpc/aws/versions?after=");
        assert_eq!(next.len(), 1 - last);
        let next = next.first().and_then(|link| link.split_once("after="));
        after = next.map(|(_, version)| fixtures::version(version));
    }
    assert_eq!(seen.len(), details.versions.len());
}

#[test]
fn the_form_of_a_comparison_has_the_newest_versions_and_the_compared_ones() {
    let package = fixtures::package(VPC);
    let versions = many_versions(SHOWN_VERSIONS + 50);
    let [.., old, older] = &versions[..] else {
        panic!("two versions")
    };
    let (old, older) = (&old.version, &older.version);
    let compared = ComparedVersions {
        from: older,
        to: old,
        comparison: None,
        is_only_breaking: false,
    };
    let html = comparison(&fixtures::site(), &package, &versions, Some(&compared));
    let page = Html::parse(&html);
    assert_eq!(page.named("option").count(), (SHOWN_VERSIONS + 1) * 2);
    let chosen = page
        .named("option")
        .filter(|it| it.attributes.contains_key("selected"));
    let chosen: Vec<&str> = chosen.map(|it| it.attribute("value")).collect();
    assert_eq!(chosen, ["1.0.0", "1.1.0"]);
    let html = comparison(&fixtures::site(), &package, &versions, None);
    let page = Html::parse(&html);
    assert_eq!(page.named("option").count(), SHOWN_VERSIONS * 2);
    // One is in the row of the package's pages.
    let all = links(&page, "/modules/acme/vpc/aws/versions");
    assert_eq!(all.len(), 2);
    let few = comparison(&fixtures::site(), &package, &versions[..5], None);
    let all = links(&Html::parse(&few), "/modules/acme/vpc/aws/versions");
    assert_eq!(all.len(), 1);
}

#[test]
fn a_start_page_without_visible_recent_packages_has_no_heading_for_them() {
    let namespaces = fixtures::namespaces();
    let contents = Start {
        namespaces: &namespaces,
        ..Start::default()
    };
    let page = start(&fixtures::site(), &contents);
    assert!(!page.contains("Recently published"));
    assert!(page.contains("data-engineering"));
}

#[test]
fn a_text_whose_html_is_too_long_has_a_note_that_it_was_cut() {
    const NOTE: &str = "was cut. Its Markdown has more.";
    let short = "-> a\n\n".repeat(10);
    let long = "-> a\n\n".repeat(20_000);
    assert!(fixtures::text::rendered(&long).is_truncated);
    for page in [pages::document_with, pages::readme_with] {
        assert!(!page(&short).contains(NOTE));
        assert!(page(&long).contains(NOTE));
    }
}

fn inputs(count: usize, extra: Value) -> Vec<Value> {
    let inputs = (0..count).map(|at| {
        let mut input = extra.clone();
        input["name"] = format!("input_{at}").into();
        input
    });
    inputs.collect()
}

#[test]
fn the_rows_of_a_module_and_of_a_comparison_end_with_a_note() {
    const NOTE: &str = "was cut";
    let few = inputs(400, json!({ "type": "string", "default": "null" }));
    assert!(!module_with(json!({ "inputs": few })).contains(NOTE));
    // Escaped, and with a colour for each token.
    for text in ["&".repeat(100_000), "1,".repeat(50_000)] {
        let many = inputs(20, json!({ "default": text, "description": text }));
        let view = json!({ "inputs": many });
        let differences = modules(&view_of(json!({})), &view_of(view.clone()));
        for page in [module_with(view), compared(VPC, Some(&differences), false)] {
            assert!(page.contains(NOTE) && page.len() < ROWS_BYTES + 100_000);
        }
    }
}

#[test]
fn the_call_of_a_module_has_some_required_inputs_and_none_with_a_long_name() {
    let mut many = inputs(SNIPPET_INPUTS + 1, json!({}));
    many.push(json!({ "name": "x".repeat(70_000) }));
    let page = module_with(json!({ "inputs": many }));
    let blocks = Html::parse(&page);
    let call = &blocks.named("pre").next().unwrap().text;
    assert_eq!(call.matches(" = null # any").count(), SNIPPET_INPUTS);
    assert!(call.contains("# and 1 other required input\n"), "{call}");
}
