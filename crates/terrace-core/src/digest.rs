//! SHA-256, the one digest that names archives.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest as _;

/// A SHA-256 digest. Its text is 64 lower-case hexadecimal digits (clients.md 2.2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256([u8; 32]);

/// Why a text is not a SHA-256 digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a SHA-256 digest of 64 hexadecimal digits")]
pub struct DigestError(String);

impl Sha256 {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The digest that a hasher made.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes themselves.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Standard base64 with padding, as `x-amz-checksum-sha256` wants it.
    pub fn to_base64(self) -> String {
        STANDARD.encode(self.0)
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Sha256 {
    type Err = DigestError;

    /// Reads hexadecimal of either case.
    fn from_str(text: &str) -> Result<Self, DigestError> {
        let error = || DigestError(text.chars().take(80).collect());
        let digit = |byte: u8| char::from(byte).to_digit(16);
        if text.len() != 64 {
            return Err(error());
        }
        let mut bytes = [0u8; 32];
        for (target, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *target = match pair {
                [high, low] => digit(*high)
                    .zip(digit(*low))
                    .and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
                    .ok_or_else(error)?,
                _ => return Err(error()),
            };
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn the_digest_of_nothing_is_the_published_one() {
        assert_eq!(Sha256::of(b"").to_string(), EMPTY);
    }

    #[test]
    fn hexadecimal_of_either_case_reads_and_is_written_in_lower_case() {
        let upper: Sha256 = EMPTY.to_ascii_uppercase().parse().unwrap();
        assert_eq!(upper.to_string(), EMPTY);
    }

    #[test]
    fn other_text_is_refused() {
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
