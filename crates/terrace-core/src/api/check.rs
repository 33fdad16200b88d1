//! Whether versions in use may still be used: the bodies of `POST /api/v1/check`.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::index::overview::{Overview, OverviewVersion};
use crate::model::package::Package;
use crate::model::status::{Reason, ReleaseState, ReleaseStatus};
use crate::model::version::Version;
use crate::upstream::origin::{ConstraintError, Constraints};

/// Maximum number of packages in one request: the keys that one bulk read of KV takes.
pub const PACKAGES_AT_ONCE: usize = 100;

/// Maximum size of the body of a request: the longest addresses and versions.
pub const BODY_BYTES: u64 = 64 * 1024;

/// The number of packages that count as one search.
pub const PACKAGES_A_SEARCH: usize = 10;

/// Maximum number of names that are looked for among the facts, because KV does not have them: each takes a listing of R2.
pub const MISSES: usize = 20;

/// The packages in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckBody {
    /// At most [`PACKAGES_AT_ONCE`].
    pub packages: Vec<UsedPackage>,
}

/// A package in use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UsedPackage {
    /// The address: `namespace/type`, `hostname/namespace/type` or `namespace/name/system`.
    pub address: String,
    /// The version in use; without it, the newest that can be installed, or else the newest revoked one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Without a version, the constraint that the newest one must meet, such as `~> 1.2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
}

impl UsedPackage {
    /// Parses the constraint.
    ///
    /// # Errors
    /// It is none.
    pub fn constraints(&self) -> Result<Option<Constraints>, ConstraintError> {
        let constraints: Option<Constraints> =
            self.constraint.as_deref().map(str::parse).transpose()?;
        let is_module = matches!(
            Package::parse_address(&self.address),
            Some(Package::Module(_))
        );
        Ok(match is_module {
            true => constraints.map(Constraints::of_modules),
            false => constraints,
        })
    }
}

/// The judgement of each package, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckAnswer {
    /// One for each package of the request.
    pub packages: Vec<CheckedPackage>,
}

/// The judgement of a package in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedPackage {
    /// The package as in the request.
    #[serde(flatten)]
    pub used: UsedPackage,
    /// Whether the version may be used.
    pub state: UseState,
    /// The reason for the state, which names a replacement if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The newest version after it with the same major number that is neither withdrawn, revoked nor blocked; a prerelease only if
    /// the version in use is one, and there is nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer_in_major: Option<Version>,
    /// The same with any major number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<Version>,
}

/// Whether a version may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseState {
    /// Nothing is known against it.
    Active,
    /// The limit of names that KV does not have was reached: the request can be repeated with fewer packages.
    Unchecked,
    /// The registry has no such package that the caller may see.
    Unknown,
    /// The registry has the package without this version.
    Missing,
    /// There is a better alternative.
    Deprecated,
    /// The version should not have been published.
    Withdrawn,
    /// The version must not be installed.
    Revoked,
    /// The operator blocks the version.
    Blocked,
}

impl fmt::Display for UseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Unchecked => "unchecked",
            Self::Unknown => "unknown",
            Self::Missing => "missing",
            Self::Deprecated => "deprecated",
            Self::Withdrawn => "withdrawn",
            Self::Revoked => "revoked",
            Self::Blocked => "blocked",
        })
    }
}

impl From<ReleaseState> for UseState {
    fn from(state: ReleaseState) -> Self {
        match state {
            ReleaseState::Deprecated => Self::Deprecated,
            ReleaseState::Withdrawn => Self::Withdrawn,
            ReleaseState::Revoked => Self::Revoked,
            ReleaseState::Blocked => Self::Blocked,
        }
    }
}

/// Parses the versions of a package with their statuses. Their sources, which nothing here needs, take most of the time.
/// Versions older than `in_use` are left out: they are half of the text of 100 packages, and decide nothing.
pub fn statuses_in(overview: &str, in_use: Option<&Version>) -> Option<Overview> {
    #[derive(Deserialize)]
    struct Statuses {
        #[serde(default)]
        status: Option<ReleaseStatus>,
        versions: Vec<VersionStatus>,
    }
    #[derive(Deserialize)]
    struct VersionStatus {
        version: Version,
        #[serde(default)]
        status: Option<ReleaseStatus>,
    }
    let text = in_use.map_or(overview.into(), |version| down_to(version, overview));
    let Statuses { status, versions } = serde_json::from_slice(text.as_bytes()).ok()?;
    let versions = versions.into_iter().map(|it| OverviewVersion {
        status: it.status,
        ..OverviewVersion::new(it.version)
    });
    Some(Overview {
        status,
        versions: versions.collect(),
    })
}

/// Ends the text of an overview, whose versions are stored the newest first, after a version.
fn down_to<'a>(version: &Version, overview: &'a str) -> Cow<'a, str> {
    let start = format!(r#"{{"version":"{version}""#);
    let Some((newer, rest)) = overview.split_once(&start) else {
        return overview.into();
    };
    match rest.split_once(r#",{"version":""#) {
        Some((in_use, _)) => format!("{newer}{start}{in_use}]}}").into(),
        None => overview.into(),
    }
}

impl CheckedPackage {
    /// Returns a package about which nothing else is known.
    pub fn without_versions(used: UsedPackage, state: UseState) -> Self {
        Self {
            used,
            state,
            reason: None,
            newer_in_major: None,
            newer: None,
        }
    }

