//! The periodic repair: two walks, over the facts and over the keys of the indices. Each continues where its last
//! step ended, and at a pace that leaves most of the platform's free plan to the registry itself.

use terrace_base::time::UnixTime;
use terrace_core::api::admin::ReindexAnswer;
use terrace_core::limits;
use terrace_core::maintenance::repair::{CursorDocument, PeriodicWalk, Position, Section};
use terrace_core::storage::failover::ServingBucket;
use terrace_core::storage::key::FactKey;

use crate::context::Context;
use crate::copies::walk::Occasion;
use crate::copies::{failover_changes, walk as copy_walk};
use crate::documents::{failures, format};
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, LogLevel};
use crate::index::catalog::merged;
use crate::repair::step::{RepairStep, Scope};
use crate::repair::{index_walk, package_walk, walk};
use crate::webhooks::Deliveries;
use crate::{documents, json, webhooks};

/// Time between two walks of the periodic repair over the facts, in seconds.
const REPAIR_PAUSE_SECONDS: u64 = 3_600;

/// Time between two walks of the periodic repair over the keys of the indices, in seconds.
const REPAIR_KEYS_PAUSE_SECONDS: u64 = 86_400;

/// How many steps visit a single item each after a step that was interrupted.
const REPAIR_CAREFUL_STEPS: u32 = 30;

/// The number of minutes of which one belongs to the copy in the second bucket.
const COPY_TURN_MINUTES: u64 = 5;

/// The log line of a step that does nothing, because another one is running.
const OTHER_STEP: &str = "repair: another step is running; this one is skipped";

/// The minute of [`COPY_TURN_MINUTES`] that belongs to the copy; that of the repair is the last one.
const COPY_TURN: u64 = 1;

/// Whether there was a step of the repair to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// A step was taken, or failed.
    Used,
    /// No step was due, or another one is running.
    Free,
}

/// Delivers waiting events to webhooks, or takes one step of the periodic repair, which continues where the last one ended: the
/// platform limits the CPU time and the operations of both together. In most minutes deliveries come first. In every fifth one
/// the repair does, so that a receiver that fails, or more changes than can be delivered, do not stop it.
///
/// With a second bucket, its last change is completed first, and in every fifth minute a page of the two is compared; also in minutes
/// that nothing else needs, while something is left to copy.
pub async fn run_repair_step<P: Host>(ctx: &Context<'_, P>) {
    let minute = ctx.host.clock().now().0 / 60;
    if ctx.config.fallback.is_some() {
        // Nothing is changed meanwhile, and R2 may not answer.
        if failover_changes::watch(ctx).await == ServingBucket::Fallback {
            return;
        }
        if minute % COPY_TURN_MINUTES == COPY_TURN {
            return copy(ctx, Occasion::Turn).await;
        }
    }
    let turns = limits::REPAIR_TURN_MINUTES;
    let is_turn_of_repair = minute % turns == turns - 1;
    if is_turn_of_repair && repair(ctx).await == Turn::Used {
        return;
    }
    match webhooks::deliver(ctx).await {
        Ok(Deliveries::Some) => return,
        Ok(Deliveries::None) => {}
        Err(failure) => drop(ctx.report(failure)),
    }
    if !is_turn_of_repair && repair(ctx).await == Turn::Used {
        return;
    }
    copy(ctx, Occasion::Leisure).await;
}

/// Takes a step of the copy to the second bucket, if there is one, and reports a failure.
async fn copy<P: Host>(ctx: &Context<'_, P>, occasion: Occasion) {
    if ctx.config.fallback.is_none() {
        return;
    }
    let taken = match format::ensure_may_write(ctx).await {
        Ok(()) => copy_walk::take_step(ctx, occasion).await,
        Err(failure) => Err(failure),
    };
    if let Err(failure) = taken {
        failures::log(ctx, "copy", failure);
    }
}

