//! The registry's platform in memory, which counts its operations and can fail at any of them,
//! before the operation takes effect or after.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::mem::replace;
use std::rc::Rc;
use std::task::Poll;

use terrace::isolate::Isolate;
use terrace::store::{
    ArchiveHead, Archives, Clock, Condition, Counted, Download, Fact, FactPage, Facts, Indices,
    Inquiry, ListedFact, Payload, Platform, ReleasePage, Revision, StoreError, Stored, Uploads,
    Upstream, UpstreamError,
};
use terrace::tally::{Part, Tally};
use terrace_core::digest::Sha256;
use terrace_core::index::{IndexDocument, IndexMetadata, ListedRelease};
use terrace_core::key::{ArchiveKey, BytesKey, ChunkKey, FactKey, IndexKey, Package, UPLOADS};
use terrace_core::oci::Digest;
use terrace_core::origin::{Fetch, Fetched, Guard, UrlParts};
use terrace_core::read::{Found, IndexForm};
use terrace_core::reply::Body;
use terrace_core::time::UnixTime;
use url::Url;

use super::registry::Response;

/// What a body of unknown length is stored in.
const PIECE: usize = 1_000;

/// What R2 lists at once.
const PAGE: usize = 1_000;

/// When a failing operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// It does nothing.
    Before,
    /// It takes effect, and its answer is lost.
    After,
}

/// An operation by how it begins, such as `R2 put oci/tags/`, and what happens before it.
type Interruption = (String, Box<dyn FnOnce()>);

/// Indices, that there is none included, and since when.
type Kept = BTreeMap<String, (u64, Option<IndexDocument>)>;

/// Other registries: what they answer to a GET of a URL.
type Internet = Rc<dyn Fn(&str) -> Option<Response>>;

/// The state behind a [`Memory`], shared by everything that holds one.
#[derive(Default)]
pub struct State {
    objects: RefCell<BTreeMap<String, Object>>,
    indices: RefCell<BTreeMap<String, IndexDocument>>,
    /// Every storage operation since the last [`Memory::forget_operations`], such as `KV get …`.
    operations: RefCell<Vec<String>>,
    /// The operation to fail, counted from 0 over those that write, and how.
    fault: Cell<Option<(usize, When)>>,
    writes: Cell<usize>,
    revision: Cell<u64>,
    now: Cell<u64>,
    log: RefCell<Vec<String>>,
    /// Called once, after the next listing of releases: the place where another publisher's
    /// commit does the most harm.
    after_list: RefCell<Option<Box<dyn FnOnce()>>>,
    /// Called once, before the next conditional write.
    before_commit: RefCell<Option<Box<dyn FnOnce()>>>,
    /// Called once, before the next write of an index.
    before_index_write: RefCell<Option<Box<dyn FnOnce()>>>,
    /// Called once, before the next operation of this kind.
    before_operation: RefCell<Option<Interruption>>,
    /// How long the last read index may be kept at the edge.
    cache_seconds: Cell<u32>,
    /// What an edge keeps of KV; `None` without one.
    edge: RefCell<Option<Kept>>,
    /// Whether the next listing says that there is more, and not what.
    says_nothing: Cell<bool>,
    /// What other registries answer, by URL; `None` for one that does not.
    internet: RefCell<Option<Internet>>,
    /// Whether every operation lets others go on in between.
    interleaves: Cell<bool>,
    busy_index_writes: Cell<usize>,
    busy_fact_writes: Cell<usize>,
    busy_blob_writes: Cell<usize>,
    tally: Tally,
    request_lines: RefCell<Vec<String>>,
    downloads: RefCell<Vec<String>>,
    /// How many failures of one network are let pass.
    failures_let_pass: Cell<Option<usize>>,
}

#[derive(Clone)]
struct Object {
    bytes: Vec<u8>,
    metadata: Vec<(String, String)>,
    revision: u64,
    /// R2 keeps a checksum of what came through the binding, and not always of other uploads.
    checksum: Option<Sha256>,
}

