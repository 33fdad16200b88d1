//! The documentation of `terrace publish provider`.

use std::fs;
use std::path::Path;

use terrace_core::documentation::DocumentationKind;

use super::provider_details;
use crate::support::registry::Registry;
use crate::support::{Dist, Ended, assert_has, assert_lacks, run, zip};

const RELEASE: &str = "/admin/v1/providers/acme/hello/1.2.3";

const PAGE: &str = "---\npage_title: \"A widget\"\nsubcategory: \"\"\ndescription: |-\n  Makes one.\n---\n\n# Widget\n";

#[track_caller]
fn publish(registry: &Registry, dist: &Dist, more: &[&str]) -> Ended {
    let path = dist.path();
    let fixed = ["publish", "provider", &path, "--namespace", "acme"];
    run(registry, &[&fixed, more].concat())
}

fn write(directory: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn titles(registry: &Registry) -> String {
    let details = provider_details(registry.documentation_head("acme/hello"));
    let pages = details.pages.iter();
    let titles = pages.map(|page| format!("{}/{}: {}", page.kind, page.name, page.title));
    titles.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_docs_directory_beside_dist_is_published() {
    for (page, widget) in [
        ("docs/index.md", "docs/resources/widget.md"),
        (
            "website/docs/index.html.markdown",
            "website/docs/r/widget.html.markdown",
        ),
    ] {
        let registry = Registry::start();
        let dist = Dist::new();
        write(dist.outside(), &[(page, PAGE), (widget, PAGE)]);
        let report = publish(&registry, &dist, &[]).expect(0).json();
        assert_eq!(report["documentation"]["pages"], 2);
        assert_eq!(report["documentation"]["status"], "created");
        let expected = "overview/index: A widget, resources/widget: A widget";
        assert_eq!(titles(&registry), expected);
        let first = format!("PUT {RELEASE}/documentation?unpublished=true");
        assert_eq!(registry.all_requests()[0], first);
    }
}

#[test]
fn an_archive_of_documentation_is_preferred_and_is_no_package() {
    let registry = Registry::start();
    let dist = Dist::new();
    write(dist.outside(), &[("docs/index.md", PAGE)]);
    let archive = zip(&[("docs/guides/start.md", PAGE)]);
    fs::write(dist.file("docs.zip"), archive).unwrap();
    publish(&registry, &dist, &[]).expect(0);
    assert_eq!(titles(&registry), "guides/start: A widget");
    let description = registry.description();
    assert_eq!(description["packages"].as_array().unwrap().len(), 6);
}

#[test]
fn a_schema_adds_symbols_and_pages() {
    let registry = Registry::start();
    let dist = Dist::new();
    let block = r#"{ "version": 0, "block": { "attributes": { "id": { "type": "string", "computed": true } } } }"#;
    let schema = format!(
        r#"{{ "format_version": "1.0", "provider_schemas": {{ "registry.terraform.io/acme/hello": {{ "resource_schemas": {{ "hello_widget": {block} }} }} }} }}"#
    );
    write(dist.outside(), &[("schema.json", &schema)]);
    let path = dist.outside().join("schema.json");
    publish(&registry, &dist, &["--schema", path.to_str().unwrap()]).expect(0);
    let details = provider_details(registry.documentation_head("acme/hello"));
    let symbol = &details.symbols[0];
    assert_eq!(symbol.kind, DocumentationKind::Resource);
    assert_eq!(symbol.name, "hello_widget");
    assert!(details.pages.iter().all(|page| page.is_generated));
}

#[test]
fn an_unusable_schema_is_a_warning_unless_documentation_is_required() {
    let dist = Dist::new();
    write(
        dist.outside(),
        &[("docs/index.md", PAGE), ("schema.json", "{")],
    );
    let path = dist.outside().join("schema.json");
    let schema = ["--schema", path.to_str().unwrap()];
    let ended = publish(&Registry::start(), &dist, &schema).expect(0);
    assert_eq!(ended.json()["documentation"]["pages"], 1);
    assert_has!(ended.warnings(), "documentation without a schema");
    let required = [&schema[..], &["--require-docs"]].concat();
    publish(&Registry::start(), &dist, &required).fails(3, "schema.json");
}

#[test]
fn a_provider_without_documentation_is_published_unless_it_is_required() {
    let registry = Registry::start();
    publish(&registry, &Dist::new(), &["--require-docs"]).fails(3, "no documentation was found");
    assert_eq!(registry.all_requests(), [""; 0]);
    let ended = publish(&registry, &Dist::new(), &[]).expect(0);
    assert_has!(ended.stderr, "no documentation was found");
    assert_lacks!(ended.stderr, "warning: no documentation");
}
