//! Tests of whole directory trees.

use serde_json::{Value, json};
use terrace_core::limits::{DOCUMENTATION_SYMBOLS, SYMBOL_NAME_BYTES};
use terrace_core::model::package::Package;

use super::*;
use crate::OpenArchive;

const PAGE: &str = "---\npage_title: \"A: page\"\nsubcategory: Group\ndescription: |-\n  One\n  two\n---\n\n# Title\n";

const SCHEMA: &str = include_str!("../../tests/fixtures/schema.json");

fn draft<'f>(files: &[(&'f str, &'f [u8])]) -> Draft {
    with_schema(files, None)
}

fn with_schema<'f>(files: &[(&'f str, &'f [u8])], schema: Option<&Schema>) -> Draft {
    let files: Vec<_> = files
        .iter()
        .map(|(path, bytes)| SourceFile { path, bytes })
        .collect();
    let options = ProviderOptions {
        provider_type: "widget",
        schema,
    };
    provider_details(&files, options)
}

fn details(draft: &Draft) -> &ProviderDetails {
    match &draft.contents {
        Contents::Provider(details) => details,
        Contents::Module(_) => panic!("a provider"),
    }
}

fn pages(draft: &Draft) -> Vec<String> {
    let pages = details(draft).pages.iter();
    pages
        .map(|page| format!("{}/{}", page.kind, page.name))
        .collect()
}

fn symbols(draft: &Draft) -> Vec<String> {
    let symbols = details(draft).symbols.iter();
    symbols
        .map(|it| {
            let page = it.page.as_ref().map_or("-", |page| page.as_str());
            format!("{} {} {page}", it.kind, it.name)
        })
        .collect()
}

fn warnings(draft: &Draft) -> Vec<String> {
    draft.warnings.iter().map(|it| it.to_string()).collect()
}

#[test]
fn pages_beyond_the_limit_are_left_out_with_one_note_and_one_warning() {
    let paths: Vec<String> = (0..DOCUMENTATION_PAGES + 3)
        .map(|number| format!("docs/guides/{number}.md"))
        .collect();
    let page = "---\npage_title: a\n---\n".as_bytes();
    let files: Vec<_> = paths.iter().map(|path| (path.as_str(), page)).collect();
    let found = draft(&files);
    assert_eq!(details(&found).pages.len(), DOCUMENTATION_PAGES);
    let expected = "3 pages were left out, because documentation has at most 2000 pages";
    assert_eq!(found.notes, [expected]);
    assert_eq!(warnings(&found), [format!("docs: {expected}")]);
}

/// Returns the schema of a provider with these resources.
fn schema_of(names: impl Iterator<Item = String>) -> Schema {
    let resources: serde_json::Map<String, Value> =
        names.map(|name| (name, json!({ "block": {} }))).collect();
    let provider = json!({ "resource_schemas": resources });
    let schema = json!({ "provider_schemas": { "registry.example.com/acme/widget": provider } });
    Schema::parse(schema.to_string().as_bytes(), "widget").unwrap()
}

#[test]
fn symbols_beyond_the_limits_are_left_out_with_notes() {
    let names = (0..DOCUMENTATION_SYMBOLS + 3).map(|number| format!("widget_{number:05}"));
    let long = ["l".repeat(SYMBOL_NAME_BYTES + 1)];
    let found = with_schema(&[], Some(&schema_of(names.chain(long))));
    let symbols = &details(&found).symbols;
    assert_eq!(symbols.len(), DOCUMENTATION_SYMBOLS);
    assert_eq!(symbols.last().unwrap().name, "widget_04999");
    assert_eq!(details(&found).pages.len(), DOCUMENTATION_PAGES);
    assert_eq!(
        found.notes,
        [
            "the pages generated from the schema after the first 2000 pages were left out: 3003",
            "the names of resources and functions with more than 192 bytes were left out of the search: 1",
            "the names of resources and functions after the first 5000 were left out of the search: 3",
        ]
    );
}

#[test]
fn a_registry_accepts_the_longest_list_of_symbols() {
    let length = SYMBOL_NAME_BYTES;
    let names = (0..DOCUMENTATION_SYMBOLS + 1).map(|number| format!("{number:0>length$}"));
    let found = with_schema(&[], Some(&schema_of(names)));
    let packed = found.pack();
    let package = Package::Provider("acme/widget".parse().unwrap());
    let archive = OpenArchive::parse(&packed.bytes, &package).unwrap();
    assert_eq!(archive.head().notes, packed.head.notes);
}

