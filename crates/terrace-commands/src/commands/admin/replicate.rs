//! `terrace admin replicate`: copies the objects that the second bucket lacks, from the main bucket through this machine.

use std::fs::File;

use serde_json::json;
use terrace_base::digest::Sha256;
use terrace_core::api::admin::{MissingArchive, MissingCopy, ReplicationAnswer, ReplicationBody};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::BytesKey;
use ureq::Agent;

use super::export::Hashers;
use crate::archive::{Archive, Source, each_chunk};
use crate::args::RegistryArguments;
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::http;
use crate::http::Retries;
use crate::output::{Output, bytes, plural};
use crate::parallel;
use crate::registry::client::Client;
use crate::registry::upload::{Storage, Upload, upload};
use crate::upstream::download::{DownloadError, download};

/// The number of archives that are copied at once.
const PARALLEL_COPIES: usize = 4;

/// The differences between the two buckets.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// The number of archives and blobs in the main bucket.
    pub(super) stored: u64,
    /// How many of them the second bucket does not have.
    pub(super) missing: u64,
    /// Their bytes.
    pub(super) missing_bytes: u64,
    /// Erased ones that the second bucket still has. The scheduled copy removes them.
    pub(super) erased: Vec<String>,
    /// Others that only the second bucket has.
    pub(super) surplus: Vec<String>,
}

/// Copies the archives and blobs that the second bucket does not have, or only counts them.
pub(super) fn replicate(
    dry_run: bool,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let agent = http::download_agent()?;
    let mut copied = Copied::default();
    let found = each_page(&client, dry_run, |page| match dry_run {
        true => Ok(()),
        false => copy_page(&client, &agent, page, &mut copied, output),
    })?;
    let Copied { count, refused } = copied;
    if !refused.is_empty() {
        return Err(Failure::Refused(refused));
    }
    let Difference {
        stored,
        missing,
        missing_bytes,
        erased,
        surplus,
    } = &found;
    let of_all = plural(*stored, "archive");
    let mut lines = vec![match (dry_run, missing) {
        (_, 0) => format!("the second bucket has all of {of_all}"),
        (true, _) => format!(
            "the second bucket lacks {missing} of {of_all} ({})",
            bytes(*missing_bytes)
        ),
        // The others were removed in the meantime.
        (false, _) => format!(
            "copied {count} of {missing} missing archives ({}); the second bucket has all of {of_all}",
            bytes(*missing_bytes)
        ),
    }];
    if !erased.is_empty() {
        lines.push(format!(
            "the second bucket still has {}: the scheduled copy removes them",
            plural(erased.len(), "erased archive")
        ));
    }
    if let Some(first) = surplus.first() {
        lines.push(format!(
            "only the second bucket has {}, such as {first}: the main bucket has lost them (`terrace admin verify`), or they were removed \
             while the settings of the second bucket were absent; then remove them from it (--json has all keys)",
            plural(surplus.len(), "archive")
        ));
    }
    let report = json!({
        "status": if dry_run { "dry_run" } else { "ok" },
        "stored": stored,
        "missing": missing,
        "missing_bytes": missing_bytes,
        "copied": count,
        "erased": erased,
        "surplus": surplus,
    });
    output.result(&lines, &report);
    Ok(())
}

/// Compares the two buckets page by page, and passes each page to `take`.
pub(super) fn each_page(
    client: &Client<'_>,
    dry_run: bool,
    mut take: impl FnMut(&ReplicationAnswer) -> Result<(), Failure>,
) -> Result<Difference, Failure> {
    let mut found = Difference::default();
    let mut body = ReplicationBody {
        dry_run,
        ..ReplicationBody::default()
    };
    loop {
        let page = client.replication(&body)?;
        take(&page)?;
        found.stored += page.stored;
        found.missing += page.missing.len() as u64;
        found.missing_bytes += page.missing.iter().map(|it| it.size).sum::<u64>();
        found.erased.extend(page.erased);
        found.surplus.extend(page.surplus);
        match page.next {
            Some(next) if body.after.as_ref() != Some(&next) => body.after = Some(next),
            _ => return Ok(found),
        }
    }
}

/// The archives that were copied.
#[derive(Debug, Default)]
struct Copied {
    /// Their number.
    count: u64,
    /// The reasons why others cannot be copied.
    refused: Vec<String>,
}

/// Copies the missing archives of a page. One that is damaged does not stop the others. After a failure that may pass, the
/// registry is asked for the same page again: its URLs are fresh, and archives that have arrived are no longer missing.
fn copy_page(
    client: &Client<'_>,
    agent: &Agent,
    page: &ReplicationAnswer,
    found: &mut Copied,
    output: &Output,
) -> Result<(), Failure> {
    let mut retries = Retries::new(client.http().retries());
    let mut left: Vec<MissingCopy> = page.missing.clone();
    while !left.is_empty() {
        let copied = parallel::map(&left, PARALLEL_COPIES, |missing| {
            copy(client, agent, missing, output)
        });
        let mut passing = None;
        let mut absent = Vec::new();
        for (missing, outcome) in left.iter().zip(copied) {
            match outcome {
                Outcome::Absent => absent.push(missing.clone()),
                Outcome::Tried(Upload::Sent | Upload::AlreadyThere) => found.count += 1,
                Outcome::Tried(Upload::NotTried) => {}
                Outcome::Tried(Upload::Refused(Failure::Refused(reasons))) => {
                    found.refuse(reasons);
                }
                Outcome::Tried(Upload::Refused(failure)) => return Err(failure),
                Outcome::Tried(Upload::Failed(failure, asked)) => passing = Some((failure, asked)),
            }
        }
        check_removed(client, &absent)?;
        let Some((failure, asked)) = passing else {
            return Ok(());
        };
        let Some(pause) = retries.next(asked) else {
            return Err(failure);
        };
        client.http().wait(&failure, pause);
        left = still_missing(client, &left)?;
    }
    Ok(())
}