    /// Judges a version by the versions of its package. Of the states of the version and of its package, the one that
    /// restricts more counts.
    pub fn of(used: UsedPackage, overview: &Overview) -> Self {
        let in_use = match (&used.version, used.constraints()) {
            (Some(version), _) => overview.version(version),
            (None, Ok(Some(constraints))) => {
                let is_installable = |it: &&OverviewVersion| {
                    let state = it.status.as_ref().map(|status| status.state);
                    state < Some(ReleaseState::Revoked)
                };
                let admitted = || {
                    let versions = overview.versions.iter();
                    versions.filter(|it| constraints.admit(&it.version))
                };
                admitted()
                    .find(is_installable)
                    .or_else(|| admitted().next())
            }
            (None, _) => overview.newest().or_else(|| overview.versions.first()),
        };
        let of_version = in_use.and_then(|it| it.status.as_ref());
        let status = of_version.into_iter().chain(&overview.status);
        // The version's own reason precedes that of the package.
        let worst = status.reduce(|one, other| if other.state > one.state { other } else { one });
        let state = match (in_use, worst) {
            (None, Some(status)) if status.state == ReleaseState::Blocked => UseState::Blocked,
            (None, _) => UseState::Missing,
            (Some(_), None) => UseState::Active,
            (Some(_), Some(status)) => status.state.into(),
        };
        let known = used.version.as_ref().or(in_use.map(|it| &it.version));
        // Only newer versions count: the list may have been read only down to the one in use.
        let newer = |is_in_major: bool| {
            let known = known?;
            let newest = |is_prerelease: bool| {
                let is_newer = |it: &&OverviewVersion| {
                    let state = it.status.as_ref().map(|status| status.state);
                    it.version > *known
                        && it.version.is_prerelease() == is_prerelease
                        && state < Some(ReleaseState::Withdrawn)
                        && (!is_in_major || it.version.as_semver().major == known.as_semver().major)
                };
                overview.versions.iter().find(is_newer)
            };
            let newest = newest(false).or_else(|| newest(true).filter(|_| known.is_prerelease()));
            newest.map(|it| it.version.clone())
        };
        Self {
            state,
            reason: worst.map(|ReleaseStatus { reason, .. }| reason.clone()),
            newer_in_major: newer(true),
            newer: newer(false),
            used,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_that_restricts_more_counts_and_newer_versions_can_be_installed() {
        let overview = r#"{"status":{"state":"deprecated","reason":"use acme/net/aws","at":1,"by":"root"},"versions":[
                {"version":"3.0.0-rc.2"},
                {"version":"3.0.0-rc.1"},
                {"version":"2.0.0"},
                {"version":"1.3.0","status":{"state":"withdrawn","reason":"broken","at":1,"by":"root"}},
                {"version":"1.2.0"},
                {"version":"1.2.0-rc.1"},
                {"version":"1.1.0","status":{"state":"revoked","reason":"it deletes","at":1,"by":"root"}},
                {"version":"1.0.0"}]}"#
            .replace("\n                ", "");
        for (version, constraint, expected) in [
            (
                None,
                Some("~> 1.1"),
                r#""state":"withdrawn","reason":"broken","newer":"2.0.0"}"#,
            ),
            (
                None,
                Some("~> 1"),
                r#""state":"deprecated","reason":"use acme/net/aws"}"#,
            ),
            (
                None,
                Some(">= 1.0.1, <= 1.1.0"),
                r#""state":"revoked","reason":"it deletes","newer_in_major":"1.2.0","newer":"2.0.0"}"#,
            ),
            (
                Some("1.1.0"),
                None,
                r#""state":"revoked","reason":"it deletes","newer_in_major":"1.2.0","newer":"2.0.0"}"#,
            ),
            (
                Some("1.2.0"),
                None,
                r#""state":"deprecated","reason":"use acme/net/aws","newer":"2.0.0"}"#,
            ),
            (
                Some("1.3.0"),
                None,
                r#""state":"withdrawn","reason":"broken","newer":"2.0.0"}"#,
            ),
            (
                Some("1.2.0-rc.1"),
                None,
                r#""state":"deprecated","reason":"use acme/net/aws","newer_in_major":"1.2.0","newer":"2.0.0"}"#,
            ),
            (
                Some("3.0.0-rc.1"),
                None,
                r#""state":"deprecated","reason":"use acme/net/aws","newer_in_major":"3.0.0-rc.2","newer":"3.0.0-rc.2"}"#,
            ),
            (
                Some("9.0.0"),
                None,
                r#""state":"missing","reason":"use acme/net/aws"}"#,
            ),
            (
                None,
                None,
                r#""state":"deprecated","reason":"use acme/net/aws"}"#,
            ),
        ] {
            let used = UsedPackage {
                address: "acme/vpc/aws".to_owned(),
                version: version.map(|it| it.parse().unwrap()),
                constraint: constraint.map(str::to_owned),
            };
            let down_to_it = statuses_in(&overview, used.version.as_ref()).unwrap();
            let is_found = down_to_it.versions.len() < 8;
            assert_eq!(is_found, version.is_some_and(|it| it < "9"), "{version:?}");
            for overview in [down_to_it, statuses_in(&overview, None).unwrap()] {
                let checked = CheckedPackage::of(used.clone(), &overview);
                let text = serde_json::to_string(&checked).unwrap();
                assert!(text.ends_with(expected), "{text}");
            }
        }
        let revoked = r#"{"versions":[{"version":"1.1.0","status":{"state":"revoked","reason":"it deletes","at":1,"by":"root"}}]}"#;
        let used = UsedPackage {
            address: "acme/vpc/aws".to_owned(),
            version: None,
            constraint: None,
        };
        let checked = CheckedPackage::of(used, &statuses_in(revoked, None).unwrap());
        assert_eq!(checked.state, UseState::Revoked);
    }
}
