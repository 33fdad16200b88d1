//! The bucket that serves downloads: its state, and its change by an administrator, also while R2 does not answer.

use terrace_core::api::admin::{CopyFacts, FailoverAnswer, FailoverBody};
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::model::status::Reason;
use terrace_core::storage::failover::{FailoverDocument, ServingBucket};
use terrace_core::storage::fallback::{BUCKET_REQUEST_SECONDS, FallbackBucket};

use crate::context::Context;
use crate::copies::{failover_changes, walk};
use crate::documents::{failover, fallback_requests};
use crate::failure::Failure;
use crate::host::{Clock as _, Host};
use crate::json;
use crate::outcome::{Call, Handled};

/// `GET /admin/v1/failover`
pub(crate) async fn describe<P: Host>(ctx: &Context<'_, P>) -> Handled<P::Stream> {
    Ok(json::reply(200, &stored(ctx).await?)?.into())
}

/// `PUT /admin/v1/failover`
pub(crate) async fn change<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let FailoverBody {
        serving,
        reason,
        force,
    } = json::parse(&call.body)?;
    let reason: Reason = reason.parse().map_err(|_| {
        let limit = limits::REASON_BYTES;
        Problem::Invalid(vec![format!(
            "the reason must be one line of 1 to {limit} bytes of printable text"
        )])
    })?;
    // A state can be ended after the settings of its bucket were removed.
    let fallback = match (serving, &ctx.config.fallback) {
        (ServingBucket::Main, _) => None,
        (ServingBucket::Fallback, None) => return Err(failover::no_second_bucket().into()),
        (ServingBucket::Fallback, Some(fallback)) => Some(fallback),
    };
    if let Some(fallback) = fallback {
        // Downloads would fail for certain.
        fallback_requests::ensure_without_documents(ctx, fallback, BUCKET_REQUEST_SECONDS).await?;
        if !force {
            check_copies(ctx, fallback).await?;
        }
    }
    let before = failover::stored(ctx).await?.unwrap_or_default();
    let state = FailoverDocument {
        serving,
        bucket: fallback.map_or_else(String::new, |fallback| fallback.url()),
        since: before.time_of_change(ctx.host.clock().now()),
        by: ctx.config.access.audited_name(&call.caller),
        reason: reason.to_string(),
    };
    let recorded = failover_changes::change(ctx, &state).await?;
    Ok(json::reply(200, &answer(ctx, state, recorded).await)?.into())
}

/// Rejects a change to a second bucket that lacks copies.
async fn check_copies<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
) -> Result<(), Failure> {
    match failover_changes::ensure_has_copies(ctx, fallback).await {
        Err(Failure::Origin(reason)) => {
            let message = format!(
                "{reason}; downloads without a copy would fail: run `terrace admin replicate`, and repeat this request when the \
                 scheduled run has compared the buckets, some ten minutes later, or send it with \"force\": true (--force)"
            );
            Err(Problem::Conflict(vec![message]).into())
        }
        checked => checked,
    }
}

/// Returns the state of the failover for the doctor; `None` without a second bucket.
pub(crate) async fn facts<P: Host>(
    ctx: &Context<'_, P>,
) -> Result<Option<FailoverAnswer>, Failure> {
    let Some(fallback) = &ctx.config.fallback else {
        return Ok(None);
    };
    let stored = stored(ctx).await?;
    Ok(Some(FailoverAnswer {
        keeps_versions: fallback_requests::keeps_versions(ctx, fallback).await,
        ..stored
    }))
}

async fn stored<P: Host>(ctx: &Context<'_, P>) -> Result<FailoverAnswer, Failure> {
    let state = failover::in_effect(ctx, failover::stored(ctx).await?);
    let recorded = failover_changes::is_recorded(ctx, &state).await;
    Ok(answer(ctx, state, recorded).await)
}

async fn answer<P: Host>(
    ctx: &Context<'_, P>,
    state: FailoverDocument,
    recorded: Option<bool>,
) -> FailoverAnswer {
    let has_changed = !state.by.is_empty();
    let FailoverDocument {
        serving,
        since,
        by,
        reason,
        ..
    } = state;
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    FailoverAnswer {
        configured: ctx.config.fallback.is_some(),
        serving,
        since: has_changed.then(|| since.to_string()),
        by: some(by),
        reason: some(reason),
        recorded: recorded == Some(true),
        copy: match recorded {
            Some(_) => copy(ctx).await,
            // R2 has just failed to answer.
            None => None,
        },
        keeps_versions: None,
    }
}

/// Returns the state of the copy.
async fn copy<P: Host>(ctx: &Context<'_, P>) -> Option<CopyFacts> {
    match walk::progress(ctx).await {
        Ok(document) => document.map(CopyFacts::from),
        Err(failure) => {
            ctx.report(failure);
            None
        }
    }
}
