//! The registry's platform in memory, which counts its operations and can break at any of them,
//! before the operation takes effect or after. Alone it has one place, where everything is seen at
//! once; with [`Memory::with_rules`] it keeps the platform's own rules.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use terrace_app::cache::Cache;
use terrace_app::host::{
    ArchiveHead, Archives, BytesPage, Clock, Condition, Counted, Download, Fact, FactPage, Facts,
    Host, IndexPage, Indices, Inquiry, ListedBytes, ListedFact, Payload, ReleasePage, Revision,
    StoreError, Stored, Uploads, Upstream, UpstreamError,
};
use terrace_app::usage::{Part, UsageMeter};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::http::guard::{Guard, UrlParts};
use terrace_core::http::reply::Body;
use terrace_core::index::ListedRelease;
use terrace_core::limits::INDICES_AT_ONCE;
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::read::{Found, IndexForm};
use terrace_core::storage::index_document::{IndexDocument, IndexMetadata};
use terrace_core::storage::key::{ArchiveKey, BytesKey, ChunkKey, FactKey, IndexKey, UPLOADS};
use terrace_core::upstream::origin::{Fetch, Fetched};
use url::Url;

use super::breaks::{Break, When};
use super::edge::{self, Edge};
use super::registry::Response;

/// What a body of unknown length is stored in.
const PIECE: usize = 1_000;

/// What R2 lists at once.
const PAGE: usize = 1_000;

/// What others do while an operation is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Turns {
    /// Nothing: each request is alone.
    #[default]
    Alone,
    /// Whoever asks for it goes on, in turns.
    Alternating,
    /// The same, and time passes as a [`Schedule`](super::schedule::Schedule) says.
    Scheduled,
}

/// An operation by how it begins, such as `R2 put oci/tags/`, and what happens before it.
type Interruption = (String, Box<dyn FnOnce()>);

/// Indices, that there is none included, and since when, in milliseconds.
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
    /// The operation to break, counted from 0 over all of them, and how.
    broken: Cell<Option<(usize, Break)>>,
    /// Whether it was reached.
    is_reached: Cell<bool>,
    counted: Cell<usize>,
    /// How many of a thousand operations break of those that may.
    frailty: Cell<u32>,
    /// Whether somebody has just been killed.
    is_killed: Cell<bool>,
    revision: Cell<u64>,
    /// How many random numbers were drawn: each is another one.
    random: Cell<u64>,
    now_ms: Cell<u64>,
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
    kept: RefCell<Option<Kept>>,
    /// Whether the next listing says that there is more, and not what.
    says_nothing: Cell<bool>,
    /// What other registries answer, by URL; `None` for one that does not.
    internet: RefCell<Option<Internet>>,
    turns: Cell<Turns>,
    /// How many keys of indices a page of a listing has, if fewer than usual.
    index_page: Cell<Option<usize>>,
    /// Where indices are, if they keep KV's rules. Then [`State::indices`] is what counts in the end.
    edge: RefCell<Option<Edge>>,
    busy_index_writes: Cell<usize>,
    busy_fact_writes: Cell<usize>,
    busy_blob_writes: Cell<usize>,
    meter: UsageMeter,
    /// The only origin, if there is only one.
    origin: RefCell<Option<String>>,
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
    written_ms: u64,
    /// The revision of its first write, and when that was.
    created: (u64, u64),
    /// R2 keeps a checksum of what came through the binding, and not always of other uploads.
    checksum: Option<Sha256>,
}

impl Object {
    /// As of R2 it is of the bytes alone: writing them again does not change it.
    fn etag(&self) -> String {
        Sha256::of(&self.bytes).to_string()
    }
}

/// The platform in memory, as an isolate at a location sees it. Clones share their state.
#[derive(Clone, Default)]
pub struct Memory(Rc<State>, Rc<Cache>, Place);

/// Where an isolate is, and whether what it does may break.
#[derive(Clone, Copy, Default)]
struct Place {
    location: usize,
    is_frail: bool,
}

impl Memory {
    pub fn new() -> Self {
        let memory = Self::default();
        memory.0.now_ms.set(1_800_000_000_000);
        memory
    }

