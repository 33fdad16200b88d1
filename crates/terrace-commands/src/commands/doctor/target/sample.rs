//! The packages that the checks try: those on the command line, or the first that the registry lists.

use std::str::FromStr;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::name::Namespace;
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::ORIGIN_PACKAGE_BYTES;
use terrace_core::upstream::origin::ORIGIN_VERSIONS_BYTES;
use terrace_core::upstream::origin::{
    Fetch, Fetched, InquiryStep, OriginPackage, OriginVersions, PackageInquiry,
};
use url::Url;

use super::{Gap, Known, Target};
use crate::commands::doctor::outcome::Outcome;
use crate::http::{ProbeError, Seen};
use crate::registry::catalog::{NamespacesPage, PackagesPage};
use crate::upstream::module_location::{LOCATION_HEADER, ModuleLocation};

/// The namespaces that are searched for a package.
const SEARCHED_NAMESPACES: usize = 10;

/// The platform that is tried if the version has it, or lists none.
const USUAL_PLATFORM: &str = "linux_amd64";

/// A provider with its versions.
#[derive(Debug)]
pub(in crate::commands::doctor) struct ProviderSample {
    pub(in crate::commands::doctor) address: ProviderAddress,
    pub(in crate::commands::doctor) versions: OriginVersions,
    pub(in crate::commands::doctor) newest: Version,
    /// The request for the versions.
    pub(in crate::commands::doctor) url: String,
}

/// A package of a provider's newest version.
#[derive(Debug)]
pub(in crate::commands::doctor) struct PackageSample {
    pub(in crate::commands::doctor) package: OriginPackage,
    /// The absolute URL of the zip, which is a secret.
    pub(in crate::commands::doctor) zip: String,
}

impl PackageSample {
    /// Returns the host that the zip comes from.
    pub(in crate::commands::doctor) fn archive_host(&self) -> Option<String> {
        Url::parse(&self.zip).ok()?.host_str().map(str::to_owned)
    }
}

/// A module with the location of its newest version.
#[derive(Debug)]
pub(in crate::commands::doctor) struct ModuleSample {
    pub(in crate::commands::doctor) address: ModuleAddress,
    pub(in crate::commands::doctor) newest: Version,
    /// The number of versions.
    pub(in crate::commands::doctor) count: usize,
}

/// The versions of a module, as the protocol defines them.
#[derive(Deserialize)]
struct ModuleDocument {
    // Without this attribute, a document without the member would be an empty list.
    #[serde(deserialize_with = "Option::deserialize")]
    modules: Option<Vec<ModuleVersions>>,
}

#[derive(Deserialize)]
struct ModuleVersions {
    versions: Option<Vec<ModuleVersion>>,
}

#[derive(Deserialize)]
struct ModuleVersion {
    version: String,
}

/// The list of a module's versions, as clients read it: they take the first module only.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::commands::doctor) enum ModuleList {
    NoModule,
    NoVersion,
    Versions(Vec<String>),
}

impl ModuleList {
    /// Reads the body of a response.
    pub(in crate::commands::doctor) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let document: ModuleDocument = serde_json::from_slice(body)?;
        let Some(first) = document.modules.into_iter().flatten().next() else {
            return Ok(Self::NoModule);
        };
        let versions = first.versions.into_iter().flatten();
        let versions: Vec<String> = versions.map(|it| it.version).collect();
        Ok(match versions.is_empty() {
            true => Self::NoVersion,
            false => Self::Versions(versions),
        })
    }
}

impl Target {
    /// Returns the provider to try, with its versions. P1 reports why there is none.
    pub(in crate::commands::doctor) fn provider(&self) -> Result<&ProviderSample, &Gap> {
        self.provider.get_or_init(|| self.find_provider()).as_ref()
    }

