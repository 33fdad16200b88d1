//! The status of a release after its publish: deprecated, withdrawn or revoked.
//!
//! The release itself never changes. Its status is stored beside it, in one document for each package, and
//! can be lifted. The protocols have no such concept except the `warnings` of a provider's list (clients.md
//! 2.1.2), which both clients print on every init. So a deprecated or withdrawn version stays in the lists,
//! because lock files that name it would break otherwise; a revoked one leaves the lists and is answered with
//! 410.
//!
//! Beside these statuses, the operator can block a mirrored provider or some of its versions, whether they are
//! stored or not. A block leaves the status as it is, so that lifting the block restores it. A blocked version is
//! answered like a missing one, with 404.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::model::version::Version;
use terrace_base::sort;
use terrace_base::time::UnixTime;
use terrace_base::untrusted::is_unprintable;
use terrace_openpgp::KeyId;

/// Maximum number of warnings in one list. Clients print them on every init (clients.md 14.1 on 2.1.2).
const WARNINGS: usize = 10;

/// The name of the state that restores a version, a package or a key.
pub const ACTIVE: &str = "active";

/// The name of the state that blocks a mirrored provider, or a version of one.
pub const BLOCKED: &str = "blocked";

/// The name of the state that lifts a block.
pub const UNBLOCKED: &str = "unblocked";

/// The status of a version. A greater one restricts it more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReleaseState {
    /// The version works, but there is a better alternative.
    Deprecated,
    /// The version should not have been published: existing users may keep it, new users should not adopt it.
    Withdrawn,
    /// The version must not be installed any more.
    Revoked,
    /// The operator blocks the mirrored version. It is never the status of a version itself.
    Blocked,
}

/// The reason for a status: one line that is printed in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

/// A status with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseStatus {
    /// The status itself.
    pub state: ReleaseState,
    /// The reason, for users.
    pub reason: Reason,
    /// The time when it was set.
    pub at: UnixTime,
    /// The name of the caller who set it.
    pub by: String,
}

/// The status of a package and of its versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusDocument {
    /// The status of the whole package; never revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<ReleaseStatus>,
    /// The status of versions, by their text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, ReleaseStatus>,
    /// The block of a whole mirrored provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<ReleaseStatus>,
    /// The blocks of its versions, stored or not, by their text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blocked_versions: BTreeMap<String, ReleaseStatus>,
}

/// The reason why a version must not be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal<'s> {
    /// The reason, for users.
    pub reason: &'s Reason,
    /// Whether the operator blocks the version. Otherwise it is revoked.
    pub is_blocked: bool,
}

impl<'s> Refusal<'s> {
    /// Returns the refusal of a revoked version.
    pub fn revoked(reason: &'s Reason) -> Self {
        let is_blocked = false;
        Self { reason, is_blocked }
    }

    /// Returns the refusal of a version that the operator blocks.
    pub fn blocked(block: &'s ReleaseStatus) -> Self {
        Self {
            reason: &block.reason,
            is_blocked: true,
        }
    }
}

/// The status of a signing key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// The key may not sign new releases; existing ones stay.
    Retired,
    /// No release signed by the key may be installed.
    Revoked,
}

/// The status of a signing key, with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyStatus {
    /// The status itself.
    pub state: KeyState,
    /// The reason, for users and publishers.
    pub reason: Reason,
    /// The time when it was set.
    pub at: UnixTime,
    /// The name of the caller who set it.
    pub by: String,
}

/// The error for a text that is not a status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a valid state: a release can be deprecated, withdrawn, revoked or active, a mirrored package also blocked or unblocked, and a signing key retired, revoked or active"
)]
pub struct StateError(String);

/// The error for a text that is not a valid reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a reason must be one line of 1 to {} bytes of printable text",
    limits::REASON_BYTES
)]
pub struct ReasonError;

