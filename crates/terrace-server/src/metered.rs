//! Stores that count and time their operations, for the log line of a request.

use std::rc::Rc;

use terrace_app::host::{
    ArchiveHead, Archives, BytesPage, Condition, Fact, FactPage, Facts, IndexPage, Indices,
    Inflated, Payload, ReleasePage, Revision, StoreError, Stored, Uploads,
};
use terrace_app::usage::{PlatformPart, Timed, UsageMeter};
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::read::{IndexForm, StoredIndex};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{ArchiveKey, BytesKey, ChunkKey, FactKey, IndexKey};

use crate::clock::millis;

/// A store with the counters of one request.
#[derive(Debug)]
pub(crate) struct Metered<S> {
    store: S,
    part: PlatformPart,
    meter: Rc<UsageMeter>,
}

impl<S> Metered<S> {
    pub(crate) fn new(store: S, part: PlatformPart, meter: Rc<UsageMeter>) -> Self {
        Self { store, part, meter }
    }

    fn timed(&self) -> Timed<'_> {
        self.meter.time(self.part, millis)
    }
}

impl<S: Facts> Facts for Metered<S> {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        let _timed = self.timed();
        self.store.get(key).await
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
        let _timed = self.timed();
        self.store.revision(key).await
    }

    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError> {
        let _timed = self.timed();
        self.store.put(key, document, metadata, condition).await
    }

    async fn releases(
        &self,
        package: &Package,
        cursor: Option<String>,
    ) -> Result<ReleasePage, StoreError> {
        let _timed = self.timed();
        self.store.releases(package, cursor).await
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FactPage, StoreError> {
        let _timed = self.timed();
        self.store.list(prefix, after, limit).await
    }

    async fn delete(&self, key: &FactKey) -> Result<(), StoreError> {
        let _timed = self.timed();
        self.store.delete(key).await
    }
}

impl<S: Archives> Archives for Metered<S> {
    type Stream = S::Stream;

    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError> {
        let _timed = self.timed();
        self.store.head(key).await
    }

    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let _timed = self.timed();
        self.store.read(key, offset, length).await
    }

    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, StoreError> {
        let _timed = self.timed();
        self.store.digest(key).await
    }

    async fn list_bytes(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BytesPage, StoreError> {
        let _timed = self.timed();
        self.store.list_bytes(prefix, after, limit).await
    }

    async fn open(&self, key: BytesKey) -> Result<Option<(u64, Self::Stream)>, StoreError> {
        let _timed = self.timed();
        self.store.open(key).await
    }

    async fn open_part(
        &self,
        key: BytesKey,
        offset: u64,
        length: u64,
    ) -> Result<Option<Self::Stream>, StoreError> {
        let _timed = self.timed();
        self.store.open_part(key, offset, length).await
    }

    async fn inflate(
        &self,
        key: ArchiveKey,
        offset: u64,
        length: u32,
        limit: u32,
    ) -> Result<Inflated, StoreError> {
        let _timed = self.timed();
        self.store.inflate(key, offset, length, limit).await
    }

    async fn store(
        &self,
        key: BytesKey,
        payload: Payload<Self::Stream>,
    ) -> Result<Stored, StoreError> {
        let _timed = self.timed();
        self.store.store(key, payload).await
    }

    async fn discard(&self, key: BytesKey) -> Result<(), StoreError> {
        let _timed = self.timed();
        self.store.discard(key).await
    }
}

impl<S: Uploads> Uploads for Metered<S> {
    type Stream = S::Stream;

    async fn store_chunk(
        &self,
        key: ChunkKey,
        payload: Payload<Self::Stream>,
    ) -> Result<(), StoreError> {
        let _timed = self.timed();
        self.store.store_chunk(key, payload).await
    }

    async fn store_chunks(
        &self,
        first: ChunkKey,
        stream: Self::Stream,
    ) -> Result<Vec<u64>, StoreError> {
        let _timed = self.timed();
        self.store.store_chunks(first, stream).await
    }

    async fn assemble(
        &self,
        chunks: &[(ChunkKey, u64)],
        digest: Digest,
    ) -> Result<Option<Stored>, StoreError> {
        let _timed = self.timed();
        self.store.assemble(chunks, digest).await
    }

    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError> {
        let _timed = self.timed();
        self.store.remove(names).await
    }
}

impl<S: Indices> Indices for Metered<S> {
    type Stream = S::Stream;

    async fn get(
        &self,
        key: &IndexKey,
        form: IndexForm,
        cache_seconds: u32,
    ) -> Result<Option<StoredIndex<Self::Stream>>, StoreError> {
        let _timed = self.timed();
        self.store.get(key, form, cache_seconds).await
    }

    async fn get_all(
        &self,
        keys: &[&IndexKey],
        cache_seconds: u32,
    ) -> Result<Vec<Option<StoredIndex<Self::Stream>>>, StoreError> {
        let _timed = self.timed();
        self.store.get_all(keys, cache_seconds).await
    }

    async fn list_keys(
        &self,
        prefix: &str,
        cursor: Option<String>,
    ) -> Result<IndexPage, StoreError> {
        let _timed = self.timed();
        self.store.list_keys(prefix, cursor).await
    }

    async fn put(&self, key: &IndexKey, document: &IndexDocument) -> Result<(), StoreError> {
        let _timed = self.timed();
        self.store.put(key, document).await
    }

    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError> {
        let _timed = self.timed();
        self.store.delete(key).await
    }
}