    fn find_provider(&self) -> Known<ProviderSample> {
        let gap = |outcome| Gap::new("P1", outcome);
        if let Some(refused) = self.refused_token() {
            return Err(refused.clone());
        }
        let discovery = self.discovery().map_err(Clone::clone)?;
        let Some(service) = &discovery.providers else {
            return Err(gap(Outcome::skip("the registry serves no providers")));
        };
        let address = match &self.named_provider {
            Some(named) => Some(named.clone()),
            None => self.listed("provider").map_err(gap)?,
        };
        let Some(address) = address else {
            return Err(gap(Outcome::skip(self.no_sample("provider"))));
        };
        let hostname = self.any_hostname();
        let Some(hostname) = hostname else {
            return Err(gap(Outcome::skip("the host cannot be part of an address")));
        };
        let provider = address.clone();
        let fetch = OriginVersions::ask(service, &MirroredAddress { hostname, provider });
        let (fetched, seen) = self
            .fetch(&fetch)
            .map_err(|error| gap(unanswered(&error)))?;
        if let Some(outcome) = self.outage(&seen) {
            return Err(gap(outcome));
        }
        let versions = OriginVersions::read(&fetch, &fetched);
        let versions = versions.map_err(|error| gap(unreadable(&seen, &error)))?;
        let newest = versions.versions.iter().map(|it| &it.version);
        let stable = newest.clone().rfind(|version| !version.is_prerelease());
        let Some(newest) = stable.or_else(|| newest.clone().next_back()).cloned() else {
            let cause = "clients take an empty list for a provider that does not exist";
            let fix = "answer 404 for a provider without versions";
            return Err(gap(Outcome::fail(
                "the list of versions is empty",
                cause,
                fix,
            )));
        };
        Ok(ProviderSample {
            address,
            versions,
            newest,
            url: seen.url,
        })
    }

    /// Returns the address of the first package of a kind that the registry lists.
    ///
    /// # Errors
    /// The outcome, if the registry limits the rate of requests, or fails.
    fn listed<A: FromStr>(&self, kind: &str) -> Result<Option<A>, Outcome> {
        let page: Option<NamespacesPage> = self.page("/api/v1/namespaces")?;
        let has = |count: Option<u64>| count != Some(0);
        let namespaces = page.map(|page| page.namespaces).unwrap_or_default();
        let namespaces = namespaces.into_iter().filter(|line| match kind {
            "module" => has(line.modules),
            _ => has(line.providers),
        });
        for line in namespaces.take(SEARCHED_NAMESPACES) {
            // An own provider has a short address, and a mirrored one begins with a hostname.
            let Ok(namespace) = line.namespace.parse::<Namespace>() else {
                continue;
            };
            let path = format!("/api/v1/namespaces/{namespace}?kind={kind}");
            let page: Option<PackagesPage> = self.page(&path)?;
            let packages = page.map(|page| page.packages).unwrap_or_default();
            if let Some(found) = packages.into_iter().find(|package| package.kind == kind) {
                return Ok(found.address.parse().ok());
            }
        }
        Ok(None)
    }

    /// Returns a page of the catalogue; `None` for every other response.
    fn page<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Outcome> {
        let seen = match self.probe.send(&self.get_as_caller(path)) {
            Ok(seen) => seen,
            Err(error @ ProbeError::Limited(_)) => return Err(Outcome::skip(error)),
            Err(_) => return Ok(None),
        };
        // Other registries have no catalogue.
        match self.outage(&seen).filter(|_| self.is_terrace()) {
            Some(outcome) => Err(outcome),
            None if seen.status == 200 => Ok(serde_json::from_slice(&seen.body).ok()),
            None => Ok(None),
        }
    }

    fn no_sample(&self, kind: &str) -> String {
        match (self.is_terrace(), self.has_token()) {
            (true, true) => format!("the registry has no {kind}"),
            (true, false) => format!(
                "the registry shows no {kind} without a token ({})",
                self.tokenless
            ),
            (false, _) => format!("no {kind} is known: name one with --{kind}"),
        }
    }

    /// Returns a package of the newest version. P2 reports why there is none.
    pub(in crate::commands::doctor) fn package(&self) -> Result<&PackageSample, &Gap> {
        self.package.get_or_init(|| self.find_package()).as_ref()
    }

