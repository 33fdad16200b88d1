//! Storage in the memory of the process, for a registry that is only tried, and for tests.

mod objects;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use terrace_app::host::{
    ArchiveHead, Archives, BytesPage, Condition, Fact, FactPage, Facts, IndexPage, Indices,
    Inflated, Payload, Revision, StoreError, Stored, UNSIZED_CHUNK_BYTES, Uploads,
};
use terrace_core::model::oci::Digest;
use terrace_core::read::{IndexForm, StoredIndex};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{ArchiveKey, BytesKey, ChunkKey, FactKey, IndexKey, UPLOADS};

pub use objects::{Object, Objects};

use crate::clock::millis;
use crate::index::in_form;
use crate::stores::Bucket;
use crate::stream;
use crate::stream::ByteStream;

/// The maximum number of entries in a page of releases or of indices.
pub const PAGE: usize = 1_000;

/// Storage in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    objects: Objects,
    indices: BTreeMap<String, IndexDocument>,
    /// How long a write of a fact takes.
    #[cfg(test)]
    write_time: std::time::Duration,
    /// Whether every operation panics.
    #[cfg(test)]
    panics: bool,
}

impl Bucket for Memory {}

impl Memory {
    /// Returns empty storage.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes each write of a fact take some time.
    #[cfg(test)]
    pub(crate) fn slow_down(&self, write_time: std::time::Duration) {
        self.state().write_time = write_time;
    }

    /// Lets every operation panic, or none.
    #[cfg(test)]
    pub(crate) fn panic(&self, panics: bool) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.panics = panics;
    }

    /// Returns the number of writes so far.
    #[cfg(test)]
    pub(crate) fn writes(&self) -> u64 {
        self.state().objects.writes()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        #[cfg(test)]
        assert!(!state.panics);
        state
    }

    fn store_chunk_bytes(&self, key: &ChunkKey, bytes: Bytes) {
        let mut state = self.state();
        let key = key.to_string();
        state.objects.insert(key, bytes, &[], None, millis());
    }
}

impl Facts for Memory {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        Ok(self.state().objects.fact(key))
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
        Ok(self.state().objects.revision(key))
    }

    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError> {
        #[cfg(test)]
        {
            let write_time = self.state().write_time;
            tokio::time::sleep(write_time).await;
        }
        let objects = &mut self.state().objects;
        Ok(objects.put(key, document, metadata, &condition, millis()))
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FactPage, StoreError> {
        Ok(self.state().objects.list(prefix, after, limit))
    }

    async fn delete(&self, key: &FactKey) -> Result<(), StoreError> {
        self.state().objects.remove(&key.to_string());
        Ok(())
    }
}

async fn collected(key: impl ToString, payload: Payload<ByteStream>) -> Result<Bytes, StoreError> {
    match payload {
        Payload::Bytes(bytes) => Ok(bytes.into()),
        Payload::Stream(stream) => {
            let read = stream::read(stream, u64::MAX).await;
            let failed = |error: std::io::Error| StoreError::Failed {
                operation: format!("memory put {}", key.to_string()),
                cause: error.to_string(),
            };
            read.map(Bytes::from).map_err(failed)
        }
    }
}

