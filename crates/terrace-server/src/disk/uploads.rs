//! Chunks of incomplete uploads in a directory.

use std::io;
use std::sync::Arc;

use terrace_app::host::{Payload, StoreError, Stored, Uploads};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{BytesKey, ChunkKey, UPLOADS};

use super::layout::{is_of_bytes, path_of};
use super::streams::{PIECE_BYTES, Receiving, receive};
use super::tree::Placement;
use super::{Directory, Inner, failure};
use crate::arriving::Arriving;
use crate::blocking::blocking;
use crate::chunks::{self, Chunks};
use crate::stream::ByteStream;
use crate::volume::read_range;

impl Inner {
    fn store_chunk(&self, key: &str, received: Receiving) -> io::Result<()> {
        self.tree.complete(&received.file)?;
        let path = path_of(key)?;
        self.tree.place(received.file, &path, Placement::Replace)?;
        Ok(())
    }

    /// Concatenates chunks into a blob; `None` if one of them is missing or has another length.
    fn assemble(&self, chunks: &[(ChunkKey, u64)], digest: Digest) -> io::Result<Option<Stored>> {
        let mut whole = Receiving::begin(&self.tree, Some(digest))?;
        for (key, length) in chunks {
            let opened = self.open_bytes(&key.to_string())?;
            let Some((file, _)) = opened.filter(|(_, stat)| stat.size == *length) else {
                return Ok(None);
            };
            let mut offset = 0;
            while offset < *length {
                let piece = read_range(&*file, offset, PIECE_BYTES)?;
                if piece.is_empty() {
                    return Ok(None);
                }
                whole.write(&piece)?;
                offset += u64::try_from(piece.len()).map_err(io::Error::other)?;
            }
        }
        self.store_bytes(BytesKey::Blob(digest), whole).map(Some)
    }

    /// Removes an object of an upload.
    fn remove_upload(&self, name: &str) -> io::Result<()> {
        let key = format!("{UPLOADS}{name}");
        if !is_of_bytes(&key) {
            return self.remove_document(&key);
        }
        let path = path_of(&key)?;
        self.tree.remove(&path)?;
        if let Some((directory, _)) = path.rsplit_once('/') {
            self.tree.remove_directory(directory);
        }
        Ok(())
    }
}

impl Chunks for Directory {
    async fn store_next(
        &self,
        key: ChunkKey,
        arriving: &mut Arriving,
        most: u64,
        stores_empty: bool,
    ) -> Result<u64, StoreError> {
        let inner = Arc::clone(&self.0);
        let stored = async {
            let tree = Arc::clone(&inner);
            let receiving = blocking(move || Receiving::begin(&tree.tree, None)).await?;
            let received = receive(arriving, receiving, most).await?;
            let length = received.file.length();
            if length > 0 || stores_empty {
                blocking(move || inner.store_chunk(&key.to_string(), received)).await?;
            }
            Ok(length)
        };
        let stored: io::Result<u64> = stored.await;
        stored.map_err(|error| failure("put", key, &error))
    }
}

impl Uploads for Directory {
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
        let chunks = chunks.to_vec();
        self.run("assemble", BytesKey::Blob(digest), move |inner| {
            inner.assemble(&chunks, digest)
        })
        .await
    }

    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError> {
        self.run("delete", UPLOADS, move |inner| {
            names.iter().try_for_each(|name| inner.remove_upload(name))
        })
        .await
    }
}
