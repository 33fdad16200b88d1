//! One step of a walk, and its remaining budget.

use std::rc::Rc;

use terrace_core::api::admin::ReindexAnswer;
use terrace_core::index::ExpectedIndices;
use terrace_core::index::card::ListedCard;
use terrace_core::maintenance::repair::{Position, StepCost};
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::storage::key::{BytesKey, FactKey};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Facts as _, Host, ListedFact, Revision};
use crate::index::expected_indices::PackageStatus;
use crate::removal::garbage;
use crate::removal::garbage::GcFence;

/// Maximum number of names in one response, or one log line, about repairs.
pub(crate) const REPAIRED_NAMES: usize = 1_000;

/// How many names a repair step may list for each of its storage operations, because listing is what takes its
/// CPU: some 12 microseconds for each release (docs/measurements.md).
const REPAIRED_NAMES_PER_OPERATION: u32 = 10;

/// How many operations must remain to begin an item that is not the first of a step. The first is always
/// handled, so that every step makes progress.
pub(super) const MIN_OPERATIONS: u32 = 4;

/// The number of operations that must remain for a package's lists, which may take several pages and several
/// writes.
pub(super) const MIN_OPERATIONS_FOR_LISTS: u32 = 20;

/// One step of a walk.
pub(crate) struct RepairStep<'s, 'c, P: Host> {
    pub(super) ctx: &'s Context<'c, P>,
    /// The only package to examine, if the walk is limited to one.
    pub(super) only: Option<Package>,
    /// Releases that the operator accepts as lost.
    pub(super) accepted: Vec<FactKey>,
    /// The position of the walk.
    pub(crate) position: Position,
    /// Whether the indices of every version are compared, and not only those of packages with lists that
    /// differ.
    pub(super) is_full: bool,
    /// Whether it ends before the section of the indices.
    pub(super) only_facts: bool,
    /// How many storage operations it may perform, and how many the request had performed before.
    operations: (u32, u32),
    /// How many names it may still list.
    pub(super) names_left: u32,
    /// Its use of the operations that the platform's free plan limits by the day.
    pub(super) cost: StepCost,
    /// Whether it has done nothing yet.
    pub(super) is_fresh: bool,
    /// The garbage marks, among them the tombstones, if an item needed them.
    marks: Option<Rc<GcFence>>,
    /// The package last examined in the walk over releases, with its status.
    pub(super) package_status: Option<(Package, PackageStatus)>,
    /// The package last examined in the walk over indices, with its expected indices.
    pub(super) package_indices: Option<PackageIndices>,
    /// The owner of the cards that were listed last, with these.
    pub(super) owner_cards: Option<(Owner, Vec<ListedCard>)>,
    /// The package of the documentation that was examined last, with its published versions.
    pub(super) published: Option<Published>,
    pub(crate) report: ReindexAnswer,
}

/// The indices of a package, as of one state of its change marker.
pub(super) struct PackageIndices {
    pub(super) package: Package,
    pub(super) change: Option<Revision>,
    pub(super) indices: ExpectedIndices,
}

/// The versions of a package that are published: one listing serves all its documents.
pub(super) struct Published {
    pub(super) package: Package,
    pub(super) releases: Vec<ListedFact>,
}

/// The continuation of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepFlow {
    /// It continues with the next item.
    Continue,
    /// It stops, because its operations are used up.
    Pause,
}

impl<'s, 'c, P: Host> RepairStep<'s, 'c, P> {
    /// Creates a step that begins at `position`, and may perform this many operations.
    pub(crate) fn new(ctx: &'s Context<'c, P>, position: Position, operations: u32) -> Self {
        Self {
            ctx,
            only: None,
            accepted: Vec::new(),
            position,
            is_full: false,
            only_facts: false,
            operations: (operations, ctx.operations()),
            names_left: operations.saturating_mul(REPAIRED_NAMES_PER_OPERATION),
            cost: StepCost::default(),
            is_fresh: true,
            marks: None,
            package_status: None,
            package_indices: None,
            owner_cards: None,
            published: None,
            report: ReindexAnswer::default(),
        }
    }

