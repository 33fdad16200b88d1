//! Uploads in an R2 bucket: chunks as objects, whose bytes pass by wasm as references.
//!
//! R2's own multipart uploads want parts of 5 MiB and more that are all of one length, which no client
//! of OCI Distribution promises.

use std::cell::Cell;
use std::rc::Rc;

use terrace_core::limits;
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{BytesKey, ChunkKey, UPLOADS};
use worker::js_sys::{BigInt, Reflect, Uint8Array};
use worker::wasm_bindgen::{JsCast as _, JsValue};
use worker::wasm_bindgen_futures::{JsFuture, spawn_local};
use worker::worker_sys::FixedLengthStream;
use worker::{Object, ResponseBody, web_sys};

use super::clock::millis;
use super::r2::{Bucket, failure};
use terrace_app::host::{Archives as _, Payload, StoreError, Stored, Uploads};
use terrace_app::usage::Part;

impl Uploads for Bucket {
    type Stream = web_sys::ReadableStream;

    async fn store_chunk(
        &self,
        key: ChunkKey,
        payload: Payload<Self::Stream>,
    ) -> Result<(), StoreError> {
        let _timed = self.meter.time(Part::R2, millis);
        let put = match payload {
            Payload::Bytes(bytes) => self.bucket.put(key.to_string(), bytes),
            Payload::Stream(stream) => self.bucket.put(key.to_string(), stream),
        };
        let stored = put.execute().await;
        stored.map_err(|error| failure("put", key, &error))?;
        Ok(())
    }

    async fn store_pieces(
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
            let piece = piece(&reader).await.map_err(|cause| failed(key, &cause))?;
            let length = u64::from(piece.length());
            if length > 0 {
                let stream = stream_of(&piece).map_err(|cause| failed(key, &cause))?;
                self.store_chunk(key, Payload::Stream(stream)).await?;
                lengths.push(length);
                key.offset += length;
            }
            if piece.length() < limits::UPLOAD_PIECE_BYTES {
                return Ok(lengths);
            }
        }
    }

    async fn assemble(
        &self,
        chunks: &[(ChunkKey, u64)],
        digest: Digest,
    ) -> Result<Option<Stored>, StoreError> {
        let _timed = self.meter.time(Part::R2, millis);
        let key = BytesKey::Blob(digest);
        let length: u64 = chunks.iter().map(|(_, length)| *length).sum();
        let whole = FixedLengthStream::new_big_int(BigInt::from(length))
            .map_err(|cause| failed("assemble", key, &cause))?;
        let (bucket, chunks, writable) = (self.bucket.clone(), chunks.to_vec(), whole.writable());
        let lacks = Rc::new(Cell::new(false));
        let lacks_chunk = Rc::clone(&lacks);
        spawn_local(async move {
            // Who reads the other end is told of a failure.
            let _ = fill(&bucket, &chunks, &writable, &lacks_chunk).await;
        });
        match self.store(key, Payload::Stream(whole.readable())).await {
            Err(_) if lacks.get() => Ok(None),
            stored => stored.map(Some),
        }
    }

    async fn remove(&self, names: Vec<String>) -> Result<(), StoreError> {
        let _timed = self.meter.time(Part::R2, millis);
        let keys: Vec<String> = names
            .iter()
            .map(|name| format!("{UPLOADS}{name}"))
            .collect();
        let removed = self.bucket.delete_multiple(keys).await;
        removed.map_err(|error| failure("delete", UPLOADS, &error))
    }
}

/// Writes the chunks one behind the other, and closes or breaks what they are written to. `lacks_chunk` tells
/// whether that was because one is not there as it should be.
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
            let missing = worker::js_sys::Error::new("a chunk is missing");
            JsFuture::from(writable.abort_with_reason(&missing)).await?;
            return Ok(());
        };
        JsFuture::from(stream.pipe_to_with_options(writable, &options)).await?;
    }
    JsFuture::from(writable.get_writer()?.close()).await?;
    Ok(())
}

/// A chunk, if it is there and of this length.
async fn open(
    bucket: &worker::Bucket,
    key: ChunkKey,
    length: u64,
) -> Result<Option<web_sys::ReadableStream>, JsValue> {
    let object = bucket.get(key.to_string()).execute().await?;
    let object = object.filter(|object| object.size() == length);
    match object.as_ref().and_then(Object::body) {
        Some(body) => match body.response_body()? {
            ResponseBody::Stream(stream) => Ok(Some(stream)),
            _ => Ok(None),
        },
        None => Ok(None),
    }
}

/// The next bytes of a stream: as many as fit, unless it ends before.
async fn piece(reader: &web_sys::ReadableStreamByobReader) -> Result<Uint8Array, JsValue> {
    let most = limits::UPLOAD_PIECE_BYTES;
    let mut buffer = Uint8Array::new_with_length(most).buffer();
    let mut filled = 0;
    while filled < most {
        let view = Uint8Array::new_with_byte_offset_and_length(&buffer, filled, most - filled);
        let read = JsFuture::from(reader.read_with_array_buffer_view(&view)).await?;
        // Reading takes the buffer away, and gives it back with what was read.
        let value = Reflect::get(&read, &"value".into())?;
        // Where reading was cancelled there is neither, and what has come is gone with the buffer.
        let chunk: Uint8Array = value.dyn_into()?;
        buffer = chunk.buffer();
        if chunk.length() == 0 {
            break;
        }
        filled += chunk.length();
    }
    Ok(Uint8Array::new_with_byte_offset_and_length(
        &buffer, 0, filled,
    ))
}

/// These bytes as a stream of known length, which is what storage takes.
fn stream_of(bytes: &Uint8Array) -> Result<web_sys::ReadableStream, JsValue> {
    let stream = FixedLengthStream::new_big_int(BigInt::from(u64::from(bytes.length())))?;
    let writer = stream.writable().get_writer()?;
    let written = writer.write_with_chunk(bytes);
    let closed = writer.close();
    spawn_local(async move {
        // Who reads the other end is told of a failure.
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
