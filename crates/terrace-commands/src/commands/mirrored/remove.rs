//! `terrace mirror remove`: the erasure of mirrored versions.

use clap::Args;
use terrace_core::model::mirrored_part::MirroredPart;
use terrace_core::model::status::Reason;

use super::mirrored;
use crate::args::{PackageSpec, RegistryArguments};
use crate::commands::admin::erase::{self, EraseArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct MirrorRemoveArguments {
    /// The provider, as hostname/namespace/type, or the module, as hostname/namespace/name/system; followed by @<version> for
    /// one version, otherwise all stored versions are removed
    #[arg(value_parser = package_to_remove)]
    pub(crate) address: PackageSpec,

    /// The reason: one line, which users and publishers read
    #[arg(long)]
    pub(crate) reason: Reason,

    /// Also remove archives that other versions, repositories or manifests have. These can then no longer be installed
    #[arg(long)]
    pub(crate) everywhere: bool,

    /// Remove, instead of listing what would be removed
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Parses the package of `mirror remove`, and leads on from a namespace or a host.
fn package_to_remove(text: &str) -> Result<PackageSpec, String> {
    match text.parse::<MirroredPart>() {
        Ok(part) => Err(format!(
            "it names all packages of a host or a namespace, and one is removed at a time, as hostname/namespace/type or \
             hostname/namespace/name/system; `terrace mirror list {part}` lists them"
        )),
        Err(_) => text.parse(),
    }
}

/// Erases a mirrored package or a version of it, or lists everything that an erasure would change.
pub(super) fn remove(
    arguments: &MirrorRemoveArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let MirrorRemoveArguments {
        address,
        reason,
        everywhere,
        yes,
    } = arguments;
    let spec = mirrored(address, &connect(registry, output)?)?;
    let text = match spec.is_version() {
        true => {
            format!("{spec}: a removed version returns neither by pull-through nor by a publish")
        }
        false => format!(
            "{spec}: the removed versions return neither by pull-through nor by a publish, but other versions of it may \
             still be mirrored: `{}` prevents that",
            output.command(format_args!("mirror block {spec}"))
        ),
    };
    output.progress(&text);
    let erased = EraseArguments {
        address: Some(spec),
        archives: Vec::new(),
        manifests: Vec::new(),
        blobs: Vec::new(),
        reason: reason.clone(),
        everywhere: *everywhere,
        yes: *yes,
    };
    erase::erase(&erased, registry, output)
}
