//! The ranks of lines.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::candidates::SymbolStart;
use super::highlight::contains;
use super::{Query, Text, words};
use crate::documentation::DocumentationKind;
use crate::model::status::ReleaseState;

/// The place in a line that a query was found in, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// The query is the name.
    Exact,
    /// A word of the name begins with it.
    WordPrefix,
    /// The name contains it.
    Name,
    /// The description contains it.
    Description,
    /// The name of an input contains it.
    Input,
}

/// The place of a line in the order of results, which is that of the fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ranked<'t> {
    pub(super) is_deprecated: bool,
    pub(super) rank: Rank,
    /// The key of the package.
    pub(super) address: &'t str,
    /// The kind and the name of a symbol; empty for a package.
    pub(super) symbol: Text<'t>,
}

/// The fields of a package's line that a search compares.
#[derive(Deserialize)]
struct PackageLine<'t>(
    &'t str,
    IgnoredAny,
    IgnoredAny,
    IgnoredAny,
    Option<ReleaseState>,
    IgnoredAny,
    #[serde(borrow)] Text<'t>,
    #[serde(borrow)] &'t RawValue,
);

/// The fields of a symbol's line that a search compares.
#[derive(Deserialize)]
struct SymbolLine<'t>(
    DocumentationKind,
    #[serde(borrow)] Text<'t>,
    &'t str,
    IgnoredAny,
    IgnoredAny,
);

impl Rank {
    const ALL: [Self; 5] = [
        Self::Exact,
        Self::WordPrefix,
        Self::Name,
        Self::Description,
        Self::Input,
    ];

    /// Returns the number in cursors.
    pub(super) fn number(self) -> usize {
        Self::ALL.iter().position(|rank| *rank == self).unwrap_or(0)
    }

    pub(super) fn of_number(text: &str) -> Option<Self> {
        let mut ranks = Self::ALL.into_iter();
        ranks.find(|rank| rank.number().to_string() == text)
    }
}

/// Ranks the line of a package; `None` if it does not match.
pub(super) fn rank_package<'t>(line: &'t str, query: &Query) -> Option<Ranked<'t>> {
    let PackageLine(key, _, _, _, state, _, description, inputs) =
        serde_json::from_slice(line.as_bytes()).ok()?;
    let name = address_of(key);
    let rank_of = |word: &str| {
        rank_in_name(name, word)
            .or_else(|| contains(&description, word).then_some(Rank::Description))
            .or_else(|| is_in_an_input(inputs, word).then_some(Rank::Input))
    };
    let mut rank = worst(query, rank_of)?;
    if rank <= Rank::Name && is_exact(key, query) {
        rank = Rank::Exact;
    }
    Some(Ranked {
        is_deprecated: state.is_some(),
        rank,
        address: key,
        symbol: Text::Borrowed(""),
    })
}

/// Ranks the line of a symbol; `None` if it does not match.
pub(super) fn rank_symbol<'t>(line: &'t str, query: &Query) -> Option<Ranked<'t>> {
    let SymbolLine(kind, name, key, _, _) = serde_json::from_slice(line.as_bytes()).ok()?;
    let mut rank = worst(query, |word| rank_in_name(&name, word))?;
    if is_the_same(words(&name), query) {
        rank = Rank::Exact;
    }
    Some(Ranked {
        is_deprecated: false,
        rank,
        address: key,
        symbol: Text::Owned(format!("{kind}/{name}")),
    })
}

/// Returns the best place that a package with this key can have.
pub(super) fn best_of_package<'t>(key: &'t str, query: &Query) -> Ranked<'t> {
    Ranked {
        is_deprecated: false,
        rank: match is_exact(key, query) {
            true => Rank::Exact,
            false => Rank::WordPrefix,
        },
        address: key,
        symbol: Text::Borrowed(""),
    }
}

/// Returns the best place that a symbol with this beginning can have.
pub(super) fn best_of_symbol<'t>(start: &SymbolStart<'t>, query: &Query) -> Ranked<'t> {
    // A stored name with an escape is not the name.
    let may_be_exact = start.name.contains('\\') || is_the_same(words(start.name), query);
    Ranked {
        is_deprecated: false,
        rank: match may_be_exact {
            true => Rank::Exact,
            false => Rank::WordPrefix,
        },
        address: start.provider,
        // Before each symbol of the provider.
        symbol: Text::Borrowed(""),
    }
}

/// Returns the rank of the word with the worst place; `None` if a word has none.
fn worst(query: &Query, rank_of: impl Fn(&str) -> Option<Rank>) -> Option<Rank> {
    let mut worst = Rank::WordPrefix;
    for word in query.words() {
        worst = worst.max(rank_of(word)?);
    }
    Some(worst)
}

fn rank_in_name(name: &str, word: &str) -> Option<Rank> {
    let begins = |part: &str| {
        let beginning = part.get(..word.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(word))
    };
    if words(name).any(begins) {
        return Some(Rank::WordPrefix);
    }
    contains(name, word).then_some(Rank::Name)
}

fn is_in_an_input(inputs: &RawValue, word: &str) -> bool {
    // The names are in a list of texts. Only a name can contain the word, since no word has a comma.
    if !contains(inputs.get(), word) {
        return false;
    }
    let inputs: Vec<Text<'_>> = serde_json::from_slice(inputs.get().as_bytes()).unwrap_or_default();
    inputs.iter().any(|input| contains(input, word))
}

/// Returns the address in the key of a package.
pub(super) fn address_of(key: &str) -> &str {
    ["modules/", "providers/hosted/", "providers/"]
        .iter()
        .find_map(|prefix| key.strip_prefix(prefix))
        .unwrap_or(key)
}

/// Returns whether the query is the name of a package, or whole segments of its address that include the name.
fn is_exact(key: &str, query: &Query) -> bool {
    let is_in_query = |word: &str| {
        let mut wanted = query.words().iter();
        wanted.any(|wanted| wanted.eq_ignore_ascii_case(word))
    };
    // Most packages are none of it, and this tells so at less cost.
    if !words(name_of(key)).all(is_in_query) {
        return false;
    }
    let segments: Vec<&str> = address_of(key).split('/').collect();
    let name = match key.starts_with("modules/") {
        true => 1,
        false => segments.len().saturating_sub(1),
    };
    let ends = name + 1..=segments.len();
    (0..=name).any(|start| {
        ends.clone().any(|end| {
            let part = segments.get(start..end).unwrap_or_default();
            is_the_same(part.iter().flat_map(|segment| words(segment)), query)
        })
    })
}

/// Returns the name in the key of a package: of a module without its target system.
fn name_of(key: &str) -> &str {
    let mut segments = key.rsplit('/');
    let name = match key.starts_with("modules/") {
        true => segments.nth(1),
        false => segments.next(),
    };
    name.unwrap_or_default()
}

fn is_the_same<'t>(name: impl Iterator<Item = &'t str>, query: &Query) -> bool {
    let mut wanted = query.words().iter();
    let mut name = name;
    let are_equal = name.by_ref().all(|word| {
        let wanted = wanted.next();
        wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(word))
    });
    are_equal && wanted.next().is_none()
}
