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
//! Lines that the caller may not see are skipped before anything in them is compared.

mod candidates;
mod highlight;
mod listing;
mod query;
mod rank;

use std::borrow::Cow;

use crate::index::catalog::{CatalogLine, CatalogSymbol, CatalogText};
use crate::model::owner::Owner;
use candidates::{Anchors, Visible, package_lines, symbol_lines};
use rank::{Ranked, rank_package, rank_symbol};

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
    /// The result after which the page begins.
    pub after: Option<Cursor>,
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
            after: self.after.as_ref(),
            capacity: self.limit.saturating_add(1),
        };
        let anchors = Anchors::of(&self.query);
        let mut visible = Visible::new(is_visible);
        for text in texts {
            for line in package_lines(text.packages, self.kind, &mut visible) {
                if anchors.are_in(line) {
                    best.offer(line, rank_package(line, &self.query));
                }
            }
            for line in symbol_lines(text.symbols, self.kind, &mut visible) {
                if anchors.are_in(line) {
                    best.offer(line, rank_symbol(line, &self.query));
                }
            }
        }
        best.into_results(self.limit)
    }
}

/// The best results so far, in their order.
struct Best<'s, 't> {
    hits: Vec<Hit<'t>>,
    after: Option<&'s Cursor>,
    capacity: usize,
}

impl<'t> Best<'_, 't> {
    fn offer(&mut self, line: &'t str, ranked: Option<Ranked<'t>>) {
        let Some(ranked) = ranked else { return };
        if self.after.is_some_and(|after| !after.is_before(&ranked)) {
            return;
        }
        let is_worse = |worst: &Hit<'_>| ranked >= worst.ranked;
        let is_full = self.hits.len() >= self.capacity;
        if is_full && self.hits.last().is_some_and(is_worse) {
            return;
        }
        let at = self.hits.partition_point(|hit| hit.ranked < ranked);
        self.hits.insert(at, Hit { ranked, line });
        self.hits.truncate(self.capacity);
    }

    fn into_results(mut self, limit: usize) -> Results {
        let has_more = self.hits.len() > limit;
        self.hits.truncate(limit);
        let last = self.hits.last().filter(|_| has_more);
        let next = last.map(|last| Cursor::of(&last.ranked));
        let parsed = self.hits.iter().filter_map(|hit| {
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
