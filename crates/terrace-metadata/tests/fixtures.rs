//! The details of modules in the style of public ones, and the errors of broken ones.
//!
//! `tests/clients/parsers/metadata.test.mjs` compares the same modules with other tools. `TERRACE_PIN=1` renews the
//! snapshots.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use terrace_core::documentation::{Contents, ModuleDetails};
use terrace_metadata::{SourceFile, module_details};

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

fn modules(folder: &str) -> Vec<PathBuf> {
    let modules = fs::read_dir(directory(folder)).unwrap();
    let mut modules: Vec<PathBuf> = modules.map(|entry| entry.unwrap().path()).collect();
    modules.sort();
    modules
}

fn details(module: &Path) -> ModuleDetails {
    let mut files = Vec::new();
    read(module, "", &mut files);
    let files: Vec<_> = files
        .iter()
        .map(|(path, bytes)| SourceFile { path, bytes })
        .collect();
    match module_details(&files).contents {
        Contents::Module(details) => details,
        Contents::Provider(_) => panic!("a module"),
    }
}

fn read(directory: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            read(&entry.path(), &format!("{path}/"), files);
        } else {
            files.push((path, fs::read(entry.path()).unwrap()));
        }
    }
}

fn assert_snapshot(name: &str, actual: &str) {
    let file = directory(name);
    if std::env::var_os("TERRACE_PIN").is_some() {
        fs::write(&file, actual).unwrap();
    }
    assert_eq!(
        actual,
        fs::read_to_string(&file).unwrap(),
        "renew {name} with TERRACE_PIN=1"
    );
}

#[test]
fn the_details_of_modules_match_their_snapshot() {
    let mut snapshot = String::new();
    for module in modules("modules") {
        let name = module.file_name().unwrap().to_str().unwrap().to_owned();
        let details = serde_json::to_string_pretty(&details(&module)).unwrap();
        writeln!(snapshot, "{name}: {details}\n").unwrap();
    }
    assert_snapshot("modules.txt", &snapshot);
}

#[test]
fn the_errors_of_broken_modules_match_their_snapshot() {
    let mut snapshot = String::new();
    for module in modules("broken") {
        let name = module.file_name().unwrap().to_str().unwrap().to_owned();
        let errors = details(&module).root.errors;
        assert!(!errors.is_empty(), "{name}");
        for error in errors {
            writeln!(snapshot, "{name}/{error}").unwrap();
        }
    }
    assert_snapshot("broken.txt", &snapshot);
}
