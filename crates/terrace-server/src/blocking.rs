//! Operations that block a thread.

use std::io;

/// Runs an operation on a thread that may block. An operation that has begun is completed even if its caller is gone.
pub(crate) async fn blocking<T: Send + 'static>(
    operation: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let joined = tokio::task::spawn_blocking(operation).await;
    joined.unwrap_or_else(|error| Err(io::Error::other(error)))
}