impl Object {
    /// As of R2 it is of the bytes alone: writing them again does not change it.
    fn etag(&self) -> String {
        Sha256::of(&self.bytes).to_string()
    }
}

/// The platform in memory. Clones share their state.
#[derive(Clone, Default)]
pub struct Memory(Rc<State>, Rc<Isolate>);

impl Memory {
    pub fn new() -> Self {
        let memory = Self::default();
        memory.0.now.set(1_800_000_000);
        memory
    }

    /// The same storage, as another isolate sees it.
    pub fn elsewhere(&self) -> Self {
        Self(Rc::clone(&self.0), Rc::default())
    }

    /// Fails the `at`th write from now on, once.
    pub fn fail_write(&self, at: usize, when: When) {
        self.0.writes.set(0);
        self.0.fault.set(Some((at, when)));
    }

    /// Whether the fault was reached; none is left then.
    pub fn take_fault(&self) -> bool {
        self.0.fault.take().is_none()
    }

    /// Answers the next index writes with "too many".
    pub fn busy_index_writes(&self, count: usize) {
        self.0.busy_index_writes.set(count);
    }

    /// Refuses the next `count` writes of facts as too frequent.
    pub fn busy_fact_writes(&self, count: usize) {
        self.0.busy_fact_writes.set(count);
    }

    /// Refuses the next `count` writes of blobs as too frequent.
    pub fn busy_blob_writes(&self, count: usize) {
        self.0.busy_blob_writes.set(count);
    }

    /// Lets the next listing of documents say that there is more, and not what.
    pub fn list_nothing(&self) {
        self.0.says_nothing.set(true);
    }

    /// Puts an edge before KV, which keeps what is read as long as it may.
    pub fn at_an_edge(&self) {
        *self.0.edge.borrow_mut() = Some(BTreeMap::new());
    }

    /// Runs `action` before the next operation that begins like this.
    pub fn before_operation(&self, start: &str, action: impl FnOnce() + 'static) {
        *self.0.before_operation.borrow_mut() = Some((start.to_owned(), Box::new(action)));
    }

    /// Whether what is to run before an operation has not run yet.
    pub fn is_uninterrupted(&self) -> bool {
        self.0.before_operation.borrow().is_some()
    }

    /// Runs `action` after the next listing of releases.
    pub fn after_list(&self, action: impl FnOnce() + 'static) {
        *self.0.after_list.borrow_mut() = Some(Box::new(action));
    }

    /// Runs `action` before the next conditional write.
    pub fn before_commit(&self, action: impl FnOnce() + 'static) {
        *self.0.before_commit.borrow_mut() = Some(Box::new(action));
    }

    /// Runs `action` before the next write of an index.
    pub fn before_index_write(&self, action: impl FnOnce() + 'static) {
        *self.0.before_index_write.borrow_mut() = Some(Box::new(action));
    }

    /// Lets `internet` answer for other registries.
    pub fn connect(&self, internet: impl Fn(&str) -> Option<Response> + 'static) {
        *self.0.internet.borrow_mut() = Some(Rc::new(internet));
    }

    /// Lets no other registry answer.
    pub fn disconnect(&self) {
        self.0.internet.borrow_mut().take();
    }

    /// Lets others go on at each operation, so that requests at once are at once.
    pub fn interleave(&self) {
        self.0.interleaves.set(true);
    }

