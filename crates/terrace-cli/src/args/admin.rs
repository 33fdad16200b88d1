//! The command line of `terrace admin`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};
use terrace_base::digest::Sha256;
use terrace_core::model::status::Reason;
use terrace_core::storage::key::FactKey;

use super::duration;
use super::release::PackageSpec;

#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Show the audit log: who changed what, when and from where
    ///
    /// Each entry contains the digest of the one before it, so --verify finds an entry that was changed or
    /// removed.
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
    Reindex {
        /// Rebuild only the indices of this provider, mirrored provider or module
        #[arg(long, value_name = "ADDRESS")]
        package: Option<String>,
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
    Verify {
        /// Do not hash the stored bytes
        #[arg(long)]
        quick: bool,
        /// Also compare the registry with a copy that `terrace admin export` wrote
        #[arg(long, value_name = "DIR")]
        copy: Option<PathBuf>,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Remove archives that no release refers to
    ///
    /// An interrupted publish leaves such archives. With --yes, the command marks them, and removes those that
    /// were marked more than an hour ago and that no release has referred to since. A removal therefore takes
    /// two runs. Nothing is removed while a release that the audit log records is missing.
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
    /// Erase a version, a package or an archive: for leaked secrets, personal data and takedowns
    ///
    /// Without --yes, the command only lists what would be erased. The version is revoked, its metadata, its documentation and
    /// its archives are removed, and tombstones keep them from being stored again, by whatever way. An archive that other
    /// versions have as well stays, unless --everywhere is given. An erasure cannot be undone. If it is interrupted, run the
    /// same command again. Names and digests stay in the audit log. The next export removes the archives from an older copy
    /// in its directory; other copies are up to you.
    Erase(EraseArguments),
    /// Back up the whole registry to a directory, as plain files
    ///
    /// The directory contains documents as JSON below facts/, archives below archives/, pushed blobs below
    /// oci/blobs/, and a SHA256SUMS file that lists all of them: `sha256sum -c SHA256SUMS` checks the copy
    /// without this program. Files that are already in the directory and intact are not downloaded again, so
    /// an interrupted export can be resumed. If a release or document is missing that the audit log or an
    /// older copy in the directory records, the export fails and leaves the older copy unchanged.
    ///
    /// A registry that was restored after the loss of its bucket has a new audit log. With --accept-loss audit-log,
    /// the export continues, and keeps the old log below old-logs/, where `terrace admin audit --copy` reads it.
    Export {
        /// The directory: new, empty, or with an older copy of the same registry
        dir: PathBuf,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Import a backup into a registry, which need not be empty
    ///
    /// The directory is one that `terrace admin export` wrote; or a copy of a boring-registry's bucket (its
    /// providers and modules are published); or one that `terraform providers mirror` wrote. Documents and
    /// versions that the registry already has stay unchanged. An interrupted import can be run again.
    Import {
        /// The directory to import
        dir: PathBuf,
    },
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("subject").required(true).args(["address", "archives"])))]
pub(crate) struct EraseArguments {
    /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// <hostname>/<namespace>/<type> for a mirrored provider; followed by @<version> for one version, otherwise all
    /// versions are erased
    pub(crate) address: Option<PackageSpec>,
    /// An archive, by its SHA-256, instead of a version. May be given several times
    #[arg(long = "archive", value_name = "SHA256")]
    pub(crate) archives: Vec<Sha256>,
    /// The reason: one line, which users and publishers read
    #[arg(long)]
    pub(crate) reason: Reason,
    /// Also erase archives that other versions have. These versions can then no longer be installed
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Erase, instead of listing what would be erased
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AcceptedLosses {
    /// Accept that this release is lost: its absence is not an error. With `audit-log`, accept that entries of
    /// the audit log are lost, except in reindex. May be given several times
    #[arg(long = "accept-loss", value_name = "ADDRESS@VERSION")]
    pub(crate) accepted: Vec<AcceptedLoss>,
}

/// A loss that the operator accepts: `ADDRESS@VERSION`, or `audit-log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AcceptedLoss {
    /// The loss of entries of the audit log.
    AuditLog,
    /// The loss of a release.
    Release {
        /// The key of its document.
        key: String,
        /// The name on the command line.
        name: String,
    },
}

const AUDIT_LOG: &str = "audit-log";

/// A text is not an [`AcceptedLoss`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it must be ADDRESS@VERSION, such as acme/widget@1.0.0, or {AUDIT_LOG}")]
pub(crate) struct AcceptedLossError;

impl FromStr for AcceptedLoss {
    type Err = AcceptedLossError;

    fn from_str(text: &str) -> Result<Self, AcceptedLossError> {
        if text == AUDIT_LOG {
            return Ok(Self::AuditLog);
        }
        let key = FactKey::parse_release(text).ok_or(AcceptedLossError)?;
        Ok(Self::Release {
            key: key.to_string(),
            name: text.to_owned(),
        })
    }
}

impl AcceptedLoss {
    /// Returns the name of the release, if the loss is that of a release.
    pub(crate) fn release(&self) -> Option<&str> {
        match self {
            Self::AuditLog => None,
            Self::Release { name, .. } => Some(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accepted_loss_is_parsed_from_an_address_and_a_version() {
        let name = "acme/widget@1.0.0";
        let loss: AcceptedLoss = name.parse().unwrap();
        assert_eq!(loss.release(), Some(name));
        assert_eq!("audit-log".parse(), Ok(AcceptedLoss::AuditLog));
        for text in ["acme/widget", "acme@1.0.0", "everything", ""] {
            assert_eq!(
                text.parse::<AcceptedLoss>(),
                Err(AcceptedLossError),
                "{text}"
            );
        }
    }
}
