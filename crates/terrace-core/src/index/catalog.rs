//! The catalogue: packages and symbols, each on a line of its own, so that a search reads lines and parses only those
//! that match.
//!
//! ```text
//! catalog/{owner}            the form of a part of the merged catalogue, without symbols and newest packages
//! symbols/{owner}            a line for each symbol
//! merged-catalog/{number}    a header, lines of packages, an empty line, lines of symbols, an empty line, the table of the
//!                            words and calls of these packages, an empty line, and, in the first part, the lines of the packages
//!                            that were published last, the newest first
//! ```
//!
//! The header has the lengths of the sections, because a search that looked for their ends would read the text twice.
//! A line is a JSON array, which contains no names of fields that a search could match.

use serde::{Deserialize, Serialize};

use super::card::ListedCard;
pub use super::catalog_line::{CatalogLine, CatalogSymbol};
use super::words::{self, WordTable};
use crate::limits;
use crate::storage::index_document::IndexDocument;
use terrace_base::json;

/// Number of packages that the catalogue lists as the newest: two lists of `MAX_LISTED_AT_ONCE`, about 40 KB of the
/// 2 MB that 5,000 packages take.
const CATALOG_NEWEST: usize = 200;

/// The first line of a part of the merged catalogue.
#[derive(Serialize, Deserialize)]
struct MergedHeader {
    /// The number of parts.
    parts: u8,
    /// The length of the lines of packages, in bytes.
    packages: usize,
    /// The length of the lines of symbols, in bytes.
    symbols: usize,
    /// The length of the table of words and calls, in bytes.
    words: usize,
}

/// Returns the index of an owner's packages. The order of the cards does not matter.
pub fn catalog(packages: &[ListedCard]) -> IndexDocument {
    let mut part = Part::default();
    for (line, card) in sorted_cards(packages) {
        part.add_package(line, card);
    }
    part.document(1, "")
}

/// Returns the index of an owner's symbols. Their order does not matter.
pub fn symbols(symbols: &[CatalogSymbol]) -> IndexDocument {
    IndexDocument::new(sorted_symbols(symbols).join("\n"))
}

fn sorted_cards(cards: &[ListedCard]) -> Vec<(String, &ListedCard)> {
    let lines = cards.iter().map(|card| (card.line.to_line(), card));
    let mut lines: Vec<(String, &ListedCard)> = lines.collect();
    terrace_base::sort::sort_by(&mut lines, |one, other| one.0.cmp(&other.0));
    lines
}

fn sorted_symbols(symbols: &[CatalogSymbol]) -> Vec<String> {
    let mut lines: Vec<String> = symbols.iter().map(CatalogSymbol::to_line).collect();
    terrace_base::sort::sort(&mut lines);
    lines
}

/// Returns the parts of the merged catalogue, each about [`limits::CATALOG_PART_BYTES`] long at most. The order of the
/// arguments does not matter. Packages that do not fit into [`limits::CATALOG_PARTS`] parts are left out, after all
/// symbols.
pub fn merged(packages: &[ListedCard], symbols: &[CatalogSymbol]) -> Vec<IndexDocument> {
    let mut parts = vec![Part::default()];
    for (line, card) in sorted_cards(packages) {
        let needed = line.len() + 1 + words::length_in_table(&card.words) + card.calls.len();
        let Some(part) = with_room(&mut parts, needed) else {
            break;
        };
        part.add_package(line, card);
    }
    for line in sorted_symbols(symbols) {
        let Some(part) = with_room(&mut parts, line.len() + 1) else {
            break;
        };
        part.symbols.push(line);
    }
    let count = u8::try_from(parts.len()).unwrap_or(u8::MAX);
    let mut newest = newest(packages).join("\n");
    let documents = parts.into_iter();
    let document = |part: Part<'_>| part.document(count, &std::mem::take(&mut newest));
    documents.map(document).collect()
}

/// A part of the merged catalogue, or the catalogue of an owner.
#[derive(Default)]
struct Part<'c> {
    packages: Vec<String>,
    /// The words of each package, and its calls.
    words: Vec<(&'c str, &'c str)>,
    symbols: Vec<String>,
    bytes: usize,
}

impl<'c> Part<'c> {
    fn add_package(&mut self, line: String, card: &'c ListedCard) {
        self.packages.push(line);
        self.words.push((&card.words, &card.calls));
    }

    fn document(self, parts: u8, newest: &str) -> IndexDocument {
        let [packages, symbols] = [self.packages, self.symbols].map(|lines| lines.join("\n"));
        let words = words::table(self.words.into_iter());
        let header = json::to_string(&MergedHeader {
            parts,
            packages: packages.len(),
            symbols: symbols.len(),
            words: words.len(),
        });
        let sections = [
            &header, "\n", &packages, "\n\n", &symbols, "\n\n", &words, "\n\n", newest,
        ];
        IndexDocument::new(sections.concat())
    }
}

/// Returns the last part, or a new one, if `needed` bytes have room in it.
fn with_room<'p, 'c>(parts: &'p mut Vec<Part<'c>>, needed: usize) -> Option<&'p mut Part<'c>> {
    let is_full = parts
        .last()
        .is_none_or(|part| part.bytes + needed > limits::CATALOG_PART_BYTES);
    if is_full {
        if parts.len() >= limits::CATALOG_PARTS {
            return None;
        }
        parts.push(Part::default());
    }
    let part = parts.last_mut()?;
    part.bytes += needed;
    Some(part)
}

