//! Checks the cards of packages, and the catalogues that are built from them.

use std::cell::Cell;

use terrace_core::index::card::{Card, CardChange};
use terrace_core::index::overview::Overview;
use terrace_core::maintenance::repair::Position;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::storage::key::{CARDS, FactKey, IndexKey};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Facts as _, Host, Indices as _};
use crate::index::catalog::cards::Cards;
use crate::index::catalog::shards::Shard;
use crate::index::catalog::{cards, merged, shards};
use crate::index::index_refresh;
use crate::repair::comparison::Difference;
use crate::repair::step::{MIN_OPERATIONS_FOR_LISTS, RepairStep, StepFlow};

impl<P: Host> RepairStep<'_, '_, P> {
    /// Checks the card of a package with correct lists. The catalogue of the owner is checked later in the walk, unless
    /// the walk visits only this package. The texts that follow from the documentation are checked by a full walk only.
    pub(super) async fn repair_card(
        &mut self,
        package: &Package,
        overview: &Overview,
    ) -> Result<bool, Failure> {
        let is_current = match self.is_full || self.only.is_some() {
            true => cards::is_current(self.ctx, package, overview).await?,
            false => self.is_listed(package, overview).await?,
        };
        if is_current {
            return Ok(false);
        }
        let change = Cell::new(CardChange::Unchanged);
        let written = index_refresh::refresh_card(self.ctx, package, &change).await;
        self.after_card(package, change.get());
        written.map(|()| change.get() != CardChange::Unchanged)
    }

    /// Returns whether the card of a package is listed with the line of this overview. One listing serves all packages of an
    /// owner.
    async fn is_listed(&mut self, package: &Package, overview: &Overview) -> Result<bool, Failure> {
        let owner = Owner::of(package);
        let known = self.owner_cards.take().filter(|(of, _)| *of == owner);
        let known = match known {
            Some(known) => known,
            None => {
                let listed = cards::of_owner(self.ctx, &owner).await?.listed;
                self.spend_names(listed.len());
                (owner, listed)
            }
        };
        let (_, listed) = self.owner_cards.insert(known);
        let card = listed.iter().find(|card| card.line.package == *package);
        Ok(match card {
            Some(card) => Card::is_line_of(&card.line, package, overview),
            None => overview.versions.is_empty(),
        })
    }

    /// Writes the catalogue of an owner with a repaired card, if the walk does not come to it.
    pub(super) fn after_card(&self, package: &Package, change: CardChange) {
        if self.only.is_some() && change != CardChange::Unchanged {
            shards::publish_later(self.ctx, package, change);
        }
    }

    /// Checks the catalogue of each owner.
    pub(super) async fn repair_catalogs(&mut self) -> Result<StepFlow, Failure> {
        loop {
            let is_first = self.is_fresh;
            if !self.affords(MIN_OPERATIONS_FOR_LISTS) {
                return Ok(StepFlow::Pause);
            }
            let (facts, _) = self.list(CARDS, &self.position.after, 1).await?;
            let Some(card) = facts.into_iter().next() else {
                return Ok(StepFlow::Continue);
            };
            let Some(package) = FactKey::card_in(&card.name) else {
                self.position.after = card.name;
                continue;
            };
            let owner = Owner::of(&package);
            let listed = cards::of_owner(self.ctx, &owner).await;
            let repaired = match self.readable(listed, is_first) {
                Ok(None) => return Ok(StepFlow::Pause),
                Ok(Some(cards)) => self.repair_catalog(&owner, &cards).await,
                Err(failure) => Err(failure),
            };
            self.note(IndexKey::Catalog(owner).to_string(), repaired);
            self.position = Position::past_owner_of(&package);
        }
    }

    /// Returns listed cards; `None` if reading their symbols exceeds the budget, and they are not the first item.
    fn readable(
        &mut self,
        listed: Result<Cards, Failure>,
        is_first: bool,
    ) -> Result<Option<Cards>, Failure> {
        let cards = listed?;
        self.spend_names(cards.listed.len());
        let is_readable = is_first || self.left() >= cards.reads();
        Ok(Some(cards).filter(|_| is_readable))
    }

    async fn repair_catalog(&mut self, owner: &Owner, cards: &Cards) -> Result<bool, Failure> {
        let expected = shards::expected(self.ctx, owner, cards).await?;
        let unexpected = shards::unexpected(owner, &expected);
        let (change, removed) = match self.difference(&expected, &unexpected).await {
            Difference::None => return Ok(false),
            Difference::Contents => (CardChange::Unchanged, 0),
            Difference::Surplus => (CardChange::Shrunk, unexpected.len()),
        };
        self.count_writes(expected.len() + removed);
        refresh(self.ctx, owner, change).await
    }

    /// Checks the catalogue of all owners.
    pub(super) async fn repair_merged(&mut self) -> StepFlow {
        let is_first = self.is_fresh;
        if !self.affords(MIN_OPERATIONS_FOR_LISTS) {
            return StepFlow::Pause;
        }
        let listed = cards::all(self.ctx).await;
        let repaired = match self.readable(listed, is_first) {
            Ok(None) => return StepFlow::Pause,
            Ok(Some(cards)) => self.repair_parts(&cards).await,
            Err(failure) => Err(failure),
        };
        self.note(IndexKey::MergedCatalog(1).to_string(), repaired);
        StepFlow::Continue
    }

    async fn repair_parts(&mut self, cards: &Cards) -> Result<bool, Failure> {
        let expected = merged::of_cards(self.ctx, cards).await?;
        if self.all_same(&expected).await {
            return Ok(false);
        }
        self.count_writes(expected.len());
        merged::repair(self.ctx).await?;
        Ok(true)
    }

    /// Removes an index of the catalogue that no card leads to, and returns whether it did. If such a card is written
    /// meanwhile, its publisher or this function writes the index again.
    pub(super) async fn remove_stale_catalog(&mut self, key: &IndexKey) -> Result<bool, Failure> {
        if !is_stale(self.ctx, key).await? {
            return Ok(false);
        }
        self.count_writes(1);
        self.ctx.host.indices().delete(key).await?;
        if is_stale(self.ctx, key).await? {
            return Ok(true);
        }
        match key {
            IndexKey::Catalog(owner) | IndexKey::Symbols(owner) => {
                refresh(self.ctx, owner, CardChange::Unchanged).await?;
            }
            _ => merged::repair(self.ctx).await?,
        }
        Ok(true)
    }
}

/// Writes the indices of an owner, and returns whether they are current. The documents of its cards are not read again.
async fn refresh<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
    change: CardChange,
) -> Result<bool, Failure> {
    let mut are_current = true;
    for shard in Shard::ALL {
        are_current &= shards::refresh(ctx, owner, shard, change).await?;
    }
    Ok(are_current)
}

async fn is_stale<P: Host>(ctx: &Context<'_, P>, key: &IndexKey) -> Result<bool, Failure> {
    let has_no_cards = async |prefix: &str| -> Result<bool, Failure> {
        Ok(ctx
            .host
            .facts()
            .list(prefix, None, 1)
            .await?
            .facts
            .is_empty())
    };
    Ok(match key {
        IndexKey::Catalog(owner) => has_no_cards(&FactKey::cards_of(owner)).await?,
        IndexKey::Symbols(owner) => !cards::of_owner(ctx, owner).await?.have_symbols(),
        IndexKey::MergedCatalog(1) => has_no_cards(CARDS).await?,
        IndexKey::MergedCatalog(part) => usize::from(*part) > merged::expected(ctx).await?.len(),
        _ => false,
    })
}
