//! `terrace admin replicate`: copies the objects that the second bucket lacks, from the main bucket through this machine.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use terrace_core::api::admin::{MissingArchive, MissingCopy, ReplicationAnswer, ReplicationBody};
use terrace_core::api::endpoint::REPLICATION;
use ureq::Agent;

use super::fetch::fetch;
use super::stored::each_page;
use crate::archive::{Archive, Source};
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::http::{self, Retries};
use crate::output::{Output, bytes, plural};
use crate::parallel;
use crate::registry::client::{Call, Client};
use crate::registry::upload::{FALLBACK, Upload, upload};
use crate::upstream::AttemptError;

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

/// A failure that may pass, and the pause that the storage requests.
type Passing = (Failure, Option<Duration>);

/// Copies the archives and blobs that the second bucket does not have, or only counts them.
pub(super) fn replicate(dry_run: bool, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let agent = http::download_agent()?;
    let mut count = 0_u64;
    let mut refused = BTreeSet::new();
    let found = compare(&client, dry_run, |page| {
        if dry_run {
            return Ok(None);
        }
        let copied = parallel::map(&page.missing, PARALLEL_COPIES, |missing| {
            copy(&client, &agent, missing, output)
        });
        let mut passing = None;
        for outcome in copied {
            match outcome {
                Upload::Sent | Upload::AlreadyThere => count += 1,
                Upload::NotTried => {}
                // One that is damaged does not stop the others.
                Upload::Refused(Failure::Refused(reasons)) => refused.extend(reasons),
                Upload::Refused(failure) => return Err(failure),
                Upload::Failed(failure, asked) => passing = Some((failure, asked)),
            }
        }
        Ok(passing)
    })?;
    if !refused.is_empty() {
        return Err(Failure::Refused(refused.into_iter().collect()));
    }
    let of_all = plural(found.stored, "archive");
    let (missing, size) = (found.missing, bytes(found.missing_bytes));
    let mut lines = vec![match (dry_run, missing) {
        (_, 0) => format!("the second bucket has all of {of_all}"),
        (true, _) => format!("the second bucket lacks {missing} of {of_all} ({size})"),
        // The others were removed in the meantime.
        (false, _) => format!(
            "copied {count} of {missing} missing archives ({size}); the second bucket has all of {of_all}"
        ),
    }];
    if !found.erased.is_empty() {
        lines.push(format!(
            "the second bucket still has {}: the scheduled copy removes them",
            plural(found.erased.len(), "erased archive")
        ));
    }
    if let Some(first) = found.surplus.first() {
        lines.push(format!(
            "only the second bucket has {}, such as {first}: the main bucket has lost them (`terrace admin verify`), or they were removed \
             while the settings of the second bucket were absent; then remove them from it (--json has all keys)",
            plural(found.surplus.len(), "archive")
        ));
    }
    let report = json!({
        "status": if dry_run { "dry_run" } else { "ok" },
        "stored": found.stored,
        "missing": missing,
        "missing_bytes": found.missing_bytes,
        "copied": count,
        "erased": found.erased,
        "surplus": found.surplus,
    });
    output.result(&lines, &report);
    Ok(())
}

/// Compares the two buckets page by page, and passes each page to `take`. After a failure that may pass, it gets the rest of the
/// page again, with fresh URLs.
pub(super) fn compare(
    client: &Client<'_>,
    dry_run: bool,
    mut take: impl FnMut(&ReplicationAnswer) -> Result<Option<Passing>, Failure>,
) -> Result<Difference, Failure> {
    let mut found = Difference::default();
    each_page(|after| {
        let body = ReplicationBody {
            after: after.map(str::to_owned),
            dry_run,
        };
        let ask = || client.call::<ReplicationAnswer>(Call::post(&REPLICATION).json(&body)?);
        let mut retries = Retries::new(client.http().retries());
        let mut page = ask()?;
        // A page that is asked for again has some of these.
        found.missing += u64::try_from(page.missing.len()).unwrap_or_default();
        found.missing_bytes += page.missing.iter().map(|it| it.size).sum::<u64>();
        while let Some((failure, asked)) = take(&page)? {
            let pause = retries.next(asked).ok_or_else(|| failure.clone())?;
            client.http().wait(&failure, pause);
            page = ask()?;
        }
        found.stored += page.stored;
        found.erased.extend(page.erased);
        found.surplus.extend(page.surplus);
        Ok(page.next)
    })?;
    Ok(found)
}

/// Copies an archive through a temporary file.
fn copy(client: &Client<'_>, agent: &Agent, missing: &MissingCopy, output: &Output) -> Upload {
    let MissingCopy { key, size, url, .. } = missing;
    let fetched = tempfile::tempfile()
        .map_err(|error| Failure::Local(format!("a temporary file: {error}")))
        .map_err(AttemptError::permanent)
        .and_then(|mut file| {
            let sha256 = fetch(agent, (key, *size), url, &mut file, |_| {})?;
            Ok((file, sha256))
        });
    let (file, sha256) = match fetched {
        Ok(fetched) => fetched,
        Err(error) if error.is_transient => return Upload::Failed(error.failure, None),
        Err(error) => return Upload::Refused(error.failure),
    };
    let archive = Archive {
        filename: key.clone(),
        source: Source::Temporary(file),
        size: *size,
        sha256,
    };
    let job = MissingArchive {
        filename: key.clone(),
        sha256: sha256.to_string(),
        size: *size,
        upload: missing.upload.clone(),
    };
    let agent = client.http().agent();
    let outcomes = upload(agent, FALLBACK, &[(&archive, job)], output);
    outcomes.into_iter().next().unwrap_or(Upload::NotTried)
}
