//! Base64url as used by JSON Web Signatures (RFC 7515, section 2).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Returns the bytes if the text is their canonical encoding: without padding, white space or stray bits.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_non_canonical_encoding_is_refused() {
        assert_eq!(decode("-_8"), Some(vec![0xfb, 0xff]));
        for other in [
            "-_9", "-_8=", "+/8", "-_ 8", "-_8\n", "-", "-_8A=", "\u{430}",
        ] {
            assert_eq!(decode(other), None, "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn two_texts_never_decode_to_the_same_bytes(text in "[A-Za-z0-9_=+/ -]{0,12}") {
            if let Some(bytes) = decode(&text) {
                prop_assert_eq!(URL_SAFE_NO_PAD.encode(bytes), text);
            }
        }
    }
}