#[test]
fn the_pages_of_both_layouts_are_found() {
    let page = PAGE.as_bytes();
    let modern = draft(&[
        ("docs/index.md", page),
        ("docs/notes.md", page),
        ("docs/internal/notes.md", page),
        ("docs/resources/gear.md", page),
        ("docs/data-sources/gear.md", page),
        ("docs/functions/parse.md", page),
        ("docs/guides/start.md", page),
        ("docs/ephemeral-resources/token.md", page),
        ("docs/list-resources/gear.md", page),
        ("docs/actions/turn.md", page),
        ("docs/cdktf/python/resources/gear.md", page),
        ("main.go", b""),
    ]);
    let expected = [
        "overview/index",
        "guides/start",
        "functions/parse",
        "ephemeral-resources/token",
        "resources/gear",
        "data-sources/gear",
        "list-resources/gear",
        "actions/turn",
    ];
    assert_eq!(pages(&modern), expected);
    assert_eq!(
        symbols(&modern)[..2],
        [
            "functions parse parse",
            "ephemeral-resources widget_token token"
        ]
    );
    let legacy = draft(&[
        ("website/docs/index.html.markdown", page),
        ("website/docs/r/widget_gear.html.md", page),
        ("website/docs/d/gear.markdown", page),
        ("website/docs/f/parse.md.html", page),
        ("docs/index.md", page),
    ]);
    let expected = [
        "overview/index",
        "functions/parse",
        "resources/widget_gear",
        "data-sources/gear",
    ];
    assert_eq!(pages(&legacy), expected);
    assert_eq!(symbols(&legacy)[1], "resources widget_gear widget_gear");
    let directory = draft(&[("index.md", page), ("resources/gear.md", page)]);
    assert_eq!(pages(&directory), ["overview/index", "resources/gear"]);
}

#[test]
fn a_page_has_its_frontmatter_in_the_navigation_only() {
    let found = draft(&[("docs/resources/gear.md", PAGE.as_bytes())]);
    let page = &details(&found).pages[0];
    assert_eq!(page.title, "A: page");
    assert_eq!(page.subcategory.as_deref(), Some("Group"));
    assert_eq!(page.description.as_deref(), Some("One two"));
    assert_eq!(found.pages, [b"# Title\n"]);
    assert_eq!(warnings(&found), [""; 0]);
}

#[test]
fn the_rejections_of_other_tools_are_warnings_with_file_and_line() {
    let long = format!("docs/resources/{}.md", "i".repeat(200));
    let too_long = format!(
        "{}: the page is left out, because its name has 200 characters, and at most 128 are allowed",
        shown(&long)
    );
    let found = draft(&[
        ("docs/index.md", b"---\nsubcategory: x\nlayout: y\n---\n"),
        ("docs/resources/.a.md", b""),
        (&long, b""),
        ("docs/guides/start.md", b"---\nsidebar_current: z\n---\n"),
        ("docs/resources/a.md", b"# no frontmatter"),
        ("docs/resources/b.md", b"---\npage_title: a: b\n---\n"),
        ("docs/resources/c.txt", b""),
        ("docs/resources/d/e.md", b""),
        ("docs/resources/f g.md", b""),
        ("docs/resources/h.md", b"---\nx: y\n---\n[h](gone.md)\n\xFF"),
    ]);
    assert_eq!(
        warnings(&found),
        [
            "docs/resources/.a.md: the page is left out, because its name begins with a dot",
            "docs/resources/c.txt: the file is left out, because its extension is not .md",
            "docs/resources/d/e.md: resources/d is no directory of pages; the file is left out",
            "docs/resources/f g.md: the page is left out, because its name has characters other than ASCII letters, digits, dots, dashes and underscores",
            &too_long,
            "docs/index.md:3: the frontmatter must not contain layout; remove the line",
            "docs/index.md:2: the frontmatter must not contain subcategory; remove the line",
            "docs/guides/start.md:2: the frontmatter must not contain sidebar_current; remove the line",
            "docs/guides/start.md:1: the frontmatter must contain page_title; add a line",
            "docs/resources/a.md:1: the page has no frontmatter, so it has no description",
            "docs/resources/b.md:2: the frontmatter is not valid YAML: the value contains a colon; put it in quotes",
            "docs/resources/h.md:5: the file is not valid UTF-8; the invalid characters were replaced",
            "docs/resources/h.md:4: the link to gone.md leads to no page",
        ]
    );
    let legacy = draft(&[
        ("website/docs/r/a.md", b"---\nlayout: x\n---\n"),
        ("website/docs/other/a.md", b""),
        ("website/docs/a.md", b""),
        ("docs/resources/b.md", b""),
    ]);
    assert_eq!(
        warnings(&legacy),
        [
            "website/docs: there are pages in docs and in website/docs; only those in website/docs are used, so move all to docs",
            "website/docs/a.md: the page is in no directory of pages, such as r or d",
            "website/docs/other/a.md: other is no directory of pages; the file is left out",
            "website/docs/r/a.md:1: the frontmatter must contain description; add a line",
            "website/docs/r/a.md:1: the frontmatter must contain page_title; add a line",
        ]
    );
}

