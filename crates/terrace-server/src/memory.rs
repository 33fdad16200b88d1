//! Storage in the memory of the process, for a registry that is only tried, and for tests.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use flate2::bufread::GzDecoder;
use terrace_app::host::UNSIZED_CHUNK_BYTES;
use terrace_app::host::{
    ArchiveHead, Archives, BytesPage, Condition, Fact, FactPage, Facts, IndexPage, Indices,
    Inflated, ListedBytes, ListedFact, Payload, ReleasePage, Revision, StoreError, Stored, Uploads,
};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::http::reply::Body;
use terrace_core::index::ListedRelease;
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::read::{IndexForm, StoredIndex};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{ArchiveKey, BytesKey, ChunkKey, FactKey, IndexKey, UPLOADS};

use crate::clock::millis;
use crate::stream;
use crate::stream::ByteStream;

/// The maximum number of entries in a page of releases or of indices.
const PAGE: usize = 1_000;

/// Storage in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Object>,
    indices: BTreeMap<String, IndexDocument>,
    writes: u64,
    /// How long a write of a fact takes.
    #[cfg(test)]
    write_time: std::time::Duration,
    /// Whether every operation panics.
    #[cfg(test)]
    panics: bool,
}

#[derive(Debug, Clone)]
struct Object {
    bytes: Bytes,
    metadata: Vec<(String, String)>,
    write: u64,
    stored_at: UnixTime,
}

impl Object {
    fn etag(&self) -> String {
        self.write.to_string()
    }

    fn revision(&self) -> Revision {
        Revision(self.write.to_string())
    }
}

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
        self.state().writes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        #[cfg(test)]
        assert!(!state.panics);
        state
    }

    fn object(&self, key: impl ToString) -> Option<Object> {
        self.state().objects.get(&key.to_string()).cloned()
    }

    fn remove_object(&self, key: &str) {
        self.state().objects.remove(key);
    }
}

impl State {
    fn insert(&mut self, key: String, bytes: Bytes, metadata: Vec<(String, String)>) -> Revision {
        self.writes += 1;
        let object = Object {
            bytes,
            metadata,
            write: self.writes,
            stored_at: UnixTime(millis() / 1_000),
        };
        let revision = object.revision();
        self.objects.insert(key, object);
        revision
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
}

impl Facts for Memory {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        Ok(self.object(key).map(|object| Fact {
            bytes: object.bytes.to_vec(),
            etag: object.etag(),
        }))
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
        Ok(self.object(key).map(|object| object.revision()))
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
        let key = key.to_string();
        let own = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
        let metadata = metadata.iter().map(own).collect();
        let mut state = self.state();
        let stored = state.objects.get(&key);
        let holds = match condition {
            Condition::Any => true,
            Condition::Absent => stored.is_none(),
            Condition::Unchanged(etag) => stored.is_some_and(|object| object.etag() == etag),
        };
        let document = Bytes::from(document.to_owned());
        Ok(holds.then(|| state.insert(key, document, metadata)))
    }

    async fn releases(
        &self,
        package: &Package,
        cursor: Option<String>,
    ) -> Result<ReleasePage, StoreError> {
        let prefix = FactKey::releases_of(package);
        let limit = u32::try_from(PAGE).unwrap_or(u32::MAX);
        let view = |name: String, object: &Object| {
            let version = FactKey::version_in(&format!("{prefix}{name}"))?;
            let value = |wanted: &str| {
                let mut metadata = object.metadata.iter();
                let found = metadata.find(|(known, _)| known == wanted);
                found.map(|(_, value)| value.as_str())
            };
            let (package, stored_at) = (package, object.stored_at);
            let listed = ListedRelease::from_metadata(package, version.clone(), stored_at, value);
            Some((name, version, listed))
        };
        let (page, is_truncated) = self.state().page(&prefix, cursor.as_deref(), limit, view);
        let cursor = page.last().and_then(Option::as_ref);
        let cursor = cursor.map(|(name, ..)| name.clone());
        let releases = page.into_iter().flatten();
        Ok(ReleasePage {
            releases: releases
                .map(|(_, version, listed)| (version, listed))
                .collect(),
            cursor: cursor.filter(|_| is_truncated),
        })
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FactPage, StoreError> {
        let view = |name, object: &Object| ListedFact {
            name,
            metadata: object.metadata.clone(),
            stored_at: object.stored_at,
            etag: object.etag(),
        };
        let (facts, is_truncated) = self.state().page(prefix, after, limit, view);
        Ok(FactPage {
            facts,
            is_truncated,
        })
    }

    async fn delete(&self, key: &FactKey) -> Result<(), StoreError> {
        self.remove_object(&key.to_string());
        Ok(())
    }
}

impl Memory {
    /// Returns a part of an object, or less at its end.
    fn part(&self, key: impl ToString, offset: u64, length: u64) -> Option<Bytes> {
        let bytes = self.object(key)?.bytes;
        let bound = |at: u64| usize::try_from(at).map_or(bytes.len(), |at| at.min(bytes.len()));
        Some(bytes.slice(bound(offset)..bound(offset.saturating_add(length))))
    }

