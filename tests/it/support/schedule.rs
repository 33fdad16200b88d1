//! Runs requests at once, in an order that a seed decides, while time passes.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::memory::Memory;

/// Who goes on next, and how long that takes.
#[derive(Debug)]
pub struct Schedule {
    rng: StdRng,
    /// The most that passes until the next operation of anybody, in milliseconds.
    pub step_ms: u64,
    /// How many of a hundred operations take long, and how long at most.
    pub stalls: (u32, u64),
}

/// Something that goes on at the same time as others.
pub type Actor<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

impl Schedule {
    pub fn new(seed: u64) -> Self {
        Self {
            rng: StdRng::seed_from_u64(seed),
            step_ms: 4,
            stalls: (1, 8_000),
        }
    }

    /// Runs all of them to their ends.
    ///
    /// # Panics
    /// If they need an hour, which nobody waits for.
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
            assert!(memory.now_ms() < give_up, "an hour has not been enough");
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
        memory.in_peace();
        results.into_iter().flatten().collect()
    }
}
