//! The host traits: storage for facts, archives, uploads and indices, a clock, other registries, and the
//! request itself.
//!
//! Each contract defines what *done* means. Everything that uses these traits runs natively in tests.

#![expect(
    async_fn_in_trait,
    reason = "a Worker has one thread, and so have the tests"
)]

use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::http::request_line::ClientProduct;
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::read::{IndexForm, StoredIndex};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{ArchiveKey, BytesKey, ChunkKey, FactKey, IndexKey};

use crate::cache::Cache;
use crate::usage::UsageMeter;

mod archive_cache;
mod upstream;

pub use archive_cache::{CacheRequest, CachedArchive};
pub use upstream::{
    BucketRequest, Download, IdentityProviderRequest, OutgoingRequest, USER_AGENT, Upstream,
    UpstreamError, WebhookRequest, is_redirect, stated_length,
};

/// Maximum time until a long response of another registry begins, redirects included, in seconds.
pub const ORIGIN_OPEN_SECONDS: u32 = 15;

/// Minimum rate of a long response, in bytes per second, after [`ORIGIN_UNTIMED_SECONDS`].
pub const ORIGIN_BYTES_PER_SECOND: u32 = 65_536;

/// Time at the beginning of a long response to which [`ORIGIN_BYTES_PER_SECOND`] does not apply, in seconds.
pub const ORIGIN_UNTIMED_SECONDS: u32 = 60;

/// How far a client may lag behind storage when both receive one response, in bytes. The difference is buffered in memory;
/// all requests together have 128 MB of it on Workers.
pub const FORK_LAG_BYTES: u32 = 8 * 1024 * 1024;

/// How long either of them may accept nothing, and an origin send nothing, in seconds.
pub const FORK_STALL_SECONDS: u32 = 15;

/// Maximum time that storage waits for a slow client in total, in seconds. Meanwhile, other clients receive the same bytes
/// from the origin.
pub const FORK_PATIENCE_SECONDS: u32 = 600;

/// Length of the chunks in which a body of unknown length is stored, in bytes: one chunk is held in memory.
pub const UNSIZED_CHUNK_BYTES: u32 = 4 * 1024 * 1024;

/// The reason why a storage operation failed. Whether it took effect is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Too many writes to one key. The same operation may succeed a second later.
    #[error("{0}: too many writes to one key")]
    Busy(String),
    /// Any other failure.
    #[error("{operation}: {cause}")]
    Failed {
        /// The operation and its key.
        operation: String,
        /// The platform's error message.
        cause: String,
    },
}

/// The body of a request ended before it was complete. Contains the platform's error message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyError(pub String);

/// Identifies one write of one object. It is unique to that write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision(pub String);

/// A stored document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The document as stored.
    pub bytes: Vec<u8>,
    /// The etag for [`Condition::Unchanged`].
    pub etag: String,
}

/// The condition of a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Write only if the key does not exist.
    Absent,
    /// Write unconditionally.
    Any,
    /// Write only if the etag of the stored document equals this one.
    Unchanged(String),
}

/// A page of a list of documents of any kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactPage {
    /// The documents, ascending by name.
    pub facts: Vec<ListedFact>,
    /// Whether further documents follow the last one.
    pub is_truncated: bool,
}

/// A document in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFact {
    /// The part of its key after the prefix.
    pub name: String,
    /// The metadata that it was written with.
    pub metadata: Vec<(String, String)>,
    /// When it was stored.
    pub stored_at: UnixTime,
    /// The ETag that [`Facts::get`] returns with it.
    pub etag: String,
}

