//! The platform's clock.

use std::time::Duration;

use terrace_base::time::UnixTime;
use worker::{Delay, js_sys};

use terrace_app::host::Clock;

/// The platform's time. It does not advance between one IO and the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct SystemClock;

/// Returns the time in milliseconds since 1970: a number, without the JS object that `worker::Date` creates.
pub(super) fn millis() -> u64 {
    whole(js_sys::Date::now())
}

/// Converts a JavaScript number without a fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are positive numbers far below 2⁵³"
)]
pub(super) fn whole(number: f64) -> u64 {
    number as u64
}

impl Clock for SystemClock {
    fn now(&self) -> UnixTime {
        UnixTime(millis() / 1000)
    }

    fn millis(&self) -> u64 {
        millis()
    }

    async fn sleep(&self, seconds: u32) {
        Delay::from(Duration::from_secs(seconds.into())).await;
    }
}
