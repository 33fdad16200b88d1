//! Secrets that are never printed and are compared in constant time.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// A secret text. `Debug` does not print it.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text` as a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the secret text, to key a MAC or to send it to the party that it authenticates to.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether `candidate` is the secret. Both are hashed first, so the time taken reveals neither
    /// the length nor the position of the first difference.
    pub fn matches(&self, candidate: &str) -> bool {
        Sha256::digest(self.0.as_bytes())
            .ct_eq(&Sha256::digest(candidate.as_bytes()))
            .into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_matches_only_itself_and_is_never_printed() {
        let secret = Secret::new("correct horse");
        assert!(secret.matches("correct horse"));
        assert!(!secret.matches("correct hors"));
        assert!(!secret.matches(""));
        assert!(!format!("{secret:?}").contains("horse"));
    }
}
