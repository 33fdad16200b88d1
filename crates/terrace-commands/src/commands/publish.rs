//! `terrace publish`.

mod documentation;
mod loaded;
pub(crate) mod module;
mod modules;
mod package;
pub(crate) mod provider;

use crate::args::{PublishCommand, RegistryArguments};
use crate::error::Failure;
use crate::output::Output;

/// Executes the command.
pub(crate) fn run(
    command: &PublishCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    match command {
        PublishCommand::Provider(provider) => provider::publish(provider, registry, output),
        PublishCommand::Module(module) => module::publish(module, registry, output),
        PublishCommand::Modules(modules) => modules::publish(modules, registry, output),
    }
}
