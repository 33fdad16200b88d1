//! The command line of `terrace publish`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::commit::CommitId;
use terrace_core::model::name::Namespace;
use terrace_core::model::platform::Platform;
use terrace_core::model::source_url::SourceUrl;
use terrace_core::model::subdir::Subdir;
use terrace_core::model::version::Version;

use super::collection::CollectionArguments;
use crate::error::Failure;
use crate::output::Output;
use crate::source::repository::{self, ReleaseSource, RepositoryChoice};

#[derive(Debug, Subcommand)]
pub(crate) enum PublishCommand {
    /// Publish a provider from the dist directory of GoReleaser
    ///
    /// Finds terraform-provider-<type>_<version>_SHA256SUMS, its detached signature (.sig or .asc), the zips that
    /// it lists, and the manifest with the plugin protocols. Checks everything as the registry and the clients
    /// do, before anything is sent. The documentation is sent along.
    Provider(ProviderArguments),
    /// Publish a module from a directory or an archive
    ///
    /// A directory is packed without the files that its .gitignore and .terraformignore files exclude, and always
    /// without .git, .terraform, state files and CLI configuration. The same files always result in the same
    /// archive. The documentation is extracted from the same files.
    ///
    /// Refuses files that hold secrets, and a module that calls another one outside of its package.
    Module(ModuleArguments),
    /// Publish the modules of a repository, or of a directory with repositories, with the versions that their tags name
    ///
    /// Versions that are published already are compared and left unchanged, so a run can be repeated. A version that
    /// fails does not stop the others. Contents come from the tagged commits, not from the working tree. A module that
    /// calls another one outside of its directory is packed with it.
    Modules(CollectionArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ProviderArguments {
    /// The directory with the zips, SHA256SUMS and its signature
    #[arg(default_value = "dist")]
    pub(crate) dir: PathBuf,

    /// The namespace to publish in
    #[arg(long)]
    pub(crate) namespace: Namespace,

    /// Publish the package of this platform, such as darwin_arm64, although its executable is for another one: where the
    /// system emulates it. May be given several times
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) allow_platform: Vec<Platform>,

    #[command(flatten)]
    pub(crate) source: SourceArguments,

    #[command(flatten)]
    pub(crate) documentation: DocumentationArguments,

    /// The output of "terraform providers schema -json" with this provider: for its resources and functions in
    /// searches, and for those that no page describes
    #[arg(long, value_name = "FILE", conflicts_with = "no_docs")]
    pub(crate) schema: Option<PathBuf>,

    /// Check everything that can be checked locally, show the request, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModuleArguments {
    /// The directory to pack, or a .zip, .tar.gz or .tgz to send unchanged
    #[arg(value_name = "DIR|ARCHIVE", default_value = ".")]
    pub(crate) path: PathBuf,

    /// The address of the module, as namespace/name/system
    #[arg(long)]
    pub(crate) address: ModuleAddress,

    /// The version, such as 1.2.3
    #[arg(long)]
    pub(crate) version: Version,

    /// The directory of the module inside the archive, if it is not the top level
    #[arg(long, value_name = "PATH")]
    pub(crate) subdir: Option<Subdir>,

    /// Publish this file although it looks as if it holds secrets: its exact path in the package. May be given several
    /// times
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_secrets: Vec<String>,

    /// Publish this configuration file although it looks as if no client could parse it: its exact path in the package. May
    /// be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_unparsed: Vec<String>,

    #[command(flatten)]
    pub(crate) source: SourceArguments,

    #[command(flatten)]
    pub(crate) documentation: DocumentationArguments,

    /// Check everything that can be checked locally, show the request, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The documentation of a release.
#[derive(Debug, Args)]
pub(crate) struct DocumentationArguments {
    /// The directory to extract the documentation from. By default that of a module comes from the files that are
    /// published, and that of a provider from *_docs.zip beside the zips, or from ../docs or ../website/docs
    #[arg(long, value_name = "DIR", conflicts_with = "no_docs")]
    pub(crate) docs: Option<PathBuf>,

    /// Publish without documentation
    #[arg(long)]
    pub(crate) no_docs: bool,

    /// Fail if there is no documentation, or if it cannot be stored; without this option, that is a warning
    #[arg(long, conflicts_with = "no_docs")]
    pub(crate) require_docs: bool,
}

/// The repository that a release is built from.
#[derive(Debug, Args)]
pub(crate) struct SourceArguments {
    /// The URL of the repository, where update tools look for release notes. By default that of the CI job or of the
    /// only git remote, unless they differ
    #[arg(long, value_name = "URL", conflicts_with = "no_source")]
    pub(crate) source: Option<SourceUrl>,

    /// The full ID of the commit that the release was built from, such as the output of "git rev-parse HEAD". By default
    /// that of a module's directory in a checkout without changes. The registry verifies it only if a CI job publishes without a stored token
    #[arg(long, value_name = "SHA", conflicts_with = "no_source")]
    pub(crate) commit: Option<CommitId>,

    /// Publish without the URL of the repository
    #[arg(long)]
    pub(crate) no_source: bool,
}

impl SourceArguments {
    /// Returns the source that the options name, for the release in `directory`.
    ///
    /// # Errors
    /// If a commit is given and no repository is known.
    pub(crate) fn find(&self, directory: &Path, output: &Output) -> Result<ReleaseSource, Failure> {
        let choice = match (&self.source, self.no_source) {
            (_, true) => RepositoryChoice::Omitted,
            (Some(source), false) => RepositoryChoice::Given(source.clone()),
            (None, false) => RepositoryChoice::Detected,
        };
        repository::find((&choice, self.commit.as_ref()), directory, output)
    }
}
