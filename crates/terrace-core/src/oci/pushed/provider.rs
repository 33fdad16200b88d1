//! Providers that are pushed as OpenTofu's documentation describes (clients.md 6.6): their contents and their
//! owners.

use crate::auth::access::Owner;
use crate::http::oci_error::OciError;
use crate::limits;
use crate::model::address::MirroredAddress;
use crate::model::name::Hostname;
use crate::model::oci::{Digest, RepositoryName, Tag, is_name};
use crate::model::package::{Package, package_filename};
use crate::model::platform::Platform;
use crate::model::version::Version;
use crate::oci::artifact::{PROVIDER, PROVIDER_TARGET, ZIP};
use crate::storage::release::PackageDocument;
use terrace_base::digest::Sha256;

use super::manifest::{Descriptor, ManifestType, PushedManifest, invalid};

/// The repositories that hold providers, with their registries: those below `prefix`, as
/// `{prefix}/{namespace}/{type}`, hold providers of `hostname`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRepositories(Vec<(String, Hostname)>);

impl Default for ProviderRepositories {
    /// `opentofu-providers/{namespace}/{type}` holds providers of OpenTofu's registry.
    fn default() -> Self {
        let hostname = "registry.opentofu.org".parse().ok();
        let all = hostname.map(|hostname| ("opentofu-providers".to_owned(), hostname));
        Self(all.into_iter().collect())
    }
}

impl ProviderRepositories {
    /// The configuration value for no such repositories.
    pub const NONE: &str = "none";

    /// Creates the list from pairs of prefix and hostname.
    pub fn new(all: Vec<(String, Hostname)>) -> Self {
        Self(all)
    }

    /// Parses `{prefix}={hostname}`.
    ///
    /// # Errors
    /// The expected form.
    pub fn parse_one(text: &str) -> Result<(String, Hostname), String> {
        let shape = || format!("{text:?} is not of the form repository/prefix=hostname");
        let (prefix, hostname) = text.split_once('=').ok_or_else(shape)?;
        if !is_name(prefix) || RepositoryName::parse(prefix).is_err() {
            return Err(shape());
        }
        Ok((prefix.to_owned(), hostname.parse().map_err(|_| shape())?))
    }

    /// Returns the repositories that would hold this provider.
    pub fn repositories(&self, address: &MirroredAddress) -> Vec<RepositoryName> {
        let of_host = self
            .0
            .iter()
            .filter(|(_, hostname)| *hostname == address.hostname);
        let names = of_host.map(|(prefix, _)| format!("{prefix}/{}", address.provider));
        names
            .filter_map(|name| RepositoryName::parse(&name).ok())
            .collect()
    }

    /// Returns the address of the provider that a repository holds, if it holds one.
    pub fn address(&self, repository: &RepositoryName) -> Option<MirroredAddress> {
        self.0.iter().find_map(|(prefix, hostname)| {
            let rest = repository.as_str().strip_prefix(prefix.as_str())?;
            let provider = rest.strip_prefix('/')?;
            format!("{hostname}/{provider}").parse().ok()
        })
    }

    /// Returns the owner of a pushed repository: the owner of the provider that it holds, or else the one
    /// that its name begins with.
    pub fn owner(&self, repository: &RepositoryName) -> Owner {
        match self.address(repository) {
            Some(address) => Owner::of(&Package::Mirrored(address)),
            None => Owner::of_repository(repository.as_str()),
        }
    }
}

/// Returns whether OpenTofu can install the tagged manifest. Any other manifest with a tag that looks like a version
/// breaks every install that looks for a version (clients.md 14.1 on 6.3).
pub(super) fn is_provider(media_type: &str, artifact_type: Option<&str>) -> bool {
    media_type == ManifestType::Index.as_str() && artifact_type == Some(PROVIDER)
}

impl PushedManifest {
    /// Returns the version that this manifest becomes of a provider, if it is one and its tag is a whole
    /// version.
    pub fn provider_version(&self, tag: &Tag) -> Option<Version> {
        is_provider(self.kind().as_str(), self.artifact_type())
            .then(|| tag.version())
            .flatten()
    }

    /// Returns the manifests of an index that OpenTofu would choose from, with their platforms.
    ///
    /// # Errors
    /// If there are none or too many, or one of them has no platform, or the same one as another.
    pub fn provider_targets(&self) -> Result<Vec<(Digest, Platform)>, OciError> {
        let is_target = |descriptor: &&Descriptor| {
            descriptor.artifact_type.as_deref() == Some(PROVIDER_TARGET)
                && descriptor.media_type == ManifestType::Manifest.as_str()
        };
        let found = self.manifests().iter().filter(is_target);
        let mut targets: Vec<(Digest, Platform)> = Vec::new();
        for target in found.map(Descriptor::target) {
            let (digest, platform) = target?;
            if targets.iter().any(|(_, known)| *known == platform) {
                return Err(invalid(format!("{platform} is listed twice")));
            }
            targets.push((digest, platform));
            if targets.len() > limits::PLATFORMS {
                return Err(number_of_targets());
            }
        }
        if targets.is_empty() {
            return Err(number_of_targets());
        }
        Ok(targets)
    }

