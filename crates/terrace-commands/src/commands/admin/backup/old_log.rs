//! The audit log of an older copy, which the registry has lost since: no later export may destroy it.

use std::fs;
use std::io;
use std::path::PathBuf;

use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::maintenance::audit::AuditEntry;
use terrace_core::storage::copy::{fact_at, path_of_fact};

use super::{Backup, Summary, Sums, local};
use crate::commands::admin::stored::Log;
use crate::error::Failure;
use crate::output::plural;

/// The directory of the old logs in a copy.
pub(in crate::commands::admin) const OLD_LOGS: &str = "old-logs";

/// The number of characters of a digest in the name of an old log.
const NAME_LENGTH: usize = 16;

/// A log that is kept before an export replaces it.
#[derive(Debug)]
pub(in crate::commands::admin) struct OldLog {
    /// The place that it is kept in.
    pub(in crate::commands::admin) place: PathBuf,
    /// The paths of its entries in the copy.
    entries: Vec<String>,
}

impl Backup {
    /// Keeps the audit log of the copy below [`OLD_LOGS`], byte for byte, as a copy that contains nothing else.
    pub(in crate::commands::admin) fn keep_log(&self) -> Result<OldLog, Failure> {
        let entries = self.entries_on_disk()?;
        let mut sums = Sums::new();
        for path in &entries {
            sums.insert(path.clone(), Sha256::of(&self.read(path)?));
        }
        let digests: String = sums.values().map(ToString::to_string).collect();
        let name: String = Sha256::of(digests.as_bytes())
            .to_string()
            .chars()
            .take(NAME_LENGTH)
            .collect();
        let kept = Self {
            root: self.root.join(OLD_LOGS).join(name),
        };
        for path in &entries {
            kept.write(path, &self.read(path)?)?;
        }
        let mut summary = Summary::new(&self.summary()?.registry);
        summary.documents = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        kept.finish(summary, &sums)?;
        Ok(OldLog {
            place: kept.root,
            entries,
        })
    }

    /// Removes the entries of a kept log that the new log has not replaced.
    pub(in crate::commands::admin) fn remove_replaced(
        &self,
        old: &OldLog,
        sums: &Sums,
    ) -> Result<(), Failure> {
        for path in old.entries.iter().filter(|path| !sums.contains_key(*path)) {
            let place = self.place(path)?;
            fs::remove_file(&place).map_err(|error| local(&place, &error))?;
        }
        Ok(())
    }

    /// Completes [`Self::remove_replaced`], if an export ended before it: removes the entries that the copy does not list and
    /// that a kept log has, byte for byte.
    pub(in crate::commands::admin) fn remove_kept_entries(&self) -> Result<(), Failure> {
        let kept = self.old_logs()?;
        if kept.is_empty() {
            return Ok(());
        }
        // A copy that is damaged or incomplete stays as it is.
        let Ok((_, _, sums)) = Self::open(&self.root) else {
            return Ok(());
        };
        for path in self.entries_on_disk()? {
            let bytes = self.read(&path)?;
            let is_kept = |log: &Self| {
                log.size(&path).is_some() && log.read(&path).ok().as_ref() == Some(&bytes)
            };
            if !sums.contains_key(&path) && kept.iter().any(is_kept) {
                self.remove_unlisted(&path, &sums)?;
            }
        }
        Ok(())
    }

    /// Returns the logs that earlier exports have kept.
    pub(in crate::commands::admin) fn old_logs(&self) -> Result<Vec<Self>, Failure> {
        let place = self.root.join(OLD_LOGS);
        let listed = match fs::read_dir(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.map_err(|error| local(&place, &error))?,
        };
        let mut logs = Vec::new();
        for entry in listed {
            let root = entry.map_err(|error| local(&place, &error))?.path();
            logs.push(Self { root });
        }
        Ok(logs)
    }

    /// Returns whether the newest entry of the copy's audit log is not later than another entry.
    pub(in crate::commands::admin) fn log_ended_before(
        &self,
        entry: &str,
    ) -> Result<bool, Failure> {
        let at = |entry: &[u8]| -> Option<UnixTime> {
            let entry: AuditEntry = serde_json::from_slice(entry).ok()?;
            Some(entry.at)
        };
        let entries = self.entries_on_disk()?;
        let newest = entries.last().map(|path| self.read(path)).transpose()?;
        let newest = newest.and_then(|entry| at(&entry));
        Ok(newest.is_some_and(|newest| at(entry.as_bytes()).is_some_and(|at| newest <= at)))
    }

    /// Returns the paths of all entries of the audit log, those that no list of the copy contains as well.
    fn entries_on_disk(&self) -> Result<Vec<String>, Failure> {
        let entry = path_of_fact("audit/0");
        let parent = entry.rsplit_once('/').map_or("", |(parent, _)| parent);
        let paths = self.paths_below(parent)?.into_iter();
        let is_entry = |path: &String| fact_at(path).is_some_and(|key| Log::has(&key));
        let mut paths: Vec<String> = paths.filter(is_entry).collect();
        paths.sort();
        Ok(paths)
    }
}

impl OldLog {
    /// Describes where the log is.
    pub(in crate::commands::admin) fn describe(&self) -> String {
        let place = self.place.display();
        format!(
            "the audit log of the older copy ({}) is not the registry's, which starts again, as after a restore. The old log is \
             kept in {place}: terrace admin audit --verify --copy {place}",
            plural(self.entries.len(), "entry")
        )
    }
}
