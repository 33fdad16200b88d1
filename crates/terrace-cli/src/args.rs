//! The command line, as data.

mod admin;
mod catalog;
mod completion;
mod config;
mod docs;
mod duration;
mod help;
mod key;
mod mirror;
mod publish;
mod registry;
mod release;
mod token;
pub(crate) mod usage_error;
mod usage_line;

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub(crate) use admin::{AcceptedLoss, AdminCommand, EraseArguments};
pub(crate) use catalog::{ListArguments, SearchArguments, ShowArguments, VersionChoice};
pub(crate) use completion::{CompletionArguments, Shell};
pub(crate) use config::{ConfigCheckArguments, ConfigCommand};
pub(crate) use docs::{DocsAddArguments, DocsCommand, DocsPreviewArguments, DocsSubject};
pub(crate) use key::{KeyCommand, KeyStatusArguments};
pub(crate) use mirror::{
    MirrorAddArguments, MirrorArguments, MirrorCommand, MirrorPushArguments, MirrorSyncArguments,
};
pub(crate) use publish::{
    DocumentationArguments, ModuleArguments, ProviderArguments, PublishCommand, SourceArguments,
};
pub(crate) use registry::RegistryArguments;
pub(crate) use release::{PackageSpec, ReleaseCommand, StatusArguments};
pub(crate) use token::TokenCommand;

use crate::output::Verbosity;

/// Publish providers and modules to a Terrace registry, and operate the registry.
#[derive(Debug, Parser)]
#[command(name = "terrace", version, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Print the result, or the error, as one JSON document on standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print no progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// Print the source of the token, and every request to the registry
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) registry: RegistryArguments,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Returns the amount of output on standard error.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the namespaces of a registry, or the packages of a namespace
    ///
    /// The list is whole, unless --limit is given. With --json, it is one page of the registry's own JSON.
    List(ListArguments),
    /// Show the versions of a package, or everything about one version
    ///
    /// With --json, the registry's own JSON is printed.
    Show(ShowArguments),
    /// Search for packages, and for the resources, data sources and functions of providers
    ///
    /// The first 20 results are shown, unless --limit is given. With --json, they are one page of the registry's own
    /// JSON.
    Search(SearchArguments),
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
    /// Copy providers from other registries
    #[command(subcommand)]
    Mirror(MirrorCommand),
    /// Check the configuration of a registry
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a script that completes this command in a shell
    Completion(CompletionArguments),
}

impl Command {
    /// Returns whether the command changes nothing, so that a reader of its output may leave early.
    pub(crate) fn is_read_only(&self) -> bool {
        match self {
            Self::List(_)
            | Self::Show(_)
            | Self::Search(_)
            | Self::Config(_)
            | Self::Completion(_) => true,
            Self::Docs(command) => matches!(command, DocsCommand::Check(_)),
            Self::Key(command) => matches!(command, KeyCommand::List { .. }),
            Self::Release(command) => matches!(command, ReleaseCommand::Show { .. }),
            Self::Admin(command) => matches!(command, AdminCommand::Audit { .. }),
            Self::Token(command) => matches!(command, TokenCommand::List { .. }),
            Self::Publish(_) | Self::Mirror(_) => false,
        }
    }
}

/// Returns clap's description of the command line.
pub(crate) fn command() -> clap::Command {
    help::describe(usage_line::set(Arguments::command()))
}

/// Parses a command line.
///
/// # Errors
/// The requested help or version, or the error in the command line.
pub(crate) fn parse(given: &[OsString]) -> Result<Arguments, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(given)?;
    let arguments = Arguments::from_arg_matches(&matches);
    let mut arguments = arguments.map_err(|error| error.format(&mut command))?;
    let source = matches.value_source(registry::TOKEN);
    arguments.registry.is_token_in_environment = source == Some(ValueSource::EnvVariable);
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_well_formed() {
        super::command().debug_assert();
    }
}
