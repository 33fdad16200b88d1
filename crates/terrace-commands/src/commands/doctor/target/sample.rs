//! The packages that the checks try: those on the command line, or the first that the registry lists.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use terrace_core::api::details::{ListedPackage, NamespacePage, PackagePage};
use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::name::Namespace;
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::{
    Fetch, Fetched, ORIGIN_PACKAGE_BYTES, ORIGIN_VERSIONS_BYTES, OriginPackage, OriginVersions,
    PackageInquiry,
};

use super::{Target, absolute, no_service};
use crate::commands::doctor::finding::{Finding, Judged};
use crate::http::ProbeError;
use crate::upstream::module_list::module_versions;
use crate::upstream::module_location::{ArchiveLocation, LOCATION_HEADER, ModuleLocation};

/// The namespaces that are searched for a package.
const SEARCHED_NAMESPACES: usize = 10;

/// What is found if the list of an existing package is empty: clients take it for one that does not exist.
const NO_VERSION: &str = "the list of versions is empty";

/// The platform that is tried if the version has it, or lists none.
const USUAL_PLATFORM: &str = "linux_amd64";

/// A provider with its versions.
#[derive(Debug)]
pub(in crate::commands::doctor) struct ProviderSample {
    pub(in crate::commands::doctor) address: ProviderAddress,
    pub(in crate::commands::doctor) versions: OriginVersions,
    newest: Version,
}

/// A package of a provider's newest version.
#[derive(Debug)]
pub(in crate::commands::doctor) struct PackageSample {
    pub(in crate::commands::doctor) package: OriginPackage,
    /// The absolute URL of the zip, which is a secret.
    pub(in crate::commands::doctor) zip: String,
}

/// A module with its newest version.
#[derive(Debug)]
pub(in crate::commands::doctor) struct ModuleSample {
    pub(in crate::commands::doctor) address: ModuleAddress,
    newest: Version,
    /// The number of versions.
    pub(in crate::commands::doctor) count: usize,
}

impl ProviderSample {
    pub(in crate::commands::doctor) fn find(target: &Target) -> Judged<Self> {
        target.check_token()?;
        let service = target.discovery()?.providers.as_ref();
        let service = service.ok_or_else(|| no_service("provider"))?;
        let address = target.sample("provider", &target.named_provider)?;
        let hostname = target.any_hostname()?;
        let provider = address.clone();
        let fetch = OriginVersions::ask(service, &MirroredAddress { hostname, provider });
        let (fetched, _) = target.ask(&fetch)?;
        let versions = OriginVersions::read(&fetch, &fetched).map_err(Finding::fail)?;
        let newest = newest(versions.versions.iter().map(|it| &it.version));
        let newest = newest.ok_or_else(|| Finding::fail(NO_VERSION))?;
        Ok(Self {
            address,
            versions,
            newest,
        })
    }
}

/// Returns the newest version, which is a prerelease only if all are.
fn newest<'v>(versions: impl Iterator<Item = &'v Version> + Clone) -> Option<Version> {
    let stable = versions.clone().filter(|version| !version.is_prerelease());
    stable.max().or_else(|| versions.max()).cloned()
}

impl PackageSample {
    pub(in crate::commands::doctor) fn find(target: &Target) -> Judged<Self> {
        let sample = target.provider()?;
        let service = target.discovery()?.providers.as_ref();
        let service = service.ok_or_else(|| no_service("provider"))?;
        let mut versions = sample.versions.versions.iter();
        let newest = versions.find(|it| it.version == sample.newest);
        let platforms = newest.map(|it| it.platforms.clone()).unwrap_or_default();
        let usual: Option<Platform> = USUAL_PLATFORM.parse().ok();
        let usual = usual.filter(|it| platforms.is_empty() || platforms.contains(it));
        let platform = usual.or_else(|| platforms.first().cloned());
        let platform = platform.ok_or_else(|| Finding::skip("the version has no platform"))?;
        let address = MirroredAddress {
            hostname: target.any_hostname()?,
            provider: sample.address.clone(),
        };
        let mut inquiry =
            PackageInquiry::new(service, address, &sample.newest, platform, target.now);
        let package = loop {
            let fetch = inquiry.next();
            let (fetched, seen) = target.fetch(&fetch).map_err(|error| match error {
                ProbeError::Guarded(_) => Finding::warn(error),
                error => Finding::unanswered(error),
            })?;
            if fetch.what == PackageInquiry::DESCRIPTION {
                target.check_outage(&seen)?;
            }
            if let Some(package) = inquiry.feed(&fetched).map_err(Finding::fail)? {
                break package;
            }
        };
        let zip = absolute(&package.download);
        Ok(Self { package, zip })
    }
}