/// Returns the lines of the packages that were published last.
fn newest(packages: &[ListedCard]) -> Vec<String> {
    let mut dated: Vec<&CatalogLine> = packages
        .iter()
        .map(|card| &card.line)
        .filter(|line| line.published_at.is_some())
        .collect();
    terrace_base::sort::sort_by(&mut dated, |one, other| {
        let by_time = other.published_at.cmp(&one.published_at);
        by_time.then_with(|| one.package.to_string().cmp(&other.package.to_string()))
    });
    dated.truncate(CATALOG_NEWEST);
    dated.into_iter().map(CatalogLine::to_line).collect()
}

/// The text of a part of the merged catalogue, or of one owner's, as sections of lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct CatalogText<'t> {
    /// The lines of packages.
    pub packages: &'t str,
    /// The lines of symbols.
    pub symbols: &'t str,
    /// The words and calls of these packages.
    pub words: WordTable<'t>,
}

/// A part of the merged catalogue, or the catalogue of an owner, as a read finds it.
#[derive(Debug, Clone, Copy)]
pub struct MergedPart<'t> {
    /// The number of parts.
    pub parts: u8,
    /// The lines of this part.
    pub text: CatalogText<'t>,
    newest: &'t str,
}

impl<'t> MergedPart<'t> {
    /// Splits a part into its sections, of which it parses none; `None` for any other text.
    pub fn parse(text: &'t str) -> Option<Self> {
        let (header, rest) = text.split_once('\n')?;
        let MergedHeader {
            parts,
            packages,
            symbols,
            words,
        } = serde_json::from_slice(header.as_bytes()).ok()?;
        let (packages, rest) = rest.split_at_checked(packages)?;
        let (symbols, rest) = rest.strip_prefix("\n\n")?.split_at_checked(symbols)?;
        let (words, rest) = rest.strip_prefix("\n\n")?.split_at_checked(words)?;
        Some(Self {
            parts,
            text: CatalogText {
                packages,
                symbols,
                words: WordTable::new(words),
            },
            newest: rest.strip_prefix("\n\n")?,
        })
    }

    /// Parses the packages that were published last, the newest first; none in another part than the first.
    pub fn newest(&self) -> impl Iterator<Item = CatalogLine> {
        self.newest.lines().filter_map(CatalogLine::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::catalog_line::tests::{line, symbol};

    fn card(line: CatalogLine) -> ListedCard {
        ListedCard {
            line,
            words: "cidr".to_owned(),
            calls: "/acme/net/aws".to_owned(),
            symbols: 0,
        }
    }

    #[test]
    fn a_merged_catalogue_has_every_package_and_symbol() {
        let packages = [line("b", 2), line("a", 3), line("c", 1)].map(card);
        let parts = merged(&packages, &[symbol("y"), symbol("x")]);
        let part = MergedPart::parse(&parts[0].text).unwrap();
        assert_eq!((parts.len(), part.parts), (1, 1));
        let newest: Vec<CatalogLine> = part.newest().collect();
        let text = part.text;
        assert_eq!(newest, [line("a", 3), line("b", 2), line("c", 1)]);
        let found: Vec<CatalogLine> = text
            .packages
            .lines()
            .filter_map(CatalogLine::parse)
            .collect();
        assert_eq!(found, [line("a", 3), line("b", 2), line("c", 1)]);
        let found: Vec<CatalogSymbol> = text
            .symbols
            .lines()
            .filter_map(CatalogSymbol::parse)
            .collect();
        assert_eq!(found, [symbol("x"), symbol("y")]);
        let (word, places) = text.words.beginning_with("c").next().unwrap();
        assert_eq!((word, places.count()), ("cidr", 3));
        assert_eq!(text.words.places_of("/acme/net/aws").count(), 3);
        assert_eq!(text.words.places_of("/acme/net").count(), 0);
    }

    #[test]
    fn an_empty_catalogue_has_one_part() {
        let parts = merged(&[], &[]);
        let MergedPart { parts, text, .. } = MergedPart::parse(&parts[0].text).unwrap();
        assert_eq!((parts, text.packages, text.symbols), (1, "", ""));
    }

    #[test]
    fn a_large_catalogue_is_split_into_parts() {
        let mut large = line("vpc", 1);
        large.description = "x".repeat(1_000_000);
        let packages = vec![card(large); 20];
        let parts = merged(&packages, &[]);
        assert_eq!(parts.len(), 3);
        let count = |part: &IndexDocument| {
            MergedPart::parse(&part.text)
                .unwrap()
                .text
                .packages
                .lines()
                .count()
        };
        assert_eq!(parts.iter().map(count).sum::<usize>(), 20);
        let newest = |part: &IndexDocument| MergedPart::parse(&part.text).unwrap().newest().count();
        assert_eq!(parts.iter().map(newest).collect::<Vec<_>>(), [20, 0, 0]);
    }

    #[test]
    fn a_part_with_wrong_lengths_is_rejected() {
        let parts = merged(&[card(line("vpc", 1))], &[symbol("x")]);
        let text = &parts[0].text;
        assert!(MergedPart::parse(text).is_some());
        for (from, to) in [
            ("\"packages\":", "\"packages\":1"),
            ("\"symbols\":", "\"symbols\":9"),
            ("\"words\":", "\"words\":9"),
        ] {
            let other = text.replace(from, to);
            assert_ne!(*text, other);
            assert!(MergedPart::parse(&other).is_none(), "{other}");
        }
    }
}
