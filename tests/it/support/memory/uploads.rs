//! Chunks of blobs in the bucket.

use terrace_app::host::{Archives as _, Payload, StoreError, Stored, Uploads};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{BytesKey, ChunkKey, UPLOADS};

use super::Memory;
use crate::support::faults::Operation;

/// The size of the chunks in which a body of unknown length is stored.
const UNSIZED_CHUNK_BYTES: usize = 1_000;

impl Uploads for Memory {
    type Stream = Vec<u8>;

    async fn store_chunk(
        &self,
        key: ChunkKey,
        payload: Payload<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let (Payload::Bytes(bytes) | Payload::Stream(bytes)) = payload;
        let key = key.to_string();
        self.operation(Operation::new("R2 put", &key), || {
            self.insert(&key, &bytes, &[], None);
            Ok(())
        })
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
            let key = key.to_string();
            let opened = self.operation(Operation::new("R2 open", &key), || {
                let object = self.world.bucket.get(&key);
                let object = object.filter(|object| object.bytes.len() as u64 == *length);
                Ok(object.map(|object| object.bytes))
            });
            let Some(bytes) = opened.await? else {
                return Ok(None);
            };
            whole.extend(bytes);
        }
        let payload = Payload::Bytes(whole);
        let stored = self.store(BytesKey::Blob(digest), payload).await?;
        Ok(Some(stored))
    }

    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError> {
        let all = format!("{} of {UPLOADS}", names.len());
        self.operation(Operation::new("R2 delete", &all), || {
            for name in &names {
                self.world.bucket.remove(&format!("{UPLOADS}{name}"));
            }
            Ok(())
        })
        .await
    }
}
