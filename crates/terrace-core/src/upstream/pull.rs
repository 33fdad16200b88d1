//! Pull-through: the providers of other registries that are mirrored on request.
//!
//! By default there are none: the operator names them. A named provider is looked up at its origin, recorded
//! in an [`OriginDocument`], and shown to clients as far as the [`PullPolicy`] admits it.

mod document;
mod pattern;

pub use document::{KnownVersion, OriginDocument};
pub use pattern::{ProviderPattern, VersionPattern};

use std::fmt;

use crate::http::guard::Guard;
use crate::http::problem::Problem;
use crate::index::ListedRelease;
use crate::model::address::MirroredAddress;
use crate::model::name::Hostname;
use crate::model::version::Version;
use crate::storage::index_document::PullMetadata;
use terrace_base::digest::Sha256;
use terrace_base::sort;
use terrace_base::time::UnixTime;
use terrace_base::url::{HttpsUrl, Url};

/// Time for which an origin's version list is considered current, in seconds. Clients that need a release of
/// the last quarter of an hour are rare, and a check costs two requests, two writes to R2 and one to KV (the
/// free plan has 1,000 a day).
pub const PULL_CHECK_SECONDS: u64 = 900;

/// Time for which the answer that an origin has no such provider is considered current, in seconds.
pub const PULL_ABSENCE_SECONDS: u64 = 60;

/// Maximum time for which one request may wait for documents of other registries, in seconds. Clients give up
/// after ten.
pub const PULL_SECONDS: u32 = 8;

/// Age from which a list is no longer served before its origin has been checked, in seconds.
pub const PULL_STALE_SECONDS: u64 = 86_400;

/// The rules of the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullRules {
    /// The providers that may be pulled. No other provider is.
    pub allowed: Vec<ProviderPattern>,
    /// The versions that are never served, whether pulled or mirrored explicitly.
    pub blocked: Vec<VersionPattern>,
    /// The minimum time, in seconds, since a version was first seen at its origin, before it is shown.
    pub minimum_age: u64,
    /// The URLs of registries that are not at `https://{hostname}`. Their paths are ignored.
    pub origins: Vec<(Hostname, HttpsUrl)>,
}

/// The policy from the operator's rules: the providers that may be pulled, and the blocked versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullPolicy {
    rules: PullRules,
    /// Identifies the rules, so that a list made by other rules is recognised.
    fingerprint: String,
}

impl fmt::Display for PullRules {
    /// Writes the rules in the operator's syntax, one per line. Stored lists are identified by this text: if
    /// it changes, all of them are rebuilt.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for allowed in &self.allowed {
            writeln!(f, "allow {allowed}")?;
        }
        for blocked in &self.blocked {
            writeln!(f, "block {blocked}")?;
        }
        writeln!(f, "minimum age {}", self.minimum_age)?;
        for (hostname, origin) in &self.origins {
            writeln!(f, "origin {hostname}={}", origin.as_url().origin())?;
        }
        Ok(())
    }
}

impl From<PullRules> for PullPolicy {
    fn from(rules: PullRules) -> Self {
        let digest = Sha256::of(rules.to_string().as_bytes()).to_string();
        let fingerprint = digest.chars().take(16).collect();
        Self { rules, fingerprint }
    }
}

impl PullPolicy {
    /// Returns whether the operator has set no rules at all.
    pub fn is_empty(&self) -> bool {
        self.rules.allowed.is_empty() && self.rules.blocked.is_empty()
    }

    /// Returns whether any provider is looked up at its origin.
    pub fn pulls_any(&self) -> bool {
        !self.rules.allowed.is_empty()
    }

    /// Returns the hostnames of the registries that providers are looked up at, without duplicates.
    pub fn hostnames(&self) -> Vec<&Hostname> {
        let mut hostnames: Vec<&Hostname> = Vec::new();
        for pattern in &self.rules.allowed {
            if !hostnames.contains(&pattern.hostname()) {
                hostnames.push(pattern.hostname());
            }
        }
        hostnames
    }

    /// Returns whether this provider is looked up at its origin.
    pub fn pulls(&self, address: &MirroredAddress) -> bool {
        let mut allowed = self.rules.allowed.iter();
        allowed.any(|pattern| pattern.matches(address))
    }

