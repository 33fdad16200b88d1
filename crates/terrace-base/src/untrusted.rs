//! Untrusted text in messages: text from clients, other registries, archives and file names.
//!
//! A terminal executes escape sequences, reorders the text after a bidirectional override, and hides
//! zero-width characters; a line feed lets text pass for a line of Terrace's own. None of these characters is
//! printed: each is written as an escape, such as `\n` or `\u{202e}`.

use std::fmt::{self, Write as _};

/// The maximum number of characters of a quoted text that are shown. More of a name would not help to find
/// it.
pub const QUOTED_CHARS: usize = 120;

/// A text that is displayed without any characters that a terminal acts on.
#[derive(Debug, Clone, Copy)]
pub struct Untrusted<'t> {
    text: &'t str,
    limit: usize,
    is_quoted: bool,
    is_ascii: bool,
}

/// Shows a whole text on one line.
pub fn line(text: &str) -> Untrusted<'_> {
    Untrusted {
        text,
        limit: usize::MAX,
        is_quoted: false,
        is_ascii: false,
    }
}

/// Shows at most [`QUOTED_CHARS`] characters of a text, in quotes.
pub fn quoted(text: &str) -> Untrusted<'_> {
    Untrusted {
        limit: QUOTED_CHARS,
        is_quoted: true,
        ..line(text)
    }
}

impl Untrusted<'_> {
    /// Limits the output to `chars` characters of the text.
    #[must_use]
    pub fn at_most(self, chars: usize) -> Self {
        Self {
            limit: chars,
            ..self
        }
    }

    /// Also escapes characters outside ASCII, so that the text cannot look like another one.
    #[must_use]
    pub fn in_ascii(self) -> Self {
        Self {
            is_ascii: true,
            ..self
        }
    }

    fn write_char(&self, c: char, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_unprintable(c) || self.is_ascii && !c.is_ascii() {
            return write!(f, "{}", c.escape_default());
        }
        match c {
            '"' | '\\' if self.is_quoted => write!(f, "\\{c}"),
            c => f.write_char(c),
        }
    }
}

impl fmt::Display for Untrusted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.is_quoted { "\"" } else { "" };
        f.write_str(quote)?;
        let mut chars = self.text.chars();
        for c in chars.by_ref().take(self.limit) {
            self.write_char(c, f)?;
        }
        if chars.next().is_some() {
            f.write_str(if self.is_ascii { "..." } else { "…" })?;
        }
        f.write_str(quote)
    }
}

/// Returns whether a terminal would act on a character, hide it, or display others in a different order than
/// they are stored (clients.md 14.1 on 2.1.2).
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}'
        )
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_that_a_terminal_acts_on_are_escaped() {
        for (text, shown) in [
            ("größer 測試", "größer 測試"),
            ("a\x1b[2J\r\n\tb", "a\\u{1b}[2J\\r\\n\\tb"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
            ("\u{202e}\u{2066}\u{61c}", "\\u{202e}\\u{2066}\\u{61c}"),
            ("\u{2028}\u{2029}\u{85}", "\\u{2028}\\u{2029}\\u{85}"),
            ("\u{200b}\u{feff}\u{ad}", "\\u{200b}\\u{feff}\\u{ad}"),
        ] {
            assert_eq!(line(text).to_string(), shown);
            assert_eq!(quoted(text).to_string(), format!("\"{shown}\""));
        }
    }

    #[test]
    fn quotes_and_backslashes_are_escaped_within_quotes_only() {
        assert_eq!(line("a\\\"b'").to_string(), "a\\\"b'");
        assert_eq!(quoted("a\\\"b'").to_string(), "\"a\\\\\\\"b'\"");
    }

    #[test]
    fn a_long_text_is_truncated() {
        let long = "é".repeat(500);
        let limit = QUOTED_CHARS;
        assert_eq!(
            quoted(&long).to_string(),
            format!("\"{}…\"", "é".repeat(limit))
        );
        assert_eq!(line(&long).to_string(), long);
        assert_eq!(line("abc").at_most(2).to_string(), "ab…");
        assert_eq!(line("ab").at_most(2).to_string(), "ab");
        assert_eq!(
            line("\u{430}bc").in_ascii().at_most(2).to_string(),
            "\\u{430}b..."
        );
    }

    proptest! {
        #[test]
        fn unprintable_characters_are_never_shown(text in any::<String>()) {
            for shown in [line(&text).to_string(), quoted(&text).to_string()] {
                prop_assert!(!shown.contains(is_unprintable), "{shown:?}");
            }
            prop_assert!(line(&text).in_ascii().to_string().is_ascii());
        }
    }
}
