//! Texts: cut at a limit, on one line, and with their line numbers.

use std::borrow::Cow;

use terrace_base::untrusted;

use terrace_core::limits::TITLE_CHARS;

use crate::limits;

/// Messages in the order in which they arose, up to a number.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    messages: Vec<String>,
    omitted: usize,
}

/// The offsets of the line feeds in a text.
#[derive(Debug)]
pub(crate) struct Lines(Vec<usize>);

impl Messages {
    /// Adds a message, once. Its parts of untrusted text must be escaped already.
    pub(crate) fn add(&mut self, message: impl AsRef<str>) {
        let message = characters(message.as_ref(), limits::NOTE_CHARS);
        if self.messages.iter().any(|known| *known == message) {
            return;
        }
        if self.messages.len() < limits::NOTES {
            self.messages.push(message.into_owned());
        } else {
            self.omitted += 1;
        }
    }

    /// Returns the messages, and how many others there were.
    pub(crate) fn finish(mut self) -> Vec<String> {
        if self.omitted > 0 {
            let omitted = self.omitted;
            self.messages.push(format!("{omitted} further notes"));
        }
        self.messages
    }
}

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// Returns the number of the line, from 1, that has this offset.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|feed| *feed < offset) + 1
    }
}

/// Returns the text up to `limit` bytes, cut at the boundary of a character.
pub(crate) fn cut(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

/// Returns the first `limit` characters of a text, with an ellipsis if there are more.
pub(crate) fn characters(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        Some((at, _)) => Cow::Owned(format!("{}…", cut(text, at))),
        None => Cow::Borrowed(text),
    }
}

/// Returns the words of a text on one line.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    // The ellipsis is a character, too.
    characters(&line, TITLE_CHARS - 1).into_owned()
}

/// Returns the name of a resource or a function without the type of the provider.
pub(crate) fn short_name<'n>(name: &'n str, provider_type: &str) -> &'n str {
    let rest = name.strip_prefix(provider_type);
    let rest = rest.and_then(|rest| rest.strip_prefix('_'));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(name)
}

/// Returns a path or a name from outside as part of a message.
pub(crate) fn shown(path: &str) -> String {
    untrusted::line(path)
        .at_most(untrusted::QUOTED_CHARS)
        .to_string()
}

/// Returns the text without a byte order mark, with replacement characters, and the offset of the first invalid byte.
pub(crate) fn decode(bytes: &[u8]) -> (Cow<'_, str>, Option<usize>) {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), None),
        Err(error) => (String::from_utf8_lossy(bytes), Some(error.valid_up_to())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("aéb", 2), "a");
        assert_eq!(cut("aéb", 3), "aé");
        assert_eq!(cut("aéb", 9), "aéb");
        assert_eq!(characters("aéb", 2), "aé…");
        assert_eq!(characters("aéb", 3), "aéb");
    }

    #[test]
    fn an_offset_has_a_line() {
        let lines = Lines::of("a\nb\n\nc");
        let found: Vec<usize> = (0..6).map(|offset| lines.at(offset)).collect();
        assert_eq!(found, [1, 1, 2, 2, 3, 4]);
    }

    #[test]
    fn messages_beyond_the_limit_are_counted() {
        let mut messages = Messages::default();
        messages.add("note 0");
        for number in 0..limits::NOTES + 3 {
            messages.add(format!("note {number}"));
        }
        assert_eq!(messages.finish().last().unwrap(), "3 further notes");
    }
}
