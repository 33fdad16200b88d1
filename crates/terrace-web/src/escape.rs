//! The escaping of text for HTML. The result is the form in which HTML serialisers write the same text, so that tests can
//! compare it with a parsed and serialised copy.
//!
//! Bidirectional controls reorder the characters around them, so that code reads differently from its effect
//! (CVE-2021-42574). They are written visibly, as `[U+202E]`. Other control characters become U+FFFD.

/// Appends text that is shown between tags.
pub(crate) fn push_text(html: &mut String, text: &str) {
    push(html, text, false);
}

/// Appends the value of an attribute in double quotes.
pub(crate) fn push_attribute(html: &mut String, text: &str) {
    push(html, text, true);
}

/// Replaces the characters that no text may contain: controls. Other characters stay.
pub(crate) fn cleaned(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        push_clean(&mut clean, c, chars.peek() == Some(&'\n'));
    }
    clean
}

/// Replaces the controls in a finished page. Templates escape markup only, and write no control of their own.
pub(crate) fn with_visible_controls(html: String) -> String {
    let is_unclean = |at: usize| html.get(at..).is_some_and(|it| it.starts_with(is_unclean));
    let words = html.as_bytes().chunks(8).zip((0..).step_by(8));
    let mut suspects = words.filter(|(word, _)| !is_printable(word));
    match suspects.any(|(word, start)| (start..start + word.len()).any(is_unclean)) {
        true => cleaned(&html),
        false => html,
    }
}

/// Returns whether eight bytes are printable ASCII characters, by one calculation for all: a page has hundreds of kilobytes.
fn is_printable(bytes: &[u8]) -> bool {
    const EACH: u64 = u64::MAX / 255;
    <[u8; 8]>::try_from(bytes).is_ok_and(|bytes| {
        let word = u64::from_le_bytes(bytes);
        let below_space = word.wrapping_sub(EACH * 0x20);
        let above_tilde = word.wrapping_add(EACH);
        (word | below_space | above_tilde) & (EACH * 0x80) == 0
    })
}

fn push(html: &mut String, text: &str, is_attribute: bool) {
    html.reserve(text.len());
    let mut rest = text;
    // Most of a text is copied in runs: decoding each character takes several times as long.
    let begins_special = |byte| begins_unclean(byte) || matches!(byte, b'&' | b'<' | b'>' | b'"');
    while let Some(at) = rest.bytes().position(begins_special) {
        let (plain, special) = rest.split_at_checked(at).unwrap_or((rest, ""));
        html.push_str(plain);
        let mut chars = special.chars();
        let Some(c) = chars.next() else { break };
        rest = chars.as_str();
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' if is_attribute => html.push_str("&quot;"),
            '\u{a0}' => html.push_str("&nbsp;"),
            c => push_clean(html, c, rest.starts_with('\n')),
        }
    }
    html.push_str(rest);
}

/// Returns whether a character is a control that no text may contain.
fn is_unclean(c: char) -> bool {
    is_bidirectional(c) || (c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Returns whether a byte of UTF-8 may begin such a control, or a space that does not break.
fn begins_unclean(byte: u8) -> bool {
    matches!(byte, 0..=8 | 11..=31 | 0x7f | 0xc2 | 0xe2)
}

fn push_clean(text: &mut String, c: char, is_before_line_feed: bool) {
    match c {
        '\r' if is_before_line_feed => {}
        '\r' => text.push('\n'),
        '\n' | '\t' => text.push(c),
        c if c.is_control() => text.push('\u{fffd}'),
        c if is_bidirectional(c) => text.push_str(&format!("[U+{:04X}]", u32::from(c))),
        c => text.push(c),
    }
}

/// Returns whether a character starts or ends an embedding, an override or an isolate (Unicode Standard Annex 9).
fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        let mut html = String::new();
        push_text(&mut html, text);
        html
    }

    #[test]
    fn markup_is_shown_as_text() {
        assert_eq!(text("a<b>&\"'\u{a0}é"), "a&lt;b&gt;&amp;\"'&nbsp;é");
        let mut html = String::new();
        push_attribute(&mut html, "\"><x'");
        assert_eq!(html, "&quot;&gt;&lt;x'");
    }

    #[test]
    fn controls_are_visible_and_line_ends_are_line_feeds() {
        assert_eq!(text("a\r\nb\rc\td\n"), "a\nb\nc\td\n");
        assert_eq!(text("\0\u{7f}\u{85}"), "\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(text("a\u{202e}b\u{2069}"), "a[U+202E]b[U+2069]");
        assert_eq!(cleaned("a\r\n\u{202e}<\0"), "a\n[U+202E]<\u{fffd}");
    }
}