impl StatusDocument {
    /// Marks a version as revoked if the key that signed it is revoked.
    pub fn apply_key_revocation(
        &mut self,
        version: &Version,
        key_id: KeyId,
        key_status: &KeyStatus,
    ) {
        if key_status.state != KeyState::Revoked {
            return;
        }
        let message = format!("its signing key {key_id} is revoked: {}", key_status.reason);
        let status = ReleaseStatus {
            state: ReleaseState::Revoked,
            reason: Reason(message),
            at: key_status.at,
            by: key_status.by.clone(),
        };
        self.versions.insert(version.to_string(), status);
    }

    /// Marks a version as revoked if it was erased, unless its status says so already.
    pub fn apply_erasure(&mut self, version: &Version, reason: &Reason, erased_at: UnixTime) {
        if self.revocation_reason(version).is_some() {
            return;
        }
        let status = ReleaseStatus {
            state: ReleaseState::Revoked,
            reason: reason.of_erasure(),
            at: erased_at,
            by: String::new(),
        };
        self.versions.insert(version.to_string(), status);
    }

    /// Returns the reason why a version must not be installed, if it is revoked.
    pub fn revocation_reason(&self, version: &Version) -> Option<&Reason> {
        let status = of_version(&self.versions, version);
        let status = status.filter(|it| it.state == ReleaseState::Revoked);
        status.map(|it| &it.reason)
    }

    /// Returns the operator's block of a version, or of all versions.
    pub fn block(&self, version: &Version) -> Option<&ReleaseStatus> {
        of_version(&self.blocked_versions, version).or(self.blocked.as_ref())
    }

    /// Returns the reason why a version must not be installed, if it is blocked or revoked.
    pub fn refusal(&self, version: &Version) -> Option<Refusal<'_>> {
        let block = self.block(version).map(Refusal::blocked);
        block.or_else(|| self.revocation_reason(version).map(Refusal::revoked))
    }

    /// Returns whether any version is blocked or revoked.
    pub fn refuses_any(&self) -> bool {
        let mut statuses = self.versions.values();
        self.blocked.is_some()
            || !self.blocked_versions.is_empty()
            || statuses.any(|it| it.state == ReleaseState::Revoked)
    }

    /// Returns the status to show of a version: its block, or else its own status.
    pub fn shown(&self, version: &Version) -> Option<&ReleaseStatus> {
        let status = || of_version(&self.versions, version);
        self.block(version).or_else(status)
    }

    /// Returns the warnings for users of `address`, one line each: for the package, then for every revoked
    /// version, then for at most `WARNINGS` others; the newest versions first.
    pub fn warnings(&self, address: &str) -> Vec<String> {
        let mut versions: Vec<(bool, Version, &ReleaseStatus)> = Vec::new();
        for (version, status) in &self.versions {
            let is_revoked = status.state == ReleaseState::Revoked;
            let version = version.parse().ok();
            versions.extend(version.map(|version| (is_revoked, version, status)));
        }
        sort::sort_by(&mut versions, |one, other| {
            (other.0, &other.1).cmp(&(one.0, &one.1))
        });
        let revoked = versions
            .iter()
            .filter(|(is_revoked, ..)| *is_revoked)
            .count();
        let of_package = self.package.iter();
        let of_package = of_package.map(|it| format!("{address} is {}: {}", it.state, it.reason));
        let of_versions = versions
            .iter()
            .map(|(_, version, it)| format!("{address} {version} is {}: {}", it.state, it.reason));
        let mut lines: Vec<String> = of_package.chain(of_versions).collect();
        let limit = revoked + WARNINGS;
        let more = lines.len().saturating_sub(limit);
        if more > 0 {
            lines.truncate(limit);
            lines.push(format!(
                "{address}: {more} more versions are deprecated or withdrawn"
            ));
        }
        lines
    }
}

/// Returns the status of a version. An index of many versions asks for each of them, and in most documents the map is empty:
/// then the text of the version is not needed.
fn of_version<'s>(
    statuses: &'s BTreeMap<String, ReleaseStatus>,
    version: &Version,
) -> Option<&'s ReleaseStatus> {
    match statuses.is_empty() {
        true => None,
        false => statuses.get(&version.to_string()),
    }
}

/// The beginning of the reason of an erased version's status.
const ERASED: &str = "erased: ";

