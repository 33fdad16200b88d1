//! Indices in KV.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use terrace_app::host::{IndexPage, Indices, StoreError};
use terrace_core::http::reply::Body;
use terrace_core::limits::INDICES_AT_ONCE;
use terrace_core::read::{IndexForm, StoredIndex};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::IndexKey;
use terrace_server::memory::PAGE;

use super::Memory;
use super::edge::{Edge, Reader};
use crate::support::faults::Operation;

/// A namespace of KV.
#[derive(Default)]
pub struct Kv {
    /// The last write of each key.
    pub documents: RefCell<BTreeMap<String, IndexDocument>>,
    /// The locations' view of the documents, if writes are not visible everywhere at once.
    edge: RefCell<Option<Edge>>,
    /// The number of keys in a page of a listing, if lower than usual.
    pub keys_per_page: Cell<Option<usize>>,
    /// How long the edge may cache the last index that was read, in seconds.
    pub cache_seconds: Cell<u32>,
}

impl Kv {
    pub fn copy_from(&self, other: &Self) {
        self.documents.replace(other.documents.borrow().clone());
    }

    pub fn set_edge(&self, edge: Edge) {
        self.edge.replace(Some(edge));
    }

    /// Calls `ask` with the edge, if there is one.
    pub fn with_edge<T>(&self, ask: impl FnOnce(&mut Edge) -> T) -> Option<T> {
        self.edge.borrow_mut().as_mut().map(ask)
    }

    fn write(
        &self,
        key: &str,
        document: Option<&IndexDocument>,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        self.with_edge(|edge| edge.write(key, document, now_ms))
            .unwrap_or(Ok(()))?;
        let mut documents = self.documents.borrow_mut();
        match document {
            Some(document) => documents.insert(key.to_owned(), document.clone()),
            None => documents.remove(key),
        };
        Ok(())
    }

    fn read(&self, key: &str, reader: Reader, now_ms: u64) -> Option<IndexDocument> {
        let last = self.documents.borrow().get(key).cloned();
        match self.edge.borrow_mut().as_mut() {
            Some(edge) => edge.read(key, reader, last, now_ms),
            None => last,
        }
    }

    fn page(&self, prefix: &str, cursor: Option<String>) -> IndexPage {
        let documents = self.documents.borrow();
        let from = cursor.unwrap_or_else(|| prefix.to_owned());
        let mut rest = documents
            .keys()
            .filter(|key| **key >= from && key.starts_with(prefix));
        let limit = self.keys_per_page.get().unwrap_or(PAGE);
        let keys = rest.by_ref().take(limit).cloned().collect();
        let cursor = rest.next().cloned();
        IndexPage { keys, cursor }
    }
}

impl Memory {
    /// Reads an index as visible at this isolate's location.
    pub fn read_index(&self, key: &str, cache_seconds: u32) -> Option<IndexDocument> {
        let reader = Reader {
            location: self.place.location,
            cache_seconds,
        };
        self.world.kv.read(key, reader, self.now_ms())
    }
}

impl Indices for Memory {
    type Stream = Vec<u8>;

    async fn get(
        &self,
        key: &IndexKey,
        form: IndexForm,
        cache_seconds: u32,
    ) -> Result<Option<StoredIndex<Vec<u8>>>, StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("KV get", &key), || {
            self.world.kv.cache_seconds.set(cache_seconds);
            let document = self.read_index(&key, cache_seconds);
            Ok(document.map(|document| StoredIndex {
                metadata: document.metadata,
                body: match form {
                    IndexForm::Stream => Body::Stream(document.text.into_bytes()),
                    IndexForm::Text => Body::Text(document.text),
                },
            }))
        })
        .await
    }

    async fn get_all(
        &self,
        keys: &[&IndexKey],
        cache_seconds: u32,
    ) -> Result<Vec<Option<StoredIndex<Vec<u8>>>>, StoreError> {
        let count = keys.len();
        assert!(count <= INDICES_AT_ONCE, "{count} keys at once");
        let operation = Operation::new("KV get", &format!("{count} keys"));
        self.operation(operation, || {
            self.world.kv.cache_seconds.set(cache_seconds);
            let read = |key: &&IndexKey| self.read_index(&key.to_string(), cache_seconds);
            let found = |document: IndexDocument| StoredIndex {
                metadata: document.metadata,
                body: Body::Text(document.text),
            };
            Ok(keys.iter().map(read).map(|it| it.map(found)).collect())
        })
        .await
    }

    async fn list_keys(
        &self,
        prefix: &str,
        cursor: Option<String>,
    ) -> Result<IndexPage, StoreError> {
        self.operation(Operation::new("KV list", prefix), || {
            Ok(self.world.kv.page(prefix, cursor))
        })
        .await
    }

    async fn put(&self, key: &IndexKey, document: &IndexDocument) -> Result<(), StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("KV put", &key), || {
            self.world.kv.write(&key, Some(document), self.now_ms())
        })
        .await
    }

    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("KV delete", &key), || {
            self.world.kv.write(&key, None, self.now_ms())
        })
        .await
    }
}
