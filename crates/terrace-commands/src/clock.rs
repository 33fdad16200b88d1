//! The only place that reads the current time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use terrace_base::time::UnixTime;

#[expect(
    clippy::disallowed_methods,
    reason = "a native program has a system clock"
)]
pub(crate) fn now() -> UnixTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    UnixTime(since.map(|time| time.as_secs()).unwrap_or_default())
}

/// A measurement of the time that something takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "a native program has a monotonic clock"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the time since the start.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
