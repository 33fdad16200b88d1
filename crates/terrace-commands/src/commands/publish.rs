//! `terrace publish`.

mod documentation;
mod loaded;
pub(crate) mod module;
mod modules;
mod package;
pub(crate) mod provider;

use std::path::Path;

use clap::{Args, Subcommand};
use terrace_core::model::commit::CommitId;
use terrace_core::model::source_url::SourceUrl;

use crate::commands::connection::Session;
use crate::commands::publish::module::ModuleArguments;
use crate::commands::publish::modules::CollectionArguments;
use crate::commands::publish::provider::ProviderArguments;
use crate::error::Failure;
use crate::output::Output;
use crate::source::repository::{self, ReleaseSource};

#[derive(Debug, Subcommand)]
pub(crate) enum PublishCommand {
    /// Publish a provider from the dist directory of GoReleaser
    ///
    /// Finds terraform-provider-<type>_<version>_SHA256SUMS, its detached signature (.sig or .asc), the zips that
    /// it lists, and the manifest with the plugin protocols. Checks everything as the registry and the clients
    /// do, before anything is sent. The documentation is sent along.
    #[command(
        after_help = "Example: terrace publish provider dist --namespace acme\nToken scope: publish:<namespace>, admin:<namespace> or admin"
    )]
    Provider(ProviderArguments),
    /// Publish a module from a directory or an archive
    ///
    /// A directory is packed without the files that its .gitignore and .terraformignore files exclude, and always
    /// without .git, .terraform, state files and CLI configuration. The same files always result in the same
    /// archive. The documentation is extracted from the same files.
    ///
    /// Refuses files that hold secrets, and a module that calls another one outside of its package.
    #[command(
        after_help = "Example: terrace publish module . --address acme/vpc/aws --version 1.2.3\nToken scope: publish:<namespace>, admin:<namespace> or admin"
    )]
    Module(ModuleArguments),
    /// Publish the modules of a repository, or of a directory with repositories, with the versions that their tags name
    ///
    /// Versions that are published already are compared and left unchanged, so a run can be repeated. A version that
    /// fails does not stop the others. Contents come from the tagged commits, not from the working tree. A module that
    /// calls another one outside of its directory is packed with it.
    #[command(
        after_help = "Example: terrace publish modules . --address 'acme/{name}/{system}' --dry-run\nToken scope: publish:<namespace>, admin:<namespace> or admin"
    )]
    Modules(CollectionArguments),
}

/// The repository that a release is built from.
#[derive(Debug, Args)]
pub(crate) struct RepositoryArguments {
    /// The URL of the repository, where update tools look for release notes. By default that of the CI job or of the
    /// only git remote, unless they differ
    #[arg(long, value_name = "URL", conflicts_with = "no_source")]
    pub(crate) source: Option<SourceUrl>,
    /// Publish without the URL of the repository
    #[arg(long)]
    pub(crate) no_source: bool,
}

/// The repository and the commit that a release is built from.
#[derive(Debug, Args)]
pub(crate) struct SourceArguments {
    #[command(flatten)]
    pub(crate) repository: RepositoryArguments,
    /// The full ID of the commit that the release was built from, such as the output of "git rev-parse HEAD". By default
    /// that of a module's directory in a checkout without changes. The registry verifies it only if a CI job publishes without a stored token
    #[arg(long, value_name = "SHA", conflicts_with = "no_source")]
    pub(crate) commit: Option<CommitId>,
}

impl RepositoryArguments {
    /// Returns the URL that the options name, or that of the repository of the release in `directory`.
    fn url(&self, directory: &Path, output: &Output) -> Option<SourceUrl> {
        match (&self.source, self.no_source) {
            (_, true) => None,
            (Some(source), false) => Some(source.clone()),
            (None, false) => repository::detected(directory, output),
        }
    }
}

impl SourceArguments {
    /// Returns the source that the options name, for the release in `directory`. A commit is only taken from the command line:
    /// that of the job or of the directory may differ from the one that an archive was built from.
    ///
    /// # Errors
    /// If a commit is given and no repository is known.
    pub(crate) fn find(&self, directory: &Path, output: &Output) -> Result<ReleaseSource, Failure> {
        let url = self.repository.url(directory, output);
        match (&url, &self.commit) {
            (None, Some(commit)) => Err(Failure::refused(format!(
                "the repository of commit {commit} is not known: add --source URL"
            ))),
            (_, commit) => Ok(ReleaseSource {
                url,
                commit: commit.clone(),
                ..ReleaseSource::default()
            }),
        }
    }
}

/// Executes the command.
pub(crate) fn run(command: &PublishCommand, session: Session<'_>) -> Result<(), Failure> {
    match command {
        PublishCommand::Provider(provider) => provider::publish(provider, session),
        PublishCommand::Module(module) => module::publish(module, session),
        PublishCommand::Modules(modules) => modules::publish(modules, session),
    }
}
