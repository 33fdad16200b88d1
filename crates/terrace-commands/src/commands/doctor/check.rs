//! A check: its stable ID, its subject, and its function.

use std::time::Duration;

use super::machine::Machine;
use super::outcome::{Group, Outcome};
use super::target::Target;

/// The function of a check.
#[derive(Clone, Copy)]
pub(super) enum Run {
    /// Looks at this machine, and perhaps at its settings for the registry.
    Local(fn(&Machine, Option<&Target>) -> Outcome),
    /// Looks at the registry.
    Remote(fn(&Target) -> Outcome),
}

/// A check.
pub(super) struct Check {
    /// The ID, which never changes, and which no other check gets after the check is removed.
    pub(super) id: &'static str,
    pub(super) group: Group,
    /// The statement that is true if the check passes.
    pub(super) title: &'static str,
    pub(super) run: Run,
}

/// A check that was made.
pub(super) struct Made {
    pub(super) check: &'static Check,
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
}
