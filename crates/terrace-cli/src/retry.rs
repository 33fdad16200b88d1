//! Trying again: exponential backoff with jitter, and never what cannot help.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::thread;
use std::time::Duration;

/// How often something is tried in all.
const TRIES: u32 = 6;

/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause, whatever a server asks for.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How one try ended.
pub(crate) enum Tried<T, E> {
    /// It is decided.
    Done(Result<T, E>),
    /// It may work later, after this pause if the server named one.
    Again(E, Option<Duration>),
}

/// Tries until it is decided, and `TRIES` times at most.
pub(crate) fn retry<T, E>(mut attempt: impl FnMut() -> Tried<T, E>) -> Result<T, E> {
    let mut pause = FIRST_PAUSE;
    let mut tries = 1;
    loop {
        match attempt() {
            Tried::Done(result) => return result,
            Tried::Again(error, _) if tries == TRIES => return Err(error),
            Tried::Again(_, asked) => {
                let pause_now = asked.unwrap_or_else(|| pause.mul_f64(jitter()));
                thread::sleep(pause_now.min(LONGEST_PAUSE));
                pause *= 2;
                tries += 1;
            }
        }
    }
}

/// From 0.5 to 1.5, so that many publishers do not come back together.
fn jitter() -> f64 {
    let random = RandomState::new().hash_one(0u8);
    0.5 + f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

/// Whether a status is worth another try.
pub(crate) fn is_passing(status: u16) -> bool {
    status == 429 || (500..600).contains(&status) && status != 501
}