const _: () = assert!(
    limits::ERASURE_REASON_BYTES + ERASED.len() <= limits::REASON_BYTES,
    "the status of an erased version must be readable"
);

impl Reason {
    /// Returns the reason of the status of a version that was erased for this reason.
    #[must_use]
    pub fn of_erasure(&self) -> Self {
        Self(format!("{ERASED}{self}"))
    }

    /// Returns whether it may be the reason of an erasure.
    pub fn is_short(&self) -> bool {
        self.0.len() <= limits::ERASURE_REASON_BYTES
    }
}

impl FromStr for ReleaseState {
    type Err = StateError;

    fn from_str(text: &str) -> Result<Self, StateError> {
        match text {
            "deprecated" => Ok(Self::Deprecated),
            "withdrawn" => Ok(Self::Withdrawn),
            "revoked" => Ok(Self::Revoked),
            "blocked" => Ok(Self::Blocked),
            _ => Err(StateError(text.chars().take(limits::NAME_BYTES).collect())),
        }
    }
}

impl FromStr for KeyState {
    type Err = StateError;

    fn from_str(text: &str) -> Result<Self, StateError> {
        match text {
            "retired" => Ok(Self::Retired),
            "revoked" => Ok(Self::Revoked),
            _ => Err(StateError(text.chars().take(limits::NAME_BYTES).collect())),
        }
    }
}

impl FromStr for Reason {
    type Err = ReasonError;

    fn from_str(text: &str) -> Result<Self, ReasonError> {
        let is_reason = (1..=limits::REASON_BYTES).contains(&text.len())
            && text.trim() == text
            && !text.chars().any(is_unprintable);
        is_reason.then(|| Self(text.to_owned())).ok_or(ReasonError)
    }
}

impl fmt::Display for ReleaseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deprecated => "deprecated",
            Self::Withdrawn => "withdrawn",
            Self::Revoked => "revoked",
            Self::Blocked => BLOCKED,
        })
    }
}

impl fmt::Display for KeyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retired => "retired",
            Self::Revoked => "revoked",
        })
    }
}

crate::model::text_display!(Reason);

terrace_base::text_serde!(KeyState);

terrace_base::text_serde!(Reason);

terrace_base::text_serde!(ReleaseState);

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: ReleaseState, reason: &str) -> ReleaseStatus {
        ReleaseStatus {
            state,
            reason: reason.parse().unwrap(),
            at: UnixTime(1),
            by: "root".to_owned(),
        }
    }

    #[test]
    fn warnings_are_limited_and_list_revoked_versions_before_all_others() {
        let old = (0..WARNINGS + 5)
            .map(|n| (format!("2.{n}.0"), status(ReleaseState::Deprecated, "old")));
        let revoked = status(ReleaseState::Revoked, "it deletes");
        let statuses = StatusDocument {
            versions: old.chain([("1.0.0".to_owned(), revoked)]).collect(),
            ..StatusDocument::default()
        };
        let warnings = statuses.warnings("acme/widget");
        assert_eq!(warnings[0], "acme/widget 1.0.0 is revoked: it deletes");
        // The newest of the others first: in the order of versions, not of texts.
        assert_eq!(warnings[1], "acme/widget 2.14.0 is deprecated: old");
        assert_eq!(warnings.len(), WARNINGS + 2);
        assert!(warnings[WARNINGS + 1].contains("5 more"), "{warnings:?}");
    }

    #[test]
    fn a_reason_must_be_one_printable_line() {
        let long = "x".repeat(limits::REASON_BYTES + 1);
        for text in [
            "",
            " x",
            "x\n",
            "a\nb",
            "\u{1b}[31mred",
            "\u{9b}31m",
            "\u{202e}x",
            "\u{feff}x",
            &long,
        ] {
            assert!(text.parse::<Reason>().is_err(), "{text:?}");
        }
        for text in ["CVE-2026-1234: use 1.2.1", "заменён на 2.0"] {
            assert!(text.parse::<Reason>().is_ok(), "{text:?}");
        }
    }
}
