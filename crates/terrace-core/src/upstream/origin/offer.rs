//! Releases that an origin offers, without any stored package yet.

use std::collections::BTreeMap;

use super::OriginPackage;
use crate::limits;
use crate::model::address::{MirroredAddress, ProviderAddress};
use crate::model::package::package_filename;
use crate::model::platform::Platform;
use crate::model::version::Version;
use crate::storage::release::{MirroredContents, MirroredRelease, OfferedPackage, SignedDocument};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;

/// Returns a release without stored packages. It offers these packages, and everything that the origin has signed along with
/// them.
pub fn offered(
    packages: &[OriginPackage],
    address: MirroredAddress,
    version: Version,
    published_at: UnixTime,
) -> MirroredRelease {
    let mut offers = BTreeMap::new();
    for package in packages {
        let usual = package.usual_offers(&address.provider, &version);
        offers.extend(usual.map(|offer| (offer.platform.clone(), offer)));
    }
    for package in packages {
        let offer = package.offer(&package.platform, &package.filename, package.sha256);
        offers.insert(offer.platform.clone(), offer);
    }
    let contents = MirroredContents {
        protocols: packages
            .first()
            .map_or_else(Vec::new, |first| first.protocols.clone()),
        signed: distinct(packages)
            .filter_map(OriginPackage::document)
            .collect(),
        packages: Vec::new(),
    };
    let mut release = MirroredRelease::new(address, version, contents, published_at);
    release.offered = offers.into_values().take(limits::PLATFORMS).collect();
    release
}

/// Returns the first package of each SHA256SUMS.
pub fn distinct(packages: &[OriginPackage]) -> impl Iterator<Item = &OriginPackage> {
    let is_first = |place: usize, package: &OriginPackage| {
        let mut earlier = packages.iter().take(place);
        !earlier.any(|it| it.shasums == package.shasums)
    };
    let packages = packages.iter().enumerate();
    packages.filter_map(move |(place, package)| is_first(place, package).then_some(package))
}

impl OriginPackage {
    fn document(&self) -> Option<SignedDocument> {
        let signed = self.signed.as_ref()?;
        Some(SignedDocument {
            shasums: self.shasums.digest(),
            signature: Sha256::of(&signed.signature),
            signing_key: signed.key.clone(),
        })
    }

    /// Returns the packages of this version that SHA256SUMS lists under the usual names, which state their platforms. Other
    /// listed files, such as a manifest, are not packages, or only the description of a platform states that they are.
    pub fn usual_offers(
        &self,
        provider: &ProviderAddress,
        version: &Version,
    ) -> impl Iterator<Item = OfferedPackage> {
        let start = format!("terraform-provider-{}_{version}_", provider.provider_type);
        self.shasums.filenames().filter_map(move |filename| {
            let platform = filename.strip_prefix(&start)?.strip_suffix(".zip")?;
            let platform: Platform = platform.parse().ok()?;
            let is_it = package_filename(provider, version, &platform) == filename;
            is_it.then_some(())?;
            Some(self.offer(&platform, filename, self.shasums.digest_of(filename)?))
        })
    }

    fn offer(&self, platform: &Platform, filename: &str, sha256: Sha256) -> OfferedPackage {
        OfferedPackage {
            platform: platform.clone(),
            filename: filename.to_owned(),
            sha256,
            shasums: self.document().map(|signed| signed.shasums),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::shasums::Shasums;
    use crate::upstream::origin::Fetch;

    fn package(platform: &str, filename: &str, shasums: &str) -> OriginPackage {
        OriginPackage {
            platform: platform.parse().unwrap(),
            filename: filename.to_owned(),
            sha256: Sha256::of(b""),
            download: Fetch {
                base: None,
                reference: String::new(),
                max_bytes: 0,
                with_token: false,
                what: "zip",
            },
            protocols: Vec::new(),
            shasums: Shasums::parse(shasums).unwrap(),
            signed: None,
            warnings: Vec::new(),
        }
    }

    fn lines(names: &[&str]) -> String {
        let digest = "0".repeat(64);
        let lines = names.iter().map(|name| format!("{digest}  {name}\n"));
        lines.collect()
    }

    fn offered_by(packages: &[OriginPackage]) -> Vec<String> {
        let address = "registry.example.com/acme/widget".parse().unwrap();
        let version = "1.0.0".parse().unwrap();
        let release = offered(packages, address, version, UnixTime(0));
        let offered = release.offered.iter();
        let text = |offer: &OfferedPackage| format!("{} {}", offer.platform, offer.filename);
        offered.map(text).collect()
    }

    #[test]
    fn only_signed_packages_of_this_version_are_offered() {
        let shasums = lines(&[
            "terraform-provider-widget_1.0.0_linux_arm64.zip",
            "terraform-provider-widget_1.0.0_manifest.json",
            "terraform-provider-widget_1.0.0_Linux_amd64.zip",
            "terraform-provider-widget_1.0.0_linux.zip",
            "terraform-provider-widget_1.0.1_linux_amd64.zip",
            "terraform-provider-gadget_1.0.0_linux_amd64.zip",
            "terraform-provider-widget_v1.0.0_windows_amd64.zip",
        ]);
        // Its own description states the platform of a package, whatever its name.
        let darwin = "terraform-provider-widget_v1.0.0_windows_amd64.zip";
        assert_eq!(
            offered_by(&[package("darwin_arm64", darwin, &shasums)]),
            [
                format!("darwin_arm64 {darwin}"),
                "linux_arm64 terraform-provider-widget_1.0.0_linux_arm64.zip".to_owned()
            ]
        );
    }

    #[test]
    fn the_number_of_offered_platforms_is_limited() {
        let name = |number| format!("terraform-provider-widget_1.0.0_linux_a{number}.zip");
        let names: Vec<String> = (0..=limits::PLATFORMS).map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let package = package("linux_a0", names[0], &lines(&names));
        assert_eq!(offered_by(&[package]).len(), limits::PLATFORMS);
    }
}
