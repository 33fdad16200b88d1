//! The digests that the index of a version names.

use serde::Deserialize;

use crate::digest::Sha256;

/// The digests of a version's files, by their names, as its index has them. An index is written after the commit
/// of its release and at no other time: where the release is missing, it is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedVersion {
    digests: Vec<(String, Sha256)>,
}

/// The name of the digest of a module's archive.
pub(crate) const ARCHIVE: &str = "archive";
/// The name of the digest of the text that a hosted provider's publisher signed.
pub(crate) const SHASUMS: &str = "SHA256SUMS";

/// The members of each kind of version index that hold digests.
#[derive(Deserialize)]
struct View {
    sha256: Option<Sha256>,
    shasums: Option<Sha256>,
    #[serde(default)]
    packages: Vec<PackageView>,
    #[serde(default)]
    offered: Vec<PackageView>,
}

#[derive(Deserialize)]
struct PackageView {
    platform: String,
    sha256: Sha256,
}

impl DescribedVersion {
    /// Reads the text of a version index; `None` where it names no digest, as that of a revoked version.
    pub fn parse(text: &str) -> Option<Self> {
        let view: View = serde_json::from_str(text).ok()?;
        let named = [(ARCHIVE, view.sha256), (SHASUMS, view.shasums)];
        let named = named
            .into_iter()
            .filter_map(|(name, digest)| Some((name.to_owned(), digest?)));
        let packages = view.packages.into_iter().chain(view.offered);
        let digests: Vec<_> = named
            .chain(packages.map(|package| (package.platform, package.sha256)))
            .collect();
        (!digests.is_empty()).then_some(Self { digests })
    }

    /// Returns the digest of this name.
    pub fn digest(&self, name: &str) -> Option<Sha256> {
        let mut digests = self.digests.iter();
        digests
            .find(|(known, _)| known == name)
            .map(|(_, digest)| *digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: Sha256 = Sha256::from_bytes([7; 32]);

    #[test]
    fn each_kind_of_version_index_names_its_digests() {
        let package = format!(
            r#"{{"platform":"linux_amd64","filename":"a.zip","sha256":"{DIGEST}","size":1}}"#
        );
        for (text, name) in [
            (
                format!(r#"{{"format":"zip","sha256":"{DIGEST}","size":1}}"#),
                ARCHIVE,
            ),
            (
                format!(r#"{{"protocols":[],"shasums":"{DIGEST}","packages":[]}}"#),
                SHASUMS,
            ),
            (format!(r#"{{"packages":[{package}]}}"#), "linux_amd64"),
            (
                format!(r#"{{"packages":[],"offered":[{package}]}}"#),
                "linux_amd64",
            ),
        ] {
            let described = DescribedVersion::parse(&text).unwrap();
            assert_eq!(described.digest(name), Some(DIGEST), "{text}");
            assert_eq!(described.digest("darwin_arm64"), None);
        }
    }

    #[test]
    fn an_index_without_a_digest_describes_nothing() {
        for text in ["gone", "{}", "", r#"{"packages":[]}"#, r#"{"sha256":"x"}"#] {
            assert_eq!(DescribedVersion::parse(text), None, "{text}");
        }
    }
}
