//! `terrace mirror`: copies of other registries' providers and modules, which `commands::mirror` makes, and the operator's view of them:
//! lists, blocks and removal.

mod block;
mod list;
mod part;
mod propagation;

use std::str::FromStr;

use clap::{Args, Subcommand};
use terrace_core::model::mirrored_part::MirroredPart;

use super::mirror::{pull, push};
use crate::args::PackageSpec;
use crate::commands::admin::erase::{ErasureOptions, Subject, erase_subject};
use crate::commands::connection::Session;
use crate::commands::mirror::pull::{MirrorAddArguments, MirrorSyncArguments};
use crate::commands::mirror::push::MirrorPushArguments;
use crate::commands::mirrored::block::{BlockArguments, UnblockArguments};
use crate::commands::mirrored::list::MirrorListArguments;
use crate::error::Failure;
use crate::registry::client::Client;

#[derive(Debug, Subcommand)]
pub(crate) enum MirrorCommand {
    /// Mirror versions of one provider or module
    ///
    /// Checks every package of a provider as terraform and tofu do: against SHA256SUMS, and the signature of that file
    /// against the keys that the origin registry publishes. Packages that this registry already has are not
    /// downloaded again.
    ///
    /// A module is stored as its users would get it from its origin: a commit of a repository, or an archive. The
    /// registry modules that it calls are mirrored first, each in the newest version that the call admits; if one of them fails,
    /// the version is not published. Calls that lead elsewhere are listed. Repositories are fetched by git, with git's own
    /// credentials.
    ///
    /// A token for the origin registry is read from the variable TF_TOKEN_<hostname>, as terraform reads it,
    /// and is sent to that host only.
    #[command(
        after_help = "Example: terrace mirror add registry.opentofu.org/hashicorp/random --versions '~> 3.6'\nToken scope: publish:<namespace>, admin:<namespace> or admin"
    )]
    Add(MirrorAddArguments),
    /// Mirror the providers that files require, and the modules that they call
    ///
    /// A .toml list has [[provider]] tables with address, versions and platforms, and [[module]] tables with address and versions.
    ///
    /// The providers in a .terraform.lock.hcl are mirrored in the locked versions, provided their zips have the
    /// locked hashes.
    ///
    /// The required_providers of a .tf or .tf.json file are mirrored in the newest version that their constraints
    /// allow.
    ///
    /// The modules that `init` has installed in a directory are mirrored in these versions; if there are none, those that its files
    /// call, each in the newest version that the call admits.
    ///
    /// In a directory, all lock files are found, also in directories below it, except in .terraform and .git. If
    /// there are none, the required_providers of its .tf files are mirrored, as those of a file. A file that cannot
    /// be used does not stop the others.
    #[command(
        after_help = "Example: terrace mirror sync .terraform.lock.hcl\nToken scope: publish:<namespace>, admin:<namespace> or admin"
    )]
    Sync(MirrorSyncArguments),
    /// Publish the providers in a directory that `terraform providers mirror` wrote
    ///
    /// The directory may also be one that `tofu providers mirror` wrote, or a filesystem mirror of zips without
    /// JSON. Every zip is compared with every hash that is listed for it, checked as clients check it, and sent
    /// unchanged. An invalid version is left out, and the others are published. Run again, the command sends
    /// only the packages that the registry does not have yet.
    #[command(
        after_help = "Example: terrace mirror push mirror\nToken scope: publish:<namespace>, admin:<namespace> or admin"
    )]
    Push(MirrorPushArguments),
    /// List the mirrored providers and modules with their versions
    ///
    /// Shows for each stored version the stored platforms and their size, how many more platforms a pull-through can
    /// fetch (none for a version that was published to the mirror), and whether it is blocked, revoked, withdrawn, deprecated or erased.
    #[command(
        after_help = "Example: terrace mirror list registry.opentofu.org/hashicorp\nToken scope: backup or admin"
    )]
    List(MirrorListArguments),
    /// Block a provider or module, a version of it, or all packages of a namespace or host, whether they are stored or not
    ///
    /// They disappear from all lists, requests for them get status 404 with the reason, and they are not fetched from
    /// their origin any more. Their status stays as it is.
    #[command(
        after_help = "Example: terrace mirror block registry.opentofu.org/hashicorp/null@3.2.0 --reason 'it leaks variables'\nToken scope: admin"
    )]
    Block(BlockArguments),
    /// Lift a block
    #[command(
        after_help = "Example: terrace mirror unblock registry.opentofu.org/hashicorp/null@3.2.0\nToken scope: admin"
    )]
    Unblock(UnblockArguments),
    /// List the blocks
    ///
    /// The providers that TERRACE_PULL_BLOCK names are blocked as well, and are not in this list.
    #[command(after_help = "Example: terrace mirror blocks\nToken scope: backup or admin")]
    Blocks,
    /// Erase a mirrored provider or module, or a version of it, for ever
    ///
    /// Its bytes are removed, and a tombstone takes its place: the version returns neither by pull-through nor by a
    /// publish. To keep the version and only prevent its use, block it instead.
    #[command(
        after_help = "Example: terrace mirror remove registry.opentofu.org/hashicorp/null@3.2.0 --reason 'a takedown'\nToken scope: admin"
    )]
    Remove(MirrorRemoveArguments),
}

