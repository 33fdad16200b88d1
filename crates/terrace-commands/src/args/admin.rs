//! The command line of `terrace admin`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use terrace_core::model::address::{ModuleAddress, ProviderAddress};
use terrace_core::model::name::ModuleNamespace;
use terrace_core::storage::key::FactKey;

use super::archive_host::ArchiveHostArguments;
use super::duration;
use super::erase::EraseArguments;
use crate::http::BaseUrl;

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
        /// Do not hash the stored bytes; the scope backup then suffices
        #[arg(long)]
        quick: bool,
        /// Also compare the registry with a copy that `terrace admin export` wrote
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
    Erase(EraseArguments),
    /// Back up the whole registry to a directory, as plain files
    ///
    /// The directory contains documents as JSON below facts/, archives below archives/, pushed blobs below
    /// oci/blobs/, and a SHA256SUMS file that lists all of them: `sha256sum -c SHA256SUMS` checks the copy
    /// without this program. Files that are already in the directory and intact are not downloaded again, so
    /// an interrupted export can be resumed. If a release or document is missing that the audit log or an
    /// older copy in the directory records, the export fails and leaves the older copy unchanged.
    ///
    /// A registry that was restored after the loss of its bucket has a new audit log. If nothing else of the older copy is
    /// missing, or with --accept-loss audit-log, the export continues, and keeps the old log below old-logs/, where `terrace
    /// admin audit --copy` reads it. It states `restarted` and, unless the loss was accepted, ends with exit code 4 once.
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
    Replicate {
        /// Only count what is missing
        #[arg(long)]
        dry_run: bool,
    },
    /// Serve downloads from the second bucket while the main one is not available
    ///
    /// The registry changes the bucket itself when the main one has not answered for three minutes, if the second one has copies
    /// of nearly all archives, and back when the main one has answered for five minutes. `failover on` stays until `failover off`,
    /// and `failover off` until the main bucket has answered once and then fails again. A change takes effect everywhere within a
    /// minute, also while R2 does not answer. While the second bucket serves downloads, nothing can be published or changed.
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
    Import {
        /// The directory to import
        #[arg(required_unless_present = "from", conflicts_with_all = ["from", "hosts"])]
        dir: Option<PathBuf>,
        #[command(flatten)]
        from: RegistryImportArguments,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum FailoverCommand {
    /// Serve downloads from the second bucket
    On {
        /// The reason, which the audit log keeps
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Also if the second bucket lacks copies, whose downloads then fail
        #[arg(long)]
        force: bool,
    },
    /// Serve downloads from the main bucket again
    Off {
        /// The reason, which the audit log keeps
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Show which bucket serves downloads, and how many archives the second one lacks
    Status,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Another registry")]
pub(crate) struct RegistryImportArguments {
    /// Import from this registry, such as https://old.example.com. It may be in a private network
    #[arg(long, value_name = "URL", value_parser = https_url, value_hint = ValueHint::Url)]
    pub(crate) from: Option<BaseUrl>,
    /// Import everything in this namespace that the registry lists. May be given several times
    #[arg(long = "namespace", value_name = "NAMESPACE", requires = "from")]
    pub(crate) namespaces: Vec<ModuleNamespace>,
    /// Import this provider. May be given several times
    #[arg(long = "provider", value_name = "NAMESPACE/TYPE", requires = "from")]
    pub(crate) providers: Vec<ProviderAddress>,
    /// Import this module. May be given several times
    #[arg(
        long = "module",
        value_name = "NAMESPACE/NAME/SYSTEM",
        requires = "from"
    )]
    pub(crate) modules: Vec<ModuleAddress>,
    /// Import the providers and modules in a file, which has one address on each line
    #[arg(long, value_name = "FILE", requires = "from")]
    pub(crate) list: Option<PathBuf>,
    /// The variable with the token for the other registry
    #[arg(long, value_name = "VARIABLE", requires = "from")]
    pub(crate) from_token_env: Option<String>,
    #[command(flatten)]
    pub(crate) archives: ArchiveHostArguments,
    /// Print what would be imported, and download nothing
    #[arg(long, requires = "from")]
    pub(crate) dry_run: bool,
}

fn https_url(text: &str) -> Result<BaseUrl, String> {
    let rule = "write it as https://HOST[:PORT]: clients discover registries by https only";
    match BaseUrl::parse(text) {
        Ok(url) if url.is_https() => Ok(url),
        Ok(_) => Err(rule.to_owned()),
        Err(error) => Err(format!("{error}: {rule}")),
    }
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
