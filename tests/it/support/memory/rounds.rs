//! Operations in rounds: all operations of a round take place at the same time, and each takes one round. So the number of rounds
//! is the number of operations that follow each other: multiplied by the latency of storage, the duration of a request.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::Memory;

/// The operations that wait for their round, in the order in which they began.
#[derive(Default)]
pub struct Rounds {
    begun: Cell<usize>,
    /// The number of operations that have had their round.
    done: Cell<usize>,
    /// The number of rounds so far, and when the last request was answered.
    count: Cell<usize>,
    at_reply: Cell<usize>,
    waiting: RefCell<VecDeque<Waker>>,
}

impl Rounds {
    /// Waits for the round of an operation that begins now.
    pub async fn turn(&self) {
        let number = self.begun.get();
        self.begun.set(number + 1);
        poll_fn(|context| {
            if number < self.done.get() {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push_back(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Begins the next round, of at most `width` operations. Returns `false` if none waits.
    fn next(&self, width: usize) -> bool {
        let waiting = self.begun.get() - self.done.get();
        self.done.set(self.done.get() + waiting.min(width));
        self.count.set(self.count.get() + 1);
        self.waiting.take().into_iter().for_each(Waker::wake);
        waiting > 0
    }
}

impl Memory {
    /// Notes that a request is answered. Its tasks may take further rounds.
    pub fn note_reply(&self) {
        let rounds = &self.world.rounds;
        rounds.at_reply.set(rounds.count.get());
    }

    /// Returns the result of `future`, a request, and the number of rounds of at most `width` concurrent operations until it is
    /// answered.
    pub fn in_rounds<T>(&self, width: usize, future: impl Future<Output = T>) -> (T, usize) {
        self.wait_for_rounds();
        let rounds = &self.world.rounds;
        let before = rounds.count.get();
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                self.stop_interleaving();
                return (result, rounds.at_reply.get() - before);
            }
            assert!(rounds.next(width), "nothing is under way");
        }
    }
}
