//! The seams to the world: three small storage traits, a clock, and the request itself.
//!
//! Each contract says what *done* means. Everything above them runs natively in tests.

use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::http::guard::Guard;
use terrace_core::http::request_line::Client;
use terrace_core::index::ListedRelease;
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::read::{Found, IndexForm};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{ArchiveKey, BytesKey, ChunkKey, FactKey, IndexKey};
use terrace_core::upstream::origin::{Fetch, Fetched};

use crate::cache::Cache;
use crate::usage::UsageMeter;

/// Why storage did not do what it was asked to. Whether the operation took effect is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Too many writes to one key; the same operation may succeed a second later.
    #[error("{0}: too many writes to one key")]
    Busy(String),
    /// Anything else.
    #[error("{operation}: {cause}")]
    Failed {
        /// Which operation on which key.
        operation: String,
        /// What the platform said.
        cause: String,
    },
}

/// The body of a request ended before it was whole, with what the platform said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyError(pub String);

/// Identifies one write of one object. No two writes share one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision(pub String);

/// A stored document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What [`Condition::Unchanged`] wants to be told.
    pub etag: String,
}

/// When a document may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Only when there is none of this key.
    Absent,
    /// Always.
    Any,
    /// Only when the etag of what is there is this one.
    Unchanged(String),
}

/// A page of a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReleasePage {
    /// Each release with what version lists say about it, where its object's metadata tells.
    pub releases: Vec<(Version, Option<ListedRelease>)>,
    /// Where the next page begins, if there is one.
    pub cursor: Option<String>,
}

/// A page of a listing of any documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactPage {
    /// Each document, ascending by its name.
    pub facts: Vec<ListedFact>,
    /// Whether there are more behind the last of these.
    pub is_cut: bool,
}

/// A document of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFact {
    /// What follows the prefix in its key.
    pub name: String,
    /// The metadata that it was written with.
    pub metadata: Vec<(String, String)>,
}

/// The documents that are the truth. Strongly consistent: when an operation has returned, every
/// later one sees its effect.
#[expect(
    async_fn_in_trait,
    reason = "a Worker has one thread, and so have the tests"
)]
pub trait Facts {
    /// The document of a key.
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError>;

    /// The revision of a key, without its document.
    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError>;

    /// Writes a document with its metadata, in one step. `None` when the condition does not hold;
    /// then nothing was written.
    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError>;

    /// Up to 1,000 releases of a package, with their metadata, from `cursor` on.
    async fn releases(
        &self,
        package: &Package,
        cursor: Option<String>,
    ) -> Result<ReleasePage, StoreError>;

    /// Up to `most` documents whose keys begin with `prefix`, behind the one with this name.
    async fn list(
        &self,
        prefix: &str,
        behind: Option<&str>,
        most: u32,
    ) -> Result<FactPage, StoreError>;

    /// Removes a document; one that is not there is removed.
    async fn delete(&self, key: &FactKey) -> Result<(), StoreError>;
}

/// What is known about stored bytes without reading them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveHead {
    /// Which write of the key it is.
    pub revision: Revision,
    /// Their length.
    pub size: u64,
    /// Their digest, where storage keeps one.
    pub sha256: Option<Sha256>,
}

/// A page of a listing of stored bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BytesPage {
    /// Each object, ascending by its name.
    pub objects: Vec<ListedBytes>,
    /// Whether there are more behind the last of these.
    pub is_cut: bool,
}

/// Stored bytes of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedBytes {
    /// What follows the prefix in its key.
    pub name: String,
    /// How many bytes there are.
    pub size: u64,
    /// When they were stored.
    pub stored_at: UnixTime,
}

/// What became of an attempt to store bytes under their digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// They are stored now.
    Yes,
    /// They have another digest than their key; nothing was stored.
    DigestMismatch,
}

/// Bytes to store.
#[derive(Debug)]
pub enum Payload<S> {
    /// A short document.
    Bytes(Vec<u8>),
    /// A stream of known length, which never enters wasm.
    Stream(S),
}

/// Content-addressed bytes.
#[expect(
    async_fn_in_trait,
    reason = "a Worker has one thread, and so have the tests"
)]
pub trait Archives {
    /// The platform's own stream of bytes.
    type Stream;

    /// What is known about an object; `None` when it is not stored.
    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError>;

    /// `length` bytes from `offset` on, or as many as there are.
    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError>;

    /// The digest of what is really stored, by the algorithm of its key, computed without bringing the
    /// bytes into wasm.
    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, StoreError>;

    /// Up to `most` objects whose keys begin with `prefix`, behind the one with this name.
    async fn list_bytes(
        &self,
        prefix: &str,
        behind: Option<&str>,
        most: u32,
    ) -> Result<BytesPage, StoreError>;

