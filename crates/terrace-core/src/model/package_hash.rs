//! The package hashes of dependency lock files: `zh:` for the zip, and `h1:` for its contents.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest as _;

use terrace_base::digest::Sha256;

/// A hash of a provider package. Clients compare hashes as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PackageHash {
    /// `zh:` and hexadecimal: the digest of the zip.
    Zh(Sha256),
    /// `h1:` and base64: the digest of the names and contents of its entries (Go's `dirhash.Hash1`).
    H1(Sha256),
}

/// The error for a text that is not a package hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageHashError {
    /// The scheme is unknown.
    #[error("the hash {0:?} starts with neither \"h1:\" nor \"zh:\"")]
    Scheme(String),
    /// The text after `h1:` is not the base64 of 32 bytes.
    #[error("the hash {0:?} is not \"h1:\" and the padded base64 of 32 bytes")]
    H1(String),
    /// The text after `zh:` is not 64 lower-case hexadecimal digits. Clients compare hashes as text.
    #[error("the hash {0:?} is not \"zh:\" and 64 lower-case hexadecimal digits")]
    Zh(String),
}

/// The error for files without an `h1:` hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum H1Error {
    /// A name contains a line break, which would make two lines of one.
    #[error("the file name {0:?} contains a line break, which h1 hashes do not support")]
    LineBreak(String),
    /// Two files have the same name.
    #[error("the file name {0:?} appears twice")]
    Duplicate(String),
}

impl PackageHash {
    /// Returns the `zh:` hash of a zip with this digest.
    pub fn zh(zip: Sha256) -> Self {
        Self::Zh(zip)
    }

    /// Returns the `h1:` hash of files, in any order, given the digest of each content.
    ///
    /// For a zip, pass every entry with its exact name, directories (with the digest of empty contents)
    /// included, as Go's `dirhash.HashZip` does.
    ///
    /// # Errors
    /// A name contains a line break, or appears twice.
    pub fn h1_of<N: Into<String>>(
        files: impl IntoIterator<Item = (N, Sha256)>,
    ) -> Result<Self, H1Error> {
        let mut sorted = BTreeMap::new();
        for (name, content) in files {
            let name = name.into();
            if name.contains('\n') {
                return Err(H1Error::LineBreak(name));
            }
            if sorted.insert(name.clone(), content).is_some() {
                return Err(H1Error::Duplicate(name));
            }
        }
        let mut hasher = sha2::Sha256::new();
        for (name, content) in sorted {
            hasher.update(format!("{content}  {name}\n"));
        }
        Ok(Self::H1(Sha256::from_bytes(hasher.finalize().into())))
    }
}

impl fmt::Display for PackageHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zh(digest) => write!(f, "zh:{digest}"),
            Self::H1(digest) => write!(f, "h1:{}", digest.to_base64()),
        }
    }
}

impl FromStr for PackageHash {
    type Err = PackageHashError;

    fn from_str(text: &str) -> Result<Self, PackageHashError> {
        let shown = || text.chars().take(80).collect();
        if let Some(base64) = text.strip_prefix("h1:") {
            let bytes = STANDARD
                .decode(base64)
                .ok()
                .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            bytes
                .map(|bytes| Self::H1(Sha256::from_bytes(bytes)))
                .ok_or_else(|| PackageHashError::H1(shown()))
        } else if let Some(hexadecimal) = text.strip_prefix("zh:") {
            let digest = hexadecimal
                .parse::<Sha256>()
                .ok()
                .filter(|digest| digest.to_string() == hexadecimal);
            digest
                .map(Self::Zh)
                .ok_or_else(|| PackageHashError::Zh(shown()))
        } else {
            Err(PackageHashError::Scheme(shown()))
        }
    }
}

terrace_base::text_serde!(PackageHash);

#[cfg(test)]
mod tests {
    use super::*;

    // The result of Go's `dirhash.HashZip` for a zip with these files: `docs/index.md` "# docs\n",
    // `terraform-provider-x_v1.0.0` "#!/bin/sh\n", `LICENSE` "free\n", `é.txt` "".
    const GO: &str = "h1:my4cy8sLdbcvLJbDzrMHQmYf0MQJrnM0LCt4plZ0eRc=";

    fn sample() -> Vec<(&'static str, Sha256)> {
        vec![
            ("docs/index.md", Sha256::of(b"# docs\n")),
            ("terraform-provider-x_v1.0.0", Sha256::of(b"#!/bin/sh\n")),
            ("LICENSE", Sha256::of(b"free\n")),
            ("é.txt", Sha256::of(b"")),
        ]
    }

    #[test]
    fn the_h1_hash_matches_that_of_go_in_any_order_of_files() {
        let h1 = |files: Vec<_>| PackageHash::h1_of(files).unwrap().to_string();
        assert_eq!(h1(sample()), GO);
        assert_eq!(h1(sample().into_iter().rev().collect()), GO);
        let none = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        assert_eq!(h1(Vec::new()), none);
    }

    #[test]
    fn file_names_without_a_hash_are_rejected() {
        let name =
            |name: &str| PackageHash::h1_of([("a", Sha256::of(b"")), (name, Sha256::of(b""))]);
        assert_eq!(name("b\nc"), Err(H1Error::LineBreak("b\nc".into())));
        assert_eq!(name("a"), Err(H1Error::Duplicate("a".into())));
    }

    #[test]
    fn text_that_is_not_a_hash_is_rejected() {
        let zh = format!("zh:{}", Sha256::of(b""));
        for text in [
            "",
            "h1:",
            "zh:",
            "h2:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "H1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
            "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=",
            "h1:AAAA",
            &zh.to_uppercase().replace("ZH:", "zh:"),
            &zh.replace('0', ""),
        ] {
            assert!(text.parse::<PackageHash>().is_err(), "{text:?}");
        }
    }
}
