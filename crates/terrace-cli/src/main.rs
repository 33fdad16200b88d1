//! The `terrace` command: publishes providers and modules to a Terrace registry.
//!
//! It shares the core with the registry, so it refuses what the registry would refuse, before
//! anything is sent.

mod args;
mod client;
mod dist;
mod error;
mod inspect;
mod keys;
mod module;
mod output;
mod pack;
mod provider;
mod publish;
mod retry;
mod source;
mod upload;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Arguments, Command, KeyCommand, PublishCommand};
use crate::client::Client;
use crate::error::Failure;
use crate::output::Output;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let output = Output::new(arguments.json, arguments.quiet);
    match run(arguments, &output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(arguments: Arguments, output: &Output) -> Result<(), Failure> {
    let client = || Client::new(&arguments.registry);
    match &arguments.command {
        Command::Publish(PublishCommand::Provider(provider)) => {
            provider::publish(provider, client, output)
        }
        Command::Publish(PublishCommand::Module(module)) => module::publish(module, client, output),
        Command::Key(KeyCommand::Add { namespace, file }) => {
            keys::add(&client()?, namespace, file, output)
        }
        Command::Key(KeyCommand::List { namespace }) => keys::list(&client()?, namespace, output),
        Command::Key(KeyCommand::Remove { namespace, key_id }) => {
            keys::remove(&client()?, namespace, *key_id, output)
        }
    }
}