    async fn pause(&self) {
        let mut paused = !self.0.interleaves.get();
        poll_fn(|context| {
            if replace(&mut paused, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    fn ask(&self, fetch: &Fetch, guard: &Guard) -> Result<(String, Response), UpstreamError> {
        let url = match &fetch.base {
            Some(base) => Url::parse(base).unwrap().join(&fetch.reference),
            None => Url::parse(&fetch.reference),
        };
        let url = url.map_err(|error| UpstreamError(error.to_string()))?;
        let parts = UrlParts {
            scheme: url.scheme(),
            has_userinfo: !url.username().is_empty(),
            host: url.host_str().unwrap_or_default(),
            port: url.port(),
        };
        guard
            .check(parts)
            .map_err(|error| UpstreamError(error.to_string()))?;
        self.note("fetch", url.as_str());
        let internet = self.0.internet.borrow().clone();
        let response = internet.and_then(|internet| internet(url.as_str()));
        let response = response.ok_or_else(|| UpstreamError("no answer".to_owned()))?;
        Ok((url.to_string(), response))
    }

    /// How long the last index that was read may be kept at the edge.
    pub fn cache_seconds(&self) -> u32 {
        self.0.cache_seconds.get()
    }

    pub fn operations(&self) -> Vec<String> {
        self.0.operations.borrow().clone()
    }

    pub fn forget_operations(&self) {
        self.0.operations.borrow_mut().clear();
    }

    /// What was written of each request.
    pub fn request_lines(&self) -> Vec<String> {
        self.0.request_lines.borrow().clone()
    }

    /// The downloads that were counted.
    pub fn downloads(&self) -> Vec<String> {
        self.0.downloads.borrow().clone()
    }

    /// Has the platform say after so many failures that there were too many.
    pub fn let_failures_pass(&self, count: usize) {
        self.0.failures_let_pass.set(Some(count));
    }

    pub fn log(&self) -> Vec<String> {
        self.0.log.borrow().clone()
    }

    pub fn advance(&self, seconds: u64) {
        self.0.now.set(self.0.now.get() + seconds);
    }

    /// All keys in the bucket.
    pub fn keys(&self) -> Vec<String> {
        self.0.objects.borrow().keys().cloned().collect()
    }

    /// Everything in KV, as text.
    pub fn indices(&self) -> BTreeMap<String, String> {
        let indices = self.0.indices.borrow();
        indices
            .iter()
            .map(|(key, document)| (key.clone(), document.text.clone()))
            .collect()
    }

    /// Takes the metadata from every object, as a careless copy of the bucket does.
    pub fn lose_metadata(&self) {
        for object in self.0.objects.borrow_mut().values_mut() {
            object.metadata.clear();
        }
    }

    /// Empties KV, as a new namespace would be.
    pub fn lose_indices(&self) {
        self.0.indices.borrow_mut().clear();
    }

    /// Writes an index past the registry.
    pub fn put_index(&self, key: &str, text: &str) {
        let metadata = IndexMetadata {
            gone: None,
            etag: "\"x\"".to_owned(),
            content: None,
            pull: None,
        };
        let document = IndexDocument {
            text: text.to_owned(),
            metadata,
        };
        self.0.indices.borrow_mut().insert(key.to_owned(), document);
    }

    /// An index that is there.
    pub fn index(&self, key: &str) -> IndexDocument {
        let indices = self.0.indices.borrow();
        indices.get(key).expect("an index").clone()
    }

    /// Brings an older index back, as an edge that has not seen the newer one.
    pub fn restore_index(&self, key: &str, document: IndexDocument) {
        self.0.indices.borrow_mut().insert(key.to_owned(), document);
    }

    /// Stores an object past the registry, as an S3 upload does: without a checksum.
    pub fn put_object(&self, key: &str, bytes: &[u8]) {
        self.insert(key, bytes, &[], None);
    }

    /// Removes an object past the registry.
    pub fn remove_object(&self, key: &str) {
        self.0.objects.borrow_mut().remove(key).expect("an object");
    }

    /// Stores a release of which only a listing is asked for.
    pub fn put_release(&self, key: &str, metadata: &[(&str, &str)]) {
        let metadata: Vec<(&str, String)> = metadata
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        self.insert(key, b"{}", &metadata, None);
    }

    /// The bytes of an object that is there.
    pub fn object_bytes(&self, key: &str) -> Vec<u8> {
        self.object(key).expect("an object").bytes
    }

    fn insert(
        &self,
        key: &str,
        bytes: &[u8],
        metadata: &[(&str, String)],
        checksum: Option<Sha256>,
    ) -> Revision {
        let revision = self.0.revision.get() + 1;
        self.0.revision.set(revision);
        let metadata = metadata
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let object = Object {
            bytes: bytes.to_vec(),
            metadata,
            revision,
            checksum,
        };
        self.0.objects.borrow_mut().insert(key.to_owned(), object);
        Revision(revision.to_string())
    }

    fn object(&self, key: &str) -> Option<Object> {
        self.0.objects.borrow().get(key).cloned()
    }

    fn note(&self, operation: &str, key: &str) {
        let noted = format!("{operation} {key}");
        let mut before = self.0.before_operation.borrow_mut();
        let interruption = before.take_if(|(start, _)| noted.starts_with(start.as_str()));
        drop(before);
        if let Some((_, action)) = interruption {
            action();
        }
        let part = match operation.split(' ').next() {
            Some("KV") => Part::Kv,
            Some("R2") => Part::R2,
            _ => Part::Origin,
        };
        drop(self.0.tally.time(part, || 0));
        self.0.operations.borrow_mut().push(noted);
    }

    /// What an index is here: what the edge has kept for less than `seconds`, or else what KV says.
    fn index_here(&self, key: &str, seconds: u32) -> Option<IndexDocument> {
        let said = self.0.indices.borrow().get(key).cloned();
        let mut edge = self.0.edge.borrow_mut();
        let Some(kept) = edge.as_mut() else {
            return said;
        };
        let now = self.0.now.get();
        if let Some((since, document)) = kept.get(key)
            && now - since < u64::from(seconds)
        {
            return document.clone();
        }
        kept.insert(key.to_owned(), (now, said.clone()));
        said
    }

    /// A write: `effect` happens unless a fault comes before it, and its result is lost when one
    /// comes after it.
    fn write<T>(
        &self,
        operation: &str,
        key: &str,
        effect: impl FnOnce() -> T,
    ) -> Result<T, StoreError> {
        self.note(operation, key);
        let number = self.0.writes.get();
        self.0.writes.set(number + 1);
        let failed = || StoreError::Failed {
            operation: format!("{operation} {key}"),
            cause: "injected".to_owned(),
        };
        match self.0.fault.get() {
            Some((at, When::Before)) if at == number => {
                self.0.fault.set(None);
                Err(failed())
            }
            Some((at, When::After)) if at == number => {
                self.0.fault.set(None);
                effect();
                Err(failed())
            }
            _ => Ok(effect()),
        }
    }
}

impl Facts for Memory {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        self.pause().await;
        let key = key.to_string();
        self.note("R2 get", &key);
        Ok(self.object(&key).map(|object| Fact {
            etag: object.etag(),
            bytes: object.bytes,
        }))
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
        let key = key.to_string();
        self.note("R2 head", &key);
        Ok(self
            .object(&key)
            .map(|object| Revision(object.revision.to_string())))
    }

    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError> {
        self.pause().await;
        let key = key.to_string();
        if condition != Condition::Any {
            let action = self.0.before_commit.borrow_mut().take();
            if let Some(action) = action {
                action();
            }
        }
        let busy = self.0.busy_fact_writes.get();
        if busy > 0 {
            self.0.busy_fact_writes.set(busy - 1);
            self.note("R2 put (10058)", &key);
            return Err(StoreError::Busy(key));
        }
        self.write("R2 put", &key, || {
            let there = self.object(&key);
            let holds = match condition {
                Condition::Any => true,
                Condition::Absent => there.is_none(),
                Condition::Unchanged(etag) => there.is_some_and(|object| object.etag() == etag),
            };
            holds.then(|| {
                self.insert(
                    &key,
                    document.as_bytes(),
                    metadata,
                    Some(Sha256::of(document.as_bytes())),
                )
            })
        })
    }

    async fn releases(
        &self,
        package: &Package,
        cursor: Option<String>,
    ) -> Result<ReleasePage, StoreError> {
        let prefix = FactKey::releases_of(package);
        self.note("R2 list", &prefix);
        let objects = self.0.objects.borrow();
        let mut page = ReleasePage::default();
        let from = cursor.unwrap_or_else(|| prefix.clone());
        let rest = objects
            .range(from..)
            .take_while(|(key, _)| key.starts_with(&prefix));
        for (key, object) in rest {
            if page.releases.len() == PAGE {
                page.cursor = Some(key.clone());
                break;
            }
            let version = FactKey::version_in(key).expect("a release's key");
            let metadata = |name: &str| {
                let found = object.metadata.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.as_str())
            };
            let listed = ListedRelease::from_metadata(package, version.clone(), metadata);
            page.releases.push((version, listed));
        }
        drop(objects);
        let action = if page.cursor.is_none() {
            self.0.after_list.borrow_mut().take()
        } else {
            None
        };
        if let Some(action) = action {
            action();
        }
        Ok(page)
    }

    async fn list(
        &self,
        prefix: &str,
        behind: Option<&str>,
        most: u32,
    ) -> Result<FactPage, StoreError> {
        self.note("R2 list", prefix);
        if self.0.says_nothing.take() {
            return Ok(FactPage {
                facts: Vec::new(),
                is_cut: true,
            });
        }
        let objects = self.0.objects.borrow();
        let most = usize::try_from(most).unwrap();
        let all = objects
            .range(prefix.to_owned()..)
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, object)| ListedFact {
                name: key.strip_prefix(prefix).unwrap().to_owned(),
                metadata: object.metadata.clone(),
            })
            .filter(|fact| behind.is_none_or(|behind| fact.name.as_str() > behind));
        let mut facts: Vec<ListedFact> = all.take(most + 1).collect();
        let is_cut = facts.len() > most;
        facts.truncate(most);
        Ok(FactPage { facts, is_cut })
    }

