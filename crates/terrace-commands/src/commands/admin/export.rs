//! `terrace admin export`.

use std::fs::File;
use std::io;
use std::path::Path;

use serde_json::json;
use terrace_base::digest::Sha256;
use terrace_core::api::admin::StoredArchive;
use terrace_core::storage::copy::{fact_at, path_of_fact};
use terrace_core::storage::key::{ArchiveKind, BytesKey, DOCUMENTATION, FactKey, PushedFact};
use ureq::Agent;

use super::backup::{Backup, Summary, Sums, local};
use super::fetch::{FetchError, checked};
use super::loss::{Older, lost_documents, lost_releases};
use super::stored::{References, documentation_archive, each_fact, each_tombstone, missing};
use crate::commands::admin::loss::AcceptedLoss;
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::http::{self, Retries};
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
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let copy = Backup::create(root, client.url())?;
    let older = older(root, &client)?;
    let mut summary = Summary::new(client.url());
    // The log of the older copy may be the only authentic one: no export replaces it.
    let mut compared = accepted.to_vec();
    compared.retain(|loss| *loss != AcceptedLoss::AuditLog);
    let newest = client.audit(u64::MAX, 0)?.newest;
    copy.begin_with(&summary)?;
    let mut sums = Sums::new();
    let mut references = References::default();
    let mut changed = Vec::new();
    let mut documentation = Vec::new();
    summary.documents = each_fact(&client, "", output, |fact| {
        let path = path_of_fact(&fact.key);
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
    lost.extend(lost_releases(&references, newest, accepted));
    lost.extend(lost_documents(&references));
    if let Some(older) = older {
        lost.extend(older.losses(changed, &references, &compared));
        older.warn_of_erased(&references, output);
    }
    if !lost.is_empty() {
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
    copy.finish(summary, &sums)?;
    remove_erased(&copy, &references, &sums, output)?;
    let place = root.display();
    let text = format!(
        "{} and {} ({}) of {} are in {place}; {} downloaded now",
        plural(documents, "document"),
        plural(archives, "archive"),
        bytes(size),
        client.url(),
        were(fetched)
    );
    let report = json!({ "status": "ok", "documents": documents, "audit_entries": references.log.length(), "archives": archives, "bytes": size, "fetched": fetched });
    output.result(&[text], &report);
    Ok(())
}

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
    let StoredArchive { key, size, .. } = archive;
    let Some(url) = &archive.url else {
        return Fetched::Refused(Failure::Unexpected(format!(
            "the registry sent no download URL for {key}"
        )));
    };
    let there = || checked(&mut File::open(copy.place(key).ok()?).ok()?, key);
    if copy.size(key) == Some(*size)
        && let Some(sha256) = there()
    {
        return Fetched::There(sha256, false);
    }
    let from = |url: &str| download(agent, copy, archive, url, output);
    let failed = match from(url) {
        Ok(sha256) => return Fetched::There(sha256, true),
        Err(failed) => failed,
    };
    match archive.copy_url.as_deref().map(from) {
        Some(Ok(sha256)) => {
            output.warning(&format!(
                "{key} comes from the second bucket, because the main one did not return it: run `terrace admin verify`"
            ));
            Fetched::There(sha256, true)
        }
        Some(Err(_)) | None => failed,
    }
}

/// Downloads an archive to the path of its key.
fn download(
    agent: &Agent,
    copy: &Backup,
    archive: &StoredArchive,
    url: &str,
    output: &Output,
) -> Result<Sha256, Fetched> {
    let StoredArchive { key, size, .. } = archive;
    let place = copy.place(key).map_err(Fetched::Refused)?;
    let kept = |error: io::Error| Fetched::Refused(local(&place, &error));
    let mut file = copy.begin(&place).map_err(kept)?;
    let bar = output.upload_bar(key, *size);
    let advance = |count: usize| bar.advance(count.try_into().unwrap_or_default());
    let fetched = super::fetch::fetch(agent, (key, *size), url, &mut file, advance);
    let sha256 = fetched.map_err(|error| match error {
        FetchError::Absent => Fetched::Failed(Failure::Unexpected(format!(
            "{key} does not exist in the storage"
        ))),
        FetchError::Passing(failure) => Fetched::Failed(failure),
        FetchError::Refused(failure) => Fetched::Refused(failure),
        FetchError::Local(error) => kept(error),
    })?;
    file.persist(&place).map_err(|error| kept(error.error))?;
    Ok(sha256)
}
