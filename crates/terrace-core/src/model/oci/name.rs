//! The names of repositories and tags in OCI Distribution.

use crate::limits;

use crate::http::oci_error::{OciCode, OciError};

use super::tag;
use crate::model::version::Version;

/// The name of a repository that clients push to. Names in `providers/…` and `modules/…` are excluded: those
/// repositories are generated from published releases.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RepositoryName(String);

/// A valid tag.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tag(String);

impl RepositoryName {
    /// Parses a repository name.
    ///
    /// # Errors
    /// If the name is malformed or too long, or the repository cannot be pushed to.
    pub fn parse(text: &str) -> Result<Self, OciError> {
        if !is_name(text) {
            return Err(OciError::new(
                OciCode::NameInvalid,
                "the name of a repository must consist of lower-case letters and digits, with . _ __ or dashes between them, in parts separated by /",
            ));
        }
        let limit = limits::REPOSITORY_BYTES;
        if text.len() > limit {
            return Err(OciError::new(
                OciCode::NameInvalid,
                format!("the name of a repository may have at most {limit} bytes"),
            ));
        }
        if is_generated(text) {
            return Err(OciError::new(
                OciCode::NameUnknown,
                "this repository is generated from published releases and cannot be pushed to",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns a name that no repository can have, for lookups of hidden repositories.
    pub fn hidden() -> Self {
        Self(".hidden".to_owned())
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Tag {
    /// Returns the tag of a version; `None` if it would be longer than a tag may be.
    pub fn of(version: &Version) -> Option<Self> {
        Self::parse(&tag::of(version))
    }

    /// Returns the version that the tag stands for, as OpenTofu reads tags, if it is a complete one
    /// (clients.md 6.3).
    pub fn version(&self) -> Option<Version> {
        tag::parse(&self.0)
    }

    /// Parses a tag: `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`.
    pub fn parse(text: &str) -> Option<Self> {
        let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let mut bytes = text.bytes();
        let is_tag = bytes.next().is_some_and(is_word)
            && bytes.all(|b| is_word(b) || matches!(b, b'.' | b'-'))
            && text.len() <= limits::TAG_BYTES;
        is_tag.then(|| Self(text.to_owned()))
    }

    /// Returns the tag as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether a path below `/v2/` belongs to a repository that is generated from published releases.
pub(crate) fn is_generated(path: &str) -> bool {
    matches!(path.split('/').next(), Some("providers" | "modules"))
}

/// Returns whether a text matches `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/…)*` (OCI Distribution 1.1, "Pulling
/// manifests").
pub(crate) fn is_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let ends = part.bytes().next().zip(part.bytes().last());
        let separators = part.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        ends.is_some_and(|(first, last)| is_alphanumeric(first) && is_alphanumeric(last))
            && separators.into_iter().all(|separator| {
                matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|b| b == b'-')
            })
    };
    text.split('/').all(is_part)
}

crate::model::text_display!(RepositoryName, Tag);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_specification() {
        for name in ["a", "a/b", "a.b/c_d/e__f/g-h/i---j", "0"] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "", "/", "a/", "/a", "a//b", "A", "a_", "-a", "a___b", "a.-b", "a..b", "a:b", "ä",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn generated_repositories_cannot_be_pushed_to() {
        for name in ["providers/a/b", "modules/a", "providers"] {
            assert!(RepositoryName::parse(name).is_err(), "{name}");
        }
        assert!(RepositoryName::parse("opentofu-providers/a/b").is_ok());
        assert!(RepositoryName::parse(&"a".repeat(255)).is_ok());
        assert!(RepositoryName::parse(&"a".repeat(256)).is_err());
    }

    #[test]
    fn tags_are_those_of_the_specification() {
        let longest = "a".repeat(128);
        for tag in ["a", "1.0", "_", "v1.0.0-rc_1", "latest", &longest] {
            assert!(Tag::parse(tag).is_some(), "{tag}");
        }
        let long = "a".repeat(129);
        for tag in ["", ".a", "-a", "a+b", "a:b", "a b", "ä", &long] {
            assert!(Tag::parse(tag).is_none(), "{tag}");
        }
    }
}