    fn find_package(&self) -> Known<PackageSample> {
        let gap = |outcome| Gap::new("P2", outcome);
        let sample = self.provider().map_err(Clone::clone)?;
        let discovery = self.discovery().map_err(Clone::clone)?;
        let (Some(service), Some(hostname)) = (&discovery.providers, self.any_hostname()) else {
            return Err(gap(Outcome::skip("the registry serves no providers")));
        };
        let newest = sample
            .versions
            .versions
            .iter()
            .find(|it| it.version == sample.newest);
        let platforms = newest.map(|it| it.platforms.clone()).unwrap_or_default();
        let usual: Option<Platform> = USUAL_PLATFORM.parse().ok();
        let has_usual = usual.as_ref().is_some_and(|it| platforms.contains(it));
        let platform = match has_usual || platforms.is_empty() {
            true => usual,
            false => platforms.first().cloned(),
        };
        let Some(platform) = platform else {
            return Err(gap(Outcome::skip("the version has no platform")));
        };
        let provider = sample.address.clone();
        let address = MirroredAddress { hostname, provider };
        let version = &sample.newest;
        let mut inquiry = PackageInquiry::new(service, address, version, platform, self.now);
        while let InquiryStep::Fetch(fetch) = inquiry.next() {
            let (fetched, seen) = self.fetch(&fetch).map_err(|error| match error {
                ProbeError::Guarded(_) => gap(unguarded(&error, &fetch)),
                ProbeError::Limited(_) => gap(Outcome::skip(&error)),
                error => gap(undelivered(fetch.what, &error.to_string())),
            })?;
            if fetch.what == PackageInquiry::DESCRIPTION
                && let Some(outcome) = self.outage(&seen)
            {
                return Err(gap(outcome));
            }
            let fed = inquiry.feed(&fetched);
            fed.map_err(|error| gap(undelivered(fetch.what, &error.to_string())))?;
        }
        let package = inquiry.finish();
        let package = package.map_err(|error| gap(undelivered("package", &error.to_string())))?;
        let zip = absolute(&package.download);
        Ok(PackageSample { package, zip })
    }

    /// Returns the module to try. M1 reports why there is none.
    pub(in crate::commands::doctor) fn module(&self) -> Result<&ModuleSample, &Gap> {
        self.module.get_or_init(|| self.find_module()).as_ref()
    }

    fn find_module(&self) -> Known<ModuleSample> {
        let gap = |outcome| Gap::new("M1", outcome);
        if let Some(refused) = self.refused_token() {
            return Err(refused.clone());
        }
        let discovery = self.discovery().map_err(Clone::clone)?;
        let Some(service) = &discovery.modules else {
            return Err(gap(Outcome::skip("the registry serves no modules")));
        };
        let address = match &self.named_module {
            Some(named) => Some(named.clone()),
            None => self.listed("module").map_err(gap)?,
        };
        let Some(address) = address else {
            return Err(gap(Outcome::skip(self.no_sample("module"))));
        };
        let path = format!("{address}/versions");
        let fetch = service.fetch(&path, ORIGIN_VERSIONS_BYTES, "version list");
        let (fetched, seen) = self
            .fetch(&fetch)
            .map_err(|error| gap(unanswered(&error)))?;
        if let Some(outcome) = self.outage(&seen) {
            return Err(gap(outcome));
        }
        if fetched.status != 200 {
            return Err(gap(unreadable(
                &seen,
                &format!("status {}", fetched.status),
            )));
        }
        let list = ModuleList::read(&fetched.body);
        let list = list.map_err(|error| gap(unreadable(&seen, &error)))?;
        let versions: Result<Vec<Version>, _> = match &list {
            ModuleList::NoModule | ModuleList::NoVersion => Ok(Vec::new()),
            ModuleList::Versions(texts) => {
                texts.iter().map(|it| Version::parse_request(it)).collect()
            }
        };
        let versions = versions.map_err(|error| gap(unreadable(&seen, &error)))?;
        let stable = versions.iter().filter(|it| !it.is_prerelease()).max();
        match stable.or_else(|| versions.iter().max()) {
            Some(newest) => Ok(ModuleSample {
                address,
                newest: newest.clone(),
                count: versions.len(),
            }),
            None => Err(gap(empty(&list))),
        }
    }

