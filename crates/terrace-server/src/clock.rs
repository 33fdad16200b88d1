//! The clock of the system.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use terrace_app::host::Clock;
use terrace_base::time::UnixTime;

/// The time of the system, and the timers of the runtime.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemClock;

/// Returns the time in milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "this is the clock of the host")]
pub(crate) fn millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

impl Clock for SystemClock {
    fn now(&self) -> UnixTime {
        UnixTime(millis() / 1_000)
    }

    fn millis(&self) -> u64 {
        millis()
    }

    async fn sleep(&self, seconds: u32) {
        tokio::time::sleep(Duration::from_secs(seconds.into())).await;
    }
}
