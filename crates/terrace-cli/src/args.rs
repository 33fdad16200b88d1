//! The command line, as data.

mod admin;
mod key;
mod mirror;
mod publish;
mod registry;
mod release;
mod token;
pub(crate) mod usage_error;

use clap::{Parser, Subcommand};

pub(crate) use admin::{AcceptedLoss, AdminCommand};
pub(crate) use key::{KeyCommand, KeyStatusArguments};
pub(crate) use mirror::{
    MirrorAddArguments, MirrorArguments, MirrorCommand, MirrorPushArguments, MirrorSyncArguments,
};
pub(crate) use publish::{ModuleArguments, ProviderArguments, PublishCommand, SourceArguments};
pub(crate) use registry::RegistryArguments;
pub(crate) use release::{PackageSpec, ReleaseCommand, StatusArguments};
pub(crate) use token::TokenCommand;

const EXIT_CODES: &str = "\
Exit codes:
  0  done: published, or published before with the same bytes
  1  something unexpected, or a full disk here
  2  the command line is wrong
  3  refused: what is to be published is wrong, here or by the registry's judgement
  4  conflict: the version is published with other bytes
  5  not allowed: the token is wrong, the job is not trusted, or the registry has no admin routes
  6  the registry or its storage cannot be reached, or does not answer; run the command again";

/// Publishes providers and modules to a Terrace registry.
#[derive(Debug, Parser)]
#[command(name = "terrace", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Print one JSON document on standard output, whatever happens
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Show no progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) registry: RegistryArguments,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Publish a version of a provider or a module
    #[command(subcommand)]
    Publish(PublishCommand),
    /// Manage the keys that may sign a namespace's providers
    #[command(subcommand)]
    Key(KeyCommand),
    /// Deprecate, withdraw or revoke what is published, and take that back
    #[command(subcommand)]
    Release(ReleaseCommand),
    /// Look after a whole registry: who changed what, repair, checks, backup, moving
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Make, list, revoke and replace API tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Keep copies of other registries' providers
    #[command(subcommand)]
    Mirror(MirrorCommand),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
