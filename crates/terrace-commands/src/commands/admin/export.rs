//! `terrace admin export`.

use std::fs::File;
use std::path::Path;

use serde_json::json;
use terrace_base::digest::Sha256;
use terrace_core::api::admin::StoredArchive;
use terrace_core::storage::copy::{fact_at, path_of_fact};
use terrace_core::storage::documentation::DocumentationDocument;
use terrace_core::storage::key::{BytesKey, FactKey, PushedFact};
use ureq::Agent;

use super::backup::{Backup, Summary, Sums, local};
use super::fetch::{checked, fetch};
use super::loss::{AcceptedLoss, Older, comparing, lost_documents, lost_releases};
use super::stored::{Log, References, digest_of, each_page};
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::http::{self, Retries};
use crate::output::{Output, are, bytes, plural, were};
use crate::parallel;
use crate::registry::client::Client;
use crate::upstream::AttemptError;

/// The number of parallel downloads of archives.
const PARALLEL_DOWNLOADS: usize = 4;

/// Copies a registry into a directory.
pub(crate) fn export(
    root: &Path,
    accepted: &[AcceptedLoss],
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let copy = Backup::create(root, client.url())?;
    let mut older = older(root, &client, accepted)?;
    let mut summary = Summary::new(client.url());
    let newest = client.audit(u64::MAX, 0)?.newest;
    copy.begin_with(&summary)?;
    let mut sums = Sums::new();
    let references = References::read(&client, output, comparing(&mut older), |fact| {
        let path = path_of_fact(&fact.key);
        copy.stage(&path, fact.document.as_bytes())?;
        sums.insert(path, Sha256::of(fact.document.as_bytes()));
        Ok(())
    })?;
    summary.documents = references.there.len().try_into().unwrap_or(u64::MAX);
    output.progress(&format!("{} here", are(summary.documents, "document")));
    if let Some(fault) = &references.log.fault {
        output.warning(&format!(
            "the audit log is damaged, and is copied as it is: {fault}"
        ));
    }
    // Checked before any bytes are fetched: the older copy, which contains the lost documents, stays
    // unchanged.
    let mut lost = lost_releases(&references, newest, accepted);
    lost.extend(lost_documents(&references));
    if let Some(older) = older {
        lost.extend(older.losses(&references, output));
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
    wrong.extend(references.missing(&sums));
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

/// Removes what an older copy has of erased versions and archives, if the audit log records the erasure.
fn remove_erased(
    copy: &Backup,
    references: &References,
    sums: &Sums,
    output: &Output,
) -> Result<(), Failure> {
    for directory in ["archives", "oci/blobs", "facts/docs", "facts/oci"] {
        for path in copy.paths_below(directory)? {
            if sums.contains_key(&path) {
                continue;
            }
            if is_erased(copy, &path, &references.log)? {
                copy.remove(&path)?;
            } else if references.is_erased(&path) {
                output.warning(&format!(
                    "{path} was erased, but no entry of the audit log records that: it stays in the copy"
                ));
            }
        }
    }
    Ok(())
}

/// Returns whether the log records the erasure of a file in a copy: of its bytes, of the content that a document is about, or of
/// the version of documentation.
fn is_erased(copy: &Backup, path: &str, log: &Log) -> Result<bool, Failure> {
    let digest = match fact_at(path).and_then(|key| FactKey::parse(&key)) {
        None => digest_of(path),
        Some(FactKey::Pushed(
            PushedFact::Link(_, digest)
            | PushedFact::Manifest(_, digest)
            | PushedFact::Referrer(_, _, digest),
        )) => Some(digest),
        Some(FactKey::Documentation(package, version)) => {
            if log
                .erased
                .contains(&FactKey::Release(package, version).to_string())
            {
                return Ok(true);
            }
            let document = DocumentationDocument::from_document(&copy.read(path)?).ok();
            document.map(|it| BytesKey::Archive(it.archive.archive_key()).digest())
        }
        Some(_) => None,
    };
    Ok(digest.is_some_and(|digest| log.erased_digests.contains(&digest)))
}

/// Returns the copy in the directory, for a comparison; `None` if no export there ever finished.
fn older(
    root: &Path,
    client: &Client<'_>,
    accepted: &[AcceptedLoss],
) -> Result<Option<Older>, Failure> {
    if !Backup::is_finished(root)? {
        return Ok(None);
    }
    // The log of the older copy may be the only authentic one: no export replaces it.
    let mut accepted = accepted.to_vec();
    accepted.retain(|loss| *loss != AcceptedLoss::AuditLog);
    let opened = Older::open(root, client.url(), accepted);
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
    let mut fetched = 0;
    each_page(|after| {
        let mut retries = Retries::new(client.http().retries());
        loop {
            let mut page = client.archives(after, true)?;
            // An upload with a URL that was signed before the erasure.
            page.archives
                .retain(|archive| !references.is_erased(&archive.key));
            let results = parallel::map(&page.archives, PARALLEL_DOWNLOADS, |archive| {
                fetch_one(&agent, copy, archive, output)
            });
            let mut passing = None;
            for (archive, result) in page.archives.iter().zip(results) {
                match result {
                    Ok((sha256, is_new)) => {
                        fetched += u64::from(is_new);
                        if sums.insert(archive.key.clone(), sha256).is_none() {
                            summary.archives += 1;
                            summary.bytes += archive.size;
                        }
                    }
                    Err(error) if error.is_transient => passing = Some(error.failure),
                    Err(error) => return Err(error.failure),
                }
            }
            let Some(failure) = passing else {
                output.progress(&format!(
                    "{} here ({})",
                    are(summary.archives, "archive"),
                    bytes(summary.bytes)
                ));
                return Ok(page.next);
            };
            // The same page again, with fresh URLs; archives that have arrived are in the copy.
            let pause = retries.next(None).ok_or_else(|| failure.clone())?;
            client.http().wait(&failure, pause);
        }
    })?;
    Ok(fetched)
}

/// Returns the digest of an archive that is in the copy, and whether it was downloaded now.
fn fetch_one(
    agent: &Agent,
    copy: &Backup,
    archive: &StoredArchive,
    output: &Output,
) -> Result<(Sha256, bool), AttemptError> {
    let StoredArchive { key, size, .. } = archive;
    let missing = || {
        let message = format!("the registry sent no download URL for {key}");
        AttemptError::permanent(Failure::Unexpected(message))
    };
    let url = archive.url.as_deref().ok_or_else(missing)?;
    let place = copy.place(key).map_err(AttemptError::permanent)?;
    if copy.size(key) == Some(*size)
        && let Ok(file) = File::open(&place)
        && let Some(sha256) = checked(file, key)
    {
        return Ok((sha256, false));
    }
    let kept = |error| AttemptError::permanent(local(&place, &error));
    let download = |url: &str| {
        let mut file = copy.begin(&place).map_err(kept)?;
        let bar = output.upload_bar(key, *size);
        let advance = |count: usize| bar.advance(count.try_into().unwrap_or_default());
        let sha256 = fetch(agent, (key, *size), url, &mut file, advance)?;
        file.persist(&place).map_err(|error| kept(error.error))?;
        Ok((sha256, true))
    };
    download(url).or_else(|failed| {
        let copied = archive.copy_url.as_deref().and_then(|url| download(url).ok());
        let copied = copied.ok_or(failed)?;
        output.warning(&format!(
            "{key} comes from the second bucket, because the main one did not return it: run `terrace admin verify`"
        ));
        Ok(copied)
    })
}
