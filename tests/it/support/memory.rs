//! The registry's platform in memory. It records its operations, and a test can let any of them fail,
//! before the operation takes effect or after (see [`faults`](super::faults)). By default there is one
//! location, and every write is visible at once; with [`Memory::with_rules`] it keeps the platform's own rules.

mod archives;
mod clock;
mod edge;
mod facts;
mod inspect;
mod kv;
mod objects;
mod platform;
mod tamper;
#[cfg(test)]
mod tests;
mod uploads;
mod upstream;

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use terrace_app::cache::Cache;
use terrace_app::host::StoreError;

use super::faults::{Break, Failure, Fault, Faults, Nth, Operation, Operations, When, is_write};
use clock::Time;
use edge::Edge;
use kv::Kv;
use objects::Bucket;
use platform::Journal;
use upstream::Internet;

pub use edge::ARRIVAL_MS;
pub use platform::counted;

/// The platform in memory, as an isolate at a location sees it. Clones share their state.
#[derive(Clone, Default)]
pub struct Memory {
    world: Rc<World>,
    isolate: Rc<Cache>,
    place: Place,
}

/// The state that all isolates share.
#[derive(Default)]
struct World {
    bucket: Bucket,
    kv: Kv,
    internet: Internet,
    time: Time,
    journal: Journal,
    /// The only origin, if there is only one.
    origin: RefCell<Option<String>>,
    faults: Faults,
    /// Whether the caller of the last operation was killed.
    is_killed: Cell<bool>,
    /// The number of random numbers drawn so far: each is different.
    random: Cell<u64>,
    /// The number of failed authentications that the platform's own limit still lets pass, if it has one.
    failures_let_pass: Cell<Option<usize>>,
}

/// The location of an isolate, and how many of a thousand of its operations break by accident.
#[derive(Clone, Copy, Default)]
struct Place {
    location: usize,
    accidents_per_mille: Option<u32>,
}

impl Memory {
    pub fn new() -> Self {
        let memory = Self::default();
        memory.world.time.set_ms(1_800_000_000_000);
        memory
    }

    /// Storage that keeps the platform's rules: a key takes one write a second, and where and when a
    /// write to KV becomes visible is drawn from `seed`.
    pub fn with_rules(seed: u64) -> Self {
        let memory = Self::new();
        memory.world.kv.put_behind(Edge::with_rules(seed));
        memory
    }

    /// Serves the registry at this origin only.
    pub fn serve_only(&self, origin: &str) {
        self.world.origin.replace(Some(origin.to_owned()));
    }

    /// Puts an edge in front of KV, which keeps what it has read as long as it may.
    pub fn at_an_edge(&self) {
        self.world.kv.put_behind(Edge::keeping());
    }

    /// The same storage, as another isolate sees it.
    pub fn elsewhere(&self) -> Self {
        self.at(self.place.location)
    }

    /// The same storage, as another isolate sees it, at this location.
    pub fn at(&self, location: usize) -> Self {
        Self {
            world: Rc::clone(&self.world),
            isolate: Rc::default(),
            place: Place {
                location,
                accidents_per_mille: None,
            },
        }
    }

    /// The same isolate, of whose operations so many of a thousand break at random: they fail, or kill
    /// their caller.
    pub fn frail(mut self, per_mille: u32) -> Self {
        self.place.accidents_per_mille = Some(per_mille);
        self
    }

    /// Storage of its own with the same contents, at the same time.
    pub fn copy(&self) -> Self {
        let copy = Self::default();
        copy.world.bucket.copy_from(&self.world.bucket);
        copy.world.kv.copy_from(&self.world.kv);
        copy.world.random.set(self.world.random.get());
        copy.world.time.set_ms(self.now_ms());
        copy
    }

    /// Returns the result of `future`, or `None` if its operations kill their caller.
    pub async fn until_killed<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending if self.world.is_killed.replace(false) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Lets operations fail: the `nth` of those, counted from now on.
    pub fn fail(
        &self,
        operations: impl Into<Operations>,
        nth: impl Into<Nth>,
        when: When,
        failure: Failure,
    ) -> Fault {
        let faults = &self.world.faults;
        faults.fail(operations.into(), nth.into(), (when, failure))
    }

    /// Breaks the operation `at`, counted from now on over all of them.
    pub fn break_at(&self, at: usize, how: Break) -> Fault {
        let faults = &self.world.faults;
        faults.fail(Operations::All, how.nth(at), how.failure())
    }

    /// Runs `action` before the next of those operations.
    pub fn before(
        &self,
        operations: impl Into<Operations>,
        action: impl FnOnce() + 'static,
    ) -> Fault {
        self.run(operations, 0, When::Before, action)
    }

    /// Runs `action` before or after the `nth` of those operations, counted from now on.
    pub fn run(
        &self,
        operations: impl Into<Operations>,
        nth: usize,
        when: When,
        action: impl FnOnce() + 'static,
    ) -> Fault {
        let faults = &self.world.faults;
        faults.run(operations.into(), nth, when, action)
    }

    /// Performs an operation of storage. All of them come through here: other requests may go on
    /// meanwhile, the operation is recorded, and it fails if a rule or an accident says so.
    async fn operation<T>(
        &self,
        operation: Operation,
        effect: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.pause().await;
        let faults = &self.world.faults;
        faults.interrupt(When::Before, &operation);
        self.world.journal.note(&operation);
        let failure = faults.failure(&operation);
        let result = match failure.or_else(|| self.accident(&operation)) {
            None => effect(),
            Some((When::Before, failure)) => self.fails(failure, &operation).await,
            Some((When::After, failure)) => match effect() {
                Err(error) if failure != Failure::Kill => Err(error),
                _ => self.fails(failure, &operation).await,
            },
        };
        faults.interrupt(When::After, &operation);
        result
    }

    async fn fails<T>(&self, failure: Failure, operation: &Operation) -> Result<T, StoreError> {
        match failure {
            Failure::Error => Err(StoreError::Failed {
                operation: operation.text.clone(),
                cause: "injected".to_owned(),
            }),
            Failure::Busy => Err(StoreError::Busy(operation.key.clone())),
            Failure::Kill => {
                self.world.is_killed.set(true);
                pending().await
            }
        }
    }

    /// Draws whether an operation of a frail isolate breaks, and how.
    fn accident(&self, operation: &Operation) -> Option<(When, Failure)> {
        let per_mille = self.place.accidents_per_mille?;
        let is_write = is_write(&operation.text);
        let accident = |edge: &mut Edge| edge.accident(per_mille, is_write);
        Some(self.world.kv.behind_edge(accident)??.failure())
    }
}
