//! The catalogue of one owner.

use std::cell::RefCell;

use terrace_core::index::card::CardChange;
use terrace_core::index::catalog;
use terrace_core::limits;
use terrace_core::model::owner::Owner;
use terrace_core::storage::key::{FactKey, IndexKey};

use crate::concurrent::Boxed;
use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Condition, Facts as _, Host, Indices as _, StoreError};
use crate::services::catalog::cards;
use crate::services::expected_indices::Indexed;
use crate::services::index_writer;
use crate::services::index_writer::Coalesced;

/// Returns the indices that follow from the cards of an owner: none without cards.
pub(crate) async fn expected<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
) -> Result<Indexed, Failure> {
    let cards = cards::of_owner(ctx, owner).await?;
    if cards.lines.is_empty() {
        return Ok(Vec::new());
    }
    let lines = catalog::catalog(&cards.lines);
    let mut indices = vec![(IndexKey::Catalog(owner.clone()), lines)];
    let symbols = cards.symbols(ctx).await?;
    if !symbols.is_empty() {
        let symbols = catalog::symbols(&symbols);
        indices.push((IndexKey::Symbols(owner.clone()), symbols));
    }
    Ok(indices)
}

/// Writes the catalogue of an owner after a card has changed, or may have. It never fails its request, and waits for other
/// writers only for some seconds; the rest happens after the response.
pub(crate) async fn publish<P: Host>(ctx: &Context<'_, P>, owner: Owner, change: CardChange) {
    let left = match mark_at_once(ctx, &owner).await {
        Ok(true) => match refresh(ctx, &owner, change, limits::CATALOG_ROUNDS).await {
            Ok(true) => None,
            // It may have written indices that have to be removed.
            unfinished => Some((CardChange::Shrunk, unfinished.err())),
        },
        unmarked => Some((change, unmarked.err())),
    };
    if let Some((change, failure)) = left {
        if let Some(failure) = failure {
            ctx.report(failure);
        }
        ctx.defer(Task::RefreshCatalog(owner, change));
    }
    ctx.defer(Task::MergeCatalog);
}

/// Writes the catalogue of an owner, after the response.
pub(crate) async fn publish_later<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
    change: CardChange,
) -> Result<(), Failure> {
    let marker = FactKey::OwnerChange(owner.clone());
    index_writer::rewrite_change_marker(ctx, &marker).await?;
    if !refresh(ctx, owner, change, limits::REFRESH_ROUNDS).await? {
        ctx.host
            .log(&format!("contention: the catalogue of {owner}"));
    }
    Ok(())
}

/// Changes the marker of an owner's cards. Returns `false` if another request has just done so: then this one would have
/// to wait.
async fn mark_at_once<P: Host>(ctx: &Context<'_, P>, owner: &Owner) -> Result<bool, Failure> {
    let key = FactKey::OwnerChange(owner.clone());
    let marker = ctx.change_marker();
    let written = ctx.host.facts().put(&key, &marker, &[], Condition::Any);
    match written.await {
        Ok(_) => Ok(true),
        Err(StoreError::Busy(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Writes the catalogue of an owner until it is current. Returns `false` if `rounds` do not suffice.
///
/// Indices that do not follow from the cards any more are removed by the requests that may know of them: one whose card
/// leads to less than before, which therefore relies on no other request, and one that wrote them in an earlier round.
pub(crate) async fn refresh<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
    change: CardChange,
    rounds: u32,
) -> Result<bool, Failure> {
    let has_shrunk = change == CardChange::Shrunk;
    let known = RefCell::new(match has_shrunk {
        true => keys(owner).into(),
        false => Vec::new(),
    });
    let shared = Coalesced::new(IndexKey::Catalog(owner.clone()));
    let write = || -> Boxed<'_> {
        Box::pin(async {
            let indices = expected(ctx, owner).await?;
            let stale = stale(&known.borrow(), &indices);
            known
                .borrow_mut()
                .extend(indices.iter().map(|(key, _)| key.clone()));
            index_writer::write(ctx, &indices, &shared).await?;
            for key in stale {
                ctx.host.indices().delete(&key).await?;
            }
            Ok(())
        })
    };
    let marker = FactKey::OwnerChange(owner.clone());
    let shared = Some(&shared).filter(|_| !has_shrunk);
    index_writer::coalesced_within(ctx, &marker, shared, rounds, &write).await
}

/// Returns the keys of all indices that an owner may have.
fn keys(owner: &Owner) -> [IndexKey; 2] {
    [
        IndexKey::Catalog(owner.clone()),
        IndexKey::Symbols(owner.clone()),
    ]
}

/// Returns the keys of an owner that do not follow from the cards, by its expected indices.
pub(crate) fn unexpected(owner: &Owner, expected: &Indexed) -> Vec<IndexKey> {
    stale(&keys(owner), expected)
}

/// Returns the keys that are not expected.
fn stale(keys: &[IndexKey], expected: &Indexed) -> Vec<IndexKey> {
    let is_expected = |key: &&IndexKey| expected.iter().any(|(expected, _)| expected == *key);
    keys.iter()
        .filter(|key| !is_expected(key))
        .cloned()
        .collect()
}
