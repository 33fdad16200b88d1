//! Losses: documents that a registry must have and does not have.
//!
//! The audit log records which releases were published, and a copy lists the documents that existed. No
//! operation of the registry removes a release, so a missing one was removed by other means.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use clap::Args;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{FactBody, StoredArchive};
use terrace_core::maintenance::restore::Restored;
use terrace_core::storage::copy::{fact_at, path_of_fact};
use terrace_core::storage::key::{ARCHIVES, FactKey};
use terrace_core::storage::release::Release;

use super::backup::{Backup, Sums};
use super::difference::has_same_bytes;
use super::stored::{Log, References};
use crate::error::Failure;
use crate::output::{Output, plural};

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

/// Returns whether the operator accepts the loss of a document.
pub(super) fn accepts(accepted: &[AcceptedLoss], fact: &str) -> bool {
    accepted.iter().any(|loss| match loss {
        AcceptedLoss::AuditLog => Log::has(fact),
        AcceptedLoss::Release { key, .. } => key == fact,
    })
}

/// Describes the other missing documents that the audit log records a write of. The same change, made again,
/// writes them again.
pub(super) fn lost_documents(references: &References) -> Vec<String> {
    let written = references.log.written.iter();
    let lost = written.filter(|(key, _)| !references.there.contains(*key));
    lost.map(|(key, number)| {
        format!(
            "{key} is missing, but entry {number} of the audit log records a change to it: restore it from a copy \
             (terrace admin import), or repeat its changes (terrace admin audit lists them)"
        )
    })
    .collect()
}

/// Describes the first fault of the audit log, and the missing releases that it records, except accepted losses. `newest` is the
/// number of the newest known entry.
pub(super) fn lost_releases(
    references: &References,
    newest: u64,
    accepted: &[AcceptedLoss],
) -> Vec<String> {
    let log = &references.log;
    let next = log.length() + 1;
    let fault = match &log.fault {
        _ if accepted.contains(&AcceptedLoss::AuditLog) => None,
        Some(fault) => Some(format!("the audit log: {fault}")),
        None => (newest >= next).then(|| {
            format!("the audit log: entry {next} is missing: the newest known entry is {newest}")
        }),
    };
    let lost = log
        .published
        .iter()
        .filter(|(key, _)| !references.there.contains(*key) && !accepts(accepted, key));
    let lost = lost.map(|(key, number)| {
        format!(
            "{key} is missing, but entry {number} of the audit log records its publication: restore it from a copy (terrace admin \
             import), or accept the loss (--accept-loss ADDRESS@VERSION)"
        )
    });
    fault.into_iter().chain(lost).collect()
}

/// Returns whether there are archives more than a day old, which no publish of today uploaded. If nothing
/// else is stored, the documents that described them are lost.
pub(super) fn has_old_archives(stored: &BTreeMap<String, StoredArchive>, now: UnixTime) -> bool {
    const DAY: u64 = 86_400;
    let mut archives = stored.values();
    archives.any(|archive| archive.key.starts_with(ARCHIVES) && now.since(archive.stored_at) > DAY)
}

/// An immutable document of a registry that differs from a copy's.
#[derive(Debug)]
pub(super) enum Change {
    /// The entry of the audit log with this key.
    Entry(String),
    /// Another document; the message about it.
    Document(String),
}

/// A copy to compare a registry with.
#[derive(Debug)]
pub(super) struct Older {
    place: String,
    copy: Backup,
    sums: Sums,
    /// Whether the copy is of the same registry, and so has the same audit log.
    has_same_log: bool,
}

impl Older {
    /// Opens a complete copy, of this registry or of one that was imported into it.
    pub(super) fn open(root: &Path, registry: &str) -> Result<Self, Failure> {
        let (copy, summary, sums) = Backup::open(root)?;
        Ok(Self {
            place: root.display().to_string(),
            copy,
            sums,
            has_same_log: summary.registry == registry,
        })
    }

    /// Returns the change if an immutable document of the registry differs from the copy's, unless that loss is
    /// accepted, or the release was erased according to the log.
    pub(super) fn change(
        &self,
        fact: &FactBody,
        log: &Log,
        accepted: &[AcceptedLoss],
    ) -> Option<Change> {
        let key = FactKey::parse(&fact.key)?;
        let is_tombstone = is_tombstone(&key, &fact.document);
        if !(key.is_immutable() || is_tombstone) || is_tombstone && log.erased.contains(&fact.key) {
            return None;
        }
        if matches!(key, FactKey::Audit(_)) && !self.has_same_log {
            return None;
        }
        let path = path_of_fact(&fact.key);
        let before = self.sums.get(&path)?;
        if Sha256::of(fact.document.as_bytes()) == *before || accepts(accepted, &fact.key) {
            return None;
        }
        if Log::has(&fact.key) {
            return Some(Change::Entry(fact.key.clone()));
        }
        if is_tombstone {
            return Some(Change::Document(format!(
                "{} was erased, but no entry of the audit log records that: if an erasure was interrupted, run it again (terrace \
                 admin erase)",
                fact.key
            )));
        }
        // A lost release that was published again has the same archives and another time.
        if let Ok(copied) = self.copy.document(&path, before)
            && has_same_bytes(&fact.key, &fact.document, &copied) == Some(true)
        {
            return None;
        }
        Some(Change::Document(format!(
            "{} differs from the copy in {}, so one of them was changed",
            fact.key, self.place
        )))
    }

