//! The look of texts on a terminal.

use std::borrow::Cow;

use console::Color;

/// The look of a text. Its colour repeats the meaning of a word in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Title,
    Good,
    Faint,
    Warning,
    Blocked,
}

impl Style {
    /// Returns the look of a status.
    pub(super) fn of_status(word: &str) -> Self {
        match word.split([':', ' ']).next().unwrap_or_default() {
            "deprecated" | "withdrawn" => Self::Warning,
            "revoked" => Self::Blocked,
            _ => Self::Plain,
        }
    }

    pub(super) fn apply(self, text: &str, has_colors: bool) -> Cow<'_, str> {
        let style = match self {
            _ if !has_colors || text.is_empty() => return Cow::Borrowed(text),
            Self::Plain => return Cow::Borrowed(text),
            Self::Title => console::Style::new().bold(),
            Self::Good => console::Style::new().fg(Color::Green),
            Self::Faint => console::Style::new().dim(),
            Self::Warning => console::Style::new().fg(Color::Yellow),
            Self::Blocked => console::Style::new().fg(Color::Red),
        };
        Cow::Owned(style.force_styling(true).apply_to(text).to_string())
    }
}
