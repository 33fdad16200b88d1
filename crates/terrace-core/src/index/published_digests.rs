//! The digests in a version's index.

use serde_json::Value;

use crate::storage::index_document::IndexMetadata;
use terrace_base::digest::Sha256;

/// The digests of a version's files, by name, as its index contains them; empty for a revoked version. An
/// index is only ever written after the commit of its release, so if the release is missing, it is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedDigests {
    digests: Vec<(String, Sha256)>,
}

/// The name of the digest of a module's archive.
pub(crate) const ARCHIVE: &str = "archive";
/// The name of the digest of a hosted provider's signed SHA256SUMS text.
pub(crate) const SHASUMS: &str = "SHA256SUMS";

impl PublishedDigests {
    /// Parses a version index; `None` if it neither contains a digest nor marks the version as revoked. A
    /// type for each kind would add 3 KiB to the upload.
    pub fn parse(metadata: &IndexMetadata, text: &str) -> Option<Self> {
        let mut published = Self {
            digests: Vec::new(),
        };
        if metadata.revoked.is_some() {
            return Some(published);
        }
        let index: Value = serde_json::from_slice(text.as_bytes()).ok()?;
        published.add(ARCHIVE, index.get("sha256"));
        published.add(SHASUMS, index.get("shasums"));
        for list in ["packages", "offered"] {
            let packages = index.get(list).and_then(Value::as_array);
            for package in packages.into_iter().flatten() {
                let platform = package.get("platform").and_then(Value::as_str);
                published.add(platform.unwrap_or_default(), package.get("sha256"));
            }
        }
        (!published.digests.is_empty()).then_some(published)
    }

    fn add(&mut self, name: &str, digest: Option<&Value>) {
        let digest = digest.and_then(Value::as_str);
        if let Some(digest) = digest.and_then(|digest| digest.parse().ok()) {
            self.digests.push((name.to_owned(), digest));
        }
    }

    /// Returns whether only the index of a revoked version exists, which contains no digests.
    pub fn are_unknown(&self) -> bool {
        self.digests.is_empty()
    }

    /// Returns the digest with this name.
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
    use crate::storage::index_document::IndexDocument;

    fn parse(text: &str) -> Option<PublishedDigests> {
        PublishedDigests::parse(&IndexDocument::new(text.to_owned()).metadata, text)
    }

    const DIGEST: Sha256 = Sha256::from_bytes([7; 32]);

    #[test]
    fn each_kind_of_version_index_contains_its_digests() {
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
            let published = parse(&text).unwrap();
            assert_eq!(published.digest(name), Some(DIGEST), "{text}");
            assert_eq!(published.digest("darwin_arm64"), None);
        }
    }

    #[test]
    fn the_index_of_a_revoked_version_has_no_digests() {
        let tombstone = IndexDocument::tombstone(crate::model::status::Refusal::revoked(
            &"it deletes".parse().unwrap(),
        ));
        let published = PublishedDigests::parse(&tombstone.metadata, &tombstone.text).unwrap();
        assert!(published.are_unknown());
        let known = parse(&format!(r#"{{"sha256":"{DIGEST}"}}"#)).unwrap();
        assert!(!known.are_unknown());
    }

    #[test]
    fn an_index_without_a_digest_tells_nothing() {
        for text in ["gone", "{}", "", r#"{"packages":[]}"#, r#"{"sha256":"x"}"#] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
