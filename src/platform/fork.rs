//! Splits one stream for two readers. Its bytes do not enter wasm.
//!
//! The platform's own `tee` buffers for the slower reader everything that the faster one has already read, up to the
//! whole memory. Here, storage waits for a slow client, and abandons one that has stopped.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use terrace_app::host::{
    FORK_LAG_BYTES, FORK_PATIENCE_SECONDS, FORK_STALL_SECONDS, ORIGIN_BYTES_PER_SECOND,
    ORIGIN_UNTIMED_SECONDS,
};
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{BigInt, Date, Promise, Reflect, Uint8Array};
use worker::wasm_bindgen::{JsCast as _, JsValue};
use worker::wasm_bindgen_futures::{JsFuture, spawn_local};
use worker::worker_sys::FixedLengthStream;
use worker::{Delay, web_sys};

/// The size of one read, in bytes.
const CHUNK_BYTES: u32 = 256 * 1024;

#[wasm_bindgen]
extern "C" {
    /// The platform's own reader. With the standard's `read`, an origin that sends in small pieces costs a
    /// whole buffer for each piece.
    pub(super) type AtLeast;

    #[wasm_bindgen(method, catch, js_name = readAtLeast)]
    pub(super) fn read_at_least(
        this: &AtLeast,
        bytes: u32,
        view: &Uint8Array,
    ) -> Result<Promise, JsValue>;
}

/// Returns two streams, for a client and for storage. Both fail if the source does not have `length` bytes.
pub(super) fn fork(
    stream: &web_sys::ReadableStream,
    length: u64,
) -> Result<(web_sys::ReadableStream, web_sys::ReadableStream), JsValue> {
    let source = web_sys::ReadableStreamByobReader::new(stream)?;
    let client = FixedLengthStream::new_big_int(BigInt::from(length))?;
    let storage = FixedLengthStream::new_big_int(BigInt::from(length))?;
    let pump = Pump {
        source,
        client: Some(Lagging {
            writer: client.writable().get_writer()?,
            unwritten: VecDeque::new(),
            bytes: 0,
            waited_ms: 0.0,
        }),
        storage: Some(storage.writable().get_writer()?),
        began: Date::now(),
        read: 0.0,
    };
    for closed in pump.closed() {
        forget(&closed);
    }
    spawn_local(pump.run());
    Ok((client.readable(), storage.readable()))
}

/// Returns a stream with the same bytes and a length that the platform knows, so that a request with it as its body
/// states the length. The stream fails if the source does not have `length` bytes.
pub(super) fn of_length(
    stream: &web_sys::ReadableStream,
    length: u64,
) -> Result<web_sys::ReadableStream, JsValue> {
    let fixed = FixedLengthStream::new_big_int(BigInt::from(length))?;
    // The pipe runs by itself; the reader of the other end sees its errors.
    forget(&stream.pipe_to(&fixed.writable()));
    Ok(fixed.readable())
}

struct Pump {
    source: web_sys::ReadableStreamByobReader,
    client: Option<Lagging>,
    storage: Option<web_sys::WritableStreamDefaultWriter>,
    /// The start of the transfer, in milliseconds since 1970.
    began: f64,
    /// The number of bytes read so far.
    read: f64,
}

/// A client that may lag behind storage.
struct Lagging {
    writer: web_sys::WritableStreamDefaultWriter,
    unwritten: VecDeque<(u32, JsFuture)>,
    bytes: u32,
    /// How long storage has waited for it, in milliseconds.
    waited_ms: f64,
}

impl Pump {
    /// Returns the promises that settle when the streams end. Nothing else awaits them.
    fn closed(&self) -> impl Iterator<Item = Promise> {
        let client = self.client.iter().map(|client| client.writer.closed());
        let storage = self.storage.iter().map(|storage| storage.closed());
        client.chain(storage).chain([self.source.closed()])
    }

    async fn run(mut self) {
        loop {
            match self.next().await {
                Ok(Some(chunk)) => self.write(&chunk).await,
                Ok(None) => return self.close(),
                Err(error) => return self.abort(&error),
            }
            if self.client.is_none() && self.storage.is_none() {
                forget(&self.source.cancel());
                return;
            }
        }
    }

