//! The ranks of lines.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::candidates::SymbolStart;
use super::highlight::contains;
use super::place::{Place, Rank};
use super::{Query, Text, words};
use crate::documentation::DocumentationKind;
use crate::model::status::ReleaseState;

/// The place of a line in the order of results, which is that of the fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ranked<'t> {
    pub(super) is_deprecated: bool,
    pub(super) rank: Rank,
    /// The key of the package.
    pub(super) address: &'t str,
    /// The number of the kind, and the name, of a symbol; empty for a package.
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
);

/// Ranks the line of a package, and returns the words of its interface that match; `None` if it does not match. `place`
/// returns the place of a word of the query, by its number, in the interface.
pub(super) fn rank_package<'t>(
    line: &'t str,
    query: &Query,
    place: impl Fn(usize) -> Option<Place<'t>>,
) -> Option<(Ranked<'t>, Vec<&'t str>)> {
    let PackageLine(key, _, _, _, state, _, description) =
        serde_json::from_slice(line.as_bytes()).ok()?;
    let name = address_of(key);
    let mut found = Vec::new();
    let mut rank = Rank::WordPrefix;
    for (number, word) in query.words().iter().enumerate() {
        let of_line = rank_in_name(name, word).or_else(|| rank_in_description(&description, word));
        rank = rank.max(match of_line {
            Some(rank) if rank < Rank::DescriptionPart => rank,
            part => match place(number) {
                Some(Place { rank, word }) => {
                    found.push(word);
                    rank
                }
                None => part?,
            },
        });
    }
    if rank <= Rank::Name && is_exact(key, query) {
        rank = Rank::Exact;
    }
    let ranked = Ranked {
        is_deprecated: state.is_some(),
        rank,
        address: key,
        symbol: Text::Borrowed(""),
    };
    Some((ranked, found))
}

/// Ranks the line of a symbol, which begins with `start`; `None` if it does not match.
pub(super) fn rank_symbol<'t>(start: &SymbolStart<'t>, query: &Query) -> Option<Ranked<'t>> {
    let name = match start.name.contains('\\') {
        true => Text::Owned(serde_json::from_slice(format!("\"{}\"", start.name).as_bytes()).ok()?),
        false => Text::Borrowed(start.name),
    };
    let mut rank = Rank::WordPrefix;
    for word in query.words() {
        rank = rank.max(rank_in_name(&name, word)?);
    }
    if is_symbol(&name, query) {
        rank = Rank::Exact;
    }
    let mut kinds = DocumentationKind::ALL.into_iter();
    let kind = kinds.position(|known| known.as_str() == start.kind)?;
    Some(Ranked {
        is_deprecated: false,
        rank,
        address: start.provider,
        symbol: Text::Owned(format!("{kind}/{name}")),
    })
}

/// Returns the best place that a package with this key can have. `elsewhere` returns that of a word, by its number, outside
/// the name.
pub(super) fn best_of_package<'t>(
    key: &'t str,
    query: &Query,
    elsewhere: impl Fn(usize) -> Rank,
) -> Ranked<'t> {
    let name = address_of(key);
    let words = query.words().iter().enumerate();
    let ranks =
        words.map(|(number, word)| rank_in_name(name, word).unwrap_or_else(|| elsewhere(number)));
    Ranked {
        is_deprecated: false,
        rank: match is_exact(key, query) {
            true => Rank::Exact,
            false => ranks.max().unwrap_or(Rank::WordPrefix),
        },
        address: key,
        symbol: Text::Borrowed(""),
    }
}

fn rank_in_name(name: &str, word: &str) -> Option<Rank> {
    if words(name).any(|part| begins(part, word)) {
        return Some(Rank::WordPrefix);
    }
    contains(name, word).then_some(Rank::Name)
}

fn rank_in_description(description: &str, word: &str) -> Option<Rank> {
    let is_letter = char::is_alphanumeric;
    contains(description, word).then(|| {
        let mut parts = description.split(|it| !is_letter(it));
        match parts.any(|part| begins(part, word)) {
            true => Rank::Description,
            false => Rank::DescriptionPart,
        }
    })
}

fn begins(text: &str, word: &str) -> bool {
    let beginning = text.get(..word.len());
    beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(word))
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
    let after_name = usize::from(key.starts_with("modules/"));
    let name = segments.len().saturating_sub(1 + after_name);
    let ends = name + 1..=segments.len();
    (0..=name).any(|start| {
        ends.clone().any(|end| {
            let part = segments.get(start..end).unwrap_or_default();
            is_the_same(part.iter().flat_map(|segment| words(segment)), query)
        })
    })
}

/// Returns whether the query is the name of a symbol, with or without the prefix of its provider.
fn is_symbol(name: &str, query: &Query) -> bool {
    is_the_same(words(name), query) || is_the_same(words(name).skip(1), query)
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
