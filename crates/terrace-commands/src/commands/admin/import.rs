//! `terrace admin import`: imports the bytes, then the documents that refer to them, and rebuilds the indices.

use std::path::Path;
use std::{fs, io};

use serde_json::json;
use terrace_base::digest::Sha256;
use terrace_core::api::admin::{FactBody, MissingArchive, RestoreAnswer, RestoreBody, UploadBody};
use terrace_core::api::endpoint::FACTS;
use terrace_core::limits;
use terrace_core::maintenance::restore::Restored;
use terrace_core::storage::copy::{fact_at, path_of_fact};
use terrace_core::storage::format::{FormatDocument, Writer};
use terrace_core::storage::key::{FORMAT, FactKey};

use super::backup::{Backup, Sums};
use super::stored::Log;
use super::{difference, reindex};
use crate::archive::{Archive, Source};
use crate::commands::connection::Session;
use crate::commands::mirror;
use crate::commands::mirror::directory::Directory;
use crate::commands::mirror::push::MirrorPushArguments;
use crate::error::Failure;
use crate::http::Retries;
use crate::output::{Output, are, bytes, plural};
use crate::registry::client::{Call, Client};
use crate::registry::upload::{Storage, Upload, upload};

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

/// The maximum number of documents that are compared with those of the registry, at one request each.
const COMPARED: usize = 100;

/// Imports the contents of a directory into a registry.
pub(crate) fn import(root: &Path, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    check_directory(root)?;
    if Backup::is_at(root) {
        return import_copy(root, &session.connect()?, output);
    }
    if Backup::is_partial_at(root) {
        return Err(Failure::refused(format!(
            "{} is an incomplete Terrace export, or a part of one: import the whole directory, with its export.json, or run the export \
             again (terrace admin export)",
            root.display()
        )));
    }
    check_mirror(root)?;
    let push = MirrorPushArguments {
        dir: root.to_owned(),
        dry_run: false,
    };
    mirror::push::push(&push, session.registry, session.output)
}

/// The directories that can be imported.
const IMPORTED: &str =
    "a directory that `terrace admin export` or `terraform providers mirror` wrote";

/// Checks that a directory can be read.
fn check_directory(root: &Path) -> Result<(), Failure> {
    let read = fs::read_dir(root).map(drop);
    read.map_err(|error| {
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "it does not exist".to_owned(),
            io::ErrorKind::NotADirectory => "it is not a directory".to_owned(),
            _ => error.to_string(),
        };
        Failure::refused(format!("{}: {reason}. Specify {IMPORTED}", root.display()))
    })
}

/// Checks that a directory that is nothing else contains mirrored providers.
fn check_mirror(root: &Path) -> Result<(), Failure> {
    let Ok(Directory { versions, notes }) = Directory::read(root, None) else {
        return Ok(());
    };
    if !versions.is_empty() || !notes.reasons.is_empty() {
        return Ok(());
    }
    let place = root.display();
    let nothing = format!("{place} contains nothing to import. Specify {IMPORTED}");
    let skipped = notes.skipped.iter().map(ToString::to_string);
    let reasons = std::iter::once(nothing).chain(skipped);
    Err(Failure::Refused(reasons.take(limits::REASONS).collect()))
}

