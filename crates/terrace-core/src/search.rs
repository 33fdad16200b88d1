//! Search in the catalogue: a look into its table of words, and a scan of its lines, of which only those with a word of the
//! query are parsed.
//!
//! # Order
//! A line matches if each word of the query occurs in it or in the interface of its module. Its rank is that of the word with
//! the worst place:
//!
//! 1. The query is the name, that of a symbol with or without the prefix of its provider.
//! 2. A word of the name begins with the word.
//! 3. The name contains it.
//! 4. A word of the description begins with it.
//! 5. It is a word of the interface of the root module.
//! 6. It is a word of the interface of a submodule.
//! 7. A word of an interface begins with it.
//! 8. The description contains it.
//!
//! Deprecated packages come after all others. Results of one rank are ordered by address, and symbols of one provider by kind,
//! resources before data sources, so that a cursor, which holds rank and address, keeps its place when packages are published.
//!
//! If nothing matches, the query is tried without the hostname of a source address, and in the singular. If nothing matches
//! then, a query that differs by one edit in each unknown word may have been meant.
//!
//! # Access
//! Lines of owners that the caller may not see are skipped before they are parsed, ranked or counted, and their words are
//! never suggested.

mod candidates;
mod highlight;
mod interface;
mod listing;
mod place;
mod query;
mod rank;
mod suggest;

use std::borrow::Cow;

use crate::index::catalog::{CatalogLine, CatalogSymbol, CatalogText};
use crate::model::owner::Owner;
use candidates::{Anchors, SymbolStart, Visible, is_package_of, lines, package_in};
use interface::Interfaces;
use place::Rank;
use rank::{Ranked, best_of_package, rank_package, rank_symbol};
use terrace_base::sort::sort_by;

pub use highlight::{contains, pieces};
pub use listing::{NamespaceCount, callers, namespaces, packages};
pub use query::{Cursor, Query, QueryError, SearchKind};

/// A search.
#[derive(Debug, Clone)]
pub struct Search {
    /// The words to find.
    pub query: Query,
    /// The kind of results; all kinds if it is `None`.
    pub kind: Option<SearchKind>,
    /// The target system of modules; without it, modules of all systems.
    pub system: Option<String>,
    /// The result after which the page begins.
    pub after: Option<Cursor>,
    /// The number of results before the page, which are not parsed.
    pub offset: usize,
    /// The maximum number of results.
    pub limit: usize,
}

/// A page of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Results {
    /// The query that they match: that of the search, without the hostname of a source address, or in the singular.
    pub query: Query,
    /// A query with results that may have been meant, if there are none.
    pub meant: Option<Query>,
    /// The results, the best first.
    pub matches: Vec<Match>,
    /// The cursor of the next page, if there is one.
    pub next: Option<Cursor>,
}

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    /// A package, with the words of its interface that match the query better than its name and its description do.
    Package(CatalogLine, Vec<String>),
    /// A symbol of a provider.
    Symbol(CatalogSymbol),
}

/// A line that matches.
#[derive(Debug)]
struct Hit<'t> {
    ranked: Ranked<'t>,
    line: &'t str,
    words: Vec<&'t str>,
}

impl Search {
    /// Searches the parts of a catalogue for packages and symbols of owners that are visible to the caller.
    pub fn run(&self, texts: &[CatalogText<'_>], is_visible: &dyn Fn(&Owner) -> bool) -> Results {
        let run = |query: Query| {
            Search {
                query,
                ..self.clone()
            }
            .pass(texts, is_visible)
        };
        let is_first = self.after.is_none() && self.offset == 0;
        let has_any = |query: &Query| {
            let first = Search {
                query: query.clone(),
                after: None,
                offset: 0,
                limit: 1,
                ..self.clone()
            };
            !first.pass(texts, is_visible).matches.is_empty()
        };
        let or_of = |results: Results, other: Option<Query>| match other {
            // A page after the last one is no reason for another query.
            Some(other) if results.matches.is_empty() && (is_first || !has_any(&results.query)) => {
                run(other)
            }
            _ => results,
        };
        let results = run(self.query.clone());
        let results = or_of(results, self.query.without_host());
        let address = results.query.clone();
        let mut results = or_of(results, address.in_the_singular());
        if results.matches.is_empty() && self.after.is_none() {
            let meant = suggest::meant(&address, texts, is_visible);
            results.meant = meant.filter(|meant| !run(meant.clone()).matches.is_empty());
        }
        results
    }

    fn pass(&self, texts: &[CatalogText<'_>], is_visible: &dyn Fn(&Owner) -> bool) -> Results {
        let mut best = Best {
            hits: Vec::new(),
            is_sorted: false,
            after: self.after.as_ref(),
            capacity: self.offset.saturating_add(self.limit).saturating_add(1),
        };
        let query = &self.query;
        let anchors = Anchors::of(query);
        let mut visible = Visible::new(is_visible);
        for text in texts {
            let packages: Vec<&str> = lines(self.packages_in(text)).collect();
            let interfaces = Interfaces::of(query, text.words, packages.len());
            for (number, line) in packages.into_iter().enumerate() {
                let place = |word: usize| interfaces.place(word, number);
                if !anchors.admit(line, |word| place(word).is_some()) {
                    continue;
                }
                let key = package_in(line).filter(|key| self.wants(key) && visible.has(key));
                let Some(key) = key else { continue };
                let rest = line.get(key.len() + 2..).unwrap_or_default();
                let elsewhere = |word| match (anchors.may_be_in(rest, word), place(word)) {
                    (false, Some(place)) => place.rank,
                    _ => Rank::Description,
                };
                if best.has_room_for(|| best_of_package(key, query, elsewhere)) {
                    best.offer(line, rank_package(line, query, place));
                }
            }
            for line in anchors.lines(self.symbols_in(text)) {
                let start = SymbolStart::of(line);
                let start = start.filter(|it| it.is_of(self.kind) && visible.has(it.provider));
                let Some(start) = start else { continue };
                let ranked = rank_symbol(&start, query);
                best.offer(line, ranked.map(|ranked| (ranked, Vec::new())));
            }
        }
        best.into_page(self)
    }

    fn packages_in<'t>(&self, text: &CatalogText<'t>) -> &'t str {
        match self.kind {
            Some(SearchKind::Symbol(_) | SearchKind::AnySymbol) => "",
            None | Some(SearchKind::Module | SearchKind::Provider) => text.packages,
        }
    }