    async fn delete(&self, key: &FactKey) -> Result<(), StoreError> {
        let key = key.to_string();
        self.write("R2 delete", &key, || {
            self.0.objects.borrow_mut().remove(&key);
        })
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
        self.write("R2 put", &key.to_string(), || {
            self.insert(&key.to_string(), &bytes, &[], None);
        })
    }

    async fn store_pieces(&self, first: ChunkKey, stream: Vec<u8>) -> Result<Vec<u64>, StoreError> {
        let mut key = first;
        let mut lengths = Vec::new();
        for piece in stream.chunks(PIECE) {
            let bytes = Payload::Bytes(piece.to_vec());
            self.store_chunk(key, bytes).await?;
            lengths.push(piece.len() as u64);
            key.offset += piece.len() as u64;
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
            self.note("R2 open", &key.to_string());
            let object = self.object(&key.to_string());
            let object = object.filter(|object| object.bytes.len() as u64 == *length);
            let Some(object) = object else {
                return Ok(None);
            };
            whole.extend(object.bytes);
        }
        let payload = Payload::Bytes(whole);
        let stored = self.store(BytesKey::Blob(digest), payload).await?;
        Ok(Some(stored))
    }

    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError> {
        self.write(
            "R2 delete",
            &format!("{} of {UPLOADS}", names.len()),
            || {
                for name in &names {
                    self.0
                        .objects
                        .borrow_mut()
                        .remove(&format!("{UPLOADS}{name}"));
                }
            },
        )
    }
}

