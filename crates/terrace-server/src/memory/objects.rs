//! The objects of a bucket in memory, with R2's behaviour. Each operation is done when its method returns.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use terrace_app::host::{
    ArchiveHead, BytesPage, Condition, Fact, FactPage, Inflated, ListedBytes, ListedFact, Revision,
    StoreError, Stored,
};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{BytesKey, ChunkKey, FactKey};

use crate::hashing::inflated;

/// The objects of a bucket, by their keys.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    objects: BTreeMap<String, Object>,
    writes: u64,
}

/// A stored object.
#[derive(Debug, Clone)]
pub struct Object {
    /// Its contents.
    pub bytes: Bytes,
    /// Its metadata, by their names.
    pub metadata: Vec<(String, String)>,
    /// The number of the write that stored it.
    pub write: u64,
    /// The time of that write, in milliseconds since 1970.
    pub written_ms: u64,
    /// The number and the time of the first write of its key.
    pub created: (u64, u64),
    /// The digest that was checked when it was stored. R2 keeps none of some uploads.
    pub checksum: Option<Sha256>,
}

impl Object {
    /// Returns the ETag: as in R2 it depends on the bytes alone, so writing them again does not change it.
    pub fn etag(&self) -> String {
        Sha256::of(&self.bytes).to_string()
    }

    fn revision(&self) -> Revision {
        Revision(self.write.to_string())
    }

    fn stored_at(&self) -> UnixTime {
        UnixTime(self.written_ms / 1_000)
    }
}

impl Objects {
    /// Returns the number of writes so far.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Returns an object.
    pub fn get(&self, key: &str) -> Option<&Object> {
        self.objects.get(key)
    }

