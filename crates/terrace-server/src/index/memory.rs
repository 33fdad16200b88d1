//! Indices in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use terrace_app::host::{IndexPage, Indices, StoreError};
use terrace_core::read::{IndexForm, StoredIndex};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::IndexKey;

use super::{KEYS_PER_LISTING, in_form};
use crate::stream::ByteStream;

/// Indices in memory. Clones share them, also between threads.
#[derive(Debug, Clone, Default)]
pub struct MemoryIndices(Arc<RwLock<BTreeMap<String, IndexDocument>>>);

impl MemoryIndices {
    fn find(&self, key: &IndexKey) -> Option<IndexDocument> {
        let documents = self.0.read().unwrap_or_else(PoisonError::into_inner);
        documents.get(&key.to_string()).cloned()
    }
}

impl Indices for MemoryIndices {
    type Stream = ByteStream;

    async fn get(
        &self,
        key: &IndexKey,
        form: IndexForm,
        _cache_seconds: u32,
    ) -> Result<Option<StoredIndex<ByteStream>>, StoreError> {
        Ok(self.find(key).map(|document| in_form(document, form)))
    }

    async fn get_all(
        &self,
        keys: &[&IndexKey],
        _cache_seconds: u32,
    ) -> Result<Vec<Option<StoredIndex<ByteStream>>>, StoreError> {
        let find = |key: &&IndexKey| {
            let found = self.find(key);
            found.map(|document| in_form(document, IndexForm::Text))
        };
        Ok(keys.iter().map(find).collect())
    }

    async fn list_keys(
        &self,
        prefix: &str,
        cursor: Option<String>,
    ) -> Result<IndexPage, StoreError> {
        let documents = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let from = cursor.unwrap_or_else(|| prefix.to_owned());
        let rest = documents.range(from..).map(|(key, _)| key);
        let mut rest = rest.take_while(|key| key.starts_with(prefix)).cloned();
        Ok(IndexPage {
            keys: rest.by_ref().take(KEYS_PER_LISTING).collect(),
            cursor: rest.next(),
        })
    }

    async fn put(&self, key: &IndexKey, document: &IndexDocument) -> Result<(), StoreError> {
        let mut documents = self.0.write().unwrap_or_else(PoisonError::into_inner);
        documents.insert(key.to_string(), document.clone());
        Ok(())
    }

    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError> {
        let mut documents = self.0.write().unwrap_or_else(PoisonError::into_inner);
        documents.remove(&key.to_string());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryIndices;
    use crate::contract::contract_tests;

    contract_tests! { (MemoryIndices::default(), ()) =>
        an_index_is_read_in_the_form_that_is_asked_for,
        keys_of_indices_are_listed_in_order,
    }
}