    /// The whole object and its length; `None` when it is not stored.
    async fn open(&self, key: BytesKey) -> Result<Option<(u64, Self::Stream)>, StoreError>;

    /// `length` bytes from `offset` on, all of which must be there; `None` when it is not stored.
    async fn open_part(
        &self,
        key: BytesKey,
        offset: u64,
        length: u64,
    ) -> Result<Option<Self::Stream>, StoreError>;

    /// Stores bytes whose digest the store itself verifies against the key.
    async fn store(
        &self,
        key: BytesKey,
        payload: Payload<Self::Stream>,
    ) -> Result<Stored, StoreError>;

    /// Removes bytes that are not what their key says, that have been brought and taken in, or that nothing
    /// refers to.
    async fn discard(&self, key: BytesKey) -> Result<(), StoreError>;
}

/// The chunks of uploads that are not complete.
#[expect(
    async_fn_in_trait,
    reason = "a Worker has one thread, and so have the tests"
)]
pub trait Uploads {
    /// The platform's own stream of bytes.
    type Stream;

    /// Stores a chunk whose length is known.
    async fn store_chunk(
        &self,
        key: ChunkKey,
        payload: Payload<Self::Stream>,
    ) -> Result<(), StoreError>;

    /// Stores a stream whose length nobody knows as chunks one behind the other, of which the first has
    /// this key; tells their lengths. It is held in memory piece by piece, and never in wasm.
    async fn store_pieces(
        &self,
        first: ChunkKey,
        stream: Self::Stream,
    ) -> Result<Vec<u64>, StoreError>;

    /// Stores chunks, whose lengths are told, one behind the other as a blob whose digest the store
    /// itself verifies. The bytes never enter wasm. `None` when a chunk is not there, or of another
    /// length; nothing was stored.
    async fn assemble(
        &self,
        chunks: &[(ChunkKey, u64)],
        digest: Digest,
    ) -> Result<Option<Stored>, StoreError>;

    /// Removes objects by what follows [`UPLOADS`](terrace_core::storage::key::UPLOADS) in their keys, at most
    /// 1,000 of them.
    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError>;
}

/// A page of a listing of indices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexPage {
    /// Their keys. There may be none although there is a next page.
    pub keys: Vec<String>,
    /// Where the next page begins, if there is one.
    pub cursor: Option<String>,
}

/// The indices: eventually consistent, one write a second for each key.
#[expect(
    async_fn_in_trait,
    reason = "a Worker has one thread, and so have the tests"
)]
pub trait Indices {
    /// The platform's own stream of bytes.
    type Stream;

    /// The index of a key, which the edge may keep for `cache_seconds`. `None` when there is none
    /// *or* it is not visible here yet: the facts decide.
    async fn get(
        &self,
        key: &IndexKey,
        form: IndexForm,
        cache_seconds: u32,
    ) -> Result<Option<Found<Self::Stream>>, StoreError>;

    /// The indices of up to [`INDICES_AT_ONCE`](terrace_core::limits::INDICES_AT_ONCE) keys as text, in their order, by one
    /// operation. A value that no index function wrote counts as none. What is true of [`Indices::get`] is true of each.
    async fn get_all(
        &self,
        keys: &[&IndexKey],
        cache_seconds: u32,
    ) -> Result<Vec<Option<Found<Self::Stream>>>, StoreError>;

    /// Up to 1,000 keys that begin with `prefix`, ascending, from `cursor` on. What was written or
    /// removed a minute ago may be told wrong.
    async fn list_keys(
        &self,
        prefix: &str,
        cursor: Option<String>,
    ) -> Result<IndexPage, StoreError>;

    /// Writes an index. The last write wins.
    async fn put(&self, key: &IndexKey, document: &IndexDocument) -> Result<(), StoreError>;

    /// Removes an index; one that is not there is removed. It counts as a write.
    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError>;
}

/// Why another registry could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UpstreamError(pub String);

/// A large answer of another registry.
#[derive(Debug)]
pub struct Download<S> {
    /// Its status, which is no redirect.
    pub status: u16,
    /// Its length in bytes, if it is told.
    pub length: Option<u64>,
    /// Its body.
    pub stream: Option<S>,
}

/// One request to a provider of identities. It is not redirected: what such a provider says comes from
/// where it says that it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquiry {
    /// Where to, absolute.
    pub url: String,
    /// The form to send, encoded; without one it is a GET.
    pub form: Option<String>,
    /// The header `Authorization`, where the deployment is known there.
    pub authorization: Option<String>,
    /// The longest body in bytes that is of use.
    pub max_bytes: u64,
}

/// Other registries. Requests have bounds in time, go where the guard lets them, after each
/// redirect too, and carry nothing of the client's.
#[expect(
    async_fn_in_trait,
    reason = "a Worker has one thread, and so have the tests"
)]
pub trait Upstream {
    /// The platform's own stream of bytes.
    type Stream;

