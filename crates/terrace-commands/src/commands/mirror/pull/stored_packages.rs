//! The packages of a version that the registry reports as stored.

use terrace_core::api::admin::PackageBody;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::OriginPackage;

use crate::error::Failure;
use crate::registry::client::Client;

/// The packages of one version that need not be downloaded.
#[derive(Debug, Default)]
pub(super) struct StoredPackages(Vec<PackageBody>);

impl StoredPackages {
    /// Requests the stored packages from the registry, and compares them with those of the origin.
    ///
    /// The documents of the mirror protocol are not sufficient: they are indices, which may be older than the
    /// stored release.
    ///
    /// # Errors
    /// The registry does not respond, or stores other bytes than the origin has.
    pub(super) fn ask(
        client: &Client<'_>,
        address: &MirroredAddress,
        version: &Version,
        packages: &[OriginPackage],
    ) -> Result<Self, Failure> {
        let Some(mirrored) = client.mirrored(address, version)? else {
            return Ok(Self::default());
        };
        let stored = Self(mirrored.packages);
        let conflict = |package| stored.conflict(package);
        let conflicts: Vec<String> = packages.iter().filter_map(conflict).collect();
        if conflicts.is_empty() {
            Ok(stored)
        } else {
            Err(Failure::Conflict(conflicts))
        }
    }

    /// Returns the stored description of a package, if it contains everything that a download would
    /// determine.
    pub(super) fn description_of(&self, package: &OriginPackage) -> Option<&PackageBody> {
        self.same_platform(package)
            .filter(|stored| stored.h1.is_some())
    }

    /// Returns the platforms of the packages that are stored.
    pub(super) fn platforms(&self, packages: &[OriginPackage]) -> Vec<String> {
        let is_stored = |package: &&OriginPackage| self.description_of(package).is_some();
        packages
            .iter()
            .filter(is_stored)
            .map(|package| package.platform.to_string())
            .collect()
    }

    fn conflict(&self, package: &OriginPackage) -> Option<String> {
        let stored = &self.same_platform(package)?.sha256;
        let OriginPackage {
            platform, sha256, ..
        } = package;
        (*stored != sha256.to_string()).then(|| {
            format!(
                "{platform} is stored with the sha256 {stored}, but its origin lists {sha256}: if its publisher has created the \
                 version anew, --versions with --replace REASON replaces it"
            )
        })
    }

    fn same_platform(&self, package: &OriginPackage) -> Option<&PackageBody> {
        let platform = &package.platform;
        self.0
            .iter()
            .find(|stored| stored.os == platform.os() && stored.arch == platform.arch())
    }
}
