//! Archives and blobs in the bucket.

use std::io::Read as _;

use flate2::bufread::GzDecoder;
use terrace_app::host::{
    ArchiveHead, Archives, BytesPage, Inflated, ListedBytes, Payload, Revision, StoreError, Stored,
};
use terrace_base::time::UnixTime;
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{ArchiveKey, BytesKey};

use super::Memory;
use super::objects::Object;
use crate::support::faults::Operation;

impl Archives for Memory {
    type Stream = Vec<u8>;

    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("R2 head", &key), || {
            Ok(self.world.bucket.get(&key).as_ref().map(head_of))
        })
        .await
    }

    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("R2 read", &key), || {
            let bytes = self.world.bucket.get(&key).map(|object| object.bytes);
            let bytes = bytes.unwrap_or_default().into_iter();
            let bytes = bytes.skip(usize::try_from(offset).unwrap());
            Ok(bytes.take(usize::try_from(length).unwrap()).collect())
        })
        .await
    }

    async fn tail(
        &self,
        key: ArchiveKey,
        length: u64,
    ) -> Result<Option<(ArchiveHead, Vec<u8>)>, StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("R2 read", &key), || {
            Ok(self.world.bucket.get(&key).map(|object| {
                let start = object
                    .bytes
                    .len()
                    .saturating_sub(usize::try_from(length).unwrap());
                (head_of(&object), object.bytes[start..].to_vec())
            }))
        })
        .await
    }

    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, StoreError> {
        let (digest, key) = (key.digest(), key.to_string());
        self.operation(Operation::new("R2 digest", &key), || {
            let object = self.world.bucket.get(&key);
            Ok(object.map(|object| digest.of_same_kind(&object.bytes)))
        })
        .await
    }

    async fn list_bytes(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BytesPage, StoreError> {
        self.operation(Operation::new("R2 list", prefix), || {
            let bucket = &self.world.bucket;
            let (objects, is_truncated) =
                bucket.page(prefix, after, limit, |name, object| ListedBytes {
                    name,
                    size: object.bytes.len() as u64,
                    stored_at: UnixTime(object.written_ms / 1_000),
                });
            Ok(BytesPage {
                objects,
                is_truncated,
            })
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
            let (offset, length) = (
                usize::try_from(offset).unwrap(),
                usize::try_from(length).unwrap(),
            );
            let object = self.world.bucket.get(&key);
            Ok(object.map(|object| object.bytes[offset..offset + length].to_vec()))
        })
        .await
    }

    async fn open(&self, key: BytesKey) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("R2 open", &key), || {
            let object = self.world.bucket.get(&key);
            Ok(object.map(|object| (object.bytes.len() as u64, object.bytes)))
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
        let key = key.to_string();
        self.operation(Operation::new("R2 inflate", &key), || {
            let Some(object) = self.world.bucket.get(&key) else {
                return Ok(Inflated::Missing);
            };
            let offset = usize::try_from(offset).unwrap();
            let end = offset.checked_add(usize::try_from(length).unwrap());
            let part = end.and_then(|end| object.bytes.get(offset..end));
            Ok(part.map_or(Inflated::Damaged, |part| inflated(part, limit)))
        })
        .await
    }

    async fn store(&self, key: BytesKey, payload: Payload<Vec<u8>>) -> Result<Stored, StoreError> {
        let is_damaged = matches!(payload, Payload::Bytes(_)) && self.world.damages.take();
        let (Payload::Bytes(bytes) | Payload::Stream(bytes)) = payload;
        let (digest, key) = (key.digest(), key.to_string());
        self.operation(Operation::new("R2 put", &key), || {
            if is_damaged || digest.of_same_kind(&bytes) != digest {
                return Ok(Stored::DigestMismatch);
            }
            self.refuse_frequent_object(&key)?;
            let checksum = match digest {
                Digest::Sha256(digest) => Some(digest),
                Digest::Sha512(_) => None,
            };
            self.insert(&key, &bytes, &[], checksum);
            Ok(Stored::Yes)
        })
        .await
    }

    async fn discard(&self, key: BytesKey) -> Result<(), StoreError> {
        let key = key.to_string();
        self.operation(Operation::new("R2 delete", &key), || {
            self.world.bucket.remove(&key);
            Ok(())
        })
        .await
    }
}

fn head_of(object: &Object) -> ArchiveHead {
    ArchiveHead {
        revision: Revision(object.revision.to_string()),
        size: object.bytes.len() as u64,
        sha256: object.checksum,
    }
}

/// Inflates exactly one gzip member.
fn inflated(member: &[u8], limit: u32) -> Inflated {
    let mut decoder = GzDecoder::new(member);
    let mut contents = Vec::new();
    let read = (&mut decoder)
        .take(u64::from(limit) + 1)
        .read_to_end(&mut contents);
    if contents.len() as u64 > u64::from(limit) {
        return Inflated::TooLong;
    }
    match read {
        Ok(_) if decoder.into_inner().is_empty() => Inflated::Contents(contents),
        _ => Inflated::Damaged,
    }
}
