//! Stores that count and time their operations, for the log line of a request.

use std::rc::Rc;

use terrace_app::host::{
    ArchiveHead, Archives, BytesPage, Condition, Fact, FactPage, Facts, IndexPage, Indices,
    Inflated, Payload, Revision, StoreError, Stored, Uploads,
};
use terrace_app::usage::{PlatformPart, Timed, UsageMeter};
use terrace_core::model::oci::Digest;
use terrace_core::read::{IndexForm, StoredIndex};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{ArchiveKey, BytesKey, ChunkKey, FactKey, IndexKey};

use crate::clock::millis;

/// A store with the counters of one request.
#[derive(Debug)]
pub(crate) struct Metered<S> {
    store: S,
    part: PlatformPart,
    meter: Rc<UsageMeter>,
}

impl<S> Metered<S> {
    pub(crate) fn new(store: S, part: PlatformPart, meter: Rc<UsageMeter>) -> Self {
        Self { store, part, meter }
    }

    fn timed(&self) -> Timed<'_> {
        self.meter.time(self.part, millis)
    }
}

/// Implements operations by those of the store, each with its time.
macro_rules! timed {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)+) => {
        $(async fn $name(&self, $($argument: $type),*) -> Result<$result, StoreError> {
            let _timed = self.timed();
            self.store.$name($($argument),*).await
        })+
    };
}

impl<S: Facts> Facts for Metered<S> {
    timed! {
        fn get(key: &FactKey) -> Option<Fact>;
        fn revision(key: &FactKey) -> Option<Revision>;
        fn put(key: &FactKey, document: &str, metadata: &[(&str, String)], condition: Condition) -> Option<Revision>;
        fn list(prefix: &str, after: Option<&str>, limit: u32) -> FactPage;
        fn delete(key: &FactKey) -> ();
    }
}

impl<S: Archives> Archives for Metered<S> {
    type Stream = S::Stream;

    timed! {
        fn head(key: BytesKey) -> Option<ArchiveHead>;
        fn read(key: ArchiveKey, offset: u64, length: u64) -> Vec<u8>;
        fn digest(key: BytesKey) -> Option<Digest>;
        fn list_bytes(prefix: &str, after: Option<&str>, limit: u32) -> BytesPage;
        fn open(key: BytesKey) -> Option<(u64, Self::Stream)>;
        fn open_part(key: BytesKey, offset: u64, length: u64) -> Option<Self::Stream>;
        fn inflate(key: ArchiveKey, offset: u64, length: u32, limit: u32) -> Inflated;
        fn store(key: BytesKey, payload: Payload<Self::Stream>) -> Stored;
        fn discard(key: BytesKey) -> ();
    }
}

impl<S: Uploads> Uploads for Metered<S> {
    type Stream = S::Stream;

    timed! {
        fn store_chunk(key: ChunkKey, payload: Payload<Self::Stream>) -> ();
        fn store_chunks(first: ChunkKey, stream: Self::Stream) -> Vec<u64>;
        fn assemble(chunks: &[(ChunkKey, u64)], digest: Digest) -> Option<Stored>;
        fn remove(names: Vec<String>) -> ();
    }
}

impl<S: Indices> Indices for Metered<S> {
    type Stream = S::Stream;

    timed! {
        fn get(key: &IndexKey, form: IndexForm, cache_seconds: u32) -> Option<StoredIndex<Self::Stream>>;
        fn get_all(keys: &[&IndexKey], cache_seconds: u32) -> Vec<Option<StoredIndex<Self::Stream>>>;
        fn list_keys(prefix: &str, cursor: Option<String>) -> IndexPage;
        fn put(key: &IndexKey, document: &IndexDocument) -> ();
        fn delete(key: &IndexKey) -> ();
    }
}
