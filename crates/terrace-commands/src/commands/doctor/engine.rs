//! Making the checks: in parallel, within limits, with the time of each.

use super::check::{Check, Made, Run};
use super::machine::Machine;
use super::outcome::{Group, Outcome, Status};
use super::plan::Plan;
use super::table::CHECKS;
use super::target::Target;
use super::transport;
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
    /// The planned registry, before the first deployment.
    pub(super) plan: Option<&'a Plan>,
}

/// Makes the checks, and those that report why one of them cannot be made. Returns them in the order of the table.
pub(super) fn make(
    checks: &[&'static Check],
    subjects: &Subjects<'_>,
    output: &Output,
) -> Vec<Made> {
    let progress = output.counter(checks.len());
    let target = subjects.target;
    let is_unreachable = target.is_ok_and(|target| target.reached().is_err());
    let is_limited = target.is_ok_and(transport::is_limited);
    let make_one = |check: &'static Check| {
        let (mut outcome, took) = timed(|| make_check(check, subjects, is_unreachable));
        let is_remote = matches!(check.run, Run::Remote(_) | Run::Last(_));
        if is_limited && is_remote && outcome.status == Status::Skip {
            outcome.reporter = outcome.reporter.or(Some("T1"));
        }
        Made {
            check,
            outcome,
            took,
        }
    };
    let make_counted = |check: &&'static Check| {
        progress.begin(check.title);
        let made = make_one(check);
        progress.advance();
        made
    };
    let is_last = |check: &&&'static Check| matches!(check.run, Run::Last(_));
    let first: Vec<&'static Check> = checks.iter().filter(|it| !is_last(it)).copied().collect();
    let last: Vec<&'static Check> = checks.iter().filter(is_last).copied().collect();
    let mut made = parallel::map(&first, CHECKS_AT_ONCE, make_counted);
    made.extend(parallel::map(&last, 1, make_counted));
    // Without them, a fault that prevents all chosen checks would look like success.
    while let Some(reporter) = absent_reporter(&made) {
        made.push(make_one(reporter));
    }
    made.sort_by_key(|made| CHECKS.iter().position(|check| check.id == made.check.id));
    made
}

/// Returns a check that was not made, and that reports why one of these was skipped.
fn absent_reporter(made: &[Made]) -> Option<&'static Check> {
    let mut reporters = made.iter().filter_map(|it| it.outcome.reporter);
    let is_absent = |id: &&str| made.iter().all(|it| it.check.id != *id);
    let id = reporters.find(is_absent)?;
    CHECKS.iter().find(|check| check.id == id)
}

fn make_check(check: &Check, subjects: &Subjects<'_>, is_unreachable: bool) -> Outcome {
    match (check.run, subjects.target) {
        (Run::Before(run), _) => match subjects.plan {
            Some(plan) => run(plan),
            None => Outcome::skip("only with --pre"),
        },
        (Run::Local(run), target) => run(subjects.machine, target.ok()),
        (Run::Remote(_) | Run::Last(_), Err(reason)) => Outcome::skip(reason),
        (Run::Remote(_) | Run::Last(_), Ok(_)) if is_unreachable && !explains(check) => {
            Outcome::skip_for("T1", "the registry cannot be reached")
        }
        (Run::Remote(run) | Run::Last(run), Ok(target)) => run(target),
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
