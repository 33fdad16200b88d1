//! The time, and the order in which requests proceed.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

use terrace_app::host::Clock;
use terrace_base::time::UnixTime;

use super::Memory;
use super::edge::Edge;

/// The time, which a test sets, and how concurrent requests take turns.
#[derive(Default)]
pub struct Time {
    now_ms: Cell<u64>,
    turns: Cell<Turns>,
}

/// What other requests do while an operation is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Turns {
    /// Nothing: requests run one after the other.
    #[default]
    Alone,
    /// All waiting requests proceed, in turns.
    Alternating,
    /// All waiting requests proceed, and time passes according to a
    /// [`Schedule`](crate::support::schedule::Schedule).
    Scheduled,
    /// Nothing until the next [round](super::rounds).
    InRounds,
}

impl Time {
    pub fn set_ms(&self, now_ms: u64) {
        self.now_ms.set(now_ms);
    }
}

impl Memory {
    pub fn now_ms(&self) -> u64 {
        self.world.time.now_ms.get()
    }

    pub fn advance(&self, seconds: u64) {
        self.advance_ms(1_000 * seconds);
    }

    pub fn advance_ms(&self, milliseconds: u64) {
        self.world.time.set_ms(self.now_ms() + milliseconds);
    }

    /// Sets the time, possibly to an earlier one: URLs signed at the same time are equal.
    pub fn set_time(&self, now: UnixTime) {
        self.world.time.set_ms(1_000 * now.0);
    }

    /// Lets other requests proceed at each operation, so that concurrent requests interleave.
    pub fn interleave(&self) {
        self.world.time.turns.set(Turns::Alternating);
    }

    /// Lets other requests proceed at each operation, while a schedule advances the time.
    pub fn schedule(&self) {
        self.world.time.turns.set(Turns::Scheduled);
    }

    /// Lets each operation wait for its round.
    pub(super) fn wait_for_rounds(&self) {
        self.world.time.turns.set(Turns::InRounds);
    }

    /// Runs requests one after the other again.
    pub fn stop_interleaving(&self) {
        self.world.time.turns.set(Turns::Alone);
    }

    /// Lets other requests proceed, if there are any.
    pub async fn pause(&self) {
        let mut pauses = match self.world.time.turns.get() {
            Turns::Alone => 0,
            Turns::Alternating => 1,
            // Concurrent operations may complete in any order.
            Turns::Scheduled => self.world.kv.with_edge(Edge::turns).unwrap_or(1),
            Turns::InRounds => return self.world.rounds.turn().await,
        };
        poll_fn(|context| {
            if pauses == 0 {
                return Poll::Ready(());
            }
            pauses -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

impl Clock for Memory {
    fn now(&self) -> UnixTime {
        UnixTime(self.now_ms() / 1_000)
    }

    fn millis(&self) -> u64 {
        self.now_ms()
    }

    async fn sleep(&self, seconds: u32) {
        match self.world.time.turns.get() {
            Turns::Alone | Turns::InRounds => self.advance(seconds.into()),
            Turns::Alternating => {
                // A second is long enough for all other requests to proceed.
                for _ in 0..100 * seconds {
                    self.pause().await;
                }
            }
            Turns::Scheduled => {
                let until = self.now_ms() + 1_000 * u64::from(seconds);
                while self.now_ms() < until {
                    self.pause().await;
                }
            }
        }
    }
}
