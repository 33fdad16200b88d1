//! The periodic repair: two walks, over the facts and over the keys of the indices. Each continues where its last
//! step ended, and at a pace that leaves most of the platform's free plan to the registry itself.

use terrace_base::time::UnixTime;
use terrace_core::api::admin::ReindexAnswer;
use terrace_core::maintenance::repair::{CursorDocument, PeriodicWalk, Position, Section};
use terrace_core::storage::key::FactKey;

use crate::context::Context;
use crate::documents::format;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Host, LogLevel};
use crate::outcome::Progress;
use crate::repair::step::RepairStep;
use crate::{documents, json};

/// Time between two walks of the periodic repair over the facts, in seconds.
const REPAIR_PAUSE_SECONDS: u64 = 3_600;

/// Time between two walks of the periodic repair over the keys of the indices, in seconds.
const REPAIR_KEYS_PAUSE_SECONDS: u64 = 86_400;

/// How many steps visit a single item each after a step that was interrupted.
const REPAIR_CAREFUL_STEPS: u32 = 30;

/// The log line of a step that does nothing, because another one is running.
const OTHER_STEP: &str = "repair: another step is running; this one is skipped";

/// Takes a step, if one is due. A failure is logged, and the next event tries again.
pub(crate) async fn run<P: Host>(ctx: &Context<'_, P>) -> Progress {
    if ctx.config.repair_operations == 0 {
        return Progress::None;
    }
    take_step(ctx).await.unwrap_or_else(|failure| {
        drop(ctx.report(failure));
        // A step that failed has spent operations of the event, too.
        Progress::Made
    })
}

async fn take_step<P: Host>(ctx: &Context<'_, P>) -> Result<Progress, Failure> {
    format::ensure_may_write(ctx).await?;
    let now = ctx.host.clock().now();
    let Some((cursor, unchanged)) = take_cursor(ctx, now).await? else {
        return Ok(Progress::None);
    };
    let (mut cursor, position) = begin(ctx, cursor).await?;
    let operations = match cursor.careful {
        0 => ctx.config.repair_operations,
        _ => 0,
    };
    let mut step = RepairStep::new(ctx, position, operations);
    step.only_facts = true;
    let walked = step.walk().await;
    if walked.is_err() {
        // Storage failed; the next step tries again.
        step.report.next = Some(step.position.to_string());
    }
    cursor.careful = cursor.careful.saturating_sub(1);
    end(&mut cursor, &step, now);
    let text = json::text(&cursor)?;
    documents::put(ctx, &FactKey::RepairCursor, &text, &[], unchanged).await?;
    walked.map(|()| Progress::Made)
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
    let past = RepairStep::new(ctx, position, 0).past_item().await?;
    Ok((cursor, past))
}

/// Records the end of a step, and the time of the next one.
fn end<P: Host>(cursor: &mut CursorDocument, step: &RepairStep<'_, '_, P>, now: UnixTime) {
    let ctx = step.ctx;
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
) -> Result<Option<(CursorDocument, Condition)>, Failure> {
    let key = FactKey::RepairCursor;
    // An unreadable cursor starts from the beginning.
    let (before, condition) = documents::read_or_replace::<_, CursorDocument>(ctx, &key).await?;
    let before = before.unwrap_or_default();
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
    // The end of this step is written under this condition.
    let unchanged = documents::put_for_change(ctx, &key, &json::text(&taken)?, condition).await?;
    if unchanged.is_none() {
        ctx.host.log_at(LogLevel::Info, OTHER_STEP);
    }
    Ok(unchanged.map(|unchanged| (before, unchanged)))
}

/// Parses a stored position.
fn position<P: Host>(ctx: &Context<'_, P>, text: &str, first: Section) -> Position {
    if text.is_empty() {
        return Position::start(first);
    }
    text.parse().unwrap_or_else(|error| {
        ctx.host.log(&format!(
            "repair: the stored position {text:?} is invalid: {error}; starting again from the beginning"
        ));
        Position::start(first)
    })
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
