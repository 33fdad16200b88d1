//! The platform's clock.

use std::time::Duration;

use terrace_core::time::UnixTime;
use worker::{Delay, js_sys};

use crate::store::Clock;

/// The time as the platform tells it; it stands still between one IO and the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct SystemClock;

/// The time in milliseconds since 1970: a number, without the JS object that `worker::Date` makes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is a positive number far below 2⁵³"
)]
pub(super) fn millis() -> u64 {
    js_sys::Date::now() as u64
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