    /// Returns all objects, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Object)> {
        self.objects.iter()
    }

    /// Returns all objects, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&String, &mut Object)> {
        self.objects.iter_mut()
    }

    /// Removes an object.
    pub fn remove(&mut self, key: &str) -> Option<Object> {
        self.objects.remove(key)
    }

    /// Stores an object, and returns its revision.
    pub fn insert(
        &mut self,
        key: String,
        bytes: impl Into<Bytes>,
        metadata: &[(&str, String)],
        checksum: Option<Sha256>,
        now_ms: u64,
    ) -> Revision {
        self.writes += 1;
        let own = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
        let first = self.objects.get(&key).map(|object| object.created);
        let object = Object {
            bytes: bytes.into(),
            metadata: metadata.iter().map(own).collect(),
            write: self.writes,
            written_ms: now_ms,
            created: first.unwrap_or((self.writes, now_ms)),
            checksum,
        };
        let revision = object.revision();
        self.objects.insert(key, object);
        revision
    }

    /// Returns a document.
    pub fn fact(&self, key: &FactKey) -> Option<Fact> {
        self.get(&key.to_string()).map(|object| Fact {
            bytes: object.bytes.to_vec(),
            etag: object.etag(),
        })
    }

    /// Returns the revision of an object.
    pub fn revision(&self, key: &FactKey) -> Option<Revision> {
        self.get(&key.to_string()).map(Object::revision)
    }

    /// Stores a document if the condition holds, and returns its revision.
    pub fn put(
        &mut self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: &Condition,
        now_ms: u64,
    ) -> Option<Revision> {
        let key = key.to_string();
        let stored = self.get(&key);
        let holds = match condition {
            Condition::Any => true,
            Condition::Absent => stored.is_none(),
            Condition::Unchanged(etag) => stored.is_some_and(|object| object.etag() == *etag),
        };
        let checksum = Some(Sha256::of(document.as_bytes()));
        let bytes = document.to_owned();
        holds.then(|| self.insert(key, bytes, metadata, checksum, now_ms))
    }

    /// Returns up to `limit` objects with keys that begin with `prefix`, after the one named `after`, and whether there are
    /// more.
    fn page<T>(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        view: impl Fn(String, &Object) -> T,
    ) -> (Vec<T>, bool) {
        let from = match after {
            Some(after) => Bound::Excluded(format!("{prefix}{after}")),
            None => Bound::Included(prefix.to_owned()),
        };
        let mut rest = self
            .objects
            .range((from, Bound::Unbounded))
            .map_while(|(key, object)| Some((key.strip_prefix(prefix)?.to_owned(), object)));
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let page = rest.by_ref().take(limit);
        let page = page.map(|(name, object)| view(name, object)).collect();
        (page, rest.next().is_some())
    }

    /// Returns a page of the documents below a prefix.
    pub fn list(&self, prefix: &str, after: Option<&str>, limit: u32) -> FactPage {
        let view = |name, object: &Object| ListedFact {
            name,
            metadata: object.metadata.clone(),
            stored_at: object.stored_at(),
            etag: object.etag(),
        };
        let (facts, is_truncated) = self.page(prefix, after, limit, view);
        FactPage {
            facts,
            is_truncated,
        }
    }

    /// Returns a page of the archives or blobs below a prefix.
    pub fn list_bytes(&self, prefix: &str, after: Option<&str>, limit: u32) -> BytesPage {
        let view = |name, object: &Object| ListedBytes {
            name,
            size: object.bytes.len() as u64,
            stored_at: object.stored_at(),
        };
        let (objects, is_truncated) = self.page(prefix, after, limit, view);
        BytesPage {
            objects,
            is_truncated,
        }
    }

    /// Returns the head of an archive or a blob.
    pub fn head(&self, key: &str) -> Option<ArchiveHead> {
        self.get(key).map(|object| ArchiveHead {
            revision: object.revision(),
            size: object.bytes.len() as u64,
            sha256: object.checksum,
        })
    }

    /// Returns a part of an object, or less at its end.
    pub fn part(&self, key: &str, offset: u64, length: u64) -> Option<Bytes> {
        let bytes = &self.get(key)?.bytes;
        let bound = |at: u64| usize::try_from(at).map_or(bytes.len(), |at| at.min(bytes.len()));
        Some(bytes.slice(bound(offset)..bound(offset.saturating_add(length))))
    }

    /// Returns a part of an object.
    ///
    /// # Errors
    /// The object ends before the part.
    pub fn exact_part(
        &self,
        key: &str,
        offset: u64,
        length: u64,
    ) -> Result<Option<Bytes>, StoreError> {
        match self.part(key, offset, length) {
            Some(part) if part.len() as u64 != length => Err(StoreError::Failed {
                operation: format!("memory open {key}"),
                cause: "it ends before the part".to_owned(),
            }),
            part => Ok(part),
        }
    }

    /// Returns the digest of the contents of an archive or a blob.
    pub fn digest(&self, key: BytesKey) -> Option<Digest> {
        let object = self.get(&key.to_string());
        object.map(|object| key.digest().of_same_kind(&object.bytes))
    }

    /// Inflates a part of an object: exactly one gzip member.
    pub fn inflate(&self, key: &str, offset: u64, length: u32, limit: u32) -> Inflated {
        match self.part(key, offset, length.into()) {
            None => Inflated::Missing,
            Some(part) if part.len() as u64 != u64::from(length) => Inflated::Damaged,
            Some(part) => inflated(&part, limit),
        }
    }

    /// Stores an archive or a blob, if it has the digest in its key.
    pub fn store(&mut self, key: BytesKey, bytes: impl Into<Bytes>, now_ms: u64) -> Stored {
        let bytes = bytes.into();
        if key.digest().of_same_kind(&bytes) != key.digest() {
            return Stored::DigestMismatch;
        }
        let checksum = match key.digest() {
            Digest::Sha256(digest) => Some(digest),
            Digest::Sha512(_) => None,
        };
        self.insert(key.to_string(), bytes, &[], checksum, now_ms);
        Stored::Yes
    }

    /// Returns a chunk of an upload, if it has this length.
    pub fn chunk(&self, key: &ChunkKey, length: u64) -> Option<Bytes> {
        let object = self.get(&key.to_string());
        let object = object.filter(|object| object.bytes.len() as u64 == length);
        object.map(|object| object.bytes.clone())
    }
}
