//! The platform's clock.

use std::time::Duration;

use terrace_core::time::UnixTime;
use worker::{Delay, js_sys};

use crate::store::Clock;

/// The time as the platform tells it; it stands still between one IO and the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixTime {
        // A number, without the JS object that `worker::Date` makes.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the time since 1970 in seconds is a small positive number"
        )]
        UnixTime((js_sys::Date::now() / 1000.0) as u64)
    }

    async fn sleep(&self, seconds: u32) {
        Delay::from(Duration::from_secs(seconds.into())).await;
    }
}
