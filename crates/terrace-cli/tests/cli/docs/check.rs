//! `terrace docs check`.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::{Ended, directory, ended, terrace};

#[track_caller]
fn check(arguments: &[&str]) -> Ended {
    let mut command: Command = terrace(&[&["docs", "check"], arguments].concat());
    ended(command.arg("--json"))
}

const PAGE: &str = "---\npage_title: \"A\"\nsubcategory: \"\"\ndescription: |-\n  b\n---\n# A\n";

#[test]
fn documentation_without_errors_passes() {
    let index = PAGE.replace("subcategory: \"\"\n", "");
    let docs = directory(&[
        ("docs/index.md", index.as_str()),
        ("docs/resources/widget.md", PAGE),
    ]);
    for path in [docs.path().to_owned(), docs.path().join("docs")] {
        let report = check(&[path.to_str().unwrap()]).expect(0).json();
        assert_eq!(report["status"], "ok");
        assert_eq!(report["documentation"]["pages"], 2);
    }
}

#[test]
fn every_error_has_a_file_and_most_have_a_line() {
    let docs = directory(&[
        ("docs/index.md", PAGE),
        (
            "docs/resources/broken.md",
            "---\npage_title: a: b\n---\n# A\n",
        ),
        (
            "docs/resources/link.md",
            &format!("{PAGE}\n[x](nothing.md)\n"),
        ),
        ("docs/resources/image.png", ""),
        ("docs/resources/deep/page.md", PAGE),
        ("docs/guides/untitled.md", "---\nsubcategory: a\n---\n# A\n"),
    ]);
    let reasons = check(&[docs.path().to_str().unwrap()]).expect(3).errors();
    for expected in [
        "docs/index.md:3: the frontmatter must not contain subcategory",
        "docs/resources/broken.md:2: ",
        "docs/resources/link.md:9: the link to nothing.md leads to no page",
        "docs/resources/image.png: ",
        "docs/resources/deep/page.md: ",
        "docs/guides/untitled.md:1: the frontmatter must contain page_title",
    ] {
        assert!(
            reasons.lines().any(|line| line.starts_with(expected)),
            "{expected} in {reasons}"
        );
    }
}

#[test]
fn a_link_that_leaves_the_directory_is_an_error() {
    let docs = directory(&[("docs/index.md", "---\npage_title: a\n---\n# A\n")]);
    let outside = directory(&[("secret.md", "a secret")]);
    let pages = docs.path().join("docs");
    symlink(outside.path().join("secret.md"), pages.join("resources.md")).unwrap();
    symlink(outside.path(), pages.join("guides")).unwrap();
    symlink("nowhere", pages.join("broken.md")).unwrap();
    symlink("index.md", pages.join("same.md")).unwrap();
    let reasons = check(&[docs.path().to_str().unwrap()]).expect(3).errors();
    assert_eq!(
        reasons.matches("leads outside of the directory").count(),
        2,
        "{reasons}"
    );
    assert!(reasons.contains("docs/broken.md: left out"), "{reasons}");
    assert_eq!(reasons.lines().count(), 3, "{reasons}");
}

#[test]
fn a_linked_directory_of_documentation_is_not_followed_outside() {
    let outside = directory(&[("index.md", PAGE)]);
    let repository = directory(&[("main.go", "")]);
    symlink(outside.path(), repository.path().join("docs")).unwrap();
    let reasons = check(&[repository.path().to_str().unwrap()])
        .expect(3)
        .errors();
    assert!(
        reasons.contains("docs: left out of the documentation: the link leads outside"),
        "{reasons}"
    );
}

#[test]
fn a_module_passes_unless_a_file_of_it_cannot_be_read() {
    let module = directory(&[("main.tf", "variable \"a\" {}\n")]);
    let path = module.path().to_str().unwrap();
    assert_eq!(
        check(&[path]).expect(0).json()["documentation"]["inputs"],
        1
    );
    std::fs::write(module.path().join("broken.tf"), "variable \"b\" {\n").unwrap();
    let reasons = check(&[path]).expect(3).errors();
    assert!(reasons.starts_with("broken.tf:1: "), "{reasons}");
}

