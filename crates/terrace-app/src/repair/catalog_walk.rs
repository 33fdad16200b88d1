//! Checks the cards of packages, and the catalogues that are built from them.

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
use crate::index::index_writer::REFRESH_ROUNDS;
use crate::repair::comparison::{Difference, all_same, counted, difference};
use crate::repair::step;
use crate::repair::step::REPAIRED_NAMES;
use crate::repair::step::{MIN_OPERATIONS_FOR_LISTS, RepairStep, StepFlow};

/// Checks the card of a package with correct lists. The catalogue of the owner is checked later in the walk, unless
/// the walk visits only this package. The texts that follow from the documentation are checked by a full walk only.
pub(crate) async fn repair_card<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
    overview: &Overview,
) -> Result<bool, Failure> {
    let is_current = match step.is_full || step.only.is_some() {
        true => counted(ctx, step, cards::is_current(ctx, package, overview)).await?,
        false => is_listed(ctx, step, package, overview).await?,
    };
    if is_current {
        return Ok(false);
    }
    let change = counted(ctx, step, index_refresh::refresh_card(ctx, package)).await?;
    after_card(ctx, step, package, change).await;
    Ok(change != CardChange::Unchanged)
}

/// Returns whether the card of a package is listed with the line of this overview. One listing serves all packages of an
/// owner.
async fn is_listed<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
    overview: &Overview,
) -> Result<bool, Failure> {
    let owner = Owner::of(package);
    let known = step.owner_cards.take().filter(|(of, _)| *of == owner);
    let (_, lines) = match known {
        Some(known) => step.owner_cards.insert(known),
        None => {
            let listed = counted(ctx, step, cards::of_owner(ctx, &owner)).await?;
            step.spend_names(listed.lines.len());
            step.owner_cards.insert((owner, listed.lines))
        }
    };
    let line = lines.iter().find(|line| line.package == *package);
    Ok(match line {
        Some(line) => Card::is_line_of(line, package, overview),
        None => overview.versions.is_empty(),
    })
}

/// Writes the catalogue of an owner with a repaired card, if the walk does not come to it.
pub(crate) async fn after_card<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
    change: CardChange,
) {
    if step.only.is_some() && change != CardChange::Unchanged {
        let began = ctx.operations();
        shards::publish(ctx, package, change).await;
        step.spend((ctx.operations() - began) as usize);
    }
}

/// Checks the catalogue of each owner.
pub(crate) async fn repair_catalogs<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<StepFlow, Failure> {
    loop {
        let is_first = step.is_fresh;
        if step.reported_names() >= REPAIRED_NAMES || !step.affords(MIN_OPERATIONS_FOR_LISTS) {
            return Ok(StepFlow::Pause);
        }
        let after = Some(step.position.after.as_str()).filter(|after| !after.is_empty());
        let page = ctx.host.facts().list(CARDS, after, 1).await?;
        step.spend(1);
        let Some(card) = page.facts.into_iter().next() else {
            return Ok(StepFlow::Continue);
        };
        let section = step.position.section;
        let Some(package) = FactKey::card_in(&card.name) else {
            step.position = Position::after(section, card.name);
            continue;
        };
        let owner = Owner::of(&package);
        let repaired = match list_owner(ctx, step, &owner).await {
            Ok(cards) if !is_first && step.left < cards.reads() => return Ok(StepFlow::Pause),
            Ok(cards) => repair_catalog(ctx, step, &owner, &cards).await,
            Err(failure) => Err(failure),
        };
        step::note(ctx, step, IndexKey::Catalog(owner).to_string(), repaired);
        step.position = Position::past_owner_of(&package);
    }
}

async fn list_owner<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    owner: &Owner,
) -> Result<Cards, Failure> {
    let cards = counted(ctx, step, cards::of_owner(ctx, owner)).await?;
    step.spend_names(cards.lines.len());
    Ok(cards)
}

