//! `terrace mirror`: copies of other registries' providers.

mod circuit_breaker;
pub(crate) mod directory;
mod pull;
pub(crate) mod push;
mod report;

use crate::args::{MirrorCommand, RegistryArguments};
use crate::error::Failure;
use crate::output::Output;

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
    }
}
