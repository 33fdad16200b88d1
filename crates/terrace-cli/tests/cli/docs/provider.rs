//! The documentation of `terrace publish provider`.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use terrace_core::documentation::DocumentationKind;

use super::provider_details;
use crate::support::registry::Registry;
use crate::support::{Dist, Ended, run};

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

fn titles(registry: &Registry) -> Vec<String> {
    let details = provider_details(registry.documentation_head("acme/hello"));
    let pages = details.pages.iter();
    pages
        .map(|page| format!("{}/{}: {}", page.kind, page.name, page.title))
        .collect()
}

#[test]
fn the_docs_directory_beside_dist_is_published() {
    let registry = Registry::start();
    let dist = Dist::new();
    write(
        dist.outside(),
        &[("docs/index.md", PAGE), ("docs/resources/widget.md", PAGE)],
    );
    let report = publish(&registry, &dist, &[]).expect(0).json();
    assert_eq!(report["documentation"]["pages"], 2);
    assert_eq!(report["documentation"]["status"], "created");
    assert_eq!(
        titles(&registry),
        ["overview/index: A widget", "resources/widget: A widget"]
    );
    let requests = registry.all_requests();
    let first = format!("PUT {RELEASE}/documentation?unpublished=true");
    assert_eq!(requests[0], first);
}

#[test]
fn the_older_layout_is_found() {
    let registry = Registry::start();
    let dist = Dist::new();
    let page = "---\nlayout: a\npage_title: b\ndescription: c\n---\n# Widget\n";
    write(
        dist.outside(),
        &[("website/docs/r/widget.html.markdown", page)],
    );
    publish(&registry, &dist, &[]).expect(0);
    assert_eq!(titles(&registry), ["resources/widget: b"]);
}

#[test]
fn an_archive_of_documentation_is_preferred_and_is_no_package() {
    let registry = Registry::start();
    let dist = Dist::new();
    write(dist.outside(), &[("docs/index.md", PAGE)]);
    let mut zip = zip::ZipWriter::new(fs::File::create(dist.file("docs.zip")).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("docs/guides/start.md", options).unwrap();
    zip.write_all(PAGE.as_bytes()).unwrap();
    zip.finish().unwrap();
    publish(&registry, &dist, &[]).expect(0);
    assert_eq!(titles(&registry), ["guides/start: A widget"]);
    let description = registry.description();
    assert_eq!(description["packages"].as_array().unwrap().len(), 6);
}

#[test]
fn a_directory_of_documentation_can_be_named() {
    let registry = Registry::start();
    let dist = Dist::new();
    write(
        dist.outside(),
        &[("docs/index.md", PAGE), ("pages/functions/join.md", PAGE)],
    );
    let pages = dist.outside().join("pages");
    publish(&registry, &dist, &["--docs", pages.to_str().unwrap()]).expect(0);
    assert_eq!(titles(&registry), ["functions/join: A widget"]);
    let left_out = Registry::start();
    publish(&left_out, &dist, &["--no-docs"]).expect(0);
    assert_eq!(left_out.documentation(RELEASE), None);
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
    let registry = Registry::start();
    let dist = Dist::new();
    write(
        dist.outside(),
        &[("docs/index.md", PAGE), ("schema.json", "{")],
    );
    let path = dist.outside().join("schema.json");
    let schema = ["--schema", path.to_str().unwrap()];
    let report = publish(&registry, &dist, &schema).expect(0).json();
    assert_eq!(report["documentation"]["pages"], 1);
    let warnings = report["warnings"].to_string();
    assert!(
        warnings.contains("documentation without a schema"),
        "{warnings}"
    );
    let required = [&schema[..], &["--require-docs"]].concat();
    let ended = publish(&Registry::start(), &dist, &required).expect(3);
    assert!(ended.errors().contains("schema.json"), "{ended:?}");
}

#[test]
fn a_provider_without_documentation_is_published_unless_it_is_required() {
    let registry = Registry::start();
    let ended = publish(&registry, &Dist::new(), &["--require-docs"]).expect(3);
    assert!(
        ended.errors().contains("no documentation was found"),
        "{ended:?}"
    );
    assert_eq!(registry.all_requests(), [""; 0]);
    let ended = publish(&registry, &Dist::new(), &[]).expect(0);
    assert!(
        ended.stderr.contains("no documentation was found"),
        "{ended:?}"
    );
    assert!(
        !ended.stderr.contains("warning: no documentation"),
        "{ended:?}"
    );
}

#[test]
fn twenty_warnings_are_printed_and_the_others_counted() {
    let registry = Registry::start();
    let dist = Dist::new();
    for number in 0..25 {
        let path = format!("docs/guides/{number:02}.md");
        write(dist.outside(), &[(&path, "# No frontmatter\n")]);
    }
    let report = publish(&registry, &dist, &[]).expect(0).json();
    let warnings = report["warnings"].as_array().unwrap();
    let is_about = |text: &&str| text.contains("docs/guides/");
    let texts: Vec<&str> = warnings.iter().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(texts.iter().filter(|it| is_about(it)).count(), 20);
    assert!(
        texts
            .iter()
            .any(|it| it.starts_with("docs/guides/00.md:1: ")),
        "{texts:?}"
    );
    let count = texts.iter().find(|it| it.contains("further warning"));
    assert!(
        count.unwrap().starts_with("5 further warnings"),
        "{texts:?}"
    );
}
