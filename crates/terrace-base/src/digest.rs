//! SHA-256, the digest that names archives, and SHA-512, which OCI clients may choose instead.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest as _;

/// A SHA-256 digest. Its text is 64 lower-case hexadecimal digits (clients.md 2.2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256([u8; 32]);

/// A SHA-512 digest. Its text is 128 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha512([u8; 64]);

/// The error for a text that is not a SHA-256 digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a SHA-256 digest of 64 hexadecimal digits")]
pub struct DigestError(String);

impl Sha256 {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Wraps a digest that a hasher has computed.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns standard base64 with padding, the form that `x-amz-checksum-sha256` requires.
    pub fn to_base64(self) -> String {
        STANDARD.encode(self.0)
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl FromStr for Sha256 {
    type Err = DigestError;

    /// Parses hexadecimal digits in either case.
    fn from_str(text: &str) -> Result<Self, DigestError> {
        let mut bytes = [0u8; 32];
        match decode(text, &mut bytes) {
            Some(()) => Ok(Self(bytes)),
            None => Err(DigestError(text.chars().take(80).collect())),
        }
    }
}

impl Sha512 {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha512::digest(bytes).into())
    }

    /// Wraps a digest that was computed elsewhere.
    pub fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    /// Parses hexadecimal digits in either case.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0u8; 64];
        decode(text, &mut bytes).map(|()| Self(bytes))
    }

    /// Returns the 64 bytes.
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl fmt::Display for Sha512 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

/// Writes a digest in hexadecimal. Every path and every second line of a document contains one, and `{:02x}`
/// takes ten times as long.
fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let digit = |nibble: u8| char::from(nibble + if nibble < 10 { b'0' } else { b'a' - 10 });
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    f.write_str(&text)
}

/// Decodes hexadecimal `text` into `bytes`; `None` if it does not have exactly two digits per byte.
fn decode(text: &str, bytes: &mut [u8]) -> Option<()> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    if text.len() != bytes.len() * 2 {
        return None;
    }
    for (target, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *target = u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()?;
    }
    Some(())
}

crate::text_serde!(Sha256);

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn the_digest_of_an_empty_input_matches_the_published_value() {
        assert_eq!(Sha256::of(b"").to_string(), EMPTY);
    }

    #[test]
    fn hexadecimal_is_read_in_either_case_and_written_in_lower_case() {
        let upper: Sha256 = EMPTY.to_ascii_uppercase().parse().unwrap();
        assert_eq!(upper.to_string(), EMPTY);
    }

    #[test]
    fn text_that_is_not_a_digest_is_rejected() {
        for text in [
            "",
            EMPTY.trim_start_matches('e'),
            &format!("{EMPTY}0"),
            &EMPTY.replace('e', "g"),
            &"é".repeat(32),
        ] {
            assert!(text.parse::<Sha256>().is_err(), "{text:?}");
        }
    }
}
