//! The catalogue of all owners, which a search without a namespace reads.
//!
//! It is rebuilt by one request at a time, in [turns](turn), because every publish changes it and the platform's plans allow few
//! writes. A rebuild is due if the marker of all cards differs from the record of the last rebuild. A publish, a search or
//! the scheduled event that finds it due rebuilds it after the response.
//!
//! A search that finds no catalogue in KV is answered with 503, and the catalogue is rebuilt after the response: a rebuild
//! reads all cards, which must not be the cost of each search. Only the first search of a registry waits for the first
//! catalogue, and those of the minute after a rebuild, when KV may not have it everywhere, read the cards.

use terrace_base::time::UnixTime;
use terrace_core::http::problem::Problem;
use terrace_core::index::catalog;
use terrace_core::limits;
use terrace_core::read::IndexForm;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey};

use crate::context::{Context, Task};
use crate::documents;
use crate::documents::format;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, Indices as _, Revision, StoreError};
use crate::index::catalog::cards;
use crate::index::catalog::cards::Cards;
use crate::index::catalog::turn;
use crate::index::expected_indices::Indexed;
use crate::index::index_writer;

/// Time after which every place sees a write of KV, in seconds
/// (<https://developers.cloudflare.com/kv/concepts/how-kv-works/>).
const SEEN_SECONDS: u64 = 60;

/// How long a change waits before each further look for its turn, in seconds. The platform ends a request half a minute after its
/// response.
const TURN_WAITS: [u32; 5] = [1, 2, 4, 5, 8];

/// Maximum length of the packages of a catalogue that is built for one answer, in bytes: the CPU of some 500 packages.
const LIVE_BYTES: usize = 256 * 1024;

/// The record of the last rebuild: the state of the marker that it followed, which is empty if no card has ever changed,
/// the number of parts, and the time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rebuild {
    change: String,
    parts: usize,
    at: UnixTime,
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
    if cards.listed.is_empty() {
        return Ok(Vec::new());
    }
    let symbols = cards.symbols(ctx).await?;
    let parts = catalog::merged(&cards.listed, &symbols);
    Ok(keys().zip(parts).collect())
}

/// Returns the parts of the merged catalogue for a search that did not find them in KV.
///
/// # Errors
/// If the registry had a catalogue, or another request is building the first one.
pub(crate) async fn after_miss<P: Host>(ctx: &Context<'_, P>) -> Result<Indexed, Failure> {
    match last_rebuild(ctx).await? {
        Some(Rebuild { parts: 0, .. }) => return Ok(Vec::new()),
        // KV may still answer here that there is none.
        Some(last) if !last.is_seen(ctx) => return expected(ctx).await,
        Some(_) => {
            ctx.defer(Task::BackfillIndex(IndexKey::MergedCatalog(1)));
            return Err(being_rebuilt().into());
        }
        None => {}
    }
    if !format::may_write(ctx).await? {
        return Err(being_rebuilt().into());
    }
    if cards::all(ctx).await?.listed.is_empty() {
        // A rebuild that has just begun has read no record either, and finds that another one is due.
        record(ctx, &Rebuild::new(ctx, String::new(), 0), Condition::Absent).await?;
        return Ok(Vec::new());
    }
    let rebuilt = rebuild_in_turn(ctx).await?;
    Ok(rebuilt.ok_or_else(being_rebuilt)?)
}

/// Returns the catalogue without symbols as it follows from the cards, if the stored one, whose packages have this length, may
/// lack some.
pub(crate) async fn live<P: Host>(
    ctx: &Context<'_, P>,
    stored_bytes: usize,
) -> Result<Option<Vec<IndexDocument>>, Failure> {
    if stored_bytes > LIVE_BYTES {
        return Ok(None);
    }
    let Some(change) = ctx.host.facts().revision(&FactKey::CatalogChange).await? else {
        return Ok(None);
    };
    let last = last_rebuild(ctx).await?;
    if last.is_some_and(|last| last.follows(&change) && last.is_seen(ctx)) {
        return Ok(None);
    }
    let cards = cards::all(ctx).await?;
    Ok(Some(catalog::merged(&cards.listed, &[])))
}

/// Returns the error for a search without a catalogue. A new one is visible after the cache time of lists.
fn being_rebuilt() -> Problem {
    let seconds = limits::LIST_CACHE_SECONDS;
    let message = format!(
        "the catalogue of this registry is being rebuilt: retry in {seconds} seconds, or name a namespace"
    );
    Problem::NotYet(message, u64::from(seconds))
}

/// Rebuilds the merged catalogue after the response, if that is due. An isolate checks this once a minute, and again if it could
/// not.
pub(crate) fn refresh_if_due<P: Host>(ctx: &Context<'_, P>) {
    let now = ctx.host.clock().now();
    if ctx.host.cache().is_catalog_check_due(now) {
        ctx.defer(Task::MergeCatalogIfDue);
    }
}

