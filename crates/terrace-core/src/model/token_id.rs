//! The IDs of API tokens.

use std::fmt;
use std::str::FromStr;

/// The ID of a token, which identifies it where the token itself must not be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(u64);

impl TokenId {
    /// Creates an ID from random bytes.
    pub fn new(random: [u8; 16]) -> Self {
        // Any 8 of 16 random bytes are random.
        Self(u128::from_be_bytes(random) as u64)
    }
}

/// The error for a text that is not the ID of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token ID has 16 hexadecimal digits in lower case")]
pub struct TokenIdError;

impl FromStr for TokenId {
    type Err = TokenIdError;

    /// Parses 16 hexadecimal digits in lower case.
    fn from_str(text: &str) -> Result<Self, TokenIdError> {
        let id = Self(u64::from_str_radix(text, 16).map_err(|_| TokenIdError)?);
        if id.to_string() == text {
            Ok(id)
        } else {
            Err(TokenIdError)
        }
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

terrace_base::text_serde!(TokenId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_16_hexadecimal_digits() {
        for text in [
            "",
            "0",
            "0123456789ABCDEF",
            "+123456789abcdef",
            "0123456789abcdef0",
        ] {
            assert!(text.parse::<TokenId>().is_err(), "{text:?}");
        }
        assert_eq!(
            "0123456789abcdef".parse(),
            Ok(TokenId(0x0123_4567_89ab_cdef))
        );
    }
}
