//! Uploads in an R2 bucket: chunks are objects, and their bytes pass wasm only as references.
//!
//! R2's own multipart uploads require parts of at least 5 MiB, all of the same length, which no client of OCI
//! Distribution guarantees.

use std::cell::Cell;
use std::rc::Rc;

use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{BytesKey, ChunkKey, UPLOADS};
use worker::js_sys::{BigInt, Reflect, Uint8Array};
use worker::wasm_bindgen::{JsCast as _, JsValue};
use worker::wasm_bindgen_futures::{JsFuture, spawn_local};
use worker::web_sys;
use worker::worker_sys::FixedLengthStream;

use super::clock::millis;
use super::r2::{Bucket, failure, stream_of as stream_of_object};
use terrace_app::host::{Archives as _, Payload, StoreError, Stored, UNSIZED_CHUNK_BYTES, Uploads};
use terrace_app::usage::PlatformPart;

impl Uploads for Bucket {
    type Stream = web_sys::ReadableStream;

    async fn store_chunk(
        &self,
        key: ChunkKey,
        payload: Payload<Self::Stream>,
    ) -> Result<(), StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let put = match payload {
            Payload::Bytes(bytes) => self.bucket.put(key.to_string(), bytes),
            Payload::Stream(stream) => self.bucket.put(key.to_string(), stream),
        };
        let stored = put.execute().await;
        stored.map_err(|error| failure("put", key, &error))?;
        Ok(())
    }

    async fn store_chunks(
        &self,
        first: ChunkKey,
        stream: Self::Stream,
    ) -> Result<Vec<u64>, StoreError> {
        let failed = |key: ChunkKey, cause: &JsValue| failed("read", key, cause);
        let reader = web_sys::ReadableStreamByobReader::new(&stream)
            .map_err(|cause| failed(first, &cause))?;
        let mut key = first;
        let mut lengths = Vec::new();
        loop {
            let chunk = chunk(&reader).await.map_err(|cause| failed(key, &cause))?;
            let length = u64::from(chunk.length());
            if length > 0 {
                let stream = stream_of(&chunk).map_err(|cause| failed(key, &cause))?;
                self.store_chunk(key, Payload::Stream(stream)).await?;
                lengths.push(length);
                key.offset += length;
            }
            if chunk.length() < UNSIZED_CHUNK_BYTES {
                return Ok(lengths);
            }
        }
    }

    async fn assemble(
        &self,
        chunks: &[(ChunkKey, u64)],
        digest: Digest,
    ) -> Result<Option<Stored>, StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let key = BytesKey::Blob(digest);
        let length: u64 = chunks.iter().map(|(_, length)| *length).sum();
        let whole = FixedLengthStream::new_big_int(BigInt::from(length))
            .map_err(|cause| failed("assemble", key, &cause))?;
        let (bucket, chunks, writable) = (self.bucket.clone(), chunks.to_vec(), whole.writable());
        let lacks = Rc::new(Cell::new(false));
        let lacks_chunk = Rc::clone(&lacks);
        spawn_local(async move {
            // The reader of the other end receives the error.
            let _ = fill(&bucket, &chunks, &writable, &lacks_chunk).await;
        });
        match self.store(key, Payload::Stream(whole.readable())).await {
            Err(_) if lacks.get() => Ok(None),
            stored => stored.map(Some),
        }
    }

    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError> {
        let _timed = self.meter.time(PlatformPart::R2, millis);
        let keys: Vec<String> = names
            .iter()
            .map(|name| format!("{UPLOADS}{name}"))
            .collect();
        let removed = self.bucket.delete_multiple(keys).await;
        removed.map_err(|error| failure("delete", UPLOADS, &error))
    }
}

/// Writes the chunks to a stream, one after the other, and closes or aborts it. `lacks_chunk` is set if it
/// aborted because a chunk is missing or has another length.
async fn fill(
    bucket: &worker::Bucket,
    chunks: &[(ChunkKey, u64)],
    writable: &web_sys::WritableStream,
    lacks_chunk: &Cell<bool>,
) -> Result<(), JsValue> {
    let options = web_sys::StreamPipeOptions::new();
    options.set_prevent_close(true);
    for (key, length) in chunks {
        let chunk = open(bucket, *key, *length).await;
        lacks_chunk.set(matches!(chunk, Ok(None)));
        let Ok(Some(stream)) = chunk else {
            let missing = worker::js_sys::Error::new(
                "a chunk of the upload is missing in storage: start a new upload",
            );
            JsFuture::from(writable.abort_with_reason(&missing)).await?;
            return Ok(());
        };
        JsFuture::from(stream.pipe_to_with_options(writable, &options)).await?;
    }
    JsFuture::from(writable.get_writer()?.close()).await?;
    Ok(())
}

/// Opens a chunk; `None` if it is missing or has another length.
async fn open(
    bucket: &worker::Bucket,
    key: ChunkKey,
    length: u64,
) -> Result<Option<web_sys::ReadableStream>, JsValue> {
    match bucket.get(key.to_string()).execute().await? {
        Some(object) if object.size() == length => Ok(stream_of_object(&object)?),
        _ => Ok(None),
    }
}

/// Reads the next chunk of a stream: as many bytes as fit, unless the stream ends before.
async fn chunk(reader: &web_sys::ReadableStreamByobReader) -> Result<Uint8Array, JsValue> {
    let limit = UNSIZED_CHUNK_BYTES;
    let mut buffer = Uint8Array::new_with_length(limit).buffer();
    let mut filled = 0;
    while filled < limit {
        let view = Uint8Array::new_with_byte_offset_and_length(&buffer, filled, limit - filled);
        let read = JsFuture::from(reader.read_with_array_buffer_view(&view)).await?;
        // A read detaches the buffer, and returns it with the bytes read.
        let value = Reflect::get(&read, &"value".into())?;
        // A cancelled read returns no value, and the buffer is lost with the bytes received so far.
        let part: Uint8Array = value.dyn_into()?;
        buffer = part.buffer();
        if part.length() == 0 {
            break;
        }
        filled += part.length();
    }
    Ok(Uint8Array::new_with_byte_offset_and_length(
        &buffer, 0, filled,
    ))
}

/// Returns these bytes as a stream of known length, which storage requires.
fn stream_of(bytes: &Uint8Array) -> Result<web_sys::ReadableStream, JsValue> {
    let stream = FixedLengthStream::new_big_int(BigInt::from(u64::from(bytes.length())))?;
    let writer = stream.writable().get_writer()?;
    let written = writer.write_with_chunk(bytes);
    let closed = writer.close();
    spawn_local(async move {
        // The reader of the other end receives the error.
        let _ = (JsFuture::from(written).await, JsFuture::from(closed).await);
    });
    Ok(stream.readable())
}

fn failed(operation: &str, key: impl std::fmt::Display, cause: &JsValue) -> StoreError {
    StoreError::Failed {
        operation: format!("upload {operation} {key}"),
        cause: format!("{cause:?}"),
    }
}
