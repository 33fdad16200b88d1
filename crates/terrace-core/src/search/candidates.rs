//! The lines that a search parses: those of visible owners that contain the words of the query.

use std::collections::BTreeMap;

use memchr::{memchr, memchr2_iter, memrchr};

use super::{Query, SearchKind};
use crate::model::owner::Owner;
use terrace_base::sort::sort_by;

/// The owners that the caller may see. Packages of one owner follow each other, and symbols are in the order of their names,
/// so all answers are kept, and the last one at hand.
pub(super) struct Visible<'v, 't> {
    is_visible: &'v dyn Fn(&Owner) -> bool,
    last: Option<(&'t str, bool)>,
    known: BTreeMap<&'t str, bool>,
}

impl<'v, 't> Visible<'v, 't> {
    pub(super) fn new(is_visible: &'v dyn Fn(&Owner) -> bool) -> Self {
        Self {
            is_visible,
            last: None,
            known: BTreeMap::new(),
        }
    }

    /// Returns whether the caller may see the package with this key.
    pub(super) fn has(&mut self, key: &'t str) -> bool {
        let owner = owner_in(key);
        match self.last {
            Some((last, is_visible)) if last == owner => is_visible,
            _ => {
                let is_visible = self.known.get(owner).copied();
                let is_visible = is_visible.unwrap_or_else(|| self.decide(owner));
                self.last = Some((owner, is_visible));
                is_visible
            }
        }
    }

    fn decide(&mut self, owner: &'t str) -> bool {
        let parsed = Owner::parse_key(&owner.to_ascii_lowercase());
        let is_visible = parsed.is_some_and(|owner| (self.is_visible)(&owner));
        self.known.insert(owner, is_visible);
        is_visible
    }
}

/// Returns the owner in the key of a package, in the case of the key.
pub(super) fn owner_in(key: &str) -> &str {
    let (rest, slashes) = if let Some(rest) = key.strip_prefix("modules/") {
        // Only the hostname of a mirrored module has a dot.
        let first = rest.split('/').next().unwrap_or_default();
        (rest, usize::from(first.contains('.')))
    } else if let Some(rest) = key.strip_prefix("providers/hosted/") {
        (rest, 0)
    } else if let Some(rest) = key.strip_prefix("providers/") {
        (rest, 1)
    } else {
        return "";
    };
    let mut ends = rest.bytes().enumerate().filter(|(_, byte)| *byte == b'/');
    let end = ends.nth(slashes).map_or(rest.len(), |(at, _)| at);
    rest.get(..end).unwrap_or_default()
}

/// Returns the lines of a text.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    Candidates::new(text, None)
}

/// Returns whether packages with this key are of a kind; none is of a kind of symbols.
pub(super) fn is_package_of(key: &str, kind: Option<SearchKind>) -> bool {
    match kind {
        None => true,
        Some(SearchKind::Module) => key.starts_with("modules/"),
        Some(SearchKind::Provider) => key.starts_with("providers/"),
        Some(SearchKind::Symbol(_) | SearchKind::AnySymbol) => false,
    }
}

/// Returns the key at the beginning of a package's line.
pub(super) fn package_in(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("[\"")?;
    rest.get(..memchr(b'"', rest.as_bytes())?)
}

/// The beginning of the line of a symbol. Neither the kind nor the provider has an escape, and nor does the version; the
/// name of the symbol may.
pub(super) struct SymbolStart<'t> {
    pub(super) kind: &'t str,
    /// The name as it is stored.
    pub(super) name: &'t str,
    pub(super) provider: &'t str,
}

impl<'t> SymbolStart<'t> {
    pub(super) fn of(line: &'t str) -> Option<Self> {
        let (kind, rest) = line.strip_prefix("[\"")?.split_once("\",\"")?;
        let mut is_escaped = false;
        let end = rest.bytes().position(|byte| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        })?;
        let (name, rest) = rest.split_at_checked(end)?;
        let rest = rest.strip_prefix("\",\"")?;
        let provider = rest.get(..memchr(b'"', rest.as_bytes())?)?;
        Some(Self {
            kind,
            name,
            provider,
        })
    }

    pub(super) fn is_of(&self, kind: Option<SearchKind>) -> bool {
        match kind {
            None | Some(SearchKind::AnySymbol) => true,
            Some(SearchKind::Symbol(kind)) => kind.as_str() == self.kind,
            Some(SearchKind::Module | SearchKind::Provider) => false,
        }
    }
}

