//! What answering a request takes of the platform, counted where it is taken.

use std::cell::Cell;

use terrace_core::http::request_line::{IndexState, Took, Usage};

/// Counts. A platform has one for each request, or for several that nobody tells apart.
#[derive(Debug, Default)]
pub struct UsageMeter {
    kv: Cell<Took>,
    r2: Cell<Took>,
    origin: Cell<Took>,
    index: Cell<Option<IndexState>>,
    /// How long the request had been there before it was counted, in milliseconds.
    earlier: Cell<u64>,
}

/// A part of the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Workers KV.
    Kv,
    /// R2.
    R2,
    /// Other registries, and providers of identities.
    Origin,
}

/// An operation that is going on. It has ended when this is dropped.
#[derive(Debug)]
pub struct Timed<'t> {
    took: &'t Cell<Took>,
    now: fn() -> u64,
    began: u64,
}

impl UsageMeter {
    /// Counts an operation, and takes its time by a clock in milliseconds.
    pub fn time(&self, part: Part, now: fn() -> u64) -> Timed<'_> {
        let took = self.part(part);
        let began = now();
        Timed { took, now, began }
    }

    fn part(&self, part: Part) -> &Cell<Took> {
        match part {
            Part::Kv => &self.kv,
            Part::R2 => &self.r2,
            Part::Origin => &self.origin,
        }
    }

    /// All that was taken so far.
    pub fn usage(&self) -> Usage {
        Usage {
            kv: self.kv.get(),
            r2: self.r2.get(),
            origin: self.origin.get(),
        }
    }

    /// Adds the time of an operation that somebody else has waited for before, and which counts now.
    pub fn waited_before(&self, part: Part, millis: u64) {
        let took = self.part(part);
        let Took {
            operations,
            millis: known,
        } = took.get();
        took.set(Took {
            operations,
            millis: known.saturating_add(millis),
        });
        self.earlier.set(self.earlier.get().saturating_add(millis));
    }

    /// How long that was together, once.
    pub fn take_earlier(&self) -> u64 {
        self.earlier.take()
    }

    /// Remembers what became of the index that a read wants.
    pub fn saw_index(&self, state: IndexState) {
        self.index.set(Some(state));
    }

    /// What became of it, once.
    pub fn take_index(&self) -> Option<IndexState> {
        self.index.take()
    }
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        let Took { operations, millis } = self.took.get();
        self.took.set(Took {
            operations: operations.saturating_add(1),
            millis: millis.saturating_add((self.now)().saturating_sub(self.began)),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_waited_for_before_is_time_and_no_operation() {
        let meter = UsageMeter::default();
        meter.waited_before(Part::Kv, 7);
        let Took { operations, millis } = meter.usage().kv;
        assert_eq!((operations, millis), (0, 7));
        assert_eq!([meter.take_earlier(), meter.take_earlier()], [7, 0]);
    }

    #[test]
    fn an_operation_counts_with_its_time_when_it_has_ended() {
        thread_local! {
            static NOW: Cell<u64> = const { Cell::new(5) };
        }
        let meter = UsageMeter::default();
        let timed = meter.time(Part::R2, || NOW.get());
        NOW.set(12);
        assert_eq!(meter.usage(), Usage::default());
        drop(timed);
        drop(meter.time(Part::R2, || NOW.get()));
        drop(meter.time(Part::Kv, || NOW.get()));
        let Usage { kv, r2, origin } = meter.usage();
        let counted = |took: Took| (took.operations, took.millis);
        assert_eq!([kv, r2, origin].map(counted), [(1, 0), (2, 7), (0, 0)]);
    }
}
