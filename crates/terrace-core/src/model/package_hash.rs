//! The package hashes of dependency lock files: `zh:` of the zip, and `h1:` of what is in it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest as _;

use terrace_base::digest::Sha256;

/// A hash of a provider package, as clients compare it: as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PackageHash {
    /// `zh:` and hexadecimal: the zip's own bytes.
    Zh(Sha256),
    /// `h1:` and base64: the names and contents of its entries (Go's `dirhash.Hash1`).
    H1(Sha256),
}

/// Why a text is no package hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageHashError {
    /// The scheme is none that is known.
    #[error("the hash {0:?} starts with neither \"h1:\" nor \"zh:\"")]
    Scheme(String),
    /// Not the base64 of 32 bytes.
    #[error("the hash {0:?} is not \"h1:\" and the padded base64 of 32 bytes")]
    H1(String),
    /// Not 64 lower-case hexadecimal digits. Clients compare text.
    #[error("the hash {0:?} is not \"zh:\" and 64 lower-case hexadecimal digits")]
    Zh(String),
}

/// Why files have no `h1:` hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum H1Error {
    /// A name with a line break would make two lines of one.
    #[error("the file name {0:?} has a line break in it, and has no h1 hash")]
    LineBreak(String),
    /// Two files of one name.
    #[error("the file name {0:?} is there twice")]
    Duplicate(String),
}

impl PackageHash {
    /// The `zh:` hash of a zip with this digest.
    pub fn zh(zip: Sha256) -> Self {
        Self::Zh(zip)
    }

    /// The `h1:` hash of files, in any order, given the digest of each content.
    ///
    /// Of a zip, give every entry under its exact name, directories (with the digest of nothing)
    /// too: that is what Go's `dirhash.HashZip` does.
    ///
    /// # Errors
    /// A name that has no hash, or is there twice.
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

impl serde::Serialize for PackageHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for PackageHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Go's dirhash.HashZip of a zip with these files: `docs/index.md` "# docs\n",
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
    fn the_h1_hash_is_the_one_that_go_computes() {
        assert_eq!(PackageHash::h1_of(sample()).unwrap().to_string(), GO);
    }

    #[test]
    fn the_order_of_files_does_not_matter() {
        assert_eq!(
            PackageHash::h1_of(sample().into_iter().rev())
                .unwrap()
                .to_string(),
            GO
        );
    }

    #[test]
    fn a_directory_entry_changes_the_h1_hash() {
        let with = sample().into_iter().chain([("docs/", Sha256::of(b""))]);
        assert_ne!(PackageHash::h1_of(with).unwrap().to_string(), GO);
    }

    #[test]
    fn no_files_have_a_hash_too() {
        let none: [(&str, Sha256); 0] = [];
        assert_eq!(
            PackageHash::h1_of(none).unwrap().to_string(),
            "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
    }

    #[test]
    fn names_that_have_no_hash_are_refused() {
        let name =
            |name: &str| PackageHash::h1_of([("a", Sha256::of(b"")), (name, Sha256::of(b""))]);
        assert_eq!(name("b\nc"), Err(H1Error::LineBreak("b\nc".into())));
        assert_eq!(name("a"), Err(H1Error::Duplicate("a".into())));
    }

    #[test]
    fn hashes_are_read_back_from_their_text() {
        for hash in [
            PackageHash::zh(Sha256::of(b"zip")),
            PackageHash::h1_of(sample()).unwrap(),
        ] {
            assert_eq!(hash.to_string().parse(), Ok(hash));
        }
    }

    #[test]
    fn other_text_is_no_hash() {
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
