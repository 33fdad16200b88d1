//! The files on the command line of `terrace mirror sync`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use terrace_base::untrusted;
use terrace_core::model::name::Hostname;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::Constraints;
use terrace_metadata::ModuleSource;

use super::selection::{ModuleSelection, Selections, VersionSelection};
use super::{configuration, lock, module_calls, toml_list};
use crate::error::Failure;
use crate::source::bounded_text;
use crate::source::documentation::{CONFIGURATION_ENDINGS, is_configuration};

/// The name of a lock file.
pub(crate) const LOCK: &str = ".terraform.lock.hcl";

/// The list of installed modules, below the directory of a configuration.
pub(crate) const INSTALLED: &str = ".terraform/modules/modules.json";

/// The directories that are skipped: they contain copies of providers and modules, or no configuration.
const SKIPPED: [&str; 3] = [".terraform", ".terragrunt-cache", ".git"];

/// The reason why a configuration cannot be used.
const NOTHING: &str = "it requires no provider and calls no module: only the providers in required_providers and the modules \
                       of registries are mirrored";

/// The maximum size of a file. Lock files of many providers have some hundred kilobytes.
const FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The maximum length of a reason in a message.
const REASON_CHARS: usize = 1_000;

/// The registries of sources without a hostname.
pub(super) struct DefaultHosts {
    pub(super) providers: Hostname,
    pub(super) modules: Hostname,
}

/// The file [`INSTALLED`].
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Installed {
    pub(crate) modules: Vec<InstalledModule>,
}

/// An installed module. Only those of registries have a version.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct InstalledModule {
    pub(crate) source: String,
    pub(crate) version: Option<Version>,
}

impl Installed {
    /// Reads the list of a directory, if there is one.
    ///
    /// # Errors
    /// [`Failure::Refused`] for a file that cannot be read.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>, Failure> {
        let path = directory.join(INSTALLED);
        if !path.is_file() {
            return Ok(None);
        }
        let refused = |error| Failure::refused(format!("{}: {error}", path.display()));
        serde_json::from_slice(text(&path)?.as_bytes())
            .map(Some)
            .map_err(refused)
    }
}

/// A file or a directory, and what it requires.
type Source = (PathBuf, Result<Selections, Failure>);

/// Returns the providers and modules that a file, or the files in a directory, require.
///
/// # Errors
/// The file has an unknown type.
pub(super) fn read(path: &Path, hosts: &DefaultHosts) -> Result<Vec<Source>, Failure> {
    if path.is_dir() {
        return Ok(read_directory(path, hosts));
    }
    match read_file(path, hosts) {
        Err(failure @ Failure::Usage(_)) => Err(failure),
        read => Ok(vec![(path.to_owned(), read)]),
    }
}

/// Reads all lock files in a directory and below it; if there are none, the configurations. Locked versions are the ones that
/// are in use, so the configurations beside a lock file, and modules without one, add no providers. Modules are in no lock file.
fn read_directory(path: &Path, hosts: &DefaultHosts) -> Vec<Source> {
    let refused =
        |reason: String| Failure::refused(format!("{}: {}", path.display(), shortened(&reason)));
    let directories = match directories(path) {
        Ok(directories) => directories,
        Err(error) => return vec![(path.to_owned(), Err(refused(error.to_string())))],
    };
    let locks = directories.iter().map(|directory| directory.join(LOCK));
    let locks: Vec<PathBuf> = locks.filter(|lock| lock.is_file()).collect();
    let is_locked = !locks.is_empty();
    let read = |lock: PathBuf| (lock.clone(), read_file(&lock, hosts));
    let mut sources: Vec<Source> = locks.into_iter().map(read).collect();
    for directory in directories {
        match modules_of(&directory, &hosts.modules) {
            Ok(found) if found.is_empty() => {}
            read => sources.push((directory.clone(), read)),
        }
        if is_locked {
            continue;
        }
        let files = configuration_files(&directory).unwrap_or_default();
        // A module need not require a provider.
        match read_configuration(&files, hosts) {
            Ok((found, _)) if found.is_empty() => {}
            read => sources.push((directory, read.map(|(found, _)| found))),
        }
    }
    if sources.is_empty() {
        let reason = format!(
            "it contains no {LOCK}, and no file that ends in any of {} and requires a provider or calls a module of a registry",
            CONFIGURATION_ENDINGS.join(", ")
        );
        sources.push((path.to_owned(), Err(refused(reason))));
    }
    sources
}