    /// Returns the package of one platform, from its manifest.
    ///
    /// # Errors
    /// The reason why OpenTofu would reject it.
    pub fn package(
        &self,
        address: &MirroredAddress,
        version: &Version,
        platform: &Platform,
    ) -> Result<PackageDocument, OciError> {
        let zip = self.zip();
        let (sha256, size) =
            zip.map_err(|reason| invalid(format!("the manifest for {platform}: {reason}")))?;
        Ok(PackageDocument {
            platform: platform.clone(),
            filename: package_filename(&address.provider, version, platform),
            sha256,
            size,
            h1: None,
            shasums: None,
        })
    }

    fn zip(&self) -> Result<(Sha256, u64), String> {
        if self.artifact_type() != Some(PROVIDER_TARGET) {
            return Err(format!("its artifactType must be {PROVIDER_TARGET}"));
        }
        let is_zip = |layer: &&Descriptor| layer.media_type == ZIP;
        let mut zips = self.layers().iter().filter(is_zip);
        let (Some(zip), None) = (zips.next(), zips.next()) else {
            return Err(format!("it must have exactly one layer of the type {ZIP}"));
        };
        match zip.digest() {
            Ok(Digest::Sha256(digest)) => Ok((digest, zip.size)),
            _ => Err("the digest of its zip must be a sha256 digest".to_owned()),
        }
    }
}

impl Descriptor {
    fn target(&self) -> Result<(Digest, Platform), OciError> {
        let digest = self.digest()?;
        let message = || {
            invalid(format!(
                "{digest} needs a platform with an os and an architecture"
            ))
        };
        let platform = self.platform.as_ref().ok_or_else(message)?;
        if platform.os_version.is_some() {
            return Err(invalid(format!(
                "the platform of {digest} has os.version: OpenTofu never selects such a manifest"
            )));
        }
        let platform = Platform::new(&platform.os, &platform.architecture);
        let platform = platform.map_err(|error| invalid(error.to_string()))?;
        Ok((digest, platform))
    }
}

fn number_of_targets() -> OciError {
    let limit = limits::PLATFORMS;
    invalid(format!(
        "a provider must have 1 to {limit} manifests of the artifactType {PROVIDER_TARGET}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(name: &str) -> RepositoryName {
        RepositoryName::parse(name).unwrap()
    }

    fn owner(name: &str) -> String {
        let repositories = ProviderRepositories::default();
        repositories.owner(&repository(name)).to_string()
    }

    #[test]
    fn the_owner_of_a_repository_follows_from_its_provider_or_its_name() {
        assert_eq!(owner("acme/tools/lint"), "acme");
        assert_eq!(owner("acme"), "acme");
        assert_eq!(owner("ghcr.io/acme/lint"), "ghcr.io/acme");
        assert_eq!(
            owner("opentofu-providers/acme/widget"),
            "registry.opentofu.org/acme"
        );
        assert_eq!(owner("opentofu-providers/acme"), "opentofu-providers");
    }

    #[test]
    fn a_repository_below_a_prefix_holds_a_provider() {
        let all = ProviderRepositories::default();
        let address = |name| all.address(&repository(name)).map(|it| it.to_string());
        assert_eq!(
            address("opentofu-providers/acme/widget").as_deref(),
            Some("registry.opentofu.org/acme/widget")
        );
        for name in [
            "opentofu-providers",
            "opentofu-providers/acme",
            "opentofu-providers/acme/widget/more",
            "opentofu-providers/acme/wid_get",
            "opentofu-providersx/acme/widget",
            "acme/widget",
        ] {
            assert_eq!(address(name), None, "{name}");
        }
        let deep = ProviderRepositories::parse_one("a/b=registry.example.com").unwrap();
        let all = ProviderRepositories::new(vec![deep]);
        let found = all.address(&repository("a/b/acme/widget")).unwrap();
        assert_eq!(found.to_string(), "registry.example.com/acme/widget");
        for wrong in ["", "a", "=a.b", "a=", "A=a.b", "providers=a.b", "a=b"] {
            assert!(ProviderRepositories::parse_one(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_an_index_tagged_with_a_whole_version_is_a_version_14_1() {
        let index = br#"{"schemaVersion":2,"artifactType":"application/vnd.opentofu.provider","manifests":[]}"#;
        let index = PushedManifest::parse(index).unwrap();
        let version = |tag| index.provider_version(&Tag::parse(tag).unwrap());
        assert!(version("1.2.3").is_some() && version("1.2.3-rc.1_b.2").is_some());
        for tag in ["latest", "1", "1.0", "v1.0.0", "20240101", "01.2.3"] {
            assert_eq!(version(tag), None, "{tag}");
        }
        let plain = PushedManifest::parse(br#"{"schemaVersion":2,"manifests":[]}"#).unwrap();
        assert_eq!(plain.provider_version(&Tag::parse("1.2.3").unwrap()), None);
    }
}
