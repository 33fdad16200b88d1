//! External text in messages.

use std::fmt;

use serde_json::Value;

use super::limits;
use terrace_base::untrusted;

/// External text for use in a message: in quotes, shortened, and in ASCII, so that it cannot break a line of
/// the log or imitate other text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quoted(String);

impl Quoted {
    /// Quotes a text.
    pub fn text(text: &str) -> Self {
        let quoted = untrusted::quoted(text).at_most(limits::QUOTED_CHARS);
        Self(quoted.in_ascii().to_string())
    }

    /// Returns the value of a claim, or its type for values that are not shown.
    pub fn value(value: Option<&Value>) -> Self {
        let kind = match value {
            None => "nothing",
            Some(Value::Array(_)) => "a list",
            Some(Value::Bool(value)) => return Self(value.to_string()),
            Some(Value::Null) => "null",
            Some(Value::Number(number)) => return Self(number.to_string()),
            Some(Value::Object(_)) => "an object",
            Some(Value::String(text)) => return Self::text(text),
        };
        Self(kind.to_owned())
    }
}

impl fmt::Display for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_in_ascii_on_one_line_and_truncated() {
        let shown = |text: &str| Quoted::text(text).to_string();
        assert_eq!(shown("a\n\"\u{202e}"), r#""a\n\"\u{202e}""#);
        assert_eq!(shown("\u{430}cme"), r#""\u{430}cme""#);
        let long = shown(&"a".repeat(500));
        assert_eq!(long.len(), limits::QUOTED_CHARS + 5);
        assert!(long.ends_with("a...\""));
    }
}
