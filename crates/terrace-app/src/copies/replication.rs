//! The steps of `terrace admin replicate`, which copies archives from the main bucket to the second one.

use terrace_core::api::admin::{MissingCopy, ReplicationAnswer, ReplicationBody};
use terrace_core::storage::fallback::BUCKET_REQUEST_SECONDS;
use terrace_core::storage::key::BytesKey;

use crate::backup::archive_inventory::no_signer;
use crate::context::Context;
use crate::copies::comparison;
use crate::copies::marks::{Effect, listed_effect};
use crate::documents::{failover, fallback_requests};
use crate::host::{Clock as _, Host};
use crate::json;
use crate::outcome::{Call, Handled};
use crate::removal::garbage;

/// Maximum number of missing archives in one answer to `terrace admin replicate`, each with two signed URLs.
const MISSING_COPIES_AT_ONCE: usize = 50;

/// `POST /admin/v1/replication`: compares a page of the two buckets, and returns URLs of the missing objects.
pub(crate) async fn compare<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let ReplicationBody { after, dry_run } = json::parse(&call.body)?;
    let Some(fallback) = &ctx.config.fallback else {
        return Err(failover::no_second_bucket().into());
    };
    if !dry_run {
        // Its copies are what clients get meanwhile.
        failover::ensure_main_serves(ctx).await?;
    }
    let urls = ctx.config.archive_urls.as_ref().ok_or_else(no_signer)?;
    if after.is_none() {
        fallback_requests::ensure_without_documents(ctx, fallback, BUCKET_REQUEST_SECONDS).await?;
    }
    let most = MISSING_COPIES_AT_ONCE;
    let mut found = comparison::compare(ctx, fallback, after.as_deref(), most).await?;
    let marks = garbage::fence(ctx).await?;
    // The scheduled copy reads marks that are listed without their state.
    let has_none = |key: BytesKey| matches!(listed_effect(&marks, key), None | Some(Effect::None));
    found.missing.retain(|(key, _)| has_none(*key));
    let (surplus, erased): (Vec<_>, Vec<_>) =
        found.surplus.into_iter().partition(|key| has_none(*key));
    let names = |keys: Vec<BytesKey>| keys.iter().map(BytesKey::to_string).collect();
    let now = ctx.host.clock().now();
    let missing = found.missing.into_iter().map(|(key, size)| MissingCopy {
        key: key.to_string(),
        size,
        url: urls.uncached(&call.origin, key, now),
        upload: fallback.upload(key, now).into(),
    });
    let answer = ReplicationAnswer {
        stored: found.stored,
        missing: missing.collect(),
        surplus: names(surplus),
        erased: names(erased),
        next: found.next,
    };
    Ok(json::reply(200, &answer)?.into())
}
