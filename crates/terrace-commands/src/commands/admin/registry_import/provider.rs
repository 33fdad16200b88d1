//! One version of a provider: requested, checked as clients check it, downloaded, and published.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use terrace_core::api::admin::{PackageBody, ProviderBody};
use terrace_core::model::address::{MirroredAddress, ProviderAddress};
use terrace_core::model::package::{Package, manifest_filename};
use terrace_core::model::platform::Platform;
use terrace_core::model::protocol_version::ProtocolVersion;
use terrace_core::model::shasums::Shasums;
use terrace_core::model::version::Version;
use terrace_core::publish::ProviderPublication;
use terrace_core::storage::release::{OfferedPackage, SigningKeyDocument};
use terrace_core::upstream::origin::{
    OriginPackage, OriginVersion, OriginVersions, Service, SignedDocuments,
};

use super::{Import, Origin, Tried};
use crate::archive::Archive;
use crate::commands::circuit_breaker::TryError;
use crate::commands::report::Done;
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::parallel;
use crate::registry::publish::{Kind, PublishRequest};
use crate::upstream::{PARALLEL_REQUESTS, failure};

/// The platforms that are tried if the origin lists none. SHA256SUMS names the others.
const COMMON_PLATFORMS: [&str; 5] = [
    "linux_amd64",
    "darwin_arm64",
    "windows_amd64",
    "darwin_amd64",
    "linux_arm64",
];

/// The packages of a version.
struct Packages {
    packages: Vec<OriginPackage>,
    /// The text and its signature, which all of them share.
    shasums: Shasums,
    signed: SignedDocuments,
}

impl Origin<'_> {
    /// Returns the versions of a provider, in ascending order.
    pub(super) fn provider_versions(
        &self,
        address: &ProviderAddress,
        output: &Output,
    ) -> Result<Vec<OriginVersion>, Failure> {
        let (service, url) = (self.provider_service()?, &self.url);
        let fetch = OriginVersions::ask(service, &self.mirrored(address));
        let fetched = self.upstream.fetch(&fetch, &self.hostname)?;
        let list = OriginVersions::read(&fetch, &fetched).map_err(|error| failure(url, &error))?;
        for skipped in &list.skipped {
            output.warning(&format!("{address}: skipped: {skipped}"));
        }
        Ok(list.versions)
    }

    fn provider_service(&self) -> Result<&Service, Failure> {
        let missing = || Failure::refused(format!("{} has no registry of providers", self.url));
        self.providers.as_ref().ok_or_else(missing)
    }

    fn mirrored(&self, address: &ProviderAddress) -> MirroredAddress {
        MirroredAddress {
            hostname: self.hostname.clone(),
            provider: address.clone(),
        }
    }

    /// Requests the packages of these platforms; `None` if the origin has none for a platform.
    fn packages(
        &self,
        (address, version): (&ProviderAddress, &Version),
        platforms: &[Platform],
    ) -> Result<Vec<(Platform, Option<OriginPackage>)>, Failure> {
        let service = self.provider_service()?;
        let address = self.mirrored(address);
        let asked = self
            .upstream
            .packages(service, (&address, version), platforms)?;
        let asked = platforms.iter().zip(asked).map(|(platform, asked)| {
            let package = match asked {
                Ok(package) => Some(package),
                Err(error) if error.is_no_package() => None,
                Err(error) => return Err(failure(platform, &error)),
            };
            Ok((platform.clone(), package))
        });
        asked.collect()
    }
}

