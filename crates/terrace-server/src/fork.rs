//! Splits one stream for two readers: a client, and storage.
//!
//! The client may lag behind by some megabytes, which are held in memory. Then storage waits for it, and abandons one that
//! has stopped.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use terrace_app::host::{
    FORK_LAG_BYTES, FORK_PATIENCE_SECONDS, FORK_STALL_SECONDS, ORIGIN_BYTES_PER_SECOND,
    ORIGIN_UNTIMED_SECONDS,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, timeout};

use crate::limits::STORAGE_LAG_BYTES;
use crate::stream::ByteStream;

/// A chunk, with the room that it takes until its reader has asked for the next one.
type Lagging = io::Result<(Bytes, OwnedSemaphorePermit)>;

/// Returns two streams, for a client and for storage. Both fail if the source does not have `length` bytes.
pub(crate) fn fork(source: ByteStream, length: u64) -> (ByteStream, ByteStream) {
    let (client, for_client) = lane(FORK_LAG_BYTES);
    let (storage, for_storage) = lane(STORAGE_LAG_BYTES);
    let pump = Pump {
        source,
        client: Some(client),
        storage: Some(storage),
        left: length,
        began: Instant::now(),
        read: 0,
        waited: Duration::ZERO,
    };
    tokio::task::spawn_local(pump.run());
    (for_client, for_storage)
}

/// Returns the two ends of a buffer of `room` bytes.
fn lane(room: u32) -> (Lane, ByteStream) {
    let (sender, receiver) = mpsc::unbounded_channel::<Lagging>();
    let lane = Lane {
        sender,
        room: Arc::new(Semaphore::new(usize::try_from(room).unwrap_or(usize::MAX))),
        capacity: room,
    };
    let chunks = stream::unfold(receiver, async |mut receiver| {
        let chunk = receiver.recv().await?;
        Some((chunk.map(|(bytes, _)| bytes), receiver))
    });
    (lane, chunks.boxed_local())
}

struct Lane {
    sender: mpsc::UnboundedSender<Lagging>,
    room: Arc<Semaphore>,
    capacity: u32,
}

impl Lane {
    /// Passes a chunk on when there is room for it. Returns whether the reader is still there.
    async fn write(&self, chunk: Bytes) -> bool {
        let length = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(length.min(self.capacity));
        let stall = Duration::from_secs(FORK_STALL_SECONDS.into());
        match timeout(stall, room).await {
            Ok(Ok(room)) => self.sender.send(Ok((chunk, room))).is_ok(),
            _ => {
                self.fail("the transfer stalled");
                false
            }
        }
    }

    fn fail(&self, reason: &str) {
        // A reader that has left needs no reason.
        let _ = self.sender.send(Err(io::Error::other(reason.to_owned())));
    }
}

struct Pump {
    source: ByteStream,
    client: Option<Lane>,
    storage: Option<Lane>,
    /// The number of bytes that the source still has to send.
    left: u64,
    began: Instant,
    /// The number of bytes read so far.
    read: u64,
    /// How long storage has waited for the client.
    waited: Duration,
}

impl Pump {
    async fn run(mut self) {
        while self.client.is_some() || self.storage.is_some() {
            match self.next().await {
                Ok(Some(chunk)) => self.write(chunk).await,
                Ok(None) => return,
                Err(reason) => {
                    for lane in self.client.iter().chain(&self.storage) {
                        lane.fail(&reason);
                    }
                    return;
                }
            }
        }
    }

    /// Returns the next chunk; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, String> {
        let stall = Duration::from_secs(FORK_STALL_SECONDS.into());
        let next = poll_fn(|context| self.source.as_mut().poll_next(context));
        let next = timeout(stall, next).await;
        let next = next.map_err(|_| "the transfer stalled".to_owned())?;
        let chunk = match next.transpose().map_err(|error| error.to_string())? {
            None if self.left == 0 => return Ok(None),
            None => return Err("the response is shorter than expected".to_owned()),
            Some(chunk) => chunk,
        };
        let length = chunk.len() as u64;
        self.left = (self.left.checked_sub(length))
            .ok_or_else(|| "the response is longer than expected".to_owned())?;
        self.read += length;
        self.check_rate()?;
        Ok(Some(chunk))
    }

    fn check_rate(&self) -> Result<(), String> {
        let untimed = Duration::from_secs(ORIGIN_UNTIMED_SECONDS.into());
        let spent = self.began.elapsed().saturating_sub(self.waited + untimed);
        let least = u64::from(ORIGIN_BYTES_PER_SECOND).saturating_mul(spent.as_secs());
        match self.read < least {
            true => Err("the origin is too slow".to_owned()),
            false => Ok(()),
        }
    }

    async fn write(&mut self, chunk: Bytes) {
        if let Some(storage) = &self.storage
            && !storage.write(chunk.clone()).await
        {
            self.storage = None;
        }
        if let Some(client) = &self.client {
            let began = Instant::now();
            let kept_up = client.write(chunk).await;
            self.waited += began.elapsed();
            let patience = Duration::from_secs(FORK_PATIENCE_SECONDS.into());
            if kept_up && self.waited > patience {
                client.fail("the client is too slow");
                self.client = None;
            } else if !kept_up {
                self.client = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::LocalSet;

    use super::*;
    use crate::stream;

    const CHUNK: usize = 512 * 1024;

    fn source(chunks: usize) -> ByteStream {
        let chunks = (0..chunks).map(|_| Ok(Bytes::from(vec![7; CHUNK])));
        futures_util::stream::iter(chunks).boxed_local()
    }

    async fn read(stream: ByteStream) -> Result<usize, String> {
        let bytes = stream::read(stream, u64::MAX).await;
        bytes
            .map(|bytes| bytes.len())
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn both_readers_receive_all_bytes() {
        let test = async {
            let (client, storage) = fork(source(40), (40 * CHUNK) as u64);
            let (client, storage) = tokio::join!(read(client), read(storage));
            assert_eq!((client, storage), (Ok(40 * CHUNK), Ok(40 * CHUNK)));
        };
        LocalSet::new().run_until(test).await;
    }

    #[tokio::test]
    async fn both_readers_fail_if_the_source_has_another_length() {
        let test = async {
            for (length, reason) in [(CHUNK - 1, "longer"), (3 * CHUNK, "shorter")] {
                let (client, storage) = fork(source(2), length as u64);
                let (client, storage) = tokio::join!(read(client), read(storage));
                for error in [client.unwrap_err(), storage.unwrap_err()] {
                    assert!(error.contains(reason), "{error}");
                }
            }
        };
        LocalSet::new().run_until(test).await;
    }

    #[tokio::test(start_paused = true)]
    async fn storage_receives_everything_although_the_client_stops_or_leaves() {
        let test = async {
            let (client, storage) = fork(source(40), (40 * CHUNK) as u64);
            assert_eq!(read(storage).await, Ok(40 * CHUNK));
            let error = read(client).await.unwrap_err();
            assert!(error.contains("stalled"), "{error}");
            let (client, storage) = fork(source(40), (40 * CHUNK) as u64);
            drop(client);
            assert_eq!(read(storage).await, Ok(40 * CHUNK));
        };
        LocalSet::new().run_until(test).await;
    }

    #[tokio::test]
    async fn the_client_receives_everything_although_storage_leaves() {
        let test = async {
            let (client, storage) = fork(source(40), (40 * CHUNK) as u64);
            drop(storage);
            assert_eq!(read(client).await, Ok(40 * CHUNK));
        };
        LocalSet::new().run_until(test).await;
    }
}