    /// Storage that keeps the platform's rules: a key takes one write a second, and what of KV is
    /// seen where, and when, is drawn from `seed`.
    pub fn with_rules(seed: u64) -> Self {
        let memory = Self::new();
        *memory.0.edge.borrow_mut() = Some(Edge::new(seed));
        memory
    }

    /// The same storage, as another isolate sees it.
    pub fn elsewhere(&self) -> Self {
        self.at(self.2.location)
    }

    /// The same storage, as another isolate sees it, at this location.
    pub fn at(&self, location: usize) -> Self {
        let place = Place {
            location,
            is_frail: false,
        };
        Self(Rc::clone(&self.0), Rc::default(), place)
    }

    /// The same, of which so many of a thousand operations break, by failures and by its end.
    pub fn frail(mut self, per_mille: u32) -> Self {
        self.0.frailty.set(per_mille);
        self.2.is_frail = true;
        self
    }

    /// What becomes of `future`; `None` if whoever does it is killed.
    pub async fn until_killed<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending if self.0.is_killed.replace(false) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Storage of its own that holds the same, at the same time.
    pub fn copy(&self) -> Self {
        let copy = Self::default();
        copy.0.objects.replace(self.0.objects.borrow().clone());
        copy.0.indices.replace(self.0.indices.borrow().clone());
        copy.0.revision.set(self.0.revision.get());
        copy.0.random.set(self.0.random.get());
        copy.0.now_ms.set(self.0.now_ms.get());
        copy
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

    /// Breaks the `at`th operation from now on.
    pub fn break_at(&self, at: usize, how: Break) {
        self.0.counted.set(0);
        self.0.is_reached.set(false);
        self.0.broken.set(Some((at, how)));
    }

    /// Breaks nothing any more. Tells whether something was broken.
    pub fn repair(&self) -> bool {
        self.0.broken.set(None);
        self.0.is_reached.replace(false)
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
        *self.0.kept.borrow_mut() = Some(BTreeMap::new());
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
        self.0.turns.set(Turns::Alternating);
    }

    /// The same, where time passes as whoever runs the requests says.
    pub fn schedule(&self) {
        self.0.turns.set(Turns::Scheduled);
    }

    /// One request after the other again.
    pub fn in_peace(&self) {
        self.0.turns.set(Turns::Alone);
    }

    /// Lets others go on, if there are any.
    pub async fn pause(&self) {
        let mut pauses = match self.0.turns.get() {
            Turns::Alone => 0,
            Turns::Alternating => 1,
            // Of what one asks for at once, anything may come first.
            Turns::Scheduled => self.0.edge.borrow_mut().as_mut().map_or(1, Edge::turns),
        };
        poll_fn(|context| {
            if pauses == 0 {
                return Poll::Ready(());
            }
            pauses -= 1;
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

    /// From now on the registry is served at this origin only.
    pub fn serve_only(&self, origin: &str) {
        self.0.origin.replace(Some(origin.to_owned()));
    }

    pub fn advance(&self, seconds: u64) {
        self.advance_ms(1_000 * seconds);
    }

    pub fn advance_ms(&self, milliseconds: u64) {
        self.0.now_ms.set(self.now_ms() + milliseconds);
    }

    pub fn now_ms(&self) -> u64 {
        self.0.now_ms.get()
    }

    /// Brings a time back: what is signed for the same time is the same.
    pub fn set_time(&self, now: UnixTime) {
        self.0.now_ms.set(1_000 * now.0);
    }

    /// Everything in KV, with its metadata.
    pub fn documents(&self) -> BTreeMap<String, IndexDocument> {
        self.0.indices.borrow().clone()
    }

    /// How many writes were refused since one key took too many.
    pub fn refused_writes(&self) -> usize {
        self.0.edge.borrow().as_ref().map_or(0, Edge::refused)
    }

    /// Everything in the bucket.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let objects = self.0.objects.borrow();
        objects
            .iter()
            .map(|(key, object)| (key.clone(), object.bytes.clone()))
            .collect()
    }

    /// The objects below `prefix` in the order of their creation, with when that was.
    pub fn created(&self, prefix: &str) -> Vec<(String, u64)> {
        let objects = self.0.objects.borrow();
        let mut below: Vec<_> = objects
            .iter()
            .filter(|(key, _)| key.starts_with(prefix))
            .collect();
        below.sort_by_key(|(_, object)| object.created);
        let created = |(key, object): (&String, &Object)| (key.clone(), object.created.1);
        below.into_iter().map(created).collect()
    }

    /// The metadata of an object that is there.
    pub fn metadata(&self, key: &str) -> Vec<(String, String)> {
        self.object(key).expect("an object").metadata
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

    /// Gives an index an ETag that no header can hold.
    pub fn damage_etag(&self, key: &str) {
        let mut indices = self.0.indices.borrow_mut();
        let index = indices.get_mut(key).expect("an index");
        index.metadata.etag = "\"a\nb\"".to_owned();
    }

    /// An index that is there.
    pub fn index(&self, key: &str) -> IndexDocument {
        let indices = self.0.indices.borrow();
        indices.get(key).expect("an index").clone()
    }

    /// Removes an index past the registry.
    pub fn lose_index(&self, key: &str) {
        self.0.indices.borrow_mut().remove(key);
    }

    /// Gives pages of so many keys when indices are listed.
    pub fn index_page(&self, keys: usize) {
        self.0.index_page.set(Some(keys));
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
        let first = self.object(key).map(|object| object.created);
        let object = Object {
            bytes: bytes.to_vec(),
            metadata,
            revision,
            written_ms: self.now_ms(),
            created: first.unwrap_or((revision, self.now_ms())),
            checksum,
        };
        self.0.objects.borrow_mut().insert(key.to_owned(), object);
        Revision(revision.to_string())
    }

    fn object(&self, key: &str) -> Option<Object> {
        self.0.objects.borrow().get(key).cloned()
    }

    fn page(&self, package: &Package, prefix: &str, cursor: Option<String>) -> ReleasePage {
        let objects = self.0.objects.borrow();
        let mut page = ReleasePage::default();
        let from = cursor.unwrap_or_else(|| prefix.to_owned());
        let rest = objects
            .range(from..)
            .take_while(|(key, _)| key.starts_with(prefix));
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
        page
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
        drop(self.0.meter.time(part, || 0));
        self.0.operations.borrow_mut().push(noted);
    }

    /// Every operation of storage comes through here, so that none can be forgotten: others may go
    /// on, it is noted, and if it is to break, it does.
    async fn operation<T>(
        &self,
        name: &'static str,
        key: &str,
        effect: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.pause().await;
        self.note(name, key);
        let failed = || StoreError::Failed {
            operation: format!("{name} {key}"),
            cause: "injected".to_owned(),
        };
        let broken = self
            .break_here()
            .or_else(|| self.fault_here(name))
            .or_else(|| self.accident(name));
        match broken {
            None => effect(),
            Some(Break::Before | Break::Outage) => Err(failed()),
            Some(Break::After) => effect().and_then(|_| Err(failed())),
            Some(Break::Busy) => Err(StoreError::Busy(key.to_owned())),
            Some(Break::KilledBefore) => {
                self.0.is_killed.set(true);
                pending().await
            }
            Some(Break::KilledAfter) => {
                let _ = effect();
                self.0.is_killed.set(true);
                pending().await
            }
        }
    }

    fn break_here(&self) -> Option<Break> {
        let number = self.0.counted.get();
        self.0.counted.set(number + 1);
        let (at, how) = self.0.broken.get()?;
        let is_here = at == number || (how == Break::Outage && number > at);
        is_here.then(|| {
            self.0.is_reached.set(true);
            how
        })
    }

    fn fault_here(&self, name: &str) -> Option<Break> {
        if !is_write(name) {
            return None;
        }
        let number = self.0.writes.get();
        self.0.writes.set(number + 1);
        let (_, when) = self.0.fault.get().filter(|(at, _)| *at == number)?;
        self.0.fault.set(None);
        Some(match when {
            When::Before => Break::Before,
            When::After => Break::After,
        })
    }

    fn accident(&self, name: &str) -> Option<Break> {
        if !self.2.is_frail {
            return None;
        }
        let mut edge = self.0.edge.borrow_mut();
        edge.as_mut()?
            .accident(self.0.frailty.get(), is_write(name))
    }

    /// R2's own rule: an object takes one write a second.
    fn refuse_frequent(&self, key: &str) -> Result<(), StoreError> {
        let mut edge = self.0.edge.borrow_mut();
        let Some(edge) = edge.as_mut() else {
            return Ok(());
        };
        let objects = self.0.objects.borrow();
        let written_ms = objects.get(key).map(|object| object.written_ms);
        edge.refuse_frequent(key, written_ms, self.now_ms())
    }

    fn write_index(&self, key: &str, document: Option<&IndexDocument>) -> Result<(), StoreError> {
        if let Some(edge) = self.0.edge.borrow_mut().as_mut() {
            edge.write(key, document, self.now_ms())?;
        }
        let mut indices = self.0.indices.borrow_mut();
        match document {
            Some(document) => indices.insert(key.to_owned(), document.clone()),
            None => indices.remove(key),
        };
        Ok(())
    }

    pub fn read_index(&self, key: &str, cache_seconds: u32) -> Option<IndexDocument> {
        match self.0.edge.borrow_mut().as_mut() {
            Some(edge) => {
                let reader = edge::Reader {
                    location: self.2.location,
                    cache_seconds,
                };
                edge.read(key, reader, self.now_ms())
            }
            None => self.kept_index(key, cache_seconds),
        }
    }

    /// What the edge has kept for less than `seconds`, or else what KV says.
    fn kept_index(&self, key: &str, seconds: u32) -> Option<IndexDocument> {
        let said = self.0.indices.borrow().get(key).cloned();
        let mut kept = self.0.kept.borrow_mut();
        let Some(kept) = kept.as_mut() else {
            return said;
        };
        let (now_ms, kept_ms) = (self.now_ms(), 1_000 * u64::from(seconds));
        if let Some((since_ms, document)) = kept.get(key)
            && now_ms - since_ms < kept_ms
        {
            return document.clone();
        }
        kept.insert(key.to_owned(), (now_ms, said.clone()));
        said
    }
}

/// Whether an operation changes something.
pub fn is_write(operation: &str) -> bool {
    ["R2 put", "R2 delete", "KV put", "KV delete"]
        .iter()
        .any(|write| operation.starts_with(write))
}

impl Facts for Memory {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        let key = key.to_string();
        self.operation("R2 get", &key, || {
            Ok(self.object(&key).map(|object| Fact {
                etag: object.etag(),
                bytes: object.bytes,
            }))
        })
        .await
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
        let key = key.to_string();
        self.operation("R2 head", &key, || {
            Ok(self
                .object(&key)
                .map(|object| Revision(object.revision.to_string())))
        })
        .await
    }

    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError> {
        let key = key.to_string();
        self.operation("R2 put", &key, || {
            if condition != Condition::Any {
                let action = self.0.before_commit.borrow_mut().take();
                if let Some(action) = action {
                    action();
                }
            }
            let busy = self.0.busy_fact_writes.get();
            if busy > 0 {
                self.0.busy_fact_writes.set(busy - 1);
                return Err(StoreError::Busy(key.clone()));
            }
            self.refuse_frequent(&key)?;
            let there = self.object(&key);
            let holds = match condition {
                Condition::Any => true,
                Condition::Absent => there.is_none(),
                Condition::Unchanged(etag) => there.is_some_and(|object| object.etag() == etag),
            };
            Ok(holds.then(|| {
                self.insert(
                    &key,
                    document.as_bytes(),
                    metadata,
                    Some(Sha256::of(document.as_bytes())),
                )
            }))
        })
        .await
    }

    async fn releases(
        &self,
        package: &Package,
        cursor: Option<String>,
    ) -> Result<ReleasePage, StoreError> {
        let prefix = FactKey::releases_of(package);
        self.operation("R2 list", &prefix, || {
            let page = self.page(package, &prefix, cursor);
            let action = if page.cursor.is_none() {
                self.0.after_list.borrow_mut().take()
            } else {
                None
            };
            if let Some(action) = action {
                action();
            }
            Ok(page)
        })
        .await
    }

    async fn list(
        &self,
        prefix: &str,
        behind: Option<&str>,
        most: u32,
    ) -> Result<FactPage, StoreError> {
        self.operation("R2 list", prefix, || {
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
        })
        .await
    }

    async fn delete(&self, key: &FactKey) -> Result<(), StoreError> {
        let key = key.to_string();
        self.operation("R2 delete", &key, || {
            self.0.objects.borrow_mut().remove(&key);
            Ok(())
        })
        .await
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
        let key = key.to_string();
        self.operation("R2 put", &key, || {
            self.insert(&key, &bytes, &[], None);
            Ok(())
        })
        .await
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
            let key = key.to_string();
            let opened = self.operation("R2 open", &key, || {
                let object = self.object(&key);
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
        self.operation("R2 delete", &all, || {
            let mut objects = self.0.objects.borrow_mut();
            for name in &names {
                objects.remove(&format!("{UPLOADS}{name}"));
            }
            Ok(())
        })
        .await
    }
}

impl Archives for Memory {
    type Stream = Vec<u8>;

    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError> {
        let key = key.to_string();
        self.operation("R2 head", &key, || {
            Ok(self.object(&key).map(|object| ArchiveHead {
                revision: Revision(object.revision.to_string()),
                size: object.bytes.len() as u64,
                sha256: object.checksum,
            }))
        })
        .await
    }

    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let key = key.to_string();
        self.operation("R2 read", &key, || {
            let bytes = self.object(&key).map(|object| object.bytes);
            let bytes = bytes.unwrap_or_default().into_iter();
            let bytes = bytes.skip(usize::try_from(offset).unwrap());
            Ok(bytes.take(usize::try_from(length).unwrap()).collect())
        })
        .await
    }

    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, StoreError> {
        let (digest, key) = (key.digest(), key.to_string());
        self.operation("R2 digest", &key, || {
            let object = self.object(&key);
            Ok(object.map(|object| digest.of_same_kind(&object.bytes)))
        })
        .await
    }

    async fn list_bytes(
        &self,
        prefix: &str,
        behind: Option<&str>,
        most: u32,
    ) -> Result<BytesPage, StoreError> {
        self.operation("R2 list", prefix, || {
            let objects = self.0.objects.borrow();
            let most = usize::try_from(most).unwrap();
            let all = objects
                .range(prefix.to_owned()..)
                .take_while(|(key, _)| key.starts_with(prefix))
                .map(|(key, object)| ListedBytes {
                    name: key.strip_prefix(prefix).unwrap().to_owned(),
                    size: object.bytes.len() as u64,
                    stored_at: UnixTime(object.written_ms / 1_000),
                })
                .filter(|listed| behind.is_none_or(|behind| listed.name.as_str() > behind));
            let mut objects: Vec<ListedBytes> = all.take(most + 1).collect();
            let is_cut = objects.len() > most;
            objects.truncate(most);
            Ok(BytesPage { objects, is_cut })
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
        self.operation("R2 open", &key, || {
            let (offset, length) = (
                usize::try_from(offset).unwrap(),
                usize::try_from(length).unwrap(),
            );
            let object = self.object(&key);
            Ok(object.map(|object| object.bytes[offset..offset + length].to_vec()))
        })
        .await
    }

    async fn open(&self, key: BytesKey) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let key = key.to_string();
        self.operation("R2 open", &key, || {
            Ok(self
                .object(&key)
                .map(|object| (object.bytes.len() as u64, object.bytes)))
        })
        .await
    }

    async fn store(&self, key: BytesKey, payload: Payload<Vec<u8>>) -> Result<Stored, StoreError> {
        let (Payload::Bytes(bytes) | Payload::Stream(bytes)) = payload;
        let (digest, key) = (key.digest(), key.to_string());
        self.operation("R2 put", &key, || {
            let busy = self.0.busy_blob_writes.get();
            if busy > 0 {
                self.0.busy_blob_writes.set(busy - 1);
                return Err(StoreError::Busy(key.clone()));
            }
            if digest.of_same_kind(&bytes) != digest {
                return Ok(Stored::DigestMismatch);
            }
            self.refuse_frequent(&key)?;
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
        self.operation("R2 delete", &key, || {
            self.0.objects.borrow_mut().remove(&key);
            Ok(())
        })
        .await
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
        let key = key.to_string();
        self.operation("KV get", &key, || {
            self.0.cache_seconds.set(cache_seconds);
            let document = self.read_index(&key, cache_seconds);
            Ok(document.map(|document| Found {
                metadata: document.metadata,
                body: match form {
                    IndexForm::Stream => Body::Stream(document.text.into_bytes()),
                    IndexForm::Text => Body::Text(document.text),
                },
            }))
        })
        .await
    }

    async fn differing<'w>(
        &self,
        wanted: &'w [(IndexKey, IndexDocument)],
        cache_seconds: u32,
    ) -> Result<Vec<&'w IndexKey>, StoreError> {
        let count = wanted.len();
        assert!(count <= INDICES_AT_ONCE, "{count} keys at once");
        self.operation("KV get", &format!("{count} keys"), || {
            self.0.cache_seconds.set(cache_seconds);
            let differing = wanted.iter().filter(|(key, wanted)| {
                self.read_index(&key.to_string(), cache_seconds).as_ref() != Some(wanted)
            });
            Ok(differing.map(|(key, _)| key).collect())
        })
        .await
    }

    async fn list_keys(
        &self,
        prefix: &str,
        cursor: Option<String>,
    ) -> Result<IndexPage, StoreError> {
        self.operation("KV list", prefix, || {
            let indices = self.0.indices.borrow();
            let from = cursor.unwrap_or_else(|| prefix.to_owned());
            let mut rest = indices
                .keys()
                .filter(|key| **key >= from && key.starts_with(prefix));
            let most = self.0.index_page.get().unwrap_or(PAGE);
            let keys = rest.by_ref().take(most).cloned().collect();
            let cursor = rest.next().cloned();
            Ok(IndexPage { keys, cursor })
        })
        .await
    }

    async fn put(&self, key: &IndexKey, document: &IndexDocument) -> Result<(), StoreError> {
        let key = key.to_string();
        self.operation("KV put", &key, || {
            let action = self.0.before_index_write.borrow_mut().take();
            if let Some(action) = action {
                action();
            }
            let busy = self.0.busy_index_writes.get();
            if busy > 0 {
                self.0.busy_index_writes.set(busy - 1);
                return Err(StoreError::Busy(key.clone()));
            }
            self.write_index(&key, Some(document))
        })
        .await
    }

    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError> {
        let key = key.to_string();
        self.operation("KV delete", &key, || self.write_index(&key, None))
            .await
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
        UnixTime(self.now_ms() / 1_000)
    }

    fn millis(&self) -> u64 {
        self.now_ms()
    }

    async fn sleep(&self, seconds: u32) {
        match self.0.turns.get() {
            Turns::Alone => self.advance(seconds.into()),
            Turns::Alternating => {
                // A second is long for everybody else.
                for _ in 0..100 * seconds {
                    self.pause().await;
                }
            }
            Turns::Scheduled => {
                let until = self.now_ms() + 1_000 * u64::from(seconds);
                while self.now_ms() < until {
                    self.pause().await;
                }
            }
        }
    }
}

impl Host for Memory {
    type Stream = Vec<u8>;
    type Facts = Self;
    type Archives = Self;
    type Uploads = Self;
    type Indices = Self;
    type Upstream = Self;
    type Clock = Self;

    fn serves(&self, origin: &str) -> bool {
        let only = self.0.origin.borrow();
        only.as_ref().is_none_or(|only| only == origin)
    }

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

    fn cache(&self) -> &Cache {
        &self.1
    }

    fn random(&self) -> [u8; 16] {
        let count = self.0.random.get() + 1;
        self.0.random.set(count);
        u128::from(count).to_be_bytes()
    }

    fn meter(&self) -> &UsageMeter {
        &self.0.meter
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
