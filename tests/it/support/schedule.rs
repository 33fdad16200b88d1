//! A scheduler of concurrent requests: a seed decides their order, and time passes.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::memory::Memory;

/// Decides which request proceeds next, and how long that takes.
#[derive(Debug)]
pub struct Schedule {
    rng: StdRng,
    /// The longest time between two operations, in milliseconds.
    pub step_ms: u64,
    /// The percentage of operations that stall, and the longest stall, in milliseconds.
    pub stalls: (u32, u64),
}

/// A task that runs concurrently with others.
pub type Actor<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

impl Schedule {
    pub fn new(seed: u64) -> Self {
        Self {
            rng: StdRng::seed_from_u64(seed),
            step_ms: 4,
            stalls: (1, 8_000),
        }
    }

    /// Runs all tasks to completion.
    ///
    /// # Panics
    /// If they need more than an hour.
    pub fn run<T>(&mut self, memory: &Memory, actors: Vec<Actor<'_, T>>) -> Vec<T> {
        memory.schedule();
        let give_up = memory.now_ms() + 3_600_000;
        let mut context = Context::from_waker(Waker::noop());
        let mut results: Vec<Option<T>> = actors.iter().map(|_| None).collect();
        let mut running: Vec<_> = actors
            .into_iter()
            .map(|actor| (0, actor))
            .enumerate()
            .collect();
        while !running.is_empty() {
            assert!(
                memory.now_ms() < give_up,
                "the tasks need more than an hour"
            );
            memory.advance_ms(self.rng.gen_range(0..=self.step_ms));
            let chosen = self.rng.gen_range(0..running.len());
            let (number, (stalled_until, actor)) = &mut running[chosen];
            if memory.now_ms() < *stalled_until {
                continue;
            }
            if let Poll::Ready(result) = actor.as_mut().poll(&mut context) {
                results[*number] = Some(result);
                drop(running.swap_remove(chosen));
                continue;
            }
            let (percent, most_ms) = self.stalls;
            if self.rng.gen_ratio(percent, 100) {
                *stalled_until = memory.now_ms() + self.rng.gen_range(0..=most_ms);
            }
        }
        memory.stop_interleaving();
        results.into_iter().flatten().collect()
    }
}
