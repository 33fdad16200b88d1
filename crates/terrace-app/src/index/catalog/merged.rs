//! The catalogue of all owners, which a search without a namespace reads.
//!
//! It is rebuilt at most once a minute, under a lease, because every publish changes it and the platform's plans allow few
//! writes. A rebuild is due if the marker of all cards differs from the record of the last rebuild. A publish, a search or
//! the repair that finds it due rebuilds it after the response.
//!
//! A search that finds no catalogue in KV is answered with 503, and the catalogue is rebuilt after the response: a rebuild
//! reads all cards, which must not be the cost of each search. Only the first search of a registry waits for the first
//! catalogue.

use terrace_core::http::problem::Problem;
use terrace_core::index::catalog;
use terrace_core::limits;
use terrace_core::read::IndexForm;
use terrace_core::storage::key::{FactKey, IndexKey, Lease};

use crate::context::{Context, Task};
use crate::documents;
use crate::documents::lease::LeaseState;
use crate::documents::{format, lease};
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, Indices as _, Revision, StoreError};
use crate::index::catalog::cards;
use crate::index::catalog::cards::Cards;
use crate::index::expected_indices::Indexed;
use crate::index::index_writer;

/// The record of the last rebuild: the state of the marker that it followed, which is empty if no card has ever changed,
/// and the number of parts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rebuild {
    change: String,
    parts: usize,
}

/// Returns the parts of the merged catalogue: none without cards.
pub(crate) async fn expected<P: Host>(ctx: &Context<'_, P>) -> Result<Indexed, Failure> {
    of_cards(ctx, &cards::all(ctx).await?).await
}

/// Returns the parts that follow from all cards.
pub(crate) async fn of_cards<P: Host>(
    ctx: &Context<'_, P>,
    cards: &Cards,
) -> Result<Indexed, Failure> {
    if cards.lines.is_empty() {
        return Ok(Vec::new());
    }
    let symbols = cards.symbols(ctx).await?;
    let parts = catalog::merged(&cards.lines, &symbols);
    Ok(keys().zip(parts).collect())
}

/// Returns the parts of the merged catalogue for a search that did not find them in KV.
///
/// # Errors
/// If the registry had a catalogue, or another request is building the first one.
pub(crate) async fn after_miss<P: Host>(ctx: &Context<'_, P>) -> Result<Indexed, Failure> {
    match last_rebuild(ctx).await? {
        Some(Rebuild { parts: 0, .. }) => return Ok(Vec::new()),
        Some(_) => {
            ctx.defer(Task::BackfillIndex(IndexKey::MergedCatalog(1)));
            return Err(being_rebuilt().into());
        }
        None => {}
    }
    if !format::may_write(ctx).await? || !is_our_turn(ctx).await? {
        return Err(being_rebuilt().into());
    }
    let rebuilt = rebuild(ctx).await;
    lease::pause_after_failure(ctx, &Lease::Catalog, rebuilt).await
}

/// Returns the error for a search without a catalogue. A new one is visible after the cache time of lists.
fn being_rebuilt() -> Problem {
    let seconds = limits::LIST_CACHE_SECONDS;
    let message = format!(
        "the catalogue of this registry is being rebuilt: retry in {seconds} seconds, or name a namespace"
    );
    Problem::NotYet(message, u64::from(seconds))
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
        record_due(ctx).await?;
    }
    rebuild_in_turn(ctx).await?;
    Ok(marked.map(drop)?)
}

/// Rebuilds the merged catalogue if a card has changed since the last rebuild.
pub(crate) async fn if_due<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let facts = ctx.host.facts();
    let Some(Revision(change)) = facts.revision(&FactKey::CatalogChange).await? else {
        return Ok(());
    };
    if last_rebuild(ctx)
        .await?
        .is_none_or(|last| last.change != change)
    {
        rebuild_in_turn(ctx).await?;
    }
    Ok(())
}

/// Rebuilds the merged catalogue if no other request has done so within the last minute, and returns whether it did. The
/// lease is not returned, and outlives its request, so that no two of them write at the same time.
pub(crate) async fn rebuild_in_turn<P: Host>(ctx: &Context<'_, P>) -> Result<bool, Failure> {
    if !is_our_turn(ctx).await? {
        return Ok(false);
    }
    // Cards that change meanwhile are left to the next minute.
    let rebuilt = rebuild(ctx).await.map(drop);
    lease::pause_after_failure(ctx, &Lease::Catalog, rebuilt).await?;
    Ok(true)
}