    /// Requests the location of the module's newest version. The locations differ from request to request.
    pub(in crate::commands::doctor) fn module_location(
        &self,
    ) -> Result<(ModuleLocation, Fetched, Option<String>), Outcome> {
        let module = self.module().map_err(|gap| gap.outcome("M2"))?;
        let discovery = self.discovery().map_err(|gap| gap.outcome("M2"))?;
        let Some(service) = &discovery.modules else {
            return Err(Outcome::skip("the registry serves no modules"));
        };
        let path = format!("{}/{}/download", module.address, module.newest);
        let fetch = service.fetch(&path, ORIGIN_PACKAGE_BYTES, "module location");
        let (fetched, seen) = self.fetch(&fetch).map_err(|error| unanswered(&error))?;
        let header = seen.header(LOCATION_HEADER).map(str::to_owned);
        if let Some(outcome) = self.outage(&seen) {
            return Err(outcome);
        }
        if !matches!(fetched.status, 200 | 204) {
            return Err(Outcome::fail(
                format!("status {}", fetched.status),
                "clients accept 200 and 204 only, and show the body of any other response",
                "look at the registry's log for this request",
            ));
        }
        let location = ModuleLocation::read(&fetched, header.as_deref());
        let location = location.map_err(|error| {
            Outcome::fail(
                error,
                "clients find no archive to download",
                "answer with X-Terraform-Get and with \"location\" in the body",
            )
        })?;
        Ok((location, fetched, header))
    }
}

/// Returns the absolute URL of a request.
pub(in crate::commands::doctor) fn absolute(fetch: &Fetch) -> String {
    match &fetch.base {
        Some(base) => crate::upstream::resolve::resolve(base, &fetch.reference),
        None => fetch.reference.clone(),
    }
}

fn unanswered(error: &ProbeError) -> Outcome {
    let cause = "the registry answers discovery, and not this request";
    Outcome::unanswered(error, cause, "look at the registry's log for this request")
}

fn unreadable(seen: &Seen, error: &dyn std::fmt::Display) -> Outcome {
    let cause = match seen.status {
        401 | 403 => "the package is private, and no token that may read it was sent",
        404 => "the package does not exist, or the caller may not see it",
        _ if seen.media_type().contains("html") => "a web page answers in place of the registry",
        _ => "the response is not the document that clients parse",
    };
    let fix = "compare with docs/clients.md, 2.1 and 3.1; for a private package, set TERRACE_TOKEN";
    Outcome::fail(error, cause, fix)
}

/// Judges a list without a version of a module that exists.
fn empty(list: &ModuleList) -> Outcome {
    match list {
        ModuleList::NoModule => Outcome::fail(
            "the list has no module",
            "clients report an invalid response of the registry",
            "list the module with its versions, or answer 404 if it does not exist",
        ),
        ModuleList::NoVersion | ModuleList::Versions(_) => Outcome::fail(
            "the list of versions is empty",
            "clients report that the module has no versions",
            "answer 404 for a module without versions",
        ),
    }
}

fn undelivered(what: &str, error: &str) -> Outcome {
    let cause = match what {
        PackageInquiry::DESCRIPTION => "clients cannot use the description of the package",
        _ if error.contains("status") => {
            "the file cannot be downloaded as clients do it, without a token"
        }
        _ => "clients verify this file before they install anything, and would refuse it",
    };
    let fix = "restore the stored file, or publish the version again; for a status, look at D1 and the S3 settings";
    Outcome::fail(error, cause, fix)
}

fn unguarded(error: &ProbeError, fetch: &Fetch) -> Outcome {
    let url = absolute(fetch);
    let host = Url::parse(&url).ok().and_then(|it| {
        let port = it
            .port()
            .map_or_else(String::new, |port| format!(":{port}"));
        Some(format!("{}{port}", it.host_str()?))
    });
    Outcome::warn(
        error,
        "the registry refers to an address that other machines cannot reach, or that is not encrypted",
        format!(
            "if it is meant to be private, add --archive-host {}",
            host.unwrap_or_default()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_a_module_one_without_versions_and_no_list_differ() {
        let read = |body: &str| ModuleList::read(body.as_bytes());
        for body in [r#"{"modules":[]}"#, r#"{"modules":null}"#] {
            assert_eq!(read(body).unwrap(), ModuleList::NoModule, "{body}");
        }
        for body in [
            r#"{"modules":[{}]}"#,
            r#"{"modules":[{"versions":null}]}"#,
            r#"{"modules":[{"versions":[]},{"versions":[{"version":"1.0.0"}]}]}"#,
        ] {
            assert_eq!(read(body).unwrap(), ModuleList::NoVersion, "{body}");
        }
        for body in [r#"{"error":"x"}"#, "{}", "[]", "null"] {
            read(body).unwrap_err();
        }
    }
}
