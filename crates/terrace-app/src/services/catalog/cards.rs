//! The cards of packages.

use std::cell::RefCell;
use std::collections::BTreeMap;

use terrace_core::index::card::{Card, CardChange, ListedCard, described_version};
use terrace_core::index::catalog::{CatalogLine, CatalogSymbol};
use terrace_core::index::overview::Overview;
use terrace_core::limits;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::storage::key::{CARDS, FactKey};

use crate::concurrent;
use crate::concurrent::{Boxed, CONCURRENT_ACTIONS};
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Condition, Facts as _, Host, ListedFact};
use crate::services::{documentation, documents};

/// Returns the card that follows from the facts of a package; `None` if it has no versions.
pub(crate) async fn expected<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    overview: &Overview,
) -> Result<Option<Card>, Failure> {
    let Some(version) = described_version(overview) else {
        return Ok(Card::of(package, overview, None));
    };
    let found = documentation::head(ctx, package, version).await?;
    let described = found.as_ref().map(|(_, head)| (version, head));
    Ok(Card::of(package, overview, described))
}

/// Returns whether a package has its expected card.
pub(crate) async fn is_current<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    overview: &Overview,
) -> Result<bool, Failure> {
    let stored = ctx
        .host
        .facts()
        .get(&FactKey::Card(package.clone()))
        .await?;
    let expected = expected(ctx, package, overview).await?;
    let expected = expected.map(|card| card.to_document().into_bytes());
    Ok(stored.map(|fact| fact.bytes) == expected)
}

/// Writes the card of a package, unless it is stored already. It must be called within a loop that ends when the package
/// does not change any more: until then, a card may be overwritten by an older one. It does not wait while the key is
/// rate limited, because a publish may call it.
pub(crate) async fn write<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    overview: &Overview,
) -> Result<CardChange, Failure> {
    let key = FactKey::Card(package.clone());
    let facts = ctx.host.facts();
    let stored = facts.get(&key).await?.map(|fact| fact.bytes);
    let Some(card) = expected(ctx, package, overview).await? else {
        if stored.is_none() {
            return Ok(CardChange::Unchanged);
        }
        facts.delete(&key).await?;
        return Ok(CardChange::Shrunk);
    };
    let document = card.to_document();
    if stored.as_deref() == Some(document.as_bytes()) {
        return Ok(CardChange::Unchanged);
    }
    facts
        .put(&key, &document, &card.metadata(), Condition::Any)
        .await?;
    let before = stored.and_then(|bytes| Card::from_document(&bytes));
    let had_symbols = before.is_some_and(|card| !card.symbols.is_empty());
    match had_symbols && card.symbols.is_empty() {
        true => Ok(CardChange::Shrunk),
        false => Ok(CardChange::Written),
    }
}

/// The cards of one owner, or of all.
#[derive(Debug, Default)]
pub(crate) struct Cards {
    pub(crate) lines: Vec<CatalogLine>,
    /// The packages that have symbols.
    with_symbols: Vec<Package>,
}

/// Lists the cards of an owner.
pub(crate) async fn of_owner<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
) -> Result<Cards, Failure> {
    collect(ctx, &FactKey::cards_of(owner), Package::parse_key).await
}

/// Lists all cards.
pub(crate) async fn all<P: Host>(ctx: &Context<'_, P>) -> Result<Cards, Failure> {
    collect(ctx, CARDS, FactKey::card_in).await
}

async fn collect<P: Host>(
    ctx: &Context<'_, P>,
    prefix: &str,
    package_in: fn(&str) -> Option<Package>,
) -> Result<Cards, Failure> {
    let mut cards = Cards::default();
    for fact in documents::list(ctx, prefix).await? {
        let Some(package) = package_in(&fact.name) else {
            let name = &fact.name;
            ctx.host.log(&format!(
                "catalogue: {prefix}{name} is not the key of a card: skipped"
            ));
            continue;
        };
        let Some(card) = listed(ctx, &package, &fact).await? else {
            continue;
        };
        if card.has_symbols {
            cards.with_symbols.push(package);
        }
        cards.lines.push(card.line);
    }
    Ok(cards)
}

/// Returns a listed card. If a copy of the bucket has lost the object's metadata, its document is read.
async fn listed<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    fact: &ListedFact,
) -> Result<Option<ListedCard>, Failure> {
    let value = |name: &str| {
        let found = fact.metadata.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    let card = match ListedCard::from_metadata(value) {
        Some(card) => Some(card),
        None => read(ctx, package).await?.map(|(card, _)| card.listed()),
    };
    // Access is decided by the package in the line.
    Ok(card.filter(|card| card.line.package == *package))
}

/// Returns a stored card, with the size of its document in bytes.
async fn read<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<Option<(Card, usize)>, Failure> {
    let key = FactKey::Card(package.clone());
    let stored = ctx.host.facts().get(&key).await?;
    Ok(stored.and_then(|fact| Some((Card::from_document(&fact.bytes)?, fact.bytes.len()))))
}

impl Cards {
    /// Reads the symbols of these cards, in the order of their keys, of at most [`limits::CARDS_WITH_SYMBOLS`] providers
    /// and [`limits::CATALOG_SYMBOLS_BYTES`]. The log states how many providers are left out.
    pub(crate) async fn symbols<P: Host>(
        &self,
        ctx: &Context<'_, P>,
    ) -> Result<Vec<CatalogSymbol>, Failure> {
        let packages = &self.with_symbols;
        let (mut symbols, mut bytes, mut included) = (Vec::new(), 0, 0);
        let readable = packages.get(..limits::CARDS_WITH_SYMBOLS);
        let readable = readable.unwrap_or(packages);
        'cards: for some in readable.chunks(CONCURRENT_ACTIONS) {
            for (of_card, size) in read_all(ctx, some).await? {
                bytes += size;
                if bytes > limits::CATALOG_SYMBOLS_BYTES {
                    break 'cards;
                }
                symbols.extend(of_card);
                included += 1;
            }
        }
        let left_out = packages.len().saturating_sub(included);
        if left_out > 0 {
            let line = format!("catalogue: the symbols of {left_out} providers are left out");
            ctx.host.log(&line);
        }
        Ok(symbols)
    }
}

/// Returns the symbols of some packages, each with the size of the card, in the order of the packages. A card that has
/// been removed since it was listed has none.
async fn read_all<P: Host>(
    ctx: &Context<'_, P>,
    packages: &[Package],
) -> Result<Vec<(Vec<CatalogSymbol>, usize)>, Failure> {
    let found = RefCell::new(BTreeMap::new());
    let of = |(at, package)| -> Boxed<'_> {
        let found = &found;
        Box::pin(async move {
            let (mut symbols, size) = match read(ctx, package).await? {
                Some((card, size)) => (card.symbols, size),
                None => Default::default(),
            };
            // The card may have changed since it was listed, but never its package.
            symbols.retain(|symbol| symbol.package == *package);
            found.borrow_mut().insert(at, (symbols, size));
            Ok(())
        })
    };
    concurrent::all(packages.iter().enumerate().map(of).collect()).await?;
    Ok(found.into_inner().into_values().collect())
}