fn import_copy(root: &Path, client: &Client<'_>, output: &Output) -> Result<(), Failure> {
    let (copy, summary, sums) = Backup::open(root)?;
    let (place, of, to) = (root.display(), &summary.registry, client.url());
    let log = copy.log(&sums)?;
    let is_left_out = |path: &&String| fact_at(path).is_some_and(|key| !is_imported(&key));
    let left_out = sums.keys().filter(is_left_out).count();
    let left_out = u64::try_from(left_out).unwrap_or(u64::MAX);
    let note = match left_out {
        0 => String::new(),
        more => format!(
            "; its audit log and its format ({}) are not imported",
            plural(more, "more document")
        ),
    };
    output.progress(&format!(
        "{place} contains {} and {} ({}) of {of} to import{note}",
        plural(summary.documents.saturating_sub(left_out), "document"),
        plural(summary.archives, "archive"),
        bytes(summary.bytes)
    ));
    match (&log.fault, log.length()) {
        (Some(fault), _) => output.warning(&format!("the audit log of {of} is damaged: {fault}")),
        (None, 0) => {}
        (None, entries) => output.progress(&format!(
            "its audit log ({}) is complete, and stays in {place}: a log records the changes of its own registry",
            plural(entries, "entry")
        )),
    }
    restore_format(client, &copy, &sums)?;
    let sent = send_archives(client, &copy, &sums, output)?;
    let done = restore(client, &copy, &sums, output)?;
    output.progress("rebuilding the indices");
    let indexed = reindex::walk(client, reindex::Extent::default(), &[], output)?;
    for release in &indexed.lost {
        output.warning(&reindex::describe_lost(release));
    }
    let RestoreAnswer {
        created,
        unchanged,
        conflicts,
        refused,
        erased,
    } = done;
    for it in &erased {
        output.warning(&format!("{} stays out: {}", it.key, it.reason));
    }
    let mut reasons = conflict_reasons(client, &copy, &conflicts);
    reasons.extend(
        refused
            .iter()
            .map(|it| format!("{}: {}", it.key, it.reason)),
    );
    reasons.extend(
        indexed
            .failed
            .iter()
            .map(|key| format!("the index of {key} was not written")),
    );
    let mut text = format!(
        "{} new at {to}, {} unchanged; {} sent",
        are(created.len(), "document"),
        are(unchanged.len(), "document"),
        are(sent, "archive")
    );
    if !erased.is_empty() {
        text.push_str(&format!(
            "; {} out, because the content was erased",
            match erased.len() {
                1 => "1 document stays".to_owned(),
                count => format!("{count} documents stay"),
            }
        ));
    }
    let report = json!({ "created": created.len(), "unchanged": unchanged.len(), "sent": sent, "erased": erased.len() });
    let worst = match (reasons.is_empty(), refused.is_empty()) {
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

/// Describes how each document that the registry also has differs from that of the copy.
fn conflict_reasons(client: &Client<'_>, copy: &Backup, keys: &[String]) -> Vec<String> {
    let reason = |(at, key): (usize, &String)| {
        let copied = copy.read(&path_of_fact(key)).unwrap_or_default();
        let there = (at < COMPARED)
            .then(|| client.facts(key, None).ok())
            .flatten();
        let there = there.and_then(|page| page.facts.into_iter().find(|fact| fact.key == *key));
        let there = there.map(|fact| fact.document);
        difference::describe(key, there.as_deref(), &String::from_utf8_lossy(&copied))
    };
    keys.iter().enumerate().map(reason).collect()
}

/// Uploads the archives that the registry does not have. Returns their number.
fn send_archives(
    client: &Client<'_>,
    copy: &Backup,
    sums: &Sums,
    output: &Output,
) -> Result<usize, Failure> {
    let paths: Vec<&String> = sums.keys().filter(|path| fact_at(path).is_none()).collect();
    let mut sent = 0;
    let mut looked_at = 0;
    for some in paths.chunks(limits::UPLOADS_AT_ONCE) {
        let mut retries = Retries::new(client.http().retries());
        let mut last: Option<Failure> = None;
        loop {
            let bodies: Result<Vec<UploadBody>, Failure> =
                some.iter().map(|path| upload_body(copy, path)).collect();
            let missing = client.missing(bodies?)?.missing;
            if missing.is_empty() {
                break;
            }
            if let Some(failure) = last {
                match retries.next(None) {
                    Some(pause) => client.http().wait(&failure, pause),
                    None => return Err(failure),
                }
            }
            let (arrived, failure) = send(client, copy, sums, missing, output)?;
            sent += arrived;
            last = Some(failure.unwrap_or_else(keeps_asking));
        }
        looked_at += some.len();
        output.progress(&format!(
            "{looked_at} of {} present",
            are(paths.len(), "archive")
        ));
    }
    Ok(sent)
}

/// Returns the failure if uploads do not appear: they arrived elsewhere, or the registry is removing them.
fn keeps_asking() -> Failure {
    let message = "the registry keeps requesting archives that were uploaded";
    Failure::Unexpected(message.to_owned())
}

fn upload_body(copy: &Backup, path: &str) -> Result<UploadBody, Failure> {
    let size = copy.size(path);
    let size = size.ok_or_else(|| Failure::refused(format!("{path} is missing from the copy")))?;
    Ok(UploadBody {
        key: path.to_owned(),
        size,
    })
}

/// Uploads some archives. Returns the number that arrived, and the last failure that may pass with a fresh
/// URL.
fn send(
    client: &Client<'_>,
    copy: &Backup,
    sums: &Sums,
    missing: Vec<MissingArchive>,
    output: &Output,
) -> Result<(usize, Option<Failure>), Failure> {
    let mut archives = Vec::new();
    for missing in &missing {
        let path = &missing.filename;
        let (sha256, size) = copy
            .hash(path)
            .filter(|(sha256, _)| sums.get(path) == Some(sha256))
            .ok_or_else(|| Failure::refused(format!("{path} is damaged in the copy")))?;
        archives.push(Archive {
            filename: path.clone(),
            source: Source::File(copy.place(path)?),
            size,
            sha256,
        });
    }
    let jobs: Vec<(&Archive, MissingArchive)> = archives.iter().zip(missing).collect();
    let mut arrived = 0;
    let mut failed = None;
    for outcome in upload(client.http().agent(), Storage::Main, &jobs, output) {
        match outcome {
            Upload::Sent => arrived += 1,
            Upload::AlreadyThere | Upload::NotTried => {}
            Upload::Failed(failure, _) => failed = Some(failure),
            Upload::Refused(failure) => return Err(failure),
        }
    }
    Ok((arrived, failed))
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
    keys.sort_by(|one, other| (rank(&one.0), &one.0).cmp(&(rank(&other.0), &other.0)));
    let mut batch = Batch::new(client);
    for (key, path, sha256) in keys {
        let document = copy.document(path, sha256)?;
        let rank = rank(&key);
        if batch.add(FactBody { key, document }, rank)? {
            output.progress(&format!(
                "{} of {} present",
                batch.count(),
                are(total, "document")
            ));
        }
    }
    batch.send()?;
    Ok(batch.done)
}

/// Documents that are sent in one request.
struct Batch<'a> {
    client: &'a Client<'a>,
    facts: Vec<FactBody>,
    bytes: usize,
    references: usize,
    rank: Option<usize>,
    done: RestoreAnswer,
}

impl<'a> Batch<'a> {
    fn new(client: &'a Client<'a>) -> Self {
        Self {
            client,
            facts: Vec::new(),
            bytes: 0,
            references: 0,
            rank: None,
            done: RestoreAnswer::default(),
        }
    }

    /// Adds a document. Returns whether earlier documents were sent to make room for it.
    fn add(&mut self, fact: FactBody, rank: Option<usize>) -> Result<bool, Failure> {
        let parsed = FactKey::parse(&fact.key);
        let restored = parsed.and_then(|key| Restored::parse(&key, &fact.document).ok());
        let references = restored.map_or(0, |restored| restored.bytes.len());
        let is_full = self.facts.len() >= limits::RESTORED_AT_ONCE
            || self.bytes + fact.document.len() > BATCH_BYTES
            || self.references + references > BATCH_REFERENCES
            || self.rank != rank;
        let sends = is_full && !self.facts.is_empty();
        if sends {
            self.send()?;
        }
        self.rank = rank;
        self.bytes += fact.document.len();
        self.references += references;
        self.facts.push(fact);
        Ok(sends)
    }

    fn send(&mut self) -> Result<(), Failure> {
        if self.facts.is_empty() {
            return Ok(());
        }
        let answer = put_facts(self.client, std::mem::take(&mut self.facts))?;
        (self.bytes, self.references) = (0, 0);
        self.done.created.extend(answer.created);
        self.done.unchanged.extend(answer.unchanged);
        self.done.conflicts.extend(answer.conflicts);
        self.done.refused.extend(answer.refused);
        self.done.erased.extend(answer.erased);
        Ok(())
    }

    fn count(&self) -> usize {
        let done = &self.done;
        let stored = done.created.len() + done.unchanged.len();
        stored + done.conflicts.len() + done.refused.len() + done.erased.len()
    }
}

/// Sends documents to the registry.
fn put_facts(client: &Client<'_>, facts: Vec<FactBody>) -> Result<RestoreAnswer, Failure> {
    client.call(Call::put(&FACTS).json(&RestoreBody { facts })?)
}
