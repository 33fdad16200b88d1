//! Changes of the bucket that serves downloads: by an administrator, and by the probe of the scheduled event.
//!
//! The index is written first, and isolates follow it. While R2 takes no writes, the fact and the entry of the audit log are
//! missing; the first probe after the outage writes them ([`settle`]).

use std::pin::pin;

use futures_util::future::{Either, select};
use terrace_base::digest::Sha256;
use terrace_core::limits;
use terrace_core::storage::failover::{FailoverDocument, PROBE, ServingBucket};
use terrace_core::storage::fallback::FallbackBucket;
use terrace_core::storage::key::{ARCHIVES, ArchiveKey, ArchiveKind, BytesKey, FactKey, IndexKey};
use terrace_presign::SignedMethod;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{
    BucketRequest, Clock as _, Host, Indices as _, LogLevel, StoreError, Upstream as _,
};
use crate::json;
use crate::services::audit::AuditedChange;
use crate::services::{audit, documents, failover, fallback_requests};

/// Changes the bucket that serves downloads. Returns whether the fact follows already; R2 may be unavailable.
pub(crate) async fn change<P: Host>(
    ctx: &Context<'_, P>,
    document: &FailoverDocument,
) -> Result<bool, Failure> {
    put_index(ctx, document).await?;
    let now = ctx.host.clock().now();
    ctx.host.cache().store_serving(document.serving, now);
    let line = format!(
        "failover: downloads are served from the {} bucket from now on (by {}: {})",
        document.serving, document.by, document.reason
    );
    ctx.host.log(&line);
    match in_time(ctx, settle(ctx, Some(document))).await {
        Ok(()) => Ok(true),
        Err(failure) => {
            ctx.report(failure);
            Ok(false)
        }
    }
}

/// Makes the fact and the index equal. The later state counts: in an outage the index is ahead, and after a loss of KV the fact.
/// The audit entry of a change comes before its fact, so that none is missing.
pub(crate) async fn settle<P: Host>(
    ctx: &Context<'_, P>,
    indexed: Option<&FailoverDocument>,
) -> Result<(), Failure> {
    let key = FactKey::Failover;
    let read = documents::read_for_change::<_, FailoverDocument>(ctx, &key);
    let (fact, condition) = read.await?;
    match (indexed, fact) {
        (Some(indexed), fact) if indexed.is_newer_than(fact.as_ref()) => {
            let change = AuditedChange::of_failover(&indexed.by, indexed.serving);
            audit::record(ctx, change, 200).await?;
            let text = json::text(&indexed.settled())?;
            documents::put(ctx, &key, &text, &[], condition).await?;
            Ok(())
        }
        (indexed, Some(fact)) if fact.is_newer_than(indexed) => put_index(ctx, &fact).await,
        _ => Ok(()),
    }
}

/// Returns whether the fact is equal to the state in the index. Not if R2 does not answer.
pub(crate) async fn is_recorded<P: Host>(ctx: &Context<'_, P>, state: &FailoverDocument) -> bool {
    let fact = in_time(
        ctx,
        documents::read::<_, FailoverDocument>(ctx, &FactKey::Failover),
    );
    match fact.await {
        Ok(fact) => fact.unwrap_or_default() == state.settled(),
        Err(failure) => {
            ctx.report(failure);
            false
        }
    }
}

/// Asks both buckets, and changes the one that serves downloads after several failures or successes in a row. A state that an
/// administrator has set ends by an administrator.
pub(crate) async fn probe<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let Some(fallback) = &ctx.config.fallback else {
        return Ok(());
    };
    // Without KV there is neither a state nor a place for one.
    let indexed = failover::stored(ctx).await?;
    let failure = failure_of_main(ctx, indexed.as_ref()).await;
    // The fact may have been the later state.
    let state = match failover::stored(ctx).await? {
        Some(stored) => stored,
        None => indexed.unwrap_or_default(),
    };
    match (state.serving, failure) {
        (ServingBucket::Main, Some(reason)) => count_failure(ctx, fallback, state, reason).await,
        (ServingBucket::Fallback, None) if state.is_by_probe() => count_success(ctx, state).await,
        (ServingBucket::Fallback, None) => Ok(()),
        (ServingBucket::Main, None) | (ServingBucket::Fallback, Some(_)) => {
            reset_count(ctx, state).await
        }
    }
}

