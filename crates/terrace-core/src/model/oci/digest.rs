//! Digests in the form of OCI: `sha256:…` and `sha512:…` (OCI Image 1.1, "Digests").

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use terrace_base::digest::{Sha256, Sha512};

use crate::http::oci_error::{OciCode, OciError};

/// A digest, which names content by its bytes alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Digest {
    /// `sha256:` and 64 digits, which all common tools use.
    Sha256(Sha256),
    /// `sha512:` and 128 digits.
    Sha512(Sha512),
}

impl Digest {
    /// Parses a digest in its canonical form only, because two spellings would be two names.
    ///
    /// # Errors
    /// If the text is not a digest, or uses another algorithm.
    pub fn parse(text: &str) -> Result<Self, OciError> {
        read(text).ok_or_else(|| {
            OciError::new(
                OciCode::DigestInvalid,
                "a digest must be sha256: followed by 64, or sha512: followed by 128, lower-case hexadecimal digits",
            )
        })
    }

    /// Returns the digest of `bytes` by the algorithm of this one.
    #[must_use]
    pub fn of_same_kind(&self, bytes: &[u8]) -> Self {
        match self {
            Self::Sha256(_) => Self::Sha256(Sha256::of(bytes)),
            Self::Sha512(_) => Self::Sha512(Sha512::of(bytes)),
        }
    }

    /// Parses the hexadecimal digits alone. Their number determines the algorithm.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return None;
        }
        let sha512 = || Sha512::parse(text).map(Self::Sha512);
        text.parse().ok().map(Self::Sha256).or_else(sha512)
    }

    /// Returns the name of the algorithm.
    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::Sha256(_) => "sha256",
            Self::Sha512(_) => "sha512",
        }
    }

    /// Returns the hexadecimal digits alone.
    pub fn hex(&self) -> String {
        match self {
            Self::Sha256(digest) => digest.to_string(),
            Self::Sha512(digest) => digest.to_string(),
        }
    }
}

fn read(text: &str) -> Option<Digest> {
    let (algorithm, hex) = text.split_once(':')?;
    Digest::from_hex(hex).filter(|digest| digest.algorithm() == algorithm)
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha256(digest) => write!(f, "sha256:{digest}"),
            Self::Sha512(digest) => write!(f, "sha512:{digest}"),
        }
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        read(&text).ok_or_else(|| serde::de::Error::custom("not a digest"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_parses_back_and_other_spellings_are_rejected() {
        for digest in [
            Digest::Sha256(Sha256::of(b"x")),
            Digest::Sha512(Sha512::of(b"x")),
        ] {
            let text = digest.to_string();
            assert_eq!(Digest::parse(&text), Ok(digest));
            assert_eq!(Digest::from_hex(&digest.hex()), Some(digest));
            assert!(Digest::parse(&text.to_ascii_uppercase()).is_err());
            assert!(Digest::parse(&format!("{text}0")).is_err());
        }
        let crossed = format!("sha512:{}", Sha256::of(b"x"));
        assert!(Digest::parse(&crossed).is_err());
        assert!(Digest::parse("sha256:baddigeststring").is_err());
    }
}
