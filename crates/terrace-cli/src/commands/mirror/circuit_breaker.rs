//! Whether it is of use to go on after failures.

use super::report::Outcome;
use crate::error::Failure;

/// After how many versions in a row that the registry does not answer for the rest is not tried:
/// each of them was tried again and again before.
const UNAVAILABLE_IN_A_ROW: u32 = 2;

/// What became of the versions so far, as far as it tells something about the registry.
#[derive(Default)]
pub(crate) struct Endurance {
    unavailable: u32,
    not_allowed: bool,
}

impl Endurance {
    pub(crate) fn is_over(&self) -> bool {
        self.not_allowed || self.unavailable >= UNAVAILABLE_IN_A_ROW
    }

    /// Takes what came of asking the registry.
    pub(crate) fn note(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Failed(Failure::NotAllowed(_)) => self.not_allowed = true,
            Outcome::Failed(Failure::Unavailable(_)) => self.unavailable += 1,
            // It says nothing about the registry.
            Outcome::Failed(Failure::Refused(_)) | Outcome::NotTried | Outcome::Skipped(_) => {}
            Outcome::Done(_) | Outcome::Failed(_) => self.unavailable = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::mirror::report::Done;

    #[test]
    fn only_failures_in_a_row_end_it() {
        let unavailable = || Outcome::Failed(Failure::Unavailable("503".to_owned()));
        let mut endurance = Endurance::default();
        endurance.note(&unavailable());
        endurance.note(&Outcome::Done(Done {
            status: "created",
            text: String::new(),
            lines: Vec::new(),
            details: json!({}),
        }));
        endurance.note(&unavailable());
        assert!(!endurance.is_over());
        endurance.note(&unavailable());
        assert!(endurance.is_over());
    }
}
