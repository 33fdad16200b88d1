//! Reads the values that web pages about packages show.

use terrace_core::read::{FinishError, Freshness, Lookup, PageRead, PageView, StoredIndices};

use crate::context::{Context, Task};
use crate::driver::MissReason;
use crate::failure::Failure;
use crate::host::{Clock as _, Host};
use crate::services::reader;

/// Reads the values of a page: one KV operation, unless an index is missing, damaged or too old.
pub(crate) async fn read<P: Host>(
    ctx: &Context<'_, P>,
    page: &PageRead,
) -> Result<PageView, Failure> {
    let miss = match stored(ctx, page).await {
        Ok(found) => match usable(ctx, page, &found) {
            Some(miss) => miss,
            None => match page.view(&found) {
                Ok(view) => return Ok(view),
                Err(FinishError::Problem(problem)) => return Err(problem.into()),
                Err(FinishError::Corrupt) => MissReason::Corrupt,
            },
        },
        Err(miss) => miss,
    };
    reader::log_miss(ctx, &page.lookup, &miss);
    let found = reader::indices_of_facts(ctx, &page.lookup, miss).await?;
    let found = found.ok_or_else(|| page.missing())?;
    match page.view(&found) {
        Ok(view) => Ok(view),
        Err(FinishError::Problem(problem)) => Err(problem.into()),
        Err(FinishError::Corrupt) => Err(Failure::Corrupt(page.lookup.key.to_string())),
    }
}

/// Reads the indices of a page in one operation.
async fn stored<P: Host>(
    ctx: &Context<'_, P>,
    page: &PageRead,
) -> Result<StoredIndices<P::Stream>, MissReason> {
    let Lookup {
        form,
        cache_seconds,
        ..
    } = page.lookup;
    let keys = page.lookup.keys().collect();
    let read = reader::indices(ctx, keys, form, cache_seconds).await;
    let read = read.map_err(MissReason::Failed)?;
    read.into_stored(&page.lookup).map_err(MissReason::Absent)
}

/// Returns the reason why indices may not be shown; `None` if they may.
fn usable<P: Host>(
    ctx: &Context<'_, P>,
    page: &PageRead,
    found: &StoredIndices<P::Stream>,
) -> Option<MissReason> {
    let metadata = &found.first.metadata;
    match page.freshness(metadata, &ctx.config.pull, ctx.host.clock().now()) {
        Freshness::Fresh => None,
        Freshness::Stale(address) => {
            ctx.defer(Task::RefreshOriginList(address));
            None
        }
        Freshness::Unfit => Some(MissReason::Unfit),
    }
}
