//! The catalogue of one owner: an index of its packages, and one of its symbols.
//!
//! A publish writes the packages before it responds. The symbols need the documents of many cards, so they are written
//! after the response, and only if a provider has changed.

use std::cell::{Cell, RefCell};

use terrace_core::index::card::CardChange;
use terrace_core::index::catalog;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey};

use crate::concurrent::Boxed;
use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Condition, Facts as _, Host, Indices as _, Revision, StoreError};
use crate::index::catalog::cards;
use crate::index::catalog::cards::Cards;
use crate::index::expected_indices::Indexed;
use crate::index::index_writer;
use crate::index::index_writer::REFRESH_ROUNDS;
use crate::index::index_writer::Writing;

/// Number of attempts of a publish to write the catalogue of its owner before it responds, one second apart, because KV
/// allows one write per second to a key: people wait for no more than three seconds. The rest happens after the response.
pub(crate) const CATALOG_ROUNDS: u32 = 3;

/// Number of packages up to which an owner's catalogue is written before the response to a publish: building it
/// takes some 12 microseconds of CPU for each, and the free plan allows 10 ms in all. For larger owners it is written
/// after the response.
const CATALOG_CARDS_AT_ONCE: u32 = 200;

/// An index of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shard {
    /// Its packages.
    Packages,
    /// The symbols of its providers.
    Symbols,
}

impl Shard {
    pub(crate) const ALL: [Self; 2] = [Self::Packages, Self::Symbols];

    pub(crate) fn key(self, owner: &Owner) -> IndexKey {
        match self {
            Self::Packages => IndexKey::Catalog(owner.clone()),
            Self::Symbols => IndexKey::Symbols(owner.clone()),
        }
    }

    /// Returns the index that follows from the cards of an owner; `None` if there is none.
    async fn of<P: Host>(
        self,
        ctx: &Context<'_, P>,
        cards: &Cards,
    ) -> Result<Option<IndexDocument>, Failure> {
        if self == Self::Packages {
            let has_packages = !cards.lines.is_empty();
            return Ok(has_packages.then(|| catalog::catalog(&cards.lines)));
        }
        let symbols = cards.symbols(ctx).await?;
        Ok((!symbols.is_empty()).then(|| catalog::symbols(&symbols)))
    }
}

/// The cards that a refresh finds.
#[derive(Debug, Default)]
struct Listing {
    /// The number of packages that the owner may have; without one, any number.
    limit: Cell<Option<u32>>,
    /// Whether it has more, so that nothing was written.
    is_over: Cell<bool>,
    /// Whether any card has symbols, once they are listed.
    has_symbols: Cell<Option<bool>>,
    /// The revision of the owner's marker, if this request has just written it.
    since: RefCell<Option<Revision>>,
}

impl Listing {
    async fn list<P: Host>(
        &self,
        ctx: &Context<'_, P>,
        owner: &Owner,
    ) -> Result<Option<Cards>, Failure> {
        if self.is_over.get() {
            return Ok(None);
        }
        // An owner that grows while the refresh waits is not large yet.
        let cards = match self.limit.take() {
            Some(limit) => cards::of_small_owner(ctx, owner, limit).await?,
            None => Some(cards::of_owner(ctx, owner).await?),
        };
        self.is_over.set(cards.is_none());
        self.has_symbols
            .set(cards.as_ref().map(Cards::have_symbols));
        Ok(cards)
    }

    /// Returns whether the symbols have to be written after a change of a package.
    fn needs_symbols(&self, package: &Package, change: CardChange) -> bool {
        let is_provider = !matches!(package, Package::Module(_));
        is_provider && (change == CardChange::Shrunk || self.has_symbols.get() != Some(false))
    }
}

/// Returns an index of an owner; `None` if no card leads to it.
pub(crate) async fn index<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
    shard: Shard,
) -> Result<Option<IndexDocument>, Failure> {
    let cards = cards::of_owner(ctx, owner).await?;
    shard.of(ctx, &cards).await
}

/// Returns the indices that follow from the cards of an owner: none without cards.
pub(crate) async fn expected<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
    cards: &Cards,
) -> Result<Indexed, Failure> {
    let mut indices = Vec::new();
    for shard in Shard::ALL {
        let document = shard.of(ctx, cards).await?;
        indices.extend(document.map(|document| (shard.key(owner), document)));
    }
    Ok(indices)
}

