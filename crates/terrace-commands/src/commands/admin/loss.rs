//! Losses: documents that a registry must have and does not have.
//!
//! The audit log records which releases were published, and a copy lists the documents that existed. No
//! operation of the registry removes a release, so a missing one was removed by other means.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{FactBody, StoredArchive};
use terrace_core::maintenance::restore::Restored;
use terrace_core::storage::copy::{fact_at, path_of_fact};
use terrace_core::storage::key::{ARCHIVES, BytesKey, FactKey, PushedFact};
use terrace_core::storage::release::Release;

use super::backup::{Backup, Sums};
use super::difference::has_same_bytes;
use super::stored::{Log, References, documentation_archive};
use crate::args::AcceptedLoss;
use crate::error::Failure;
use crate::output::{Output, plural};

/// Returns whether the operator accepts the loss of a document.
pub(super) fn accepts(accepted: &[AcceptedLoss], fact: &str) -> bool {
    accepted.iter().any(|loss| match loss {
        AcceptedLoss::AuditLog => Log::has(fact),
        AcceptedLoss::Release { key, .. } => key == fact,
    })
}

/// Describes the missing releases that the audit log records, except accepted losses.
pub(super) fn lost_releases(references: &References, accepted: &[AcceptedLoss]) -> Vec<String> {
    let published = references.log.published.iter();
    let lost = published.filter(|(key, _)| !references.there.contains(*key));
    lost.filter(|(key, _)| !accepts(accepted, key))
        .map(|(key, number)| {
            format!(
                "{key} is missing, but entry {number} of the audit log records its publication: restore it from a \
                 copy (terrace admin import), or accept the loss (--accept-loss ADDRESS@VERSION)"
            )
        })
        .collect()
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

/// Describes the first fault of the audit log, unless the loss is accepted. `newest` is the number of the newest
/// known entry.
pub(super) fn lost_entries(log: &Log, newest: u64, accepted: &[AcceptedLoss]) -> Option<String> {
    if accepted.contains(&AcceptedLoss::AuditLog) {
        return None;
    }
    match &log.fault {
        Some(fault) => Some(format!("the audit log: {fault}")),
        None if log.length() < newest => {
            let next = log.length() + 1;
            Some(format!(
                "the audit log: entry {next} is missing: the newest known entry is {newest}"
            ))
        }
        None => None,
    }
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

    /// Returns whether exports to the copy have kept the logs that an earlier registry had.
    pub(super) fn has_old_logs(&self) -> Result<bool, Failure> {
        Ok(self.has_same_log && !self.copy.old_logs()?.is_empty())
    }

    /// Returns whether a document is an entry of the audit log that differs from the copy's.
    pub(super) fn has_other_entry(&self, fact: &FactBody) -> bool {
        let before = self.sums.get(&path_of_fact(&fact.key));
        let differs = before.is_some_and(|it| *it != Sha256::of(fact.document.as_bytes()));
        self.has_same_log && Log::has(&fact.key) && differs
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

    /// Describes the documents of the copy that a restored registry does not have, apart from its own log. Content that was
    /// erased since is not missing.
    pub(super) fn unrestored(&self, references: &References) -> Vec<String> {
        let place = &self.place;
        let keys = self.sums.keys().filter_map(|path| fact_at(path));
        // Permanent documents are reported as losses already.
        let missing = keys.filter(|key| {
            !Log::has(key) && !self.must_be_there(key) && !references.there.contains(key)
        });
        let is_erased = |key: &String| match FactKey::parse(key) {
            Some(FactKey::Pushed(
                PushedFact::Link(_, digest)
                | PushedFact::Manifest(_, digest)
                | PushedFact::Referrer(_, _, digest),
            )) => references.is_erased(&BytesKey::Blob(digest).to_string()),
            Some(FactKey::Documentation(package, version)) => {
                let release = FactKey::Release(package, version).to_string();
                let path = path_of_fact(key);
                let document = self.sums.get(&path).map(|it| self.copy.document(&path, it));
                let archive = document.and_then(|it| documentation_archive(&it.ok()?));
                let mut names = [Some(release), archive].into_iter().flatten();
                names.any(|name| references.log.erased.contains(&name))
            }
            _ => false,
        };
        let missing = missing.filter(|key| !is_erased(key));
        let describe = |key: String| {
            format!(
                "{key} is in {place} but not in the registry, whose audit log starts again: restore it with `terrace admin \
                 import {place}`; if it was removed on purpose since the restore, accept that (--accept-loss audit-log)"
            )
        };
        missing.map(describe).collect()
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
            "{what}{UNLESS_RESTORED}. Then keep the copy, which contains the old log, and accept the loss \
             (--accept-loss audit-log)"
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
        let accepted = [loss];
        assert!(accepts(
            &accepted,
            "releases/providers/hosted/acme/widget/1.0.0"
        ));
        assert!(!accepts(
            &accepted,
            "releases/providers/hosted/acme/widget/1.0.1"
        ));
        assert!(!accepts(&accepted, "audit/000000000001"));
        assert!(accepts(&[AcceptedLoss::AuditLog], "audit/000000000001"));
    }
}
