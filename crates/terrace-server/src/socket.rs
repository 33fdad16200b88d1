//! The connection of a client, which breaks if the client accepts nothing for too long, and ends only when the client had
//! time to read the response.
//!
//! hyper limits the time of a request's head, and [`of_body`](crate::stream::of_body) that of its body.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::limits::LINGER;

/// A connection with a limit of the time for which a write may make no progress.
#[derive(Debug)]
pub(crate) struct Watched<S> {
    stream: S,
    limit: Duration,
    /// The timer of the write that waits.
    stall: Option<Pin<Box<Sleep>>>,
    /// The end of the time for which the connection lingers.
    linger: Option<Pin<Box<Sleep>>>,
}

impl<S> Watched<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            stall: None,
            linger: None,
        }
    }

    /// Returns the result of a write, or an error if it has waited for too long.
    fn watch<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stall = None;
            return written;
        }
        let limit = self.limit;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stall.as_mut().poll(context));
        let message = format!(
            "the client accepted nothing for {} seconds",
            limit.as_secs()
        );
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
    }
}

impl<S: AsyncRead + Unpin> Watched<S> {
    /// Reads until the client closes the connection, and discards the bytes. A system that closes a connection with unread
    /// bytes, such as those of a body that was refused, resets it, and the client may lose the response
    /// (<https://www.rfc-editor.org/rfc/rfc9112#section-9.6>).
    fn poll_discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                Ok(()) | Err(_) => return Poll::Ready(()),
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            let ended = Pin::new(&mut self.stream).poll_shutdown(context);
            ready!(self.watch(ended, context))?;
        }
        if self.poll_discard(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let linger = self.linger.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        linger.as_mut().poll(context).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_ends_discards_what_the_client_sends_for_some_time() {
        let (near, mut far) = duplex(8);
        let mut near = Watched::new(near, Duration::from_secs(10));
        let (ended, sent) = tokio::join!(near.shutdown(), async {
            let sent = far.write_all(&[0; 100]).await;
            drop(far);
            sent
        });
        ended.and(sent).unwrap();
        let (near, _far) = duplex(8);
        let began = tokio::time::Instant::now();
        let mut near = Watched::new(near, Duration::from_secs(10));
        near.shutdown().await.unwrap();
        assert_eq!(began.elapsed().as_secs(), LINGER.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_makes_no_progress_fails_and_a_slow_one_does_not() {
        let (near, mut far) = duplex(8);
        let mut near = Watched::new(near, Duration::from_secs(10));
        let reader = async {
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                far.read_exact(&mut [0; 4]).await.unwrap();
            }
            far
        };
        let (written, _far) = tokio::join!(near.write_all(&[0; 24]), reader);
        written.unwrap();
        let error = near.write_all(&[0; 24]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
