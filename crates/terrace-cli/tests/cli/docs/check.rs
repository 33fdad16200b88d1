//! `terrace docs check`.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Ended, assert_has, directory, ended, terrace};

#[track_caller]
fn check_with(place: &Path, more: &[&str]) -> Ended {
    let mut command = terrace(&["docs", "check", "--json"]);
    ended(command.arg(place).args(more))
}

#[track_caller]
fn check(files: &[(&str, &str)]) -> Ended {
    check_with(directory(files).path(), &[])
}

const PAGE: &str = "---\npage_title: \"A\"\nsubcategory: \"\"\ndescription: |-\n  b\n---\n# A\n";

#[test]
fn documentation_without_errors_passes() {
    let index = PAGE.replace("subcategory: \"\"\n", "");
    let docs = directory(&[
        ("docs/index.md", index.as_str()),
        ("docs/resources/widget.md", PAGE),
        ("docs/cdktf/python/resources/widget.md", PAGE),
    ]);
    for place in [docs.path().to_owned(), docs.path().join("docs")] {
        let report = check_with(&place, &[]).expect(0).json();
        assert_eq!(report["status"], "ok");
        assert_eq!(report["documentation"]["pages"], 2);
    }
}

#[test]
fn every_error_has_a_file_and_most_have_a_line() {
    let link = format!("{PAGE}\n[x](nothing.md)\n");
    let errors = check(&[
        ("docs/index.md", PAGE),
        ("docs/resources/link.md", &link),
        ("docs/resources/image.png", ""),
    ]);
    assert_has!(
        format!("\n{}", errors.expect(3).errors()),
        "\ndocs/index.md:3: the frontmatter must not contain subcategory",
        "\ndocs/resources/link.md:9: the link to nothing.md leads to no page",
        "\ndocs/resources/image.png: ",
    );
}

#[test]
fn a_link_that_leaves_the_directory_is_an_error() {
    let docs = directory(&[("docs/index.md", "---\npage_title: a\n---\n# A\n")]);
    let outside = directory(&[("secret.md", "a secret"), ("index.md", PAGE)]);
    let pages = docs.path().join("docs");
    symlink(outside.path().join("secret.md"), pages.join("resources.md")).unwrap();
    symlink(outside.path(), pages.join("guides")).unwrap();
    symlink("nowhere", pages.join("broken.md")).unwrap();
    symlink("index.md", pages.join("same.md")).unwrap();
    let reasons = check_with(docs.path(), &[]).fails(3, "docs/broken.md: left out");
    let outsiders = reasons.matches("leads outside of the directory").count();
    assert_eq!((outsiders, reasons.lines().count()), (2, 3), "{reasons}");
    // The same for the directory itself.
    let repository = directory(&[("main.go", "")]);
    symlink(outside.path(), repository.path().join("docs")).unwrap();
    let expected = "docs: left out of the documentation: the link leads outside";
    check_with(repository.path(), &[]).fails(3, expected);
}

#[test]
fn a_module_passes_unless_a_file_of_it_cannot_be_read() {
    let main = ("main.tf", "variable \"a\" {}\n");
    // With a note, because it looks like the documentation of a provider, too.
    let report = check(&[main, ("docs/index.md", "# A\n")]).expect(0).json();
    assert_eq!(report["documentation"]["inputs"], 1);
    assert_has!(report["notes"].to_string(), "was read as a module");
    check(&[main, ("broken.tf", "variable \"b\" {\n")]).fails(3, "broken.tf:1: ");
}

#[test]
fn a_part_of_a_module_that_readers_would_not_see_is_an_error() {
    let reasons = check(&[
        ("main.tf", "variable \"a\" {}\n"),
        ("README.md", &"# A\n".repeat(200_000)),
        ("examples/with\u{200b}space/main.tf", ""),
    ]);
    let reasons = reasons.fails(3, "README.md has 800000 bytes and was cut");
    assert_has!(reasons, "examples/with\\u{200b}space was skipped");
}

#[test]
fn a_schema_needs_the_type_of_the_provider() {
    let docs = directory(&[
        ("docs/index.md", PAGE),
        ("schema.json", "{\"provider_schemas\": {}}"),
    ]);
    let schema = docs.path().join("schema.json");
    let schema = ["--schema", schema.to_str().unwrap()];
    check_with(docs.path(), &schema).fails(2, "--type");
    let typed = [&schema[..], &["--type", "widget"]].concat();
    check_with(docs.path(), &typed).fails(3, "widget");
}

#[test]
fn a_directory_is_a_module_or_a_provider_by_its_files() {
    let part = "variable \"a\" {}";
    for files in [
        &[
            ("modules/user/main.tf", part),
            ("docs/UPGRADE-6.md", "# Upgrade"),
        ][..],
        &[("examples/simple/main.tofu", part)],
    ] {
        let report = check(files).expect(0).json();
        assert!(report["documentation"]["submodules"].is_u64(), "{report}");
    }
    let example = ("examples/provider/provider.tf", "provider \"widget\" {}");
    for page in ["docs/index.md", "docs/resources/widget.md"] {
        let report = check(&[example, (page, PAGE)]).json();
        assert_eq!(report["documentation"]["pages"], 1, "{report}");
    }
    let broken = format!("{PAGE}\n[x](./nope.md)\n");
    let stray = check(&[("docs/resources/thing.md", &broken), ("sample.tf", "")]);
    stray.fails(3, "nope.md leads to no page");
    let parent = directory(&[("terraform-provider-widget/examples/a/main.tf", "")]);
    let repository = parent.path().join("terraform-provider-widget");
    check_with(&repository, &[]).fails(3, "there is no documentation");
}