    /// Returns whether this version is hidden from clients.
    pub fn blocks(&self, address: &MirroredAddress, version: &Version) -> bool {
        let mut blocked = self.rules.blocked.iter();
        blocked.any(|pattern| pattern.matches(address, version))
    }

    /// Returns whether a version that its origin lists, and that is not stored here, is shown now.
    pub fn admits(&self, address: &MirroredAddress, seen: &KnownVersion, now: UnixTime) -> bool {
        let age = now.since(seen.first_seen);
        age >= self.rules.minimum_age && self.pulls(address) && !self.blocks(address, &seen.version)
    }

    /// Returns the time since which a version must have been published to be shown now; `None` if its age does not matter.
    pub fn newest_shown(&self, now: UnixTime) -> Option<UnixTime> {
        let age = self.rules.minimum_age;
        (age > 0).then(|| UnixTime(now.since(UnixTime(age))))
    }

    /// Returns the URL of the registry of a hostname: `https://host[:port]`.
    pub fn origin_of(&self, hostname: &Hostname) -> String {
        self.named_origin(hostname)
            .map_or_else(|| format!("https://{hostname}"), Url::origin)
    }

    /// Returns the guard for requests to the registry of a hostname: it allows public hosts, and the one that
    /// the operator has named for it.
    pub fn guard(&self, hostname: &Hostname) -> Guard {
        let guard = Guard::public();
        match self.named_origin(hostname) {
            Some(url) => guard.naming(url.host(), url.port_or_default()),
            None => guard,
        }
    }

    fn named_origin(&self, hostname: &Hostname) -> Option<&Url> {
        let mut origins = self.rules.origins.iter();
        let (_, origin) = origins.find(|(known, _)| known == hostname)?;
        Some(origin.as_url())
    }

    /// Returns the mirror's list for a provider: the stored versions and those that its origin had at the
    /// last check, without blocked or too recent ones. A stored version without any stored package depends on
    /// its origin, too.
    pub fn listed(
        &self,
        address: &MirroredAddress,
        stored: Vec<ListedRelease>,
        seen: Option<&OriginDocument>,
    ) -> Vec<ListedRelease> {
        let pulls = self.pulls(address);
        let mut listed = stored;
        listed.retain(|release| pulls || !release.contents.is_empty());
        let stored = sort::set(listed.iter().map(|it| it.version.clone()));
        let at_origin: Vec<ListedRelease> = seen
            .into_iter()
            .flat_map(|seen| seen.admitted(self, address))
            .filter(|version| !stored.contains(version))
            .map(|version| ListedRelease::new(version.clone()))
            .collect();
        listed.extend(at_origin);
        listed.retain(|release| !self.blocks(address, &release.version));
        listed
    }

    /// Returns the metadata of a list made by these rules; `None` without rules.
    pub fn metadata(&self, seen: Option<&OriginDocument>, is_empty: bool) -> Option<PullMetadata> {
        (!self.is_empty()).then(|| PullMetadata {
            rules: self.fingerprint.clone(),
            checked_at: seen.map_or(UnixTime(0), |seen| seen.checked_at),
            is_empty,
        })
    }

    /// Returns whether a list was made by these rules.
    pub fn has_made(&self, list: Option<&PullMetadata>) -> bool {
        match list {
            Some(made_by) => made_by.rules == self.fingerprint,
            None => self.is_empty(),
        }
    }
}

/// Returns the error for a mirrored version that the operator blocks: a 404, as for everything that a mirror
/// does not have (clients.md 5.5).
pub fn blocked(address: &MirroredAddress, version: &Version) -> Problem {
    Problem::NotFound(format!(
        "{address} {version} is blocked by the operator of this registry"
    ))
}

