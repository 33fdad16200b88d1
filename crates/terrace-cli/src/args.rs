//! The command line, as data.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use terrace_core::address::ModuleAddress;
use terrace_core::name::Namespace;
use terrace_core::openpgp::KeyId;
use terrace_core::subdir::Subdir;
use terrace_core::version::Version;

const EXIT_CODES: &str = "Exit codes:
  0  published, or already published with the same bytes
  1  something unexpected
  2  the command line is wrong
  3  refused: what would be published is wrong
  4  conflict: the version is published with other bytes
  5  not allowed: the token is missing or wrong, or the registry has no admin routes
  6  the registry could not be reached, or did not answer in time";

/// Publishes providers and modules to a Terrace registry.
#[derive(Debug, Parser)]
#[command(name = "terrace", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) registry: RegistryArguments,

    /// Print one JSON document on standard output.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Show no progress.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which registry, and who asks.
#[derive(Debug, Args)]
pub(crate) struct RegistryArguments {
    /// The registry, such as https://registry.example.com.
    #[arg(long, global = true, env = "TERRACE_URL", hide_env_values = true)]
    pub(crate) url: Option<String>,

    /// The token; better given as TERRACE_TOKEN, which other users of the machine cannot see.
    #[arg(long, global = true, env = "TERRACE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Publish a version of a provider or a module.
    #[command(subcommand)]
    Publish(PublishCommand),
    /// Manage the signing keys of a namespace.
    #[command(subcommand)]
    Key(KeyCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum PublishCommand {
    /// Publish a provider from GoReleaser's dist directory.
    Provider(ProviderArguments),
    /// Publish a module from its directory or an archive of it.
    Module(ModuleArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ProviderArguments {
    /// Where the zips, *_SHA256SUMS and its signature are.
    #[arg(default_value = "dist")]
    pub(crate) directory: PathBuf,

    /// The namespace to publish in.
    #[arg(long)]
    pub(crate) namespace: Namespace,

    /// Check everything and send nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModuleArguments {
    /// A directory to pack, or a .zip, .tar.gz or .tgz to send as it is.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,

    /// The module's address: namespace/name/system.
    #[arg(long)]
    pub(crate) address: ModuleAddress,

    /// The version, such as 1.2.3.
    #[arg(long = "version", value_name = "VERSION")]
    pub(crate) version: Version,

    /// The directory inside the archive where the module begins.
    #[arg(long)]
    pub(crate) subdir: Option<Subdir>,

    /// Check everything and send nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Let a public key sign for a namespace.
    Add {
        /// The namespace.
        namespace: Namespace,
        /// The key in ASCII armour, as `gpg --armor --export` writes it; `-` reads standard input.
        file: PathBuf,
    },
    /// Show the keys that may sign for a namespace.
    List {
        /// The namespace.
        namespace: Namespace,
    },
    /// Stop a key from signing new versions; what it signed stays published.
    Remove {
        /// The namespace.
        namespace: Namespace,
        /// The ID of the key: 16 hexadecimal digits.
        key_id: KeyId,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
