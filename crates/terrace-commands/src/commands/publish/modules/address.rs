//! The address of a module of a collection: by its directory, and by the provider that it requires.

use std::collections::BTreeSet;

use terrace_core::documentation::Contents;
use terrace_core::model::address::ModuleAddress;
use terrace_metadata::{SourceFile, module_details};

use super::SHOWN_NAMES;
use super::planned::PlannedVersion;
use crate::output::few;
use crate::source::collection::tree::{CommitTree, DiskTree, Tree as _};
use crate::source::pattern::{Field, Pattern, is_like};

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

/// Returns the name of a module in messages: the directory, or the name if the module is a repository of its own.
pub(super) fn shown(planned: &PlannedVersion) -> String {
    let module = &planned.module;
    let name = module.captures.get(&Field::Name);
    let name = name.filter(|_| module.directory.is_empty());
    name.unwrap_or(&module.directory).clone()
}

/// Returns the address of a module by a pattern and its newest version.
pub(super) fn address(newest: &PlannedVersion, pattern: &Pattern) -> Result<ModuleAddress, String> {
    let mut captures = newest.module.captures.clone();
    if pattern.has(Field::System) && !captures.contains_key(&Field::System) {
        captures.insert(Field::System, required_system(newest)?);
    }
    let address = pattern.expand(&captures).ok_or_else(|| {
        format!(
            "its path has no {{name}} for the address {pattern}: name it in --path or --address"
        )
    })?;
    ModuleAddress::parse_hosted(&address).map_err(|error| error.to_string())
}

/// Returns the name of the only provider that a version requires.
fn required_system(newest: &PlannedVersion) -> Result<String, String> {
    let files = configuration(newest)?;
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
    let is_system = |name: &&String| !UTILITIES.contains(&name.as_str());
    let systems: Vec<&String> = names.iter().filter(is_system).collect();
    match (systems.as_slice(), Vec::from_iter(&names).as_slice()) {
        ([system], _) | ([], [system]) => Ok((*system).clone()),
        _ => Err(format!(
            "its system is not known, because it requires {}: write it into --address, or a field {{system}} into --path",
            match systems.is_empty() {
                true => "no provider of a system".to_owned(),
                false => few(SHOWN_NAMES, systems),
            }
        )),
    }
}

/// Returns the configuration files of a version, with paths below its directory.
fn configuration(planned: &PlannedVersion) -> Result<Vec<(String, Vec<u8>)>, String> {
    let (origin, directory) = (&planned.origin, &planned.module.directory);
    let mut files = match (&origin.repository, &planned.tag) {
        (Some(repository), Some(tag)) => {
            let objects = repository.objects()?;
            CommitTree::at(&objects, &tag.commit)?.configuration(directory)?
        }
        _ => DiskTree {
            top: &origin.directory,
        }
        .configuration(directory)?,
    };
    for (path, _) in &mut files {
        *path = path.rsplit('/').next().unwrap_or_default().to_owned();
    }
    Ok(files)
}

/// Returns whether `--only` names a module.
pub(super) fn is_selected(
    only: &[String],
    newest: &PlannedVersion,
    address: Option<&ModuleAddress>,
) -> bool {
    let address = address.map(ToString::to_string);
    let module = &newest.module;
    let name = module.captures.get(&Field::Name);
    let texts = [name, Some(&module.directory), address.as_ref()];
    let is_named = |glob: &String| texts.iter().flatten().any(|text| is_like(text, glob));
    only.is_empty() || only.iter().any(is_named)
}