impl Archives for Memory {
    type Stream = ByteStream;

    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError> {
        Ok(self.state().objects.head(&key.to_string()))
    }

    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let part = self.state().objects.part(&key.to_string(), offset, length);
        Ok(part.unwrap_or_default().to_vec())
    }

    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, StoreError> {
        Ok(self.state().objects.digest(key))
    }

    async fn list_bytes(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BytesPage, StoreError> {
        Ok(self.state().objects.list_bytes(prefix, after, limit))
    }

    async fn open(&self, key: BytesKey) -> Result<Option<(u64, ByteStream)>, StoreError> {
        let whole = self.state().objects.part(&key.to_string(), 0, u64::MAX);
        Ok(whole.map(|bytes| (bytes.len() as u64, stream::of(bytes))))
    }

    async fn open_part(
        &self,
        key: BytesKey,
        offset: u64,
        length: u64,
    ) -> Result<Option<ByteStream>, StoreError> {
        let key = key.to_string();
        let part = self.state().objects.exact_part(&key, offset, length)?;
        Ok(part.map(stream::of))
    }

    async fn inflate(
        &self,
        key: ArchiveKey,
        offset: u64,
        length: u32,
        limit: u32,
    ) -> Result<Inflated, StoreError> {
        let key = key.to_string();
        Ok(self.state().objects.inflate(&key, offset, length, limit))
    }

    async fn store(
        &self,
        key: BytesKey,
        payload: Payload<ByteStream>,
    ) -> Result<Stored, StoreError> {
        let bytes = collected(key, payload).await?;
        Ok(self.state().objects.store(key, bytes, millis()))
    }

    async fn discard(&self, key: BytesKey) -> Result<(), StoreError> {
        self.state().objects.remove(&key.to_string());
        Ok(())
    }
}

impl Uploads for Memory {
    type Stream = ByteStream;

    async fn store_chunk(
        &self,
        key: ChunkKey,
        payload: Payload<ByteStream>,
    ) -> Result<(), StoreError> {
        let bytes = collected(key, payload).await?;
        self.store_chunk_bytes(&key, bytes);
        Ok(())
    }

    async fn store_chunks(
        &self,
        first: ChunkKey,
        stream: ByteStream,
    ) -> Result<Vec<u64>, StoreError> {
        let mut key = first;
        let mut lengths = Vec::new();
        let mut rest = collected(key, Payload::Stream(stream)).await?;
        let most = usize::try_from(UNSIZED_CHUNK_BYTES).unwrap_or(usize::MAX);
        while !rest.is_empty() {
            let chunk = rest.split_to(most.min(rest.len()));
            let length = chunk.len() as u64;
            self.store_chunk_bytes(&key, chunk);
            lengths.push(length);
            key.offset += length;
        }
        Ok(lengths)
    }

    async fn assemble(
        &self,
        chunks: &[(ChunkKey, u64)],
        digest: Digest,
    ) -> Result<Option<Stored>, StoreError> {
        let mut whole = Vec::new();
        for (key, length) in chunks {
            let Some(chunk) = self.state().objects.chunk(key, *length) else {
                return Ok(None);
            };
            whole.extend_from_slice(&chunk);
        }
        let stored = self.store(BytesKey::Blob(digest), Payload::Bytes(whole));
        stored.await.map(Some)
    }

    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError> {
        let mut state = self.state();
        for name in names {
            state.objects.remove(&format!("{UPLOADS}{name}"));
        }
        Ok(())
    }
}

impl Indices for Memory {
    type Stream = ByteStream;

    async fn get(
        &self,
        key: &IndexKey,
        form: IndexForm,
        _: u32,
    ) -> Result<Option<StoredIndex<ByteStream>>, StoreError> {
        let document = self.state().indices.get(&key.to_string()).cloned();
        Ok(document.map(|document| in_form(document, form)))
    }

    async fn list_keys(
        &self,
        prefix: &str,
        cursor: Option<String>,
    ) -> Result<IndexPage, StoreError> {
        let state = self.state();
        let from = cursor.unwrap_or_else(|| prefix.to_owned());
        let mut rest = state
            .indices
            .range(from..)
            .map(|(key, _)| key)
            .take_while(|key| key.starts_with(prefix));
        let keys = rest.by_ref().take(PAGE).cloned().collect();
        let cursor = rest.next().cloned();
        Ok(IndexPage { keys, cursor })
    }

    async fn put(&self, key: &IndexKey, document: &IndexDocument) -> Result<(), StoreError> {
        let mut state = self.state();
        state.indices.insert(key.to_string(), document.clone());
        Ok(())
    }

    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError> {
        self.state().indices.remove(&key.to_string());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;
    use crate::contract::contract_tests;

    contract_tests! { bucket: (Memory::new(), ()) }
    contract_tests! { indices: (Memory::new(), ()) }
}