impl Archives for Memory {
    type Stream = Vec<u8>;

    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError> {
        self.pause().await;
        let key = key.to_string();
        self.note("R2 head", &key);
        Ok(self.object(&key).map(|object| ArchiveHead {
            revision: Revision(object.revision.to_string()),
            size: object.bytes.len() as u64,
            sha256: object.checksum,
        }))
    }

    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let key = key.to_string();
        self.note("R2 read", &key);
        let bytes = self
            .object(&key)
            .map(|object| object.bytes)
            .unwrap_or_default();
        let skipped = bytes.into_iter().skip(usize::try_from(offset).unwrap());
        Ok(skipped.take(usize::try_from(length).unwrap()).collect())
    }

    async fn digest(&self, key: ArchiveKey) -> Result<Option<Sha256>, StoreError> {
        let key = key.to_string();
        self.note("R2 digest", &key);
        Ok(self.object(&key).map(|object| Sha256::of(&object.bytes)))
    }

    async fn open_part(
        &self,
        key: BytesKey,
        offset: u64,
        length: u64,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = key.to_string();
        self.note("R2 open", &key);
        let (offset, length) = (
            usize::try_from(offset).unwrap(),
            usize::try_from(length).unwrap(),
        );
        let object = self.object(&key);
        Ok(object.map(|object| object.bytes[offset..offset + length].to_vec()))
    }

    async fn open(&self, key: BytesKey) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let key = key.to_string();
        self.note("R2 open", &key);
        Ok(self
            .object(&key)
            .map(|object| (object.bytes.len() as u64, object.bytes)))
    }

    async fn store(&self, key: BytesKey, payload: Payload<Vec<u8>>) -> Result<Stored, StoreError> {
        let (Payload::Bytes(bytes) | Payload::Stream(bytes)) = payload;
        let busy = self.0.busy_blob_writes.get();
        if busy > 0 {
            self.0.busy_blob_writes.set(busy - 1);
            self.note("R2 put (10058)", &key.to_string());
            return Err(StoreError::Busy(key.to_string()));
        }
        self.write("R2 put", &key.to_string(), || {
            if key.digest().of_same_kind(&bytes) != key.digest() {
                return Stored::DigestMismatch;
            }
            let checksum = match key.digest() {
                Digest::Sha256(digest) => Some(digest),
                Digest::Sha512(_) => None,
            };
            self.insert(&key.to_string(), &bytes, &[], checksum);
            Stored::Yes
        })
    }

    async fn discard(&self, key: BytesKey) -> Result<(), StoreError> {
        let key = key.to_string();
        self.write("R2 delete", &key, || {
            self.0.objects.borrow_mut().remove(&key);
        })
    }
}