    async fn bytes(
        &self,
        operation: &str,
        payload: Payload<ByteStream>,
    ) -> Result<Bytes, StoreError> {
        match payload {
            Payload::Bytes(bytes) => Ok(bytes.into()),
            Payload::Stream(stream) => {
                let read = stream::read(stream, u64::MAX).await;
                let failed = |error: std::io::Error| StoreError::Failed {
                    operation: operation.to_owned(),
                    cause: error.to_string(),
                };
                read.map(Bytes::from).map_err(failed)
            }
        }
    }
}

impl Archives for Memory {
    type Stream = ByteStream;

    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError> {
        Ok(self.object(key).map(|object| ArchiveHead {
            revision: object.revision(),
            size: object.bytes.len() as u64,
            sha256: match key.digest() {
                Digest::Sha256(_) => Some(Sha256::of(&object.bytes)),
                Digest::Sha512(_) => None,
            },
        }))
    }

    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let part = self.part(key, offset, length);
        Ok(part.unwrap_or_default().to_vec())
    }

    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, StoreError> {
        let object = self.object(key);
        Ok(object.map(|object| key.digest().of_same_kind(&object.bytes)))
    }

    async fn list_bytes(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BytesPage, StoreError> {
        let view = |name, object: &Object| ListedBytes {
            name,
            size: object.bytes.len() as u64,
            stored_at: object.stored_at,
        };
        let (objects, is_truncated) = self.state().page(prefix, after, limit, view);
        Ok(BytesPage {
            objects,
            is_truncated,
        })
    }

    async fn open(&self, key: BytesKey) -> Result<Option<(u64, ByteStream)>, StoreError> {
        let object = self.object(key);
        Ok(object.map(|object| (object.bytes.len() as u64, stream::of(object.bytes))))
    }

    async fn open_part(
        &self,
        key: BytesKey,
        offset: u64,
        length: u64,
    ) -> Result<Option<ByteStream>, StoreError> {
        Ok(self.part(key, offset, length).map(stream::of))
    }

    async fn inflate(
        &self,
        key: ArchiveKey,
        offset: u64,
        length: u32,
        limit: u32,
    ) -> Result<Inflated, StoreError> {
        Ok(match self.part(key, offset, length.into()) {
            None => Inflated::Missing,
            Some(part) if part.len() as u64 != u64::from(length) => Inflated::Damaged,
            Some(part) => inflated(&part, limit),
        })
    }

    async fn store(
        &self,
        key: BytesKey,
        payload: Payload<ByteStream>,
    ) -> Result<Stored, StoreError> {
        let bytes = self.bytes(&format!("memory put {key}"), payload).await?;
        if key.digest().of_same_kind(&bytes) != key.digest() {
            return Ok(Stored::DigestMismatch);
        }
        self.state().insert(key.to_string(), bytes, Vec::new());
        Ok(Stored::Yes)
    }

    async fn discard(&self, key: BytesKey) -> Result<(), StoreError> {
        self.remove_object(&key.to_string());
        Ok(())
    }
}

/// Inflates exactly one gzip member.
fn inflated(member: &[u8], limit: u32) -> Inflated {
    let mut decoder = GzDecoder::new(member);
    let mut contents = Vec::new();
    let most = u64::from(limit).saturating_add(1);
    let read = (&mut decoder).take(most).read_to_end(&mut contents);
    if contents.len() as u64 > u64::from(limit) {
        return Inflated::TooLong;
    }
    match read {
        Ok(_) if decoder.into_inner().is_empty() => Inflated::Contents(contents),
        _ => Inflated::Damaged,
    }
}

impl Uploads for Memory {
    type Stream = ByteStream;

    async fn store_chunk(
        &self,
        key: ChunkKey,
        payload: Payload<ByteStream>,
    ) -> Result<(), StoreError> {
        let bytes = self.bytes(&format!("memory put {key}"), payload).await?;
        self.state().insert(key.to_string(), bytes, Vec::new());
        Ok(())
    }

    async fn store_chunks(
        &self,
        first: ChunkKey,
        stream: ByteStream,
    ) -> Result<Vec<u64>, StoreError> {
        let mut key = first;
        let mut lengths = Vec::new();
        let payload = Payload::Stream(stream);
        let mut rest = self.bytes(&format!("memory put {key}"), payload).await?;
        let most = usize::try_from(UNSIZED_CHUNK_BYTES).unwrap_or(usize::MAX);
        while !rest.is_empty() {
            let chunk = rest.split_to(most.min(rest.len()));
            let length = chunk.len() as u64;
            self.state().insert(key.to_string(), chunk, Vec::new());
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
            let chunk = self.object(key);
            let Some(chunk) = chunk.filter(|chunk| chunk.bytes.len() as u64 == *length) else {
                return Ok(None);
            };
            whole.extend_from_slice(&chunk.bytes);
        }
        let stored = self.store(BytesKey::Blob(digest), Payload::Bytes(whole));
        stored.await.map(Some)
    }

    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError> {
        for name in names {
            self.remove_object(&format!("{UPLOADS}{name}"));
        }
        Ok(())
    }
}

impl Indices for Memory {
    type Stream = ByteStream;

    async fn get(
        &self,
        key: &IndexKey,
        _: IndexForm,
        _: u32,
    ) -> Result<Option<StoredIndex<ByteStream>>, StoreError> {
        let document = self.state().indices.get(&key.to_string()).cloned();
        Ok(document.map(|document| StoredIndex {
            metadata: document.metadata,
            // Also if a stream would do: the response then states its length.
            body: Body::Text(document.text),
        }))
    }

    async fn get_all(
        &self,
        keys: &[&IndexKey],
        cache_seconds: u32,
    ) -> Result<Vec<Option<StoredIndex<ByteStream>>>, StoreError> {
        let mut found = Vec::new();
        for key in keys {
            found.push(Indices::get(self, key, IndexForm::Text, cache_seconds).await?);
        }
        Ok(found)
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