#[test]
fn a_long_page_is_cut_between_characters_with_a_note() {
    let text = format!("---\na: b\n---\n{}", "é".repeat(1_500_000));
    let found = draft(&[("docs/resources/a.md", text.as_bytes())]);
    let page = &details(&found).pages[0];
    assert!(page.is_truncated);
    assert!(found.pages[0].len() <= PAGE_SIZE && found.pages[0].len() > PAGE_SIZE - 3);
    assert!(str::from_utf8(&found.pages[0]).unwrap().ends_with(CUT));
    assert!(warnings(&found)[0].contains("the file has 3000013 bytes"));
}

#[test]
fn a_schema_has_symbols_and_pages_without_a_file() {
    let schema = Schema::parse(SCHEMA.as_bytes(), "widget").unwrap();
    let found = with_schema(
        &[
            ("docs/resources/gear.md", PAGE.as_bytes()),
            ("docs/resources/lost.md", PAGE.as_bytes()),
        ],
        Some(&schema),
    );
    assert_eq!(
        symbols(&found),
        [
            "functions parse parse",
            "ephemeral-resources widget_token token",
            "resources widget_gear gear",
            "resources widget_wheel wheel",
            "data-sources widget_gear gear",
        ]
    );
    let generated = details(&found)
        .pages
        .iter()
        .filter(|page| page.is_generated);
    let generated: Vec<_> = generated.map(|page| page.title.as_str()).collect();
    assert_eq!(
        generated,
        [
            "widget Provider",
            "parse",
            "widget_token",
            "widget_wheel",
            "widget_gear"
        ]
    );
    let expected = include_str!("../../tests/fixtures/schema.md");
    let actual: Vec<_> = found
        .pages
        .iter()
        .map(|page| str::from_utf8(page).unwrap())
        .collect();
    let actual = actual.join("\n=====\n\n");
    if std::env::var_os("TERRACE_PIN").is_some() {
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/schema.md"),
            &actual,
        )
        .unwrap();
    }
    assert_eq!(actual, expected, "renew with TERRACE_PIN=1");
    let found = warnings(&found);
    for expected in [
        "docs/resources/lost.md: the schema has neither widget_lost nor lost; rename or remove the page",
        // There is a page of a resource, and none of a function.
        "resources/widget_wheel: no file describes it, so a page is generated from the schema",
        "functions/parse: no file describes it, so a page is generated from the schema",
    ] {
        assert!(found.iter().any(|it| it == expected), "{found:?}");
    }
}

#[test]
fn the_arguments_of_a_schema_are_kept_unless_they_are_too_long() {
    let mut schema = Schema::parse(SCHEMA.as_bytes(), "widget").unwrap();
    let found = with_schema(&[], Some(&schema));
    let symbols = &details(&found).symbols;
    let arguments = |name| symbols.iter().find(|it| it.name == name)?.arguments.clone();
    assert_eq!(
        arguments("widget_wheel").unwrap(),
        "\
hub: Optional, Attributes
id: Read-Only, String
labels: Optional, Map of String
name: Required, String
parts: Read-Only, List of Object
secret: Optional, String, Write-only
spoke: Required, Block List, Min: 1, Max: 32
timeouts: Optional, Block
hub.bolts: Required, Number
hub.old: Optional, Boolean, Deprecated
parts.name: Read-Only, String
parts.sizes: Read-Only, Set of Number
spoke.length: Required, Number
spoke.nipple: Read-Only, Block Set
timeouts.create: Optional, String
spoke.nipple.kind: Read-Only, Dynamic"
    );
    let signature = "signature: (text string, more list of bool...) object";
    assert_eq!(arguments("parse").unwrap(), signature);
    assert!(details(&found).arguments.is_some());

    let long = SCHEMA.replace(
        "\"labels\"",
        &format!("{:?}", "l".repeat(limits::ARGUMENTS_BYTES)),
    );
    schema = Schema::parse(long.as_bytes(), "widget").unwrap();
    let found = with_schema(&[], Some(&schema));
    let mut symbols = details(&found).symbols.iter();
    assert!(symbols.all(|it| it.arguments.is_none()));
    let is_note = |it: &String| it.contains("left out of comparisons");
    assert!(found.notes.iter().any(is_note), "{:?}", found.notes);
}

#[test]
fn a_schema_of_another_provider_is_rejected() {
    let error = Schema::parse(SCHEMA.as_bytes(), "other").unwrap_err();
    assert_eq!(
        error,
        "the schema describes \"registry.example.com/acme/widget\", but not the provider \"other\"; run `terraform providers schema -json` in a directory that requires it"
    );
    assert!(Schema::parse(b"{}", "widget").is_err());
    let deep = format!("{{\"provider_schemas\":{{\"a\":{}", "[".repeat(100_000));
    assert!(
        Schema::parse(deep.as_bytes(), "widget").is_err_and(|it| it.contains("is not the output"))
    );
}
