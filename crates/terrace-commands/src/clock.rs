//! The only place that reads the current time.

use std::time::{SystemTime, UNIX_EPOCH};

use terrace_base::time::UnixTime;

#[expect(
    clippy::disallowed_methods,
    reason = "a native program has a system clock"
)]
pub(crate) fn now() -> UnixTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    UnixTime(since.map(|time| time.as_secs()).unwrap_or_default())
}
