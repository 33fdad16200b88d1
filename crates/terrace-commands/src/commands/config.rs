//! `terrace config`.

pub(crate) mod check;

use clap::Subcommand;

use crate::commands::config::check::ConfigCheckArguments;
use crate::error::Failure;
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration of a registry before it is deployed
    ///
    /// Reads the variables and bindings in the file of wrangler by the rules of the registry itself. Secrets are not in that
    /// file: the check assumes that those are set which it lists.
    #[command(after_help = "Example: terrace config check wrangler.jsonc")]
    Check(ConfigCheckArguments),
}

/// Executes the command.
pub(crate) fn run(command: &ConfigCommand, output: &Output) -> Result<(), Failure> {
    match command {
        ConfigCommand::Check(arguments) => check::run(arguments, output),
    }
}
