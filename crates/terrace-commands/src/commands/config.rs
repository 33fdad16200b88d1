//! `terrace config`.

pub(in crate::commands) mod check;

use crate::args::ConfigCommand;
use crate::error::Failure;
use crate::output::Output;

/// Executes the command.
pub(crate) fn run(command: &ConfigCommand, output: &Output) -> Result<(), Failure> {
    match command {
        ConfigCommand::Check(arguments) => check::run(arguments, output),
    }
}