impl Indices for Memory {
    type Stream = Vec<u8>;

    async fn get(
        &self,
        key: &IndexKey,
        form: IndexForm,
        cache_seconds: u32,
    ) -> Result<Option<Found<Vec<u8>>>, StoreError> {
        self.pause().await;
        let key = key.to_string();
        self.note("KV get", &key);
        self.0.cache_seconds.set(cache_seconds);
        let document = self.index_here(&key, cache_seconds);
        Ok(document.map(|document| Found {
            metadata: document.metadata,
            body: match form {
                IndexForm::Stream => Body::Stream(document.text.into_bytes()),
                IndexForm::Text => Body::Text(document.text),
            },
        }))
    }

    async fn put(&self, key: &IndexKey, document: &IndexDocument) -> Result<(), StoreError> {
        let key = key.to_string();
        let action = self.0.before_index_write.borrow_mut().take();
        if let Some(action) = action {
            action();
        }
        let busy = self.0.busy_index_writes.get();
        if busy > 0 {
            self.0.busy_index_writes.set(busy - 1);
            self.note("KV put (429)", &key);
            return Err(StoreError::Busy(key));
        }
        self.write("KV put", &key, || {
            self.0
                .indices
                .borrow_mut()
                .insert(key.clone(), document.clone());
        })
    }

    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError> {
        let key = key.to_string();
        self.write("KV delete", &key, || {
            self.0.indices.borrow_mut().remove(&key);
        })
    }
}

impl Upstream for Memory {
    type Stream = Vec<u8>;

