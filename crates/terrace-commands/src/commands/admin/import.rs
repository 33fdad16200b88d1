//! `terrace admin import`: imports the bytes, then the documents that refer to them, and rebuilds the indices.

use std::path::Path;

use serde_json::json;
use terrace_base::digest::Sha256;
use terrace_core::api::admin::{
    FactBody, MissingArchive, ReindexBody, RestoreAnswer, RestoreBody, UploadBody, UploadsAnswer,
    UploadsBody,
};
use terrace_core::api::endpoint::{FACTS, STORED_ARCHIVES};
use terrace_core::limits;
use terrace_core::maintenance::restore::Restored;
use terrace_core::storage::copy::{fact_at, path_of_fact};
use terrace_core::storage::format::{FormatDocument, Writer};
use terrace_core::storage::key::{FORMAT, FactKey};

use super::backup::{Backup, Sums};
use super::reindex;
use super::stored::Log;
use crate::archive::{Archive, Source};
use crate::commands::connection::Session;
use crate::commands::mirror;
use crate::commands::mirror::push::MirrorPushArguments;
use crate::error::Failure;
use crate::output::{Output, are, bytes, plural};
use crate::registry::client::{Call, Client};
use crate::registry::rounds::Uploads;

/// The order in which documents are restored: referenced documents first.
const RESTORE_ORDER: [&str; 12] = [
    // Nothing that was erased comes back.
    "garbage/",
    // Revocations come first, so that nothing revoked is available in between.
    "revocations/",
    "keys/",
    "statuses/",
    "tokens/",
    "rules/",
    "origins/",
    "oci/links/",
    "oci/manifests/",
    "oci/",
    // Before their documentation: the repair removes documentation that has no release.
    "releases/",
    "",
];

/// The limits of one request: the bytes of its documents, and the archives that they refer to, because the
/// registry looks up each of these.
const BATCH_BYTES: usize = 1024 * 1024;

const BATCH_REFERENCES: usize = 300;

/// Imports the contents of a directory into a registry.
pub(crate) fn import(root: &Path, session: Session<'_>) -> Result<(), Failure> {
    if Backup::is_at(root) {
        return import_copy(root, &session.connect()?, session.output);
    }
    let push = MirrorPushArguments {
        dir: root.to_owned(),
        dry_run: false,
    };
    mirror::push::push(&push, session)
}

fn import_copy(root: &Path, client: &Client<'_>, output: &Output) -> Result<(), Failure> {
    let (copy, summary, sums) = Backup::open(root)?;
    let (place, of, to) = (root.display(), &summary.registry, client.url());
    let log = copy.log(&sums)?;
    let is_left_out = |path: &&String| fact_at(path).is_some_and(|key| !is_imported(&key));
    let left_out = sums.keys().filter(is_left_out).count();
    output.progress(&format!(
        "{place} contains {} and {} ({}) of {of}; its audit log and its format ({}) are not imported",
        plural(summary.documents, "document"),
        plural(summary.archives, "archive"),
        bytes(summary.bytes),
        plural(left_out, "document")
    ));
    if let Some(fault) = &log.fault {
        output.warning(&format!("the audit log of {of} is damaged: {fault}"));
    }
    restore_format(client, &copy, &sums)?;
    let sent = send_archives(client, &copy, &sums, output)?;
    let done = restore(client, &copy, &sums, output)?;
    output.progress("rebuilding the indices");
    let indexed = reindex::walk(client, ReindexBody::default(), output)?;
    for release in &indexed.lost {
        output.warning(&reindex::describe_lost(release));
    }
    for it in &done.erased {
        output.warning(&format!("{} stays out: {}", it.key, it.reason));
    }
    let conflicts = done.conflicts.into_iter().map(|key| {
        format!("the registry already has {key} with other contents. It stays unchanged")
    });
    let rejected = done.refused.iter();
    let rejected = rejected.map(|it| format!("{}: {}", it.key, it.reason));
    let failed = indexed.failed.into_iter();
    let failed = failed.map(|key| format!("the index of {key} was not written"));
    let reasons: Vec<String> = conflicts.chain(rejected).chain(failed).collect();
    let mut text = format!(
        "{} new at {to}, {} unchanged; {} sent",
        are(done.created.len(), "document"),
        are(done.unchanged.len(), "document"),
        are(sent, "archive")
    );
    if !done.erased.is_empty() {
        let count = plural(done.erased.len(), "document");
        text.push_str(&format!(
            "; left out {count}, because the content was erased"
        ));
    }
    let report = json!({
        "created": done.created.len(), "unchanged": done.unchanged.len(), "sent": sent, "erased": done.erased.len(),
    });
    let worst = match (reasons.is_empty(), done.refused.is_empty()) {
        (true, _) => None,
        (false, true) => Some(Failure::Conflict(reasons.clone())),
        (false, false) => Some(Failure::Refused(reasons.clone())),
    };
    output.outcome(text, report, worst, reasons)
}

/// Returns whether a document is stored in the registry as it is in the copy.
fn is_imported(key: &str) -> bool {
    !Log::has(key) && key != FORMAT
}

