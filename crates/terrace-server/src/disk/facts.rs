//! Facts in a directory.

use std::sync::Arc;

use terrace_app::host::{
    Condition, Fact, FactPage, Facts, ListedFact, ReleasePage, Revision, StoreError,
};
use terrace_base::time::UnixTime;
use terrace_core::index::ListedRelease;
use terrace_core::model::package::Package;
use terrace_core::storage::key::FactKey;

use super::documents::ListedDocument;
use super::{Directory, failure};
use crate::blocking::blocking;
use crate::volume::Stat;

/// The maximum number of releases in a page.
const RELEASES_PER_PAGE: u32 = 1_000;

impl Directory {
    async fn list_documents(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<(Vec<ListedDocument>, bool), StoreError> {
        let (inner, owned) = (Arc::clone(&self.0), prefix.to_owned());
        let after = after.map(str::to_owned);
        let list = move || inner.list_documents((&owned, after.as_deref()), limit);
        let listed = blocking(list).await;
        listed.map_err(|error| failure("list", prefix, &error))
    }
}

impl Facts for Directory {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        let (inner, name) = (Arc::clone(&self.0), key.to_string());
        let read = blocking(move || inner.document(&name)).await;
        read.map_err(|error| failure("get", key, &error))
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
        let (inner, name) = (Arc::clone(&self.0), key.to_string());
        let read = blocking(move || inner.revision(&name)).await;
        read.map_err(|error| failure("head", key, &error))
    }

    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError> {
        let (inner, name, document) = (Arc::clone(&self.0), key.to_string(), document.to_owned());
        let metadata = metadata.iter();
        let metadata = metadata.map(|(name, value)| ((*name).to_owned(), value.clone()));
        let metadata = metadata.collect();
        let put = move || inner.put_document(&name, &document, metadata, &condition);
        let put = blocking(put).await;
        put.map_err(|error| failure("put", key, &error))
    }

    async fn releases(
        &self,
        package: &Package,
        cursor: Option<String>,
    ) -> Result<ReleasePage, StoreError> {
        let prefix = FactKey::releases_of(package);
        let (documents, is_truncated) = self
            .list_documents(&prefix, cursor.as_deref(), RELEASES_PER_PAGE)
            .await?;
        let last = documents.last();
        let last = last.and_then(|document| document.key.strip_prefix(&prefix));
        let cursor = last.filter(|_| is_truncated).map(str::to_owned);
        let listed = |document: &ListedDocument| {
            let version = FactKey::version_in(&document.key)?;
            let value = |name: &str| document.record.value(name);
            let time = stored_at(document.stat);
            let entry = ListedRelease::from_metadata(package, version.clone(), time, value);
            Some((version, entry))
        };
        Ok(ReleasePage {
            releases: documents.iter().filter_map(listed).collect(),
            cursor,
        })
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FactPage, StoreError> {
        let (documents, is_truncated) = self.list_documents(prefix, after, limit).await?;
        let listed = |document: ListedDocument| {
            Some(ListedFact {
                name: document.key.strip_prefix(prefix)?.to_owned(),
                metadata: document.record.metadata,
                stored_at: stored_at(document.stat),
                etag: document.record.etag,
            })
        };
        Ok(FactPage {
            facts: documents.into_iter().filter_map(listed).collect(),
            is_truncated,
        })
    }

    async fn delete(&self, key: &FactKey) -> Result<(), StoreError> {
        let (inner, name) = (Arc::clone(&self.0), key.to_string());
        let removed = blocking(move || inner.remove_document(&name)).await;
        removed.map_err(|error| failure("delete", key, &error))
    }
}

/// Returns the time at which a file was stored.
pub(super) fn stored_at(stat: Stat) -> UnixTime {
    UnixTime(stat.modified / 1_000_000_000)
}
