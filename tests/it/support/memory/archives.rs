//! Archives and blobs in the bucket, and chunks of blobs.

use terrace_app::host::{
    ArchiveHead, Archives, BytesPage, Inflated, Payload, StoreError, Stored, Uploads,
};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{ArchiveKey, BytesKey, ChunkKey, UPLOADS};

use super::Memory;
use crate::support::faults::Operation;

/// The size of the chunks in which a body of unknown length is stored.
const UNSIZED_CHUNK_BYTES: usize = 1_000;

impl Memory {
    /// Performs an operation that changes nothing.
    async fn look<T>(
        &self,
        name: &str,
        key: impl ToString,
        look: impl FnOnce(&str) -> T,
    ) -> Result<T, StoreError> {
        let key = key.to_string();
        self.operation(Operation::new(name, &key), || Ok(look(&key)))
            .await
    }

    pub(super) async fn delete_object(&self, key: &str) -> Result<(), StoreError> {
        self.look("R2 delete", key, |key| drop(self.bucket_mut().remove(key)))
            .await
    }
}

impl Archives for Memory {
    type Stream = Vec<u8>;

    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError> {
        self.look("R2 head", key, |key| self.bucket().head(key))
            .await
    }

    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        self.look("R2 read", key, |key| {
            let part = self.bucket().part(key, offset, length);
            part.unwrap_or_default().to_vec()
        })
        .await
    }

    async fn tail(
        &self,
        key: ArchiveKey,
        length: u64,
    ) -> Result<Option<(ArchiveHead, Vec<u8>)>, StoreError> {
        self.look("R2 read", key, |key| {
            let head = self.bucket().head(key)?;
            let start = head.size.saturating_sub(length);
            let part = self.bucket().part(key, start, length)?;
            Some((head, part.to_vec()))
        })
        .await
    }

    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, StoreError> {
        self.look("R2 digest", key, |_| self.bucket().digest(key))
            .await
    }

    async fn list_bytes(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BytesPage, StoreError> {
        self.look("R2 list", prefix, |prefix| {
            self.bucket().list_bytes(prefix, after, limit)
        })
        .await
    }

    async fn open_part(
        &self,
        key: BytesKey,
        offset: u64,
        length: u64,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("R2 open", &key), || {
            let part = self.bucket().exact_part(&key, offset, length)?;
            Ok(part.map(|bytes| bytes.to_vec()))
        })
        .await
    }

    async fn open(&self, key: BytesKey) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        self.look("R2 open", key, |key| {
            let whole = self.bucket().part(key, 0, u64::MAX);
            whole.map(|bytes| (bytes.len() as u64, bytes.to_vec()))
        })
        .await
    }

    async fn inflate(
        &self,
        key: ArchiveKey,
        offset: u64,
        length: u32,
        limit: u32,
    ) -> Result<Inflated, StoreError> {
        self.look("R2 inflate", key, |key| {
            self.bucket().inflate(key, offset, length, limit)
        })
        .await
    }

    async fn store(&self, key: BytesKey, payload: Payload<Vec<u8>>) -> Result<Stored, StoreError> {
        let is_damaged = matches!(payload, Payload::Bytes(_)) && self.world.damages.take();
        let (Payload::Bytes(mut bytes) | Payload::Stream(mut bytes)) = payload;
        if is_damaged {
            bytes.push(0);
        }
        let name = key.to_string();
        self.operation(Operation::new("R2 put", &name), || {
            if key.digest().of_same_kind(&bytes) == key.digest() {
                self.refuse_frequent_object(&name)?;
            }
            Ok(self.bucket_mut().store(key, bytes, self.now_ms()))
        })
        .await
    }

    async fn discard(&self, key: BytesKey) -> Result<(), StoreError> {
        self.delete_object(&key.to_string()).await
    }
}

impl Uploads for Memory {
    type Stream = Vec<u8>;

    async fn store_chunk(
        &self,
        key: ChunkKey,
        payload: Payload<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let (Payload::Bytes(bytes) | Payload::Stream(bytes)) = payload;
        self.look("R2 put", key, |key| self.put_object(key, &bytes))
            .await
    }

    async fn store_chunks(&self, first: ChunkKey, stream: Vec<u8>) -> Result<Vec<u64>, StoreError> {
        let mut key = first;
        let mut lengths = Vec::new();
        for chunk in stream.chunks(UNSIZED_CHUNK_BYTES) {
            let bytes = Payload::Bytes(chunk.to_vec());
            self.store_chunk(key, bytes).await?;
            lengths.push(chunk.len() as u64);
            key.offset += chunk.len() as u64;
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
            let chunk = self.look("R2 open", key, |_| self.bucket().chunk(key, *length));
            let Some(bytes) = chunk.await? else {
                return Ok(None);
            };
            whole.extend_from_slice(&bytes);
        }
        let payload = Payload::Bytes(whole);
        let stored = self.store(BytesKey::Blob(digest), payload).await?;
        Ok(Some(stored))
    }

    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError> {
        let all = format!("{} of {UPLOADS}", names.len());
        self.look("R2 delete", all, |_| {
            for name in &names {
                self.bucket_mut().remove(&format!("{UPLOADS}{name}"));
            }
        })
        .await
    }
}
