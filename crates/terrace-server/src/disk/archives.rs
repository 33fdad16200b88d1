//! Archives and blobs in a directory.

use std::io;
use std::sync::Arc;

use terrace_app::host::{
    ArchiveHead, Archives, BytesPage, Inflated, ListedBytes, Payload, Revision, StoreError, Stored,
};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{ArchiveKey, BytesKey};

use super::facts::stored_at;
use super::layout::path_of;
use super::streams::{PIECE_BYTES, Receiving, receive, stream_of};
use super::tree::Placement;
use super::{Directory, Inner, failure};
use crate::arriving::Arriving;
use crate::blocking::blocking;
use crate::hashing::{Hasher, inflated};
use crate::stream::ByteStream;
use crate::volume::{Stat, VolumeFile, read_range};

impl Inner {
    pub(super) fn open_bytes(&self, key: &str) -> io::Result<Option<(Box<dyn VolumeFile>, Stat)>> {
        self.tree.open_file(&path_of(key)?)
    }

    /// Puts bytes into their place, if they have the right digest.
    pub(super) fn store_bytes(&self, key: BytesKey, mut received: Receiving) -> io::Result<Stored> {
        let digest = received.hasher.take().map(Hasher::finish);
        if digest != Some(key.digest()) {
            return Ok(Stored::DigestMismatch);
        }
        let stat = self.tree.complete(&received.file)?;
        let path = path_of(&key.to_string())?;
        self.tree.place(received.file, &path, Placement::Replace)?;
        self.verified.insert(key, stat);
        Ok(Stored::Yes)
    }

    fn head(&self, key: BytesKey) -> io::Result<Option<ArchiveHead>> {
        let stat = self.tree.stat(&path_of(&key.to_string())?)?;
        Ok(stat.map(|stat| ArchiveHead {
            revision: Revision(format!("{:x}-{:x}", stat.modified, stat.size)),
            size: stat.size,
            sha256: match key.digest() {
                Digest::Sha256(sha256) if self.verified.contains(key, &stat) => Some(sha256),
                _ => None,
            },
        }))
    }

    fn digest(&self, key: BytesKey) -> io::Result<Option<Digest>> {
        let Some((file, stat)) = self.open_bytes(&key.to_string())? else {
            return Ok(None);
        };
        let mut hasher = Hasher::like(key.digest());
        let mut offset = 0;
        loop {
            let piece = read_range(&*file, offset, PIECE_BYTES)?;
            if piece.is_empty() {
                break;
            }
            hasher.update(&piece);
            offset += u64::try_from(piece.len()).map_err(io::Error::other)?;
        }
        let digest = hasher.finish();
        if digest == key.digest() {
            self.verified.insert(key, stat);
        }
        Ok(Some(digest))
    }

    fn inflate(&self, key: ArchiveKey, part: (u64, u32), limit: u32) -> io::Result<Inflated> {
        let Some((file, _)) = self.open_bytes(&key.to_string())? else {
            return Ok(Inflated::Missing);
        };
        let (offset, length) = part;
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let member = read_range(&*file, offset, length)?;
        Ok(match member.len() == length {
            true => inflated(&member, limit),
            false => Inflated::Damaged,
        })
    }
}

impl Directory {
    async fn open_file(
        &self,
        key: BytesKey,
    ) -> Result<Option<(Box<dyn VolumeFile>, Stat)>, StoreError> {
        self.run("open", key, move |inner| inner.open_bytes(&key.to_string()))
            .await
    }
}

impl Archives for Directory {
    type Stream = ByteStream;

    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError> {
        self.run("head", key, move |inner| inner.head(key)).await
    }

    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        self.run("read", key, move |inner| {
            let Some((file, stat)) = inner.open_bytes(&key.to_string())? else {
                return Ok(Vec::new());
            };
            // The length of the buffer, if a caller asks for more than there is.
            let length = length.min(stat.size.saturating_sub(offset));
            let length = usize::try_from(length).map_err(io::Error::other)?;
            read_range(&*file, offset, length)
        })
        .await
    }

    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, StoreError> {
        self.run("digest", key, move |inner| inner.digest(key))
            .await
    }

    async fn list_bytes(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BytesPage, StoreError> {
        let (owned, after) = (prefix.to_owned(), after.map(str::to_owned));
        let (found, is_truncated) = self
            .run("list", prefix, move |inner| {
                inner.list_files((&owned, after.as_deref()), limit)
            })
            .await?;
        let objects = found.into_iter().filter_map(|found| {
            Some(ListedBytes {
                name: found.key.strip_prefix(prefix)?.to_owned(),
                size: found.stat.size,
                stored_at: stored_at(found.stat),
            })
        });
        Ok(BytesPage {
            objects: objects.collect(),
            is_truncated,
        })
    }

    async fn open(&self, key: BytesKey) -> Result<Option<(u64, ByteStream)>, StoreError> {
        let opened = self.open_file(key).await?;
        Ok(opened.map(|(file, stat)| (stat.size, stream_of(file, 0, stat.size))))
    }

    async fn open_part(
        &self,
        key: BytesKey,
        offset: u64,
        length: u64,
    ) -> Result<Option<ByteStream>, StoreError> {
        let Some((file, stat)) = self.open_file(key).await? else {
            return Ok(None);
        };
        let end = offset.checked_add(length);
        if end.is_none_or(|end| end > stat.size) {
            let reason = format!("it has {} bytes, and ends before the part", stat.size);
            return Err(failure("open", key, &io::Error::other(reason)));
        }
        Ok(Some(stream_of(file, offset, length)))
    }

    async fn inflate(
        &self,
        key: ArchiveKey,
        offset: u64,
        length: u32,
        limit: u32,
    ) -> Result<Inflated, StoreError> {
        self.run("inflate", key, move |inner| {
            inner.inflate(key, (offset, length), limit)
        })
        .await
    }

    async fn store(
        &self,
        key: BytesKey,
        payload: Payload<ByteStream>,
    ) -> Result<Stored, StoreError> {
        let inner = Arc::clone(&self.0);
        let stored = async {
            let tree = Arc::clone(&inner);
            let begin = move || Receiving::begin(&tree.tree, Some(key.digest()));
            let receiving = blocking(begin).await?;
            let mut arriving = Arriving::new(payload);
            let received = receive(&mut arriving, receiving, u64::MAX).await?;
            blocking(move || inner.store_bytes(key, received)).await
        };
        let stored = stored.await;
        stored.map_err(|error| failure("put", key, &error))
    }

    async fn discard(&self, key: BytesKey) -> Result<(), StoreError> {
        self.run("delete", key, move |inner| {
            inner.tree.remove(&path_of(&key.to_string())?)
        })
        .await
    }
}
