//! Indices in a file, so that a start need not rebuild them.

use std::io;
use std::sync::Arc;

use terrace_app::host::{IndexPage, Indices, StoreError};
use terrace_core::read::{IndexForm, StoredIndex};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::IndexKey;

use super::database::{Database, Durable, INDICES, failed};
use super::{KEYS_PER_LISTING, failure, in_form};
use crate::blocking::blocking;
use crate::stream::ByteStream;

/// Indices in a file. Clones share them.
#[derive(Debug, Clone)]
pub struct StoredIndices(Arc<Database>);

impl StoredIndices {
    pub(crate) fn new(database: Arc<Database>) -> Self {
        Self(database)
    }

    /// Returns an index. A value that cannot be parsed counts as missing.
    ///
    /// Reads do not wait for writes, and the pages of an index that is read often are in memory. So it is read here and not
    /// by another thread, which would take several times as long.
    fn find(&self, key: &str) -> io::Result<Option<IndexDocument>> {
        self.0.read(|transaction| {
            let indices = transaction.open_table(INDICES).map_err(failed)?;
            let found = indices.get(key).map_err(failed)?;
            Ok(found.and_then(|found| {
                let (metadata, text) = found.value();
                let metadata = serde_json::from_str(metadata).ok()?;
                Some(IndexDocument {
                    text: text.to_owned(),
                    metadata,
                })
            }))
        })
    }

    /// Removes all indices with keys that begin with one of these texts.
    #[cfg(feature = "object-store")]
    pub(crate) async fn remove_below(&self, prefixes: Vec<String>) -> io::Result<()> {
        if prefixes.is_empty() {
            return Ok(());
        }
        let database = Arc::clone(&self.0);
        let remove = move || {
            database.write(Durable::Later, |transaction| {
                let mut indices = transaction.open_table(INDICES).map_err(failed)?;
                for prefix in &prefixes {
                    // No key contains the last character of Unicode.
                    let end = format!("{prefix}{}", char::MAX);
                    let all = prefix.as_str()..end.as_str();
                    indices.retain_in(all, |_, _| false).map_err(failed)?;
                }
                Ok(())
            })
        };
        blocking(remove).await
    }

    fn keys(&self, prefix: &str, from: &str) -> io::Result<IndexPage> {
        self.0.read(|transaction| {
            let indices = transaction.open_table(INDICES).map_err(failed)?;
            let mut page = IndexPage::default();
            for entry in indices.range(from..).map_err(failed)? {
                let (key, _) = entry.map_err(failed)?;
                let key = key.value();
                if !key.starts_with(prefix) {
                    break;
                }
                if page.keys.len() == KEYS_PER_LISTING {
                    page.cursor = Some(key.to_owned());
                    break;
                }
                page.keys.push(key.to_owned());
            }
            Ok(page)
        })
    }
}

impl Indices for StoredIndices {
    type Stream = ByteStream;

    async fn get(
        &self,
        key: &IndexKey,
        form: IndexForm,
        _cache_seconds: u32,
    ) -> Result<Option<StoredIndex<ByteStream>>, StoreError> {
        let found = self.find(&key.to_string());
        let found = found.map_err(|error| failure("get", key, &error))?;
        Ok(found.map(|document| in_form(document, form)))
    }

    async fn list_keys(
        &self,
        prefix: &str,
        cursor: Option<String>,
    ) -> Result<IndexPage, StoreError> {
        let from = cursor.unwrap_or_else(|| prefix.to_owned());
        let page = self.keys(prefix, &from);
        page.map_err(|error| failure("list", prefix, &error))
    }

    async fn put(&self, key: &IndexKey, document: &IndexDocument) -> Result<(), StoreError> {
        let failed_put = |error: &io::Error| failure("put", key, error);
        let metadata = serde_json::to_string(&document.metadata);
        let metadata = metadata.map_err(|error| failed_put(&error.into()))?;
        let (database, name, text) = (Arc::clone(&self.0), key.to_string(), document.text.clone());
        let write = move || {
            database.write(Durable::Later, |transaction| {
                let mut indices = transaction.open_table(INDICES).map_err(failed)?;
                let value = (metadata.as_str(), text.as_str());
                indices.insert(name.as_str(), value).map_err(failed)?;
                Ok(())
            })
        };
        blocking(write).await.map_err(|error| failed_put(&error))
    }

    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError> {
        let (database, name) = (Arc::clone(&self.0), key.to_string());
        let remove = move || {
            database.write(Durable::Later, |transaction| {
                let mut indices = transaction.open_table(INDICES).map_err(failed)?;
                indices.remove(name.as_str()).map_err(failed)?;
                Ok(())
            })
        };
        let removed = blocking(remove).await;
        removed.map_err(|error| failure("delete", key, &error))
    }
}