async fn repair_catalog<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    owner: &Owner,
    cards: &Cards,
) -> Result<bool, Failure> {
    let expected = counted(ctx, step, shards::expected(ctx, owner, cards)).await?;
    let unexpected = shards::unexpected(owner, &expected);
    let (change, removed) = match difference(ctx, step, &expected, &unexpected).await {
        Difference::None => return Ok(false),
        Difference::Contents => (CardChange::Unchanged, 0),
        Difference::Surplus => (CardChange::Shrunk, unexpected.len()),
    };
    step.count_writes(expected.len() + removed);
    counted(ctx, step, refresh(ctx, owner, change)).await
}

/// Writes the indices of an owner, and returns whether they are current. The documents of its cards are not read again.
async fn refresh<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
    change: CardChange,
) -> Result<bool, Failure> {
    let mut are_current = true;
    for shard in Shard::ALL {
        are_current &= shards::refresh(ctx, owner, shard, change, REFRESH_ROUNDS).await?;
    }
    Ok(are_current)
}

/// Checks the catalogue of all owners.
pub(crate) async fn repair_merged<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<StepFlow, Failure> {
    let is_first = step.is_fresh;
    if !step.affords(MIN_OPERATIONS_FOR_LISTS) {
        return Ok(StepFlow::Pause);
    }
    let repaired = match list_all(ctx, step).await {
        Ok(cards) if !is_first && step.left < cards.reads() => return Ok(StepFlow::Pause),
        Ok(cards) => repair_parts(ctx, step, &cards).await,
        Err(failure) => Err(failure),
    };
    let name = IndexKey::MergedCatalog(1).to_string();
    step::note(ctx, step, name, repaired);
    Ok(StepFlow::Continue)
}

async fn list_all<P: Host>(ctx: &Context<'_, P>, step: &mut RepairStep) -> Result<Cards, Failure> {
    let cards = counted(ctx, step, cards::all(ctx)).await?;
    step.spend_names(cards.lines.len());
    Ok(cards)
}

async fn repair_parts<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    cards: &Cards,
) -> Result<bool, Failure> {
    let expected = counted(ctx, step, merged::of_cards(ctx, cards)).await?;
    if all_same(ctx, step, &expected).await {
        return Ok(false);
    }
    step.count_writes(expected.len());
    counted(ctx, step, merged::repair(ctx)).await?;
    Ok(true)
}

/// Removes an index of the catalogue that no card leads to. If such a card is written meanwhile, its publisher or this
/// function writes the index again.
pub(crate) async fn remove_stale<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    key: &IndexKey,
) -> Result<Vec<String>, Failure> {
    if !counted(ctx, step, is_stale(ctx, key)).await? {
        return Ok(Vec::new());
    }
    step.count_writes(1);
    counted(ctx, step, remove(ctx, key)).await?;
    Ok(vec![key.to_string()])
}

async fn remove<P: Host>(ctx: &Context<'_, P>, key: &IndexKey) -> Result<(), Failure> {
    ctx.host.indices().delete(key).await?;
    match is_stale(ctx, key).await? {
        true => Ok(()),
        false => restore(ctx, key).await,
    }
}

/// Writes an index of the catalogue again that cards lead to after all.
async fn restore<P: Host>(ctx: &Context<'_, P>, key: &IndexKey) -> Result<(), Failure> {
    match key {
        IndexKey::Catalog(owner) | IndexKey::Symbols(owner) => {
            refresh(ctx, owner, CardChange::Unchanged).await.map(drop)
        }
        IndexKey::MergedCatalog(_) => merged::repair(ctx).await,
        _ => Ok(()),
    }
}

async fn is_stale<P: Host>(ctx: &Context<'_, P>, key: &IndexKey) -> Result<bool, Failure> {
    Ok(match key {
        IndexKey::Catalog(owner) => has_no_cards(ctx, &FactKey::cards_of(owner)).await?,
        IndexKey::Symbols(owner) => {
            let cards = cards::of_owner(ctx, owner).await?;
            !cards.have_symbols()
        }
        IndexKey::MergedCatalog(1) => has_no_cards(ctx, CARDS).await?,
        IndexKey::MergedCatalog(part) => usize::from(*part) > merged::expected(ctx).await?.len(),
        _ => false,
    })
}

async fn has_no_cards<P: Host>(ctx: &Context<'_, P>, prefix: &str) -> Result<bool, Failure> {
    let page = ctx.host.facts().list(prefix, None, 1).await?;
    Ok(page.facts.is_empty())
}
