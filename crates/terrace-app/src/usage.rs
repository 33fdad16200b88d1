//! Per-request usage of KV, R2 and other servers, counted at each operation.

use std::cell::Cell;

use terrace_core::http::request_line::{CacheState, OperationStats, Usage};

/// Usage counters. A platform has one for each request, or one for several requests that it cannot
/// distinguish.
#[derive(Debug, Default)]
pub struct UsageMeter {
    kv: Cell<OperationStats>,
    r2: Cell<OperationStats>,
    origin: Cell<OperationStats>,
    cache: Cell<Option<CacheState>>,
}

/// A counted part of the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlatformPart {
    /// Operations on Workers KV.
    Kv,
    /// Operations on R2.
    R2,
    /// Requests to other registries and to identity providers.
    Origin,
}

/// A running operation. It is counted when this value is dropped.
#[derive(Debug)]
pub struct Timed<'t> {
    stats: &'t Cell<OperationStats>,
    now: fn() -> u64,
    began: u64,
}

impl UsageMeter {
    /// Starts to count and time an operation. `now` is a clock in milliseconds.
    pub fn time(&self, part: PlatformPart, now: fn() -> u64) -> Timed<'_> {
        let stats = self.part(part);
        let began = now();
        Timed { stats, now, began }
    }

    /// Records the origin of an archive that a request took from the platform's cache. A platform with such a cache has a
    /// meter for each request.
    pub fn note_cache(&self, state: CacheState) {
        self.cache.set(Some(state));
    }

    fn part(&self, part: PlatformPart) -> &Cell<OperationStats> {
        match part {
            PlatformPart::Kv => &self.kv,
            PlatformPart::R2 => &self.r2,
            PlatformPart::Origin => &self.origin,
        }
    }

    /// Returns the usage so far.
    pub fn usage(&self) -> Usage {
        Usage {
            kv: self.kv.get(),
            r2: self.r2.get(),
            origin: self.origin.get(),
            cache: self.cache.get(),
        }
    }
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        let OperationStats { operations, millis } = self.stats.get();
        self.stats.set(OperationStats {
            operations: operations.saturating_add(1),
            millis: millis.saturating_add((self.now)().saturating_sub(self.began)),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_counts_with_its_time_when_it_has_ended() {
        thread_local! {
            static NOW: Cell<u64> = const { Cell::new(5) };
        }
        let meter = UsageMeter::default();
        let timed = meter.time(PlatformPart::R2, || NOW.get());
        NOW.set(12);
        assert_eq!(meter.usage(), Usage::default());
        drop(timed);
        drop(meter.time(PlatformPart::R2, || NOW.get()));
        drop(meter.time(PlatformPart::Kv, || NOW.get()));
        let Usage { kv, r2, origin, .. } = meter.usage();
        let counted = |stats: OperationStats| (stats.operations, stats.millis);
        assert_eq!([kv, r2, origin].map(counted), [(1, 0), (2, 7), (0, 0)]);
    }
}
