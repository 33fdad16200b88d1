//! The command line of `terrace admin`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};
use terrace_core::storage::key::FactKey;

use super::EXIT_CODES;

const VERIFY_EXIT_CODES: &str = "\
Exit codes:
  0  everything is what it should be
  1  something unexpected
  2  the command line is wrong
  3  something is wrong: every line says what
  5  not allowed: the token is missing or wrong, or the registry has no admin routes
  6  the registry or its storage cannot be reached, or does not answer; run the command again";

#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Show who changed what, when and from where
    ///
    /// Each entry holds the digest of the one before: one that was changed or taken out is found. Ends with
    /// 3 if so.
    #[command(after_help = EXIT_CODES)]
    Audit {
        /// Only what happened in this time, such as 24h
        #[arg(long, value_parser = humantime::parse_duration)]
        since: Option<Duration>,
        /// Check that no entry is missing and none was changed
        #[arg(long)]
        verify: bool,
        /// The log of a copy that `terrace admin export` wrote, instead of a registry's
        #[arg(long, value_name = "DIR")]
        copy: Option<PathBuf>,
    },
    /// Make every index what is stored says; the registry does the same by and by
    #[command(after_help = EXIT_CODES)]
    Reindex {
        /// Only those of this provider, mirrored provider or module
        #[arg(long, value_name = "ADDRESS")]
        package: Option<String>,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Look whether everything that is stored is what it should be; changes nothing
    ///
    /// Every document is read, everything that it refers to must be there, and so must every release that the
    /// audit log tells of; the registry hashes all stored bytes again. What nothing refers to is counted, and
    /// is no error.
    #[command(after_help = VERIFY_EXIT_CODES)]
    Verify {
        /// Hash nothing
        #[arg(long)]
        quick: bool,
        /// Compare with a copy that `terrace admin export` wrote, too
        #[arg(long, value_name = "DIR")]
        copy: Option<PathBuf>,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Remove archives that no release refers to
    ///
    /// A publish that was broken off leaves some. With --yes they are marked, and what was marked more than
    /// an hour ago, and nothing has referred to since, is removed: so it takes two runs. Nothing is removed as
    /// long as a release is missing that the audit log tells of.
    #[command(after_help = EXIT_CODES)]
    Gc {
        /// Leave alone what was stored less than this ago
        #[arg(long, default_value = "7d", value_parser = humantime::parse_duration)]
        older_than: Duration,
        /// Do it, instead of saying what would be done
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Copy the whole registry into a directory, as plain files
    ///
    /// Documents lie below facts/ as JSON, archives below archives/, pushed blobs below oci/blobs/, and
    /// SHA256SUMS lists them all: `sha256sum -c SHA256SUMS` checks the copy without this program. What is
    /// there and right is not fetched again, so a copy that was broken off goes on. What is missing that the
    /// audit log or the older copy tells of ends it with 3, and the older copy stays as it is.
    #[command(after_help = EXIT_CODES)]
    Export {
        /// The directory: a new one, an empty one, or one with an older copy
        dir: PathBuf,
        #[command(flatten)]
        losses: AcceptedLosses,
    },
    /// Bring a copy into a registry, which may have things of its own
    ///
    /// The directory is one that `terrace admin export` wrote; or a copy of a boring-registry's bucket,
    /// whose providers and modules are published; or one that `terraform providers mirror` wrote. What is
    /// there already stays as it is. Run again what was broken off.
    #[command(after_help = EXIT_CODES)]
    Import {
        /// The directory
        dir: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AcceptedLosses {
    /// A release that is lost for good, or `audit-log` for entries of the log: its absence is no error
    #[arg(long = "accept-loss", value_name = "ADDRESS@VERSION")]
    pub(crate) accepted: Vec<AcceptedLoss>,
}

/// A loss that the operator knows and accepts: `ADDRESS@VERSION`, or `audit-log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AcceptedLoss {
    /// Of entries of the audit log.
    AuditLog,
    /// Of a release.
    Release {
        /// Its key.
        key: String,
        /// Its name, as it was given.
        name: String,
    },
}

const AUDIT_LOG: &str = "audit-log";

/// A text names no loss that could be accepted.
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
    /// The name of the release, if it is one.
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
    fn a_loss_is_named_by_address_and_version() {
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
