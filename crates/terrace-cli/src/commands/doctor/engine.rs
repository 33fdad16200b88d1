//! Making the checks: in parallel, within limits, with the time of each.

use super::check::{Check, Made, Run};
use super::machine::Machine;
use super::outcome::{Group, Outcome, Status};
use super::plan::Plan;
use super::target::Target;
use crate::http::timed;
use crate::output::Output;
use crate::parallel;

/// The number of checks at the same time: most of them wait for the network, and more would look like an attack.
const CHECKS_AT_ONCE: usize = 6;

/// The subjects of the checks.
pub(super) struct Subjects<'a> {
    pub(super) machine: &'a Machine,
    /// The registry, if one is named.
    pub(super) target: Option<&'a Target>,
    /// The planned registry, before the first deployment.
    pub(super) plan: Option<&'a Plan>,
}

/// Makes the checks. Returns them in their order.
pub(super) fn make(
    checks: &[&'static Check],
    subjects: &Subjects<'_>,
    output: &Output,
) -> Vec<Made> {
    let progress = output.counter(checks.len());
    let target = subjects.target;
    let is_unreachable = target.is_some_and(|target| target.reached().is_err());
    let make_one = |check: &&'static Check| {
        progress.begin(check.title);
        let (outcome, took) = timed(|| make_check(check, subjects, is_unreachable));
        progress.advance();
        Made {
            check,
            outcome,
            took,
        }
    };
    let is_last = |check: &&&'static Check| matches!(check.run, Run::Last(_));
    let first: Vec<&'static Check> = checks.iter().filter(|it| !is_last(it)).copied().collect();
    let last: Vec<&'static Check> = checks.iter().filter(is_last).copied().collect();
    let mut made = parallel::map(&first, CHECKS_AT_ONCE, make_one);
    made.extend(parallel::map(&last, 1, make_one));
    made.sort_by_key(|made| checks.iter().position(|check| check.id == made.check.id));
    made
}

fn make_check(check: &Check, subjects: &Subjects<'_>, is_unreachable: bool) -> Outcome {
    match (check.run, subjects.target) {
        (Run::Before(run), _) => match subjects.plan {
            Some(plan) => run(plan),
            None => Outcome::skip("only with --pre"),
        },
        (Run::Local(run), target) => run(subjects.machine, target),
        (Run::Remote(_) | Run::Last(_), None) => Outcome::skip("no registry is named"),
        (Run::Remote(_) | Run::Last(_), Some(_)) if is_unreachable && !explains(check) => {
            Outcome::skip("the registry cannot be reached")
        }
        (Run::Remote(run) | Run::Last(run), Some(target)) => run(target),
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
