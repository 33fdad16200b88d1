//! Documentation that is too large, damaged or hostile never prevents a publish, and never takes long.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{module_details, provider_details};
use crate::support::registry::Registry;
use crate::support::{Dist, Ended, directory, run};

/// The time that any of the publishes may take, on a busy machine.
const MOST: Duration = Duration::from_secs(120);

#[track_caller]
fn publish_module(registry: &Registry, path: &Path) -> Ended {
    let path = path.to_str().unwrap();
    let began = Instant::now();
    let line = [
        "publish",
        "module",
        path,
        "--address",
        "acme/vpc/aws",
        "--version",
        "1.0.0",
    ];
    let ended = run(registry, &line).expect(0);
    assert!(began.elapsed() < MOST, "{:?}", began.elapsed());
    assert_eq!(
        ended.json()["documentation"]["status"],
        "created",
        "{ended:?}"
    );
    ended
}

#[track_caller]
fn publish_provider(registry: &Registry, dist: &Dist) -> Ended {
    let began = Instant::now();
    let line = ["publish", "provider", &dist.path(), "--namespace", "acme"];
    let ended = run(registry, &line).expect(0);
    assert!(began.elapsed() < MOST, "{:?}", began.elapsed());
    assert_eq!(
        ended.json()["documentation"]["status"],
        "created",
        "{ended:?}"
    );
    ended
}

#[test]
fn a_deeply_nested_file_costs_only_itself() {
    let registry = Registry::start();
    let deep = 100_000;
    let values = format!(
        "locals {{\n  a = {}{}\n}}\n",
        "[".repeat(deep),
        "]".repeat(deep)
    );
    let blocks = format!("{}{}", "a {\n".repeat(deep), "}\n".repeat(deep));
    let module = directory(&[
        ("values.tf", &values),
        ("blocks.tf", &blocks),
        ("json.tf.json", &"[".repeat(deep)),
        ("main.tf", "variable \"a\" {}\n"),
    ]);
    let ended = publish_module(&registry, module.path());
    let warnings = ended.json()["warnings"].to_string();
    for file in ["values.tf", "blocks.tf", "json.tf.json"] {
        assert!(warnings.contains(file), "{file} in {warnings}");
    }
    let details = module_details(registry.documentation_head("acme/vpc/aws"));
    assert_eq!(details.root.inputs.len(), 1);
}

#[test]
fn a_readme_of_50_megabytes_is_cut_with_a_note() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", "variable \"a\" {}\n")]);
    let readme = "0123456789abcde\n".repeat(50_000_000 / 16);
    fs::write(module.path().join("README.md"), readme).unwrap();
    publish_module(&registry, module.path());
    let head = registry.documentation_head("acme/vpc/aws");
    assert!(
        head.notes[0].contains("README.md has 50000000 bytes"),
        "{:?}",
        head.notes
    );
    let readme = module_details(head).root.readme.unwrap();
    assert_eq!(readme.len(), 500_000);
}

#[test]
fn long_invalid_and_broken_pages_are_published_with_warnings() {
    let registry = Registry::start();
    let dist = Dist::new();
    let pages = dist.outside().join("docs/guides");
    fs::create_dir_all(&pages).unwrap();
    fs::write(pages.join("long.md"), "lorem ipsum\n".repeat(250_000)).unwrap();
    fs::write(
        pages.join("latin.md"),
        b"---\npage_title: a\n---\n# Caf\xe9\n",
    )
    .unwrap();
    fs::write(pages.join("broken.md"), "---\npage_title: [a\n  : b\n").unwrap();
    fs::write(pages.join("a\u{1b}[2J.md"), "# Hidden\n").unwrap();
    let ended = publish_provider(&registry, &dist);
    let warnings = ended.json()["warnings"].to_string();
    for text in [
        "docs/guides/long.md: the file has 3000000 bytes",
        "docs/guides/latin.md:4: the file is not valid UTF-8",
        "docs/guides/broken.md:",
        "a\\\\u{1b}[2J.md: ",
    ] {
        assert!(warnings.contains(text), "{text} in {warnings}");
    }
    let details = provider_details(registry.documentation_head("acme/hello"));
    let names: Vec<&str> = details
        .pages
        .iter()
        .map(|page| page.name.as_str())
        .collect();
    assert_eq!(names, ["broken", "latin", "long"]);
    assert!(details.pages[2].is_truncated);
}

#[test]
fn pages_beyond_the_number_are_left_out_with_a_note() {
    let registry = Registry::start();
    let dist = Dist::new();
    let pages = dist.outside().join("docs/guides");
    fs::create_dir_all(&pages).unwrap();
    for number in 0..10_000 {
        let page = format!("---\npage_title: {number}\n---\n[next](../{number}.md)\n");
        fs::write(pages.join(format!("{number}.md")), page).unwrap();
    }
    let report = publish_provider(&registry, &dist).json();
    let warnings = report["warnings"].to_string();
    assert_eq!(
        warnings.matches("8000 pages were left out").count(),
        1,
        "{warnings}"
    );
    let head = registry.documentation_head("acme/hello");
    let expected = "8000 pages were left out, because documentation has at most 2000 pages";
    assert_eq!(head.notes, [expected]);
    assert_eq!(provider_details(head).pages.len(), 2_000);
}

#[test]
fn the_examples_of_a_module_are_limited_too() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", "variable \"a\" {}\n")]);
    for directory in 0..100 {
        let example = module.path().join(format!("examples/{directory}"));
        fs::create_dir_all(&example).unwrap();
        for file in 0..100 {
            fs::write(example.join(format!("{file}.tf")), "# An example\n").unwrap();
        }
    }
    publish_module(&registry, module.path());
    let details = module_details(registry.documentation_head("acme/vpc/aws"));
    assert_eq!(details.files().count(), 2_000);
}
