//! Facts and archives in an R2 bucket.

use std::collections::HashMap;
use std::fmt::Display;
use std::rc::Rc;

use terrace_base::digest::{Sha256, Sha512};
use terrace_base::time::UnixTime;
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{ArchiveKey, BytesKey, FactKey};
use worker::crypto::{DigestStream, DigestStreamAlgorithm};
use worker::js_sys::Uint8Array;
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Conditional, HttpMetadata, Include, Object, Objects, Range, ResponseBody, web_sys};

use super::clock::millis;
use super::inflate::inflate;
use terrace_app::host::{
    ArchiveHead, Archives, BytesPage, Condition, Fact, FactPage, Facts, Inflated, ListedBytes,
    ListedFact, Payload, Revision, StoreError, Stored,
};
use terrace_app::usage::{PlatformPart, UsageMeter};

/// Part of R2's error when bytes do not have the expected digest
/// (<https://developers.cloudflare.com/r2/api/error-codes/>).
const BAD_DIGEST: &str = "(10037)";

/// Part of R2's error when a key is written too often (the same page).
const TOO_OFTEN: &str = "(10058)";

/// Part of R2's error when a range begins after the end of an object (the same page).
const BAD_RANGE: &str = "(10039)";

/// An R2 bucket.
pub(super) struct Bucket {
    pub(super) bucket: worker::Bucket,
    pub(super) meter: Rc<UsageMeter>,
}

impl Bucket {
    pub(super) fn new(bucket: worker::Bucket, meter: Rc<UsageMeter>) -> Self {
        Self { bucket, meter }
    }

    /// Gets an object, or a part of it.
    async fn object(
        &self,
        key: impl Display,
        range: Option<Range>,
    ) -> Result<Option<Object>, worker::Error> {
        let get = self.bucket.get(key.to_string());
        let get = match range {
            Some(range) => get.range(range),
            None => get,
        };
        get.execute().await
    }

    /// Returns a page of the list of objects below a prefix, after the one of this name.
    async fn page(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
        include: Vec<Include>,
    ) -> Result<Objects, StoreError> {
        let list = self.bucket.list().prefix(prefix).limit(limit);
        let list = match after {
            Some(after) => list.start_after(format!("{prefix}{after}")),
            None => list,
        };
        let page = list.include(include).execute().await;
        page.map_err(|error| failure("list", prefix, &error))
    }
}

/// Returns the bytes of an object that was got; none if it has no body.
async fn bytes_of(object: &Object) -> Result<Vec<u8>, worker::Error> {
    match object.body() {
        Some(body) => body.bytes().await,
        None => Ok(Vec::new()),
    }
}

/// Returns the stream of an object that was got.
pub(super) fn stream_of(object: &Object) -> Result<Option<web_sys::ReadableStream>, worker::Error> {
    let body = object.body().map(|body| body.response_body());
    Ok(match body.transpose()? {
        Some(ResponseBody::Stream(stream)) => Some(stream),
        _ => None,
    })
}

fn stored_at(object: &Object) -> UnixTime {
    UnixTime(object.uploaded().as_millis() / 1_000)
}

