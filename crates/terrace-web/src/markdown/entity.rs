//! Character references of raw HTML, which the Markdown parser leaves as they are.

use std::borrow::Cow;

use pulldown_cmark::{Event, Parser};

/// The longest name of a reference (`CounterClockwiseContourIntegral`), with `&` and `;`.
const REFERENCE_BYTES: usize = 33;

/// Decodes the references that end with a semicolon.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    let mut parts = text.split('&');
    let first = parts.next().unwrap_or_default();
    if first.len() == text.len() {
        return Cow::Borrowed(text);
    }
    let mut output = first.to_owned();
    for part in parts {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
        let bytes = part.bytes().take(REFERENCE_BYTES);
        let length = bytes.take_while(is_name).count();
        match part.split_at_checked(length) {
            Some((name, rest)) if rest.starts_with(';') => {
                push_decoded(&mut output, name);
                output.push_str(rest.get(1..).unwrap_or_default());
            }
            _ => output.extend(["&", part]),
        }
    }
    Cow::Owned(output)
}

fn push_decoded(output: &mut String, name: &str) {
    match name {
        // The parser removes a space.
        "nbsp" => output.push('\u{a0}'),
        // The parser has the table of names.
        _ => {
            for event in Parser::new(&format!("&{name};")) {
                if let Event::Text(text) = event {
                    output.push_str(&text);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_once() {
        for (text, expected) in [
            ("a&amp;b", "a&b"),
            ("&amp;lt;", "&lt;"),
            ("&copy; &mdash;&#65;&#x42;", "© —AB"),
            (
                "&nope; &amp &; & &#; &#xFFFFFFFF;",
                "&nope; &amp &; & &#; &#xFFFFFFFF;",
            ),
            ("&#0;", "\u{fffd}"),
            ("é&é;", "é&é;"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }
}
