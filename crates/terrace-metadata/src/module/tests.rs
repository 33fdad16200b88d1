//! Tests of whole directory trees, most of them hostile.

use terrace_core::limits::{MODULE_PARTS, PAGE_BYTES};

use super::*;
use crate::limits;

fn draft(files: &[(&str, &[u8])]) -> Draft {
    let files: Vec<_> = files
        .iter()
        .map(|(path, bytes)| SourceFile { path, bytes })
        .collect();
    module_details(&files)
}

fn details(draft: &Draft) -> &ModuleDetails {
    match &draft.contents {
        Contents::Module(details) => details,
        Contents::Provider(_) => panic!("a module"),
    }
}

fn errors(file: &[u8]) -> Vec<String> {
    details(&draft(&[("main.tf", file)])).root.errors.clone()
}

#[test]
fn a_readme_is_found_by_any_case_and_cut_with_a_note() {
    let found = draft(&[("README", b"plain"), ("readme.md", b"markdown")]);
    assert_eq!(details(&found).root.readme.as_deref(), Some("markdown"));
    let long = "é".repeat(25_000_000);
    let cut = "é".repeat(PAGE_BYTES as usize / 2);
    for (text, readme, note) in [
        (
            long.as_bytes(),
            &*cut,
            "has 50000000 bytes and was cut after 500000",
        ),
        (
            b"a\xFFb",
            "a\u{FFFD}b",
            "is not valid UTF-8; the invalid characters were replaced",
        ),
    ] {
        let found = draft(&[("README.md", text)]);
        assert!(
            details(&found).root.readme.as_deref() == Some(readme),
            "{note}"
        );
        assert_eq!(found.notes, [format!("README.md {note}")]);
    }
}

#[test]
fn the_files_of_an_example_are_pages() {
    let found = draft(&[
        (
            "examples/simple/main.tf",
            b"module \"m\" {\n  source = \"../..\"\n}\n",
        ),
        ("examples/simple/README.md", b"# Simple"),
        ("examples/simple/.terraform.lock.hcl", b"x"),
        ("examples/simple/logo.png", b"\x89PNG\0"),
        ("examples/simple/a b.txt", b"x"),
        ("examples/simple/nested/x.tf", b"x"),
        ("examples/simple/values.auto.tfvars", b"a = 1"),
        ("examples/no\u{200b}code/main.tf", b""),
        ("examples/empty/values.txt", b""),
    ]);
    let [example, nested] = details(&found).examples.as_slice() else {
        panic!("two examples");
    };
    assert_eq!(nested.name.as_str(), "simple/nested");
    assert_eq!(example.part.readme.as_deref(), Some("# Simple"));
    assert_eq!(example.part.calls[0].source, "../..");
    let files: Vec<_> = example
        .files
        .iter()
        .map(|file| file.name.as_str())
        .collect();
    assert_eq!(files, ["a b.txt", "main.tf", "values.auto.tfvars"]);
    assert_eq!(found.pages[2], b"a = 1");
    assert_eq!(
        found.notes,
        [
            "examples/no\\u{200b}code was skipped: \"no\\u{200b}code\" is not a relative path: up to 255 bytes with \"/\" between its parts, without empty, \".\" or \"..\" parts, backslashes, and control or invisible characters",
            "examples/simple/logo.png was skipped, because it is not text in UTF-8",
        ]
    );
}

#[test]
fn submodules_are_found_at_any_depth_and_under_any_name() {
    let found = draft(&[
        ("modules/iam/a+b/main.tf", b""),
        ("modules/vpc/main.tf", b""),
        ("modules/vpc/docs/README.md", b"# No module"),
        ("modules/vpc/examples/simple/main.tf", b""),
        ("modules/vpc/modules/subnet/main.tofu", b""),
        ("modules/vpc/.terraform/modules/x/main.tf", b""),
        ("modules/notes/README.md", b"# Notes"),
    ]);
    let names = details(&found).submodules.iter();
    let names: Vec<_> = names.map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["iam/a+b", "notes", "vpc", "vpc/modules/subnet"]);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}