/// Restores the fact `format` before everything else: a registry or a command that is older than the documents of the
/// copy refuses it, and nothing else is sent.
fn restore_format(client: &Client<'_>, copy: &Backup, sums: &Sums) -> Result<(), Failure> {
    let path = path_of_fact(FORMAT);
    let Some(sha256) = sums.get(&path) else {
        return Ok(());
    };
    let document = copy.document(&path, sha256)?;
    let format: FormatDocument = serde_json::from_str(&document)
        .map_err(|error| Failure::refused(format!("{path} of the copy cannot be read: {error}")))?;
    let version = &Writer::current().version;
    if format.oldest_writer > *version {
        let oldest = &format.oldest_writer;
        return Err(Failure::refused(format!(
            "the copy was written by a newer version of Terrace, and this command (terrace {version}) cannot check its \
             documents: import it with terrace {oldest} or newer"
        )));
    }
    let key = FORMAT.to_owned();
    put_facts(client, vec![FactBody { key, document }]).map(drop)
}

/// Uploads the archives that the registry does not have. Returns their number.
fn send_archives(
    client: &Client<'_>,
    copy: &Backup,
    sums: &Sums,
    output: &Output,
) -> Result<usize, Failure> {
    let paths: Vec<&String> = sums.keys().filter(|path| fact_at(path).is_none()).collect();
    let (mut sent, mut looked_at) = (0, 0);
    for some in paths.chunks(limits::UPLOADS_AT_ONCE) {
        let ask = || -> Result<Vec<MissingArchive>, Failure> {
            let bodies = some.iter().map(|path| {
                let missing = || Failure::refused(format!("{path} is missing from the copy"));
                Ok(UploadBody {
                    key: (*path).clone(),
                    size: copy.size(path).ok_or_else(missing)?,
                })
            });
            let archives = bodies.collect::<Result<_, Failure>>()?;
            let call = Call::post(&STORED_ARCHIVES).json(&UploadsBody { archives })?;
            let mut missing = client.call::<UploadsAnswer>(call)?.missing;
            // The digest in the key of a blob may be another one.
            for missing in &mut missing {
                let sha256 = sums.get(&missing.filename);
                missing.sha256 = sha256.map(ToString::to_string).unwrap_or_default();
            }
            Ok(missing)
        };
        let mut missing = ask()?;
        let archives = missing.iter().map(|it| archive(copy, sums, &it.filename));
        let archives = archives.collect::<Result<Vec<Archive>, Failure>>()?;
        let mut uploads = Uploads::new(&archives, client, output);
        while !missing.is_empty() {
            uploads.round(missing)?;
            missing = ask()?;
        }
        sent += uploads.into_sent().len();
        looked_at += some.len();
        output.progress(&format!(
            "{looked_at} of {} present",
            are(paths.len(), "archive")
        ));
    }
    Ok(sent)
}

/// Opens an archive of the copy, and checks its digest.
fn archive(copy: &Backup, sums: &Sums, path: &str) -> Result<Archive, Failure> {
    let found = Archive::read(path.to_owned(), Source::File(copy.place(path)?)).ok();
    let intact = found.filter(|found| sums.get(path) == Some(&found.sha256));
    intact.ok_or_else(|| Failure::refused(format!("{path} is damaged in the copy")))
}

/// Sends every document, referenced documents first.
fn restore(
    client: &Client<'_>,
    copy: &Backup,
    sums: &Sums,
    output: &Output,
) -> Result<RestoreAnswer, Failure> {
    let mut keys: Vec<(String, &String, &Sha256)> = Vec::new();
    for (path, sha256) in sums {
        keys.extend(fact_at(path).map(|key| (key, path, sha256)));
    }
    keys.retain(|(key, ..)| is_imported(key));
    let total = keys.len();
    let rank = |key: &str| {
        RESTORE_ORDER
            .iter()
            .position(|prefix| key.starts_with(prefix))
    };
    keys.sort_by_cached_key(|(key, ..)| (rank(key), key.clone()));
    let (mut done, mut sent) = (RestoreAnswer::default(), 0);
    let (mut batch, mut size, mut references) = (Vec::new(), 0, 0);
    let mut send = |batch: &mut Vec<FactBody>| -> Result<(), Failure> {
        sent += batch.len();
        let answer = put_facts(client, std::mem::take(batch))?;
        done.created.extend(answer.created);
        done.unchanged.extend(answer.unchanged);
        done.conflicts.extend(answer.conflicts);
        done.refused.extend(answer.refused);
        done.erased.extend(answer.erased);
        output.progress(&format!("{sent} of {} present", are(total, "document")));
        Ok(())
    };
    let mut last = None;
    for (key, path, sha256) in keys {
        let document = copy.document(path, sha256)?;
        let restored = FactKey::parse(&key).map(|key| Restored::parse(&key, &document));
        let needed = restored.map_or(0, |it| it.map_or(0, |it| it.bytes.len()));
        let is_full = batch.len() >= limits::RESTORED_AT_ONCE
            || size + document.len() > BATCH_BYTES
            || references + needed > BATCH_REFERENCES
            || last != Some(rank(&key));
        if is_full && !batch.is_empty() {
            send(&mut batch)?;
            (size, references) = (0, 0);
        }
        last = Some(rank(&key));
        size += document.len();
        references += needed;
        batch.push(FactBody { key, document });
    }
    if !batch.is_empty() {
        send(&mut batch)?;
    }
    Ok(done)
}

/// Sends documents to the registry.
fn put_facts(client: &Client<'_>, facts: Vec<FactBody>) -> Result<RestoreAnswer, Failure> {
    client.call(Call::put(&FACTS).json(&RestoreBody { facts })?)
}