/// Returns a directory and all directories below it, except those of clients and of git, in the order of their paths. Links
/// are not followed: they may lead in a circle.
pub(crate) fn directories(path: &Path) -> std::io::Result<Vec<PathBuf>> {
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

fn read_file(path: &Path, hosts: &DefaultHosts) -> Result<Selections, Failure> {
    let refused =
        |reason: String| Failure::refused(format!("{}: {}", path.display(), shortened(&reason)));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if is_configuration(&name) {
        let (mut found, calls) = read_configuration(&[path.to_owned()], hosts)?;
        found.extend(module_calls::of_calls(&calls, &hosts.modules));
        if found.is_empty() {
            return Err(refused(NOTHING.to_owned()));
        }
        Ok(found)
    } else if name.ends_with(".lock.hcl") {
        lock::read(&text(path)?).map_err(refused)
    } else if name.ends_with(".toml") {
        toml_list::read(&text(path)?, &hosts.modules).map_err(refused)
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

/// Returns the providers that the files of a module require, and the modules that they call.
fn read_configuration(
    files: &[PathBuf],
    hosts: &DefaultHosts,
) -> Result<(Selections, Vec<ModuleSource>), Failure> {
    let texts = texts(files)?;
    let found = configuration::read(&texts, &hosts.providers)
        .map_err(|reason| Failure::refused(shortened(&reason)))?;
    Ok((found, module_calls::calls_of(&texts)))
}

/// Returns the modules that a directory uses.
///
/// # Errors
/// The first error in its files.
pub(super) fn modules_of(directory: &Path, default_host: &Hostname) -> Result<Selections, Failure> {
    // It may belong to another user.
    if std::fs::read_dir(directory).is_err() {
        return Ok(Selections::default());
    }
    let calls = calls(directory)?;
    let mut found = module_calls::of_calls(&calls, default_host);
    if let Some(installed) = Installed::read(directory)? {
        found.modules.clear();
        for InstalledModule { source, version } in installed.modules {
            let Some(version) = version else {
                continue;
            };
            let Some(address) = module_calls::module_address(&source, default_host) else {
                continue;
            };
            found.modules.push(ModuleSelection {
                address,
                versions: VersionSelection::All(Constraints::exactly(&version)),
                installed: Some(version),
            });
        }
    }
    Ok(found)
}

/// Lists the files that `terraform` and `tofu` read in a directory.
pub(crate) fn configuration_files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
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

pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    bounded_text(path, FILE_BYTES).map_err(Failure::refused)
}

/// Returns the module calls of the files in a directory.
///
/// # Errors
/// [`Failure::Refused`] for a file that cannot be read.
pub(crate) fn calls(directory: &Path) -> Result<Vec<ModuleSource>, Failure> {
    let unreadable =
        |error: std::io::Error| Failure::refused(format!("{}: {error}", directory.display()));
    let files = configuration_files(directory).map_err(unreadable)?;
    Ok(module_calls::calls_of(&texts(&files)?))
}

/// Returns the names and the texts of files.
fn texts(files: &[PathBuf]) -> Result<Vec<(String, String)>, Failure> {
    let read = |file: &PathBuf| Ok((file.display().to_string(), text(file)?));
    files.iter().map(read).collect()
}

/// Shortens a parser's message; some quote a whole line, however long it is.
fn shortened(reason: &str) -> String {
    untrusted::line(reason).at_most(REASON_CHARS).to_string()
}
