//! The words, the kind and the cursor of a search.

use std::fmt;
use std::str::FromStr;

use super::place::Rank;
use super::rank::Ranked;
use super::words;
use crate::documentation::DocumentationKind;
use crate::limits;

/// Maximum length of the cursor of a list: a rank, the longest key of a package, and the name of a symbol.
pub(super) const CURSOR_BYTES: usize = 1_024;

/// The words of a search, in lower case; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    words: Vec<String>,
    /// How many of them are the hostname of a source address.
    host: usize,
}

/// The reason why a text is not a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The text has no word.
    #[error(
        "the search has no words: name at least one in the parameter q, such as q=network; words are separated by spaces, slashes, dashes and underscores"
    )]
    Empty,
    /// The text is too long.
    #[error("the search has {0} bytes, at most {max} are allowed", max = limits::SEARCH_BYTES)]
    TooLong(usize),
    /// There are too many words.
    #[error("the search has {0} words, at most {max} are allowed", max = limits::SEARCH_WORDS)]
    TooManyWords(usize),
}

/// The kind of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchKind {
    /// Modules.
    Module,
    /// Providers, published here or mirrored.
    Provider,
    /// Symbols of a kind.
    Symbol(DocumentationKind),
    /// Symbols of all kinds. No text stands for it.
    AnySymbol,
}

/// The error for a text that is not the kind of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "is none of module, provider, resource, data-source, function, ephemeral-resource, list-resource, action and state-store, nor the plural of one"
)]
pub struct SearchKindError;

/// The place of a result in the order of results: its rank and its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    is_deprecated: bool,
    rank: Rank,
    address: String,
    symbol: String,
}

/// The error for a text that is not a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a cursor: take it from the field next of the previous page")]
pub struct CursorError;

impl Query {
    /// Returns the words.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    pub(super) fn of_words(words: Vec<String>) -> Self {
        Self { words, host: 0 }
    }

    /// Returns a source address without its hostname, which packages published here do not have.
    pub(super) fn without_host(&self) -> Option<Self> {
        let rest = self.words.get(self.host..).filter(|_| self.host > 0)?;
        (!rest.is_empty()).then(|| Self::of_words(rest.to_vec()))
    }

    /// Returns the query with each plural as a singular; `None` if it has no plural.
    pub(super) fn in_the_singular(&self) -> Option<Self> {
        let is_plural =
            |word: &str| word.len() >= 4 && word.ends_with('s') && !word.ends_with("ss");
        let singular = |word: &String| match is_plural(word) {
            true => word.trim_end_matches('s').to_owned(),
            false => word.clone(),
        };
        let words: Vec<String> = self.words.iter().map(singular).collect();
        (words != self.words).then(|| Self::of_words(words))
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

/// Returns a source address without its submodule and version; any other text as it is.
fn address_in(text: &str) -> &str {
    let end = match text.contains("://") {
        true => None,
        false => text.find("//"),
    };
    let end = end.or_else(|| text.find("?ref="));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Returns the hostname before an address; empty if there is none.
fn host_in(address: &str) -> &str {
    let host = address
        .trim_start()
        .split_once('/')
        .map_or("", |(host, _)| host);
    let is_host = host.contains(['.', ':']) || host == "localhost";
    match is_host && !host.contains(' ') {
        true => host,
        false => "",
    }
}

impl FromStr for Query {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        if text.len() > limits::SEARCH_BYTES {
            return Err(QueryError::TooLong(text.len()));
        }
        let address = address_in(text);
        let host = words(host_in(address)).count();
        let words: Vec<String> = words(address).map(str::to_lowercase).collect();
        match words.len() {
            0 => Err(QueryError::Empty),
            count if count > limits::SEARCH_WORDS => Err(QueryError::TooManyWords(count)),
            _ => Ok(Self { words, host }),
        }
    }
}

impl FromStr for SearchKind {
    type Err = SearchKindError;

    /// Parses a kind in the singular, or in the plural that the symbols of results have.
    fn from_str(text: &str) -> Result<Self, SearchKindError> {
        Ok(match text.strip_suffix('s').unwrap_or(text) {
            "module" => Self::Module,
            "provider" => Self::Provider,
            symbol => {
                let kind: DocumentationKind =
                    format!("{symbol}s").parse().map_err(|_| SearchKindError)?;
                match kind {
                    DocumentationKind::Overview | DocumentationKind::Guide => {
                        return Err(SearchKindError);
                    }
                    kind => Self::Symbol(kind),
                }
            }
        })
    }
}

impl Cursor {
    pub(super) fn of(ranked: &Ranked<'_>) -> Self {
        Self {
            is_deprecated: ranked.is_deprecated,
            rank: ranked.rank,
            address: ranked.address.to_string(),
            symbol: ranked.symbol.to_string(),
        }
    }

    /// Returns whether a result comes after this place.
    pub(super) fn is_before(&self, ranked: &Ranked<'_>) -> bool {
        let own = (
            self.is_deprecated,
            self.rank,
            self.address.as_str(),
            self.symbol.as_str(),
        );
        own < (
            ranked.is_deprecated,
            ranked.rank,
            ranked.address,
            ranked.symbol.as_ref(),
        )
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_deprecated { 'd' } else { 'a' };
        let Self {
            rank,
            address,
            symbol,
            ..
        } = self;
        write!(f, "{state}{}~{address}~{symbol}", rank.number())
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        if text.len() > CURSOR_BYTES {
            return Err(CursorError);
        }
        let mut parts = text.splitn(3, '~');
        let mut next = || parts.next().ok_or(CursorError);
        let (place, address, symbol) = (next()?, next()?, next()?);
        let (is_deprecated, rank) = match place.split_at_checked(1) {
            Some(("a", rank)) => (false, rank),
            Some(("d", rank)) => (true, rank),
            _ => return Err(CursorError),
        };
        Ok(Self {
            is_deprecated,
            rank: Rank::of_number(rank).ok_or(CursorError)?,
            address: address.to_owned(),
            symbol: symbol.to_owned(),
        })
    }
}
