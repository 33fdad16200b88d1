//! The walk over the pages of the two buckets.

use terrace_core::storage::failover::FallbackCopyDocument;
use terrace_core::storage::fallback::{BUCKET_REQUEST_SECONDS, FallbackBucket};
use terrace_core::storage::key::{FactKey, IndexKey};

use crate::context::Context;
use crate::copies::comparison::{Comparison, compare};
use crate::copies::{failover_changes, step};
use crate::documents::{failover, failures, fallback_requests, format};
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Host};
use crate::outcome::Progress;
use crate::{documents, json};

/// Takes a step, if there is a second bucket: in its own minute, and while a walk has something left to copy. A failure is logged.
pub(crate) async fn run<P: Host>(
    ctx: &Context<'_, P>,
    is_its_turn: bool,
) -> Result<Progress, Failure> {
    let Some(fallback) = &ctx.config.fallback else {
        return Ok(Progress::None);
    };
    let taken = match format::ensure_may_write(ctx).await {
        Ok(()) => take_step(ctx, fallback, is_its_turn).await,
        Err(failure) => Err(failure),
    };
    if let Err(failure) = taken {
        failures::log(ctx, "copy", failure);
    }
    Ok(Progress::Made)
}

/// Compares the next page of the two buckets, and copies some of the missing objects. A failure is recorded for the operator. While
/// another step copies or removes, nothing is done.
async fn take_step<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    is_its_turn: bool,
) -> Result<(), Failure> {
    let key = FactKey::FallbackCopy;
    // An unreadable document begins a new walk.
    let read = documents::read_or_replace::<_, FallbackCopyDocument>(ctx, &key);
    let (stored, mut condition) = read.await?;
    let before = stored.unwrap_or_default();
    let mut document = before.clone().of_bucket(fallback.url());
    let is_due = is_its_turn || document.is_incomplete();
    if !is_due || document.is_taken(ctx.host.clock().now()) {
        return Ok(());
    }
    let compared = compare_next(ctx, fallback, &document).await;
    if compared.as_ref().is_ok_and(Comparison::has_differences) {
        match begin(ctx, &document, condition).await? {
            Some(begun) => condition = begun,
            None => return Ok(()),
        }
    }
    let walked = match compared {
        Ok(found) => walk_page(ctx, fallback, &mut document, found).await,
        Err(failure) => Err(failure),
    };
    document.begun = None;
    document.error = walked.as_ref().err().map(failures::reason);
    // A bucket that fails in the same way costs no writes.
    if document != before {
        let text = json::text(&document)?;
        let written = documents::put(ctx, &key, &text, &[], condition).await?;
        if written.is_none() {
            // Another step has begun, because this one has taken too long.
            return walked;
        }
    }
    if document.next.is_none() && document.last.is_some() {
        record(ctx, &document).await?;
    }
    walked
}

/// Compares the next page of a walk. The first one of a walk also checks that the bucket may be used.
async fn compare_next<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    document: &FallbackCopyDocument,
) -> Result<Comparison, Failure> {
    let after = document.next.as_deref();
    if after.is_none() {
        fallback_requests::ensure_without_documents(ctx, fallback, BUCKET_REQUEST_SECONDS).await?;
    }
    compare(ctx, fallback, after, usize::MAX).await
}

/// Works on a page, and adds it to the walk.
async fn walk_page<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    document: &mut FallbackCopyDocument,
    mut found: Comparison,
) -> Result<(), Failure> {
    let next = found.next.take();
    let counts = step::work(ctx, fallback, found, document.next.is_none()).await?;
    document.add_page(counts, next, ctx.host.clock().now());
    Ok(())
}

/// Records that a step begins to copy or to remove. Returns the condition that no other step has begun since; `None` if one has.
async fn begin<P: Host>(
    ctx: &Context<'_, P>,
    document: &FallbackCopyDocument,
    condition: Condition,
) -> Result<Option<Condition>, Failure> {
    let begun = FallbackCopyDocument {
        begun: Some(ctx.host.clock().now()),
        ..document.clone()
    };
    documents::put_for_change(ctx, &FactKey::FallbackCopy, &json::text(&begun)?, condition).await
}

/// Records a complete walk in KV, where a change finds it while R2 does not answer; now and then also one with the same result.
async fn record<P: Host>(
    ctx: &Context<'_, P>,
    document: &FallbackCopyDocument,
) -> Result<(), Failure> {
    let key = IndexKey::FailoverCopy;
    let known = failover::text_of(ctx, &key).await?;
    let known: Option<FallbackCopyDocument> = failover::parsed(&known);
    if known.is_some_and(|known| document.repeats(&known)) {
        return Ok(());
    }
    failover_changes::put_index(ctx, &key, &document.index()).await
}

/// Returns the progress of the copy in the configured second bucket; `None` before its first step.
pub(crate) async fn progress<P: Host>(
    ctx: &Context<'_, P>,
) -> Result<Option<FallbackCopyDocument>, Failure> {
    let Some(fallback) = &ctx.config.fallback else {
        return Ok(None);
    };
    let stored: Option<FallbackCopyDocument> = documents::read(ctx, &FactKey::FallbackCopy).await?;
    Ok(stored.filter(|document| document.bucket == fallback.url()))
}
