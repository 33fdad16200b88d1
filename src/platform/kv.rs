//! Indices in Workers KV.

use std::rc::Rc;

use terrace_core::index::{IndexDocument, IndexMetadata};
use terrace_core::key::IndexKey;
use terrace_core::read::{Found, IndexForm};
use terrace_core::reply::Body;
use worker::{KvError, KvStore, web_sys};

use super::clock::millis;
use crate::store::{Indices, StoreError};
use crate::tally::{Part, Tally};

/// What the runtime says when a key is written more than once a second
/// (<https://developers.cloudflare.com/kv/api/write-key-value-pairs/#limits-to-kv-writes-to-the-same-key>).
const TOO_OFTEN: &str = "failed: 429";

/// A KV namespace.
pub(super) struct Namespace {
    kv: KvStore,
    tally: Rc<Tally>,
}

impl Namespace {
    pub(super) fn new(kv: KvStore, tally: Rc<Tally>) -> Self {
        Self { kv, tally }
    }
}

impl Indices for Namespace {
    type Stream = web_sys::ReadableStream;

    async fn get(
        &self,
        key: &IndexKey,
        form: IndexForm,
        cache_seconds: u32,
    ) -> Result<Option<Found<Self::Stream>>, StoreError> {
        let _timed = self.tally.time(Part::Kv, millis);
        let get = self
            .kv
            .get(&key.to_string())
            .cache_ttl(cache_seconds.into());
        let failed = |error| failure("get", key, error);
        let (body, metadata): (Option<Body<_>>, Option<IndexMetadata>) = match form {
            IndexForm::Stream => {
                let (stream, metadata) = get.stream_with_metadata().await.map_err(failed)?;
                (stream.map(Body::Stream), metadata)
            }
            IndexForm::Text => {
                let (text, metadata) = get.text_with_metadata().await.map_err(failed)?;
                (text.map(Body::Text), metadata)
            }
        };
        Ok(body
            .zip(metadata)
            .map(|(body, metadata)| Found { metadata, body }))
    }

    async fn put(&self, key: &IndexKey, document: &IndexDocument) -> Result<(), StoreError> {
        let _timed = self.tally.time(Part::Kv, millis);
        let failed = |error| failure("put", key, error);
        self.kv
            .put(&key.to_string(), document.text.as_str())
            .and_then(|put| put.metadata(&document.metadata))
            .map_err(failed)?
            .execute()
            .await
            .map_err(failed)
    }

    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError> {
        let _timed = self.tally.time(Part::Kv, millis);
        let deleted = self.kv.delete(&key.to_string()).await;
        deleted.map_err(|error| failure("delete", key, error))
    }
}

fn failure(operation: &str, key: &IndexKey, error: KvError) -> StoreError {
    let cause = match error {
        KvError::JavaScript(value) => format!("{value:?}"),
        KvError::Serialization(error) => error.to_string(),
        KvError::InvalidKvStore(message) => message,
    };
    let operation = format!("KV {operation} {key}");
    if cause.contains(TOO_OFTEN) {
        StoreError::Busy(operation)
    } else {
        StoreError::Failed { operation, cause }
    }
}
