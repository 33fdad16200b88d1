//! A circuit breaker: after repeated failures of the registry, the rest of a run is not tried.

use crate::commands::report::{Done, Outcome};
use crate::error::Failure;

/// The number of consecutive versions that fail because the registry does not respond, each after all its
/// retries, before the rest is not tried.
const UNAVAILABLE_IN_A_ROW: u32 = 2;

/// The reason that a version of another registry is not stored.
pub(crate) enum TryError {
    /// A failure of the registry.
    Registry(Failure),
    /// A failure of its origin, or of this machine.
    Other(Failure),
}

impl From<Failure> for TryError {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

/// The outcomes so far that depend on the registry.
#[derive(Default)]
pub(crate) struct CircuitBreaker {
    unavailable: u32,
    not_allowed: bool,
}

impl CircuitBreaker {
    /// Returns whether the rest should not be tried.
    pub(crate) fn is_open(&self) -> bool {
        self.not_allowed || self.unavailable >= UNAVAILABLE_IN_A_ROW
    }

    /// Records the result of a version, and returns its outcome. One that the registry has erased is a failure only if it is
    /// needed.
    pub(crate) fn judge(&mut self, tried: Result<Done, TryError>, is_needed: bool) -> Outcome {
        match tried {
            Ok(done) => {
                self.unavailable = 0;
                Outcome::Done(done)
            }
            Err(TryError::Other(failure)) => Outcome::Failed(failure),
            Err(TryError::Registry(failure)) => {
                self.fail(&failure);
                match is_needed {
                    true => Outcome::Failed(failure),
                    false => Outcome::of(Err(failure)),
                }
            }
        }
    }

    /// Records an outcome that depends on the registry.
    pub(crate) fn record(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Done(_) => self.unavailable = 0,
            Outcome::Failed(failure) => self.fail(failure),
            Outcome::NotTried | Outcome::Skipped(_) => {}
        }
    }

    /// Records that a version has failed.
    fn fail(&mut self, failure: &Failure) {
        match failure {
            Failure::NotAllowed(_) => self.not_allowed = true,
            Failure::Unavailable(_) => self.unavailable += 1,
            // These do not depend on the registry.
            Failure::Refused(_) | Failure::Erased(_) | Failure::Local(_) => {}
            _ => self.unavailable = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_consecutive_failures_open_the_circuit_breaker() {
        let unavailable = Failure::Unavailable("503".to_owned());
        let mut breaker = CircuitBreaker::default();
        breaker.fail(&unavailable);
        breaker.fail(&Failure::Missing("404".to_owned()));
        breaker.fail(&unavailable);
        assert!(!breaker.is_open());
        breaker.fail(&Failure::refused("a fault of the version"));
        breaker.fail(&unavailable);
        assert!(breaker.is_open());
    }

    #[test]
    fn a_success_between_two_failures_keeps_it_closed_unless_the_token_may_not_publish() {
        let done = || Done::plain("created", json!({}));
        let unavailable = || Failure::Unavailable("503".to_owned());
        let not_allowed = Failure::NotAllowed("403".to_owned());
        for (first, is_open) in [(unavailable(), false), (not_allowed, true)] {
            for is_judged in [false, true] {
                let mut breaker = CircuitBreaker::default();
                breaker.fail(&first);
                if is_judged {
                    breaker.judge(Ok(done()), true);
                } else {
                    breaker.record(&Outcome::Done(done()));
                }
                breaker.fail(&unavailable());
                assert_eq!(breaker.is_open(), is_open, "{first:?} {is_judged}");
            }
        }
    }
}