    /// A short answer within so many seconds, whole: of a 200 the body, at most one byte longer than
    /// it may be.
    async fn fetch(
        &self,
        fetch: &Fetch,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError>;

    /// The answer to an inquiry within so many seconds, whole, whatever its status: at most one byte longer
    /// than it may be.
    async fn inquire(
        &self,
        inquiry: &Inquiry,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError>;

    /// A long answer, as a stream.
    async fn open(
        &self,
        fetch: &Fetch,
        guard: &Guard,
    ) -> Result<Download<Self::Stream>, UpstreamError>;

    /// Two streams of the bytes of one, for a client and for storage, of which neither has to be read
    /// for the other to go on for long. If there are not `length` bytes, both fail.
    fn fork(
        &self,
        stream: Self::Stream,
        length: u64,
    ) -> Result<(Self::Stream, Self::Stream), UpstreamError>;
}

/// The time, and waiting for it to pass.
#[expect(
    async_fn_in_trait,
    reason = "a Worker has one thread, and so have the tests"
)]
pub trait Clock {
    /// Now. On the platform it stands still between one IO and the next.
    fn now(&self) -> UnixTime;

    /// The same in milliseconds since 1970.
    fn millis(&self) -> u64;

    /// Waits.
    async fn sleep(&self, seconds: u32);
}

/// A request, of which only what is asked for crosses into wasm.
#[expect(
    async_fn_in_trait,
    reason = "a Worker has one thread, and so have the tests"
)]
pub trait Request {
    /// The platform's own stream of bytes.
    type Stream;

    /// The method as sent.
    fn method(&self) -> &str;

    /// The registry's origin as the client reached it: `https://host[:port]`.
    fn origin(&self) -> &str;

    /// The path as sent, without the query.
    fn path(&self) -> &str;

    /// The query as sent, without its `?`; empty when there is none.
    fn query(&self) -> &str;

    /// The address of the client, as the platform knows it; empty where it does not. A header that any client may
    /// send is none.
    fn client_address(&self) -> String;

    /// A header, by its name in lower case.
    fn header(&self, name: &str) -> Option<String>;

    /// The body as bytes. Only for bodies whose length is known to be small.
    async fn bytes(&mut self) -> Result<Vec<u8>, BodyError>;

    /// The body as bytes, of which nobody knows how many there are; at most one more than `most`.
    async fn bytes_up_to(&mut self, most: u64) -> Result<Vec<u8>, BodyError>;

    /// The body as a stream; `None` when there is none.
    fn stream(&mut self) -> Option<Self::Stream>;
}

/// Somebody downloads a version.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'d> {
    /// Of what.
    pub package: &'d Package,
    /// Which.
    pub version: &'d Version,
    /// By which route.
    pub route: &'static str,
    /// With what.
    pub client: &'d Client,
}

/// Everything the registry stands on.
#[expect(
    async_fn_in_trait,
    reason = "a Worker has one thread, and so have the tests"
)]
pub trait Host {
    /// The platform's own stream of bytes.
    type Stream;
    /// Where facts are kept.
    type Facts: Facts;
    /// Where archives are kept.
    type Archives: Archives<Stream = Self::Stream>;
    /// Where uploads are kept.
    type Uploads: Uploads<Stream = Self::Stream>;
    /// Where indices are kept.
    type Indices: Indices<Stream = Self::Stream>;
    /// Other registries.
    type Upstream: Upstream<Stream = Self::Stream>;
    /// Who tells the time.
    type Clock: Clock;

    /// Whether the registry is served at this origin, `https://host[:port]`. A host that clients reach by any name
    /// says so only of its own: hosted and mirrored providers are told apart by it.
    fn serves(&self, origin: &str) -> bool;
    /// The facts.
    fn facts(&self) -> &Self::Facts;
    /// The archives.
    fn archives(&self) -> &Self::Archives;
    /// The uploads.
    fn uploads(&self) -> &Self::Uploads;
    /// The indices.
    fn indices(&self) -> &Self::Indices;
    /// Other registries.
    fn upstream(&self) -> &Self::Upstream;
    /// The clock.
    fn clock(&self) -> &Self::Clock;
    /// What is remembered from one request to the next.
    fn cache(&self) -> &Cache;
    /// Bytes that nobody can foretell.
    fn random(&self) -> [u8; 16];
    /// What was taken of it, by this request or by others, too.
    fn meter(&self) -> &UsageMeter;
    /// Writes a line for the operator. Never a secret.
    fn log(&self, line: &str);
    /// Writes the line of a request.
    fn log_request(&self, line: &str);
    /// Counts a download, where the deployment wants them counted.
    fn count(&self, download: &Counted<'_>);
    /// Counts somebody's wrong credentials, and tells whether there were too many of late; `false` where
    /// the deployment leaves that to the isolates.
    async fn is_one_failure_too_many(&self, network: &str) -> bool;
}
