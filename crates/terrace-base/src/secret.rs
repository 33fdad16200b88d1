//! Secrets that neither print nor leak by the time a comparison takes.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// A secret text. `Debug` does not show it.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` as a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for keying a MAC and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `candidate` is the secret. Both are hashed first, so the time taken tells
    /// neither the length nor the first difference.
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
    fn a_secret_matches_itself_only_and_never_prints() {
        let secret = Secret::new("correct horse");
        assert!(secret.matches("correct horse"));
        assert!(!secret.matches("correct hors"));
        assert!(!secret.matches(""));
        assert!(!format!("{secret:?}").contains("horse"));
    }
}
