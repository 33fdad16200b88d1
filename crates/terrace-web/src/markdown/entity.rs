//! Character references of raw HTML, which the Markdown parser leaves as they are.

use std::borrow::Cow;

use pulldown_cmark::{Event, Parser};

/// The longest name of a reference (`CounterClockwiseContourIntegral`), with `&` and `;`.
const REFERENCE_BYTES: usize = 33;

/// Decodes the references that end with a semicolon.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, found)) = rest.find('&').and_then(|at| rest.split_at_checked(at)) {
        output.push_str(before);
        let (reference, after) = split_reference(found);
        push_decoded(&mut output, reference);
        rest = after;
    }
    output.push_str(rest);
    Cow::Owned(output)
}

/// Splits a text that begins with `&` after the reference, or after the `&`.
fn split_reference(text: &str) -> (&str, &str) {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'#';
    let name = text.bytes().skip(1).take(REFERENCE_BYTES);
    let length = 1 + name.take_while(|byte| is_name(*byte)).count();
    match text.as_bytes().get(length) {
        Some(b';') => text.split_at_checked(length + 1),
        _ => text.split_at_checked(1),
    }
    .unwrap_or((text, ""))
}

fn push_decoded(output: &mut String, reference: &str) {
    match reference {
        "&amp;" | "&" => output.push('&'),
        "&lt;" => output.push('<'),
        "&gt;" => output.push('>'),
        "&quot;" => output.push('"'),
        "&nbsp;" => output.push('\u{a0}'),
        // The parser has the table of names.
        _ => {
            for event in Parser::new(reference) {
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