/// Checks that archives with URLs that were answered 404 were removed or erased in the meantime: then the registry no
/// longer lists them.
fn check_removed(client: &Client<'_>, absent: &[MissingCopy]) -> Result<(), Failure> {
    let listed = still_missing(client, absent)?;
    let Some(first) = listed.first() else {
        return Ok(());
    };
    Err(Failure::refused(format!(
        "the download URLs of {}, such as {}, are answered with status 404, although the registry has them: TERRACE_S3_BUCKET or \
         TERRACE_S3_ENDPOINT names another bucket than the one that is bound as FACTS; correct the settings",
        plural(listed.len(), "archive"),
        first.key
    )))
}

impl Copied {
    /// Adds reasons, each of them once.
    fn refuse(&mut self, reasons: Vec<String>) {
        for reason in reasons {
            if !self.refused.contains(&reason) {
                self.refused.push(reason);
            }
        }
    }
}

/// Returns those archives of one page, in its order, that are still missing, with fresh URLs.
fn still_missing(client: &Client<'_>, left: &[MissingCopy]) -> Result<Vec<MissingCopy>, Failure> {
    let Some(first) = left.first() else {
        return Ok(Vec::new());
    };
    // The cursor is a key: the page after the one just before the first archive begins with it.
    let mut before = first.key.clone();
    before.pop();
    let body = ReplicationBody {
        after: Some(before),
        dry_run: false,
    };
    let mut page = client.replication(&body)?.missing;
    page.retain(|it| left.iter().any(|known| known.key == it.key));
    Ok(page)
}

/// The outcome of the copy of one archive.
enum Outcome {
    /// Its URL is answered 404.
    Absent,
    /// The upload was tried, or the download failed in another way.
    Tried(Upload),
}

fn copy(client: &Client<'_>, agent: &Agent, missing: &MissingCopy, output: &Output) -> Outcome {
    let archive = match fetched(agent, missing) {
        Ok(archive) => archive,
        Err(outcome) => return outcome,
    };
    let job = MissingArchive {
        filename: missing.key.clone(),
        sha256: archive.sha256.to_string(),
        size: missing.size,
        upload: missing.upload.clone(),
    };
    let outcomes = upload(
        client.http().agent(),
        Storage::Fallback,
        &[(&archive, job)],
        output,
    );
    let outcome = outcomes.into_iter().next();
    Outcome::Tried(outcome.unwrap_or(Upload::NotTried))
}

/// Downloads an archive to a temporary file, if it has the digest in its key.
fn fetched(agent: &Agent, missing: &MissingCopy) -> Result<Archive, Outcome> {
    let MissingCopy { key, size, url, .. } = missing;
    let refused = |failure: Failure| Outcome::Tried(Upload::Refused(failure));
    let unavailable =
        |reason: String| Outcome::Tried(Upload::Failed(Failure::Unavailable(reason), None));
    let Some(bytes) = BytesKey::parse_key(key) else {
        let message = format!("the registry names {key}, which is not the key of an archive");
        return Err(refused(Failure::Unexpected(message)));
    };
    // The error may quote the URL, which is a secret.
    let response = agent
        .get(url)
        .call()
        .map_err(|error| unavailable(format!("{key}: {}", http::describe(&error))))?;
    let status = response.status().as_u16();
    match status {
        200 => {}
        404 => return Err(Outcome::Absent),
        _ => {
            let reason = format!("{key}: the main bucket responded with status {status}");
            return Err(unavailable(reason));
        }
    }
    let reader = response.into_body().into_reader();
    let local =
        |error: std::io::Error| refused(Failure::refused(format!("a temporary file: {error}")));
    let downloaded = download(reader, *size, |_| {}).map_err(|error| match error {
        DownloadError::Local(error) => local(error),
        DownloadError::Remote(error) => unavailable(format!("{key}: {error}")),
        DownloadError::TooLong => unavailable(format!("{key} is longer than {size} bytes")),
    })?;
    let source = Source::Temporary(downloaded.file);
    let digest = bytes.digest();
    let found = match digest {
        Digest::Sha256(_) => Digest::Sha256(downloaded.sha256),
        Digest::Sha512(_) => rehashed(source.open().map_err(local)?, digest).map_err(local)?,
    };
    if found != digest {
        let message = format!(
            "{key} has other contents, with the digest {found}: it is damaged in the main bucket, or its download was cut; it is \
             not copied"
        );
        return Err(refused(Failure::refused(message)));
    }
    let sha256: Sha256 = downloaded.sha256;
    Ok(Archive {
        filename: key.clone(),
        source,
        size: downloaded.size,
        sha256,
    })
}

fn rehashed(mut file: File, digest: Digest) -> std::io::Result<Digest> {
    let mut hashers = Hashers::of(digest);
    each_chunk(&mut file, |chunk| hashers.update(chunk))?;
    Ok(hashers.finish().1)
}
