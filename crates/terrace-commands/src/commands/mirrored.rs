//! `terrace mirror`: copies of other registries' providers, which `commands::mirror` makes, and the operator's view of them:
//! lists, blocks and removal.

mod block;
mod list;
mod part;
mod propagation;
mod remove;

use terrace_core::model::package::Package;

use super::mirror::{pull, push};
use crate::args::{MirrorCommand, PackageSpec, RegistryArguments};
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;

/// Executes the command.
pub(crate) fn run(
    command: &MirrorCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    match command {
        MirrorCommand::Add(add) => pull::add(add, registry, output),
        MirrorCommand::Sync(sync) => pull::sync(sync, registry, output),
        MirrorCommand::Push(push) => push::push(push, registry, output),
        MirrorCommand::List(arguments) => list::list(arguments, registry, output),
        MirrorCommand::Block(arguments) => block::block(arguments, registry, output),
        MirrorCommand::Unblock(arguments) => block::unblock(arguments, registry, output),
        MirrorCommand::Blocks => list::blocks(registry, output),
        MirrorCommand::Remove(arguments) => remove::remove(arguments, registry, output),
    }
}

/// Returns a mirrored provider, or a version of one, that an argument names.
///
/// # Errors
/// It names another kind of package, or a provider of the registry itself.
fn mirrored(spec: &PackageSpec, client: &Client<'_>) -> Result<PackageSpec, Failure> {
    let spec = spec.at(&client.host())?;
    match spec.package {
        Package::Mirrored(_) => Ok(spec),
        Package::Provider(_) | Package::Module(_) => Err(Failure::Usage(format!(
            "{spec} is not a provider of another registry: write hostname/namespace/type"
        ))),
    }
}