async fn count_failure<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    state: FailoverDocument,
    reason: String,
) -> Result<(), Failure> {
    let contrary = state.contrary.saturating_add(1);
    ctx.host
        .log(&format!("failover: probe {contrary}: {reason}"));
    if contrary < limits::FAILOVER_PROBES {
        return put_index(ctx, &FailoverDocument { contrary, ..state }).await;
    }
    // Without it, nothing is gained. The count stays, so that the next probe tries again.
    ensure_answers(ctx, fallback).await?;
    let document = by_probe(ctx, &state, ServingBucket::Fallback, reason);
    change(ctx, &document).await.map(drop)
}

async fn count_success<P: Host>(
    ctx: &Context<'_, P>,
    state: FailoverDocument,
) -> Result<(), Failure> {
    let contrary = state.contrary.saturating_add(1);
    if contrary < limits::FAILBACK_PROBES {
        return put_index(ctx, &FailoverDocument { contrary, ..state }).await;
    }
    let reason = "the main bucket answers again".to_owned();
    let document = by_probe(ctx, &state, ServingBucket::Main, reason);
    change(ctx, &document).await.map(drop)
}

async fn reset_count<P: Host>(
    ctx: &Context<'_, P>,
    state: FailoverDocument,
) -> Result<(), Failure> {
    match state.contrary {
        0 => Ok(()),
        _ => put_index(ctx, &state.settled()).await,
    }
}

fn by_probe<P: Host>(
    ctx: &Context<'_, P>,
    before: &FailoverDocument,
    serving: ServingBucket,
    reason: String,
) -> FailoverDocument {
    FailoverDocument {
        serving,
        since: before.time_of_change(ctx.host.clock().now()),
        by: PROBE.to_owned(),
        reason,
        contrary: 0,
    }
}

/// Checks that the second bucket answers.
///
/// # Errors
/// If it does not.
pub(crate) async fn ensure_answers<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
) -> Result<(), Failure> {
    fallback_requests::list(ctx, fallback, ARCHIVES, (None, 1)).await?;
    Ok(())
}

/// Returns the reason why the main bucket cannot serve downloads; `None` if it can. The registry reads it by its binding, and
/// clients by its S3 endpoint: either may fail.
async fn failure_of_main<P: Host>(
    ctx: &Context<'_, P>,
    indexed: Option<&FailoverDocument>,
) -> Option<String> {
    match in_time(ctx, settle(ctx, indexed)).await {
        Ok(()) => {}
        Err(failure @ Failure::Store(_)) => {
            ctx.report(failure);
            return Some("storage does not answer".to_owned());
        }
        // The bucket answers.
        Err(failure) => drop(ctx.report(failure)),
    }
    let urls = ctx.config.archive_urls.as_ref()?;
    let guard = urls.bucket_guard()?;
    let request = BucketRequest {
        method: SignedMethod::Get,
        url: urls.download("", probe_key(), ctx.host.clock().now()),
        headers: Vec::new(),
        body: None,
        max_bytes: limits::BUCKET_PAGE_BYTES,
    };
    let seconds = limits::BUCKET_REQUEST_SECONDS;
    let asked = ctx.host.upstream().ask_bucket(request, &guard, seconds);
    match asked.await.map(|answer| answer.status) {
        Ok(200 | 404) => None,
        Ok(status) => Some(format!("its S3 endpoint answers with status {status}")),
        Err(error) => Some(format!("its S3 endpoint does not answer: {error}")),
    }
}

/// The key of an archive that no registry stores: a bucket answers 404.
fn probe_key() -> BytesKey {
    let digest = Sha256::of(b"terrace failover probe");
    let kind = ArchiveKind::Shasums;
    ArchiveKey { digest, kind }.into()
}

async fn put_index<P: Host>(
    ctx: &Context<'_, P>,
    document: &FailoverDocument,
) -> Result<(), Failure> {
    let index = document.index();
    let put = async || Ok(ctx.host.indices().put(&IndexKey::Failover, &index).await?);
    documents::retry_while_busy(ctx, put).await
}

/// Returns the result of work on R2, or an error if R2 does not answer in time.
async fn in_time<P: Host, T>(
    ctx: &Context<'_, P>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let seconds = limits::BUCKET_REQUEST_SECONDS;
    let limit = pin!(ctx.host.clock().sleep(seconds));
    match select(pin!(work), limit).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => Err(StoreError::Failed {
            operation: "probe R2".to_owned(),
            cause: format!("it has not answered for {seconds} seconds"),
        }
        .into()),
    }
}

/// Asks both buckets, and logs a failure to do so.
pub(crate) async fn probe_and_report<P: Host>(ctx: &Context<'_, P>) {
    match probe(ctx).await {
        Ok(()) => {}
        Err(Failure::Origin(reason)) => ctx
            .host
            .log_at(LogLevel::Error, &format!("failover: {reason}")),
        Err(failure) => drop(ctx.report(failure)),
    }
}