    async fn fetch(
        &self,
        fetch: &Fetch,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError> {
        self.pause().await;
        if seconds == 0 {
            return Err(UpstreamError("no answer in time".to_owned()));
        }
        let (final_url, response) = self.ask(fetch, guard)?;
        Ok(Fetched {
            status: response.status,
            final_url,
            content_type: response.header("content-type").map(str::to_owned),
            body: response.body,
        })
    }

    async fn inquire(
        &self,
        inquiry: &Inquiry,
        guard: &Guard,
        _seconds: u32,
    ) -> Result<Fetched, UpstreamError> {
        self.pause().await;
        let fetch = Fetch {
            base: None,
            // A test tells a form from a GET by what follows the URL.
            reference: match &inquiry.form {
                Some(form) => format!("{}#{form}", inquiry.url),
                None => inquiry.url.clone(),
            },
            max_bytes: inquiry.max_bytes,
            with_token: false,
            what: "an inquiry",
        };
        let (final_url, response) = self.ask(&fetch, guard)?;
        Ok(Fetched {
            status: response.status,
            final_url,
            content_type: response.header("content-type").map(str::to_owned),
            body: response.body,
        })
    }

    async fn open(&self, fetch: &Fetch, guard: &Guard) -> Result<Download<Vec<u8>>, UpstreamError> {
        self.pause().await;
        let (_, response) = self.ask(fetch, guard)?;
        let length = response.header("content-length").unwrap();
        Ok(Download {
            status: response.status,
            length: length.parse().ok(),
            stream: Some(response.body),
        })
    }

    fn fork(&self, stream: Vec<u8>, length: u64) -> Result<(Vec<u8>, Vec<u8>), UpstreamError> {
        assert_eq!(stream.len() as u64, length, "the test's internet is sound");
        Ok((stream.clone(), stream))
    }
}

impl Clock for Memory {
    fn now(&self) -> UnixTime {
        UnixTime(self.0.now.get())
    }

    fn millis(&self) -> u64 {
        self.0.now.get() * 1000
    }

    async fn sleep(&self, seconds: u32) {
        if self.0.interleaves.get() {
            // A second is long for everybody else.
            for _ in 0..100 * seconds {
                self.pause().await;
            }
        } else {
            self.advance(seconds.into());
        }
    }
}

impl Platform for Memory {
    type Stream = Vec<u8>;
    type Facts = Self;
    type Archives = Self;
    type Uploads = Self;
    type Indices = Self;
    type Upstream = Self;
    type Clock = Self;

    fn facts(&self) -> &Self {
        self
    }

    fn archives(&self) -> &Self {
        self
    }

    fn uploads(&self) -> &Self {
        self
    }

    fn indices(&self) -> &Self {
        self
    }

    fn upstream(&self) -> &Self {
        self
    }

    fn clock(&self) -> &Self {
        self
    }

    fn isolate(&self) -> &Isolate {
        &self.1
    }

    fn random(&self) -> [u8; 16] {
        let count = self.0.revision.get() + 1;
        self.0.revision.set(count);
        u128::from(count).to_be_bytes()
    }

    fn tally(&self) -> &Tally {
        &self.0.tally
    }

    fn log(&self, line: &str) {
        self.0.log.borrow_mut().push(line.to_owned());
    }

    fn log_request(&self, line: &str) {
        self.0.request_lines.borrow_mut().push(line.to_owned());
    }

    fn count(&self, download: &Counted<'_>) {
        let Counted {
            package,
            version,
            route,
            client,
        } = download;
        let (package, product) = (package.address(), client.product());
        let counted = format!("{package} {version} {route} {product}");
        self.0.downloads.borrow_mut().push(counted);
    }

    async fn is_one_failure_too_many(&self, _: &str) -> bool {
        let left = self.0.failures_let_pass.get();
        let left = left.map(|left| left.checked_sub(1));
        self.0
            .failures_let_pass
            .set(left.map(Option::unwrap_or_default));
        left == Some(None)
    }
}
