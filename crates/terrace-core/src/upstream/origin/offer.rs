//! Releases that an origin offers, without any stored package yet.

use super::OriginPackage;
use crate::limits;
use crate::model::address::{MirroredAddress, ProviderAddress};
use crate::model::package::package_filename;
use crate::model::platform::Platform;
use crate::model::version::Version;
use crate::storage::release::{MirroredContents, MirroredRelease, OfferedPackage, SignedDocument};
use terrace_base::digest::Sha256;
use terrace_base::sort;
use terrace_base::time::UnixTime;

impl OriginPackage {
    /// Returns a release without stored packages. It offers everything that the origin has signed along with
    /// this package.
    pub fn offered(
        &self,
        address: MirroredAddress,
        version: Version,
        published_at: UnixTime,
    ) -> MirroredRelease {
        let offered = offers(&address.provider, &version, self);
        let contents = MirroredContents {
            protocols: self.protocols.clone(),
            signed: self.signed.as_ref().map(|signed| SignedDocument {
                shasums: Sha256::of(self.shasums.as_str().as_bytes()),
                signature: Sha256::of(&signed.signature),
                signing_key: signed.key.clone(),
            }),
            packages: Vec::new(),
        };
        let mut release = MirroredRelease::new(address, version, contents, published_at);
        release.offered = offered;
        release
    }
}

/// Returns every package of this version that SHA256SUMS lists, ascending by platform. Other listed files,
/// such as a manifest, are not packages.
fn offers(
    provider: &ProviderAddress,
    version: &Version,
    package: &OriginPackage,
) -> Vec<OfferedPackage> {
    let start = format!("terraform-provider-{}_{version}_", provider.provider_type);
    let offer = |filename: &str| {
        let platform = filename.strip_prefix(&start)?.strip_suffix(".zip")?;
        let platform: Platform = platform.parse().ok()?;
        let is_it = package_filename(provider, version, &platform) == filename;
        is_it.then_some(())?;
        Some(OfferedPackage {
            platform,
            filename: filename.to_owned(),
            sha256: package.shasums.digest_of(filename)?,
        })
    };
    let mut offers: Vec<OfferedPackage> = package.shasums.filenames().filter_map(offer).collect();
    sort::sort_by(&mut offers, |a, b| a.platform.cmp(&b.platform));
    offers.truncate(limits::PLATFORMS);
    offers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::shasums::Shasums;
    use crate::upstream::origin::Fetch;

    fn package(shasums: &str) -> OriginPackage {
        OriginPackage {
            platform: "linux_amd64".parse().unwrap(),
            filename: "terraform-provider-widget_1.0.0_linux_amd64.zip".to_owned(),
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

    fn offered_by(shasums: &str) -> Vec<String> {
        let address = "registry.example.com/acme/widget".parse().unwrap();
        let version = "1.0.0".parse().unwrap();
        let release = package(shasums).offered(address, version, UnixTime(0));
        let offered = release.offered.iter();
        offered.map(|offer| offer.platform.to_string()).collect()
    }

    #[test]
    fn only_signed_packages_of_this_version_are_offered() {
        let digest = "0".repeat(64);
        let lines: String = [
            "terraform-provider-widget_1.0.0_linux_arm64.zip",
            "terraform-provider-widget_1.0.0_darwin_arm64.zip",
            "terraform-provider-widget_1.0.0_manifest.json",
            "terraform-provider-widget_1.0.0_Linux_amd64.zip",
            "terraform-provider-widget_1.0.0_linux.zip",
            "terraform-provider-widget_1.0.1_linux_amd64.zip",
            "terraform-provider-gadget_1.0.0_linux_amd64.zip",
        ]
        .iter()
        .map(|name| format!("{digest}  {name}\n"))
        .collect();
        assert_eq!(offered_by(&lines), ["darwin_arm64", "linux_arm64"]);
    }

    #[test]
    fn the_number_of_offered_platforms_is_limited() {
        let line = |number: usize| {
            let digest = "0".repeat(64);
            format!("{digest}  terraform-provider-widget_1.0.0_linux_a{number}.zip\n")
        };
        let lines: String = (0..=limits::PLATFORMS).map(line).collect();
        assert_eq!(offered_by(&lines).len(), limits::PLATFORMS);
    }
}