#[test]
fn a_provider_with_a_stray_configuration_file_is_checked_as_one_with_a_note() {
    let broken = format!("{PAGE}\n[x](./nope.md)\n");
    let docs = directory(&[("docs/resources/thing.md", &broken), ("sample.tf", "")]);
    let ended = check(&[docs.path().to_str().unwrap()]).expect(3);
    let reasons = ended.errors();
    assert!(reasons.contains("nope.md leads to no page"), "{reasons}");
    let module = directory(&[
        ("docs/index.md", "# A\n"),
        ("main.tf", "variable \"a\" {}\n"),
    ]);
    let report = check(&[module.path().to_str().unwrap()]).expect(0).json();
    assert_eq!(report["documentation"]["inputs"], 1);
    let notes = report["notes"].to_string();
    assert!(notes.contains("was read as a module"), "{notes}");
}

#[test]
fn a_part_of_a_module_that_readers_would_not_see_is_an_error() {
    let module = directory(&[
        ("main.tf", "variable \"a\" {}\n"),
        ("README.md", &"# A\n".repeat(200_000)),
        ("examples/with\u{200b}space/main.tf", ""),
    ]);
    let reasons = check(&[module.path().to_str().unwrap()]).expect(3).errors();
    assert!(
        reasons.contains("README.md has 800000 bytes and was cut"),
        "{reasons}"
    );
    assert!(
        reasons.contains("examples/with\\u{200b}space was skipped"),
        "{reasons}"
    );
}

#[test]
fn pages_for_cdktf_are_left_out_on_purpose() {
    let docs = directory(&[
        ("docs/resources/widget.md", PAGE),
        ("docs/cdktf/python/resources/widget.md", PAGE),
    ]);
    let report = check(&[docs.path().to_str().unwrap()]).expect(0).json();
    assert!(report["notes"].to_string().contains("CDKTF"), "{report}");
}

#[test]
fn a_schema_needs_the_type_of_the_provider() {
    let docs = directory(&[
        ("docs/index.md", PAGE),
        ("schema.json", "{\"provider_schemas\": {}}"),
    ]);
    let path = docs.path().to_str().unwrap();
    let schema = docs.path().join("schema.json");
    let schema = ["--schema", schema.to_str().unwrap()];
    let ended = check(&[path, schema[0], schema[1]]).expect(2);
    assert!(ended.errors().contains("--type"), "{ended:?}");
    let ended = check(&[path, schema[0], schema[1], "--type", "widget"]).expect(3);
    assert!(ended.errors().contains("widget"), "{ended:?}");
}

#[test]
fn a_directory_without_documentation_fails() {
    let empty = directory(&[]);
    let reasons = check(&[empty.path().to_str().unwrap()]).expect(3).errors();
    assert!(reasons.contains("there is no documentation"), "{reasons}");
    let reasons = check(&["/nonexistent"]).expect(3).errors();
    assert!(reasons.starts_with("/nonexistent: "), "{reasons}");
}

#[test]
fn a_directory_with_submodules_or_examples_alone_is_a_module() {
    let part = "variable \"a\" {}";
    for files in [
        &[
            ("modules/user/main.tf", part),
            ("docs/UPGRADE-6.md", "# Upgrade"),
        ][..],
        &[("examples/simple/main.tofu", part)],
    ] {
        let module = directory(files);
        let report = check(&[module.path().to_str().unwrap()]).expect(0).json();
        assert!(report["documentation"]["submodules"].is_u64(), "{report}");
    }
}

#[test]
fn a_repository_of_a_provider_with_examples_is_no_module() {
    let example = ("examples/provider/provider.tf", "provider \"widget\" {}");
    for page in ["docs/index.md", "docs/resources/widget.md"] {
        let repository = directory(&[example, (page, PAGE)]);
        let report = check(&[repository.path().to_str().unwrap()]).json();
        assert_eq!(report["documentation"]["pages"], 1, "{report}");
    }
    let parent = directory(&[("terraform-provider-widget/examples/a/main.tf", "")]);
    let repository = parent.path().join("terraform-provider-widget");
    let reasons = check(&[repository.to_str().unwrap()]).expect(3).errors();
    assert!(reasons.contains("there is no documentation"), "{reasons}");
}
