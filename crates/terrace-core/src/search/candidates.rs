//! The lines that a search parses: those of visible owners that contain a word of the query.

use std::collections::BTreeMap;

use memchr::memchr2_iter;

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

    /// Whether the caller may see the package with this key.
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
    let hosted = key
        .strip_prefix("modules/")
        .or_else(|| key.strip_prefix("providers/hosted/"));
    match (hosted, key.strip_prefix("providers/")) {
        (Some(rest), _) => rest.split('/').next().unwrap_or_default(),
        (None, Some(rest)) => {
            let mut slashes = rest.match_indices('/').map(|(at, _)| at);
            let end = slashes.nth(1).unwrap_or(rest.len());
            rest.get(..end).unwrap_or_default()
        }
        (None, None) => "",
    }
}

/// Returns the visible lines of packages of a kind.
pub(super) fn package_lines<'t>(
    text: &'t str,
    kind: Option<SearchKind>,
    visible: &mut Visible<'_, 't>,
) -> impl Iterator<Item = &'t str> {
    let prefix = match kind {
        None => Some(""),
        Some(SearchKind::Module) => Some("modules/"),
        Some(SearchKind::Provider) => Some("providers/"),
        Some(SearchKind::Symbol(_)) => None,
    };
    let text = if prefix.is_some() { text } else { "" };
    text.lines().filter(move |line| {
        let key = package_in(line);
        key.is_some_and(|key| key.starts_with(prefix.unwrap_or_default()) && visible.has(key))
    })
}

/// Returns the key at the beginning of a package's line.
pub(super) fn package_in(line: &str) -> Option<&str> {
    line.strip_prefix("[\"")?.split('"').next()
}

/// Returns the visible lines of symbols of a kind.
pub(super) fn symbol_lines<'t>(
    text: &'t str,
    kind: Option<SearchKind>,
    visible: &mut Visible<'_, 't>,
) -> impl Iterator<Item = &'t str> {
    let (text, kind) = match kind {
        None => (text, ""),
        Some(SearchKind::Symbol(kind)) => (text, kind.as_str()),
        Some(SearchKind::Module | SearchKind::Provider) => ("", ""),
    };
    text.lines().filter(move |line| {
        let Some((kind_of_line, key)) = symbol_in(line) else {
            return false;
        };
        (kind.is_empty() || kind == kind_of_line) && visible.has(key)
    })
}

/// Returns the kind and the provider in the line of a symbol. Neither has an escape, and nor does the version; the name of
/// the symbol may.
fn symbol_in(line: &str) -> Option<(&str, &str)> {
    let mut before_name = line.strip_prefix("[\"")?.splitn(3, '"');
    let kind = before_name.next()?;
    let rest = before_name.nth(1)?;
    let mut is_escaped = false;
    let end = rest.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })?;
    let rest = rest.get(end..)?.strip_prefix("\",\"")?;
    Some((kind, rest.split('"').next()?))
}

/// The texts that each matching line contains, in upper or lower case: the longest run of letters and digits of each word.
pub(super) struct Anchors<'q>(Vec<Anchor<'q>>);

/// A text that each matching line contains.
struct Anchor<'q> {
    text: &'q [u8],
    /// The position of the rarest byte.
    at: usize,
    /// That byte in lower and in upper case.
    bytes: [u8; 2],
}

/// Letters in catalogues, the most frequent first.
const FREQUENT: &[u8] = b"eaitonrsldcmupghvbyfwk";

impl<'q> Anchors<'q> {
    pub(super) fn of(query: &'q Query) -> Self {
        let anchors = query.words().iter().map(|word| Anchor::of(word));
        let mut anchors: Vec<Anchor<'q>> = anchors.collect();
        // The longest is in the fewest lines.
        sort_by(&mut anchors, |one, other| {
            other.text.len().cmp(&one.text.len())
        });
        Self(anchors)
    }

    /// Whether a line may match.
    pub(super) fn are_in(&self, line: &str) -> bool {
        self.0.iter().all(|anchor| anchor.is_in(line.as_bytes()))
    }
}

impl<'q> Anchor<'q> {
    fn of(word: &'q str) -> Self {
        let bytes = word.as_bytes();
        let runs = bytes.split(|byte| !byte.is_ascii_alphanumeric());
        let text = runs.max_by_key(|run| run.len()).unwrap_or_default();
        let commonness = |byte: u8| FREQUENT.iter().rev().position(|common| *common == byte);
        let rarest = text.iter().enumerate();
        let rarest = rarest.min_by_key(|(_, byte)| commonness(**byte).map_or(0, |it| it + 1));
        let (at, byte) = rarest.map_or((0, 0), |(at, byte)| (at, *byte));
        let bytes = [byte, byte.to_ascii_uppercase()];
        Self { text, at, bytes }
    }

    /// Whether a line contains the text. Without letters and digits in the word, each may match.
    fn is_in(&self, line: &[u8]) -> bool {
        if self.text.is_empty() {
            return true;
        }
        let [lower, upper] = self.bytes;
        memchr2_iter(lower, upper, line).any(|found| {
            let start = found.checked_sub(self.at);
            let place = start.and_then(|start| line.get(start..start + self.text.len()));
            place.is_some_and(|place| place.eq_ignore_ascii_case(self.text))
        })
    }
}
