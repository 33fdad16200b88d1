//! The catalogue of one owner: an index of its packages, and one of its symbols.
//!
//! Both are written after the response to a publish: the symbols need the documents of many cards, and only if a provider has
//! changed.

use std::cell::Cell;

use terrace_core::index::card::CardChange;
use terrace_core::index::catalog;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey};

use crate::concurrent::Boxed;
use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Host, Indices as _};
use crate::index::catalog::cards;
use crate::index::catalog::cards::Cards;
use crate::index::expected_indices::Indexed;
use crate::index::index_writer;
use crate::index::index_writer::Writing;

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
            let has_packages = !cards.listed.is_empty();
            return Ok(has_packages.then(|| catalog::catalog(&cards.listed)));
        }
        let symbols = cards.symbols(ctx).await?;
        Ok((!symbols.is_empty()).then(|| catalog::symbols(&symbols)))
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

/// Has the catalogues written after the response, because the card of a package has changed, or may have.
pub(crate) fn publish_later<P: Host>(ctx: &Context<'_, P>, package: &Package, change: CardChange) {
    ctx.defer(Task::RefreshCatalog(package.clone(), change));
    ctx.defer(Task::MergeCatalog);
}

/// Writes the catalogue of an owner after the card of a package has changed. A failed attempt is repeated once.
pub(crate) async fn publish<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    change: CardChange,
) -> Result<(), Failure> {
    match try_publish(ctx, package, change).await {
        Err(failure) => {
            ctx.report(failure);
            // It may have written an index that has to be removed.
            try_publish(ctx, package, CardChange::Shrunk).await
        }
        published => published,
    }
}

async fn try_publish<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    change: CardChange,
) -> Result<(), Failure> {
    let owner = Owner::of(package);
    let marker = FactKey::OwnerChange(owner.clone());
    index_writer::rewrite_change_marker(ctx, &marker).await?;
    for shard in Shard::ALL {
        let is_affected = shard == Shard::Packages || !matches!(package, Package::Module(_));
        if is_affected && !refresh(ctx, &owner, shard, change).await? {
            let key = shard.key(&owner);
            ctx.host.log(&format!("contention: {key}"));
        }
    }
    Ok(())
}

/// Writes an index of an owner until it is current. Returns `false` if that does not end.
///
/// An index that does not follow from the cards any more is removed by the requests that may know of it: a request with a
/// card that leads to less than before, which therefore relies on no other request, and one that wrote the index in an
/// earlier round.
pub(crate) async fn refresh<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
    shard: Shard,
    change: CardChange,
) -> Result<bool, Failure> {
    let has_shrunk = change == CardChange::Shrunk;
    let may_exist = Cell::new(has_shrunk);
    let key = shard.key(owner);
    let writing = match has_shrunk {
        true => Writing::alone(),
        false => Writing::coalesced(key.clone()),
    };
    let write = || -> Boxed<'_> {
        Box::pin(async {
            let cards = cards::of_owner(ctx, owner).await?;
            match shard.of(ctx, &cards).await? {
                Some(document) => {
                    may_exist.set(true);
                    writing.put(ctx, &key, &document).await?;
                }
                None if may_exist.get() => ctx.host.indices().delete(&key).await?,
                None => {}
            }
            Ok(())
        })
    };
    let marker = FactKey::OwnerChange(owner.clone());
    index_writer::until_current(ctx, &marker, &writing, &write).await
}

/// Returns the keys of an owner that do not follow from the cards, by its expected indices.
pub(crate) fn unexpected(owner: &Owner, expected: &Indexed) -> Vec<IndexKey> {
    let keys = Shard::ALL.map(|shard| shard.key(owner)).into_iter();
    keys.filter(|key| !expected.iter().any(|(expected, _)| expected == key))
        .collect()
}