impl ListedFact {
    /// Returns the value of this metadata.
    pub fn value(&self, name: &str) -> Option<&str> {
        let found = self.metadata.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Storage of the facts. It is strongly consistent: when an operation has returned, every later one sees its
/// effect.
pub trait Facts {
    /// Returns the document of a key.
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError>;

    /// Returns the revision of a key, without its document.
    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError>;

    /// Writes a document with its metadata, in one step. Returns `None`, and writes nothing, if the condition
    /// does not hold.
    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError>;

    /// Lists up to `limit` documents with keys that begin with `prefix`, after the one named `after`.
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FactPage, StoreError>;

    /// Removes a document. Succeeds if it does not exist.
    async fn delete(&self, key: &FactKey) -> Result<(), StoreError>;
}

/// The properties of stored bytes that are known without reading them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveHead {
    /// The write that stored them.
    pub revision: Revision,
    /// Their length in bytes.
    pub size: u64,
    /// Their digest, if storage keeps one.
    pub sha256: Option<Sha256>,
}

/// A page of a list of stored objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BytesPage {
    /// The objects, ascending by name.
    pub objects: Vec<ListedBytes>,
    /// Whether further objects follow the last one.
    pub is_truncated: bool,
}

/// A stored object in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedBytes {
    /// The part of its key after the prefix.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
    /// When it was stored.
    pub stored_at: UnixTime,
}

/// The outcome of storing bytes under their digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// The bytes are stored.
    Yes,
    /// The digest of the bytes differs from the one in the key; nothing was stored.
    DigestMismatch,
}

/// The result of inflating a part of a stored object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inflated {
    /// The object is not stored.
    Missing,
    /// The part is outside the object, or not exactly one intact gzip member.
    Damaged,
    /// The contents are longer than the limit.
    TooLong,
    /// The contents of the gzip member.
    Contents(Vec<u8>),
}

/// Bytes to store.
#[derive(Debug)]
pub enum Payload<S> {
    /// A short document, held in memory.
    Bytes(Vec<u8>),
    /// A stream of known length, which never enters wasm.
    Stream(S),
}

/// Storage of content-addressed bytes.
pub trait Archives {
    /// The platform's own stream of bytes.
    type Stream;

    /// Returns the properties of an object; `None` if it is not stored.
    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError>;

    /// Returns `length` bytes starting at `offset`, or fewer at the end of the object.
    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError>;

    /// Returns the properties of an object with its last `length` bytes, or with all of its bytes if it is shorter; `None` if
    /// it is not stored. A platform that can do this in one operation should.
    async fn tail(
        &self,
        key: ArchiveKey,
        length: u64,
    ) -> Result<Option<(ArchiveHead, Vec<u8>)>, StoreError> {
        let Some(head) = self.head(key.into()).await? else {
            return Ok(None);
        };
        let length = length.min(head.size);
        let bytes = self.read(key, head.size - length, length).await?;
        Ok(Some((head, bytes)))
    }

    /// Returns the digest of the bytes actually stored, by the algorithm of their key, computed without
    /// reading them into wasm.
    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, StoreError>;

    /// Lists up to `limit` objects with keys that begin with `prefix`, after the one named `after`.
    async fn list_bytes(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BytesPage, StoreError>;

    /// Returns the whole object and its length; `None` if it is not stored.
    async fn open(&self, key: BytesKey) -> Result<Option<(u64, Self::Stream)>, StoreError>;

    /// Returns `length` bytes starting at `offset`, all of which must exist; `None` if the object is not
    /// stored.
    async fn open_part(
        &self,
        key: BytesKey,
        offset: u64,
        length: u64,
    ) -> Result<Option<Self::Stream>, StoreError>;

    /// Returns the contents of the gzip member (RFC 1952) of `length` bytes at `offset`, inflated by the platform and not
    /// in wasm. Inflation stops soon after `limit` bytes, whatever the member claims about its contents, so `length` and
    /// `limit` bound the memory.
    async fn inflate(
        &self,
        key: ArchiveKey,
        offset: u64,
        length: u32,
        limit: u32,
    ) -> Result<Inflated, StoreError>;

    /// Stores bytes. The store itself verifies their digest against the key.
    async fn store(
        &self,
        key: BytesKey,
        payload: Payload<Self::Stream>,
    ) -> Result<Stored, StoreError>;

    /// Removes bytes: ones that do not match their key, staged ones after they were promoted, or ones that
    /// nothing refers to.
    async fn discard(&self, key: BytesKey) -> Result<(), StoreError>;
}

/// Storage of the chunks of incomplete uploads.
pub trait Uploads {
    /// The platform's own stream of bytes.
    type Stream;

