//! Removals of bytes from both buckets, for erasures. Those from the second bucket come last, and fail no request, because that bucket
//! may not answer: until then everything is removed from the main one, and nothing leads to the copies.
//!
//! The scheduled copy removes those that are left: the bytes have a tombstone, or the mark *removing*.

use std::cell::RefCell;
use std::rc::Rc;

use terrace_base::time::UnixTime;
use terrace_core::limits;
use terrace_core::storage::fallback::FallbackBucket;
use terrace_core::storage::key::BytesKey;
use terrace_presign::SignedMethod;

use crate::concurrent::{self, Boxed, CONCURRENT_ACTIONS};
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Host};
use crate::services::{fallback_requests, garbage};

/// The copies that a request removes.
#[derive(Debug, Default)]
struct Removals {
    due: RefCell<Vec<Removal>>,
    /// The keys of those that could not be removed.
    left: RefCell<Vec<String>>,
}

/// The removal of a copy.
#[derive(Debug, Clone, Copy)]
struct Removal {
    key: BytesKey,
    /// The time at which this request has marked bytes without a tombstone as being removed.
    marked: Option<UnixTime>,
}

/// Removes bytes that have a tombstone, as a blob with the same digest as well.
pub(crate) async fn discard_buried<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<(), Failure> {
    let blob = BytesKey::Blob(bytes.digest());
    if blob != bytes {
        discard_everywhere(ctx, blob).await?;
    }
    discard_everywhere(ctx, bytes).await
}

/// Removes bytes that have a tombstone from the main bucket, and notes the removal of their copy (see [`carry_out`]).
pub(crate) async fn discard_everywhere<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<(), Failure> {
    garbage::discard(ctx, bytes).await?;
    defer(ctx, bytes, None);
    Ok(())
}

/// Does the same for bytes without a tombstone, because others were erased to which they belong. If there is a second bucket, their
/// mark becomes *removing* first: a copy that is left, or that is in progress, is found by it.
pub(crate) async fn discard_unburied<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<(), Failure> {
    if ctx.config.fallback.is_none() {
        ctx.host.archives().discard(bytes).await?;
        return Ok(());
    }
    let marked = garbage::mark_removal(ctx, bytes).await?;
    ctx.host.archives().discard(bytes).await?;
    defer(ctx, bytes, marked);
    Ok(())
}

/// Notes that a copy is to be removed: of bytes that have a tombstone, or that are marked as being removed, since `marked` if this
/// request has made the mark.
fn defer<P: Host>(ctx: &Context<'_, P>, key: BytesKey, marked: Option<UnixTime>) {
    if ctx.config.fallback.is_some() {
        let removal = Removal { key, marked };
        removals(ctx).due.borrow_mut().push(removal);
    }
}

/// Removes the noted copies. After the first failure, and after a time, the others are left: the bucket may not answer.
pub(crate) async fn carry_out<P: Host>(ctx: &Context<'_, P>) {
    let Some(fallback) = &ctx.config.fallback else {
        return;
    };
    let removals = removals(ctx);
    let due = removals.due.take();
    let began = ctx.host.clock().now();
    for some in due.chunks(CONCURRENT_ACTIONS) {
        let is_late = ctx.host.clock().now().since(began) > limits::COPY_REMOVALS_SECONDS;
        let is_pointless = is_late || !removals.left.borrow().is_empty();
        if is_pointless {
            let keys = some.iter().map(|removal| removal.key.to_string());
            removals.left.borrow_mut().extend(keys);
            continue;
        }
        let actions = some.iter().map(|removal| -> Boxed<'_> {
            Box::pin(remove(ctx, fallback, *removal, &removals.left))
        });
        if let Err(failure) = concurrent::all(actions.collect()).await {
            ctx.report(failure);
        }
    }
}

/// Returns the keys of the copies that this request could not remove.
pub(crate) fn left<P: Host>(ctx: &Context<'_, P>) -> Vec<String> {
    let removals: Option<Rc<Removals>> = ctx.recall();
    removals.map_or_else(Vec::new, |removals| removals.left.borrow().clone())
}

fn removals<P: Host>(ctx: &Context<'_, P>) -> Rc<Removals> {
    ctx.recall().unwrap_or_else(|| {
        ctx.remember(Removals::default());
        ctx.recall().unwrap_or_default()
    })
}

/// Removes a copy, or adds its key to those that are left.
async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    removal: Removal,
    left: &RefCell<Vec<String>>,
) -> Result<(), Failure> {
    if let Err(failure) = try_remove(ctx, fallback, removal).await {
        ctx.report(failure);
        left.borrow_mut().push(removal.key.to_string());
    }
    Ok(())
}

async fn try_remove<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    Removal { key, marked }: Removal,
) -> Result<(), Failure> {
    let seconds = limits::COPY_REMOVAL_SECONDS;
    let ask =
        async |method| fallback_requests::ask_about(ctx, fallback, (method, key), seconds).await;
    // If there is no copy, one may be in progress. Then the mark stays, and leads to it when it has arrived.
    let has_copy = marked.is_some() && ask(SignedMethod::Head).await?;
    ask(SignedMethod::Delete).await?;
    match marked {
        Some(marked) if has_copy => garbage::forget_removal(ctx, key, marked).await,
        _ => Ok(()),
    }
}