/// Returns whether this request took the lease of rebuilds.
async fn is_our_turn<P: Host>(ctx: &Context<'_, P>) -> Result<bool, Failure> {
    Ok(match lease::acquire(ctx, &Lease::Catalog).await? {
        LeaseState::Acquired => true,
        LeaseState::HeldByOther | LeaseState::Paused => false,
    })
}

/// Rebuilds the merged catalogue, which differs from the cards. If another request has the lease, that request may be
/// about to write older parts: then the catalogue is rebuilt without the lease, and again when the lease ends.
pub(crate) async fn repair<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    if rebuild_in_turn(ctx).await? {
        return Ok(());
    }
    record_due(ctx).await?;
    write(ctx, &expected(ctx).await?).await
}

/// Rebuilds the merged catalogue, and records the change that it follows. Returns its parts.
///
/// A request may outlive its lease, and replace the parts of another one by older ones. Then one of the two finds that the
/// marker has changed, or that the record has, and the record does not name the newest change: a rebuild is due.
async fn rebuild<P: Host>(ctx: &Context<'_, P>) -> Result<Indexed, Failure> {
    let facts = ctx.host.facts();
    let last = facts.get(&record_key()).await?;
    let change = facts.revision(&FactKey::CatalogChange).await?;
    let parts = expected(ctx).await?;
    write(ctx, &parts).await?;
    let is_newest = facts.revision(&FactKey::CatalogChange).await? == change;
    let condition = match last {
        _ if !is_newest => Condition::Any,
        Some(last) => Condition::Unchanged(last.etag),
        None => Condition::Absent,
    };
    let rebuild = Rebuild {
        change: change.map_or_else(String::new, |Revision(change)| change),
        parts: parts.len(),
    };
    record(ctx, &rebuild, condition).await?;
    Ok(parts)
}

/// Records that a rebuild is due, whatever the last change is.
async fn record_due<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let rebuild = Rebuild {
        change: String::new(),
        // A search that finds no catalogue then begins a rebuild.
        parts: 1,
    };
    record(ctx, &rebuild, Condition::Any).await
}

async fn record<P: Host>(
    ctx: &Context<'_, P>,
    rebuild: &Rebuild,
    condition: Condition,
) -> Result<(), Failure> {
    documents::put(ctx, &record_key(), &rebuild.to_text(), &[], condition).await?;
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

/// Returns the key of the record of the last rebuild: the change that it followed.
fn record_key() -> FactKey {
    FactKey::Written(IndexKey::MergedCatalog(1))
}

async fn last_rebuild<P: Host>(ctx: &Context<'_, P>) -> Result<Option<Rebuild>, StoreError> {
    let stored = ctx.host.facts().get(&record_key()).await?;
    Ok(stored.and_then(|fact| Rebuild::parse(&fact.bytes)))
}

impl Rebuild {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (parts, change) = str::from_utf8(bytes).ok()?.split_once(' ')?;
        let parts = parts
            .parse()
            .ok()
            .filter(|it| *it <= limits::CATALOG_PARTS)?;
        let change = change.to_owned();
        Some(Self { change, parts })
    }

    fn to_text(&self) -> String {
        format!("{} {}", self.parts, self.change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Workers of before and after a deployment must understand each other's records.
    #[test]
    fn the_record_of_a_rebuild_is_pinned() {
        let rebuild = Rebuild {
            change: "7e3f".to_owned(),
            parts: 2,
        };
        assert_eq!(rebuild.to_text(), "2 7e3f", "this needs a migration");
        assert_eq!(Rebuild::parse(b"2 7e3f"), Some(rebuild));
        let empty = Rebuild {
            change: String::new(),
            parts: 0,
        };
        assert_eq!(empty.to_text(), "0 ", "this needs a migration");
        assert_eq!(Rebuild::parse(b"0 "), Some(empty));
        for text in ["", "2", "x 7e3f", "200 7e3f"] {
            assert_eq!(Rebuild::parse(text.as_bytes()), None, "{text}");
        }
    }
}
