//! Versions: semantic versioning 2.0, always in canonical text without a leading `v`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::limits;

/// A version in canonical form, in SemVer order. Build metadata breaks ties, so that the order is total and
/// an index has exactly one form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(semver::Version);

/// The error for a text that is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The text is not a semantic version.
    #[error("version {value:?} is not a semantic version such as 1.2.3 or 1.2.3-beta.1: {cause}")]
    NotSemver {
        /// The rejected text.
        value: String,
        /// The parser's message.
        cause: String,
    },
    /// The version has a leading `v`, which one client in three rejects (clients.md 2.1.3).
    #[error("version {0:?} has a leading \"v\": write it without")]
    LeadingV(String),
    /// A number is larger than Terraform supports (go-version's segments are `int64`).
    #[error("version {0:?} has a number above {max}, which terraform cannot read", max = i64::MAX)]
    TooLarge(String),
    /// The version is longer than any key can hold.
    #[error("version is {0} characters long, at most {max} are allowed", max = limits::VERSION_BYTES)]
    TooLong(usize),
}

impl Version {
    /// Parses a version *in a client's request*: the short forms `1` and `1.0` and a leading `v` stand for
    /// the canonical version that they normalise to (clients.md 2.1.3, 3.2, 10.9).
    ///
    /// # Errors
    /// If the text does not stand for a canonical version.
    pub fn parse_request(text: &str) -> Result<Self, VersionError> {
        let (_, whole) = padded(text.strip_prefix('v').unwrap_or(text));
        // The error describes the requested text, not its normalised form.
        whole.parse().or_else(|_| text.parse())
    }
}

/// Returns the number of the given numbers of a version, and the version with zeros for omitted ones.
pub(crate) fn padded(text: &str) -> (usize, String) {
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, rest) = text.split_at(end);
    match core.split('.').count() {
        1 => (1, format!("{core}.0.0{rest}")),
        2 => (2, format!("{core}.0{rest}")),
        numbers => (numbers, text.to_owned()),
    }
}

impl Version {
    /// Creates the version `major.minor.patch`.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self(semver::Version::new(
            major as u64,
            minor as u64,
            patch as u64,
        ))
    }

    /// Returns whether the version has build metadata: `+…`.
    pub fn has_build(&self) -> bool {
        !self.0.build.is_empty()
    }

    /// Returns whether the version is a prerelease: `-…`.
    pub fn is_prerelease(&self) -> bool {
        !self.0.pre.is_empty()
    }

    /// Returns the parsed version, for comparisons of its numbers and identifiers.
    pub fn as_semver(&self) -> &semver::Version {
        &self.0
    }
}

impl FromStr for Version {
    type Err = VersionError;

    /// Parses a version *to publish*, which must be canonical.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        if text.len() > limits::VERSION_BYTES {
            return Err(VersionError::TooLong(text.len()));
        }
        if text.starts_with(['v', 'V']) {
            return Err(VersionError::LeadingV(text.to_owned()));
        }
        let version = semver::Version::parse(text).map_err(|cause| VersionError::NotSemver {
            value: text.to_owned(),
            cause: cause.to_string(),
        })?;
        let limit = i64::MAX.unsigned_abs();
        if [version.major, version.minor, version.patch]
            .iter()
            .any(|number| *number > limit)
        {
            return Err(VersionError::TooLarge(text.to_owned()));
        }
        Ok(Self(version))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

terrace_base::text_serde!(Version);

/// The version in a path of the API or the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedVersion {
    /// `latest`: the newest version that can be installed.
    Latest,
    /// A version.
    Exact(Version),
}

impl fmt::Display for RequestedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Exact(version) => version.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_text_is_published_2_1_3() {
        for text in [
            "1.2.3",
            "0.0.0",
            "1.0.0-beta.1",
            "1.0.0+build.5",
            "1.0.0-a+b",
            "9223372036854775807.0.0",
        ] {
            assert_eq!(text.parse::<Version>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "1",
            "1.0",
            "v1.0.0",
            "V1.0.0",
            "01.0.0",
            "1.0.0-01",
            "1.0.0.0",
            "latest",
            "1.0.0 ",
            "99999999999999999999.0.0",
            "9223372036854775808.0.0",
            "0.9223372036854775808.0",
        ] {
            assert!(text.parse::<Version>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_request_for_a_short_form_means_the_canonical_version_2_1_3_3_2() {
        for (asked, meant) in [
            ("1", "1.0.0"),
            ("1.0", "1.0.0"),
            ("v1.2.3", "1.2.3"),
            ("1.0-rc1", "1.0.0-rc1"),
            ("0.9+b", "0.9.0+b"),
        ] {
            assert_eq!(Version::parse_request(asked).unwrap().to_string(), meant);
        }
        for asked in ["", "v", "1.", "x", "1.0.0.0", "vv1.0.0"] {
            let error = Version::parse_request(asked).unwrap_err().to_string();
            assert!(error.contains(&format!("{asked:?}")), "{error}");
        }
    }

    #[test]
    fn versions_sort_as_semver_sorts_and_build_metadata_breaks_ties() {
        let versions = ["1.2.0-rc.1", "1.2.0", "1.2.0+a", "1.2.0+b", "1.10.0"];
        let versions = versions.map(|text| text.parse::<Version>().unwrap());
        assert!(versions.is_sorted_by(|one, other| one < other));
    }
}
