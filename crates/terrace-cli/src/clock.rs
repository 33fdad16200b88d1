//! The one place that asks what time it is.

use std::time::{SystemTime, UNIX_EPOCH};

use terrace_base::time::UnixTime;

#[expect(
    clippy::disallowed_methods,
    reason = "a native program has a clock of its own"
)]
pub(crate) fn now() -> UnixTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    UnixTime(since.map(|time| time.as_secs()).unwrap_or_default())
}
