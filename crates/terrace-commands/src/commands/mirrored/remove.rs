//! `terrace mirror remove`: the erasure of mirrored versions.

use super::mirrored;
use crate::args::{EraseArguments, MirrorRemoveArguments, RegistryArguments};
use crate::commands::admin::erase;
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::Output;

/// Erases a mirrored provider or a version of it, or lists everything that an erasure would change.
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
            "{spec}: the removed versions return neither by pull-through nor by a publish, but other versions of the provider may \
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