/// Rebuilds the merged catalogue after a card has changed. If the turn does not come soon, the scheduled event does it.
pub(crate) async fn after_change<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let marked = index_writer::rewrite_change_marker(ctx, &FactKey::CatalogChange).await;
    if marked.is_err() {
        record_due(ctx).await?;
    }
    let mut is_done = rebuild_in_turn(ctx).await?.is_some();
    for seconds in TURN_WAITS {
        if is_done {
            break;
        }
        ctx.host.clock().sleep(seconds).await;
        is_done = rebuild_if_due(ctx).await?;
    }
    Ok(marked?)
}

/// Rebuilds the merged catalogue if a card has changed since the last rebuild.
pub(crate) async fn if_due<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    if !rebuild_if_due(ctx).await? {
        ctx.host.cache().check_catalog_soon();
    }
    Ok(())
}

/// Returns `false` if a rebuild is due, and it is not the turn of this request.
async fn rebuild_if_due<P: Host>(ctx: &Context<'_, P>) -> Result<bool, Failure> {
    let facts = ctx.host.facts();
    let Some(change) = facts.revision(&FactKey::CatalogChange).await? else {
        return Ok(true);
    };
    let last = last_rebuild(ctx).await?;
    Ok(last.is_some_and(|last| last.follows(&change)) || rebuild_in_turn(ctx).await?.is_some())
}

/// Rebuilds the merged catalogue and returns its parts; `None` if it is not the turn of this request. After a failure, it is
/// nobody's turn for a while.
pub(crate) async fn rebuild_in_turn<P: Host>(
    ctx: &Context<'_, P>,
) -> Result<Option<Indexed>, Failure> {
    let Some(turn) = turn::take(ctx).await? else {
        return Ok(None);
    };
    // Cards that change meanwhile are left to the next turn.
    let parts = rebuild(ctx).await?;
    turn::end(ctx, turn).await?;
    Ok(Some(parts))
}

/// Rebuilds the merged catalogue, which differs from the cards. If it is not the turn of this request, another one may be about to
/// write older parts: then the catalogue is rebuilt at once, and again later.
pub(crate) async fn repair<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    if rebuild_in_turn(ctx).await?.is_some() {
        return Ok(());
    }
    record_due(ctx).await?;
    write(ctx, &expected(ctx).await?).await
}

/// Rebuilds the merged catalogue, and records the change that it follows. Returns its parts.
///
/// A request may outlive its turn, and replace the parts of another one by older ones. Then one of the two finds that the
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
    let change = change.map_or_else(String::new, |Revision(change)| change);
    let rebuild = Rebuild::new(ctx, change, parts.len());
    record(ctx, &rebuild, condition).await?;
    Ok(parts)
}

/// Records that a rebuild is due, whatever the last change is.
async fn record_due<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let rebuild = Rebuild {
        change: String::new(),
        // A search that finds no catalogue then begins a rebuild.
        parts: 1,
        at: UnixTime(0),
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
    fn new<P: Host>(ctx: &Context<'_, P>, change: String, parts: usize) -> Self {
        let at = ctx.host.clock().now();
        Self { change, parts, at }
    }

    fn follows(&self, change: &Revision) -> bool {
        self.change == change.0
    }

    /// Returns whether KV has it at every place.
    fn is_seen<P: Host>(&self, ctx: &Context<'_, P>) -> bool {
        let now = ctx.host.clock().now();
        self.at > now || now.since(self.at) >= SEEN_SECONDS
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = str::from_utf8(bytes).ok()?.splitn(3, ' ');
        let parts = fields.next()?.parse().ok();
        let parts = parts.filter(|it| *it <= limits::CATALOG_PARTS)?;
        let at = UnixTime(fields.next()?.parse().ok()?);
        let change = fields.next()?.to_owned();
        Some(Self { change, parts, at })
    }

    fn to_text(&self) -> String {
        format!("{} {} {}", self.parts, self.at.0, self.change)
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
            at: UnixTime(17),
        };
        assert_eq!(rebuild.to_text(), "2 17 7e3f", "this needs a migration");
        assert_eq!(Rebuild::parse(b"2 17 7e3f"), Some(rebuild));
        let empty = Rebuild {
            change: String::new(),
            parts: 0,
            at: UnixTime(17),
        };
        assert_eq!(empty.to_text(), "0 17 ", "this needs a migration");
        assert_eq!(Rebuild::parse(b"0 17 "), Some(empty));
        for text in ["", "2", "2 17", "x 17 7e3f", "200 17 7e3f"] {
            assert_eq!(Rebuild::parse(text.as_bytes()), None, "{text}");
        }
    }
}
