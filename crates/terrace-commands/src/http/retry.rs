//! Pauses before retries: longer each time, with jitter.

use std::time::Duration;

/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause without a request from the server.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The longest pause before a retry, whatever the server requests.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// The number of retries so far, and the limit.
#[derive(Debug)]
pub(crate) struct Retries {
    done: u32,
    allowed: u32,
}

impl Retries {
    pub(crate) fn new(allowed: u32) -> Self {
        Self { done: 0, allowed }
    }

    /// Returns the pause before the next retry, or `None` if the limit is reached. `asked` is the pause that
    /// the server requests: one that all retries together would not reach is not waited for.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        let reached = LONGEST_ASKED.saturating_mul(self.allowed);
        if self.done >= self.allowed || asked.is_some_and(|asked| asked > reached) {
            return None;
        }
        let own = FIRST_PAUSE.saturating_mul(1 << self.done.min(16));
        self.done += 1;
        let pause = match asked {
            Some(asked) => asked.min(LONGEST_ASKED),
            None => own.min(LONGEST_PAUSE).mul_f64(jitter()),
        };
        Some(pause)
    }
}

/// Returns a factor from 0.5 to 1.0.
fn jitter() -> f64 {
    let random = getrandom::u32().unwrap_or_default();
    0.5 + f64::from(random) / f64::from(u32::MAX) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_within_their_jitter_and_end() {
        let mut retries = Retries::new(9);
        for expected in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0] {
            let pause = retries.next(None).unwrap().as_secs_f64();
            let fits = (expected / 2.0..=expected).contains(&pause);
            assert!(fits, "{pause} instead of {expected}");
        }
        assert_eq!(retries.next(None), None);
    }

    #[test]
    fn a_server_may_ask_for_a_pause_that_the_retries_reach() {
        let mut retries = Retries::new(3);
        let seconds = Duration::from_secs;
        assert_eq!(retries.next(Some(seconds(181))), None);
        assert_eq!(retries.next(Some(seconds(180))), Some(seconds(60)));
        assert_eq!(retries.next(Some(seconds(180))), Some(seconds(60)));
        assert_eq!(retries.next(Some(seconds(7))), Some(seconds(7)));
        assert_eq!(retries.next(Some(seconds(7))), None);
    }
}
