//! Reads the values that web pages about packages show.

use terrace_core::http::problem::Problem;
use terrace_core::read::{FinishError, Freshness, Lookup, PageRead, PageView, StoredIndex};

use crate::context::{Context, Task};
use crate::driver::{MissReason, ReadIndices};
use crate::failure::Failure;
use crate::host::{Clock as _, Host, StoreError};
use crate::read::reader;

/// Reads the values of a page: one KV operation, unless an index is missing, damaged or too old.
pub(crate) async fn read<P: Host>(
    ctx: &Context<'_, P>,
    page: &PageRead,
) -> Result<PageView, Failure> {
    let miss = match stored(ctx, page).await {
        Ok(read) => {
            if let Some(problem) = unlisted(ctx, page, &read) {
                return Err(problem.into());
            }
            match read.into_stored(&page.lookup) {
                Ok(found) => match usable(ctx, page, &found.first) {
                    Some(miss) => miss,
                    None => match page.view(&found) {
                        Ok(view) => return Ok(view),
                        Err(FinishError::Problem(problem)) => return Err(problem.into()),
                        Err(FinishError::Corrupt) => MissReason::Corrupt,
                    },
                },
                Err(absent) => MissReason::Absent(absent),
            }
        }
        Err(error) => MissReason::Failed(error),
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
) -> Result<ReadIndices<P::Stream>, StoreError> {
    let Lookup {
        form,
        cache_seconds,
        ..
    } = page.lookup;
    let keys = page.lookup.keys().collect();
    reader::indices(ctx, keys, form, cache_seconds).await
}

/// Returns the error for a version that the package does not have, if the indices that were found say so.
fn unlisted<P: Host>(
    ctx: &Context<'_, P>,
    page: &PageRead,
    read: &ReadIndices<P::Stream>,
) -> Option<Problem> {
    let first = read.first.as_ref()?;
    let problem = page.unlisted(first, &read.others)?;
    usable(ctx, page, first).is_none().then_some(problem)
}

/// Returns the reason why indices may not be shown; `None` if they may.
fn usable<P: Host>(
    ctx: &Context<'_, P>,
    page: &PageRead,
    first: &StoredIndex<P::Stream>,
) -> Option<MissReason> {
    match page.freshness(&first.metadata, &ctx.config.pull, ctx.host.clock().now()) {
        Freshness::Fresh => None,
        Freshness::Stale(address) => {
            ctx.defer(Task::RefreshOriginList(address));
            None
        }
        Freshness::Unfit => Some(MissReason::Unfit),
    }
}