impl Facts for Bucket {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let failed = |error| failure("get", key, &error);
        let Some(object) = self.object(key, None).await.map_err(failed)? else {
            return Ok(None);
        };
        let bytes = bytes_of(&object).await.map_err(failed)?;
        let etag = object.etag();
        Ok(Some(Fact { bytes, etag }))
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let failed = |error| failure("head", key, &error);
        let object = self.bucket.head(key.to_string()).await.map_err(failed)?;
        Ok(object.map(|object| Revision(object.version())))
    }

    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let metadata: HashMap<String, String> = metadata
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let put = self
            .bucket
            .put(key.to_string(), document.as_bytes().to_vec())
            .http_metadata(content_type("application/json"))
            .custom_metadata(metadata);
        let put = match condition {
            Condition::Any => put,
            Condition::Absent => put.only_if(Conditional {
                etag_does_not_match: Some("*".to_owned()),
                ..Conditional::default()
            }),
            Condition::Unchanged(etag) => put.only_if(Conditional {
                etag_matches: Some(etag),
                ..Conditional::default()
            }),
        };
        let object = put
            .execute()
            .await
            .map_err(|error| failure("put", key, &error))?;
        Ok(object.map(|object| Revision(object.version())))
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FactPage, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let include = vec![Include::CustomMetadata];
        let page = self.page(prefix, after, limit, include).await?;
        let listed = |object: &Object| {
            let metadata = object.custom_metadata().unwrap_or_default();
            Some(ListedFact {
                name: object.key().strip_prefix(prefix)?.to_owned(),
                metadata: metadata.into_iter().collect(),
                stored_at: stored_at(object),
                etag: object.etag(),
            })
        };
        Ok(FactPage {
            facts: page.objects().iter().filter_map(listed).collect(),
            is_truncated: page.truncated(),
        })
    }

    async fn delete(&self, key: &FactKey) -> Result<(), StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let deleted = self.bucket.delete(key.to_string()).await;
        deleted.map_err(|error| failure("delete", key, &error))
    }
}

impl Archives for Bucket {
    type Stream = web_sys::ReadableStream;