    /// Returns how many storage operations it may still perform.
    pub(super) fn left(&self) -> u32 {
        let (most, before) = self.operations;
        most.saturating_sub(self.ctx.operations().saturating_sub(before))
    }

    /// Spends the CPU that listing this many names takes.
    pub(super) fn spend_names(&mut self, names: usize) {
        let names = u32::try_from(names).unwrap_or(u32::MAX);
        self.names_left = self.names_left.saturating_sub(names);
    }

    /// Counts keys that are written to KV, or removed.
    pub(super) fn count_writes(&mut self, keys: usize) {
        let keys = u32::try_from(keys).unwrap_or(u32::MAX);
        self.cost.kv_writes = self.cost.kv_writes.saturating_add(keys);
    }

    /// Counts keys that are read from KV.
    pub(super) fn count_reads(&mut self, keys: usize) {
        let keys = u32::try_from(keys).unwrap_or(u32::MAX);
        self.cost.kv_reads = self.cost.kv_reads.saturating_add(keys);
    }

    /// Returns whether the budget allows an item that takes this many operations. The caller then handles it.
    pub(super) fn affords(&mut self, operations: u32) -> bool {
        let report = &self.report;
        let lists = [
            &report.rewritten,
            &report.removed,
            &report.failed,
            &report.lost,
        ];
        let names: usize = lists.into_iter().map(Vec::len).sum();
        let affords = names < REPAIRED_NAMES && self.would_afford(operations);
        self.is_fresh = false;
        affords
    }

    /// Returns the same for a listing, which does not count as an item.
    pub(super) fn would_afford(&self, operations: u32) -> bool {
        self.is_fresh || (self.left() >= operations && self.names_left > 0)
    }

    /// Lists at most `limit` facts with keys that begin with `prefix`, after the one named `after`. Returns whether they are the
    /// last ones.
    pub(super) async fn list(
        &self,
        prefix: &str,
        after: &str,
        limit: u32,
    ) -> Result<(Vec<ListedFact>, bool), Failure> {
        let after = Some(after).filter(|after| !after.is_empty());
        let page = self.ctx.host.facts().list(prefix, after, limit).await?;
        Ok((page.facts, !page.is_truncated))
    }

    /// Returns the garbage marks, as of their first use in this step.
    pub(super) async fn marks(&mut self) -> Result<Rc<GcFence>, Failure> {
        let marks = match self.marks.take() {
            Some(marks) => marks,
            None => Rc::new(garbage::fence(self.ctx).await?),
        };
        Ok(Rc::clone(self.marks.insert(marks)))
    }

    /// Returns whether bytes were erased. Only those with a mark cost an operation.
    pub(super) async fn is_erased(&mut self, bytes: BytesKey) -> Result<bool, Failure> {
        match self.marks().await?.has_mark(bytes) {
            true => garbage::is_erased(self.ctx, bytes).await,
            false => Ok(false),
        }
    }

    /// Logs that a stored object is left alone.
    pub(super) fn skip(&self, key: &str) {
        let line = format!("repair: {key} is not the key of a fact: skipped");
        self.ctx.host.log(&line);
    }

    /// Records whether one index or one package was rewritten. A failure does not end the step.
    pub(super) fn note(&mut self, name: String, rewritten: Result<bool, Failure>) {
        self.report.looked_at += 1;
        match rewritten {
            Ok(false) => {}
            Ok(true) => self.report.rewritten.push(name),
            Err(failure) => self.note_failed(name, failure),
        }
    }

    /// Records whether something was removed.
    pub(super) fn note_removed(&mut self, name: String, removed: Result<bool, Failure>) {
        self.report.looked_at += 1;
        match removed {
            Ok(false) => {}
            Ok(true) => self.report.removed.push(name),
            Err(failure) => self.note_failed(name, failure),
        }
    }

    pub(super) fn note_failed(&mut self, name: String, failure: Failure) {
        self.ctx.host.log(&format!("repair: {name} failed:"));
        self.ctx.report(failure);
        self.report.failed.push(name);
    }
}
