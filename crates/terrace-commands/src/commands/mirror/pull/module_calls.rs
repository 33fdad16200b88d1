//! What the calls of modules mean.

use terrace_core::model::address::ModuleAddress;
use terrace_core::model::name::Hostname;
use terrace_core::upstream::origin::Constraints;
use terrace_metadata::{ModuleSource, SourceFile, module_calls};

use super::selection::{ModuleSelection, Selections, VersionSelection};
use crate::commands::report::Skipped;
use crate::source::local_paths::local;

/// The reason why a call is not mirrored.
pub(super) const ELSEWHERE: &str = "clients will still fetch this elsewhere";

/// Hosts of repositories, which clients never take for registries.
const NO_REGISTRIES: [&str; 3] = ["github.com", "gitlab.com", "bitbucket.org"];

/// What a call leads to.
pub(super) enum Called {
    /// A directory of the same package.
    Inside,
    Module(ModuleAddress, Option<Constraints>),
    Elsewhere,
}

/// Returns what a call leads to, as clients understand its source.
///
/// # Errors
/// Its version is no constraint.
pub(super) fn called(call: &ModuleSource, default_host: &Hostname) -> Result<Called, String> {
    if call.is_computed {
        return Ok(Called::Elsewhere);
    }
    let source = call.source.as_str();
    let Some(address) = module_address(source, default_host) else {
        return Ok(
            match local("", source).is_some() || source.starts_with('/') {
                true => Called::Inside,
                false => Called::Elsewhere,
            },
        );
    };
    let constraints = call.version.as_deref().map(str::parse::<Constraints>);
    let constraints = constraints.transpose().map_err(|error| error.to_string())?;
    Ok(Called::Module(
        address,
        constraints.map(Constraints::of_modules),
    ))
}

/// Returns the module of a registry that a source names. The public registries stand for each other and for a missing hostname:
/// which one is meant depends on the client, and each installs from the one that is mirrored.
pub(super) fn module_address(source: &str, default_host: &Hostname) -> Option<ModuleAddress> {
    let address = source.split("//").next().unwrap_or_default();
    let host = address.split('/').next().unwrap_or_default();
    let address: ModuleAddress = address.parse().ok()?;
    let is_registry = !NO_REGISTRIES.contains(&host);
    is_registry.then(|| ModuleAddress {
        hostname: match address.hostname {
            Some(hostname) if !hostname.is_public() => Some(hostname),
            _ => Some(default_host.clone()),
        },
        ..address
    })
}

/// Returns the modules of some calls: those of registries in the newest version that each call admits.
pub(super) fn of_calls(calls: &[ModuleSource], default_host: &Hostname) -> Selections {
    let mut found = Selections::default();
    for call in calls {
        let reason = match called(call, default_host) {
            Ok(Called::Inside) => continue,
            Ok(Called::Module(address, constraints)) => {
                found.modules.push(ModuleSelection {
                    address,
                    versions: VersionSelection::Newest(constraints),
                    installed: None,
                });
                continue;
            }
            Ok(Called::Elsewhere) => ELSEWHERE.to_owned(),
            Err(reason) => reason,
        };
        found.skipped.push(Skipped {
            path: named(call),
            reason,
        });
    }
    found
}

/// Returns a call in a message.
pub(super) fn named(call: &ModuleSource) -> String {
    let line = call
        .line
        .map_or_else(String::new, |line| format!(":{line}"));
    format!("{}{line}: {}", call.file, call.source)
}

/// Returns the module calls of files with these names and texts.
pub(super) fn calls_of(texts: &[(String, String)]) -> Vec<ModuleSource> {
    let files = texts.iter().map(|(path, text)| SourceFile {
        path,
        bytes: text.as_bytes(),
    });
    module_calls(&files.collect::<Vec<_>>())
}