/// Takes a step of the repair, if one is due, and reports a failure.
async fn repair<P: Host>(ctx: &Context<'_, P>) -> Turn {
    if ctx.config.repair_operations == 0 {
        return Turn::Free;
    }
    let turn = match try_repair_step(ctx).await {
        Ok(turn) => turn,
        Err(failure) => {
            ctx.report(failure);
            return Turn::Used;
        }
    };
    // Changes of the last minute before a rebuild waited for the next one.
    if let Err(failure) = merged::if_due(ctx).await {
        ctx.report(failure);
    }
    turn
}

async fn try_repair_step<P: Host>(ctx: &Context<'_, P>) -> Result<Turn, Failure> {
    format::ensure_may_write(ctx).await?;
    let now = ctx.host.clock().now();
    let Some((cursor, etag)) = take_cursor(ctx, now).await? else {
        return Ok(Turn::Free);
    };
    let (mut cursor, position) = begin(ctx, cursor).await?;
    let operations = match cursor.careful {
        0 => ctx.config.repair_operations,
        _ => 0,
    };
    let mut step = RepairStep::new(None, position, operations);
    step.scope = Scope::Facts;
    let walked = walk::walk(ctx, &mut step).await;
    if walked.is_err() {
        // Storage failed; the next step tries again.
        step.report.next = Some(step.position.to_string());
    }
    cursor.careful = cursor.careful.saturating_sub(1);
    end(ctx, &mut cursor, &step, now);
    put_cursor(ctx, &cursor, Condition::Unchanged(etag)).await?;
    walked.map(|()| Turn::Used)
}

/// Returns the position at which the step begins. A step that was interrupted may have taken too long, so the
/// next ones visit one item each; an item that interrupts such a step is skipped.
async fn begin<P: Host>(
    ctx: &Context<'_, P>,
    mut cursor: CursorDocument,
) -> Result<(CursorDocument, Position), Failure> {
    let position = match cursor.turn() {
        PeriodicWalk::Facts => position(ctx, &cursor.next, Section::Releases),
        PeriodicWalk::Keys => position(ctx, &cursor.keys.next, Section::Indices),
    };
    if cursor.begun.take().is_none() {
        return Ok((cursor, position));
    }
    let was_careful = cursor.careful > 0;
    cursor.careful = REPAIR_CAREFUL_STEPS;
    let steps = REPAIR_CAREFUL_STEPS;
    if !was_careful {
        ctx.host.log(&format!(
            "repair: the last step was interrupted at {position}; the next {steps} visit one package each"
        ));
        return Ok((cursor, position));
    }
    ctx.host.log(&format!(
        "repair: the last step was interrupted at {position}; the next item is skipped"
    ));
    Ok((cursor, skip_item(ctx, position).await?))
}

/// Records the end of a step, and the time of the next one.
fn end<P: Host>(
    ctx: &Context<'_, P>,
    cursor: &mut CursorDocument,
    step: &RepairStep,
    now: UnixTime,
) {
    ctx.host.log_at(LogLevel::Info, &summary(&step.report));
    let walk = cursor.turn();
    let (next, due, pause) = match walk {
        PeriodicWalk::Facts => {
            let pause = REPAIR_PAUSE_SECONDS;
            (&mut cursor.next, &mut cursor.due, pause)
        }
        PeriodicWalk::Keys => {
            let pause = REPAIR_KEYS_PAUSE_SECONDS;
            (&mut cursor.keys.next, &mut cursor.keys.due, pause)
        }
    };
    let mut at = step.cost.next_due(*due, now, ctx.config.repair_operations);
    if step.report.next.is_none() {
        at = at.max(UnixTime(now.0 + pause));
    }
    *due = Some(at);
    *next = step.report.next.clone().unwrap_or_default();
}

