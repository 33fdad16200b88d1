//! `terrace admin export`.

use std::io::{self, Read, Write as _};
use std::path::Path;

use serde_json::json;
use sha2::Digest as _;
use terrace_base::digest::{Sha256, Sha512};
use terrace_core::api::admin::{FactBody, StoredArchive};
use terrace_core::model::oci::Digest;
use terrace_core::storage::copy::{fact_at, path_of_fact};
use terrace_core::storage::key::{
    AUDIT, ArchiveKind, BytesKey, DOCUMENTATION, FactKey, PushedFact,
};
use ureq::Agent;

use super::backup::{Backup, OLD_LOGS, Summary, Sums, local};
use super::loss::{Older, UNLESS_RESTORED, lost_documents, lost_entries, lost_releases};
use super::stored::{Log, References, documentation_archive, each_fact, each_tombstone, missing};
use crate::archive::each_chunk;
use crate::args::{AcceptedLoss, RegistryArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::http;
use crate::http::Retries;
use crate::output::{Output, are, bytes, plural, were};
use crate::parallel;
use crate::registry::client::Client;

/// The directory of the documents about pushed content in a copy.
const PUSHED: &str = "facts/oci";

/// The directory of the documents about documentation in a copy.
const DOCUMENTED: &str = "facts/docs";

/// The number of parallel downloads of archives.
const PARALLEL_DOWNLOADS: usize = 4;

/// The result of fetching one archive.
enum Fetched {
    /// The archive is in the copy, with this digest. The flag is true if it was downloaded now.
    There(Sha256, bool),
    /// The download failed, and may succeed with a fresh URL.
    Failed(Failure),
    /// The download failed, and a retry does not help.
    Refused(Failure),
}

/// Copies a registry into a directory.
pub(crate) fn export(
    root: &Path,
    accepted: &[AcceptedLoss],
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let copy = Backup::create(root, client.url())?;
    let older = older(root, &client)?;
    let mut summary = Summary::new(client.url());
    let accepts_log = accepted.contains(&AcceptedLoss::AuditLog);
    let difference = log_difference(&client, &copy, output)?;
    let has_other_log = difference.is_some();
    // The log of a registry that was restored after its bucket was lost.
    let restarted = difference
        .as_ref()
        .filter(|it| it.is_restart && !accepts_log);
    let restarted = restarted.map(|it| it.message.clone());
    if let Some(difference) = difference.filter(|it| !it.is_restart && !accepts_log) {
        return Err(Failure::refused(difference.message));
    }
    let mut compared = accepted.to_vec();
    compared.extend(restarted.is_some().then_some(AcceptedLoss::AuditLog));
    let newest = client.audit(u64::MAX, 0)?.newest;
    copy.begin_with(&summary)?;
    let mut sums = Sums::new();
    let mut references = References::default();
    let mut changed = Vec::new();
    let mut documentation = Vec::new();
    summary.documents = each_fact(&client, "", output, |fact| {
        let path = path_of_fact(&fact.key);
        if Log::has(&fact.key) && !has_other_log {
            differing_entry(&copy, &path, &fact)?.map_or(Ok(()), |it| Err(Failure::refused(it)))?;
        }
        changed.extend(
            older
                .as_ref()
                .and_then(|older| older.change(&fact, &references.log, &compared)),
        );
        copy.stage(&path, fact.document.as_bytes())?;
        if let Some(archive) =
            documentation_archive(&fact.document).filter(|_| is_documentation(&fact.key))
        {
            documentation.push((fact.key.clone(), archive));
        }
        sums.insert(path, Sha256::of(fact.document.as_bytes()));
        references.add(&fact);
        Ok(())
    })?;
    each_tombstone(&client, output, |fact| {
        let path = path_of_fact(&fact.key);
        copy.stage(&path, fact.document.as_bytes())?;
        sums.insert(path, Sha256::of(fact.document.as_bytes()));
        summary.documents += 1;
        references.add(&fact);
        Ok(())
    })?;
    for (key, archive) in documentation {
        if references.is_erased(&archive) {
            output.warning(&format!(
                "{key} is not copied: {archive} was erased, and the repair of the registry removes the document"
            ));
            references.forget(&key, &archive);
            sums.remove(&path_of_fact(&key));
            summary.documents -= 1;
        }
    }
    output.progress(&format!("{} here", are(summary.documents, "document")));
    if let Some(fault) = &references.log.fault {
        output.warning(&format!(
            "the audit log is damaged, and is copied as it is: {fault}"
        ));
    }
    // Checked before any bytes are fetched: the older copy, which contains the lost documents, stays
    // unchanged.
    let mut lost = Vec::new();
    lost.extend(lost_entries(&references.log, newest, accepted));
    lost.extend(lost_releases(&references, accepted));
    lost.extend(lost_documents(&references));
    if let Some(older) = older {
        lost.extend(older.losses(changed, &references, &compared));
        older.warn_of_erased(&references, output);
        if restarted.is_some() {
            lost.extend(older.unrestored(&references));
        }
    }
    if !lost.is_empty() {
        lost.extend(restarted);
        lost.push(
            "nothing was copied. To copy the rest, export to another directory with --accept-loss for each of these"
                .to_owned(),
        );
        return Err(Failure::Refused(lost));
    }
    // Bytes are listed after the documents that refer to them. So all bytes that the documents refer to
    // have had time to arrive.
    let fetched = fetch_all(
        &client,
        &copy,
        &references,
        (&mut summary, &mut sums),
        output,
    )?;
    let mut wrong = references.wrong.clone();
    let absent = references.bytes.iter();
    for (key, (by, _)) in absent.filter(|(key, _)| !sums.contains_key(*key)) {
        // The tombstone of erased bytes says so: nothing is lost that could be restored.
        if !references.is_erased(key) {
            wrong.push(missing(key, by));
        }
    }
    references.warn_of_erased(&sums, output);
    if !wrong.is_empty() {
        wrong.push(
            "the copy is incomplete; run `terrace admin verify` to check everything".to_owned(),
        );
        return Err(Failure::Refused(wrong));
    }
    let (documents, archives, size) = (summary.documents, summary.archives, summary.bytes);
    let old_log = has_other_log.then(|| copy.keep_log()).transpose()?;
    copy.finish(summary, &sums)?;
    remove_erased(&copy, &references, &sums, output)?;
    let mut unaccepted = Vec::new();
    if let Some(old_log) = old_log {
        copy.remove_replaced(&old_log, &sums)?;
        match accepts_log {
            true => output.warning(&old_log.describe()),
            false => unaccepted.push(format!("{}. {RESTARTED}", old_log.describe())),
        }
    }
    let place = root.display();
    let text = format!(
        "{} and {} ({}) of {} are in {place}; {} downloaded now",
        plural(documents, "document"),
        plural(archives, "archive"),
        bytes(size),
        client.url(),
        were(fetched)
    );
    let report = json!({ "documents": documents, "audit_entries": references.log.length(), "restarted": has_other_log, "archives": archives, "bytes": size, "fetched": fetched });
    let worst = (!unaccepted.is_empty()).then(|| Failure::Conflict(unaccepted.clone()));
    output.outcome(text, report, worst, unaccepted)
}

/// The advice about a log that starts again.
const RESTARTED: &str = "The copy is complete, and this is reported once. If the registry was not restored after the loss of its \
                         bucket, its log was replaced: compare the two";

fn is_documentation(key: &str) -> bool {
    key.starts_with(DOCUMENTATION)
}

/// Removes what an older copy has of erased versions and archives, if the audit log records the erasure.
fn remove_erased(
    copy: &Backup,
    references: &References,
    sums: &Sums,
    output: &Output,
) -> Result<(), Failure> {
    for key in &references.erased {
        let is_recorded =
            BytesKey::parse_key(key).is_some_and(|bytes| references.log.has_erased(bytes.digest()));
        if is_recorded {
            copy.remove_unlisted(key, sums)?;
        } else if copy.size(key).is_some() {
            output.warning(&format!(
                "{key} was erased, but no entry of the audit log records that: it stays in the copy"
            ));
        }
    }
    // Documentation without a tombstone, which went with an erased archive.
    for key in &references.log.erased {
        if let Some(BytesKey::Archive(archive)) = BytesKey::parse_key(key)
            && archive.kind == ArchiveKind::Documentation
        {
            copy.remove_unlisted(key, sums)?;
        }
    }
    for path in copy.paths_below(DOCUMENTED)? {
        if sums.contains_key(&path) || fact_at(&path).is_none() {
            continue;
        }
        let document = String::from_utf8(copy.read(&path)?).unwrap_or_default();
        let archive = documentation_archive(&document);
        if archive.is_some_and(|archive| references.log.erased.contains(&archive)) {
            copy.remove_unlisted(&path, sums)?;
        }
    }
    // Manifests, links and referrers with these digests.
    for path in copy.paths_below(PUSHED)? {
        if let Some(FactKey::Pushed(
            PushedFact::Link(_, digest)
            | PushedFact::Manifest(_, digest)
            | PushedFact::Referrer(_, _, digest),
        )) = fact_at(&path).and_then(|key| FactKey::parse(&key))
            && references.is_erased(&BytesKey::Blob(digest).to_string())
            && references.log.has_erased(digest)
        {
            copy.remove_unlisted(&path, sums)?;
        }
    }
    // Their documentation is no longer in the registry.
    for key in &references.log.erased {
        if let Some(FactKey::Release(package, version)) = FactKey::parse(key) {
            let documentation = FactKey::Documentation(package, version).to_string();
            copy.remove_unlisted(&path_of_fact(&documentation), sums)?;
        }
    }
    Ok(())
}

/// Returns the copy in the directory, for a comparison; `None` if no export there ever finished.
fn older(root: &Path, client: &Client<'_>) -> Result<Option<Older>, Failure> {
    if !Backup::is_finished(root)? {
        return Ok(None);
    }
    let opened = Older::open(root, client.url());
    opened.map(Some).map_err(|failure| {
        Failure::refused(format!(
            "the older copy cannot be compared with the registry ({failure}), and stays unchanged: export to \
             another directory"
        ))
    })
}

/// A difference between the audit log and the one in the older copy.
struct LogDifference {
    message: String,
    /// Whether the registry has another log instead of a changed one: its first entry is another one, and later than the
    /// whole older log.
    is_restart: bool,
}

/// Returns the first difference between the audit log and the one in the older copy, before the copy is changed.
fn log_difference(
    client: &Client<'_>,
    copy: &Backup,
    output: &Output,
) -> Result<Option<LogDifference>, Failure> {
    let mut log = Log::default();
    let mut found = None;
    each_fact(client, AUDIT, output, |entry| {
        log.add(&entry.document);
        if found.is_none() {
            let difference = differing_entry(copy, &path_of_fact(&entry.key), &entry)?;
            if let Some(message) = difference {
                let is_first = entry.key == FactKey::Audit(1).to_string();
                found = Some(LogDifference {
                    message,
                    is_restart: is_first && copy.log_ended_before(&entry.document)?,
                });
            }
        }
        Ok(())
    })?;
    Ok(match log.fault {
        // Reported when the log is copied.
        Some(_) => found,
        None => found.or_else(|| {
            Some(LogDifference {
                message: missing_entry(copy, log.length() + 1)?,
                is_restart: false,
            })
        }),
    })
}

/// Describes how an entry of the audit log differs from the older copy, which may be the only authentic one, and
/// so is not overwritten.
fn differing_entry(copy: &Backup, path: &str, entry: &FactBody) -> Result<Option<String>, Failure> {
    if copy.size(path).is_none() || copy.read(path)? == entry.document.as_bytes() {
        return Ok(None);
    }
    let advice = log_advice();
    Ok(Some(format!(
        "{} differs from the older copy, so one of them was changed{advice}",
        entry.key
    )))
}

/// Describes the entry of the older copy with this number, which the registry does not have.
fn missing_entry(copy: &Backup, number: u64) -> Option<String> {
    let key = FactKey::Audit(number).to_string();
    copy.size(&path_of_fact(&key))?;
    let advice = log_advice();
    Some(format!(
        "{key} is in the older copy but not in the registry, so it was removed{advice}"
    ))
}

/// Returns the advice about a log that is not a continuation of the older copy's.
fn log_advice() -> String {
    format!(
        "{UNLESS_RESTORED}. To compare the logs, \
         export to another directory; to continue here, accept the loss (--accept-loss audit-log), which keeps the \
         old log in {OLD_LOGS}/"
    )
}

/// Fetches the archives that the copy does not have, page by page. Returns the number of fetched archives.
fn fetch_all(
    client: &Client<'_>,
    copy: &Backup,
    references: &References,
    (summary, sums): (&mut Summary, &mut Sums),
    output: &Output,
) -> Result<u64, Failure> {
    let agent = http::download_agent()?;
    let mut after: Option<String> = None;
    let mut retries = Retries::new(client.http().retries());
    let mut fetched = 0;
    loop {
        let mut page = client.archives(after.as_deref(), true)?;
        // An upload with a URL that was signed before the erasure.
        page.archives
            .retain(|archive| !references.is_erased(&archive.key));
        let results = parallel::map(&page.archives, PARALLEL_DOWNLOADS, |archive| {
            fetch(&agent, copy, archive, output)
        });
        let mut passing = None;
        for (archive, result) in page.archives.iter().zip(results) {
            match result {
                Fetched::There(sha256, is_new) => {
                    fetched += u64::from(is_new);
                    if sums.insert(archive.key.clone(), sha256).is_none() {
                        summary.archives += 1;
                        summary.bytes += archive.size;
                    }
                }
                Fetched::Refused(failure) => return Err(failure),
                Fetched::Failed(failure) => passing = Some(failure),
            }
        }
        if let Some(failure) = passing {
            match retries.next(None) {
                // The same page again, with fresh URLs; archives that have arrived are in the copy.
                Some(pause) => client.http().wait(&failure, pause),
                None => return Err(failure),
            }
            continue;
        }
        retries = Retries::new(client.http().retries());
        output.progress(&format!(
            "{} here ({})",
            are(summary.archives, "archive"),
            bytes(summary.bytes)
        ));
        match page.next {
            Some(next) if after.as_ref() != Some(&next) => after = Some(next),
            _ => return Ok(fetched),
        }
    }
}

fn fetch(agent: &Agent, copy: &Backup, archive: &StoredArchive, output: &Output) -> Fetched {
    let StoredArchive {
        key,
        size,
        url,
        copy_url,
        ..
    } = archive;
    let (Some(bytes_key), Some(url)) = (BytesKey::parse_key(key), url) else {
        return Fetched::Refused(Failure::Unexpected(format!(
            "the registry sent no download URL for {key}"
        )));
    };
    if copy.size(key) == Some(*size)
        && let Ok(sha256) = check(copy, key, bytes_key.digest())
    {
        return Fetched::There(sha256, false);
    }
    let from = |url: &str| download(agent, copy, archive, bytes_key.digest(), url, output);
    let failed = match from(url) {
        Ok(sha256) => return Fetched::There(sha256, true),
        Err(failed) => failed,
    };
    match copy_url.as_deref().map(from) {
        Some(Ok(sha256)) => {
            output.warning(&format!(
                "{key} comes from the second bucket, because the main one did not return it: run `terrace admin verify`"
            ));
            Fetched::There(sha256, true)
        }
        Some(Err(_)) | None => failed,
    }
}

/// Checks that a file has the digest in its name. Returns its SHA-256.
fn check(copy: &Backup, key: &str, digest: Digest) -> Result<Sha256, ()> {
    let place = copy.place(key).map_err(drop)?;
    let mut file = std::fs::File::open(place).map_err(drop)?;
    let mut hashers = Hashers::of(digest);
    each_chunk(&mut file, |chunk| hashers.update(chunk)).map_err(drop)?;
    match hashers.finish() {
        (sha256, found) if found == digest => Ok(sha256),
        _ => Err(()),
    }
}

/// Downloads an archive to the path of its key, if it has the digest in its key.
fn download(
    agent: &Agent,
    copy: &Backup,
    archive: &StoredArchive,
    digest: Digest,
    url: &str,
    output: &Output,
) -> Result<Sha256, Fetched> {
    let key = &archive.key;
    let place = copy.place(key).map_err(Fetched::Refused)?;
    // The error may quote the URL, which is a secret.
    let response = agent.get(url).call().map_err(|error| {
        let failure = Failure::Unavailable(format!("{key}: {}", http::describe(&error)));
        match http::is_transient_error(&error) {
            true => Fetched::Failed(failure),
            false => Fetched::Refused(failure),
        }
    })?;
    let status = response.status().as_u16();
    if status != 200 {
        let reason = format!("{key}: the storage responded with status {status}");
        return Err(match status {
            // The URL may have expired during other downloads.
            403 => Fetched::Failed(Failure::NotAllowed(reason)),
            404 => Fetched::Failed(Failure::Unexpected(format!(
                "{reason}: the archive does not exist"
            ))),
            _ if http::is_transient_status(status) => Fetched::Failed(Failure::Unavailable(reason)),
            _ => Fetched::Refused(Failure::Unexpected(reason)),
        });
    }
    let bar = output.upload_bar(key, archive.size);
    let kept = |error: io::Error| Fetched::Refused(local(&place, &error));
    let mut file = copy.begin(&place).map_err(kept)?;
    let mut hashers = Hashers::of(digest);
    let mut unwritten = None;
    let mut reader = response.into_body().into_reader().take(archive.size + 1);
    let read = each_chunk(&mut reader, |chunk| {
        hashers.update(chunk);
        bar.advance(chunk.len().try_into().unwrap_or_default());
        if let Err(error) = file.write_all(chunk) {
            unwritten.get_or_insert(error);
        }
    });
    if let Some(error) = unwritten {
        return Err(kept(error));
    }
    let broken =
        |error: io::Error| Fetched::Failed(Failure::Unavailable(format!("{key}: {error}")));
    let size = read.map_err(broken)?;
    if size < archive.size {
        let message = format!(
            "the download of {key} ended after {size} of {} bytes",
            archive.size
        );
        return Err(Fetched::Failed(Failure::Unavailable(message)));
    }
    let (sha256, found) = hashers.finish();
    if found != digest {
        let message = format!(
            "{key} has other contents, with the digest {found}: it is damaged in the registry"
        );
        return Err(Fetched::Refused(Failure::refused(message)));
    }
    file.persist(&place).map_err(|error| kept(error.error))?;
    Ok(sha256)
}

/// The digest in the key of an archive, and the SHA-256 for SHA256SUMS.
pub(super) struct Hashers {
    sha256: sha2::Sha256,
    sha512: Option<sha2::Sha512>,
}

impl Hashers {
    pub(super) fn of(digest: Digest) -> Self {
        Self {
            sha256: sha2::Sha256::new(),
            sha512: match digest {
                Digest::Sha256(_) => None,
                Digest::Sha512(_) => Some(sha2::Sha512::new()),
            },
        }
    }

    pub(super) fn update(&mut self, chunk: &[u8]) {
        self.sha256.update(chunk);
        if let Some(sha512) = &mut self.sha512 {
            sha512.update(chunk);
        }
    }

    pub(super) fn finish(self) -> (Sha256, Digest) {
        let sha256 = Sha256::from_bytes(self.sha256.finalize().into());
        let digest = match self.sha512 {
            None => Digest::Sha256(sha256),
            Some(sha512) => Digest::Sha512(Sha512::from_bytes(sha512.finalize().into())),
        };
        (sha256, digest)
    }
}
