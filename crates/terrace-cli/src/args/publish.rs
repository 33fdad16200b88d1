//! The command line of `terrace publish`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::name::Namespace;
use terrace_core::model::source::SourceUrl;
use terrace_core::model::subdir::Subdir;
use terrace_core::model::version::Version;

use super::EXIT_CODES;
use crate::source::repository::RepositoryChoice;

#[derive(Debug, Subcommand)]
pub(crate) enum PublishCommand {
    /// Publish a provider from GoReleaser's dist directory
    ///
    /// Finds terraform-provider-<type>_<version>_SHA256SUMS, its detached signature (.sig or
    /// .asc), the zips that it lists, and the manifest with the plugin protocols. Everything is
    /// checked as the registry and the clients check it before anything is sent.
    #[command(after_help = EXIT_CODES)]
    Provider(ProviderArguments),
    /// Publish a module from its directory, or an archive of it
    ///
    /// A directory is packed without what its .gitignore and .terraformignore files name, and
    /// always without .git, .terraform, state files and CLI configuration. The same files always
    /// make the same archive.
    #[command(after_help = EXIT_CODES)]
    Module(ModuleArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ProviderArguments {
    /// Where the zips, SHA256SUMS and its signature are
    #[arg(default_value = "dist")]
    pub(crate) dir: PathBuf,

    /// The namespace to publish in
    #[arg(long)]
    pub(crate) namespace: Namespace,

    #[command(flatten)]
    pub(crate) source: SourceArguments,

    /// Check everything that can be checked here, say what would be sent, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModuleArguments {
    /// A directory to pack; or a .zip, .tar.gz or .tgz to send as it is
    #[arg(value_name = "DIR|ARCHIVE", default_value = ".")]
    pub(crate) path: PathBuf,

    /// The module's address: namespace/name/system
    #[arg(long)]
    pub(crate) address: ModuleAddress,

    /// The version, such as 1.2.3
    #[arg(long)]
    pub(crate) version: Version,

    /// The directory inside the archive where the module begins, if not at its top
    #[arg(long, value_name = "PATH")]
    pub(crate) subdir: Option<Subdir>,

    #[command(flatten)]
    pub(crate) source: SourceArguments,

    /// Check everything that can be checked here, say what would be sent, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The repository that a release is made from.
#[derive(Debug, Default, Args)]
pub(crate) struct SourceArguments {
    /// The URL of the repository, where update tools look for release notes. By default that of the CI job or of the
    /// only git remote, unless they differ
    #[arg(long, value_name = "URL", conflicts_with = "no_source")]
    pub(crate) source: Option<SourceUrl>,

    /// Publish no URL of the repository
    #[arg(long)]
    pub(crate) no_source: bool,
}

impl SourceArguments {
    /// Returns the choice that the options make.
    pub(crate) fn choice(&self) -> RepositoryChoice {
        match (&self.source, self.no_source) {
            (_, true) => RepositoryChoice::Omitted,
            (Some(source), false) => RepositoryChoice::Given(source.clone()),
            (None, false) => RepositoryChoice::Detected,
        }
    }
}
