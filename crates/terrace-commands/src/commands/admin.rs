//! `terrace admin`: audit log, repair, verification, garbage collection, export, import and second bucket of a registry.

mod audit;
mod backup;
pub(crate) mod erase;
mod export;
pub(crate) mod failover;
mod fetch;
mod garbage;
mod import;
mod loss;
mod pushed;
mod registry_import;
pub(crate) mod reindex;
mod replicate;
pub(crate) mod stored;
mod verify;

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

use crate::args::{PackageSpec, duration};
use crate::commands::admin::erase::EraseArguments;
use crate::commands::admin::failover::FailoverCommand;
use crate::commands::admin::loss::AcceptedLosses;
use crate::commands::admin::registry_import::RegistryImportArguments;
use crate::commands::connection::Session;
use crate::error::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Show the audit log: who changed what, when and from where
    ///
    /// Each entry contains the digest of the one before it, so --verify finds an entry that was changed or
    /// removed.
    #[command(
        after_help = "Example: terrace admin audit --since 24h\nToken scope: backup or admin"
    )]
    Audit {
        /// Show only the entries of this period, such as 24h
        #[arg(long, value_name = "DURATION", value_parser = duration::in_hours)]
        since: Option<Duration>,
        /// Check that no entry is missing or changed
        #[arg(long)]
        verify: bool,
        /// Read the log from a copy that `terrace admin export` wrote, instead of from a registry
        #[arg(long, value_name = "DIR")]
        copy: Option<PathBuf>,
    },
    /// Rebuild the indices from the stored releases
    ///
    /// Compares the lists of every package with its releases, and looks at its versions only if they differ. The
    /// scheduled repair of the registry does the same, gradually. With --package or --full, the indices of
    /// every version are compared.
    #[command(after_help = "Example: terrace admin reindex\nToken scope: admin")]
    Reindex {
        /// Rebuild only the indices of this provider, mirrored provider or module
        #[arg(long, value_name = "ADDRESS")]
        package: Option<PackageSpec>,
        /// Compare the indices of every version, which takes two operations for each
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Verify the integrity of everything stored (read-only)
    ///
    /// Reads every document, and checks that everything that it refers to exists, and that every release that
    /// the audit log records exists. The registry hashes all stored bytes again. Archives without a release
    /// are counted, and are not an error.
    #[command(after_help = "Example: terrace admin verify\nToken scope: admin")]
    Verify {
        /// Do not hash the stored bytes; the scope backup then suffices
        #[arg(long)]
        quick: bool,
        /// Also compare the registry with the list of a copy that `terrace admin export` wrote; `sha256sum -c SHA256SUMS` checks its files
        #[arg(long, value_name = "DIR")]
        copy: Option<PathBuf>,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Remove archives that no release refers to, and pushed blobs that no repository has
    ///
    /// An interrupted publish leaves such archives, and a delete by an OCI client such blobs. With --yes, the command marks
    /// them, and removes those that were marked more than an hour ago and that nothing has referred to since. A removal therefore takes
    /// two runs. Nothing is removed while a release that the audit log records is missing.
    #[command(after_help = "Example: terrace admin gc --older-than 30d --yes\nToken scope: admin")]
    Gc {
        /// Ignore archives that were stored more recently than this
        #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = duration::in_days)]
        older_than: Duration,
        /// Mark and remove the archives, instead of listing them
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Erase a version, a package, an archive or pushed content: for leaked secrets, personal data and takedowns
    ///
    /// Without --yes, the command only lists what would be erased. The version is revoked, its metadata, its documentation and
    /// its archives are removed, and tombstones keep them from being stored again, by whatever way. A pushed manifest is erased
    /// with everything that it refers to. An archive or a blob that others have as well stays, unless --everywhere is given.
    /// Documentation goes with the archives that it describes, and stays where a version with other archives has the same. An
    /// erasure cannot be undone. If it is interrupted, run the
    /// same command again. Names and digests stay in the audit log. The next export removes the archives from an older copy
    /// in its directory; other copies are up to you.
    #[command(
        after_help = "Example: terrace admin erase acme/vpc/aws@1.2.0 --reason 'a leaked key' --yes\nToken scope: admin"
    )]
    Erase(EraseArguments),
    /// Back up the whole registry to a directory, as plain files
    ///
    /// The directory contains documents as JSON below facts/, archives below archives/, pushed blobs below
    /// oci/blobs/, and a SHA256SUMS file that lists all of them: `sha256sum -c SHA256SUMS` checks the copy
    /// without this program. Files that are already in the directory and intact are not downloaded again, so
    /// an interrupted export can be resumed. If a release or document is missing that the audit log or an
    /// older copy in the directory records, the export fails and leaves the older copy unchanged.
    ///
    /// A registry that was restored after the loss of its bucket has a new audit log: export it to a new directory, because an
    /// export never replaces an audit log by another one.
    #[command(after_help = "Example: terrace admin export backup\nToken scope: backup or admin")]
    Export {
        /// The directory: new, empty, or with an older copy of the same registry
        dir: PathBuf,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Copy all archives and blobs that the second bucket of the registry lacks
    ///
    /// The registry compares the two buckets, and copies a few archives in each scheduled run. This command copies all of them,
    /// through this machine, and checks the digest of each. Archives that are there are not copied again, so an interrupted copy
    /// can be resumed. Nothing is removed: the scheduled run removes erased archives.
    #[command(after_help = "Example: terrace admin replicate\nToken scope: admin")]
    Replicate {
        /// Only count what is missing
        #[arg(long)]
        dry_run: bool,
    },
    /// Serve downloads from the second bucket while the main one is not available
    ///
    /// The registry never changes the bucket by itself: its log says when the main one fails, and when it answers again. `failover
    /// on` stays until `failover off`. A change takes effect everywhere within a minute, also while R2 does not answer. While the
    /// second bucket serves downloads, nothing can be published or changed.
    #[command(subcommand)]
    Failover(FailoverCommand),
    /// Import a backup, or another registry, into a registry, which need not be empty
    ///
    /// The directory is one that `terrace admin export` or `terraform providers mirror` wrote. Documents and versions that the registry already has stay unchanged. An interrupted import can be run again.
    ///
    /// With --from, the providers and modules of another registry are published here under the same addresses: of any
    /// registry that `terraform` can install from. Every version is checked as terraform and tofu check it, and the keys that
    /// signed the providers may sign for their namespaces from then on. Without names, everything is imported that the other
    /// registry lists; one without lists needs the names.
    ///
    /// The token for the other registry is read from TF_TOKEN_<hostname>, or from the configuration of terraform and tofu,
    /// unless --from-token-env names a variable. It is sent to that host only.
    #[command(
        override_usage = "terrace admin import [OPTIONS] <DIR>\n       terrace admin import [OPTIONS] --from <URL>"
    )]
    #[command(
        after_help = "Example: terrace admin import backup\nToken scope: admin; for everything but a directory that terrace admin export wrote, admin:<namespace> suffices"
    )]
    Import {
        /// The directory to import
        #[arg(required_unless_present = "from", conflicts_with_all = ["from", "hosts"])]
        dir: Option<PathBuf>,
        #[command(flatten)]
        from: RegistryImportArguments,
    },
}

/// Executes the command.
pub(crate) fn run(command: &AdminCommand, session: Session<'_>) -> Result<(), Failure> {
    match command {
        AdminCommand::Audit {
            since,
            verify,
            copy,
        } => audit::audit(*since, *verify, copy.as_deref(), session),
        AdminCommand::Reindex {
            package,
            full,
            losses,
        } => reindex::reindex(package.as_ref(), *full, &losses.accepted, session),
        AdminCommand::Verify {
            quick,
            copy,
            losses,
        } => verify::verify(*quick, copy.as_deref(), &losses.accepted, session),
        AdminCommand::Gc {
            older_than,
            yes,
            losses,
        } => garbage::collect(*older_than, *yes, &losses.accepted, session),
        AdminCommand::Erase(arguments) => erase::erase(arguments, session),
        AdminCommand::Replicate { dry_run } => replicate::replicate(*dry_run, session),
        AdminCommand::Failover(command) => failover::failover(command, session),
        AdminCommand::Export { dir, losses } => export::export(dir, &losses.accepted, session),
        AdminCommand::Import { dir: None, from } => registry_import::import(from, session),
        AdminCommand::Import { dir: Some(dir), .. } => import::import(dir, session),
    }
}