    async fn head(&self, key: BytesKey) -> Result<Option<ArchiveHead>, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let object = self.bucket.head(key.to_string()).await;
        let object = object.map_err(|error| failure("head", key, &error))?;
        Ok(object.as_ref().map(head_of))
    }

    async fn read(&self, key: ArchiveKey, offset: u64, length: u64) -> Result<Vec<u8>, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let failed = |error| failure("read", key, &error);
        let part = Range::OffsetWithLength { offset, length };
        match self.object(key, Some(part)).await.map_err(failed)? {
            Some(object) => bytes_of(&object).await.map_err(failed),
            None => Ok(Vec::new()),
        }
    }

    async fn tail(
        &self,
        key: ArchiveKey,
        length: u64,
    ) -> Result<Option<(ArchiveHead, Vec<u8>)>, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let failed = |error| failure("read", key, &error);
        let end = Range::Suffix { suffix: length };
        let object = match self.object(key, Some(end)).await {
            // An empty object has no range.
            Err(error) if error.to_string().contains(BAD_RANGE) => {
                let head = self.head(key.into()).await?;
                return Ok(head.map(|head| (head, Vec::new())));
            }
            object => object.map_err(failed)?,
        };
        let Some(object) = object else {
            return Ok(None);
        };
        let bytes = bytes_of(&object).await.map_err(failed)?;
        Ok(Some((head_of(&object), bytes)))
    }

    async fn digest(&self, key: BytesKey) -> Result<Option<Digest>, StoreError> {
        let failed = |error| failure("digest", key, &error);
        let Some((_, stream)) = self.open(key).await? else {
            return Ok(None);
        };
        let hasher = DigestStream::new(match key.digest() {
            Digest::Sha256(_) => DigestStreamAlgorithm::Sha256,
            Digest::Sha512(_) => DigestStreamAlgorithm::Sha512,
        });
        // The pipe runs by itself; awaiting the digest awaits its end.
        let _ = stream.pipe_to(hasher.raw());
        let bytes = hasher.digest().await.map_err(failed)?.to_vec();
        Ok(match key.digest() {
            Digest::Sha256(_) => digest(bytes).map(Digest::Sha256),
            Digest::Sha512(_) => bytes
                .try_into()
                .ok()
                .map(Sha512::from_bytes)
                .map(Digest::Sha512),
        })
    }

    async fn list_bytes(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BytesPage, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let page = self.page(prefix, after, limit, Vec::new()).await?;
        let listed = |object: &Object| {
            Some(ListedBytes {
                name: object.key().strip_prefix(prefix)?.to_owned(),
                size: object.size(),
                stored_at: stored_at(object),
            })
        };
        Ok(BytesPage {
            objects: page.objects().iter().filter_map(listed).collect(),
            is_truncated: page.truncated(),
        })
    }

    async fn open(&self, key: BytesKey) -> Result<Option<(u64, Self::Stream)>, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let failed = |error| failure("open", key, &error);
        let Some(object) = self.object(key, None).await.map_err(failed)? else {
            return Ok(None);
        };
        let stream = stream_of(&object).map_err(failed)?;
        Ok(stream.map(|stream| (object.size(), stream)))
    }

    async fn open_part(
        &self,
        key: BytesKey,
        offset: u64,
        length: u64,
    ) -> Result<Option<Self::Stream>, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let failed = |error| failure("open", key, &error);
        let part = Range::OffsetWithLength { offset, length };
        match self.object(key, Some(part)).await.map_err(failed)? {
            Some(object) => stream_of(&object).map_err(failed),
            None => Ok(None),
        }
    }

    async fn inflate(
        &self,
        key: ArchiveKey,
        offset: u64,
        length: u32,
        limit: u32,
    ) -> Result<Inflated, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let failed = |error| failure("inflate", key, &error);
        let part = Range::OffsetWithLength {
            offset,
            length: length.into(),
        };
        let object = match self.object(key, Some(part)).await {
            Ok(Some(object)) => object,
            Ok(None) => return Ok(Inflated::Missing),
            Err(error) if error.to_string().contains(BAD_RANGE) => return Ok(Inflated::Damaged),
            Err(error) => return Err(failed(error)),
        };
        let Some(stream) = stream_of(&object).map_err(failed)? else {
            return Ok(Inflated::Missing);
        };
        let member = whole(&stream).await.map_err(|error| failed(error.into()))?;
        if member.length() != length {
            return Ok(Inflated::Damaged);
        }
        let inflated = inflate(&member, limit).await;
        inflated.map_err(|error| failed(error.into()))
    }

    async fn store(
        &self,
        key: BytesKey,
        payload: Payload<Self::Stream>,
    ) -> Result<Stored, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let put = match payload {
            Payload::Bytes(bytes) => self.bucket.put(key.to_string(), bytes),
            Payload::Stream(stream) => self.bucket.put(key.to_string(), stream),
        };
        let put = match key.digest() {
            Digest::Sha256(digest) => put.sha256(digest.as_bytes().to_vec()),
            Digest::Sha512(digest) => put.sha512(digest.as_bytes().to_vec()),
        };
        let stored = put
            .http_metadata(content_type(key.content_type()))
            .execute()
            .await;
        match stored {
            Ok(_) => Ok(Stored::Yes),
            Err(error) if error.to_string().contains(BAD_DIGEST) => Ok(Stored::DigestMismatch),
            Err(error) => Err(failure("put", key, &error)),
        }
    }

    async fn discard(&self, key: BytesKey) -> Result<(), StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let deleted = self.bucket.delete(key.to_string()).await;
        deleted.map_err(|error| failure("delete", key, &error))
    }
}

fn head_of(object: &Object) -> ArchiveHead {
    ArchiveHead {
        revision: Revision(object.version()),
        size: object.size(),
        sha256: object.checksum().sha256.and_then(digest),
    }
}

/// Reads a stream to its end, without its bytes entering wasm.
async fn whole(stream: &web_sys::ReadableStream) -> Result<Uint8Array, JsValue> {
    let response = web_sys::Response::new_with_opt_readable_stream(Some(stream))?;
    let buffer = JsFuture::from(response.array_buffer()?).await?;
    Ok(Uint8Array::new(&buffer))
}

fn digest(bytes: Vec<u8>) -> Option<Sha256> {
    bytes.try_into().ok().map(Sha256::from_bytes)
}

fn content_type(content_type: &str) -> HttpMetadata {
    HttpMetadata {
        content_type: Some(content_type.to_owned()),
        ..HttpMetadata::default()
    }
}

pub(super) fn failure(operation: &str, key: impl Display, error: &worker::Error) -> StoreError {
    let cause = error.to_string();
    let operation = format!("R2 {operation} {key}");
    if cause.contains(TOO_OFTEN) {
        StoreError::Busy(operation)
    } else {
        StoreError::Failed { operation, cause }
    }
}