    fn symbols_in<'t>(&self, text: &CatalogText<'t>) -> &'t str {
        match self.kind {
            Some(SearchKind::Module | SearchKind::Provider) => "",
            None | Some(SearchKind::Symbol(_) | SearchKind::AnySymbol) => text.symbols,
        }
    }

    /// Returns whether the package with this key is of the kind and the system.
    fn wants(&self, key: &str) -> bool {
        let is_of = |system: &String| key.rsplit('/').next() == Some(system);
        is_package_of(key, self.kind) && self.system.as_ref().is_none_or(is_of)
    }
}

/// The best results so far. From twice the capacity on, they are sorted and cut.
struct Best<'s, 't> {
    hits: Vec<Hit<'t>>,
    /// `true` if the first hits, as many as the capacity, are in their order; those that follow are better than the last of
    /// them.
    is_sorted: bool,
    after: Option<&'s Cursor>,
    capacity: usize,
}

impl<'t> Best<'_, 't> {
    /// Returns whether a line may be among the results, which is decided before it is parsed. `best` returns a place that is at
    /// least as good as its own.
    fn has_room_for<'r>(&self, best: impl FnOnce() -> Ranked<'r>) -> bool {
        self.worst().is_none_or(|worst| best() < worst.ranked)
    }

    /// Returns the worst of as many results as there is room for.
    fn worst(&self) -> Option<&Hit<'t>> {
        let last = self.capacity.checked_sub(1).filter(|_| self.is_sorted)?;
        self.hits.get(last)
    }

    /// Offers a line with its place, and the words of its interface that match.
    fn offer(&mut self, line: &'t str, ranked: Option<(Ranked<'t>, Vec<&'t str>)>) {
        let Some((ranked, words)) = ranked else {
            return;
        };
        if self.after.is_some_and(|after| !after.is_before(&ranked)) {
            return;
        }
        if self.worst().is_some_and(|worst| ranked >= worst.ranked) {
            return;
        }
        self.hits.push(Hit {
            ranked,
            line,
            words,
        });
        if self.hits.len() >= self.capacity.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        sort_by(&mut self.hits, |one, other| one.ranked.cmp(&other.ranked));
        self.hits.truncate(self.capacity);
        self.is_sorted = true;
    }

    fn into_page(mut self, search: &Search) -> Results {
        self.cut();
        let hits = self.hits.get(search.offset..).unwrap_or_default();
        let page = hits.get(..search.limit).unwrap_or(hits);
        let last = page.last().filter(|_| hits.len() > search.limit);
        let next = last.map(|last| Cursor::of(&last.ranked));
        let parsed = page.iter().filter_map(|hit| {
            let words = || hit.words.iter().map(|word| (*word).to_owned()).collect();
            CatalogLine::parse(hit.line)
                .map(|line| Match::Package(line, words()))
                .or_else(|| CatalogSymbol::parse(hit.line).map(Match::Symbol))
        });
        Results {
            query: search.query.clone(),
            meant: None,
            matches: parsed.collect(),
            next,
        }
    }
}

/// The words of a text, separated by spaces, slashes, underscores and dashes.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split([' ', '/', '_', '-', '\t', '\n', '\r']);
    words.filter(|word| !word.is_empty())
}

/// A text of a stored line, borrowed unless it has escapes.
type Text<'t> = Cow<'t, str>;

#[cfg(test)]
mod tests;