/// Writes the catalogue of an owner after the card of a package has changed, or may have. It never fails its request, and
/// waits for other writers only for some seconds; the rest happens after the response.
pub(crate) async fn publish<P: Host>(ctx: &Context<'_, P>, package: &Package, change: CardChange) {
    let owner = Owner::of(package);
    let listing = Listing::default();
    listing.limit.set(Some(CATALOG_CARDS_AT_ONCE));
    let rounds = CATALOG_ROUNDS;
    let written = match mark_at_once(ctx, &owner).await {
        Ok(Some(marked)) => {
            listing.since.replace(Some(marked));
            write(ctx, &owner, Shard::Packages, change, rounds, &listing).await
        }
        Ok(None) => Ok(false),
        Err(failure) => Err(failure),
    };
    match written {
        Ok(true) if listing.needs_symbols(package, change) => {
            ctx.defer(Task::RefreshSymbols(owner, change));
        }
        Ok(true) => {}
        unfinished => {
            if let Err(failure) = unfinished {
                ctx.report(failure);
            }
            let has_listed = listing.has_symbols.get().is_some();
            // It may have written an index that has to be removed.
            let change = match has_listed {
                true => CardChange::Shrunk,
                false => change,
            };
            ctx.defer(Task::RefreshCatalog(package.clone(), change));
        }
    }
    ctx.defer(Task::MergeCatalog);
}

/// Writes the catalogue of an owner, after the response.
pub(crate) async fn publish_later<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    change: CardChange,
) -> Result<(), Failure> {
    let owner = Owner::of(package);
    let marker = FactKey::OwnerChange(owner.clone());
    let marked = index_writer::rewrite_change_marker(ctx, &marker).await?;
    let (rounds, listing) = (REFRESH_ROUNDS, Listing::default());
    listing.since.replace(marked);
    let written = write(ctx, &owner, Shard::Packages, change, rounds, &listing).await;
    if listing.needs_symbols(package, change) {
        ctx.defer(Task::RefreshSymbols(owner.clone(), change));
    }
    if !written? {
        ctx.host
            .log(&format!("contention: the catalogue of {owner}"));
    }
    Ok(())
}

/// Writes the symbols of an owner, after the response. A failed attempt is repeated once.
pub(crate) async fn publish_symbols<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
    change: CardChange,
) -> Result<(), Failure> {
    let rounds = REFRESH_ROUNDS;
    let written = match refresh(ctx, owner, Shard::Symbols, change, rounds).await {
        Ok(written) => written,
        Err(failure) => {
            ctx.report(failure);
            // It may have written an index that has to be removed.
            refresh(ctx, owner, Shard::Symbols, CardChange::Shrunk, rounds).await?
        }
    };
    if !written {
        ctx.host.log(&format!("contention: the symbols of {owner}"));
    }
    Ok(())
}

/// Changes the marker of an owner's cards, and returns its revision; `None` if another request has just done so: then this one
/// would have to wait.
async fn mark_at_once<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
) -> Result<Option<Revision>, Failure> {
    let key = FactKey::OwnerChange(owner.clone());
    let marker = ctx.change_marker();
    let written = ctx.host.facts().put(&key, &marker, &[], Condition::Any);
    match written.await {
        Ok(revision) => Ok(revision),
        Err(StoreError::Busy(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Writes an index of an owner until it is current. Returns `false` if `rounds` do not suffice.
pub(crate) async fn refresh<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
    shard: Shard,
    change: CardChange,
    rounds: u32,
) -> Result<bool, Failure> {
    write(ctx, owner, shard, change, rounds, &Listing::default()).await
}

/// Does the same as [`refresh`]. Returns `false` also if the owner has too many packages.
///
/// An index that does not follow from the cards any more is removed by the requests that may know of it: a request with a
/// card that leads to less than before, which therefore relies on no other request, and one that wrote the index in an
/// earlier round.
async fn write<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
    shard: Shard,
    change: CardChange,
    rounds: u32,
    listing: &Listing,
) -> Result<bool, Failure> {
    let has_shrunk = change == CardChange::Shrunk;
    let may_exist = Cell::new(has_shrunk);
    let key = shard.key(owner);
    let writing = match has_shrunk {
        true => Writing::alone(),
        false => Writing::coalesced(key.clone()),
    };
    let writing = writing.since(listing.since.take());
    let write = || -> Boxed<'_> {
        Box::pin(async {
            let Some(cards) = listing.list(ctx, owner).await? else {
                return Ok(());
            };
            match shard.of(ctx, &cards).await? {
                Some(document) => {
                    may_exist.set(true);
                    index_writer::write(ctx, &vec![(key.clone(), document)], &writing).await?;
                }
                None if may_exist.get() => ctx.host.indices().delete(&key).await?,
                None => {}
            }
            Ok(())
        })
    };
    let marker = FactKey::OwnerChange(owner.clone());
    let is_current = index_writer::within(ctx, &marker, &writing, rounds, &write).await?;
    Ok(is_current && !listing.is_over.get())
}

/// Returns the keys of an owner that do not follow from the cards, by its expected indices.
pub(crate) fn unexpected(owner: &Owner, expected: &Indexed) -> Vec<IndexKey> {
    let keys = Shard::ALL.map(|shard| shard.key(owner)).into_iter();
    keys.filter(|key| !expected.iter().any(|(expected, _)| expected == key))
        .collect()
}