/// The texts that each matching line contains, in upper or lower case: the longest run of letters and digits of each word. A
/// package whose interface has a word need not contain its text.
pub(super) struct Anchors<'q> {
    /// The longest text, which is in the fewest lines.
    first: Option<Anchor<'q>>,
    others: Vec<Anchor<'q>>,
}

/// A text that each matching line contains.
#[derive(Clone, Copy)]
struct Anchor<'q> {
    /// The number of the word.
    word: usize,
    text: &'q [u8],
    /// The position of the rarest byte.
    at: usize,
    /// That byte in lower and in upper case.
    bytes: [u8; 2],
}

/// The lines of a text that contain an anchor, found by one pass over the text. Without an anchor, these are all lines.
struct Candidates<'t, 'q> {
    text: &'t str,
    anchor: Option<Anchor<'q>>,
    /// The end of the last line.
    at: usize,
}

/// Letters and digits in catalogues, the most frequent first.
const FREQUENT: &[u8] = b"eaitonrs01l2dc7mu3pg4h5v6b8y9fwk";

impl<'q> Anchors<'q> {
    pub(super) fn of(query: &'q Query) -> Self {
        let anchors = query.words().iter().enumerate();
        let anchors = anchors.filter_map(|(number, word)| Anchor::of(number, word));
        let mut anchors: Vec<Anchor<'q>> = anchors.collect();
        sort_by(&mut anchors, |one, other| {
            other.text.len().cmp(&one.text.len())
        });
        let mut anchors = anchors.into_iter();
        Self {
            first: anchors.next(),
            others: anchors.collect(),
        }
    }

    /// Returns whether a line contains the text of each word, except those that are found elsewhere.
    pub(super) fn admit(&self, line: &str, is_elsewhere: impl Fn(usize) -> bool) -> bool {
        let line = line.as_bytes();
        let mut anchors = self.first.iter().chain(&self.others);
        anchors.all(|anchor| is_elsewhere(anchor.word) || anchor.find(line).is_some())
    }

    /// Returns whether a text may contain a word, by its number.
    pub(super) fn may_be_in(&self, text: &str, word: usize) -> bool {
        let mut anchors = self.first.iter().chain(&self.others);
        let anchor = anchors.find(|anchor| anchor.word == word);
        anchor.is_none_or(|anchor| anchor.find(text.as_bytes()).is_some())
    }

    /// Returns the lines that may match.
    pub(super) fn lines<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let contains_others = |line: &&str| {
            let line = line.as_bytes();
            self.others.iter().all(|anchor| anchor.find(line).is_some())
        };
        Candidates::new(text, self.first).filter(contains_others)
    }
}

impl<'q> Anchor<'q> {
    /// Returns the anchor of a word; `None` if the word has neither letters nor digits of ASCII.
    fn of(number: usize, word: &'q str) -> Option<Self> {
        let bytes = word.as_bytes();
        let runs = bytes.split(|byte| !byte.is_ascii_alphanumeric());
        let text = runs.max_by_key(|run| run.len())?;
        let rarity = |byte: u8| FREQUENT.iter().position(|frequent| *frequent == byte);
        let bytes = text.iter().enumerate();
        let (at, byte) = bytes.max_by_key(|(_, byte)| rarity(**byte).unwrap_or(usize::MAX))?;
        Some(Self {
            word: number,
            text,
            at,
            bytes: [*byte, byte.to_ascii_uppercase()],
        })
    }

    /// Returns the position of the text in upper or lower case.
    fn find(&self, line: &[u8]) -> Option<usize> {
        let [lower, upper] = self.bytes;
        let mut starts = memchr2_iter(lower, upper, line).filter_map(|at| at.checked_sub(self.at));
        starts.find(|start| {
            let place = line.get(*start..start + self.text.len());
            place.is_some_and(|place| place.eq_ignore_ascii_case(self.text))
        })
    }
}

impl<'t, 'q> Candidates<'t, 'q> {
    fn new(text: &'t str, anchor: Option<Anchor<'q>>) -> Self {
        let at = 0;
        Self { text, anchor, at }
    }
}

impl<'t> Iterator for Candidates<'t, '_> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let bytes = rest.as_bytes();
        let found = match &self.anchor {
            None => 0,
            Some(anchor) => anchor.find(bytes)?,
        };
        // An anchor has no line feed.
        let (before, after) = bytes.split_at_checked(found)?;
        let start = memrchr(b'\n', before).map_or(0, |at| at + 1);
        let end = memchr(b'\n', after).map_or(bytes.len(), |at| found + at);
        self.at += end + 1;
        rest.get(start..end)
    }
}
