//! What is to be mirrored.

use std::collections::BTreeSet;

use terrace_base::digest::Sha256;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::name::Hostname;
use terrace_core::model::platform::Platform;
use terrace_core::upstream::origin::Constraints;

/// A provider, and which parts of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) address: MirroredAddress,
    pub(crate) choice: Choice,
    /// None are all that there are.
    pub(crate) platforms: Vec<Platform>,
    pub(crate) lock: Option<Lock>,
}

/// What a lock file says of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lock {
    /// The digests of the only zips that will do; none where it names none.
    pub(crate) zips: Vec<Sha256>,
}

/// Which versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Everything that meets the constraints.
    All(Constraints),
    /// The newest release, or the newest version that meets the constraints.
    Newest(Option<Constraints>),
}

impl Wanted {
    /// The platforms to mirror, each once, of a version that an origin offers for these.
    pub(crate) fn platforms_of(&self, offered: &[Platform]) -> Vec<Platform> {
        if self.platforms.is_empty() {
            return offered.to_vec();
        }
        let missing = self.missing(offered);
        let named: BTreeSet<&Platform> = self.platforms.iter().collect();
        named.difference(&missing).copied().cloned().collect()
    }

    /// The named platforms that an origin does not offer. One that offers none does not say.
    pub(crate) fn missing(&self, offered: &[Platform]) -> BTreeSet<&Platform> {
        let is_missing = |named: &&Platform| !offered.is_empty() && !offered.contains(named);
        self.platforms.iter().filter(is_missing).collect()
    }
}

impl Lock {
    pub(crate) fn admits(&self, zip: Sha256) -> bool {
        self.zips.is_empty() || self.zips.contains(&zip)
    }
}

impl Choice {
    pub(crate) fn constraints(&self) -> Option<&Constraints> {
        match self {
            Self::All(constraints) => Some(constraints),
            Self::Newest(constraints) => constraints.as_ref(),
        }
    }
}

/// A source that is not mirrored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PassedOver {
    pub(crate) source: String,
    pub(crate) reason: String,
}

/// What files ask for.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) passed_over: Vec<PassedOver>,
}

impl Found {
    pub(crate) fn of(wanted: Wanted) -> Self {
        Self {
            wanted: vec![wanted],
            passed_over: Vec::new(),
        }
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.wanted.extend(other.wanted);
        self.passed_over.extend(other.passed_over);
    }

    /// Leaves out what the registry itself has.
    pub(crate) fn pass_over(&mut self, is_own: impl Fn(&Hostname) -> bool) {
        let wanted = std::mem::take(&mut self.wanted);
        for wanted in wanted {
            if is_own(&wanted.address.hostname) {
                self.passed_over.push(PassedOver {
                    source: wanted.address.to_string(),
                    reason: "it is a provider of this registry itself".to_owned(),
                });
            } else {
                self.wanted.push(wanted);
            }
        }
    }

    /// Takes a source as configurations and lock files write it, if there is a registry behind it.
    pub(crate) fn add(
        &mut self,
        source: &str,
        want: impl FnOnce(MirroredAddress) -> Wanted,
    ) -> Result<(), String> {
        if source.starts_with("terraform.io/builtin/") {
            self.passed_over.push(PassedOver {
                source: source.to_owned(),
                reason: "it is built into terraform".to_owned(),
            });
            return Ok(());
        }
        let address = source.parse().map_err(|error| format!("{error}"))?;
        self.wanted.push(want(address));
        Ok(())
    }
}
