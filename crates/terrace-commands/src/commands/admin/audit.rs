//! `terrace admin audit`.

use std::path::Path;
use std::time::Duration;

use terrace_core::maintenance::audit::{AuditChain, AuditEntry};

use crate::clock;
use crate::commands::admin::backup::Backup;
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::{plural, with_times};

/// Returns every entry since a time, in order, and the number of the newest one that the registry knows. Those of a copy are read
/// from it.
fn entries(
    copy: Option<&Path>,
    since: u64,
    session: Session<'_>,
) -> Result<(Vec<String>, u64), Failure> {
    if let Some(root) = copy {
        return Ok((Backup::open_log(root)?, 0));
    }
    let client = session.connect()?;
    let (mut entries, mut newest, mut after) = (Vec::new(), 0, 0);
    loop {
        let page = client.audit(after, since)?;
        entries.extend(page.entries);
        newest = page.newest.max(newest);
        match page.next {
            Some(next) if next > after => after = next,
            _ => return Ok((entries, newest)),
        }
    }
}

/// Shows the entries since a time, and with `verify` checks that the log is complete and unchanged.
pub(crate) fn audit(
    since: Option<Duration>,
    verify: bool,
    copy: Option<&Path>,
    session: Session<'_>,
) -> Result<(), Failure> {
    let since = since.map_or(0, |since| clock::now().0.saturating_sub(since.as_secs()));
    // The chain can only be verified from the first entry.
    let (texts, newest) = entries(copy, if verify { 0 } else { since }, session)?;
    let (mut chain, mut shown) = (AuditChain::default(), Vec::new());
    for text in texts {
        let entry = if verify {
            let followed = chain.follow(&text);
            followed.map_err(|fault| Failure::refused(fault.to_string()))?
        } else {
            serde_json::from_str(&text).map_err(|error| {
                Failure::Unexpected(format!(
                    "an entry of the audit log cannot be parsed ({error}): run the command with --verify"
                ))
            })?
        };
        shown.push(entry);
    }
    shown.retain(|entry: &AuditEntry| entry.at.0 >= since);
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
    session.output.result(&lines, &report);
    Ok(())
}

fn line(entry: &AuditEntry) -> String {
    let mut line = format!("{}  {}  {}", entry.number, entry.at, entry.what);
    if let Some(change) = &entry.change {
        let (from, to, reason) = (&change.from, &change.to, &change.reason);
        line.push_str(&format!(" from {from} to {to} ({reason})"));
    }
    line.push_str(&format!("  {}  {}", entry.status, entry.by));
    if let Some(job) = &entry.provenance {
        line.push_str(&format!(", {job}"));
    }
    if !entry.from.is_empty() {
        line.push_str(&format!(" from {}", entry.from));
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_names_the_change_the_caller_its_job_and_its_address() {
        let entry = json!({
            "number": 7, "at": 1_700_000_000, "what": "PUT /status", "status": 200,
            "by": "token 7f3a9c2e51b04d68 (ci)", "from": "192.0.2.7", "previous": "0".repeat(64),
            "provenance": {
                "issuer": "https://token.actions.githubusercontent.com",
                "url": "https://github.com/acme/vpc", "workflow": "release.yml",
            },
            "change": { "from": "active", "to": "revoked", "reason": "it leaks" },
        });
        let expected = "7  2023-11-14T22:13:20Z  PUT /status from active to revoked (it leaks)  200  \
                        token 7f3a9c2e51b04d68 (ci), workflow release.yml of repository https://github.com/acme/vpc \
                        from 192.0.2.7";
        assert_eq!(line(&serde_json::from_value(entry).unwrap()), expected);
    }
}
