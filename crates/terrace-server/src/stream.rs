//! Streams of bytes.

use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use hyper::body::{Body as _, Incoming};
use tokio::time::timeout;

/// The stream of bytes of this host. A stream that ends early, or breaks, yields an error as its last item.
pub type ByteStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>>>>;

/// Returns a stream of these bytes.
pub fn of(bytes: impl Into<Bytes>) -> ByteStream {
    let bytes = bytes.into();
    stream::iter((!bytes.is_empty()).then_some(Ok(bytes))).boxed_local()
}

/// Returns the bytes of a stream, at most one more than `limit`.
///
/// # Errors
/// The stream broke.
pub async fn read(mut stream: ByteStream, limit: u64) -> io::Result<Vec<u8>> {
    let most = usize::try_from(limit.saturating_add(1)).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk?;
        let room = most - bytes.len();
        bytes.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if bytes.len() == most {
            break;
        }
    }
    Ok(bytes)
}

/// Returns the body of a message. It breaks if nothing arrives for the time `stall`.
pub(crate) fn of_body(body: Incoming, stall: Option<Duration>) -> ByteStream {
    let chunks = stream::try_unfold(body, move |mut body| async move {
        loop {
            let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
            let frame = match stall {
                None => next.await,
                Some(stall) => timeout(stall, next).await.map_err(|_| stalled(stall))?,
            };
            let Some(frame) = frame else { return Ok(None) };
            // Trailers have no data.
            if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                return Ok(Some((data, body)));
            }
        }
    });
    chunks.boxed_local()
}

fn stalled(stall: Duration) -> io::Error {
    let message = format!("nothing arrived for {} seconds", stall.as_secs());
    io::Error::new(io::ErrorKind::TimedOut, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_is_read_to_its_end_or_one_byte_beyond_the_limit() {
        let chunks = || stream::iter(["abc", "def"].map(|it| Ok(it.into()))).boxed_local();
        for (limit, bytes) in [
            (0, "a"),
            (2, "abc"),
            (3, "abcd"),
            (5, "abcdef"),
            (6, "abcdef"),
        ] {
            assert_eq!(read(chunks(), limit).await.unwrap(), bytes.as_bytes());
        }
        assert_eq!(read(chunks(), u64::MAX).await.unwrap(), b"abcdef");
        assert_eq!(read(of(""), 5).await.unwrap(), b"");
    }
}
