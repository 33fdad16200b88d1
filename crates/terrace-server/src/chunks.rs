//! Streams that are stored in chunks.

use terrace_app::host::{Payload, StoreError, UNSIZED_CHUNK_BYTES};
use terrace_core::storage::key::ChunkKey;

use crate::arriving::Arriving;
use crate::stream::ByteStream;

/// A store of single chunks.
pub(crate) trait Chunks {
    /// Stores the next bytes as a chunk, `most` at most, and returns their number. At the end, stores nothing, or an
    /// empty chunk if `stores_empty`.
    async fn store_next(
        &self,
        key: ChunkKey,
        arriving: &mut Arriving,
        most: u64,
        stores_empty: bool,
    ) -> Result<u64, StoreError>;
}

/// Stores a whole payload as one chunk.
pub(crate) async fn store_one(
    store: &impl Chunks,
    key: ChunkKey,
    payload: Payload<ByteStream>,
) -> Result<(), StoreError> {
    let mut arriving = Arriving::new(payload);
    let stored = store.store_next(key, &mut arriving, u64::MAX, true);
    stored.await.map(drop)
}

/// Stores a stream in chunks of at most [`UNSIZED_CHUNK_BYTES`], and returns their lengths.
pub(crate) async fn store_all(
    store: &impl Chunks,
    first: ChunkKey,
    stream: ByteStream,
) -> Result<Vec<u64>, StoreError> {
    let mut arriving = Arriving::new(Payload::Stream(stream));
    let most = u64::from(UNSIZED_CHUNK_BYTES);
    let mut key = first;
    let mut lengths = Vec::new();
    loop {
        let length = store.store_next(key, &mut arriving, most, false).await?;
        if length > 0 {
            lengths.push(length);
            key.offset += length;
        }
        if length < most {
            return Ok(lengths);
        }
    }
}
