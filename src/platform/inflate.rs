//! Inflates gzip members with the platform's own decompressor. The bytes enter wasm only inflated.
//!
//! The platform inflates everything that is written to its decompressor at once, and buffers it for the reader, however
//! long that gets. So the member is written in slices, and no further slice after the contents have exceeded their limit.

use std::pin::pin;

use futures_util::future::{Either, select};
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{Reflect, Uint8Array};
use worker::wasm_bindgen::{JsCast as _, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys;

use super::fork::{AtLeast, forget};
use terrace_app::host::Inflated;

/// The length of a slice. It inflates to at most 1,032 times as many bytes (<https://zlib.net/zlib_tech.html>): 4 MB.
const SLICE_BYTES: u32 = 4 * 1024;

#[wasm_bindgen]
extern "C" {
    /// The platform's decompressor. `web-sys` has it only among its unstable types.
    type DecompressionStream;

    #[wasm_bindgen(constructor, catch)]
    fn new(format: &str) -> Result<DecompressionStream, JsValue>;

    #[wasm_bindgen(method, getter)]
    fn readable(this: &DecompressionStream) -> web_sys::ReadableStream;

    #[wasm_bindgen(method, getter)]
    fn writable(this: &DecompressionStream) -> web_sys::WritableStream;
}

/// Inflates exactly one gzip member, up to `limit` bytes.
///
/// # Errors
/// The platform's error if there is no decompressor. A member that cannot be inflated is no error.
pub(super) async fn inflate(member: &Uint8Array, limit: u32) -> Result<Inflated, JsValue> {
    let gzip = DecompressionStream::new("gzip")?;
    let writer = gzip.writable().get_writer()?;
    let reader = web_sys::ReadableStreamByobReader::new(&gzip.readable())?;
    for closed in [writer.closed(), reader.closed()] {
        forget(&closed);
    }
    // One byte more than allowed, or everything up to the end.
    let most = limit.saturating_add(1);
    let view = Uint8Array::new_with_length(most);
    let contents = reader
        .unchecked_ref::<AtLeast>()
        .read_at_least(most, &view)?;
    let contents = pin!(JsFuture::from(contents));
    let written = pin!(write(&writer, member));
    let (contents, written) = match select(contents, written).await {
        Either::Left((contents, written)) => {
            let Some(contents) = contents.ok().and_then(|read| bytes(&read)) else {
                return Ok(Inflated::Damaged);
            };
            if contents.length() > limit {
                forget(&writer.abort());
                return Ok(Inflated::TooLong);
            }
            (contents, written.await)
        }
        Either::Right((written, contents)) => match contents.await.map(|read| bytes(&read)) {
            Ok(Some(contents)) => (contents, written),
            Ok(None) | Err(_) => return Ok(Inflated::Damaged),
        },
    };
    Ok(match written {
        _ if contents.length() > limit => Inflated::TooLong,
        Ok(()) => Inflated::Contents(contents.to_vec()),
        Err(_) => Inflated::Damaged,
    })
}

/// Writes a member in slices, and closes the stream: the platform then rejects a member that is truncated, has another
/// checksum or has bytes after it.
async fn write(
    writer: &web_sys::WritableStreamDefaultWriter,
    member: &Uint8Array,
) -> Result<(), JsValue> {
    let mut start = 0;
    while start < member.length() {
        let end = member.length().min(start.saturating_add(SLICE_BYTES));
        JsFuture::from(writer.write_with_chunk(&member.slice(start, end))).await?;
        start = end;
    }
    JsFuture::from(writer.close()).await.map(drop)
}

/// Returns the bytes of a read, which may be none.
fn bytes(read: &JsValue) -> Option<Uint8Array> {
    Reflect::get(read, &"value".into()).ok()?.dyn_into().ok()
}