    /// Stores a chunk of known length.
    async fn store_chunk(
        &self,
        key: ChunkKey,
        payload: Payload<Self::Stream>,
    ) -> Result<(), StoreError>;

    /// Stores a stream of unknown length as consecutive chunks, the first under this key, and returns their
    /// lengths. Only one chunk at a time is held in memory, and never in wasm.
    async fn store_chunks(
        &self,
        first: ChunkKey,
        stream: Self::Stream,
    ) -> Result<Vec<u64>, StoreError>;

    /// Concatenates chunks of the given lengths into a blob. The store itself verifies its digest. The bytes
    /// never enter wasm. Returns `None`, and stores nothing, if a chunk does not exist or has another length.
    async fn assemble(
        &self,
        chunks: &[(ChunkKey, u64)],
        digest: Digest,
    ) -> Result<Option<Stored>, StoreError>;

    /// Removes up to 1,000 objects, named by the part of their keys after
    /// [`UPLOADS`](terrace_core::storage::key::UPLOADS).
    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError>;
}

/// A page of a list of indices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexPage {
    /// Their keys. May be empty even if there is a next page.
    pub keys: Vec<String>,
    /// The cursor of the next page, if there is one.
    pub cursor: Option<String>,
}

/// Storage of the indices: eventually consistent, with one write per second for each key.
pub trait Indices {
    /// The platform's own stream of bytes.
    type Stream;

    /// Returns the index of a key, which the edge may cache for `cache_seconds`. `None` means that it does
    /// not exist *or* is not visible here yet: the facts decide.
    async fn get(
        &self,
        key: &IndexKey,
        form: IndexForm,
        cache_seconds: u32,
    ) -> Result<Option<StoredIndex<Self::Stream>>, StoreError>;

    /// Returns the indices of up to [`INDICES_AT_ONCE`](terrace_core::limits::INDICES_AT_ONCE) keys as text, in the order of
    /// the keys. A platform that can do this in one operation should. A value that no index function wrote counts as
    /// missing. Each is subject to the consistency of [`Indices::get`].
    async fn get_all(
        &self,
        keys: &[&IndexKey],
        cache_seconds: u32,
    ) -> Result<Vec<Option<StoredIndex<Self::Stream>>>, StoreError> {
        let mut found = Vec::new();
        for key in keys {
            found.push(self.get(key, IndexForm::Text, cache_seconds).await?);
        }
        Ok(found)
    }

    /// Returns up to 1,000 keys that begin with `prefix`, ascending, starting at `cursor`. Writes and
    /// removals of the last minute may be missing from it.
    async fn list_keys(
        &self,
        prefix: &str,
        cursor: Option<String>,
    ) -> Result<IndexPage, StoreError>;

    /// Writes an index. The last write wins.
    async fn put(&self, key: &IndexKey, document: &IndexDocument) -> Result<(), StoreError>;

    /// Removes an index. Succeeds if it does not exist. It counts as a write.
    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError>;
}

/// The current time, and timers.
pub trait Clock {
    /// Returns the current time. On the platform it does not advance between one IO and the next.
    fn now(&self) -> UnixTime;

    /// Returns the current time in milliseconds since 1970.
    fn millis(&self) -> u64;

    /// Waits for `seconds`.
    async fn sleep(&self, seconds: u32);
}

/// A request. Only the parts that are accessed cross into wasm.
pub trait Request {
    /// The platform's own stream of bytes.
    type Stream;

    /// The method, as sent.
    fn method(&self) -> &str;

    /// The registry's origin as the client reached it: `https://host[:port]`.
    fn origin(&self) -> &str;

    /// The path as sent, without the query.
    fn path(&self) -> &str;

    /// The query as sent, without its `?`; empty if there is none.
    fn query(&self) -> &str;

    /// The address of the client, as the platform knows it; empty if it is unknown. Headers that any client
    /// can send do not count.
    fn client_address(&self) -> String;

    /// Returns a header by its name, which is in lower case.
    fn header(&self, name: &str) -> Option<String>;

    /// Reads the body. Only for bodies that are known to be small.
    async fn bytes(&mut self) -> Result<Vec<u8>, BodyError>;

