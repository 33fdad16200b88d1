//! The registry's platform in memory: the memory of [`terrace_server`], as Cloudflare would serve it. It records its operations, and a test can make any of them fail, before
//! the operation takes effect or after (see [`faults`](super::faults)). By default there is one location, and
//! every write is visible at once; [`Memory::with_rules`] applies the platform's own limits and delays.

mod archive_cache;
mod archives;
mod clock;
mod edge;
mod facts;
mod inspect;
mod kv;
mod platform;
mod rounds;
pub mod second_bucket;
mod tamper;
#[cfg(test)]
mod tests;
mod upstream;

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use terrace_app::cache::Cache;
use terrace_app::host::StoreError;
use terrace_server::memory::Objects;

use super::faults::{Break, Failure, Fault, Faults, Nth, Operation, Operations, When, is_write};
use archive_cache::ArchiveCache;
use clock::Time;
use edge::Edge;
use kv::Kv;
use platform::Journal;
use rounds::Rounds;
use second_bucket::SecondBucket;
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
    bucket: RefCell<Objects>,
    /// Whether the next page of documents is empty and marked as truncated.
    lists_nothing: Cell<bool>,
    kv: Kv,
    internet: Internet,
    second: SecondBucket,
    time: Time,
    rounds: Rounds,
    journal: Journal,
    /// The only origin that the registry serves, if it serves only one.
    origin: RefCell<Option<String>>,
    faults: Faults,
    /// Whether the caller of the last operation was killed.
    is_killed: Cell<bool>,
    /// Whether the next bytes that the registry itself uploads are damaged in transit.
    damages: Cell<bool>,
    /// The number of random numbers drawn so far: each is different.
    random: Cell<u64>,
    /// The number of failed authentications that the platform's own limit still lets pass, if it has one.
    failures_let_pass: Cell<Option<usize>>,
    /// The platform's cache of archives, if it has one.
    archive_cache: RefCell<Option<ArchiveCache>>,
}

/// The location of an isolate, and how many per thousand of its operations break at random.
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

    /// Returns storage with the platform's rules: a key takes one write a second, and `seed` decides where
    /// and when a write to KV becomes visible.
    pub fn with_rules(seed: u64) -> Self {
        let memory = Self::new();
        memory.world.kv.set_edge(Edge::with_rules(seed));
        memory
    }

    fn bucket(&self) -> Ref<'_, Objects> {
        self.world.bucket.borrow()
    }

    fn bucket_mut(&self) -> RefMut<'_, Objects> {
        self.world.bucket.borrow_mut()
    }

    /// Serves the registry at this origin only.
    pub fn serve_only(&self, origin: &str) {
        self.world.origin.replace(Some(origin.to_owned()));
    }

    /// Puts the platform's cache in front of the archives.
    pub fn cache_archives(&self) {
        self.world
            .archive_cache
            .replace(Some(ArchiveCache::default()));
    }

    /// Damages the next bytes that the registry itself uploads.
    pub fn damage_next_upload(&self) {
        self.world.damages.set(true);
    }

    /// Puts an edge in front of KV, which caches each value for as long as the read permits.
    pub fn at_an_edge(&self) {
        self.world.kv.set_edge(Edge::default());
    }

    /// Returns the same storage, as seen by another isolate.
    pub fn elsewhere(&self) -> Self {
        self.at(self.place.location)
    }

    /// Returns the same storage, as seen by another isolate at this location.
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

    /// Makes this isolate's operations break at random, `per_mille` per thousand: they fail, or kill their
    /// caller.
    pub fn frail(mut self, per_mille: u32) -> Self {
        self.place.accidents_per_mille = Some(per_mille);
        self
    }

    /// Returns independent storage with the same contents and time.
    pub fn copy(&self) -> Self {
        let copy = Self::default();
        copy.world.bucket.replace(self.bucket().clone());
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

    /// Makes the `nth` of these operations fail, counted from now on.
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

    /// Breaks operation `at`, counted from now on over all operations.
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

    /// Performs a storage operation. All of them pass through here: other requests may proceed meanwhile, the
    /// operation is recorded, and it fails if a rule or a random failure requires it.
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
        Some(self.world.kv.with_edge(accident)??.failure())
    }
}
