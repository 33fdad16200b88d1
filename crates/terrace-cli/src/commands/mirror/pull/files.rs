//! The files on the command line of `terrace mirror sync`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use terrace_base::untrusted;
use terrace_core::model::name::Hostname;

use super::selection::Selections;
use super::{configuration, lock, toml_list};
use crate::error::Failure;

/// The file name endings of configurations.
const CONFIGURATION: [&str; 4] = [".tf", ".tf.json", ".tofu", ".tofu.json"];

/// The maximum size of a file. Lock files of many providers have some hundred kilobytes.
const FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The maximum length of a reason in a message.
const REASON_CHARS: usize = 1_000;

/// Returns the providers that a file, or a directory with a configuration, requires.
pub(super) fn read(path: &Path, default_host: &Hostname) -> Result<Selections, Failure> {
    let refused =
        |reason: String| Failure::refused(format!("{}: {}", path.display(), shortened(&reason)));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() {
        let files = configuration_files(path).map_err(|error| refused(error.to_string()))?;
        if files.is_empty() {
            let endings = CONFIGURATION.join(", ");
            return Err(refused(format!(
                "it contains no file that ends in any of {endings}"
            )));
        }
        read_configuration(path, &files, default_host)
    } else if is_configuration(&name) {
        read_configuration(path, &[path.to_owned()], default_host)
    } else if name.ends_with(".lock.hcl") {
        lock::read(&text(path)?).map_err(refused)
    } else if name.ends_with(".toml") {
        toml_list::read(&text(path)?).map_err(refused)
    } else {
        Err(Failure::Usage(format!(
            "{}: the file type is unknown: specify a .toml list, a .terraform.lock.hcl, a .tf or .tf.json file, or \
             a directory of .tf files",
            path.display()
        )))
    }
}

fn read_configuration(
    path: &Path,
    files: &[PathBuf],
    default_host: &Hostname,
) -> Result<Selections, Failure> {
    let mut texts = Vec::new();
    for file in files {
        texts.push((file.display().to_string(), text(file)?));
    }
    let found = configuration::read(&texts, default_host)
        .map_err(|reason| Failure::refused(shortened(&reason)))?;
    if found.providers.is_empty() && found.skipped.is_empty() {
        let path = path.display();
        return Err(Failure::refused(format!(
            "{path} requires no provider: only the providers in required_providers are mirrored"
        )));
    }
    Ok(found)
}

/// Lists the files that `terraform` and `tofu` read in a directory.
fn configuration_files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if is_configuration(&name) && !name.starts_with('.') && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn is_configuration(name: &str) -> bool {
    CONFIGURATION.iter().any(|ending| name.ends_with(ending))
}

/// Reads a regular file of at most [`FILE_BYTES`] bytes.
fn text(path: &Path) -> Result<String, Failure> {
    let refused = |reason: String| Failure::refused(format!("{}: {reason}", path.display()));
    let failed = |error: std::io::Error| refused(error.to_string());
    // Opening a pipe would wait for its writer.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(refused("it is not a regular file".to_owned()));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > FILE_BYTES {
        return Err(refused(format!("it is larger than {FILE_BYTES} bytes")));
    }
    Ok(text)
}

/// Shortens a parser's message; some quote a whole line, however long it is.
fn shortened(reason: &str) -> String {
    untrusted::line(reason).at_most(REASON_CHARS).to_string()
}
