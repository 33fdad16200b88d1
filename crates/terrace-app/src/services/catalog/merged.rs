//! The catalogue of all owners, which a search without a namespace reads.
//!
//! It is rebuilt at most once a minute, under a lease, because every publish changes it and the platform's plans allow few
//! writes. A rebuild is due if the marker of all cards differs from the record of the last rebuild. A publish, a search or
//! the repair that finds it due rebuilds it after the response.

use terrace_core::index::catalog;
use terrace_core::limits;
use terrace_core::read::IndexForm;
use terrace_core::storage::key::{FactKey, IndexKey, Lease};

use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, Indices as _};
use crate::services::catalog::cards;
use crate::services::expected_indices::Indexed;
use crate::services::lease::LeaseState;
use crate::services::{documents, index_writer, lease};

/// Returns the parts of the merged catalogue: none without cards.
pub(crate) async fn expected<P: Host>(ctx: &Context<'_, P>) -> Result<Indexed, Failure> {
    let cards = cards::all(ctx).await?;
    if cards.lines.is_empty() {
        return Ok(Vec::new());
    }
    let symbols = cards.symbols(ctx).await?;
    let parts = catalog::merged(&cards.lines, &symbols);
    Ok(keys().zip(parts).collect())
}

/// Rebuilds the merged catalogue after the response, if that is due. An isolate checks this at most once a minute.
pub(crate) fn refresh_if_due<P: Host>(ctx: &Context<'_, P>) {
    let now = ctx.host.clock().now();
    if ctx.host.cache().is_catalog_check_due(now) {
        ctx.defer(Task::MergeCatalogIfDue);
    }
}

/// Rebuilds the merged catalogue after a card has changed, unless that has happened within the last minute.
pub(crate) async fn after_change<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let marked = index_writer::rewrite_change_marker(ctx, &FactKey::CatalogChange).await;
    if marked.is_err() {
        record(ctx, NO_CHANGE, Condition::Any).await?;
    }
    rebuild_in_turn(ctx).await?;
    Ok(marked?)
}

/// Rebuilds the merged catalogue if a card has changed since the last rebuild.
pub(crate) async fn if_due<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let facts = ctx.host.facts();
    let Some(change) = facts.revision(&FactKey::CatalogChange).await? else {
        return Ok(());
    };
    let last = facts.get(&record_key()).await?;
    if last.is_none_or(|last| last.bytes != change.0.as_bytes()) {
        rebuild_in_turn(ctx).await?;
    }
    Ok(())
}

/// Rebuilds the merged catalogue if no other request has done so within the last minute, and returns whether it did. The
/// lease is not returned, and outlives its request, so that no two of them write at the same time.
pub(crate) async fn rebuild_in_turn<P: Host>(ctx: &Context<'_, P>) -> Result<bool, Failure> {
    match lease::acquire(ctx, &Lease::Catalog).await? {
        LeaseState::Acquired => {}
        LeaseState::HeldByOther | LeaseState::Paused => return Ok(false),
    }
    // Cards that change meanwhile are left to the next minute.
    let rebuilt = rebuild(ctx).await;
    lease::pause_after_failure(ctx, &Lease::Catalog, rebuilt).await?;
    Ok(true)
}

/// Rebuilds the merged catalogue, which differs from the cards. If another request has the lease, that request may be
/// about to write older parts: then the catalogue is rebuilt without the lease, and again when the lease ends.
pub(crate) async fn repair<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    if rebuild_in_turn(ctx).await? {
        return Ok(());
    }
    record(ctx, NO_CHANGE, Condition::Any).await?;
    write(ctx, &expected(ctx).await?).await
}

/// Rebuilds the merged catalogue, and records the change that it follows.
///
/// A request may outlive its lease, and replace the parts of another one by older ones. Then one of the two finds that the
/// marker has changed, or that the record has, and the record does not name the newest change: a rebuild is due.
async fn rebuild<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let facts = ctx.host.facts();
    let last = facts.get(&record_key()).await?;
    let Some(change) = facts.revision(&FactKey::CatalogChange).await? else {
        return write(ctx, &expected(ctx).await?).await;
    };
    write(ctx, &expected(ctx).await?).await?;
    let is_newest = facts.revision(&FactKey::CatalogChange).await?.as_ref() == Some(&change);
    let condition = match last {
        _ if !is_newest => Condition::Any,
        Some(last) => Condition::Unchanged(last.etag),
        None => Condition::Absent,
    };
    record(ctx, &change.0, condition).await
}

async fn record<P: Host>(
    ctx: &Context<'_, P>,
    change: &str,
    condition: Condition,
) -> Result<(), Failure> {
    documents::put(ctx, &record_key(), change, &[], condition).await?;
    Ok(())
}

/// Writes the parts, and removes those of a larger catalogue.
async fn write<P: Host>(ctx: &Context<'_, P>, parts: &Indexed) -> Result<(), Failure> {
    let indices = ctx.host.indices();
    for (key, document) in parts {
        let put = async || Ok(indices.put(key, document).await?);
        documents::retry_while_busy(ctx, put).await?;
    }
    for key in keys().skip(parts.len()) {
        let stored = indices.get(&key, IndexForm::Stream, limits::LIST_CACHE_SECONDS);
        if stored.await?.is_none() {
            break;
        }
        indices.delete(&key).await?;
    }
    Ok(())
}

/// Returns the keys of all parts that a catalogue may have.
fn keys() -> impl Iterator<Item = IndexKey> {
    (1..=u8::MAX)
        .map(IndexKey::MergedCatalog)
        .take(limits::CATALOG_PARTS)
}

/// The contents of the record if a rebuild is due whatever the last change is.
const NO_CHANGE: &str = "";

/// Returns the key of the record of the last rebuild: the change that it followed.
fn record_key() -> FactKey {
    FactKey::Written(IndexKey::MergedCatalog(1))
}
