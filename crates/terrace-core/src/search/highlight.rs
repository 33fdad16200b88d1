//! The places of words in texts.

use std::ops::Range;

use terrace_base::sort::sort;

use super::Query;

/// Returns whether a text contains a word, which is in lower case.
pub fn contains(text: &str, word: &str) -> bool {
    find(text, word, 0).is_some()
}

/// Returns a text in pieces, of which every second one is a word of the query. The first piece may be empty.
pub fn pieces(text: &str, query: &Query) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut end = 0;
    for place in places(text, query) {
        for range in [end..place.start, place.clone()] {
            pieces.push(text.get(range).unwrap_or_default().to_owned());
        }
        end = place.end;
    }
    let rest = text.get(end..).unwrap_or_default();
    if pieces.is_empty() || !rest.is_empty() {
        pieces.push(rest.to_owned());
    }
    pieces
}

/// Returns the places of all words, ascending; those that touch each other are one.
fn places(text: &str, query: &Query) -> Vec<Range<usize>> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for word in query.words() {
        let mut from = 0;
        while let Some(place) = find(text, word, from) {
            from = place.end;
            found.push((place.start, place.end));
        }
    }
    sort(&mut found);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for (start, end) in found {
        match merged.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => merged.push(start..end),
        }
    }
    merged
}

/// Returns the first place of a word at or after `from`.
fn find(text: &str, word: &str, from: usize) -> Option<Range<usize>> {
    if word.is_empty() {
        return None;
    }
    let rest = text.get(from..)?;
    if rest.is_ascii() && word.is_ascii() {
        let mut windows = rest.as_bytes().windows(word.len());
        let at = windows.position(|window| window.eq_ignore_ascii_case(word.as_bytes()))?;
        return Some(from + at..from + at + word.len());
    }
    rest.char_indices().find_map(|(at, _)| {
        let length = length_at(rest.get(at..)?, word)?;
        Some(from + at..from + at + length)
    })
}

/// Returns the number of bytes at the beginning of a text that are a word in lower case.
fn length_at(text: &str, word: &str) -> Option<usize> {
    let mut wanted = word.chars();
    for (at, c) in text.char_indices() {
        if wanted.as_str().is_empty() {
            return Some(at);
        }
        for lower in c.to_lowercase() {
            if wanted.next() != Some(lower) {
                return None;
            }
        }
    }
    wanted.as_str().is_empty().then_some(text.len())
}
