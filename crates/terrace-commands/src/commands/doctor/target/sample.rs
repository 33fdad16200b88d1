//! The packages that the checks try: those on the command line, or the first that the registry lists.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use terrace_core::api::details::{NamespacePage, PackagePage};
use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::name::Namespace;
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::{
    Fetch, Fetched, InquiryStep, ORIGIN_PACKAGE_BYTES, ORIGIN_VERSIONS_BYTES, OriginPackage,
    OriginVersions, PackageInquiry,
};
use url::Url;

use super::{Target, absolute, no_service};
use crate::commands::doctor::finding::{Finding, Judged};
use crate::http::{ProbeError, Seen};
use crate::upstream::module_list::module_versions;
use crate::upstream::module_location::{ArchiveLocation, LOCATION_HEADER, ModuleLocation};

/// The namespaces that are searched for a package.
const SEARCHED_NAMESPACES: usize = 10;

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
        let (fetched, seen) = target.fetch(&fetch).map_err(|error| unanswered(&error))?;
        target.check_outage(&seen)?;
        let versions = OriginVersions::read(&fetch, &fetched);
        let versions = versions.map_err(|error| unreadable(&seen, &error))?;
        let newest = newest(versions.versions.iter().map(|it| &it.version));
        let newest = newest.ok_or_else(|| {
            let cause = "clients take an empty list for a provider that does not exist";
            empty(cause, "provider")
        })?;
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
        while let InquiryStep::Fetch(fetch) = inquiry.next() {
            let (fetched, seen) = target.fetch(&fetch).map_err(|error| match error {
                ProbeError::Guarded(_) => unguarded(&error, &fetch),
                ProbeError::Limited(_) => error.into(),
                error => undelivered(fetch.what, &error.to_string()),
            })?;
            if fetch.what == PackageInquiry::DESCRIPTION {
                target.check_outage(&seen)?;
            }
            let fed = inquiry.feed(&fetched);
            fed.map_err(|error| undelivered(fetch.what, &error.to_string()))?;
        }
        let package = inquiry.finish();
        let package = package.map_err(|error| undelivered("package", &error.to_string()))?;
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
        let (fetched, seen) = target.fetch(&fetch).map_err(|error| unanswered(&error))?;
        target.check_outage(&seen)?;
        if fetched.status != 200 {
            let status = format!("status {}", fetched.status);
            return Err(unreadable(&seen, &status));
        }
        let listed = module_versions(&fetched.body);
        let listed = listed.map_err(|error| unreadable(&seen, &error))?;
        let versions = listed.iter().map(|it| Version::parse_request(it));
        let versions: Result<Vec<Version>, _> = versions.collect();
        let versions = versions.map_err(|error| unreadable(&seen, &error))?;
        let newest = newest(versions.iter()).ok_or_else(|| {
            let cause = "clients report an invalid response, or that the module has no versions";
            empty(cause, "module")
        })?;
        Ok(Self {
            address,
            newest,
            count: versions.len(),
        })
    }
}

impl Target {
    /// Returns the named package, or the first one of its kind that the registry lists.
    fn sample<A: FromStr + Clone>(&self, kind: &str, named: &Option<A>) -> Judged<A> {
        if let Some(named) = named {
            return Ok(named.clone());
        }
        let listed = self.listed(kind)?;
        listed.ok_or_else(|| {
            Finding::skip(match (self.is_terrace(), self.has_token()) {
                (true, true) => format!("the registry has no {kind}"),
                (true, false) => format!(
                    "the registry shows no {kind} without a token ({})",
                    self.tokenless
                ),
                (false, _) => format!("no {kind} is known: name one with --{kind}"),
            })
        })
    }

    fn listed<A: FromStr>(&self, kind: &str) -> Judged<Option<A>> {
        let page: Option<NamespacePage> = self.page("/api/v1/namespaces")?;
        let namespaces = page.map(|page| page.namespaces).unwrap_or_default();
        let namespaces = namespaces.into_iter().filter(|line| match kind {
            "module" => line.modules > 0,
            _ => line.providers > 0,
        });
        for line in namespaces.take(SEARCHED_NAMESPACES) {
            // An own provider has a short address, and a mirrored one begins with a hostname.
            let Ok(namespace) = line.namespace.parse::<Namespace>() else {
                continue;
            };
            let path = format!("/api/v1/namespaces/{namespace}?kind={kind}");
            let page: Option<PackagePage> = self.page(&path)?;
            let packages = page.map(|page| page.packages).unwrap_or_default();
            if let Some(found) = packages
                .into_iter()
                .find(|it| it.package.kind.to_string() == kind)
            {
                return Ok(found.package.address.parse().ok());
            }
        }
        Ok(None)
    }

