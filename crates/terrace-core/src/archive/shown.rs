//! Showing outside text in messages: quoted, escaped and of bounded length.

use std::fmt;

/// More of a name helps nobody to find it.
const MOST_CHARS: usize = 120;

/// Displays `text` in quotes, without control characters and at most 120 characters of it.
pub(super) fn shown(text: &str) -> Shown<'_> {
    Shown(text)
}

pub(super) struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        let mut chars = self.0.chars();
        for char in chars.by_ref().take(MOST_CHARS) {
            write!(f, "{}", char.escape_debug())?;
        }
        f.write_str(if chars.next().is_some() {
            "…\""
        } else {
            "\""
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_direction_characters_are_escaped() {
        assert_eq!(
            shown("a\n\u{202e}\"\u{1b}").to_string(),
            "\"a\\n\\u{202e}\\\"\\u{1b}\""
        );
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(
            shown(&"é".repeat(500)).to_string(),
            format!("\"{}…\"", "é".repeat(MOST_CHARS))
        );
    }
}