#[test]
fn errors_have_file_and_line_and_cost_one_block() {
    let found = draft(&[
        (
            "a.tf",
            b"variable \"a\" {\n  default = [1 2]\n}\nvariable \"b\" {}",
        ),
        ("b.tf", b"variable \"c\" {}\n# \xFF\n"),
        ("modules/x/main.tf", b"output \"o\" {"),
    ]);
    let details = details(&found);
    let inputs: Vec<_> = details
        .root
        .inputs
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(inputs, ["a", "b", "c"]);
    assert_eq!(
        details.root.errors,
        [
            "a.tf:2: the syntax is not valid: expected `]`",
            "b.tf:2: the file is not valid UTF-8"
        ]
    );
    assert_eq!(
        details.submodules[0].part.errors,
        [
            "modules/x/main.tf:1: the bracket, text, template, heredoc or comment that begins here is not closed"
        ]
    );
}

#[test]
fn declarations_that_are_not_valid_are_errors() {
    let file = br#"variable "a" {
  sensitive   = "perhaps"
  description = local.x
}
variable "a" {}
variable {}
resource "x" {}
data "x" "y" {
  provider = 1 + 1
}
terraform {
  required_providers {
    a = [1]
    b = { source = x.y, configuration_aliases = [1] }
  }
}
"#;
    assert_eq!(
        errors(file),
        [
            "main.tf:3: description must be a literal value",
            "main.tf:2: sensitive must be true or false",
            "main.tf:5: variable a is declared twice; the first one counts",
            "main.tf:6: variable must have one name",
            "main.tf:7: resource must have a type and a name",
            "main.tf:9: provider must be the name of a provider, or that of a configuration such as aws.peer",
            "main.tf:13: a provider requirement must be a version or an object",
            "main.tf:14: source must be a literal value",
            "main.tf:14: configuration_aliases must be names such as aws.peer",
        ]
    );
}

#[test]
fn each_client_gets_its_own_view_where_the_files_differ() {
    let versions = |core: &str, random: &str| {
        format!(
            "terraform {{\n  required_version = \"{core}\"\n  required_providers {{\n    random = \"{random}\"\n  }}\n}}\n"
        )
    };
    let (old, new) = (versions(">= 1.9", ">= 3.6"), versions(">= 1.8", ">= 3.1"));
    let broken = b"variable \"tf_only\" {}\noutput \"o\" {";
    let found = draft(&[
        ("README.md", b"# T"),
        ("versions.tf", old.as_bytes()),
        ("versions.tofu", new.as_bytes()),
        ("variables.tf", broken),
        ("variables.tofu", b"variable \"passphrase\" {}"),
        ("both.tf", b"variable \"name\" {}\nvariable {}"),
        ("modules/same/main.tf", b"variable \"a\" {}"),
        ("modules/same/main.tofu", b"variable \"a\" {}"),
        ("modules/tofu/main.tofu", b"variable \"a\" {}"),
        ("examples/x/main.tf.json", b"{}"),
        ("examples/x/main.tofu.json", b"{\"output\": {\"o\": {}}}"),
    ]);
    let details = details(&found);
    let root = &details.root;
    let names = |part: &ModulePart| -> Vec<String> {
        part.inputs.iter().map(|it| it.name.clone()).collect()
    };
    assert_eq!(names(root), ["name", "tf_only"]);
    assert_eq!(root.required_versions, [">= 1.9"]);
    assert_eq!(root.providers[0].versions, [">= 3.6"]);
    assert_eq!(
        root.errors,
        [
            "both.tf:2: variable must have one name",
            "variables.tf:2: the bracket, text, template, heredoc or comment that begins here is not closed"
        ]
    );
    let tofu = root.opentofu.as_deref().unwrap();
    assert_eq!(names(tofu), ["name", "passphrase"]);
    assert_eq!(tofu.required_versions, [">= 1.8"]);
    assert_eq!(tofu.providers[0].versions, [">= 3.1"]);
    assert_eq!((&tofu.readme, tofu.errors.len()), (&None, 0));
    let [same, tofu_only] = &details.submodules[..] else {
        panic!("two submodules")
    };
    assert!(same.part.opentofu.is_none() && !same.part.is_opentofu_only);
    assert!(tofu_only.part.opentofu.is_none() && tofu_only.part.is_opentofu_only);
    assert_eq!(names(&tofu_only.part), ["a"]);
    let example = &details.examples[0].part;
    assert!(example.outputs.is_empty());
    assert_eq!(example.for_opentofu().outputs[0].name, "o");
}

