//! Search in the catalogue: a scan of its lines, of which only those with a word of the query are parsed.
//!
//! # Order
//! A line matches if each word of the query occurs in it. Its rank is that of the word with the worst place:
//!
//! 1. The query is the name.
//! 2. A word of the name begins with the word.
//! 3. The name contains it.
//! 4. The description contains it.
//! 5. The name of an input contains it.
//!
//! Deprecated packages come after all others. Results of one rank are ordered by address, so that a cursor, which holds
//! rank and address, keeps its place when packages are published.
//!
//! # Access
//! One pass over the text finds the lines that contain the longest run of letters and digits of the query. Those of owners
//! that the caller may not see are skipped before they are parsed, ranked or counted.

mod candidates;
mod highlight;
mod listing;
mod query;
mod rank;

use std::borrow::Cow;

use crate::index::catalog::{CatalogLine, CatalogSymbol, CatalogText};
use crate::model::owner::Owner;
use candidates::{Anchors, SymbolStart, Visible, is_package_of, package_in};
use rank::{Ranked, best_of_package, best_of_symbol, rank_package, rank_symbol};
use terrace_base::sort::sort_by;

pub use highlight::{contains, pieces};
pub use listing::{NamespaceCount, namespaces, packages};
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
    /// The results, the best first.
    pub matches: Vec<Match>,
    /// The cursor of the next page, if there is one.
    pub next: Option<Cursor>,
}

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    /// A package.
    Package(CatalogLine),
    /// A symbol of a provider.
    Symbol(CatalogSymbol),
}

/// A line that matches.
#[derive(Debug)]
struct Hit<'t> {
    ranked: Ranked<'t>,
    line: &'t str,
}

impl Search {
    /// Searches the parts of a catalogue for packages and symbols of owners that are visible to the caller.
    pub fn run(&self, texts: &[CatalogText<'_>], is_visible: &dyn Fn(&Owner) -> bool) -> Results {
        let mut best = Best {
            hits: Vec::new(),
            is_sorted: false,
            after: self.after.as_ref(),
            capacity: self.offset.saturating_add(self.limit).saturating_add(1),
        };
        let anchors = Anchors::of(&self.query);
        let mut visible = Visible::new(is_visible);
        for text in texts {
            for line in anchors.lines(self.packages_in(text)) {
                let key = package_in(line).filter(|key| self.wants(key) && visible.has(key));
                let Some(key) = key else { continue };
                if best.has_room_for(|| best_of_package(key, &self.query)) {
                    best.offer(line, rank_package(line, &self.query));
                }
            }
            for line in anchors.lines(self.symbols_in(text)) {
                let start = SymbolStart::of(line);
                let start = start.filter(|it| it.is_of(self.kind) && visible.has(it.provider));
                let Some(start) = start else { continue };
                if best.has_room_for(|| best_of_symbol(&start, &self.query)) {
                    best.offer(line, rank_symbol(line, &self.query));
                }
            }
        }
        best.into_page(self.offset, self.limit)
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

    fn offer(&mut self, line: &'t str, ranked: Option<Ranked<'t>>) {
        let Some(ranked) = ranked else { return };
        if self.after.is_some_and(|after| !after.is_before(&ranked)) {
            return;
        }
        if self.worst().is_some_and(|worst| ranked >= worst.ranked) {
            return;
        }
        self.hits.push(Hit { ranked, line });
        if self.hits.len() >= self.capacity.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        sort_by(&mut self.hits, |one, other| one.ranked.cmp(&other.ranked));
        self.hits.truncate(self.capacity);
        self.is_sorted = true;
    }

    fn into_page(mut self, offset: usize, limit: usize) -> Results {
        self.cut();
        let hits = self.hits.get(offset..).unwrap_or_default();
        let page = hits.get(..limit).unwrap_or(hits);
        let last = page.last().filter(|_| hits.len() > limit);
        let next = last.map(|last| Cursor::of(&last.ranked));
        let parsed = page.iter().filter_map(|hit| {
            CatalogLine::parse(hit.line)
                .map(Match::Package)
                .or_else(|| CatalogSymbol::parse(hit.line).map(Match::Symbol))
        });
        Results {
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
