//! Reads: one index, and the facts only when there is none.

use terrace_core::index::{self, IndexDocument, ListedRelease};
use terrace_core::key::{FactKey, IndexKey, Package};
use terrace_core::limits;
use terrace_core::publish::StoredRelease;
use terrace_core::read::{FinishError, Found, IndexForm, Lookup};
use terrace_core::release::Release;
use terrace_core::reply::{Body, Reply};
use terrace_core::version::Version;

use super::{App, Failure};
use crate::store::{Clock as _, Fact, Facts as _, Indices as _, Platform, Revision, StoreError};

/// The version lists of a package, each with the key it is written to.
type Lists = Vec<(IndexKey, IndexDocument)>;

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
            IndexKey::Versions(package) | IndexKey::MirrorVersions(package) => {
                let lists = self.mend_versions(package).await?;
                let wanted = lists.into_iter().find(|(key, _)| *key == lookup.key);
                wanted.map(|(_, document)| document)
            }
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
        // The edge may remember for long that there was none: asked for with a shorter time, it
        // looks again, and there is nothing to write.
        let seconds = limits::LIST_CACHE_SECONDS;
        let indices = self.platform.indices();
        let found = indices.get(&key, IndexForm::Stream, seconds).await;
        if matches!(found, Ok(Some(found)) if found.metadata == document.metadata) {
            return Ok(Some(document));
        }
        if let Err(error) = indices.put(&key, &document).await {
            self.platform.log(&format!("storage: {error}"));
        }
        Ok(Some(document))
    }

    /// The release of a version, if it was published.
    async fn release(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Option<Release>, Failure> {
        let stored = self.stored(package, version).await?;
        Ok(stored.map(|stored| stored.release))
    }

    /// The release of a version as it is stored, if it was published.
    pub(super) async fn stored(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Option<StoredRelease>, Failure> {
        let key = FactKey::Release(package.clone(), version.clone());
        let Some(Fact { bytes, etag }) = self.platform.facts().get(&key).await? else {
            return Ok(None);
        };
        let release = Release::from_document(&bytes)
            .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))?;
        Ok(Some(StoredRelease { release, etag }))
    }

    /// Writes the version lists, and again as long as somebody commits meanwhile. Why this ends with
    /// the newest lists is told in [`terrace_core::index`]. Empty when there is nothing to list.
    ///
    /// # Errors
    /// When a list may not be the newest one: the same request again will see to it.
    pub(super) async fn index_versions(&self, package: &Package) -> Result<Lists, Failure> {
        for _ in 0..limits::REFRESH_ROUNDS {
            let before = self.change(package).await?;
            let lists = self.versions(package).await?;
            if lists.is_empty() {
                return Ok(lists);
            }
            match self.write_lists(&lists).await {
                // Waiting coalesces: what others commit meanwhile is in the next lists.
                Err(StoreError::Busy(_)) => self.platform.clock().sleep(1).await,
                Err(error) => return Err(error.into()),
                Ok(()) => {
                    if self.change(package).await? == before {
                        return Ok(lists);
                    }
                }
            }
        }
        Err(Failure::Outrun(package.clone()))
    }

    /// The version list for a reader who found none. It is owed an answer; that the list is written
    /// is a courtesy, unless the reader's own write may have replaced a newer one.
    async fn mend_versions(&self, package: &Package) -> Result<Lists, Failure> {
        let before = self.change(package).await?;
        let lists = self.versions(package).await?;
        if lists.is_empty() {
            return Ok(lists);
        }
        match self.write_lists(&lists).await {
            // Somebody else has just written it.
            Err(StoreError::Busy(_)) => return Ok(lists),
            // It may have taken effect.
            Err(error) => self.platform.log(&format!("storage: {error}")),
            Ok(()) => {}
        }
        if self
            .change(package)
            .await
            .is_ok_and(|after| after == before)
        {
            return Ok(lists);
        }
        match self.index_versions(package).await {
            Ok(newest) => Ok(newest),
            Err(failure) => {
                self.problem(failure);
                Ok(lists)
            }
        }
    }

    async fn write_lists(&self, lists: &Lists) -> Result<(), StoreError> {
        for (key, document) in lists {
            self.platform.indices().put(key, document).await?;
        }
        Ok(())
    }

    async fn change(&self, package: &Package) -> Result<Option<Revision>, StoreError> {
        let key = FactKey::Change(package.clone());
        self.platform.facts().revision(&key).await
    }

    async fn versions(&self, package: &Package) -> Result<Lists, Failure> {
        let releases = self.list_releases(package).await?;
        index::versions(package, releases).map_err(|error| Failure::Corrupt(error.to_string()))
    }

    /// What version lists say about each release. Where a copy of the bucket has lost an object's
    /// metadata, its document tells.
    async fn list_releases(&self, package: &Package) -> Result<Vec<ListedRelease>, Failure> {
        let mut releases = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.platform.facts().releases(package, cursor).await?;
            for (version, listed) in page.releases {
                match listed {
                    Some(listed) => releases.push(listed),
                    None => {
                        let release = self.release(package, &version).await?;
                        releases.extend(release.as_ref().map(ListedRelease::of));
                    }
                }
            }
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(releases);
            }
        }
    }
}
