//! The package of a module as its users load it: what it calls, and whether it has everything that they need.

use std::collections::BTreeSet;

use terrace_base::untrusted::quoted;
use terrace_core::limits;
use terrace_core::model::subdir::Subdir;
use terrace_metadata::{ModuleSource, SourceFile, module_calls};

use super::module_calls::named;
use crate::archive::pack::below;
use crate::source::documentation::is_configuration;
use crate::source::git::Absent;
use crate::source::local_paths::{
    self, Place, by_directory, directory_of, escapes, is_offered, local, module_paths, reached,
    resolve,
};
use crate::upstream::module_package::ModulePackage;

/// What users load of a package: the module, its submodules, and the directories that these call.
pub(super) struct Loaded {
    /// The calls in it.
    pub(super) calls: Vec<ModuleSource>,
    /// The reasons why clients cannot use it.
    pub(super) reasons: Vec<String>,
}

impl Loaded {
    /// Reads a package.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub(super) fn read(package: &ModulePackage) -> Result<Self, String> {
        let is_wanted = |path: &str| is_configuration(path.rsplit('/').next().unwrap_or(path));
        let contents = package.archive.contents(package.format, is_wanted)?;
        let files = contents.files.iter();
        let files: Vec<SourceFile<'_>> = files
            .map(|(path, bytes)| SourceFile { path, bytes })
            .collect();
        let mut calls = module_calls(&files);
        let top = package.subdir.as_ref().map_or("", Subdir::as_str);
        let directories: BTreeSet<&str> = files.iter().map(|it| directory_of(it.path)).collect();
        let offered = directories.into_iter().filter(|it| is_offered(it, top));
        let loaded = reached(&by_directory(&calls), offered);
        let mut reasons: Vec<String> = escapes(&calls, top).fatal.iter().map(escape).collect();
        calls.retain(|call| loaded.contains(directory_of(&call.file)));
        let loaded_files = files
            .iter()
            .filter(|file| loaded.contains(directory_of(file.path)));
        let loaded_files: Vec<&SourceFile<'_>> = loaded_files.collect();
        for absent in &package.absent {
            let (path, why) = (quoted(&absent.path), absent.why);
            let user = user_of(absent, &calls, &loaded_files, &loaded);
            reasons.extend(
                user.map(|user| format!("{user}: {path} {why}, so clients would not have it")),
            );
        }
        reasons.truncate(limits::REASONS);
        Ok(Self { calls, reasons })
    }
}

fn escape(call: &&ModuleSource) -> String {
    let call = local_paths::named(call);
    format!("{call} leads out of the package, so no client can install the module")
}

/// Returns the first place that needs a path which the package lacks.
fn user_of(
    absent: &Absent,
    calls: &[ModuleSource],
    files: &[&SourceFile<'_>],
    loaded: &BTreeSet<String>,
) -> Option<String> {
    let path = absent.path.as_str();
    if loaded.contains(directory_of(path)) && is_configuration(path) {
        return Some(path.to_owned());
    }
    let leads_in = |call: &&ModuleSource| match local(directory_of(&call.file), &call.source) {
        Some(Place::Inside(place)) => below(&place, path).is_some(),
        _ => false,
    };
    if let Some(call) = calls.iter().find(leads_in) {
        return Some(named(call));
    }
    files.iter().find_map(|file| {
        let directory = directory_of(file.path);
        let text = String::from_utf8_lossy(file.bytes);
        let mut lines = module_paths(&text);
        let line = lines.find_map(|(line, read)| match resolve(directory, read) {
            Place::Inside(place) if place != directory => {
                let is_it = below(&place, path).or_else(|| below(path, &place));
                is_it.map(|_| line)
            }
            _ => None,
        });
        line.map(|line| format!("{}:{line}", file.path))
    })
}
