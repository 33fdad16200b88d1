//! Panics, which end one request and not the process, in a build that unwinds.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Completes a future, or returns `None` if it panics: the panic hook has printed the reason.
///
/// The state that requests share stays usable: a value that a panicking request was changing is replaced as a whole or not at
/// all, and the conditions of writes protect the stores.
pub(crate) async fn unless_panicked<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Some(value)),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}
