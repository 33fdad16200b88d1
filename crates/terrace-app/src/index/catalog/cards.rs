//! The cards of packages.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::future::join;
use terrace_base::sort::sort_by;
use terrace_core::index::card::{Card, CardChange, ListedCard, described_version};
use terrace_core::index::catalog::CatalogSymbol;
use terrace_core::index::overview::Overview;
use terrace_core::limits;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::storage::key::{CARDS, FactKey};

use crate::concurrent::{Boxed, CONCURRENT_ACTIONS};
use crate::context::Context;
use crate::documents::documentation;
use crate::failure::Failure;
use crate::host::{Condition, Fact, Facts as _, Host, ListedFact};
use crate::{concurrent, documents};

/// Minimum length of a symbol in the document of a card, in bytes: its JSON with names of one letter. A card with too many
/// symbols for the rest of a catalogue need not be read.
const CARD_SYMBOL_BYTES: usize = 40;

/// Returns whether a package has its expected card.
pub(crate) async fn is_current<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    overview: &Overview,
) -> Result<bool, Failure> {
    let prepared = prepare(ctx, package, overview).await?;
    let expected = prepared
        .expected
        .map(|card| card.to_document().into_bytes());
    Ok(prepared.stored == expected)
}

/// The card of a package as it is stored, and as it should be.
#[derive(Debug)]
pub(crate) struct PreparedCard {
    key: FactKey,
    stored: Option<Vec<u8>>,
    /// `None` if the package has no versions.
    expected: Option<Card>,
}

/// Reads the card of a package, and the documentation from which it follows.
pub(crate) async fn prepare<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    overview: &Overview,
) -> Result<PreparedCard, Failure> {
    let key = FactKey::Card(package.clone());
    let read = ctx.host.facts().get(&key);
    let head = async {
        match described_version(overview) {
            Some(version) => {
                let found = documentation::head(ctx, package, version).await?;
                Ok(found.map(|(_, head)| (version, head)))
            }
            None => Ok::<_, Failure>(None),
        }
    };
    let (stored, described) = join(read, head).await;
    let stored = stored?.map(|fact| fact.bytes);
    let described = described?;
    let described = described.as_ref().map(|(version, head)| (*version, head));
    Ok(PreparedCard {
        stored,
        expected: Card::of(package, overview, described),
        key,
    })
}

/// Writes the card of a package, unless it is stored already. It must be called within a loop that ends when the package
/// does not change any more: until then, a card may be overwritten by an older one.
pub(crate) async fn write<P: Host>(
    ctx: &Context<'_, P>,
    prepared: PreparedCard,
) -> Result<CardChange, Failure> {
    let PreparedCard {
        key,
        stored,
        expected,
    } = prepared;
    let facts = ctx.host.facts();
    let Some(card) = expected else {
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
    pub(crate) listed: Vec<ListedCard>,
    /// The cards that have symbols.
    with_symbols: Vec<SymbolCard>,
}

/// A listed card with symbols.
#[derive(Debug)]
struct SymbolCard {
    package: Package,
    symbols: usize,
    etag: String,
}

/// Documents of cards that this request has read, by their packages: it may build several catalogues, and each again as
/// long as cards change.
#[derive(Debug, Default)]
struct ReadCards(BTreeMap<String, Rc<Fact>>);

/// Lists the cards of an owner.
pub(crate) async fn of_owner<P: Host>(
    ctx: &Context<'_, P>,
    owner: &Owner,
) -> Result<Cards, Failure> {
    let prefix = FactKey::cards_of(owner);
    let listed = documents::list(ctx, &prefix).await?;
    collect(ctx, &prefix, listed, Package::parse_key).await
}

/// Lists all cards.
pub(crate) async fn all<P: Host>(ctx: &Context<'_, P>) -> Result<Cards, Failure> {
    let listed = documents::list(ctx, CARDS).await?;
    collect(ctx, CARDS, listed, FactKey::card_in).await
}

async fn collect<P: Host>(
    ctx: &Context<'_, P>,
    prefix: &str,
    listed: Vec<ListedFact>,
    package_in: fn(&str) -> Option<Package>,
) -> Result<Cards, Failure> {
    let mut cards = Cards::default();
    for fact in listed {
        let Some(package) = package_in(&fact.name) else {
            let name = &fact.name;
            ctx.host.log(&format!(
                "catalogue: {prefix}{name} is not the key of a card: skipped"
            ));
            continue;
        };
        let Some(card) = of_fact(ctx, &package, &fact).await? else {
            continue;
        };
        if card.symbols > 0 {
            cards.with_symbols.push(SymbolCard {
                package,
                symbols: card.symbols,
                etag: fact.etag,
            });
        }
        cards.listed.push(card);
    }
    Ok(cards)
}

/// Returns a listed card. If a copy of the bucket has lost the object's metadata, its document is read.
async fn of_fact<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    fact: &ListedFact,
) -> Result<Option<ListedCard>, Failure> {
    let card = match ListedCard::from_metadata(|name| fact.value(name)) {
        Some(card) => Some(card),
        None => {
            let key = FactKey::Card(package.clone());
            let read = ctx.host.facts().get(&key).await?;
            read.and_then(|read| Some(Card::from_document(&read.bytes)?.listed()))
        }
    };
    // Access is decided by the package in the line.
    Ok(card.filter(|card| card.line.package == *package))
}

