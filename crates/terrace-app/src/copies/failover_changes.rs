//! Changes of the bucket that serves downloads, by an administrator.
//!
//! The index is written first, and isolates follow it. While R2 takes no writes, the fact and the entry of the audit log are
//! missing; the first scheduled event after the outage writes them ([`settle`]).

use std::pin::pin;

use futures_util::future::{Either, select};
use terrace_base::digest::Sha256;
use terrace_core::storage::failover::{FailoverDocument, FallbackCopyDocument, ServingBucket};
use terrace_core::storage::fallback::{BUCKET_PAGE_BYTES, BUCKET_REQUEST_SECONDS, FallbackBucket};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{ArchiveKey, ArchiveKind, BytesKey, FactKey, IndexKey};
use terrace_presign::SignedMethod;

use crate::context::Context;
use crate::documents::audit::AuditedChange;
use crate::documents::{audit, failover};
use crate::failure::Failure;
use crate::host::{
    BucketRequest, Clock as _, Condition, Host, Indices as _, LogLevel, StoreError, Upstream as _,
};
use crate::{documents, json};

/// Time within which every location sees a value that was written to KV, in seconds
/// (<https://developers.cloudflare.com/kv/concepts/how-kv-works/#consistency>).
const KV_ARRIVAL_SECONDS: u64 = 60;

/// Changes the bucket that serves downloads. Returns whether the fact follows already; `None` if R2 does not answer.
pub(crate) async fn change<P: Host>(
    ctx: &Context<'_, P>,
    document: &FailoverDocument,
) -> Result<Option<bool>, Failure> {
    put_index(ctx, &IndexKey::Failover, &document.index()).await?;
    let now = ctx.host.clock().now();
    ctx.host.cache().store_serving(document.serving, now);
    let line = format!(
        "failover: downloads are served from the {} bucket from now on (by {}: {})",
        document.serving, document.by, document.reason
    );
    ctx.host.log(&line);
    let settled = async {
        let fact = read_fact(ctx).await?;
        settle(ctx, Some(document), fact).await
    };
    match in_time(ctx, settled).await {
        Ok(is_settled) => Ok(Some(is_settled)),
        Err(failure) => {
            ctx.report(failure);
            Ok(None)
        }
    }
}

/// The fact, with the condition that it has not been changed since.
type StoredFact = (Option<FailoverDocument>, Condition);

/// Reads the fact. One that is unreadable or from the future counts as none, and is replaced.
async fn read_fact<P: Host>(ctx: &Context<'_, P>) -> Result<StoredFact, Failure> {
    let read = documents::read_or_replace::<_, FailoverDocument>(ctx, &FactKey::Failover);
    let (fact, condition) = read.await?;
    let now = ctx.host.clock().now();
    Ok((fact.filter(|fact| fact.is_plausible(now)), condition))
}

/// Makes the fact and the index equal. The later state counts: in an outage the index is ahead, and after a loss of KV the fact.
/// The audit entry of a change comes before its fact, so that none is missing; after an interruption between the two it is there
/// twice. Returns whether the fact is as new as the index; not if another change has
/// just replaced it.
async fn settle<P: Host>(
    ctx: &Context<'_, P>,
    indexed: Option<&FailoverDocument>,
    (fact, condition): StoredFact,
) -> Result<bool, Failure> {
    match (indexed, fact) {
        (Some(indexed), fact) if indexed.is_newer_than(fact.as_ref()) => {
            let before = fact.unwrap_or_default().serving;
            let change = AuditedChange::of_failover(before, indexed);
            audit::record(ctx, change, 200).await?;
            let text = json::text(indexed)?;
            let written = documents::put(ctx, &FactKey::Failover, &text, &[], condition).await?;
            Ok(written.is_some())
        }
        // Until then, this location may not have seen the latest index, which may be newer than the fact.
        (indexed, Some(fact)) if fact.is_newer_than(indexed) && has_arrived(ctx, &fact) => {
            put_index(ctx, &IndexKey::Failover, &fact.index()).await?;
            Ok(true)
        }
        _ => Ok(true),
    }
}

/// Returns whether every location would see the index of a state, if it had not been lost.
fn has_arrived<P: Host>(ctx: &Context<'_, P>, state: &FailoverDocument) -> bool {
    ctx.host.clock().now().since(state.since) >= KV_ARRIVAL_SECONDS
}

/// Returns whether the fact is as new as a state, which this location may have read from KV before the last change; `None` if R2 does
/// not answer.
pub(crate) async fn is_recorded<P: Host>(
    ctx: &Context<'_, P>,
    state: &FailoverDocument,
) -> Option<bool> {
    match in_time(ctx, read_fact(ctx)).await {
        Ok((fact, _)) => Some(!state.is_newer_than(fact.as_ref())),
        Err(failure) => {
            ctx.report(failure);
            None
        }
    }
}

