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
    /// The loss of the release with this name.
    Release(String),
}

impl FromStr for AcceptedLoss {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if text == "audit-log" {
            return Ok(Self::AuditLog);
        }
        match FactKey::parse_release(text) {
            Some(_) => Ok(Self::Release(text.to_owned())),
            None => Err("it must be ADDRESS@VERSION, such as acme/widget@1.0.0, or audit-log"),
        }
    }
}

impl AcceptedLoss {
    /// Returns the name of the release, if the loss is that of a release.
    pub(crate) fn release(&self) -> Option<&str> {
        match self {
            Self::AuditLog => None,
            Self::Release(name) => Some(name),
        }
    }
}

/// Returns whether the operator accepts the loss of a document.
pub(super) fn accepts(accepted: &[AcceptedLoss], fact: &str) -> bool {
    accepted.iter().any(|loss| match loss {
        AcceptedLoss::AuditLog => Log::has(fact),
        AcceptedLoss::Release(name) => {
            FactKey::parse_release(name).is_some_and(|key| key.to_string() == fact)
        }
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

/// Returns what compares each document with a copy, if there is one.
pub(super) fn comparing(older: &mut Option<Older>) -> impl FnMut(&FactBody, &Log) {
    move |fact, log| {
        if let Some(older) = older {
            older.compare(fact, log);
        }
    }
}

/// A copy to compare a registry with.
#[derive(Debug)]
pub(super) struct Older {
    place: String,
    copy: Backup,
    sums: Sums,
    /// Whether the copy is of the same registry, and so has the same audit log.
    has_same_log: bool,
    accepted: Vec<AcceptedLoss>,
    /// The entries of the audit log that differ from the copy's or are missing, without those whose loss is accepted.
    entries: BTreeSet<String>,
    /// The other losses.
    found: Vec<String>,
}

impl Older {
    /// Opens a complete copy, of this registry or of one that was imported into it.
    pub(super) fn open(
        root: &Path,
        registry: &str,
        accepted: Vec<AcceptedLoss>,
    ) -> Result<Self, Failure> {
        let (copy, summary, sums) = Backup::open(root)?;
        Ok(Self {
            place: root.display().to_string(),
            copy,
            sums,
            has_same_log: summary.registry == registry,
            accepted,
            entries: BTreeSet::new(),
            found: Vec::new(),
        })
    }

    /// Compares an immutable document of the registry with the copy's. The loss of the copy's may be accepted, and the release
    /// may have been erased according to the log.
    fn compare(&mut self, fact: &FactBody, log: &Log) {
        let (name, document) = (&fact.key, &fact.document);
        let Some(key) = FactKey::parse(name) else {
            return;
        };
        let is_tombstone = is_tombstone(&key, document);
        let is_compared = match key {
            FactKey::Audit(_) => self.has_same_log,
            _ if is_tombstone => !log.erased.contains(name),
            key => key.is_immutable(),
        };
        let path = path_of_fact(name);
        let Some(before) = self.sums.get(&path).filter(|_| is_compared) else {
            return;
        };
        if Sha256::of(document.as_bytes()) == *before || accepts(&self.accepted, name) {
            return;
        }
        if Log::has(name) {
            self.entries.insert(name.clone());
        } else if is_tombstone {
            self.found.push(format!(
                "{name} was erased, but no entry of the audit log records that: if an erasure was interrupted, run it again (terrace \
                 admin erase)"
            ));
        } else if !self
            .copy
            .document(&path, before)
            .is_ok_and(|copied| has_same_bytes(name, document, &copied))
        {
            self.found.push(format!(
                "{name} differs from the copy in {}, so one of them was changed",
                self.place
            ));
        }
    }

    /// Describes the differences, and the documents of the copy that the registry must have and does not have, except accepted
    /// losses. Warns of releases that are missing because their archives were erased: an import keeps them out.
    pub(super) fn losses(mut self, references: &References, output: &Output) -> Vec<String> {
        let place = &self.place;
        for key in self.sums.keys().filter_map(|path| fact_at(path)) {
            let is_missing = self.must_be_there(&key) && !references.there.contains(&key);
            if !is_missing || accepts(&self.accepted, &key) {
                continue;
            }
            if Log::has(&key) {
                self.entries.insert(key);
            } else if let Some(archive) = self.erased_archive(&key, references) {
                output.warning(&format!(
                    "{key} is in {place} but not in the registry, where {archive} was erased: it stays out"
                ));
            } else {
                self.found.push(format!(
                    "{key} is in {place} but not in the registry, so it was removed: restore it with `terrace admin \
                     import {place}`"
                ));
            }
        }
        if let Some(first) = self.entries.first() {
            let count = plural(self.entries.len(), "entry");
            self.found.push(format!(
                "{count} of the audit log, from {first} on, differ from the copy in {place} or are missing in the registry, so the log \
                 was changed, unless the registry was restored after its bucket was lost: the audit log is never restored, and \
                 starts again. Then keep the copy, which contains the old log: export into another directory, or accept the loss \
                 in a check (--accept-loss audit-log)"
            ));
        }
        self.found
    }

    /// Returns an archive of a release of the copy that was erased in the registry.
    fn erased_archive(&self, key: &str, references: &References) -> Option<String> {
        let path = path_of_fact(key);
        let document = self.copy.document(&path, self.sums.get(&path)?).ok()?;
        let mut archives = archives_of(key, &document)?.into_iter();
        archives.find(|archive| references.is_erased(archive))
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

/// Returns the keys of the bytes that a release consists of.
fn archives_of(key: &str, document: &str) -> Option<BTreeSet<String>> {
    let key = FactKey::parse(key)?;
    if !matches!(key, FactKey::Release(..)) {
        return None;
    }
    let bytes = Restored::parse(&key, document).ok()?.bytes;
    Some(bytes.iter().map(|needed| needed.key.to_string()).collect())
}

/// Returns whether two documents are releases that consist of the same archives: a lost release that was published again has
/// another time.
fn has_same_bytes(key: &str, there: &str, copied: &str) -> bool {
    let archives = |document| archives_of(key, document).filter(|it| !it.is_empty());
    archives(there).is_some_and(|there| Some(there) == archives(copied))
}

/// Returns whether a document is the tombstone of an erased release.
fn is_tombstone(key: &FactKey, document: &str) -> bool {
    let release = Release::from_document(document.as_bytes());
    matches!(key, FactKey::Release(..)) && release.is_ok_and(|it| it.erased().is_some())
}

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
