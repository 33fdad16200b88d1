//! Bytes that arrive, in pieces of lengths that the reader chooses.

use std::io;

use bytes::Bytes;
use futures_util::stream::Fuse;
use futures_util::{StreamExt as _, stream};
use terrace_app::host::Payload;

use crate::stream::ByteStream;

/// Bytes that arrive.
pub(crate) struct Arriving {
    /// A stream must not be polled after its end, and a reader asks again whether there are more bytes.
    stream: Fuse<ByteStream>,
    /// Bytes that have arrived and were not taken.
    rest: Bytes,
}

impl Arriving {
    pub(crate) fn new(payload: Payload<ByteStream>) -> Self {
        let (stream, rest): (ByteStream, _) = match payload {
            Payload::Bytes(bytes) => (Box::pin(stream::empty()), bytes.into()),
            Payload::Stream(stream) => (stream, Bytes::new()),
        };
        let stream = stream.fuse();
        Self { stream, rest }
    }

    /// Returns some of the next bytes, `most` at most; none at the end.
    pub(crate) async fn next(&mut self, most: usize) -> io::Result<Bytes> {
        while self.rest.is_empty() {
            match self.stream.next().await {
                Some(bytes) => self.rest = bytes?,
                None => return Ok(Bytes::new()),
            }
        }
        let length = self.rest.len().min(most);
        Ok(self.rest.split_to(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_that_has_ended_is_not_polled_again() {
        // This kind of stream, as of a fork, panics after its end.
        let chunks = stream::unfold(2, async |left| {
            (left > 0).then(|| (Ok(Bytes::from("ab")), left - 1))
        });
        let mut arriving = Arriving::new(Payload::Stream(chunks.boxed_local()));
        let mut received = Vec::new();
        for _ in 0..6 {
            received.push(arriving.next(1).await.unwrap());
        }
        assert_eq!(received, ["a", "b", "a", "b", "", ""]);
    }
}
