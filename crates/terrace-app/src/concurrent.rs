//! Runs actions concurrently, a limited number at a time.

use std::pin::Pin;

use futures_util::future::join_all;

use crate::failure::Failure;

/// An action to run concurrently with others. All actions have one type: generic code for each would be
/// large.
pub(crate) type Boxed<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

/// How many actions run at once. Each may hold a manifest, and a Worker has six connections
/// (<https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections>).
pub(crate) const CONCURRENT_ACTIONS: usize = 4;

/// Runs the actions in batches of [`CONCURRENT_ACTIONS`], and stops after the first batch with a failure.
pub(crate) async fn all(actions: Vec<Boxed<'_>>) -> Result<(), Failure> {
    let mut actions = actions.into_iter();
    loop {
        let some: Vec<Boxed<'_>> = actions.by_ref().take(CONCURRENT_ACTIONS).collect();
        if some.is_empty() {
            return Ok(());
        }
        let done = join_all(some).await.into_iter();
        done.collect::<Result<(), Failure>>()?;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn at_most_four_actions_run_at_once() {
        let started = Cell::new(0);
        let start = |_| -> Boxed<'_> {
            Box::pin(async {
                started.set(started.get() + 1);
                pending().await
            })
        };
        let mut done = pin!(all((0..17).map(start).collect()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(done.as_mut().poll(&mut context), Poll::Pending));
        assert_eq!(started.get(), CONCURRENT_ACTIONS);
    }

    #[test]
    fn actions_run_until_one_fails() {
        let count = Cell::new(0);
        let act = |number: usize| -> Boxed<'_> {
            let count = &count;
            Box::pin(async move {
                count.set(count.get() + 1);
                match number {
                    9 => Err(Failure::Corrupt("the tenth".to_owned())),
                    _ => Ok(()),
                }
            })
        };
        let run = |limit: usize| {
            let done = all((0..limit).map(act).collect());
            done.now_or_never().unwrap()
        };
        assert!(run(9).is_ok());
        assert_eq!(count.take(), 9);
        assert!(run(17).is_err());
        assert_eq!(count.get(), 12);
    }
}
