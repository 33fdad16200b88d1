//! Prints the documentation of the directory trees named as arguments, as one line of JSON each.
//!
//! The differential tests compare the output with that of `terraform-config-inspect`.

#![expect(clippy::expect_used, reason = "a tool for tests")]

use std::fs;
use std::path::Path;

use terrace_metadata::{SourceFile, module_details};

fn main() {
    for directory in std::env::args().skip(1) {
        let mut files = Vec::new();
        read(Path::new(&directory), "", &mut files);
        let files: Vec<_> = files
            .iter()
            .map(|(path, bytes)| SourceFile { path, bytes })
            .collect();
        let draft = module_details(&files);
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
