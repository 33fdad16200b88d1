//! `terrace mirror remove`: the erasure of mirrored versions.

use clap::Args;
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
    output.progress(&format!(
        "{spec}: what is removed returns neither by pull-through nor by a publish; `{}` also prevents later versions",
        output.command(format_args!("mirror block {}", spec.package.address()))
    ));
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
