//! Chunks of incomplete uploads in an object store.

use futures_util::StreamExt as _;
use object_store::ObjectStoreExt as _;
use terrace_app::host::{Archives as _, Payload, StoreError, Stored, Uploads};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{BytesKey, ChunkKey, UPLOADS};

use super::archives::Writing;
use super::{ObjectStorage, failure, found, path_of};
use crate::arriving::Arriving;
use crate::chunks::{self, Chunks};
use crate::stream::ByteStream;

/// The content type of a chunk.
const CHUNK: &str = "application/octet-stream";

impl Chunks for ObjectStorage {
    async fn store_next(
        &self,
        key: ChunkKey,
        arriving: &mut Arriving,
        most: u64,
        stores_empty: bool,
    ) -> Result<u64, StoreError> {
        let mut writing = Writing::begin(key.to_string(), CHUNK, None);
        let received = self.0.receive(&mut writing, arriving, most).await;
        if let Err(cause) = received {
            writing.abort().await;
            let operation = format!("put {key}");
            return Err(StoreError::Failed { operation, cause });
        }
        let length = writing.length;
        if length > 0 || stores_empty {
            let completed = writing.complete(&self.0, None).await;
            completed.map_err(|error| failure("put", key, &error))?;
        }
        Ok(length)
    }
}

impl Uploads for ObjectStorage {
    type Stream = ByteStream;

    async fn store_chunk(
        &self,
        key: ChunkKey,
        payload: Payload<ByteStream>,
    ) -> Result<(), StoreError> {
        chunks::store_one(self, key, payload).await
    }

    async fn store_chunks(
        &self,
        first: ChunkKey,
        stream: ByteStream,
    ) -> Result<Vec<u64>, StoreError> {
        chunks::store_all(self, first, stream).await
    }

    async fn assemble(
        &self,
        chunks: &[(ChunkKey, u64)],
        digest: Digest,
    ) -> Result<Option<Stored>, StoreError> {
        let blob = BytesKey::Blob(digest);
        let failed = |error| failure("assemble", blob, &error);
        for (key, length) in chunks {
            let head = async { found(self.0.store.head(&path_of(key)?).await) };
            let head = head.await.map_err(failed)?;
            if head.is_none_or(|meta| meta.size != *length) {
                return Ok(None);
            }
        }
        let inner = std::sync::Arc::clone(&self.0);
        let chunks: Vec<ChunkKey> = chunks.iter().map(|(key, _)| *key).collect();
        let pieces = futures_util::stream::iter(chunks).then(move |key| {
            let inner = std::sync::Arc::clone(&inner);
            async move {
                let opened = inner.open_range(key, None).await;
                let opened = opened.map_err(std::io::Error::other)?;
                let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
                opened.map(|(_, stream)| stream).ok_or_else(missing)
            }
        });
        let whole = futures_util::TryStreamExt::try_flatten(pieces);
        let stored = self.store(blob, Payload::Stream(Box::pin(whole))).await?;
        Ok(Some(stored))
    }

    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError> {
        for name in names {
            let key = format!("{UPLOADS}{name}");
            let removed = async { found(self.0.store.delete(&path_of(&key)?).await) };
            let removed = removed.await;
            removed.map_err(|error| failure("delete", &key, &error))?;
        }
        Ok(())
    }
}
