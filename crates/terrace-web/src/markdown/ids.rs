//! The ids of a document.

use std::collections::BTreeMap;

use crate::limits;

/// The start of ids that the page around a document may use for itself.
pub const RESERVED_ID: &str = "page-";

/// The text in front of ids of documents that would begin with [`RESERVED_ID`], or look like those of footnotes.
pub const ESCAPED_ID: &str = "doc-";

/// The start of the ids of footnotes and of references to them.
const FOOTNOTE_ID: &str = "fn-";

/// The ids that are taken.
#[derive(Default)]
pub(super) struct Ids {
    /// Each taken id, with the number of the last id that was derived from it.
    taken: BTreeMap<String, usize>,
}

impl Ids {
    /// Returns the id of a heading: GitHub's slug, with `-1` at the end if it is taken.
    pub(super) fn claim_slug(&mut self, text: &str) -> String {
        let mut slug = slug(text);
        if slug.is_empty() {
            "section".clone_into(&mut slug);
        }
        let slug = escaped(&slug);
        let mut candidate = slug.clone();
        while self.taken.contains_key(&candidate) {
            let number = self.taken.entry(slug.clone()).or_default();
            *number += 1;
            candidate = format!("{slug}-{number}");
        }
        self.taken.insert(candidate.clone(), 0);
        candidate
    }

    /// Returns the id of an anchor of raw HTML, unless it is taken or no id.
    pub(super) fn unclaimed(&mut self, name: &str) -> Option<String> {
        let id = escaped(&anchor(name)?);
        if self.taken.contains_key(&id) {
            return None;
        }
        self.taken.insert(id.clone(), 0);
        Some(id)
    }

    /// Returns the id that a fragment (`#…`, without `#`) of a link within the document means.
    pub(super) fn of_fragment(fragment: &str) -> String {
        escaped(fragment)
    }

    /// Returns the id of the footnote with a number.
    pub(super) fn footnote(number: usize) -> String {
        format!("{FOOTNOTE_ID}{number}")
    }
}

fn escaped(id: &str) -> String {
    let is_reserved = id.starts_with(RESERVED_ID) || id.starts_with(FOOTNOTE_ID);
    match is_reserved {
        true => format!("{ESCAPED_ID}{id}"),
        false => id.to_owned(),
    }
}

/// Returns the slug of a heading by GitHub's rules: lower case, without punctuation, spaces as dashes.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.trim().chars().take(limits::ID_CHARS) {
        match c {
            '-' | '_' => slug.push(c),
            c if c.is_whitespace() => slug.push('-'),
            c if c.is_alphanumeric() => slug.extend(c.to_lowercase()),
            _ => {}
        }
    }
    slug
}

/// Returns the id of an anchor, if all its characters may be in one.
fn anchor(name: &str) -> Option<String> {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let is_anchor =
        !name.is_empty() && name.len() <= limits::ID_CHARS && name.chars().all(is_inner);
    is_anchor.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_those_of_github() {
        for (text, expected) in [
            ("Argument Reference", "argument-reference"),
            ("What's new? (v1.2)", "whats-new-v12"),
            ("`aws_instance` & friends", "aws_instance--friends"),
            ("Über-Straße", "über-straße"),
            ("日本 語", "日本-語"),
            ("", ""),
            ("🚀", ""),
        ] {
            assert_eq!(slug(text), expected, "{text}");
        }
    }

    #[test]
    fn ids_are_unique() {
        let mut ids = Ids::default();
        let claimed = ["a", "a", "a-1", "a", "", "!"].map(|text| ids.claim_slug(text));
        assert_eq!(
            claimed,
            ["a", "a-1", "a-1-1", "a-2", "section", "section-1"]
        );
        assert_eq!(ids.unclaimed("a"), None);
        assert_eq!(ids.unclaimed("input_a"), Some("input_a".to_owned()));
        assert_eq!(ids.claim_slug("input_a"), "input_a-1");
        for name in ["", "a b", "a\"", "a/b", "<"] {
            assert_eq!(ids.unclaimed(name), None, "{name}");
        }
    }

    #[test]
    fn ids_of_the_page_and_of_footnotes_are_reserved() {
        let mut ids = Ids::default();
        assert_eq!(ids.claim_slug("Page size"), "doc-page-size");
        assert_eq!(ids.unclaimed("fn-1"), Some("doc-fn-1".to_owned()));
        assert_eq!(Ids::of_fragment("page-size"), "doc-page-size");
        assert_eq!(Ids::of_fragment("pages"), "pages");
    }
}
