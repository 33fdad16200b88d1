//! The files on the command line of `terrace mirror sync`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use terrace_base::untrusted;
use terrace_core::model::name::Hostname;

use super::selection::Selections;
use super::{configuration, lock, toml_list};
use crate::error::Failure;
use crate::source::documentation::{CONFIGURATION_ENDINGS, is_configuration};

/// The name of a lock file.
const LOCK: &str = ".terraform.lock.hcl";

/// The directories that are skipped: they contain copies of providers and modules, or no configuration.
const SKIPPED: [&str; 3] = [".terraform", ".terragrunt-cache", ".git"];

/// The reason why a configuration cannot be used.
const NO_PROVIDER: &str =
    "it requires no provider: only the providers in required_providers are mirrored";

/// The maximum size of a file. Lock files of many providers have some hundred kilobytes.
const FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The maximum length of a reason in a message.
const REASON_CHARS: usize = 1_000;

/// A file or a directory, and the providers that it requires.
type Source = (PathBuf, Result<Selections, Failure>);

/// Returns the providers that a file, or the files in a directory, require.
///
/// # Errors
/// The file has an unknown type.
pub(super) fn read(path: &Path, default_host: &Hostname) -> Result<Vec<Source>, Failure> {
    if path.is_dir() {
        return Ok(read_directory(path, default_host));
    }
    match read_file(path, default_host) {
        Err(failure @ Failure::Usage(_)) => Err(failure),
        read => Ok(vec![(path.to_owned(), read)]),
    }
}

/// Reads all lock files in a directory and below it; if there are none, the configurations. Locked versions are the ones that
/// are in use, so the configurations beside a lock file, and modules without one, add nothing.
fn read_directory(path: &Path, default_host: &Hostname) -> Vec<Source> {
    let refused =
        |reason: String| Failure::refused(format!("{}: {}", path.display(), shortened(&reason)));
    let directories = match directories(path) {
        Ok(directories) => directories,
        Err(error) => return vec![(path.to_owned(), Err(refused(error.to_string())))],
    };
    let locks = directories.iter().map(|directory| directory.join(LOCK));
    let locks: Vec<PathBuf> = locks.filter(|lock| lock.is_file()).collect();
    if !locks.is_empty() {
        let read = |lock: PathBuf| (lock.clone(), read_file(&lock, default_host));
        return locks.into_iter().map(read).collect();
    }
    let mut sources = Vec::new();
    let mut has_configuration = false;
    for directory in directories {
        let files = configuration_files(&directory).unwrap_or_default();
        if files.is_empty() {
            continue;
        }
        has_configuration = true;
        // A module need not require a provider.
        match read_configuration(&files, default_host) {
            Ok(found) if found.is_empty() => {}
            read => sources.push((directory, read)),
        }
    }
    if sources.is_empty() {
        let reason = match has_configuration {
            true => NO_PROVIDER.to_owned(),
            false => format!(
                "it contains no {LOCK}, and contains no file that ends in any of {}",
                CONFIGURATION_ENDINGS.join(", ")
            ),
        };
        sources.push((path.to_owned(), Err(refused(reason))));
    }
    sources
}

/// Returns a directory and all directories below it, except those of clients and of git, in the order of their paths. Links
/// are not followed: they may lead in a circle.
fn directories(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = vec![path.to_owned()];
    let mut next = 0;
    while let Some(directory) = found.get(next).cloned() {
        next += 1;
        let entries = match std::fs::read_dir(&directory) {
            Err(error) if directory == path => return Err(error),
            // It may belong to another user.
            Err(_) => continue,
            Ok(entries) => entries,
        };
        for entry in entries.flatten() {
            let is_skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
            if !is_skipped && entry.file_type().is_ok_and(|it| it.is_dir()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn read_file(path: &Path, default_host: &Hostname) -> Result<Selections, Failure> {
    let refused =
        |reason: String| Failure::refused(format!("{}: {}", path.display(), shortened(&reason)));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if is_configuration(&name) {
        let found = read_configuration(&[path.to_owned()], default_host)?;
        if found.is_empty() {
            return Err(refused(NO_PROVIDER.to_owned()));
        }
        Ok(found)
    } else if name.ends_with(".lock.hcl") {
        lock::read(&text(path)?).map_err(refused)
    } else if name.ends_with(".toml") {
        toml_list::read(&text(path)?).map_err(refused)
    } else if !path.exists() {
        Err(Failure::Usage(format!(
            "{}: there is no file or directory of this name",
            path.display()
        )))
    } else {
        Err(Failure::Usage(format!(
            "{}: the file type is unknown: specify a .toml list, a .terraform.lock.hcl, a .tf or .tf.json file, or \
             a directory",
            path.display()
        )))
    }
}

fn read_configuration(files: &[PathBuf], default_host: &Hostname) -> Result<Selections, Failure> {
    let mut texts = Vec::new();
    for file in files {
        texts.push((file.display().to_string(), text(file)?));
    }
    configuration::read(&texts, default_host).map_err(|reason| Failure::refused(shortened(&reason)))
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
