//! Prints the documentation of the directory trees named as arguments, as one line of JSON each.
//!
//! `describe DIR...` reads modules, `describe --provider=TYPE DIR...` providers, with warnings on standard error. The
//! differential tests compare the output with that of `terraform-config-inspect`.

#![expect(clippy::expect_used, reason = "a tool for tests")]

use std::fs;
use std::path::Path;

use terrace_metadata::{ProviderOptions, SourceFile, module_details, provider_details};

fn main() {
    let mut provider = None;
    for argument in std::env::args().skip(1) {
        if let Some(name) = argument.strip_prefix("--provider=") {
            provider = Some(name.to_owned());
            continue;
        }
        let directory = argument;
        let mut files = Vec::new();
        read(Path::new(&directory), "", &mut files);
        let files: Vec<_> = files
            .iter()
            .map(|(path, bytes)| SourceFile { path, bytes })
            .collect();
        let draft = match &provider {
            None => module_details(&files),
            Some(provider_type) => provider_details(
                &files,
                ProviderOptions {
                    provider_type,
                    schema: None,
                },
            ),
        };
        for warning in &draft.warnings {
            eprintln!("{warning}");
        }
        let archive = draft.pack();
        eprintln!("{} bytes, head {}", archive.bytes.len(), archive.head_bytes);
        println!("{}", serde_json::to_string(&archive.head).expect("a head"));
    }
}

/// Reads a directory without hidden files and symbolic links.
fn read(directory: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    let entries = fs::read_dir(directory).expect("a directory");
    for entry in entries {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().expect("a kind");
        let path = format!("{prefix}{name}");
        if kind.is_dir() && !name.starts_with('.') {
            read(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file() {
            files.push((path, fs::read(entry.path()).expect("a file")));
        }
    }
}
