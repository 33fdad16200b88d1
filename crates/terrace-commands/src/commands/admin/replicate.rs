//! `terrace admin replicate`: copies the objects that the second bucket lacks, from the main bucket through this machine.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use terrace_core::api::admin::{MissingArchive, MissingCopy, ReplicationAnswer, ReplicationBody};
use terrace_core::api::endpoint::REPLICATION;
use ureq::Agent;

use super::fetch::{FetchError, fetch};
use super::stored::each_page;
use crate::archive::{Archive, Source};
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::http::{self, Retries};
use crate::output::{Output, bytes, plural};
use crate::parallel;
use crate::registry::client::{Call, Client};
use crate::registry::upload::{Storage, Upload, upload};

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
pub(super) fn replicate(dry_run: bool, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let agent = http::download_agent()?;
    let mut copied = Copied::default();
    let found = compare(&client, dry_run, |page| match dry_run {
        true => Ok(Uncopied::default()),
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

/// Compares the two buckets page by page, and passes each page to `take`. If it does not copy everything, it gets the rest of the
/// page again, with fresh URLs.
pub(super) fn compare(
    client: &Client<'_>,
    dry_run: bool,
    mut take: impl FnMut(&ReplicationAnswer) -> Result<Uncopied, Failure>,
) -> Result<Difference, Failure> {
    let mut found = Difference::default();
    each_page(|after| {
        let body = ReplicationBody {
            after: after.map(str::to_owned),
            dry_run,
        };
        let ask = || client.call::<ReplicationAnswer>(Call::post(&REPLICATION).json(&body)?);
        let mut retries = Retries::new(client.http().retries());
        let mut counted = BTreeSet::new();
        let mut page = ask()?;
        loop {
            for missing in &page.missing {
                if counted.insert(missing.key.clone()) {
                    found.missing += 1;
                    found.missing_bytes += missing.size;
                }
            }
            let Uncopied { absent, passing } = take(&page)?;
            if absent.is_empty() && passing.is_none() {
                break;
            }
            if let Some((failure, asked)) = passing {
                let pause = retries.next(asked).ok_or_else(|| failure.clone())?;
                client.http().wait(&failure, pause);
            }
            page = ask()?;
            // Others were removed in the meantime.
            if let Some(key) = absent
                .iter()
                .find(|key| page.missing.iter().any(|it| it.key == **key))
            {
                return Err(Failure::refused(format!(
                    "the download URLs of archives, such as {key}, are answered with status 404, although the registry has them: \
                     TERRACE_S3_BUCKET or TERRACE_S3_ENDPOINT names another bucket than the one that is bound as FACTS; correct the \
                     settings"
                )));
            }
        }
        found.stored += page.stored;
        found.erased.extend(page.erased);
        found.surplus.extend(page.surplus);
        Ok(page.next)
    })?;
    Ok(found)
}

/// The archives of a page that are not copied.
#[derive(Default)]
pub(super) struct Uncopied {
    /// The keys of those with URLs that are answered 404.
    absent: Vec<String>,
    /// A failure that may pass, and the pause that the storage requests.
    passing: Option<(Failure, Option<Duration>)>,
}

/// The archives that were copied.
#[derive(Debug, Default)]
struct Copied {
    /// Their number.
    count: u64,
    /// The reasons why others cannot be copied.
    refused: Vec<String>,
}

/// Copies the missing archives of a page. One that is damaged does not stop the others.
fn copy_page(
    client: &Client<'_>,
    agent: &Agent,
    page: &ReplicationAnswer,
    found: &mut Copied,
    output: &Output,
) -> Result<Uncopied, Failure> {
    let copied = parallel::map(&page.missing, PARALLEL_COPIES, |missing| {
        copy(client, agent, missing, output)
    });
    let mut left = Uncopied::default();
    for (missing, outcome) in page.missing.iter().zip(copied) {
        match outcome {
            Outcome::Absent => left.absent.push(missing.key.clone()),
            Outcome::Tried(Upload::Sent | Upload::AlreadyThere) => found.count += 1,
            Outcome::Tried(Upload::NotTried) => {}
            Outcome::Tried(Upload::Refused(Failure::Refused(reasons))) => {
                found.refuse(reasons);
            }
            Outcome::Tried(Upload::Refused(failure)) => return Err(failure),
            Outcome::Tried(Upload::Failed(failure, asked)) => left.passing = Some((failure, asked)),
        }
    }
    Ok(left)
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

/// Downloads an archive to a temporary file.
fn fetched(agent: &Agent, missing: &MissingCopy) -> Result<Archive, Outcome> {
    let MissingCopy { key, size, url, .. } = missing;
    let file = tempfile::tempfile().map_err(FetchError::Local);
    let downloaded = file.and_then(|mut file| {
        let sha256 = fetch(agent, (key, *size), url, &mut file, |_| {})?;
        Ok((file, sha256))
    });
    let (file, sha256) = downloaded.map_err(|error| match error {
        FetchError::Absent => Outcome::Absent,
        FetchError::Passing(failure) => Outcome::Tried(Upload::Failed(failure, None)),
        FetchError::Refused(failure) => Outcome::Tried(Upload::Refused(failure)),
        FetchError::Local(error) => {
            let reason = format!("a temporary file: {error}");
            Outcome::Tried(Upload::Refused(Failure::refused(reason)))
        }
    })?;
    Ok(Archive {
        filename: key.clone(),
        source: Source::Temporary(file),
        size: *size,
        sha256,
    })
}