#[derive(Debug, Args)]
pub(crate) struct MirrorRemoveArguments {
    /// The provider, as hostname/namespace/type, or the module, as hostname/namespace/name/system; followed by @<version> for
    /// one version, otherwise all stored versions are removed
    pub(crate) address: PackageSpec,

    #[command(flatten)]
    pub(crate) options: ErasureOptions,
}

/// Packages of other registries that an argument names.
#[derive(Debug, Clone)]
pub(crate) enum BlockSubject {
    /// All those of a registry or of one of its namespaces.
    Part(MirroredPart),
    /// One package, or one version of it.
    Package(PackageSpec),
}

impl FromStr for BlockSubject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = text.parse().map(Self::Part);
        part.or_else(|_| text.parse().map(Self::Package))
            .map_err(|error: String| {
                format!(
                    "{error}; or hostname/namespace or hostname for all their packages, such as registry.opentofu.org/hashicorp"
                )
            })
    }
}

/// Executes the command.
pub(crate) fn run(command: &MirrorCommand, session: Session<'_>) -> Result<(), Failure> {
    match command {
        MirrorCommand::Add(add) => pull::add(add, session),
        MirrorCommand::Sync(sync) => pull::sync(sync, session),
        MirrorCommand::Push(push) => push::push(push, session),
        MirrorCommand::List(arguments) => list::list(arguments, session),
        MirrorCommand::Block(arguments) => block::block(arguments, session),
        MirrorCommand::Unblock(arguments) => block::unblock(arguments, session),
        MirrorCommand::Blocks => list::blocks(session),
        MirrorCommand::Remove(arguments) => remove(arguments, session),
    }
}

/// Erases a mirrored package or a version of it, or lists everything that an erasure would change.
fn remove(arguments: &MirrorRemoveArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let spec = mirrored(&arguments.address, &session.connect()?)?;
    output.progress(&format!(
        "{spec}: what is removed returns neither by pull-through nor by a publish; `{}` also prevents later versions",
        output.command(format_args!("mirror block {}", spec.package.address()))
    ));
    erase_subject(&Subject::Versions(&spec), &arguments.options, session)
}

/// Returns a mirrored package, or a version of one, that an argument names.
///
/// # Errors
/// It names a package of the registry itself.
fn mirrored(spec: &PackageSpec, client: &Client<'_>) -> Result<PackageSpec, Failure> {
    let spec = spec.at(&client.host())?;
    match spec.package.origin() {
        Some(_) => Ok(spec),
        None => Err(Failure::Usage(format!(
            "{spec} is not a package of another registry: write hostname/namespace/type or hostname/namespace/name/system"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_texts_are_no_subjects_of_a_block() {
        for text in [
            "",
            "acme",
            "r.example/acme/",
            "https://r.example",
            "r.example//hello",
            "r.example/acme@3.6.0",
            "r.example/acme/hello/a/b",
            "r.example/acme/hello@v3.6.0",
        ] {
            assert!(text.parse::<BlockSubject>().is_err(), "{text}");
        }
    }
}