/// Returns the error for a provider, or a version of one, that the operator has blocked for a reason.
pub fn blocked_because(what: &str, reason: impl fmt::Display) -> Problem {
    Problem::NotFound(format!(
        "{what} is blocked by the operator of this registry: {reason}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::guard::UrlParts;

    fn policy(allowed: &str, blocked: &str) -> PullPolicy {
        PullPolicy::from(PullRules {
            allowed: allowed
                .split_whitespace()
                .map(|p| p.parse().unwrap())
                .collect(),
            blocked: blocked
                .split_whitespace()
                .map(|p| p.parse().unwrap())
                .collect(),
            minimum_age: 100,
            origins: vec![(
                "a.test".parse().unwrap(),
                "https://10.0.0.1:8443".parse().unwrap(),
            )],
        })
    }

    fn seen(version: &str, first_seen: u64) -> KnownVersion {
        KnownVersion {
            version: version.parse().unwrap(),
            platforms: Vec::new(),
            first_seen: UnixTime(first_seen),
            missing_since: None,
        }
    }

    #[test]
    fn a_version_is_shown_when_it_is_old_enough_and_not_blocked() {
        let allowed = "a.test/*/* c.test/*/widget";
        let policy = policy(allowed, "a.test/evil/* a.test/acme/widget@1.2.0");
        let now = UnixTime(1_000);
        for (address, version, first_seen, shown) in [
            ("a.test/acme/widget", "1.0.0", 900, true),
            ("a.test/acme/widget", "1.0.0", 901, false),
            ("a.test/acme/widget", "1.2.0", 0, false),
            ("a.test/evil/widget", "1.0.0", 0, false),
            ("b.test/acme/widget", "1.0.0", 0, false),
            ("c.test/any/widget", "1.0.0", 0, true),
            ("c.test/any/thing", "1.0.0", 0, false),
            // If the clock runs backwards, nothing is shown early.
            ("a.test/acme/widget", "1.0.0", 2_000, false),
        ] {
            let address = address.parse().unwrap();
            assert!(!PullPolicy::default().pulls(&address));
            let admitted = policy.admits(&address, &seen(version, first_seen), now);
            assert_eq!(admitted, shown, "{address} {version} {first_seen}");
        }
    }

    #[test]
    fn different_rules_have_different_fingerprints() {
        let one = policy("a.test/*/*", "");
        let other = policy("a.test/*/*", "a.test/evil/*");
        assert!(one.has_made(one.metadata(None, false).as_ref()));
        assert!(!one.has_made(other.metadata(None, false).as_ref()));
        assert!(!one.has_made(None));
        assert!(PullPolicy::default().has_made(None));
        assert!(!PullPolicy::default().has_made(one.metadata(None, false).as_ref()));
    }

    #[test]
    fn the_fingerprint_is_that_of_the_text_of_the_rules() {
        let policy = policy(
            "a.test/*/* b.test/acme/widget",
            "a.test/evil/* a.test/*/widget@1.2.0",
        );
        assert_eq!(
            policy.rules.to_string(),
            "allow a.test/*/*\nallow b.test/acme/widget\nblock a.test/evil/*\n\
             block a.test/*/widget@1.2.0\nminimum age 100\norigin a.test=https://10.0.0.1:8443\n"
        );
        assert_eq!(policy.fingerprint, "6f83a37290190ce7");
    }

    #[test]
    fn only_the_named_origin_of_a_registry_may_be_private() {
        let policy = policy("", "");
        let origin = |hostname: &str| policy.origin_of(&hostname.parse().unwrap());
        assert_eq!(origin("a.test"), "https://10.0.0.1:8443");
        assert_eq!(origin("b.test"), "https://b.test");
        let parts = |host, port| UrlParts {
            scheme: "https",
            has_userinfo: false,
            host,
            port: Some(port),
        };
        let guard = policy.guard(&"a.test".parse().unwrap());
        assert!(guard.check(parts("10.0.0.1", 8443)).is_ok());
        assert!(guard.check(parts("10.0.0.1", 443)).is_err());
        let other = policy.guard(&"b.test".parse().unwrap());
        assert!(other.check(parts("10.0.0.1", 8443)).is_err());
    }

    #[test]
    fn a_list_contains_stored_and_admitted_versions_but_no_blocked_ones() {
        let policy = policy("a.test/*/*", "a.test/acme/widget@1.1.0");
        let address = "a.test/acme/widget".parse().unwrap();
        let release = |version: &str| ListedRelease {
            contents: vec!["0123456789".to_owned()],
            ..ListedRelease::new(version.parse().unwrap())
        };
        let stored = vec![release("1.0.0"), release("1.1.0")];
        let origin =
            document::testing::seen_at(1_000, &[("1.0.0", 0), ("1.2.0", 900), ("1.3.0", 901)]);
        let listed = policy.listed(&address, stored.clone(), Some(&origin));
        let versions: Vec<String> = listed.iter().map(|l| l.version.to_string()).collect();
        assert_eq!(versions, ["1.0.0", "1.2.0"]);
        assert_eq!(policy.listed(&address, stored, None), [release("1.0.0")]);
    }
}
