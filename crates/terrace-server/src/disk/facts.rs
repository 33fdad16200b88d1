//! Facts in a directory.

use terrace_app::host::{Condition, Fact, FactPage, Facts, ListedFact, Revision, StoreError};
use terrace_base::time::UnixTime;
use terrace_core::storage::key::FactKey;

use super::Directory;
use super::documents::ListedDocument;
use crate::volume::Stat;

impl Facts for Directory {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        let name = key.to_string();
        self.run("get", key, move |inner| inner.document(&name))
            .await
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
        let name = key.to_string();
        self.run("head", key, move |inner| inner.revision(&name))
            .await
    }

    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError> {
        let (name, document) = (key.to_string(), document.to_owned());
        let metadata = metadata.iter();
        let metadata = metadata.map(|(name, value)| ((*name).to_owned(), value.clone()));
        let metadata = metadata.collect();
        self.run("put", key, move |inner| {
            inner.put_document(&name, &document, metadata, &condition)
        })
        .await
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FactPage, StoreError> {
        let (owned, after) = (prefix.to_owned(), after.map(str::to_owned));
        let (documents, is_truncated) = self
            .run("list", prefix, move |inner| {
                inner.list_documents((&owned, after.as_deref()), limit)
            })
            .await?;
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
        let name = key.to_string();
        self.run("delete", key, move |inner| inner.remove_document(&name))
            .await
    }
}

/// Returns the time at which a file was stored.
pub(super) fn stored_at(stat: Stat) -> UnixTime {
    UnixTime(stat.modified / 1_000_000_000)
}
