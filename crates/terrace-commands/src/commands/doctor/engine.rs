//! Making the checks: in parallel, within limits, with the time of each.

use super::check::{Check, Made, Run};
use super::machine::Machine;
use super::outcome::{Group, Outcome, Status};
use super::target::Target;
use crate::http::timed;
use crate::output::Output;
use crate::parallel;

/// The number of checks at the same time: most of them wait for the network, and more would look like an attack.
const CHECKS_AT_ONCE: usize = 6;

/// The subjects of the checks.
pub(super) struct Subjects<'a> {
    pub(super) machine: &'a Machine,
    /// The registry, or why it is not examined.
    pub(super) target: Result<&'a Target, &'static str>,
}

impl Subjects<'_> {
    /// Returns whether there is a registry, and it cannot be reached.
    pub(super) fn is_unreachable(&self) -> bool {
        self.target.is_ok_and(|target| target.reached().is_err())
    }
}

/// Makes the checks. Returns them in the same order.
pub(super) fn make(
    checks: &[&'static Check],
    subjects: &Subjects<'_>,
    output: &Output,
) -> Vec<Made> {
    let progress = output.counter(checks.len());
    let is_unreachable = subjects.is_unreachable();
    parallel::map(checks, CHECKS_AT_ONCE, |check| {
        progress.begin(check.title);
        let (outcome, took) = timed(|| make_check(check, subjects, is_unreachable));
        progress.advance();
        Made {
            check,
            outcome,
            took,
        }
    })
}

fn make_check(check: &Check, subjects: &Subjects<'_>, is_unreachable: bool) -> Outcome {
    match (check.run, subjects.target) {
        (Run::Local(run), target) => run(subjects.machine, target.ok()),
        (Run::Remote(_), Err(reason)) => Outcome::skip(reason),
        (Run::Remote(_), Ok(_)) if is_unreachable && !explains(check) => {
            Outcome::skip("the registry cannot be reached")
        }
        (Run::Remote(run), Ok(target)) => run(target),
    }
}

/// Returns whether a check explains why a registry cannot be reached.
fn explains(check: &Check) -> bool {
    check.group == Group::Transport
}

/// The numbers of outcomes of each kind.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) skipped: usize,
    pub(super) warned: usize,
    pub(super) failed: usize,
}

impl Counts {
    pub(super) fn of(made: &[Made]) -> Self {
        let count = |status| made.iter().filter(|it| it.outcome.status == status).count();
        Self {
            passed: count(Status::Pass),
            skipped: count(Status::Skip),
            warned: count(Status::Warn),
            failed: count(Status::Fail),
        }
    }
}
