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
    /// Requests the stored packages from the registry.
    ///
    /// The documents of the mirror protocol are not sufficient: they are indices, which may be older than the
    /// stored release.
    ///
    /// # Errors
    /// The registry does not respond.
    pub(super) fn ask(
        client: &Client<'_>,
        address: &MirroredAddress,
        version: &Version,
    ) -> Result<Self, Failure> {
        let mirrored = client.mirrored(address, version)?;
        Ok(mirrored.map_or_else(Self::default, |it| Self(it.packages)))
    }

    /// Returns the packages that are stored with other bytes than the origin has, as messages.
    pub(super) fn conflicts(&self, packages: &[OriginPackage]) -> Vec<String> {
        let conflict = |package: &OriginPackage| {
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
        };
        packages.iter().filter_map(conflict).collect()
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

    fn same_platform(&self, package: &OriginPackage) -> Option<&PackageBody> {
        let platform = &package.platform;
        self.0
            .iter()
            .find(|stored| stored.os == platform.os() && stored.arch == platform.arch())
    }
}