#[test]
fn expressions_that_one_client_evaluates_keep_their_text_and_are_no_errors() {
    let file = br#"provider "aws" {
  alias    = "by_region"
  for_each = var.regions
}
resource "s3" "a" {
  provider = aws.by_region[each.key]
}
data "s3" "b" {
  provider = aws.by_region["us.east"]
}
import {
  to       = s3.a
  provider = aws.by_region[each.key]
}
module "child" {
  source  = "./mods/${var.env}"
  version = var.v
}
module "none" {
  source  = local.x["a"]
  version = null
}
"#;
    let json = br#"{"ephemeral": {"s3": {"c": {"provider": "aws.by_region[each.key]"}}}}"#;
    let found = draft(&[("main.tf", file), ("x.tf.json", json)]);
    let root = &details(&found).root;
    assert_eq!(root.errors, [""; 0]);
    assert_eq!(root.resources.len(), 3);
    assert!(root.resources.iter().all(|it| it.provider == "aws"));
    let [child, none] = &root.calls[..] else {
        panic!("two calls")
    };
    assert_eq!(child.source, "\"./mods/${var.env}\"");
    assert_eq!(child.version.as_deref(), Some("var.v"));
    assert_eq!(none.source, "local.x[\"a\"]");
    assert_eq!(none.version, None);
}

#[test]
fn the_frontmatter_of_a_readme_is_not_part_of_it() {
    for (text, readme) in [
        ("---\ntitle: x\ntags:\n  - a\n---\n\n# T", "# T"),
        (
            "---\n\nA rule: text\nbetween two.\n\n---\n",
            "---\n\nA rule: text\nbetween two.\n\n---\n",
        ),
        ("---\ntitle: x\n# T", "---\ntitle: x\n# T"),
    ] {
        let found = draft(&[("README.md", text.as_bytes())]);
        assert_eq!(details(&found).root.readme.as_deref(), Some(readme));
    }
}

#[test]
fn long_files_and_texts_are_limited() {
    let long = vec![b'#'; limits::CONFIGURATION_FILE_BYTES + 1];
    assert_eq!(
        errors(&long),
        [
            "main.tf: the file has 1048577 bytes and is left out, because at most 1048576 are read: split it into smaller files"
        ]
    );
    let text = "x".repeat(limits::TEXT_BYTES + 1);
    let file = format!("variable \"a\" {{\n  description = \"{text}\"\n}}\n");
    let found = draft(&[("main.tf", file.as_bytes())]);
    let description = details(&found).root.inputs[0]
        .description
        .as_deref()
        .unwrap();
    assert_eq!(description.len(), limits::TEXT_BYTES + "…".len());
    assert_eq!(
        found.notes,
        ["main.tf:2: description has 65537 bytes and was cut after 65536"]
    );
    let json = format!("{{\"variable\": {}", "[".repeat(100_000));
    let found = draft(&[("main.tf.json", json.as_bytes())]);
    let error = &details(&found).root.errors[0];
    let expected = "main.tf.json:1: the file is left out, because it cannot be read as JSON";
    assert!(error.starts_with(expected), "{error}");
    let many = "variable {}\n".repeat(limits::PART_ERRORS + 5);
    assert_eq!(errors(many.as_bytes()).last().unwrap(), "5 further errors");
}

/// The parser clones the left side of an operator for each item on its right side.
#[test]
fn lists_beside_lists_take_seconds_at_most() {
    let list = format!("[{}]", "1,".repeat(limits::BRACKET_ITEMS - 2));
    let block = format!("locals {{\n  a = {list} + {list}\n}}\n");
    let object: String = (0..limits::BRACKET_ITEMS - 2)
        .map(|number| format!("k{number}=1\n"))
        .collect();
    let other = format!("locals {{\n  a = {{\n{object}}}\n}}\n");
    assert_eq!(errors(format!("{block}{other}").as_bytes()), [""; 0]);
}

#[test]
fn ten_thousand_files_are_within_the_limits() {
    let names: Vec<String> = (0..10_000)
        .map(|number| format!("examples/e{:03}/f{number}\u{202e}.tf", number % 600))
        .collect();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), b"".as_slice()))
        .collect();
    let found = draft(&files);
    assert_eq!(details(&found).examples.len(), MODULE_PARTS);
    assert_eq!(found.notes.len(), limits::NOTES + 1);
    assert!(found.notes.iter().all(|note| !note.contains('\u{202e}')));
}
