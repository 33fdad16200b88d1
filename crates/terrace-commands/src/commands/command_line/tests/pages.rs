//! The pages of the documentation name what exists: files and headings, commands with their flags, and settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use terrace_core::config::SETTINGS;

use super::command;

/// Variables that pages name and that are no settings: those of the command, and names that readers choose.
const OTHER_VARIABLES: [&str; 8] = [
    "TERRACE_ARCHIVE",
    "TERRACE_ID_TOKEN",
    "TERRACE_INSECURE",
    "TERRACE_PROFILE",
    "TERRACE_READ_TOKEN",
    "TERRACE_SHA256",
    "TERRACE_TOKEN",
    "TERRACE_URL",
];

/// The page that lists all commands.
const COMMANDS: &str = "crates/terrace-cli/README.md";

/// The address at which packages and actions, which are read outside of the repository, link to it.
const REPOSITORY: &str = "https://github.com/OWNER/terrace/blob/";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns every page with its text, by its path in the repository.
fn pages() -> BTreeMap<String, String> {
    let places = [
        "",
        "docs",
        "crates/terrace-cli",
        "deploy",
        "packages/try",
        "packages/worker",
        "terrace-action",
        "examples/consumer",
        "examples/module",
        "examples/provider",
    ];
    let mut pages = BTreeMap::new();
    for place in places {
        for entry in fs::read_dir(root().join(place)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if Path::new(&name).extension().is_some_and(|it| it == "md") {
                let path = Path::new(place).join(name);
                let text = fs::read_to_string(root().join(&path)).unwrap();
                pages.insert(path.to_str().unwrap().to_owned(), text);
            }
        }
    }
    assert!(pages.len() > 20, "{:?}", pages.keys());
    pages
}

/// Returns the parts of a page in turn: a text, a block of code, a text, and so on.
fn parts(page: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts
}

/// Returns the anchor that GitHub gives to a heading.
fn anchor(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .replace(' ', "-")
        .chars()
        .filter(|it| it.is_alphanumeric() || matches!(it, '-' | '_'))
        .collect()
}

fn anchors(page: &str) -> BTreeSet<String> {
    let texts = parts(page).into_iter().step_by(2).collect::<String>();
    let headings = texts.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let pages = pages();
    let mut wrong = Vec::new();
    for (path, page) in &pages {
        let text: String = parts(page).into_iter().step_by(2).collect();
        let marks = ["](", "src=\"", "srcset=\""];
        let links = marks.iter().flat_map(|mark| text.split(mark).skip(1));
        for link in links.map(|rest| rest.split([')', '"', '\n']).next().unwrap_or_default()) {
            let file = match link.strip_prefix(REPOSITORY) {
                Some(rest) => rest.split_once('/').unwrap_or_default().1.to_owned(),
                None if link.contains(':') => continue,
                None if link.starts_with('#') => format!("{path}{link}"),
                None => {
                    let place = Path::new(path).parent().unwrap().join(link);
                    place.to_str().unwrap().to_owned()
                }
            };
            let (file, heading) = file.split_once('#').unwrap_or((&file, ""));
            let real = root().join(file).canonicalize();
            let top = root().canonicalize().unwrap();
            let known = real.ok().and_then(|it| {
                let it = it.strip_prefix(&top).ok()?.to_str()?.to_owned();
                Some(heading.is_empty() || anchors(pages.get(&it)?).contains(heading))
            });
            if known != Some(true) {
                wrong.push(format!("{path}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns the code of a page: the lines of its blocks, and what stands between backticks.
fn code(page: &str) -> Vec<String> {
    let mut code = Vec::new();
    for (number, part) in parts(page).iter().enumerate() {
        if number % 2 == 1 {
            code.extend(part.replace("\\\n", " ").lines().map(str::to_owned));
        } else {
            let inline = part.split('`').skip(1).step_by(2);
            code.extend(inline.map(|it| it.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    code
}

/// Returns the words after `terrace` in each call of it in a line.
fn calls(line: &str) -> Vec<Vec<&str>> {
    let mut calls = Vec::new();
    for call in line.split(['|', ';', '&']) {
        let words = call
            .split_whitespace()
            .take_while(|it| !it.starts_with('#'));
        let mut words = words.skip_while(|it| *it == "run:" || *it == "-" || it.contains('='));
        if words.next() == Some("terrace") {
            calls.push(words.collect());
        }
    }
    calls
}

#[test]
fn commands_and_their_flags_exist_and_all_of_them_are_listed() {
    let mut root = command();
    root.build();
    let mut wrong = Vec::new();
    for (path, page) in pages() {
        for line in code(&page) {
            for words in calls(&line) {
                let mut command = &root;
                for word in &words {
                    let flag = word.split('=').next().unwrap_or_default();
                    let is_known = match flag.strip_prefix("--") {
                        Some(name) => command
                            .get_arguments()
                            .any(|it| it.get_long() == Some(name)),
                        None => match command.find_subcommand(word) {
                            Some(found) => {
                                command = found;
                                true
                            }
                            // A placeholder may stand for a command.
                            None => {
                                !command.has_subcommands()
                                    || word.starts_with(|it: char| !it.is_ascii_lowercase())
                            }
                        },
                    };
                    if !is_known {
                        wrong.push(format!("{path}: {word} in {line}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");

    let list = pages().remove(COMMANDS).unwrap();
    let listed = code(&list).join("\n");
    let mut waiting: Vec<(String, &clap::Command)> = vec![(String::new(), &root)];
    while let Some((name, command)) = waiting.pop() {
        let children = command.get_subcommands();
        for child in children.filter(|it| it.get_name() != "help") {
            let name = format!("{name} {}", child.get_name()).trim().to_owned();
            waiting.push((name, child));
        }
        let is_listed = command.has_subcommands() || listed.contains(&name);
        assert!(is_listed, "{COMMANDS} lacks {name}");
    }
}

#[test]
fn settings_that_pages_name_exist() {
    for (path, page) in pages() {
        // It names variables of tests.
        if path == "CONTRIBUTING.md" {
            continue;
        }
        let is_of_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let names = page.split(move |c| !is_of_name(c));
        for name in names.filter(|it| it.starts_with("TERRACE_") && !it.ends_with('_')) {
            let is_known =
                SETTINGS.iter().any(|it| it.name == name) || OTHER_VARIABLES.contains(&name);
            assert!(is_known, "{path}: {name}");
        }
    }
}