impl Cards {
    /// Returns whether any of these cards has symbols.
    pub(crate) fn have_symbols(&self) -> bool {
        !self.with_symbols.is_empty()
    }

    /// Returns the maximum number of documents that [`Cards::symbols`] reads.
    pub(crate) fn reads(&self) -> u32 {
        let reads = self.with_symbols.len().min(limits::CARDS_WITH_SYMBOLS);
        u32::try_from(reads).unwrap_or(u32::MAX)
    }

    /// Reads the symbols of these cards, of at most [`limits::CARDS_WITH_SYMBOLS`] providers and
    /// [`limits::CATALOG_SYMBOLS_BYTES`]. A card that does not fit is left out, and the log states how many are.
    pub(crate) async fn symbols<P: Host>(
        &self,
        ctx: &Context<'_, P>,
    ) -> Result<Vec<CatalogSymbol>, Failure> {
        let known = ctx.recall::<ReadCards>().unwrap_or_default();
        let mut included = ReadCards::default();
        let (mut symbols, mut bytes, mut read_bytes) = (Vec::new(), 0, 0);
        let in_turn = in_turn(&self.with_symbols);
        let readable = in_turn.get(..limits::CARDS_WITH_SYMBOLS);
        for some in readable.unwrap_or(&in_turn).chunks(CONCURRENT_ACTIONS) {
            let may_fit = |card: &&&SymbolCard| {
                let least = card.symbols.saturating_mul(CARD_SYMBOL_BYTES);
                bytes + least <= limits::CATALOG_SYMBOLS_BYTES
            };
            let some: Vec<&SymbolCard> = some.iter().filter(may_fit).copied().collect();
            // Cards that are read in vain take CPU, too.
            if read_bytes > 2 * limits::CATALOG_SYMBOLS_BYTES {
                break;
            }
            for (package, card) in read_all(ctx, &some, &known).await? {
                read_bytes += card.bytes.len();
                if bytes + card.bytes.len() > limits::CATALOG_SYMBOLS_BYTES {
                    continue;
                }
                bytes += card.bytes.len();
                let of_card = Card::from_document(&card.bytes).map(|card| card.symbols);
                // The card may have changed since it was listed, but never its package.
                let of_card = of_card.unwrap_or_default().into_iter();
                symbols.extend(of_card.filter(|symbol| symbol.package == *package));
                included.0.insert(package.to_string(), card);
            }
        }
        let left_out = self.with_symbols.len().saturating_sub(included.0.len());
        if left_out > 0 {
            let line = format!("catalogue: the symbols of {left_out} providers are left out");
            ctx.host.log(&line);
        }
        ctx.remember(included);
        Ok(symbols)
    }
}

/// Returns the cards in the order in which they get room in a catalogue: the smallest one of each owner, then the second
/// of each, and so on. So no owner can displace all others.
fn in_turn(cards: &[SymbolCard]) -> Vec<&SymbolCard> {
    let mut by_size: Vec<(usize, String, &SymbolCard)> = cards
        .iter()
        .map(|card| (card.symbols, card.package.to_string(), card))
        .collect();
    let by_key = |one: &(usize, String, &SymbolCard), other: &(usize, String, &SymbolCard)| {
        (one.0, &one.1).cmp(&(other.0, &other.1))
    };
    sort_by(&mut by_size, by_key);
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut in_turn: Vec<(usize, &SymbolCard)> = Vec::new();
    for (_, _, card) in by_size {
        let place = places.entry(Owner::of(&card.package).to_string());
        let place = place.or_default();
        *place += 1;
        in_turn.push((*place, card));
    }
    sort_by(&mut in_turn, |one, other| one.0.cmp(&other.0));
    in_turn.into_iter().map(|(_, card)| card).collect()
}

/// Returns the documents of some cards, in their order, except those that have been removed since they were listed.
async fn read_all<'c, P: Host>(
    ctx: &Context<'_, P>,
    cards: &[&'c SymbolCard],
    known: &ReadCards,
) -> Result<Vec<(&'c Package, Rc<Fact>)>, Failure> {
    let found = RefCell::new(BTreeMap::new());
    let of = |(at, card): (usize, &&'c SymbolCard)| -> Boxed<'_> {
        let found = &found;
        let card = *card;
        Box::pin(async move {
            let known = known.0.get(&card.package.to_string());
            let current = match known.filter(|known| known.etag == card.etag) {
                Some(known) => Some(Rc::clone(known)),
                None => {
                    let key = FactKey::Card(card.package.clone());
                    ctx.host.facts().get(&key).await?.map(Rc::new)
                }
            };
            if let Some(current) = current {
                found.borrow_mut().insert(at, (&card.package, current));
            }
            Ok(())
        })
    };
    concurrent::all(cards.iter().enumerate().map(of).collect()).await?;
    Ok(found.into_inner().into_values().collect())
}