    /// Returns a page of the catalogue, which other registries do not have; `None` for every other response.
    fn page<T: DeserializeOwned>(&self, path: &str) -> Judged<Option<T>> {
        let seen = match self.probe.send(&self.get_as_caller(path)) {
            Ok(seen) => seen,
            Err(error @ ProbeError::Limited(_)) => return Err(error.into()),
            Err(_) => return Ok(None),
        };
        if self.is_terrace() {
            self.check_outage(&seen)?;
        }
        let is_page = seen.status == 200;
        Ok(serde_json::from_slice(&seen.body).ok().filter(|_| is_page))
    }

    /// Requests the location of the module's newest version. The locations differ from request to request.
    pub(in crate::commands::doctor) fn module_location(
        &self,
    ) -> Judged<(ArchiveLocation, Fetched, Option<String>)> {
        let module = self.module()?;
        let service = self.discovery()?.modules.as_ref();
        let service = service.ok_or_else(|| no_service("module"))?;
        self.locate(&service.fetch(
            &format!("{}/{}/download", module.address, module.newest),
            ORIGIN_PACKAGE_BYTES,
            "module location",
        ))
        .map_err(|finding| finding.reported_by("M2"))
    }

    fn locate(&self, fetch: &Fetch) -> Judged<(ArchiveLocation, Fetched, Option<String>)> {
        let (fetched, seen) = self.fetch(fetch).map_err(|error| unanswered(&error))?;
        let header = seen.header(LOCATION_HEADER).map(str::to_owned);
        self.check_outage(&seen)?;
        if !matches!(fetched.status, 200 | 204) {
            return Err(Finding::fail(
                format!("status {}", fetched.status),
                "clients accept 200 and 204 only, and show the body of any other response",
                "look at the registry's log for this request",
            ));
        }
        let location = ModuleLocation::read(&fetched, header.as_deref())
            .and_then(ModuleLocation::into_archive);
        let location = location.map_err(|error| {
            Finding::fail(
                error,
                "clients find no archive to download",
                "answer with X-Terraform-Get and with \"location\" in the body",
            )
        })?;
        Ok((location, fetched, header))
    }
}

fn unanswered(error: &ProbeError) -> Finding {
    let cause = "the registry answers discovery, and not this request";
    Finding::unanswered(error, cause, "look at the registry's log for this request")
}

fn unreadable(seen: &Seen, error: &dyn Display) -> Finding {
    let cause = match seen.status {
        401 | 403 => "the package is private, and no token that may read it was sent",
        404 => "the package does not exist, or the caller may not see it",
        _ if seen.media_type().contains("html") => "a web page answers in place of the registry",
        _ => "the response is not the document that clients parse",
    };
    let fix = "compare with docs/clients.md, 2.1 and 3.1; for a private package, set TERRACE_TOKEN";
    Finding::fail(error, cause, fix)
}

/// Judges a list without a version of a package that exists.
fn empty(cause: &str, kind: &str) -> Finding {
    let fix = format!("list its versions, or answer 404 for a {kind} without versions");
    Finding::fail("the list of versions is empty", cause, fix)
}

fn undelivered(what: &str, error: &str) -> Finding {
    let cause = match what {
        PackageInquiry::DESCRIPTION => "clients cannot use the description of the package",
        _ if error.contains("status") => {
            "the file cannot be downloaded as clients do it, without a token"
        }
        _ => "clients verify this file before they install anything, and would refuse it",
    };
    let fix = "restore the stored file, or publish the version again; for a status, look at D1 and the S3 settings";
    Finding::fail(error, cause, fix)
}

fn unguarded(error: &ProbeError, fetch: &Fetch) -> Finding {
    let host = Url::parse(&absolute(fetch)).ok().and_then(|it| {
        let port = it.port().map(|port| format!(":{port}"));
        Some(format!("{}{}", it.host_str()?, port.unwrap_or_default()))
    });
    Finding::warn(
        error,
        "the registry refers to an address that other machines cannot reach, or that is not encrypted",
        format!(
            "if it is meant to be private, add --archive-host {}",
            host.unwrap_or_default()
        ),
    )
}
