//! The parts of an answer: an assistant reads an answer whole, so that each is bounded, and states where the next part begins.

use serde_json::value::RawValue;

/// Maximum length of the entries or the text of an answer of an MCP tool, in characters: about 5,000 tokens of a model, of
/// which a page of documentation of a large provider would take 100,000.
const MCP_ANSWER_CHARS: usize = 20_000;

/// Maximum length of one text of a publisher within such an answer, in characters. Descriptions and defaults are longer only
/// where they hold whole documents.
const MCP_FIELD_CHARS: usize = 1_000;

/// The entries of a list, in JSON.
pub type Entries = Box<RawValue>;

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

    /// Returns the entries of a list that belong to the page, as a list in JSON. Lists are passed in their order in the answer.
    /// Only entries of the page are written, by `write`.
    pub fn take<T>(
        &mut self,
        entries: impl IntoIterator<Item = T>,
        write: impl Fn(T) -> String,
    ) -> Entries {
        let mut list = String::from("[");
        for entry in entries {
            if self.wants_next() {
                self.offer(&mut list, &write(entry));
            }
        }
        list.push(']');
        // The writers are serialisers, so the list is valid.
        RawValue::from_string(list).unwrap_or_else(|_| Entries::default())
    }

    /// Counts an entry. Returns whether it may belong to the page.
    #[inline(never)]
    fn wants_next(&mut self) -> bool {
        let at = self.seen;
        self.seen += 1;
        at >= self.offset && self.next.is_none()
    }

    /// Appends an entry to a list if there is room. A page has at least one: the next one would otherwise begin at the same
    /// place.
    #[inline(never)]
    fn offer(&mut self, list: &mut String, entry: &str) {
        let length = entry.chars().count();
        if length > self.left && self.taken > 0 {
            self.next = self.seen.checked_sub(1);
            return;
        }
        self.left = self.left.saturating_sub(length);
        self.taken += 1;
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(entry);
    }

    /// Returns whether the page is the first one.
    pub fn is_first(&self) -> bool {
        self.offset == 0
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

/// Returns a text of a publisher, cut at its limit.
pub(super) fn cut(text: &str) -> String {
    let mut chars = text.chars();
    let mut cut: String = chars.by_ref().take(MCP_FIELD_CHARS).collect();
    if chars.next().is_some() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns all entries, read page by page, and the number of pages.
    fn read(lists: &[Vec<String>]) -> (Vec<String>, usize) {
        let (mut all, mut pages, mut offset) = (Vec::new(), 0, 0);
        loop {
            let mut page = AnswerPage::after(offset);
            let mut length = 0;
            for list in lists {
                let entries = page.take(list, terrace_base::json::to_string);
                length += entries.get().chars().count();
                let entries: Vec<String> = serde_json::from_str(entries.get()).unwrap();
                // The brackets and commas.
                length -= (entries.len() + 1).max(2);
                all.extend(entries);
            }
            pages += 1;
            assert!(length <= MCP_ANSWER_CHARS || page.taken == 1);
            match page.next() {
                Some(next) => {
                    assert!(next > offset);
                    offset = next;
                }
                None => return (all, pages),
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
            prop_assert_eq!(read(&lists).0, lists.concat());
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
        let long = "x".repeat(MCP_ANSWER_CHARS * 2);
        let lists = [vec!["a".to_owned(), long.clone(), "b".to_owned()]];
        let (all, pages) = read(&lists);
        assert_eq!((all.len(), pages), (3, 3));
    }

    #[test]
    fn an_offset_behind_the_end_leads_to_nothing() {
        let mut page = AnswerPage::after(7);
        assert_eq!(page.take(["a"], |it| format!("{it:?}")).get(), "[]");
        assert_eq!(page.next(), None);
        let page = TextPage::of("abc", usize::MAX);
        assert_eq!((page.text.as_str(), page.next), ("", None));
    }
}
