//! The bucket that serves downloads, as an isolate knows it. `failover_changes` changes it.

use serde::de::DeserializeOwned;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Body;
use terrace_core::limits;
use terrace_core::read::IndexForm;
use terrace_core::storage::failover::{FailoverDocument, ServingBucket};
use terrace_core::storage::key::IndexKey;

use crate::cache::Cached;
use crate::context::{Context, Task};
use crate::host::{Clock as _, Host, Indices as _, StoreError};

/// Time after which a refused change may be tried again while the second bucket serves downloads, in seconds. An administrator ends
/// that; no command waits so long.
const FAILOVER_RETRY_SECONDS: u64 = 360;

/// Returns the bucket that serves downloads. Reads nothing without a second bucket, or while the isolate's cache is usable.
pub(crate) async fn serving<P: Host>(ctx: &Context<'_, P>) -> ServingBucket {
    if ctx.config.fallback.is_none() {
        return ServingBucket::Main;
    }
    match ctx.host.cache().serving(ctx.host.clock().now()) {
        Cached::Fresh(serving) => serving,
        Cached::Stale(serving) => {
            ctx.defer(Task::ReadFailover);
            serving
        }
        Cached::Miss => read(ctx).await,
    }
}

/// Reads the bucket that serves downloads into the cache. If KV fails, the last known one stays.
pub(crate) async fn read<P: Host>(ctx: &Context<'_, P>) -> ServingBucket {
    let began = ctx.host.clock().now();
    let cache = ctx.host.cache();
    let serving = match stored(ctx).await {
        Ok(document) => in_effect(ctx, document).serving,
        Err(error) => {
            ctx.host.log(&format!("storage: {error}"));
            cache.last_serving()
        }
    };
    cache.store_serving(serving, began);
    serving
}

/// Returns the state in the index, if there is one. One that is unreadable or from the future counts as none: the main bucket
/// serves, and the next change writes the index again.
pub(crate) async fn stored<P: Host>(
    ctx: &Context<'_, P>,
) -> Result<Option<FailoverDocument>, StoreError> {
    let state = parsed(&text_of(ctx, &IndexKey::Failover).await?);
    let now = ctx.host.clock().now();
    Ok(state.filter(|state: &FailoverDocument| state.is_plausible(now)))
}

/// Returns a state as it takes effect with the settings of this deployment.
pub(crate) fn in_effect<P: Host>(
    ctx: &Context<'_, P>,
    state: Option<FailoverDocument>,
) -> FailoverDocument {
    let state = state.unwrap_or_default();
    state.in_effect(ctx.config.fallback.as_deref())
}

/// Returns the error for a request that needs a second bucket.
pub(crate) fn no_second_bucket() -> Problem {
    let message = "this registry has no second bucket: set the TERRACE_S3_FALLBACK_… variables, and deploy again";
    Problem::Conflict(vec![message.to_owned()])
}

/// Returns the text of an index without a form of its own; none if it is missing.
pub(crate) async fn text_of<P: Host>(
    ctx: &Context<'_, P>,
    key: &IndexKey,
) -> Result<String, StoreError> {
    let seconds = limits::LIST_CACHE_SECONDS;
    let found = ctx.host.indices().get(key, IndexForm::Text, seconds);
    Ok(match found.await?.map(|found| found.body) {
        Some(Body::Text(text)) => text,
        Some(Body::Empty | Body::Stream(_)) | None => String::new(),
    })
}

/// Returns the document in a text; `None` if it cannot be read. No future depends on its type: code for each would be large.
pub(crate) fn parsed<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_slice(text.as_bytes()).ok()
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
            Err(Problem::NotYet(message.to_owned(), FAILOVER_RETRY_SECONDS))
        }
    }
}