    /// Reads a body of unknown length; at most one byte more than `limit`.
    async fn bytes_up_to(&mut self, limit: u64) -> Result<Vec<u8>, BodyError>;

    /// Returns the body as a stream; `None` without a body.
    fn stream(&mut self) -> Option<Self::Stream>;
}

/// A download to count.
#[derive(Debug, Clone, Copy)]
pub struct DownloadEvent<'d> {
    /// The package's address.
    pub package: &'d Package,
    /// The downloaded version.
    pub version: &'d Version,
    /// The route's name in metrics.
    pub route: &'static str,
    /// The client's name and version.
    pub client: &'d ClientProduct,
}

/// The importance of a line in the log, as platforms show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// An event of normal work.
    Info,
    /// An event that an operator may have to act on.
    Warning,
    /// A failure of the registry or of its storage.
    Error,
}

/// Everything that the registry requires from a platform.
pub trait Host {
    /// The platform's own stream of bytes.
    type Stream;
    /// The storage of the facts.
    type Facts: Facts;
    /// The storage of the archives.
    type Archives: Archives<Stream = Self::Stream>;
    /// The storage of uploads.
    type Uploads: Uploads<Stream = Self::Stream>;
    /// The storage of the indices.
    type Indices: Indices<Stream = Self::Stream>;
    /// Requests to other registries.
    type Upstream: Upstream<Stream = Self::Stream>;
    /// The clock and its timers.
    type Clock: Clock;

    /// Returns whether the registry is served at this origin, `https://host[:port]`. A host that clients can
    /// reach under any name returns `true` only for its own names, because hosted and mirrored providers are
    /// distinguished by it.
    fn serves(&self, origin: &str) -> bool;
    /// Returns the storage of the facts.
    fn facts(&self) -> &Self::Facts;
    /// Returns the storage of the archives.
    fn archives(&self) -> &Self::Archives;
    /// Returns the storage of uploads.
    fn uploads(&self) -> &Self::Uploads;
    /// Returns the storage of the indices.
    fn indices(&self) -> &Self::Indices;
    /// Returns the client for other registries.
    fn upstream(&self) -> &Self::Upstream;
    /// Returns the clock.
    fn clock(&self) -> &Self::Clock;
    /// Returns the cache that persists between requests.
    fn cache(&self) -> &Cache;
    /// Returns unpredictable bytes.
    fn random(&self) -> [u8; 16];
    /// Returns whether a plan limits how many indices may be written in a day.
    fn limits_index_writes(&self) -> bool {
        true
    }
    /// Returns the usage counters, which other requests may share.
    fn meter(&self) -> &UsageMeter;
    /// Returns the answer of the platform's cache of archives to a request, or of the registry's
    /// [`cached_archive`](crate::cached_archive) behind it. `None` on a platform without such a cache.
    async fn cached_archive(
        &self,
        request: CacheRequest<'_>,
    ) -> Result<Option<CachedArchive<Self::Stream>>, StoreError> {
        let _ = request;
        Ok(None)
    }
    /// Removes the bytes with these digests from that cache. When it has returned, no request anywhere is answered with
    /// them a few seconds later.
    async fn purge(&self, digests: &[Digest]) -> Result<(), StoreError> {
        let _ = digests;
        Ok(())
    }
    /// Writes a line to the log for the operator. It must not contain secrets.
    fn log_at(&self, level: LogLevel, line: &str);
    /// Writes a warning to the log.
    fn log(&self, line: &str) {
        self.log_at(LogLevel::Warning, line);
    }
    /// Writes the log line of a request.
    fn log_request(&self, line: &str);
    /// Counts a download, if the deployment counts them.
    fn count(&self, download: &DownloadEvent<'_>);
    /// Records a failed authentication from a network, and returns whether it recently had too many; `false`
    /// if the deployment leaves the limit to the isolates.
    async fn is_one_failure_too_many(&self, network: &str) -> bool;
    /// Records an anonymous search, or list of the whole registry, and returns whether its network recently sent too
    /// many; `false` if the deployment leaves the limit to the isolates.
    async fn is_one_search_too_many(&self, network: &str) -> bool;
}
