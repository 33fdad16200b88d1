//! `terrace admin audit`.

use std::time::Duration;

use terrace_core::audit::{AuditChain, AuditEntry};
use terrace_core::time::UnixTime;

use crate::args::RegistryArguments;
use crate::client::Client;
use crate::clock;
use crate::error::Failure;
use crate::output::Output;

/// Shows who changed what, and with `verify` whether the log is whole.
pub(crate) fn audit(
    since: Option<Duration>,
    verify: bool,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = Client::new(registry, output)?;
    let since = since.map_or(0, |since| clock::now().0.saturating_sub(since.as_secs()));
    let (mut chain, mut shown, mut newest) = (AuditChain::default(), Vec::new(), 0);
    let mut behind = 0;
    loop {
        // Only the whole of it shows that it is whole.
        let page = client.audit(behind, if verify { 0 } else { since })?;
        for text in &page.entries {
            let entry = if verify {
                let followed = chain.follow(text);
                followed.map_err(|fault| Failure::refused(fault.to_string()))?
            } else {
                serde_json::from_str(text).map_err(|error| {
                    Failure::Unexpected(format!("an entry cannot be read ({error}): see --verify"))
                })?
            };
            if entry.at >= since {
                shown.push(entry);
            }
        }
        newest = page.newest.max(newest);
        match page.next {
            Some(next) if next > behind => behind = next,
            _ => break,
        }
    }
    if verify && newest > chain.length() {
        let told = format!(
            "entry {} is missing: the newest was {newest}",
            chain.length() + 1
        );
        return Err(Failure::refused(told));
    }
    let mut lines: Vec<String> = shown.iter().map(line).collect();
    if verify {
        lines.push(format!(
            "{} entries, none missing, none changed",
            chain.length()
        ));
    }
    let report = serde_json::json!({ "status": "ok", "entries": shown, "verified": verify });
    output.result(&lines.join("\n"), &report);
    Ok(())
}

fn line(entry: &AuditEntry) -> String {
    let AuditEntry {
        number,
        at,
        by,
        from,
        what,
        status,
        ..
    } = entry;
    let from = match from.as_str() {
        "" => String::new(),
        from => format!(" from {from}"),
    };
    format!("{number}  {}  {what}  {status}  {by}{from}", UnixTime(*at))
}
