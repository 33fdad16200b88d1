//! The providers and modules to mirror, and the parts of them.

use std::collections::BTreeSet;

use terrace_base::digest::Sha256;
use terrace_core::model::address::{MirroredAddress, ModuleAddress};
use terrace_core::model::name::Hostname;
use terrace_core::model::package_hash::PackageHash;
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::Constraints;

use crate::commands::report::Skipped;

/// A provider, with the versions and platforms to mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderSelection {
    pub(crate) address: MirroredAddress,
    pub(crate) versions: VersionSelection,
    /// The platforms, or all of them if empty.
    pub(crate) platforms: Vec<Platform>,
    pub(crate) lock: Option<LockedHashes>,
}

/// A module, with the versions to mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleSelection {
    pub(crate) address: ModuleAddress,
    pub(crate) versions: VersionSelection,
    /// The version that `init` installed, which decides for the calls that admit it.
    pub(crate) installed: Option<Version>,
}

/// The hashes of one version in a lock file. A client accepts a package that has any of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LockedHashes {
    /// The digests of zips; all packages are accepted if empty.
    pub(crate) zips: Vec<Sha256>,
    /// The `h1:` hashes of contents.
    pub(crate) contents: Vec<PackageHash>,
}

/// The versions to mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VersionSelection {
    /// All versions that meet the constraints.
    All(Constraints),
    /// The newest release, or the newest version that meets the constraints.
    Newest(Option<Constraints>),
}

impl ProviderSelection {
    /// Returns the platforms to mirror of a version, each once, out of those that an origin offers, and the selected ones that it
    /// does not offer. If it offers none, it does not list its platforms, and none are missing.
    pub(crate) fn platforms_of(&self, offered: &[Platform]) -> (Vec<Platform>, Vec<Platform>) {
        if self.platforms.is_empty() {
            return (offered.to_vec(), Vec::new());
        }
        let named: BTreeSet<&Platform> = self.platforms.iter().collect();
        let named = named.into_iter().cloned();
        named.partition(|it| offered.is_empty() || offered.contains(it))
    }
}

impl LockedHashes {
    /// Returns whether a package is accepted. Before its contents are known, it may be if the lock file has hashes of contents.
    pub(crate) fn admits(&self, zip: Sha256, contents: Option<PackageHash>) -> bool {
        self.zips.is_empty()
            || self.zips.contains(&zip)
            || match contents {
                Some(hash) => self.contents.contains(&hash),
                None => !self.contents.is_empty(),
            }
    }
}

impl VersionSelection {
    /// Returns the selection as constraints of modules mean it.
    pub(crate) fn of_modules(self) -> Self {
        match self {
            Self::All(constraints) => Self::All(constraints.of_modules()),
            Self::Newest(constraints) => Self::Newest(constraints.map(Constraints::of_modules)),
        }
    }

    pub(crate) fn constraints(&self) -> Option<&Constraints> {
        match self {
            Self::All(constraints) => Some(constraints),
            Self::Newest(constraints) => constraints.as_ref(),
        }
    }
}

/// The providers that files require, and the modules that they call.
#[derive(Debug, Default)]
pub(crate) struct Selections {
    pub(crate) providers: Vec<ProviderSelection>,
    pub(crate) modules: Vec<ModuleSelection>,
    pub(crate) skipped: Vec<Skipped>,
}

impl Selections {
    pub(crate) fn is_empty(&self) -> bool {
        self.providers.is_empty() && self.modules.is_empty() && self.skipped.is_empty()
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.providers.extend(other.providers);
        for module in other.modules {
            if !self.modules.contains(&module) {
                self.modules.push(module);
            }
        }
        self.skipped.extend(other.skipped);
    }

    /// Leaves out versions that several lock files lock in the same way.
    pub(crate) fn drop_repeated_locks(&mut self) {
        let mut kept: Vec<ProviderSelection> = Vec::new();
        for selection in std::mem::take(&mut self.providers) {
            if selection.lock.is_none() || !kept.contains(&selection) {
                kept.push(selection);
            }
        }
        self.providers = kept;
    }

    /// Skips the providers and modules that the registry hosts itself.
    pub(crate) fn skip(&mut self, is_own: impl Fn(&Hostname) -> bool) {
        let mut own = Vec::new();
        self.providers.retain(|it| {
            let is_own = is_own(&it.address.hostname);
            own.extend(is_own.then(|| (it.address.to_string(), "provider")));
            !is_own
        });
        self.modules.retain(|it| {
            let is_own = it.address.hostname.as_ref().is_some_and(&is_own);
            own.extend(is_own.then(|| (it.address.to_string(), "module")));
            !is_own
        });
        let skipped = own.into_iter().map(|(path, kind)| Skipped {
            path,
            reason: format!("it is a {kind} of this registry itself"),
        });
        self.skipped.extend(skipped);
    }

    /// Adds a source in the syntax of configurations and lock files, if it belongs to a registry.
    pub(crate) fn add(
        &mut self,
        source: &str,
        want: impl FnOnce(MirroredAddress) -> ProviderSelection,
    ) -> Result<(), String> {
        if source.starts_with("terraform.io/builtin/") {
            self.skipped.push(Skipped {
                path: source.to_owned(),
                reason: "it is built into terraform".to_owned(),
            });
            return Ok(());
        }
        let address = source.parse().map_err(|error| format!("{error}"))?;
        self.providers.push(want(address));
        Ok(())
    }
}
