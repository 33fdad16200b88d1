//! The command line, as data.

mod account;
mod admin;
mod archive_host;
mod catalog;
mod collection;
mod completion;
mod config;
mod docs;
mod doctor;
#[cfg(test)]
mod documented;
mod duration;
mod erase;
mod help;
mod key;
mod mirror;
mod publish;
mod registry;
mod release;
mod rule;
mod serve;
mod token;
pub(crate) mod usage_error;
mod usage_line;
mod webhook;

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub(crate) use account::{AccountArguments, LoginArguments, ProfileCommand};
pub(crate) use admin::{AcceptedLoss, AdminCommand, FailoverCommand, RegistryImportArguments};
pub(crate) use catalog::{ListArguments, SearchArguments, ShowArguments, VersionChoice};
pub(crate) use collection::CollectionArguments;
pub(crate) use completion::{CompletionArguments, Shell};
pub(crate) use config::{ConfigCheckArguments, ConfigCommand};
pub(crate) use docs::{DocsAddArguments, DocsCommand, DocsPreviewArguments, DocsSubject};
pub(crate) use doctor::DoctorArguments;
pub(crate) use erase::{EraseArguments, ManifestSpec};
pub(crate) use key::{KeyCommand, KeyStatusArguments};
pub(crate) use mirror::{
    BlockArguments, BlockSubject, MirrorAddArguments, MirrorArguments, MirrorCommand,
    MirrorListArguments, MirrorPart, MirrorPushArguments, MirrorRemoveArguments,
    MirrorSyncArguments, UnblockArguments,
};
pub(crate) use publish::{
    DocumentationArguments, ModuleArguments, ProviderArguments, PublishCommand, SourceArguments,
};
pub(crate) use registry::RegistryArguments;
pub(crate) use release::{PackageSpec, ReleaseCommand, StatusArguments};
pub(crate) use rule::{
    RoleAddArguments, RoleCommand, RuleArguments, RuleListArguments, TrustAddArguments,
    TrustCommand,
};
pub use serve::{ServeArguments, Variable};
pub(crate) use token::TokenCommand;
pub(crate) use webhook::{FormatName, WebhookCommand};

use crate::output::Verbosity;

/// The version with the commit, in a released program, and the target: `0.1.0 (3f2c1ab9d0e1, x86_64-unknown-linux-musl)`.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("TERRACE_BUILD"), ")");

/// Publish providers and modules to a Terrace registry, and operate the registry.
#[derive(Debug, Parser)]
#[command(name = "terrace", version = VERSION, max_term_width = 100)]
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
    Mcp,
    /// Serve a registry from this machine
    ///
    /// Answers the same requests as the Worker, with the same settings. The log is on standard error.
    Serve(ServeArguments),
    /// Check the configuration of a registry
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Find what is wrong with a registry, as its clients see it, and with this machine
    ///
    /// Without a URL, only this machine is checked. With the token of an administrator, the registry also checks itself. Nothing
    /// is changed. Every check has an ID, and a section in docs/doctor.md.
    Doctor(DoctorArguments),
    /// Sign in to a registry, and store the token for terraform, tofu and this command
    ///
    /// Opens the sign-in of the registry in a browser, as `terraform login` does, and stores the token in the same file. With
    /// --with-token, a token from standard input is stored instead.
    Login(LoginArguments),
    /// Revoke the stored token of a registry, and remove it
    Logout(AccountArguments),
    /// Show whose token is sent to a registry, its scopes, when it ends, and where it comes from
    Whoami(AccountArguments),
    /// List the profiles of registries in the configuration file
    #[command(subcommand)]
    Profile(ProfileCommand),
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
            | Self::Mcp
            | Self::Config(_)
            | Self::Doctor(_)
            | Self::Whoami(_)
            | Self::Profile(_)
            | Self::Completion(_) => true,
            Self::Docs(command) => matches!(command, DocsCommand::Check(_)),
            Self::Key(command) => matches!(command, KeyCommand::List { .. }),
            Self::Release(command) => matches!(command, ReleaseCommand::Show { .. }),
            Self::Admin(command) => matches!(command, AdminCommand::Audit { .. }),
            Self::Token(command) => matches!(command, TokenCommand::List { .. }),
            Self::Trust(command) => matches!(command, TrustCommand::List(_)),
            Self::Role(command) => matches!(command, RoleCommand::List(_)),
            Self::Webhook(command) => matches!(command, WebhookCommand::List),
            Self::Mirror(command) => {
                matches!(command, MirrorCommand::List(_) | MirrorCommand::Blocks)
            }
            Self::Publish(_) | Self::Serve(_) | Self::Login(_) | Self::Logout(_) => false,
        }
    }

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

/// Returns clap's description of the command line.
pub(crate) fn command() -> clap::Command {
    help::describe(usage_line::set(Arguments::command()))
}

/// Parses a command line.
///
/// # Errors
/// The requested help or version, or the error in the command line.
pub(crate) fn parse(given: &[OsString]) -> Result<Arguments, clap::Error> {
    // Only help and errors need the texts of all commands, which take most of the time of a start.
    let matches = match Arguments::command().try_get_matches_from(given) {
        Ok(matches) => matches,
        Err(_) => command().try_get_matches_from(given)?,
    };
    let arguments = Arguments::from_arg_matches(&matches);
    let mut arguments = arguments.map_err(|error| {
        let mut command = command();
        command.build();
        error.format(&mut command)
    })?;
    let source = matches.value_source(registry::TOKEN);
    arguments.registry.is_token_in_environment = source == Some(ValueSource::EnvVariable);
    let source = matches.value_source(registry::URL);
    arguments.registry.is_url_in_environment = source == Some(ValueSource::EnvVariable);
    let source = matches.value_source(registry::PROFILE);
    arguments.registry.is_profile_in_environment = source == Some(ValueSource::EnvVariable);
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use clap::Command;

    #[test]
    fn the_command_line_is_well_formed() {
        super::command().debug_assert();
    }

    /// clap takes an argument of a subcommand for the global one with the same name, such as `url`.
    #[test]
    fn no_argument_of_a_command_has_the_name_of_a_global_one() {
        fn check(command: &Command, globals: &[&str]) {
            for argument in command.get_arguments().filter(|it| !it.is_global_set()) {
                let (id, name) = (argument.get_id().as_str(), command.get_name());
                assert!(!globals.contains(&id), "{name}: {id}");
            }
            for inner in command.get_subcommands() {
                check(inner, globals);
            }
        }
        let command = super::command();
        let globals = command.get_arguments().filter(|it| it.is_global_set());
        let globals: Vec<&str> = globals.map(|it| it.get_id().as_str()).collect();
        assert!(globals.contains(&"url"), "{globals:?}");
        for inner in command.get_subcommands() {
            check(inner, &globals);
        }
    }
}
