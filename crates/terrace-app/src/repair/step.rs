//! One step of a walk, and its remaining budget.

use terrace_core::api::admin::ReindexAnswer;
use terrace_core::index::ExpectedIndices;
use terrace_core::index::catalog::CatalogLine;
use terrace_core::maintenance::repair::{Position, StepCost};
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::storage::key::FactKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Host, Revision};
use crate::index::expected_indices::PackageStatus;

/// Maximum number of names in one response, or one log line, about repairs.
pub(crate) const REPAIRED_NAMES: usize = 1_000;

/// How many names a repair step may list for each of its storage operations, because listing is what takes its
/// CPU: some 12 microseconds for each release (docs/performance.md).
const REPAIRED_NAMES_PER_OPERATION: u32 = 10;

/// How many operations must remain to begin an item that is not the first of a step. The first is always
/// handled, so that every step makes progress.
pub(crate) const MIN_OPERATIONS: u32 = 4;

/// The number of operations that must remain for a package's lists, which may take several pages and several
/// writes.
pub(crate) const MIN_OPERATIONS_FOR_LISTS: u32 = 20;

/// One step of a walk.
#[derive(Debug)]
pub(crate) struct RepairStep {
    /// The only package to examine, if the walk is limited to one.
    pub(crate) only: Option<Package>,
    /// Releases that the operator accepts as lost.
    pub(crate) accepted: Vec<FactKey>,
    /// The position of the walk.
    pub(crate) position: Position,
    /// Whether the indices of every version are compared, and not only those of packages with lists that
    /// differ.
    pub(crate) is_full: bool,
    /// The sections that it visits.
    pub(crate) scope: Scope,
    /// How many storage operations it may still perform.
    pub(crate) left: u32,
    /// How many names it may still list.
    pub(crate) names_left: u32,
    /// Its use of the operations that the platform's free plan limits by the day.
    pub(crate) cost: StepCost,
    /// Whether it has done nothing yet.
    pub(crate) is_fresh: bool,
    /// The package last examined in the walk over releases, with its status.
    pub(crate) package_status: Option<(Package, PackageStatus)>,
    /// The package last examined in the walk over indices, with its expected indices.
    pub(crate) package_indices: Option<PackageIndices>,
    /// The owner of the cards that were listed last, with their lines.
    pub(crate) owner_cards: Option<(Owner, Vec<CatalogLine>)>,
    pub(crate) report: ReindexAnswer,
}

impl RepairStep {
    pub(crate) fn new(only: Option<Package>, position: Position, operations: u32) -> Self {
        Self {
            only,
            accepted: Vec::new(),
            position,
            is_full: false,
            scope: Scope::Everything,
            left: operations,
            names_left: operations.saturating_mul(REPAIRED_NAMES_PER_OPERATION),
            cost: StepCost::default(),
            is_fresh: true,
            package_status: None,
            package_indices: None,
            owner_cards: None,
            report: ReindexAnswer::default(),
        }
    }

    pub(crate) fn spend(&mut self, operations: usize) {
        let operations = u32::try_from(operations).unwrap_or(u32::MAX);
        self.left = self.left.saturating_sub(operations);
    }

    /// Spends the CPU that listing this many names takes.
    pub(crate) fn spend_names(&mut self, names: usize) {
        let names = u32::try_from(names).unwrap_or(u32::MAX);
        self.names_left = self.names_left.saturating_sub(names);
    }

    /// Counts keys that are written to KV, or removed.
    pub(crate) fn count_writes(&mut self, keys: usize) {
        let keys = u32::try_from(keys).unwrap_or(u32::MAX);
        self.cost.kv_writes = self.cost.kv_writes.saturating_add(keys);
    }

    /// Counts keys that are read from KV.
    pub(crate) fn count_reads(&mut self, keys: usize) {
        let keys = u32::try_from(keys).unwrap_or(u32::MAX);
        self.cost.kv_reads = self.cost.kv_reads.saturating_add(keys);
    }

    /// Returns whether the budget allows an item that takes this many operations. The caller then handles it.
    pub(crate) fn affords(&mut self, operations: u32) -> bool {
        let affords = self.would_afford(operations);
        self.is_fresh = false;
        affords
    }

    /// Returns the same for a listing, which does not count as an item.
    pub(crate) fn would_afford(&self, operations: u32) -> bool {
        self.is_fresh || (self.left >= operations && self.names_left > 0)
    }

    pub(crate) fn reported_names(&self) -> usize {
        let report = &self.report;
        report.rewritten.len() + report.removed.len() + report.failed.len() + report.lost.len()
    }
}

/// The sections that a walk visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of them.
    Everything,
    /// All sections but that of the indices.
    Facts,
}

/// The continuation of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepFlow {
    /// It continues with the next item.
    Continue,
    /// It stops, because its operations are used up.
    Pause,
}

/// The indices of a package, as of one state of its change marker.
#[derive(Debug)]
pub(crate) struct PackageIndices {
    pub(crate) package: Package,
    pub(crate) change: Option<Revision>,
    pub(crate) indices: ExpectedIndices,
}

/// Records the result for one index or one package. A failure does not end the step.
pub(crate) fn note<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    name: String,
    repaired: Result<bool, Failure>,
) {
    step.report.looked_at += 1;
    match repaired {
        Ok(false) => {}
        Ok(true) => step.report.rewritten.push(name),
        Err(failure) => note_failed(ctx, step, name, failure),
    }
}

pub(crate) fn note_failed<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    name: String,
    failure: Failure,
) {
    ctx.host.log(&format!("repair: {name} failed:"));
    ctx.report(failure);
    step.report.failed.push(name);
}