impl ModuleSample {
    pub(in crate::commands::doctor) fn find(target: &Target) -> Judged<Self> {
        target.check_token()?;
        let service = target.discovery()?.modules.as_ref();
        let service = service.ok_or_else(|| no_service("module"))?;
        let address = target.sample("module", &target.named_module)?;
        let path = format!("{address}/versions");
        let fetch = service.fetch(&path, ORIGIN_VERSIONS_BYTES, "version list");
        let (fetched, _) = target.ask(&fetch)?;
        if fetched.status != 200 {
            return Err(Finding::fail(format!("status {}", fetched.status)));
        }
        let listed = module_versions(&fetched.body).map_err(Finding::fail)?;
        let versions = listed.iter().map(|it| Version::parse_request(it));
        let versions: Result<Vec<Version>, _> = versions.collect();
        let versions = versions.map_err(Finding::fail)?;
        let newest = newest(versions.iter()).ok_or_else(|| Finding::fail(NO_VERSION))?;
        Ok(Self {
            address,
            newest,
            count: versions.len(),
        })
    }
}

impl Target {
    /// Returns the named package, or the first one of its kind that the catalogue lists, which other registries do not have.
    fn sample<A: FromStr + Clone>(&self, kind: &str, named: &Option<A>) -> Judged<A> {
        if let Some(named) = named {
            return Ok(named.clone());
        }
        if !self.is_terrace() {
            let reason = format!("no {kind} is known: name one with --{kind}");
            return Err(Finding::skip(reason));
        }
        let page: NamespacePage = self.page("/api/v1/namespaces")?;
        let namespaces = page.namespaces.iter().filter(|line| match kind {
            "module" => line.modules > 0,
            _ => line.providers > 0,
        });
        for line in namespaces.take(SEARCHED_NAMESPACES) {
            // An own package has a short address, and a mirrored one begins with a hostname.
            let Ok(namespace) = line.namespace.parse::<Namespace>() else {
                continue;
            };
            let path = format!("/api/v1/namespaces/{namespace}?kind={kind}");
            let page: PackagePage = self.page(&path)?;
            let is_of_kind = |it: &&ListedPackage| it.package.kind.to_string() == kind;
            let found = page.packages.iter().find(is_of_kind);
            if let Some(address) = found.and_then(|it| it.package.address.parse().ok()) {
                return Ok(address);
            }
        }
        Err(Finding::skip(format!(
            "the registry shows this caller no {kind}"
        )))
    }

    /// Returns a page of the catalogue.
    fn page<T: DeserializeOwned>(&self, path: &str) -> Judged<T> {
        let seen = self.probe.send(&self.get_as_caller(path))?;
        self.check_outage(&seen)?;
        let status = seen.status;
        let skipped = |_| Finding::skip(format!("status {status} of {path}"));
        serde_json::from_slice(&seen.body).map_err(skipped)
    }

    /// Requests the location of the module's newest version. The locations differ from request to request.
    pub(in crate::commands::doctor) fn module_location(
        &self,
    ) -> Judged<(ArchiveLocation, Fetched, Option<String>)> {
        let module = self.module()?;
        let service = self.discovery()?.modules.as_ref();
        let service = service.ok_or_else(|| no_service("module"))?;
        let path = format!("{}/{}/download", module.address, module.newest);
        self.locate(&service.fetch(&path, ORIGIN_PACKAGE_BYTES, "module location"))
            .map_err(|finding| finding.reported_by("M2"))
    }

    fn locate(&self, fetch: &Fetch) -> Judged<(ArchiveLocation, Fetched, Option<String>)> {
        let (fetched, seen) = self.ask(fetch)?;
        if !matches!(fetched.status, 200 | 204) {
            return Err(Finding::fail(format!("status {}", fetched.status)));
        }
        let header = seen.header(LOCATION_HEADER).map(str::to_owned);
        let location = ModuleLocation::read(&fetched, header.as_deref());
        let location = location.and_then(ModuleLocation::into_archive);
        Ok((location.map_err(Finding::fail)?, fetched, header))
    }
}