impl Import<'_> {
    /// Imports one version of a provider.
    pub(super) fn provider(&mut self, address: &ProviderAddress, found: &OriginVersion) -> Tried {
        let version = &found.version;
        let packages = self.packages(address, found)?;
        if self.is_published((address, version), &packages)? {
            let details = json!({ "kind": Kind::Provider.as_str(), "uploaded": [] });
            return Ok(Done::plain("unchanged", details));
        }
        self.add_key(address, &packages.signed.key)?;
        let of = self.origin.mirrored(address);
        let download =
            |package: &OriginPackage| self.origin.upstream.download_package(&of, package);
        let downloaded = parallel::map(&packages.packages, PARALLEL_REQUESTS, download);
        let downloaded: Vec<(PackageBody, Archive)> =
            downloaded.into_iter().collect::<Result<_, Failure>>()?;
        let (bodies, archives) = downloaded.into_iter().unzip();
        let body = self.describe((address, found), &packages, bodies);
        ProviderPublication::parse(address.clone(), version.clone(), &body)
            .map_err(Failure::Refused)?;
        self.publish(&PublishRequest {
            kind: Kind::Provider,
            address: address.to_string(),
            version: version.to_string(),
            body: json!(body),
            archives,
        })
    }

    /// Requests the packages of all platforms that the origin or SHA256SUMS lists.
    fn packages(
        &self,
        address: &ProviderAddress,
        found: &OriginVersion,
    ) -> Result<Packages, Failure> {
        let version = &found.version;
        let mut platforms = found.platforms.clone();
        platforms.retain(|platform| match platform.known() {
            Ok(()) => true,
            Err(error) => {
                let warning = format!("{address} {version}: left out: {error}");
                self.output.warning(&warning);
                false
            }
        });
        if platforms.is_empty() {
            let common = COMMON_PLATFORMS.iter();
            platforms.extend(common.filter_map(|text| text.parse().ok()));
        }
        let count = plural(platforms.len(), "platform");
        self.output
            .progress(&format!("checking {address} {version} for {count}"));
        let mut asked = self.origin.packages((address, version), &platforms)?;
        let first = asked.iter().find_map(|(_, package)| package.as_ref());
        let Some(first) = first else {
            let url = &self.origin.url;
            let message = format!("{url} serves no package of this version");
            return Err(Failure::refused(message));
        };
        let shasums = first.shasums.clone();
        let signed = first.signed.clone();
        let signed = signed.ok_or_else(|| Failure::refused("the version is not signed"))?;
        let usual: Vec<OfferedPackage> = first.usual_offers(address, version).collect();
        let rest = usual.iter().map(|offer| offer.platform.clone());
        let rest: Vec<Platform> = rest.filter(|it| !platforms.contains(it)).collect();
        asked.extend(self.origin.packages((address, version), &rest)?);
        let mut reasons = Vec::new();
        let mut packages = Vec::new();
        for (platform, package) in asked {
            let listed = usual.iter().find(|offer| offer.platform == platform);
            match (package, listed) {
                (Some(package), _) if package.shasums != shasums => reasons.push(format!(
                    "{platform} has another SHA256SUMS file than other platforms, and a version is published with one. \
                     Mirror the provider instead, with `terrace mirror add`"
                )),
                (Some(package), _) => packages.push(package),
                (None, Some(OfferedPackage { filename, .. })) => reasons.push(format!(
                    "SHA256SUMS lists {filename}, but {} does not serve it: a version is published with all of its \
                     zips. Publish it from its files, with `terrace publish provider`",
                    self.origin.url
                )),
                (None, None) if found.platforms.contains(&platform) => self.output.warning(&format!(
                    "{address} {version}: the origin lists {platform}, but has no package for it"
                )),
                (None, None) => {}
            }
        }
        if !reasons.is_empty() {
            return Err(Failure::Refused(reasons));
        }
        Ok(Packages {
            packages,
            shasums,
            signed,
        })
    }

    /// Returns whether the registry has these packages already, by its own report.
    fn is_published(
        &self,
        of: (&ProviderAddress, &Version),
        packages: &Packages,
    ) -> Result<bool, TryError> {
        let package = Package::Provider(of.0.clone());
        let known = self.client.known_version(&package, of.1);
        let Some(details) = known.map_err(TryError::Registry)? else {
            return Ok(false);
        };
        let is_stored = |package: &OriginPackage| {
            let stored = details.platforms.iter();
            let mut of_platform = stored
                .filter(|it| it.os == package.platform.os() && it.arch == package.platform.arch());
            of_platform.any(|it| it.sha256 == package.sha256)
        };
        Ok(details.platforms.len() == packages.packages.len()
            && packages.packages.iter().all(is_stored))
    }

    /// Allows the key of a version to sign for its namespace, unless it may already.
    fn add_key(
        &mut self,
        address: &ProviderAddress,
        key: &SigningKeyDocument,
    ) -> Result<(), TryError> {
        let namespace = &address.namespace;
        if !self.keys.contains_key(namespace) {
            let keys = self.client.keys(namespace).map_err(TryError::Registry)?;
            let fingerprints = keys.keys.into_iter().map(|key| key.fingerprint);
            self.keys.insert(namespace.clone(), fingerprints.collect());
        }
        let known = self.keys.entry(namespace.clone()).or_default();
        if known.contains(&key.fingerprint) {
            return Ok(());
        }
        self.client
            .add_keys(namespace, &key.ascii_armor)
            .map_err(TryError::Registry)?;
        known.insert(key.fingerprint.clone());
        self.output.progress(&format!(
            "{} may sign the providers of {namespace} from now on: {} names it as the key of {address}",
            key.fingerprint, self.origin.url
        ));
        Ok(())
    }

    /// Describes the version. Its protocols are those that the origin states; its signed text stays as it is.
    fn describe(
        &self,
        (address, found): (&ProviderAddress, &OriginVersion),
        packages: &Packages,
        bodies: Vec<PackageBody>,
    ) -> ProviderBody {
        let version = &found.version;
        let named = packages.packages.iter().map(|package| &package.protocols);
        let named = named.chain([&found.protocols]).find(|it| !it.is_empty());
        let assumed = vec![ProtocolVersion::DEFAULT];
        let protocols = named.unwrap_or_else(|| {
            self.output.warning(&format!(
                "{address} {version}: the origin states no plugin protocols, so 5.0 is assumed"
            ));
            &assumed
        });
        let manifest = manifest_filename(address, version);
        ProviderBody {
            protocols: protocols.iter().map(ToString::to_string).collect(),
            shasums: packages.shasums.as_str().to_owned(),
            signature: STANDARD.encode(&packages.signed.signature),
            packages: bodies,
            source: None,
            commit: None,
            manifest_missing: packages.shasums.digest_of(&manifest).is_some(),
        }
    }
}
