//! A circuit breaker: after repeated failures of the registry, the rest of a run is not tried.

use super::report::Outcome;
use crate::error::Failure;

/// The number of consecutive versions that fail because the registry does not respond, each after all its
/// retries, before the rest is not tried.
const UNAVAILABLE_IN_A_ROW: u32 = 2;

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

    /// Records that the registry has accepted a version.
    pub(crate) fn succeed(&mut self) {
        self.unavailable = 0;
    }

    /// Records the outcome of one version.
    pub(crate) fn record(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Failed(Failure::NotAllowed(_)) => self.not_allowed = true,
            Outcome::Failed(Failure::Unavailable(_)) => self.unavailable += 1,
            // These do not depend on the registry.
            Outcome::Failed(Failure::Refused(_)) | Outcome::NotTried | Outcome::Skipped(_) => {}
            Outcome::Done(_) | Outcome::Failed(_) => self.succeed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::mirror::report::Done;

    #[test]
    fn only_consecutive_failures_open_the_circuit_breaker() {
        let unavailable = || Outcome::Failed(Failure::Unavailable("503".to_owned()));
        let mut breaker = CircuitBreaker::default();
        breaker.record(&unavailable());
        breaker.record(&Outcome::Done(Done {
            status: "created",
            text: String::new(),
            lines: Vec::new(),
            details: json!({}),
        }));
        breaker.record(&unavailable());
        assert!(!breaker.is_open());
        breaker.record(&unavailable());
        assert!(breaker.is_open());
    }
}