    /// Describes these changes, and the documents of the copy that the registry must have and does not have, except
    /// accepted losses. All entries of the audit log are in one description.
    pub(super) fn losses(
        &self,
        changes: Vec<Change>,
        references: &References,
        accepted: &[AcceptedLoss],
    ) -> Vec<String> {
        let place = &self.place;
        let missing = self.absent(&references.there);
        let missing = missing.filter(|key| {
            !accepts(accepted, key) && self.erased_archive(key, references).is_none()
        });
        let (missing_entries, missing): (Vec<String>, Vec<String>) =
            missing.partition(|key| Log::has(key));
        let (mut changed_entries, mut found) = (Vec::new(), Vec::new());
        for change in changes {
            match change {
                Change::Entry(key) => changed_entries.push(key),
                Change::Document(message) => found.push(message),
            }
        }
        found.extend(self.entry_losses(&changed_entries, &missing_entries));
        found.extend(missing.into_iter().map(|key| {
            format!(
                "{key} is in {place} but not in the registry, so it was removed: restore it with `terrace admin \
                 import {place}`"
            )
        }));
        found
    }

    /// Warns of the releases of the copy that the registry does not have because their archives were erased: an import keeps
    /// them out.
    pub(super) fn warn_of_erased(&self, references: &References, output: &Output) {
        for key in self.absent(&references.there) {
            if let Some(archive) = self.erased_archive(&key, references) {
                output.warning(&format!(
                    "{key} is in {} but not in the registry, where {archive} was erased: it stays out",
                    self.place
                ));
            }
        }
    }

    /// Returns the permanent documents of the copy that a registry with these documents lacks.
    fn absent(&self, there: &BTreeSet<String>) -> impl Iterator<Item = String> {
        let keys = self.sums.keys().filter_map(|path| fact_at(path));
        keys.filter(|key| self.must_be_there(key) && !there.contains(key))
    }

    /// Returns an archive of a release of the copy that was erased in the registry.
    fn erased_archive(&self, key: &str, references: &References) -> Option<String> {
        let key = FactKey::parse(key)?;
        let FactKey::Release(..) = key else {
            return None;
        };
        let path = path_of_fact(&key.to_string());
        let document = self.copy.document(&path, self.sums.get(&path)?).ok()?;
        let restored = Restored::parse(&key, &document).ok()?;
        let mut archives = restored.bytes.iter().map(|it| it.key.to_string());
        archives.find(|archive| references.is_erased(archive))
    }

    /// Describes the entries of the audit log that differ or are missing.
    fn entry_losses(&self, changed: &[String], missing: &[String]) -> Option<String> {
        let place = &self.place;
        let first = changed.iter().chain(missing).min()?;
        let what = match (changed.len(), missing.len()) {
            (1, 0) => {
                format!("{first} differs from the copy in {place}, so one of them was changed")
            }
            (0, 1) => format!("{first} is in {place} but not in the registry, so it was removed"),
            (changed, missing) => format!(
                "{} of the audit log, from {first} on, differ from the copy in {place} or are missing in the \
                 registry, so the log was changed",
                plural(changed + missing, "entry")
            ),
        };
        Some(format!(
            "{what}{UNLESS_RESTORED}. Then keep the copy, which contains the old log: export into another directory, \
             or accept the loss in a check (--accept-loss audit-log)"
        ))
    }

    fn must_be_there(&self, key: &str) -> bool {
        match FactKey::parse(key) {
            Some(FactKey::Audit(_)) => self.has_same_log,
            // A copy has the marks of erased archives only.
            Some(FactKey::Garbage(_)) => true,
            Some(key) => key.is_permanent(),
            None => false,
        }
    }
}

/// Returns whether a document is the tombstone of an erased release.
fn is_tombstone(key: &FactKey, document: &str) -> bool {
    let release = Release::from_document(document.as_bytes());
    matches!(key, FactKey::Release(..)) && release.is_ok_and(|it| it.erased().is_some())
}

/// The innocent reason why entries of the audit log are missing or differ.
pub(super) const UNLESS_RESTORED: &str = ", unless the registry was restored after its bucket was lost: the audit log is never \
                                          restored, and starts again";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accepted_loss_covers_its_own_document_alone() {
        let name = "acme/widget@1.0.0";
        let loss: AcceptedLoss = name.parse().unwrap();
        assert_eq!(loss.release(), Some(name));
        let accepted = [loss];
        let release = |version: &str| format!("releases/providers/hosted/acme/widget/{version}");
        assert!(accepts(&accepted, &release("1.0.0")));
        assert!(!accepts(&accepted, &release("1.0.1")));
        assert!(!accepts(&accepted, "audit/000000000001"));
        assert!(accepts(&[AcceptedLoss::AuditLog], "audit/000000000001"));
        assert_eq!("audit-log".parse(), Ok(AcceptedLoss::AuditLog));
        for text in ["acme/widget", "acme@1.0.0", "everything", ""] {
            assert!(text.parse::<AcceptedLoss>().is_err(), "{text}");
        }
    }
}
