//! Rounds of uploads, until the registry has every archive that a request describes.

use std::collections::BTreeMap;

use terrace_core::api::admin::MissingArchive;

use crate::archive::Archive;
use crate::error::Failure;
use crate::http::Retries;
use crate::output::Output;
use crate::registry::client::Client;
use crate::registry::upload::{STORAGE, Upload, upload};

/// Rounds of uploads, each with fresh URLs from the registry, which also decides which archives are missing.
///
/// The rounds end, because each one sends at least one archive, and none is sent more often than allowed.
pub(crate) struct Uploads<'a> {
    archives: BTreeMap<String, &'a Archive>,
    client: &'a Client<'a>,
    output: &'a Output,
    /// The number of attempts for each archive, by its digest.
    tries: BTreeMap<String, u32>,
    retries: Retries,
    /// The names of the archives that arrived.
    sent: Vec<&'a str>,
    last_failure: Option<Failure>,
}

impl<'a> Uploads<'a> {
    /// Begins without any upload: the registry names the missing ones of these archives.
    pub(crate) fn new(archives: &'a [Archive], client: &'a Client<'a>, output: &'a Output) -> Self {
        let by_digest = |archive: &'a Archive| (archive.sha256.to_string(), archive);
        Self {
            archives: archives.iter().map(by_digest).collect(),
            client,
            output,
            tries: BTreeMap::new(),
            retries: Retries::new(u32::MAX),
            sent: Vec::new(),
            last_failure: None,
        }
    }

    /// Returns the names of the archives that arrived.
    pub(crate) fn into_sent(self) -> Vec<String> {
        self.sent.into_iter().map(str::to_owned).collect()
    }

    /// Uploads the missing archives. A failure that may pass is left to the next round, if the archive may be sent again.
    pub(crate) fn round(&mut self, missing: Vec<MissingArchive>) -> Result<(), Failure> {
        let jobs = self.jobs(&missing)?;
        let outcomes = upload(self.client.http().agent(), STORAGE, &jobs, self.output);
        let mut pause = None;
        let mut is_last = false;
        for ((archive, _), outcome) in jobs.iter().zip(outcomes) {
            if !matches!(outcome, Upload::NotTried) {
                *self.tries.entry(archive.sha256.to_string()).or_default() += 1;
            }
            match outcome {
                Upload::Sent => self.sent.push(&archive.filename),
                Upload::AlreadyThere | Upload::NotTried => {}
                Upload::Refused(failure) => return Err(failure),
                Upload::Failed(failure, asked) => {
                    is_last |= self.is_exhausted(&archive.sha256.to_string());
                    self.last_failure = Some(failure);
                    pause = pause.max(Some(asked));
                }
            }
        }
        if let Some(failure) = self.last_failure.as_ref().filter(|_| is_last) {
            return Err(failure.clone());
        }
        if let (Some(asked), Some(failure)) = (pause, &self.last_failure)
            && let Some(pause) = self.retries.next(asked)
        {
            self.client.http().wait(failure, pause);
        }
        Ok(())
    }

    /// Returns the archives that the registry requests.
    fn jobs(
        &self,
        missing: &[MissingArchive],
    ) -> Result<Vec<(&'a Archive, MissingArchive)>, Failure> {
        let mut jobs = Vec::new();
        for missing in missing {
            let filename = &missing.filename;
            let archive = self.archives.get(&missing.sha256).ok_or_else(|| {
                Failure::UnknownArchive(format!(
                    "the registry requests {filename}, which is not part of this release"
                ))
            })?;
            if self.is_exhausted(&missing.sha256) {
                return Err(self.exhausted(filename));
            }
            jobs.push((*archive, missing.clone()));
        }
        if jobs.is_empty() {
            return Err(Failure::Unexpected(
                "the registry reports that the release is incomplete, but not which archives are missing".to_owned(),
            ));
        }
        Ok(jobs)
    }

    /// Returns whether an archive was sent as often as allowed.
    fn is_exhausted(&self, sha256: &str) -> bool {
        let most = self.client.http().retries() + 1;
        self.tries.get(sha256).is_some_and(|n| *n >= most)
    }

    fn exhausted(&self, filename: &str) -> Failure {
        self.last_failure.clone().unwrap_or_else(|| {
            Failure::Unexpected(format!(
                "the registry keeps requesting archives that were uploaded, such as {filename}: uploads may go to \
                 another bucket than the one that the registry reads, or the file has changed"
            ))
        })
    }
}
