//! The parts of an answer: an assistant reads an answer whole, so that each is bounded, and states where the next part begins.

use serde::Serialize;
use serde_json::value::RawValue;
use terrace_base::json;

/// Maximum length of the entries or the text of an answer of an MCP tool, in characters: about 5,000 tokens of a model, of
/// which a page of documentation of a large provider would take 100,000.
const MCP_ANSWER_CHARS: usize = 20_000;

/// Maximum length of one text of a publisher within such an answer, in characters. Descriptions and defaults are longer only
/// where they hold whole documents.
const MCP_FIELD_CHARS: usize = 1_000;

/// A document in JSON with bounded texts.
pub type Bounded = Box<RawValue>;

/// A page of the entries of an answer, which may be in several lists.
#[derive(Debug)]
pub struct AnswerPage {
    /// The number of entries before the page.
    offset: usize,
    seen: usize,
    taken: usize,
    /// The number of characters that are left.
    left: usize,
    next: Option<usize>,
}

/// A page of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPage {
    /// The text of the page.
    pub text: String,
    /// The number of characters of the whole text.
    pub total: usize,
    /// The number of characters before the next page, if there is one.
    pub next: Option<usize>,
}

impl AnswerPage {
    /// Creates the page that begins after `offset` entries.
    pub fn after(offset: usize) -> Self {
        Self {
            offset,
            seen: 0,
            taken: 0,
            left: MCP_ANSWER_CHARS,
            next: None,
        }
    }

    /// Keeps the entries of a list that belong to the page. Lists are passed in their order in the answer.
    pub fn keep<T: Serialize>(&mut self, entries: &mut Vec<T>) {
        entries.retain(|entry| self.wants_next() && self.has_room(&json::to_string(entry)));
    }

    /// Counts an entry. Returns whether it may belong to the page.
    #[inline(never)]
    fn wants_next(&mut self) -> bool {
        let at = self.seen;
        self.seen += 1;
        at >= self.offset && self.next.is_none()
    }

    /// Returns whether there is room for an entry. A page has at least one: the next one would otherwise begin at the same
    /// place.
    #[inline(never)]
    fn has_room(&mut self, entry: &str) -> bool {
        let length = cut(entry).chars().count();
        if length > self.left && self.taken > 0 {
            self.next = self.seen.checked_sub(1);
            return false;
        }
        self.left = self.left.saturating_sub(length);
        self.taken += 1;
        true
    }

    /// Returns the number of entries before the next page; `None` if there is none.
    pub fn next(&self) -> Option<usize> {
        self.next
    }
}

impl TextPage {
    /// Returns the page of a text that begins after `offset` characters.
    pub fn of(text: &str, offset: usize) -> Self {
        let total = text.chars().count();
        let text: String = text.chars().skip(offset).take(MCP_ANSWER_CHARS).collect();
        let end = offset.saturating_add(MCP_ANSWER_CHARS);
        Self {
            text,
            total,
            next: (end < total).then_some(end),
        }
    }
}

/// Returns a document in JSON, in which the texts of publishers are cut at their limit.
pub fn bounded(document: &impl Serialize) -> Bounded {
    // The writer is a serialiser, and a text ends with its quote, so the document is valid.
    RawValue::from_string(cut(&json::to_string(document))).unwrap_or_default()
}

/// Cuts the texts of a document in JSON.
#[inline(never)]
fn cut(json: &str) -> String {
    let mut cut = String::with_capacity(json.len());
    let mut rest = json;
    // The number of characters of the current text.
    let mut length: Option<usize> = None;
    while let Some(c) = rest.chars().next() {
        let bytes = match rest.as_bytes() {
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            _ => c.len_utf8(),
        };
        let piece;
        (piece, rest) = rest.split_at_checked(bytes).unwrap_or((rest, ""));
        length = match (length, c) {
            (None, '"') => Some(0),
            (Some(_), '"') => None,
            (length, _) => length.map(|length| length + 1),
        };
        match length {
            Some(length) if length == MCP_FIELD_CHARS + 1 => cut.push('…'),
            Some(length) if length > MCP_FIELD_CHARS => {}
            _ => cut.push_str(piece),
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns all entries, read page by page.
    fn read(lists: &[Vec<String>]) -> Vec<String> {
        let (mut all, mut offset) = (Vec::new(), 0);
        loop {
            let mut page = AnswerPage::after(offset);
            let mut length = 0;
            for list in lists {
                let mut kept = list.clone();
                page.keep(&mut kept);
                length += bounded(&kept).get().chars().count();
                // The brackets and commas.
                length -= (kept.len() + 1).max(2);
                all.extend(kept);
            }
            assert!(length <= MCP_ANSWER_CHARS || page.taken == 1);
            match page.next() {
                Some(next) => {
                    assert!(next > offset);
                    offset = next;
                }
                None => return all,
            }
        }
    }

    proptest! {
        #[test]
        fn the_pages_of_an_answer_have_each_entry_once_in_their_order(
            lengths in proptest::collection::vec(proptest::collection::vec(0_usize..9_000, 0..9), 0..5)
        ) {
            let lists: Vec<Vec<String>> = lengths
                .iter()
                .map(|list| list.iter().map(|length| "é".repeat(*length)).collect())
                .collect();
            prop_assert_eq!(read(&lists), lists.concat());
        }

        #[test]
        fn the_pages_of_a_text_are_the_text(text in "\\PC{0,300}", times in 0_usize..400) {
            let text = text.repeat(times);
            let (mut read, mut offset) = (String::new(), Some(0));
            while let Some(at) = offset {
                let page = TextPage::of(&text, at);
                prop_assert!(page.text.chars().count() <= MCP_ANSWER_CHARS);
                prop_assert_eq!(page.total, text.chars().count());
                read.push_str(&page.text);
                offset = page.next;
            }
            prop_assert_eq!(read, text);
        }
    }

    #[test]
    fn an_entry_that_is_longer_than_a_page_has_a_page_of_its_own() {
        let long = vec!["x".repeat(MCP_FIELD_CHARS); MCP_ANSWER_CHARS / MCP_FIELD_CHARS + 1];
        let (mut offset, mut pages) = (Some(0), Vec::new());
        while let Some(at) = offset {
            let mut page = AnswerPage::after(at);
            let mut entries = vec![vec!["a".to_owned()], long.clone(), vec!["b".to_owned()]];
            page.keep(&mut entries);
            pages.push(entries.len());
            offset = page.next();
        }
        assert_eq!(pages, [1, 1, 1]);
        // An offset behind the end leads to nothing.
        let mut behind = AnswerPage::after(7);
        let mut entries = vec!["a"];
        behind.keep(&mut entries);
        assert_eq!((entries.len(), behind.next()), (0, None));
        let behind = TextPage::of("abc", usize::MAX);
        assert_eq!((behind.text.as_str(), behind.next), ("", None));
    }

    #[test]
    fn a_long_text_is_cut_after_whole_characters() {
        let cut = |text: &str| serde_json::from_str::<String>(bounded(&text).get()).unwrap();
        let most = MCP_FIELD_CHARS - 1;
        for text in ["", "a", "\"\\\n\u{1}é😀"] {
            assert_eq!(cut(text), text);
            let end = text.chars().next().map(String::from).unwrap_or_default();
            let long = format!("{}{text}{text}", "x".repeat(most));
            let expected = match text {
                "" => "x".repeat(most),
                _ => format!("{}{end}…", "x".repeat(most)),
            };
            assert_eq!(cut(&long), expected);
        }
    }
}
