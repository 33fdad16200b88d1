//! The commands, one module each.

mod account;
mod admin;
mod circuit_breaker;
mod completion;
mod config;
mod connection;
mod docs;
mod doctor;
mod documentation;
mod key;
mod list;
mod mcp;
mod mirror;
mod mirrored;
mod person;
mod profile;
mod publish;
mod release;
mod rule;
mod search;
pub(crate) mod serve;
mod show;
mod token;
mod webhook;

use crate::Serve;
use crate::args::{Arguments, Command};
use crate::error::Failure;
use crate::output::Output;

/// Executes a command line.
pub(crate) fn run(arguments: &Arguments, serve: Serve, output: &Output) -> Result<(), Failure> {
    let registry = &profile::apply(&arguments.command, &arguments.registry, output)?;
    match &arguments.command {
        Command::List(arguments) => list::run(arguments, registry, output),
        Command::Show(arguments) => show::run(arguments, registry, output),
        Command::Search(arguments) => search::run(arguments, registry, output),
        Command::Publish(command) => publish::run(command, registry, output),
        Command::Docs(command) => docs::run(command, registry, output),
        Command::Key(command) => key::run(command, registry, output),
        Command::Release(command) => release::run(command, registry, output),
        Command::Admin(command) => admin::run(command, registry, output),
        Command::Token(command) => token::run(command, registry, output),
        Command::Mirror(command) => mirrored::run(command, registry, output),
        Command::Webhook(command) => webhook::run(command, registry, output),
        Command::Trust(command) => rule::trust(command, registry, output),
        Command::Role(command) => rule::role(command, registry, output),
        Command::Mcp => mcp::run(registry, output),
        Command::Serve(arguments) => serve(arguments, output),
        Command::Config(command) => config::run(command, output),
        Command::Doctor(arguments) => doctor::run(arguments, registry, output),
        Command::Login(arguments) => account::login(arguments, registry, output),
        Command::Logout(arguments) => account::logout(arguments, registry, output),
        Command::Whoami(arguments) => account::whoami(arguments, registry, output),
        Command::Profile(command) => profile::run(command, registry, output),
        Command::Completion(arguments) => completion::run(arguments, output),
    }
}
