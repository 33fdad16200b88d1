//! Archives and blobs in an object store.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::{
    Attribute, Attributes, Error, GetOptions, GetRange, MultipartUpload, ObjectStoreExt as _,
    PutOptions, PutPayload,
};
use terrace_app::host::{
    ArchiveHead, Archives, BytesPage, Inflated, ListedBytes, Payload, Revision, StoreError, Stored,
};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{ArchiveKey, BytesKey};

use super::facts::stored_at;
use super::{Inner, ObjectStorage, failure, found, path_of};
use crate::arriving::Arriving;
use crate::blocking::blocking;
use crate::hashing::{Hasher, inflated};
use crate::stream::ByteStream;

/// The length of the parts of a long object in bytes: the smallest that S3 accepts, with which objects of 80 GB are possible.
const PART_BYTES: usize = 8 * 1024 * 1024;

/// An object that is being written.
pub(super) struct Writing {
    key: String,
    content_type: &'static str,
    hasher: Option<Hasher>,
    part: BytesMut,
    /// Begun when the first part is full.
    upload: Option<Box<dyn MultipartUpload>>,
    pub(super) length: u64,
}

impl Writing {
    pub(super) fn begin(key: String, content_type: &'static str, digest: Option<Digest>) -> Self {
        Self {
            key,
            content_type,
            hasher: digest.map(Hasher::like),
            part: BytesMut::new(),
            upload: None,
            length: 0,
        }
    }

    fn attributes(&self) -> Attributes {
        Attributes::from_iter([(Attribute::ContentType, self.content_type)])
    }

    pub(super) async fn write(&mut self, inner: &Inner, bytes: &[u8]) -> Result<(), Error> {
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        self.length += u64::try_from(bytes.len()).unwrap_or_default();
        self.part.extend_from_slice(bytes);
        while self.part.len() >= PART_BYTES {
            let part = self.part.split_to(PART_BYTES).freeze();
            let upload = match &mut self.upload {
                Some(upload) => upload,
                none => {
                    let attributes =
                        Attributes::from_iter([(Attribute::ContentType, self.content_type)]);
                    let path = path_of(&self.key)?;
                    let begun = inner.store.put_multipart_opts(&path, attributes.into());
                    none.insert(begun.await?)
                }
            };
            upload.put_part(part.into()).await?;
        }
        Ok(())
    }

    /// Completes the object if it has this digest, and gives it up otherwise.
    pub(super) async fn complete(
        mut self,
        inner: &Inner,
        digest: Option<Digest>,
    ) -> Result<(Stored, Option<String>), Error> {
        if self.hasher.take().map(Hasher::finish) != digest {
            self.abort().await;
            return Ok((Stored::DigestMismatch, None));
        }
        let written = self.write_rest(inner).await;
        if written.is_err() {
            self.abort().await;
        }
        Ok((Stored::Yes, written?))
    }

    /// Writes the rest of the object, and returns its ETag.
    async fn write_rest(&mut self, inner: &Inner) -> Result<Option<String>, Error> {
        let rest = std::mem::take(&mut self.part).freeze();
        let put = match &mut self.upload {
            Some(upload) => {
                if !rest.is_empty() {
                    upload.put_part(rest.into()).await?;
                }
                upload.complete().await?
            }
            None => {
                let options = PutOptions::from(self.attributes());
                let payload = PutPayload::from(rest);
                let path = path_of(&self.key)?;
                inner.store.put_opts(&path, payload, options).await?
            }
        };
        Ok(put.e_tag)
    }

    /// Gives up. What stays if this fails is removed by the store's own rule for incomplete uploads.
    pub(super) async fn abort(&mut self) {
        if let Some(upload) = &mut self.upload {
            let _ = upload.abort().await;
        }
    }
}

impl Inner {
    pub(super) async fn open_range(
        &self,
        key: impl std::fmt::Display,
        range: Option<Range<u64>>,
    ) -> Result<Option<(u64, ByteStream)>, Error> {
        let options = GetOptions {
            range: range.map(GetRange::Bounded),
            ..GetOptions::default()
        };
        let object = self.store.get_opts(&path_of(key)?, options).await;
        Ok(found(object)?.map(|object| {
            let size = object.meta.size;
            let stream = object.into_stream().map_err(io::Error::other);
            let stream: ByteStream = Box::pin(stream);
            (size, stream)
        }))
    }

    /// Returns up to `length` bytes from `offset` on; `None` if the object does not exist.
    async fn part(
        &self,
        key: ArchiveKey,
        offset: u64,
        length: u64,
    ) -> Result<Option<Bytes>, Error> {
        let path = path_of(key)?;
        let Some(meta) = found(self.store.head(&path).await)? else {
            return Ok(None);
        };
        let end = offset.saturating_add(length).min(meta.size);
        match offset < end {
            true => found(self.store.get_range(&path, offset..end).await),
            false => Ok(Some(Bytes::new())),
        }
    }

    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, Error> {
        let object = found(self.store.get(&path_of(key)?).await)?;
        let Some(object) = object else {
            return Ok(None);
        };
        let etag = object.meta.e_tag.clone();
        let mut stream = object.into_stream();
        let mut hasher = Hasher::like(key.digest());
        while let Some(piece) = stream.next().await {
            hasher.update(&piece?);
        }
        let digest = hasher.finish();
        if let Some(etag) = etag.filter(|_| digest == key.digest()) {
            self.verified.insert(key, etag);
        }
        Ok(Some(digest))
    }
}

