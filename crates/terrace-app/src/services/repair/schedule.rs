//! The periodic repair, which continues where its last step ended.

use terrace_base::time::UnixTime;
use terrace_core::api::admin::ReindexAnswer;
use terrace_core::maintenance::repair::{CursorDocument, Position, Section};
use terrace_core::storage::key::FactKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host};
use crate::json;
use crate::services::documents;
use crate::services::format;
use crate::services::repair::step::RepairStep;
use crate::services::repair::walk;

/// Runs one step of the periodic repair, which continues where the last one ended. A second one at the same
/// time does nothing.
pub async fn run_repair_step<P: Host>(ctx: &Context<'_, P>) {
    if ctx.config.repair_operations == 0 {
        return;
    }
    if let Err(failure) = try_repair_step(ctx).await {
        ctx.report(failure);
    }
}

async fn try_repair_step<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    format::ensure_may_write(ctx).await?;
    let now = ctx.host.clock().now();
    let Some((cursor, etag)) = take_cursor(ctx, now).await? else {
        ctx.host
            .log("repair: another step is running; this one is skipped");
        return Ok(());
    };
    let mut position = position(ctx, &cursor.next);
    if cursor.begun.is_some() {
        // The cause of the interruption must not interrupt every step.
        let line = format!(
            "repair: the last step was interrupted at {position}; the next item is skipped"
        );
        ctx.host.log(&line);
        position = skip_item(ctx, position).await?;
    }
    let mut step = RepairStep::new(None, position, ctx.config.repair_operations);
    let walked = walk::walk(ctx, &mut step).await;
    if walked.is_err() {
        // Storage failed; the next step tries again.
        step.report.next = Some(step.position.to_string());
    }
    ctx.host.log(&summary(&step.report));
    let ended = CursorDocument {
        next: step.report.next.unwrap_or_default(),
        begun: None,
    };
    put_cursor(ctx, &ended, Condition::Unchanged(etag)).await?;
    walked
}

/// Takes the turn, and returns the document from before; `None` if another step is running.
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
        return Ok(None);
    }
    let taken = CursorDocument {
        begun: Some(now),
        ..before.clone()
    };
    if !put_cursor(ctx, &taken, condition).await? {
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

fn position<P: Host>(ctx: &Context<'_, P>, text: &str) -> Position {
    text.parse().unwrap_or_else(|error| {
        ctx.host.log(&format!(
            "repair: the stored position {text:?} is invalid: {error}; starting again with the releases"
        ));
        Position::start(Section::Releases)
    })
}

/// Returns the position after the next fact, or in the next section.
async fn skip_item<P: Host>(ctx: &Context<'_, P>, position: Position) -> Result<Position, Failure> {
    let section = position.section;
    if !matches!(section, Section::Revocations | Section::Indices) {
        let facts = ctx.host.facts();
        let after = Some(position.after.as_str()).filter(|after| !after.is_empty());
        let page = facts.list(section.prefix(), after, 1).await?;
        if let Some(fact) = page.facts.into_iter().next() {
            return Ok(Position::after(section, fact.name));
        }
    }
    let next = section.next().unwrap_or(Section::Releases);
    Ok(Position::start(next))
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
            None => "complete; the next step starts again".to_owned(),
        }
    )
}
