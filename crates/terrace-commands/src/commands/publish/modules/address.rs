//! The address of a module of a collection: by its directory, and by the provider that it requires.

use std::collections::BTreeSet;

use terrace_core::documentation::Contents;
use terrace_core::model::address::ModuleAddress;
use terrace_metadata::{SourceFile, module_details};

use super::planned::{Origin, PlannedVersion};
use crate::source::collection::tree::{CommitTree, DiskTree, Tree as _};
use crate::source::pattern::{Captures, Field, Pattern, is_like};

/// The number of names in a message.
const SHOWN_NAMES: usize = 5;

/// Providers that modules for any system use, so that they say nothing about the system of a module.
const UTILITIES: [&str; 11] = [
    "archive",
    "cloudinit",
    "external",
    "http",
    "local",
    "null",
    "random",
    "template",
    "terraform",
    "time",
    "tls",
];

/// A module by its names.
pub(super) struct Named<'a> {
    pub(super) name: Option<String>,
    pub(super) system: Option<String>,
    /// The newest version.
    pub(super) newest: &'a PlannedVersion,
    pub(super) origin: Option<&'a Origin>,
}

impl Named<'_> {
    /// Returns the name in messages: the directory, or the name if the module is a repository of its own.
    pub(super) fn shown(&self) -> String {
        let directory = &self.newest.directory;
        let name = self.name.as_ref().filter(|_| directory.is_empty());
        name.unwrap_or(directory).clone()
    }

    /// Returns the address by a pattern.
    pub(super) fn address(&self, pattern: &Pattern) -> Result<ModuleAddress, String> {
        let mut captures = Captures {
            name: self.name.clone(),
            system: self.system.clone(),
            ..Captures::default()
        };
        if pattern.has(Field::System) && captures.system.is_none() {
            captures.system = Some(self.required_system()?);
        }
        let address = pattern.expand(&captures).ok_or_else(|| {
            format!(
                "its path has no {{name}} for the address {pattern}: name it in --path or --address"
            )
        })?;
        ModuleAddress::parse_hosted(&address).map_err(|error| format!("{error}"))
    }

    /// Returns the name of the only provider that the newest version requires.
    fn required_system(&self) -> Result<String, String> {
        let files = self.configuration()?;
        let sources: Vec<SourceFile<'_>> = files
            .iter()
            .map(|(path, bytes)| SourceFile { path, bytes })
            .collect();
        let Contents::Module(details) = module_details(&sources).contents else {
            return Ok(String::new());
        };
        let names = details.root.providers.into_iter().map(|provider| {
            let source = provider.source.unwrap_or(provider.name);
            let name = source.rsplit('/').next().unwrap_or_default();
            // The preview of a provider is for the same system.
            name.strip_suffix("-beta").unwrap_or(name).to_owned()
        });
        let names: BTreeSet<String> = names.collect();
        let systems: Vec<&String> = names
            .iter()
            .filter(|name| !UTILITIES.contains(&name.as_str()))
            .collect();
        let all: Vec<&String> = names.iter().collect();
        match (systems.as_slice(), all.as_slice()) {
            ([system], _) | ([], [system]) => Ok((*system).clone()),
            (found, _) => Err(format!(
                "its system is not known, because it requires {}: write it into --address, or a field {{system}} into \
                 --path",
                match found.is_empty() {
                    true => "no provider of a system".to_owned(),
                    false => listed(found),
                }
            )),
        }
    }

    /// Returns the configuration files of the newest version, with paths below its directory.
    fn configuration(&self) -> Result<Vec<(String, Vec<u8>)>, String> {
        let Some(origin) = self.origin else {
            return Ok(Vec::new());
        };
        let directory = &self.newest.directory;
        let files = match (&origin.repository, &self.newest.tag) {
            (Some(repository), Some(tag)) => {
                let objects = repository.objects()?;
                CommitTree::at(&objects, &tag.commit)?.configuration(directory)?
            }
            _ => DiskTree {
                top: &origin.directory,
            }
            .configuration(directory)?,
        };
        let name = |path: String| path.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(files
            .into_iter()
            .map(|(path, bytes)| (name(path), bytes))
            .collect())
    }
}

/// Returns whether `--only` names a module.
pub(super) fn is_selected(
    only: &[String],
    named: &Named<'_>,
    address: Option<&ModuleAddress>,
) -> bool {
    let address = address.map(ToString::to_string);
    let texts = [
        named.name.as_ref(),
        Some(&named.newest.directory),
        address.as_ref(),
    ];
    let is_named = |glob: &String| texts.iter().flatten().any(|text| is_like(text, glob));
    only.is_empty() || only.iter().any(is_named)
}

/// Returns the first names, and the number of the others.
pub(super) fn listed(names: &[&String]) -> String {
    let shown: Vec<&str> = names
        .iter()
        .take(SHOWN_NAMES)
        .map(|name| name.as_str())
        .collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(SHOWN_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