impl Archives for ObjectStorage {
    type Stream = ByteStream;

    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError> {
        let head = async { found(self.0.store.head(&path_of(key)?).await) };
        let head = head.await.map_err(|error| failure("head", key, &error))?;
        Ok(head.map(|meta| {
            let etag = meta.e_tag.unwrap_or_default();
            ArchiveHead {
                size: meta.size,
                sha256: match key.digest() {
                    Digest::Sha256(sha256) if self.0.verified.contains(key, &etag) => Some(sha256),
                    _ => None,
                },
                revision: Revision(etag),
            }
        }))
    }

    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let part = self.0.part(key, offset, length).await;
        let part = part.map_err(|error| failure("read", key, &error))?;
        Ok(part.map(Vec::from).unwrap_or_default())
    }

    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, StoreError> {
        let digest = self.0.digest(key).await;
        digest.map_err(|error| failure("digest", key, &error))
    }

    async fn list_bytes(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BytesPage, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let listed = self.0.list_objects(prefix, after, limit).await;
        let (objects, is_truncated) = listed.map_err(|error| failure("list", prefix, &error))?;
        let objects = objects.into_iter().filter_map(|meta| {
            Some(ListedBytes {
                name: meta.location.as_ref().strip_prefix(prefix)?.to_owned(),
                size: meta.size,
                stored_at: stored_at(&meta),
            })
        });
        Ok(BytesPage {
            objects: objects.collect(),
            is_truncated,
        })
    }

    async fn open(&self, key: BytesKey) -> Result<Option<(u64, ByteStream)>, StoreError> {
        let opened = self.0.open_range(key, None).await;
        opened.map_err(|error| failure("open", key, &error))
    }

    async fn open_part(
        &self,
        key: BytesKey,
        offset: u64,
        length: u64,
    ) -> Result<Option<ByteStream>, StoreError> {
        let failed = |error: &Error| failure("open", key, error);
        let head = self.head(key).await?;
        let Some(head) = head else {
            return Ok(None);
        };
        let end = offset.checked_add(length).filter(|end| *end <= head.size);
        let Some(end) = end else {
            return Err(StoreError::Failed {
                operation: format!("open {key}"),
                cause: format!("it has {} bytes, and ends before the part", head.size),
            });
        };
        if length == 0 {
            return Ok(Some(Box::pin(futures_util::stream::empty())));
        }
        let opened = self.0.open_range(key, Some(offset..end)).await;
        let opened = opened.map_err(|error| failed(&error))?;
        Ok(opened.map(|(_, stream)| stream))
    }

    async fn inflate(
        &self,
        key: ArchiveKey,
        offset: u64,
        length: u32,
        limit: u32,
    ) -> Result<Inflated, StoreError> {
        let part = self.0.part(key, offset, length.into()).await;
        let part = part.map_err(|error| failure("inflate", key, &error))?;
        let Some(member) = part else {
            return Ok(Inflated::Missing);
        };
        if u32::try_from(member.len()) != Ok(length) {
            return Ok(Inflated::Damaged);
        }
        let inflated = blocking(move || Ok(inflated(&member, limit))).await;
        inflated.map_err(|error| StoreError::Failed {
            operation: format!("inflate {key}"),
            cause: error.to_string(),
        })
    }

    async fn store(
        &self,
        key: BytesKey,
        payload: Payload<ByteStream>,
    ) -> Result<Stored, StoreError> {
        let digest = Some(key.digest());
        let mut writing = Writing::begin(key.to_string(), key.content_type(), digest);
        let mut arriving = Arriving::new(payload);
        let written = self.0.receive(&mut writing, &mut arriving, u64::MAX).await;
        if let Err(cause) = written {
            writing.abort().await;
            let operation = format!("put {key}");
            return Err(StoreError::Failed { operation, cause });
        }
        let stored = writing.complete(&self.0, digest).await;
        let (stored, etag) = stored.map_err(|error| failure("put", key, &error))?;
        if let Some(etag) = etag {
            self.0.verified.insert(key, etag);
        }
        Ok(stored)
    }

    async fn discard(&self, key: BytesKey) -> Result<(), StoreError> {
        let removed = async { found(self.0.store.delete(&path_of(key)?).await) };
        let removed = removed.await.map(drop);
        removed.map_err(|error| failure("delete", key, &error))
    }
}

impl Inner {
    /// Writes the next bytes to an object, `most` at most. The error is the reason.
    pub(super) async fn receive(
        self: &Arc<Self>,
        writing: &mut Writing,
        arriving: &mut Arriving,
        most: u64,
    ) -> Result<(), String> {
        let mut left = most;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX);
            let piece = arriving.next(wanted).await;
            let piece = piece.map_err(|error| error.to_string())?;
            if piece.is_empty() {
                break;
            }
            left = left.saturating_sub(u64::try_from(piece.len()).unwrap_or_default());
            let written = writing.write(self, &piece).await;
            written.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}
