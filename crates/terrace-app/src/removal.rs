//! Removals of bytes from both buckets, for erasures. Those from the second bucket come last, and fail no request, because that bucket
//! may not answer: until then everything is removed from the main one, and nothing leads to the copies.
//!
//! The scheduled copy removes those that are left: the bytes have a tombstone, or the mark *removing*.
//!
//! Of the verbs here and in [`crate::erasure`]:
//! - *erase*: the request of an administrator, after which something is gone and never returns; it does all of the following
//! - *bury*: replaces a release, or the mark of bytes, by a tombstone, which nothing removes
//! - *discard*: removes bytes, and what follows from them, from the main bucket, and notes their copies
//! - *remove*: deletes one thing that may be stored again: a mark, an index, a copy
//! - *withdraw*: makes what is still answered from an index, a cache or a copy disappear
//! - *purge*: the same for the platform's cache of archives, by digest

pub(crate) mod garbage;
pub(crate) mod handler;

use std::cell::RefCell;
use std::rc::Rc;

use terrace_core::limits;
use terrace_core::model::oci::Digest;
use terrace_core::storage::fallback::FallbackBucket;
use terrace_core::storage::key::BytesKey;

use crate::concurrent;
use crate::concurrent::{Boxed, CONCURRENT_ACTIONS};
use crate::context::Context;
use crate::documents::{failures, fallback_requests};
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Host};

/// The copies that a request removes.
#[derive(Debug, Default)]
struct CopyRemovals {
    due: RefCell<Vec<BytesKey>>,
    /// The keys of those that could not be removed.
    left: RefCell<Vec<String>>,
}

/// Removes copies of bytes from the platform's cache of archives, if it is used. If that fails, they stay in it: no request is answered
/// with those that have a tombstone.
pub(crate) async fn purge_cached<P: Host>(ctx: &Context<'_, P>, removed: &[Digest]) {
    if removed.is_empty() {
        return;
    }
    if let Err(error) = ctx.host.purge(removed).await {
        ctx.host.log(&format!(
            "cache of archives: {error}: copies of removed archives stay in it; erased ones are not served from it"
        ));
    }
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

/// Removes bytes that have a tombstone from the main bucket, and notes the removal of their copy (see [`remove_copies`]).
pub(crate) async fn discard_everywhere<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<(), Failure> {
    ctx.host.archives().discard(bytes).await?;
    defer(ctx, bytes);
    Ok(())
}

/// Does the same for bytes without a tombstone, because others were erased to which they belong. If there is a second bucket, their
/// mark becomes *removing* first, and stays: a copy that is left, or that arrives later, is found by it.
pub(crate) async fn discard_unburied<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<(), Failure> {
    if ctx.config.fallback.is_none() {
        ctx.host.archives().discard(bytes).await?;
        return Ok(());
    }
    garbage::mark_removal(ctx, bytes).await?;
    discard_everywhere(ctx, bytes).await
}

/// Notes that a copy is to be removed: of bytes that have a tombstone, or that are marked as being removed.
fn defer<P: Host>(ctx: &Context<'_, P>, key: BytesKey) {
    if ctx.config.fallback.is_some() {
        removals(ctx).due.borrow_mut().push(key);
    }
}

/// Removes the noted copies. After the first failure, and after a time, the others are left: the bucket may not answer.
pub(crate) async fn remove_copies<P: Host>(ctx: &Context<'_, P>) {
    let Some(fallback) = &ctx.config.fallback else {
        return;
    };
    let removals = removals(ctx);
    let due = removals.due.take();
    if due.is_empty() {
        return;
    }
    let began = ctx.host.clock().now();
    let seconds = limits::COPY_REMOVAL_SECONDS;
    let usable = fallback_requests::ensure_without_documents(ctx, fallback, seconds).await;
    if let Err(failure) = usable {
        failures::log(ctx, "removal of copies", failure);
        let keys = due.iter().map(BytesKey::to_string);
        return removals.left.borrow_mut().extend(keys);
    }
    for some in due.chunks(CONCURRENT_ACTIONS) {
        let is_late = ctx.host.clock().now().since(began) > limits::COPY_REMOVALS_SECONDS;
        let is_pointless = is_late || !removals.left.borrow().is_empty();
        if is_pointless {
            let keys = some.iter().map(BytesKey::to_string);
            removals.left.borrow_mut().extend(keys);
            continue;
        }
        let actions = some
            .iter()
            .map(|key| -> Boxed<'_> { Box::pin(remove_copy(ctx, fallback, *key, &removals.left)) });
        if let Err(failure) = concurrent::all(actions.collect()).await {
            ctx.report(failure);
        }
    }
}

/// Returns the keys of the copies that this request could not remove.
pub(crate) fn left<P: Host>(ctx: &Context<'_, P>) -> Vec<String> {
    let removals: Option<Rc<CopyRemovals>> = ctx.recall();
    removals.map_or_else(Vec::new, |removals| removals.left.borrow().clone())
}

fn removals<P: Host>(ctx: &Context<'_, P>) -> Rc<CopyRemovals> {
    ctx.recall().unwrap_or_else(|| {
        ctx.remember(CopyRemovals::default());
        ctx.recall().unwrap_or_default()
    })
}

/// Removes a copy, or adds its key to those that are left.
async fn remove_copy<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    key: BytesKey,
    left: &RefCell<Vec<String>>,
) -> Result<(), Failure> {
    let seconds = limits::COPY_REMOVAL_SECONDS;
    if let Err(failure) = fallback_requests::remove(ctx, fallback, key, seconds).await {
        failures::log(ctx, "removal of copies", failure);
        left.borrow_mut().push(key.to_string());
    }
    Ok(())
}
