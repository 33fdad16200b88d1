//! The commands, one module each.

mod account;
mod admin;
mod check;
mod circuit_breaker;
pub(crate) mod command_line;
mod compare;
mod completion;
mod config;
mod connection;
mod docs;
mod doctor;
mod documentation;
mod key;
mod list;
mod local_server;
mod mcp;
mod mirror;
mod mirrored;
mod person;
mod profile;
mod publish;
mod release;
mod report;
mod rule;
mod search;
pub(crate) mod serve;
mod show;
mod token;
mod webhook;

use clap::Subcommand;

use crate::Serve;
use crate::error::Failure;
use crate::output::Output;
use account::AccountArguments;
use account::login::LoginArguments;
use admin::AdminCommand;
use check::CheckArguments;
use command_line::Arguments;
use compare::CompareArguments;
use completion::CompletionArguments;
use config::ConfigCommand;
use connection::Session;
use docs::DocsCommand;
use doctor::DoctorArguments;
use key::KeyCommand;
use list::ListArguments;
use mirrored::MirrorCommand;
use profile::ProfileCommand;
use publish::PublishCommand;
use release::ReleaseCommand;
use rule::{RoleCommand, TrustCommand};
use search::SearchArguments;
use serve::ServeArguments;
use show::ShowArguments;
use token::TokenCommand;
use webhook::WebhookCommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(ListArguments),
    Show(ShowArguments),
    Search(SearchArguments),
    Check(CheckArguments),
    Compare(CompareArguments),
    /// Publish a version of a provider or a module
    #[command(subcommand)]
    Publish(PublishCommand),
    /// Add documentation to published versions, check and preview it
    #[command(subcommand)]
    Docs(DocsCommand),
    /// Manage the keys that may sign the providers of a namespace
    #[command(subcommand)]
    Key(KeyCommand),
    /// Deprecate, withdraw or revoke published versions, or undo that
    #[command(subcommand)]
    Release(ReleaseCommand),
    /// Operate a registry: audit log, repair, verification, backup and import
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Create, list, revoke and rotate API tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Send the events of changes to other programs
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Manage the CI jobs that may publish with the token of their CI
    #[command(subcommand)]
    Trust(TrustCommand),
    /// Manage the scopes of people who sign in
    #[command(subcommand)]
    Role(RoleCommand),
    /// Copy providers from other registries
    #[command(subcommand)]
    Mirror(MirrorCommand),
    /// Connect an assistant or editor to a registry, by standard input and output
    ///
    /// For clients of the Model Context Protocol that start a program; others connect to the registry itself. Each line is a
    /// message, which is passed on to the registry with the token of this command. All tools only read.
    #[command(
        after_help = "Example: terrace mcp\nToken scope: read:<namespace> or read, if the registry requires a token for reads"
    )]
    Mcp,
    Serve(ServeArguments),
    /// Check the configuration of a registry
    #[command(subcommand)]
    Config(ConfigCommand),
    Doctor(DoctorArguments),
    Login(LoginArguments),
    /// Revoke the stored token of a registry, and remove it
    #[command(after_help = "Example: terrace logout https://registry.example.com")]
    Logout(AccountArguments),
    /// Show whose token is sent to a registry, its scopes, when it ends, and where it comes from
    #[command(after_help = "Example: terrace whoami")]
    Whoami(AccountArguments),
    /// List the profiles of registries in the configuration file
    #[command(subcommand)]
    Profile(ProfileCommand),
    Completion(CompletionArguments),
}

impl Command {
    /// Returns whether a profile may name the registry of the command.
    pub(crate) fn uses_profile(&self) -> bool {
        match self {
            Self::Serve(_) | Self::Config(_) | Self::Profile(_) | Self::Completion(_) => false,
            Self::Docs(command) => matches!(command, DocsCommand::Add(_)),
            Self::Login(arguments) => arguments.account.registry.is_none(),
            Self::Logout(arguments) | Self::Whoami(arguments) => arguments.registry.is_none(),
            Self::Doctor(arguments) => arguments.account.registry.is_none(),
            _ => true,
        }
    }
}

/// Executes a command line.
pub(crate) fn run(arguments: &Arguments, serve: Serve, output: &Output) -> Result<(), Failure> {
    let registry = &profile::apply(&arguments.command, &arguments.registry, output)?;
    let session = Session { registry, output };
    match &arguments.command {
        Command::List(arguments) => list::run(arguments, session),
        Command::Show(arguments) => show::run(arguments, session),
        Command::Search(arguments) => search::run(arguments, session),
        Command::Check(arguments) => check::run(arguments, session),
        Command::Compare(arguments) => compare::run(arguments, session),
        Command::Publish(command) => publish::run(command, session),
        Command::Docs(command) => docs::run(command, session),
        Command::Key(command) => key::run(command, session),
        Command::Release(command) => release::run(command, session),
        Command::Admin(command) => admin::run(command, session),
        Command::Token(command) => token::run(command, session),
        Command::Mirror(command) => mirrored::run(command, session),
        Command::Webhook(command) => webhook::run(command, session),
        Command::Trust(command) => rule::trust(command, session),
        Command::Role(command) => rule::role(command, session),
        Command::Mcp => mcp::run(session),
        Command::Serve(arguments) => serve(arguments, output),
        Command::Config(command) => config::run(command, output),
        Command::Doctor(arguments) => doctor::run(arguments, registry, output),
        Command::Login(arguments) => account::login(arguments, session),
        Command::Logout(arguments) => account::logout(arguments, session),
        Command::Whoami(arguments) => account::whoami(arguments, session),
        Command::Profile(command) => profile::run(command, registry, output),
        Command::Completion(arguments) => completion::run(arguments, output),
    }
}
