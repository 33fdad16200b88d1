//! Bytes that arrive, in pieces whose lengths the reader chooses.

use std::io;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use terrace_app::host::Payload;

use crate::stream::ByteStream;

/// Bytes that arrive.
pub(crate) struct Arriving {
    stream: ByteStream,
    /// Bytes that have arrived and were not taken.
    rest: Bytes,
}

impl Arriving {
    pub(crate) fn new(payload: Payload<ByteStream>) -> Self {
        match payload {
            Payload::Bytes(bytes) => Self {
                stream: Box::pin(stream::empty()),
                rest: bytes.into(),
            },
            Payload::Stream(stream) => Self {
                stream,
                rest: Bytes::new(),
            },
        }
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