    async fn next(&mut self) -> Result<Option<Uint8Array>, JsValue> {
        let view = Uint8Array::new_with_length(CHUNK_BYTES);
        let reader: &AtLeast = self.source.unchecked_ref();
        let read = JsFuture::from(reader.read_at_least(CHUNK_BYTES, &view)?);
        let chunk = chunk(&unless_stalled(read).await?);
        self.read += chunk.as_ref().map_or(0.0, |chunk| chunk.length().into());
        let waited = self.client.as_ref().map_or(0.0, |client| client.waited_ms);
        let free = seconds_to_ms(ORIGIN_UNTIMED_SECONDS);
        let spent = Date::now() - self.began - waited - free;
        let least = f64::from(ORIGIN_BYTES_PER_SECOND);
        if spent > 0.0 && self.read / spent * 1000.0 < least {
            return Err(js_error("the origin is too slow"));
        }
        Ok(chunk)
    }

    async fn write(&mut self, chunk: &Uint8Array) {
        if let Some(client) = &mut self.client {
            client.write(chunk);
        }
        if let Some(storage) = &self.storage {
            let written = unless_stalled(JsFuture::from(storage.write_with_chunk(chunk))).await;
            if written.is_err() {
                self.storage = None;
            }
        }
        let kept_up = match &mut self.client {
            Some(client) => client.catch_up().await,
            None => Ok(()),
        };
        if let Err(error) = kept_up
            && let Some(client) = self.client.take()
        {
            forget(&client.writer.abort_with_reason(&error));
        }
    }

    fn close(self) {
        for writer in self.writers() {
            forget(&writer.close());
        }
    }

    fn abort(self, error: &JsValue) {
        forget(&self.source.cancel());
        for writer in self.writers() {
            forget(&writer.abort_with_reason(error));
        }
    }

    fn writers(self) -> impl Iterator<Item = web_sys::WritableStreamDefaultWriter> {
        let client = self.client.map(|client| client.writer);
        client.into_iter().chain(self.storage)
    }
}

impl Lagging {
    fn write(&mut self, chunk: &Uint8Array) {
        let written = JsFuture::from(self.writer.write_with_chunk(chunk));
        self.unwritten.push_back((chunk.length(), written));
        self.bytes = self.bytes.saturating_add(chunk.length());
    }

    async fn catch_up(&mut self) -> Result<(), JsValue> {
        let began = Date::now();
        while self.bytes > FORK_LAG_BYTES
            && let Some((length, written)) = self.unwritten.pop_front()
        {
            unless_stalled(written).await?;
            self.bytes = self.bytes.saturating_sub(length);
        }
        self.waited_ms += Date::now() - began;
        if self.waited_ms > seconds_to_ms(FORK_PATIENCE_SECONDS) {
            return Err(js_error("the client is too slow"));
        }
        Ok(())
    }
}

/// Returns the bytes of a read; `None` at the end of the stream.
pub(super) fn chunk(read: &JsValue) -> Option<Uint8Array> {
    let value = Reflect::get(read, &"value".into()).ok()?;
    let chunk: Uint8Array = value.dyn_into().ok()?;
    (chunk.length() > 0).then_some(chunk)
}

async fn unless_stalled(future: JsFuture) -> Result<JsValue, JsValue> {
    let stall = Delay::from(Duration::from_secs(FORK_STALL_SECONDS.into()));
    match select(future, pin!(stall)).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => Err(js_error("the transfer stalled")),
    }
}

fn seconds_to_ms(seconds: u32) -> f64 {
    f64::from(seconds) * 1000.0
}

fn js_error(message: &str) -> JsValue {
    worker::js_sys::Error::new(message).into()
}

/// Ignores the result of a promise, so that a rejection is not reported as unhandled.
pub(super) fn forget(promise: &Promise) {
    let settled = JsFuture::from(promise.clone());
    spawn_local(async move {
        let _ = settled.await;
    });
}
