//! All texts that people read, in one file: messages, warnings, log lines, pages, help, and the output of scripts.

mod javascript;
mod rust;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The command that renews the snapshot.
const RENEW: &str = "TERRACE_PIN=1 cargo test -p terrace --test it messages";

/// The start of the line before the texts of a file.
const MARK: &str = "=== ";

/// Crates that are not part of the product.
const TOOLS: [&str; 1] = ["terrace-fuzz-targets"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the texts of each file that has some, by its path.
fn texts() -> BTreeMap<String, Vec<String>> {
    let mut files = Vec::new();
    for crate_root in crate_roots() {
        files.extend(rust::texts(&crate_root));
    }
    assert!(files.len() > 300, "only {} files were read", files.len());
    for script in scripts() {
        let texts = javascript::texts(&fs::read_to_string(&script).unwrap());
        files.push((script, texts));
    }
    let files = files.into_iter().map(|(path, texts)| {
        let path = path.strip_prefix(root()).unwrap().to_str().unwrap();
        let mut known = BTreeSet::new();
        let texts = texts.iter().map(|text| text.trim().to_owned());
        let texts = texts.filter(|text| !text.is_empty() && known.insert(text.clone()));
        (path.to_owned(), texts.collect::<Vec<_>>())
    });
    files.filter(|(_, texts)| !texts.is_empty()).collect()
}

/// Returns the first files of the product's crates.
fn crate_roots() -> Vec<PathBuf> {
    let crates = children(&root().join("crates")).into_iter();
    let crates = crates.filter(|path| !TOOLS.iter().any(|tool| path.ends_with(tool)));
    let folders = crates.chain([root().to_owned()]);
    let files = folders.flat_map(|folder| ["src/lib.rs", "src/main.rs"].map(|it| folder.join(it)));
    files.filter(|file| file.exists()).collect()
}

/// Scripts whose texts are labels: the cases and columns of benchmarks.
const LABELS: &str = "scripts/bench";

/// The folders with scripts.
const FOLDERS: [&str; 4] = ["deploy", "examples", "packages", "scripts"];

/// Packages of others, after an installation in a folder.
const INSTALLED: &str = "node_modules";

/// Returns the scripts that `npm` and people run, and the Worker's entry.
fn scripts() -> Vec<PathBuf> {
    let mut scripts = vec![root().join("src/platform/entry.js")];
    let mut folders = FOLDERS.map(|folder| root().join(folder)).to_vec();
    while let Some(folder) = folders.pop() {
        for path in children(&folder) {
            if path.extension().is_some_and(|extension| extension == "mjs") {
                scripts.push(path);
            } else if path.is_dir() && !path.ends_with(LABELS) && !path.ends_with(INSTALLED) {
                folders.push(path);
            }
        }
    }
    scripts
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Returns the snapshot. The texts of a file are in its order; further lines of a text are indented.
fn snapshot() -> String {
    let mut snapshot = format!(
        "All texts of Terrace that people read, by file. To renew this snapshot, run\n{RENEW}\n"
    );
    for (file, texts) in texts() {
        write!(snapshot, "\n{MARK}{file}\n").unwrap();
        for text in texts {
            writeln!(snapshot, "{}", text.replace('\n', "\n    ")).unwrap();
        }
    }
    let lines = snapshot.lines().map(str::trim_end);
    lines.map(|line| format!("{line}\n")).collect()
}

/// Returns the lines of each file in a snapshot.
fn by_file(snapshot: &str) -> BTreeMap<&str, Vec<&str>> {
    let files = snapshot.split(MARK).skip(1);
    let files = files.map(|file| {
        let mut lines = file.lines().filter(|line| !line.is_empty());
        (lines.next().unwrap(), lines.collect())
    });
    files.collect()
}

/// Returns the lines that differ, with their files.
fn difference(pinned: &str, found: &str) -> String {
    let (pinned, found) = (by_file(pinned), by_file(found));
    let files: BTreeSet<&str> = pinned.keys().chain(found.keys()).copied().collect();
    let mut shown = String::new();
    for file in files {
        let pinned = pinned.get(file).map_or(&[][..], Vec::as_slice);
        let found = found.get(file).map_or(&[][..], Vec::as_slice);
        if pinned == found {
            continue;
        }
        writeln!(shown, "{file}").unwrap();
        let before = shown.len();
        for line in pinned.iter().filter(|line| !found.contains(line)) {
            writeln!(shown, "- {line}").unwrap();
        }
        for line in found.iter().filter(|line| !pinned.contains(line)) {
            writeln!(shown, "+ {line}").unwrap();
        }
        if shown.len() == before {
            writeln!(shown, "  the order of its texts").unwrap();
        }
    }
    shown
}

#[test]
fn the_texts_that_people_read_are_pinned() {
    let file = root().join("tests/it/native/messages.txt");
    let found = snapshot();
    if std::env::var("TERRACE_PIN").is_ok() {
        fs::write(&file, &found).unwrap();
    }
    let pinned = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        pinned == found,
        "\nTexts that people read have changed:\n\n{}\nA message states what happened, why, and what to do. \
         Renew the snapshot with\n{RENEW}\nand review its diff.",
        difference(&pinned, &found)
    );
}

#[test]
fn a_difference_names_the_file_and_the_lines() {
    let pinned = "=== a.rs\nthe first\nthe second\n\n=== b.rs\none\ntwo\n\n=== c.rs\nthe same\n";
    let found = "=== a.rs\nthe first\nthe third\n\n=== b.rs\ntwo\none\n\n=== c.rs\nthe same\n";
    assert_eq!(
        difference(pinned, found),
        "a.rs\n- the second\n+ the third\nb.rs\n  the order of its texts\n"
    );
}
