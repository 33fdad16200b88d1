//! Reads: one index, and the facts only when there is none.

use terrace_core::index::{self, IndexDocument, ListedRelease};
use terrace_core::key::{FactKey, IndexKey, Package};
use terrace_core::limits;
use terrace_core::read::{FinishError, Found, Lookup};
use terrace_core::release::Release;
use terrace_core::reply::{Body, Reply};
use terrace_core::version::Version;

use super::{App, Failure};
use crate::store::{Clock as _, Facts as _, Indices as _, Platform, StoreError};

/// Who writes a version list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    /// Somebody who published: the list has to be written.
    Publisher,
    /// Somebody who found none: an answer is owed, the list is a courtesy.
    Reader,
}

impl<P: Platform> App<'_, P> {
    pub(super) async fn read(&self, lookup: &Lookup, origin: &str) -> Reply<P::Stream> {
        let found = self
            .platform
            .indices()
            .get(&lookup.key, lookup.form, lookup.cache_seconds)
            .await;
        match found {
            Ok(Some(found)) => match self.finish(lookup, found, origin) {
                Ok(reply) => return reply,
                Err(FinishError::Problem(problem)) => return lookup.problem(&problem),
                Err(FinishError::Corrupt) => {
                    self.platform
                        .log(&format!("index {} is corrupt", lookup.key));
                }
            },
            Ok(None) => {}
            // R2 can answer when KV cannot.
            Err(error) => self.platform.log(&format!("storage: {error}")),
        }
        match self.read_facts(lookup, origin).await {
            Ok(reply) => reply,
            Err(failure) => lookup.problem(&self.problem(failure)),
        }
    }

    fn finish(
        &self,
        lookup: &Lookup,
        found: Found<P::Stream>,
        origin: &str,
    ) -> Result<Reply<P::Stream>, FinishError> {
        let urls = self.config.archive_urls.as_ref();
        lookup.finish(found, urls, origin, self.platform.clock().now())
    }

    /// The slow way: KV has nothing, and R2 decides whether there is nothing.
    async fn read_facts(&self, lookup: &Lookup, origin: &str) -> Result<Reply<P::Stream>, Failure> {
        let document = match &lookup.key {
            IndexKey::Versions(package) => self.index_versions(package, Writer::Reader).await?,
            IndexKey::Version(package, version) => self.mend_version(package, version).await?,
        };
        let Some(IndexDocument { text, metadata }) = document else {
            return Ok(lookup.not_found());
        };
        let found = Found {
            metadata,
            body: Body::Text(text),
        };
        match self.finish(lookup, found, origin) {
            Ok(reply) => Ok(reply),
            Err(FinishError::Problem(problem)) => Err(problem.into()),
            Err(FinishError::Corrupt) => Err(Failure::Corrupt(lookup.key.to_string())),
        }
    }

    /// The index of a version from its release. That it could not be written is no reason not to
    /// answer: the next read will try again.
    async fn mend_version(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Option<IndexDocument>, Failure> {
        let Some(release) = self.release(package, version).await? else {
            return Ok(None);
        };
        let document = index::version(&release).map_err(|e| Failure::Corrupt(e.to_string()))?;
        let key = IndexKey::Version(package.clone(), version.clone());
        if let Err(error) = self.platform.indices().put(&key, &document).await {
            self.platform.log(&format!("storage: {error}"));
        }
        Ok(Some(document))
    }

    /// The release of a version, if it was published.
    pub(super) async fn release(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Option<Release>, Failure> {
        let key = FactKey::Release(package.clone(), version.clone());
        let Some(fact) = self.platform.facts().get(&key).await? else {
            return Ok(None);
        };
        Release::from_document(&fact.bytes)
            .map(Some)
            .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))
    }

    /// Writes the version list, and again as long as somebody commits meanwhile. Why this always
    /// ends with the newest list is told in [`terrace_core::index`]. `None` when there is nothing
    /// to list.
    pub(super) async fn index_versions(
        &self,
        package: &Package,
        writer: Writer,
    ) -> Result<Option<IndexDocument>, Failure> {
        let change = FactKey::Change(package.clone());
        let key = IndexKey::Versions(package.clone());
        let facts = self.platform.facts();
        let mut before = facts.revision(&change).await?;
        let mut has_written = false;
        for _ in 0..limits::REFRESH_ROUNDS {
            let releases = self.list_releases(package).await?;
            let document = index::versions(package, releases)
                .map_err(|error| Failure::Corrupt(error.to_string()))?;
            let Some(document) = document else {
                return Ok(None);
            };
            match self.platform.indices().put(&key, &document).await {
                Ok(()) => has_written = true,
                // A reader owes nobody this write; only what it may have made old itself it mends.
                Err(error @ StoreError::Busy(_)) if writer == Writer::Reader && !has_written => {
                    self.platform.log(&format!("storage: {error}"));
                    return Ok(Some(document));
                }
                Err(error @ StoreError::Failed { .. }) if writer == Writer::Reader => {
                    self.platform.log(&format!("storage: {error}"));
                    has_written = true;
                }
                // Waiting coalesces: what others commit meanwhile is in the next list.
                Err(StoreError::Busy(_)) => {
                    self.platform.clock().sleep(1).await;
                    before = facts.revision(&change).await?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            let after = facts.revision(&change).await?;
            if after == before {
                return Ok(Some(document));
            }
            before = after;
        }
        Err(StoreError::Busy(key.to_string()).into())
    }

    async fn list_releases(&self, package: &Package) -> Result<Vec<ListedRelease>, StoreError> {
        let mut releases = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.platform.facts().releases(package, cursor).await?;
            releases.extend(page.releases);
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(releases);
            }
        }
    }
}
