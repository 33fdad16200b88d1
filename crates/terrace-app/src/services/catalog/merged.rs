//! The catalogue of all owners, which a search without a namespace reads.
//!
//! It is rebuilt at most once a minute, under a lease, because every publish changes it and the platform's plans allow few
//! writes. A rebuild is due if the marker of all cards differs from the record of the last rebuild. A publish, a search or
//! the repair that finds it due rebuilds it after the response.

use terrace_core::index::catalog;
use terrace_core::limits;
use terrace_core::storage::key::{FactKey, IndexKey, Lease};

use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, Indices as _, Revision, StoreError};
use crate::services::catalog::cards;
use crate::services::expected_indices::Indexed;
use crate::services::lease::LeaseState;
use crate::services::{documents, index_writer, lease};

/// The record of the last rebuild: the state of the marker that it followed, and the number of parts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rebuild {
    change: String,
    parts: usize,
}

/// Returns the parts of the merged catalogue: none without cards.
pub(crate) async fn expected<P: Host>(ctx: &Context<'_, P>) -> Result<Indexed, Failure> {
    let cards = cards::all(ctx).await?;
    if cards.lines.is_empty() {
        return Ok(Vec::new());
    }
    let symbols = cards.symbols(ctx).await?;
    let parts = catalog::merged(&cards.lines, &symbols).into_iter();
    let keys = (1..=u8::MAX).map(IndexKey::MergedCatalog);
    Ok(keys.zip(parts).collect())
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
    index_writer::rewrite_change_marker(ctx, &FactKey::CatalogChange).await?;
    rebuild_in_turn(ctx).await
}

/// Rebuilds the merged catalogue if a card has changed since the last rebuild.
pub(crate) async fn if_due<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let change = ctx.host.facts().revision(&FactKey::CatalogChange).await?;
    let last = last_rebuild(ctx).await?;
    match change {
        Some(change) if last.is_none_or(|last| last.change != change.0) => {
            rebuild_in_turn(ctx).await
        }
        _ => Ok(()),
    }
}

/// Rebuilds the merged catalogue if no other request has done so within the last minute. The lease is not returned, and
/// outlives its request, so that no two of them write at the same time.
pub(crate) async fn rebuild_in_turn<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    match lease::acquire(ctx, &Lease::Catalog).await? {
        LeaseState::Acquired => {}
        LeaseState::HeldByOther | LeaseState::Paused => return Ok(()),
    }
    // Cards that change meanwhile are left to the next minute.
    let rebuilt = rebuild(ctx, 1).await;
    lease::pause_after_failure(ctx, &Lease::Catalog, rebuilt).await
}

/// Rebuilds the merged catalogue, and again while cards change, at most `rounds` times.
pub(crate) async fn rebuild<P: Host>(ctx: &Context<'_, P>, rounds: u32) -> Result<(), Failure> {
    let facts = ctx.host.facts();
    for _ in 0..rounds {
        let before = facts.revision(&FactKey::CatalogChange).await?;
        let parts = expected(ctx).await?;
        write(ctx, &parts).await?;
        if facts.revision(&FactKey::CatalogChange).await? == before {
            return record(ctx, before, parts.len()).await;
        }
    }
    Ok(())
}

/// Writes the parts, and removes those of a larger catalogue.
async fn write<P: Host>(ctx: &Context<'_, P>, parts: &Indexed) -> Result<(), Failure> {
    let indices = ctx.host.indices();
    for (key, document) in parts {
        let put = async || Ok(indices.put(key, document).await?);
        documents::retry_while_busy(ctx, put).await?;
    }
    let last = last_rebuild(ctx).await?;
    for stale in parts.len()..last.map_or(parts.len(), |last| last.parts) {
        let part = u8::try_from(stale + 1).map_err(Failure::corrupt)?;
        indices.delete(&IndexKey::MergedCatalog(part)).await?;
    }
    Ok(())
}

/// Returns the number of parts of the last rebuild, if it is known.
pub(crate) async fn parts<P: Host>(ctx: &Context<'_, P>) -> Result<Option<usize>, Failure> {
    Ok(last_rebuild(ctx).await?.map(|last| last.parts))
}

fn record_key() -> FactKey {
    FactKey::Written(IndexKey::MergedCatalog(1))
}

async fn last_rebuild<P: Host>(ctx: &Context<'_, P>) -> Result<Option<Rebuild>, StoreError> {
    let stored = ctx.host.facts().get(&record_key()).await?;
    Ok(stored.and_then(|fact| Rebuild::parse(&fact.bytes)))
}

async fn record<P: Host>(
    ctx: &Context<'_, P>,
    change: Option<Revision>,
    parts: usize,
) -> Result<(), Failure> {
    let Some(Revision(change)) = change else {
        return Ok(());
    };
    let text = Rebuild { change, parts }.to_text();
    documents::put(ctx, &record_key(), &text, &[], Condition::Any).await?;
    Ok(())
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
        for text in ["", "2", "x 7e3f", "200 7e3f"] {
            assert_eq!(Rebuild::parse(text.as_bytes()), None, "{text}");
        }
    }
}