/// Completes the last change, and logs if the main bucket fails. Logs its own failures. Returns the bucket that serves downloads.
pub(crate) async fn watch<P: Host>(ctx: &Context<'_, P>) -> ServingBucket {
    // Without KV there is neither a state nor a place for one.
    let indexed = match failover::stored(ctx).await {
        Ok(indexed) => indexed,
        Err(error) => {
            drop(ctx.report(error.into()));
            return ctx.host.cache().last_serving();
        }
    };
    let began = ctx.host.clock().now();
    let (FailoverDocument { serving, .. }, failure) = ask_main(ctx, indexed).await;
    ctx.host.cache().store_serving(serving, began);
    match (serving, failure) {
        (ServingBucket::Main, Some(reason)) => ctx.host.log_at(
            LogLevel::Error,
            &format!(
                "failover: the main bucket fails: {reason}; `terrace admin failover on --reason …` lets the second one serve downloads"
            ),
        ),
        (ServingBucket::Fallback, None) => ctx.host.log_at(
            LogLevel::Info,
            "failover: the main bucket answers; `terrace admin failover off --reason …` lets it serve downloads again",
        ),
        _ => {}
    }
    serving
}

/// Asks the main bucket by its binding, by which the registry reads it, and by its S3 endpoint, by which clients do: either may
/// fail. Returns the later one of the states in the index and in the fact, and the reason why the bucket cannot serve
/// downloads, if it cannot.
async fn ask_main<P: Host>(
    ctx: &Context<'_, P>,
    indexed: Option<FailoverDocument>,
) -> (FailoverDocument, Option<String>) {
    let fact = match in_time(ctx, read_fact(ctx)).await {
        Ok(fact) => fact,
        Err(failure) => {
            let is_outage = matches!(failure, Failure::Store(StoreError::Failed { .. }));
            ctx.report(failure);
            let reason = is_outage.then(|| "R2 does not answer".to_owned());
            return (failover::in_effect(ctx, indexed), reason);
        }
    };
    let known = fact.0.clone();
    // A failed write changes nothing about downloads.
    if let Err(failure) = in_time(ctx, settle(ctx, indexed.as_ref(), fact)).await {
        ctx.report(failure);
    }
    let state = match (indexed, known) {
        (Some(indexed), Some(known)) if known.is_newer_than(Some(&indexed)) => Some(known),
        (indexed, known) => indexed.or(known),
    };
    (
        failover::in_effect(ctx, state),
        failure_of_endpoint(ctx).await,
    )
}

/// Returns the reason why clients cannot download from the S3 endpoint of the main bucket; `None` if they can, or do not. Wrong
/// keys are no outage: the second bucket would hide them.
async fn failure_of_endpoint<P: Host>(ctx: &Context<'_, P>) -> Option<String> {
    let urls = ctx.config.archive_urls.as_ref()?;
    let guard = urls.bucket_guard()?;
    let url = urls.download("", probe_key(), ctx.host.clock().now());
    let request = BucketRequest::of(SignedMethod::Get, url, BUCKET_PAGE_BYTES);
    let seconds = BUCKET_REQUEST_SECONDS;
    let asked = ctx.host.upstream().ask_bucket(request, &guard, seconds);
    match asked.await.map(|answer| answer.status) {
        Ok(status @ 500..) => Some(format!("its S3 endpoint answers with status {status}")),
        Ok(_) => None,
        Err(error) => Some(format!("its S3 endpoint does not answer: {error}")),
    }
}

/// The key of an archive that no registry stores: a bucket answers 404.
fn probe_key() -> BytesKey {
    let digest = Sha256::of(b"terrace failover probe");
    let kind = ArchiveKind::Shasums;
    ArchiveKey { digest, kind }.into()
}

/// Checks that the second bucket has copies of nearly all archives, according to the last complete comparison.
///
/// # Errors
/// If it has not.
pub(crate) async fn ensure_has_copies<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
) -> Result<(), Failure> {
    let compared = failover::text_of(ctx, &IndexKey::FailoverCopy).await?;
    let compared: FallbackCopyDocument = failover::parsed(&compared).unwrap_or_default();
    compared
        .check_copies(&fallback.url(), ctx.host.clock().now())
        .map_err(|gap| Failure::Origin(format!("the second bucket cannot serve downloads: {gap}")))
}

/// Writes an index that follows no other document.
pub(crate) async fn put_index<P: Host>(
    ctx: &Context<'_, P>,
    key: &IndexKey,
    index: &IndexDocument,
) -> Result<(), Failure> {
    let put = async || Ok(ctx.host.indices().put(key, index).await?);
    documents::retry_while_busy(ctx, put).await
}

/// Returns the result of work on R2, or an error if R2 does not answer in time.
async fn in_time<P: Host, T>(
    ctx: &Context<'_, P>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let seconds = BUCKET_REQUEST_SECONDS;
    let limit = pin!(ctx.host.clock().sleep(seconds));
    match select(pin!(work), limit).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => Err(StoreError::Failed {
            operation: "R2".to_owned(),
            cause: format!("it has not answered for {seconds} seconds"),
        }
        .into()),
    }
}
