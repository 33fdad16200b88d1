//! Percent-encoding of queries, forms and signed paths (RFC 3986, section 2.1). Of the
//! paths of requests, only the names of submodules and examples are decoded.

use std::borrow::Cow;

/// The meaning of a `+` in encoded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plus {
    /// A literal `+`, as in a URL.
    Plus,
    /// A space, as in a form (RFC 6749, appendix B).
    Space,
}

/// Percent-decodes `text`; `None` if an escape is malformed or the result is not UTF-8.
pub fn decoded(text: &str, plus: Plus) -> Option<Cow<'_, str>> {
    let is_plain = |byte: u8| byte != b'%' && (byte != b'+' || plus == Plus::Plus);
    if text.bytes().all(is_plain) {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' if plus == Plus::Space => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Returns whether a byte never needs escaping (RFC 3986, section 2.3).
pub fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Encodes every byte that is not unreserved.
pub fn encode(text: &str) -> String {
    encode_except(text, |_| false)
}

/// Encodes every byte that the segments of a path cannot have (RFC 3986, section 3.3), but no slash.
pub fn encode_segments(text: &str) -> String {
    encode_except(text, |byte| b"/!$&'()*+,;=:@".contains(&byte))
}

/// Encodes every byte that is neither unreserved nor a slash.
pub fn encode_path(text: &str) -> String {
    encode_except(text, |byte| byte == b'/')
}

fn encode_except(text: &str, keep: impl Fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        if is_unreserved(byte) || keep(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_decoded_and_malformed_ones_are_rejected() {
        for (text, in_a_url, in_a_form) in [
            ("a+b", Some("a+b"), Some("a b")),
            ("a%2bb%20c", Some("a+b c"), Some("a+b c")),
            ("%C3%a4", Some("\u{e4}"), Some("\u{e4}")),
            ("", Some(""), Some("")),
            ("%", None, None),
            ("%4", None, None),
            ("%zz", None, None),
            ("%+1", None, None),
            ("%ff", None, None),
        ] {
            assert_eq!(decoded(text, Plus::Plus).as_deref(), in_a_url, "{text}");
            assert_eq!(decoded(text, Plus::Space).as_deref(), in_a_form, "{text}");
        }
    }

    proptest! {
        #[test]
        fn encoded_text_decodes_to_itself(text in "\\PC{0,40}") {
            let escaped = encode(&text);
            for plus in [Plus::Plus, Plus::Space] {
                let read = decoded(&escaped, plus);
                prop_assert_eq!(read.as_deref(), Some(text.as_str()));
            }
        }
    }
}
