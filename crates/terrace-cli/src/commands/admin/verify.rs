//! `terrace admin verify`.

use std::path::Path;

use serde_json::json;
use terrace_core::api::admin::VerifyBody;

use super::loss::{Older, has_old_archives, lost_documents, lost_entries, lost_releases};
use super::stored::{References, all_archives, each_fact};
use crate::args::{AcceptedLoss, RegistryArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::{Output, bytes, plural};
use crate::registry::client::Client;

/// Looks whether everything is what it should be, and changes nothing.
pub(crate) fn verify(
    quick: bool,
    copy: Option<&Path>,
    accepted: &[AcceptedLoss],
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let older = copy
        .map(|copy| Older::open(copy, client.url()))
        .transpose()?;
    // What is stored is listed after what refers to it: a publish stores first.
    let began = client.archives(None, false)?.now;
    // The log may grow meanwhile, and never shrinks.
    let newest = client.audit(u64::MAX, 0)?.newest;
    let mut references = References::default();
    let mut changed = Vec::new();
    // The log is listed before releases: whatever it tells of by then was committed before.
    let documents = each_fact(&client, "", output, |fact| {
        changed.extend(
            older
                .as_ref()
                .and_then(|older| older.change(&fact, accepted)),
        );
        references.add(&fact);
        Ok(())
    })?;
    output.progress(&format!("read {}", plural(documents, "document")));
    let (stored, _) = all_archives(&client, output)?;
    let mut wrong = references.wrong.clone();
    wrong.extend(references.dangling(&stored));
    wrong.extend(changed);
    wrong.extend(lost_entries(&references.log, newest, accepted));
    wrong.extend(lost_releases(&references, accepted));
    wrong.extend(lost_documents(&references));
    wrong.extend(older.map_or_else(Vec::new, |older| older.missing(&references.there, accepted)));
    if documents == 0 && has_old_archives(&stored, began) {
        wrong.push(format!(
            "there are {} archives, and not one document: everything that tells what they are is missing",
            stored.len()
        ));
    }
    let hashed = match quick {
        true => None,
        false => Some(rehash(&client, output, &mut wrong)?),
    };
    let mut orphans = 0_u64;
    let mut orphan_bytes = 0_u64;
    for (key, archive) in &stored {
        if !references.bytes.contains_key(key) && archive.stored_at < began {
            orphans += 1;
            orphan_bytes += archive.size;
        }
    }
    if !wrong.is_empty() {
        return Err(Failure::Refused(wrong));
    }
    let total: u64 = stored.values().map(|archive| archive.size).sum();
    let mut text = format!(
        "{} and {} ({}) are what they should be",
        plural(documents, "document"),
        plural(stored.len(), "archive"),
        bytes(total)
    );
    match hashed {
        Some(hashed) => text.push_str(&format!("; {} were hashed again", bytes(hashed))),
        None => text.push_str("; nothing was hashed"),
    }
    let mut lines = vec![text];
    if orphans > 0 {
        lines.push(format!(
            "{} ({}) of no release; `terrace admin gc` removes what is old enough, and leaves pushed blobs alone",
            plural(orphans, "archive"),
            bytes(orphan_bytes)
        ));
    }
    let report = json!({
        "status": "ok",
        "documents": documents,
        "audit_entries": references.log.length(),
        "archives": stored.len(),
        "bytes": total,
        "hashed_bytes": hashed,
        "orphans": orphans,
        "orphan_bytes": orphan_bytes,
    });
    output.result(&lines, &report);
    Ok(())
}

/// Lets the registry hash all bytes again, and tells how many.
fn rehash(client: &Client<'_>, output: &Output, wrong: &mut Vec<String>) -> Result<u64, Failure> {
    let mut body = VerifyBody::default();
    let mut hashed = 0;
    loop {
        let step = client.verify(&body)?;
        hashed += step.bytes;
        wrong.extend(step.wrong.into_iter().map(|it| match it.digest {
            Some(digest) => format!("{} holds other bytes, whose digest is {digest}", it.key),
            None => format!("{} was gone before it could be hashed", it.key),
        }));
        match step.next {
            Some(next) if body.after.as_ref() != Some(&next) => {
                output.progress(&format!("hashed {}", bytes(hashed)));
                body.after = Some(next);
            }
            _ => return Ok(hashed),
        }
    }
}