/// Takes the turn, and returns the document from before; `None` if another step is running, or none is due.
async fn take_cursor<P: Host>(
    ctx: &Context<'_, P>,
    now: UnixTime,
) -> Result<Option<(CursorDocument, String)>, Failure> {
    let key = FactKey::RepairCursor;
    let facts = ctx.host.facts();
    let (before, condition) = match facts.get(&key).await? {
        Some(fact) => {
            let read = serde_json::from_slice(&fact.bytes);
            // An unreadable cursor starts from the beginning.
            let document: CursorDocument = read.unwrap_or_default();
            (document, Condition::Unchanged(fact.etag))
        }
        None => (CursorDocument::default(), Condition::Absent),
    };
    if before.is_taken(now) {
        ctx.host.log_at(LogLevel::Info, OTHER_STEP);
        return Ok(None);
    }
    if !before.is_due(now) {
        return Ok(None);
    }
    let taken = CursorDocument {
        begun: Some(now),
        ..before.clone()
    };
    if !put_cursor(ctx, &taken, condition).await? {
        ctx.host.log_at(LogLevel::Info, OTHER_STEP);
        return Ok(None);
    }
    // The end of this step is written under the condition of this etag.
    let fact = facts.get(&key).await?;
    let ours = fact.filter(|fact| {
        serde_json::from_slice::<CursorDocument>(&fact.bytes).is_ok_and(|it| it == taken)
    });
    Ok(ours.map(|fact| (before, fact.etag)))
}

async fn put_cursor<P: Host>(
    ctx: &Context<'_, P>,
    document: &CursorDocument,
    condition: Condition,
) -> Result<bool, Failure> {
    let text = json::text(document)?;
    let written = documents::put(ctx, &FactKey::RepairCursor, &text, &[], condition).await?;
    Ok(written.is_some())
}

/// Parses a stored position. Older versions had one walk, which ended with the indices.
fn position<P: Host>(ctx: &Context<'_, P>, text: &str, first: Section) -> Position {
    let parsed = match text {
        "" => Ok(Position::start(first)),
        text => text.parse(),
    };
    let position: Position = parsed.unwrap_or_else(|error| {
        ctx.host.log(&format!(
            "repair: the stored position {text:?} is invalid: {error}; starting again from the beginning"
        ));
        Position::start(first)
    });
    let is_of_keys = |section: Section| section == Section::Indices;
    match is_of_keys(position.section) == is_of_keys(first) {
        true => position,
        false => Position::start(first),
    }
}

/// Returns the position after the next item, or in the next section.
async fn skip_item<P: Host>(ctx: &Context<'_, P>, position: Position) -> Result<Position, Failure> {
    match position.section {
        Section::Releases => return package_walk::skip_item(ctx, position).await,
        Section::Indices => return index_walk::skip_item(ctx, position).await,
        _ => {}
    }
    let section = position.section;
    if !matches!(
        section,
        Section::Revocations | Section::Rules | Section::MergedCatalog
    ) {
        let facts = ctx.host.facts();
        let after = Some(position.after.as_str()).filter(|after| !after.is_empty());
        let page = facts.list(section.prefix(), after, 1).await?;
        if let Some(fact) = page.facts.into_iter().next() {
            // An item of the catalogues is an owner.
            let package = FactKey::card_in(&fact.name).filter(|_| section == Section::Catalogs);
            return Ok(match package {
                Some(package) => Position::past_owner_of(&package),
                None => Position::after(section, fact.name),
            });
        }
    }
    let next = section.next().filter(|next| *next != Section::Indices);
    Ok(Position::start(next.unwrap_or(Section::Releases)))
}

/// Returns the log line of a step.
fn summary(report: &ReindexAnswer) -> String {
    let ReindexAnswer {
        looked_at,
        rewritten,
        removed,
        failed,
        lost,
        next,
    } = report;
    let named = |what: &str, names: &[String]| match names {
        [] => String::new(),
        names => {
            let some: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
            format!(", {} {what} ({})", names.len(), some.join(" "))
        }
    };
    format!(
        "repair: {looked_at} checked{}{}{}{}; {}",
        named("rewritten", rewritten),
        named("removed", removed),
        named("failed", failed),
        named("lost", lost),
        match next {
            Some(next) => format!("continues after {next}"),
            None => "complete; the next walk starts again".to_owned(),
        }
    )
}
