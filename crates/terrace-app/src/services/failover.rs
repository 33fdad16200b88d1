//! The bucket that serves downloads, as an isolate knows it. `failover_changes` changes it.

use serde::de::DeserializeOwned;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Body;
use terrace_core::limits;
use terrace_core::read::IndexForm;
use terrace_core::storage::failover::{FailoverDocument, ServingBucket};
use terrace_core::storage::key::IndexKey;

use crate::cache::CachedServing;
use crate::context::{Context, Task};
use crate::host::{Clock as _, Host, Indices as _, StoreError};

/// The `Retry-After` of a change while the second bucket serves downloads, in seconds: a state lasts for some minutes at
/// least.
const RETRY_SECONDS: u64 = 60;

/// Returns the bucket that serves downloads. Reads nothing without a second bucket, or while the isolate's cache is usable.
pub(crate) async fn serving<P: Host>(ctx: &Context<'_, P>) -> ServingBucket {
    if ctx.config.fallback.is_none() {
        return ServingBucket::Main;
    }
    match ctx.host.cache().serving(ctx.host.clock().now()) {
        CachedServing::Fresh(serving) => serving,
        CachedServing::Stale(serving) => {
            ctx.defer(Task::ReadFailover);
            serving
        }
        CachedServing::Miss => read(ctx).await,
    }
}

/// Reads the bucket that serves downloads into the cache. If KV fails, the last known one stays.
pub(crate) async fn read<P: Host>(ctx: &Context<'_, P>) -> ServingBucket {
    let began = ctx.host.clock().now();
    let cache = ctx.host.cache();
    let serving = match stored(ctx).await {
        Ok(document) => document.unwrap_or_default().serving,
        Err(error) => {
            ctx.host.log(&format!("storage: {error}"));
            cache.last_serving()
        }
    };
    cache.store_serving(serving, began);
    serving
}

/// Returns the state in the index, if there is one. An unreadable one counts as none: the main bucket serves, and the next
/// probe writes the index again.
pub(crate) async fn stored<P: Host>(
    ctx: &Context<'_, P>,
) -> Result<Option<FailoverDocument>, StoreError> {
    stored_at(ctx, &IndexKey::Failover).await
}

/// Returns the document of an index without a form of its own; `None` if it is missing or cannot be read.
pub(crate) async fn stored_at<P: Host, T: DeserializeOwned>(
    ctx: &Context<'_, P>,
    key: &IndexKey,
) -> Result<Option<T>, StoreError> {
    let seconds = limits::LIST_CACHE_SECONDS;
    let found = ctx.host.indices().get(key, IndexForm::Text, seconds);
    Ok(match found.await?.map(|found| found.body) {
        Some(Body::Text(text)) => serde_json::from_slice(text.as_bytes()).ok(),
        Some(Body::Empty | Body::Bytes(_) | Body::Stream(_)) | None => None,
    })
}

/// Rejects a change while the second bucket serves downloads: it would be missing there, and R2 may lose it.
///
/// # Errors
/// If the second bucket serves downloads.
pub(crate) async fn ensure_main_serves<P: Host>(ctx: &Context<'_, P>) -> Result<(), Problem> {
    match serving(ctx).await {
        ServingBucket::Main => Ok(()),
        ServingBucket::Fallback => {
            let message = "nothing can be changed at the moment: the registry serves downloads from its second bucket, \
                           because the main one is or was not available; send the same request again when `terrace admin \
                           failover status` states main";
            Err(Problem::NotYet(message.to_owned(), RETRY_SECONDS))
        }
    }
}
