//! `terrace admin audit`.

use std::path::Path;
use std::time::Duration;

use terrace_core::maintenance::audit::{AuditChain, AuditEntry};

use crate::args::RegistryArguments;
use crate::clock;
use crate::commands::admin::backup::Backup;
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::{Output, plural, with_times};

/// The location of a log.
#[derive(Debug)]
pub(crate) enum Log<'a> {
    /// The log of a registry.
    Registry(&'a RegistryArguments),
    /// The log in a copy of a registry.
    Copy(&'a Path),
}

impl<'a> Log<'a> {
    /// Returns the log of the copy if one is given, or else that of the registry.
    pub(crate) fn of(copy: Option<&'a Path>, registry: &'a RegistryArguments) -> Self {
        copy.map_or(Self::Registry(registry), Self::Copy)
    }

    /// Passes every entry since a time to `take`, in order. Returns the number of the newest entry that the
    /// registry knows.
    fn each(
        &self,
        since: u64,
        output: &Output,
        mut take: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let registry = match self {
            Self::Registry(registry) => registry,
            Self::Copy(root) => {
                for entry in Backup::open_log(root)? {
                    take(&entry)?;
                }
                return Ok(0);
            }
        };
        let client = connect(registry, output)?;
        let (mut after, mut newest) = (0, 0);
        loop {
            let page = client.audit(after, since)?;
            for text in &page.entries {
                take(text)?;
            }
            newest = page.newest.max(newest);
            match page.next {
                Some(next) if next > after => after = next,
                _ => return Ok(newest),
            }
        }
    }
}

/// Shows the entries since a time, and with `verify` checks that the log is complete and unchanged.
pub(crate) fn audit(
    since: Option<Duration>,
    verify: bool,
    log: &Log<'_>,
    output: &Output,
) -> Result<(), Failure> {
    let since = since.map_or(0, |since| clock::now().0.saturating_sub(since.as_secs()));
    let (mut chain, mut shown) = (AuditChain::default(), Vec::new());
    // The chain can only be verified from the first entry.
    let newest = log.each(if verify { 0 } else { since }, output, |text| {
        let entry = if verify {
            let followed = chain.follow(text);
            followed.map_err(|fault| Failure::refused(fault.to_string()))?
        } else {
            serde_json::from_str(text).map_err(|error| {
                Failure::Unexpected(format!(
                    "an entry of the audit log cannot be parsed ({error}): run the command with --verify"
                ))
            })?
        };
        if entry.at.0 >= since {
            shown.push(entry);
        }
        Ok(())
    })?;
    if verify && newest > chain.length() {
        let message = format!(
            "entry {} is missing: the newest known entry is {newest}",
            chain.length() + 1
        );
        return Err(Failure::refused(message));
    }
    let mut lines: Vec<String> = shown.iter().map(line).collect();
    if verify {
        lines.push(format!(
            "{}, none missing, none changed",
            plural(chain.length(), "entry")
        ));
    }
    let report =
        serde_json::json!({ "status": "ok", "entries": with_times(&shown), "verified": verify });
    output.result(&lines, &report);
    Ok(())
}

fn line(entry: &AuditEntry) -> String {
    let AuditEntry {
        number,
        at,
        by,
        provenance,
        from,
        what,
        change,
        status,
        ..
    } = entry;
    let change = match change {
        Some(change) => format!(" from {} to {} ({})", change.from, change.to, change.reason),
        None => String::new(),
    };
    let job = match provenance {
        Some(job) => format!(", {job}"),
        None => String::new(),
    };
    let from = match from.as_str() {
        "" => String::new(),
        from => format!(" from {from}"),
    };
    format!(
        "{number}  {}  {what}{change}  {status}  {by}{job}{from}",
        at
    )
}
