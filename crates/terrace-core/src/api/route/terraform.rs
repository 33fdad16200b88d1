//! Routes of the provider registry and the module registry.

use super::{missing, module, provider};
use crate::http::problem::Problem;
use crate::model::address::{ModuleAddress, ProviderAddress};
use crate::model::name::{ModuleName, ModuleNamespace, Namespace, SEARCH};
use crate::model::platform::Platform;
use crate::model::version::Version;

/// A route of service discovery, of the provider registry or of the module registry. What clients need of mirrored modules
/// has the same routes below `/origins/{hostname}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerraformRoute {
    /// `/.well-known/terraform.json`
    Discovery,
    /// `/v1/providers/{namespace}/{type}/versions`
    ProviderVersions(ProviderAddress),
    /// `/v1/providers/{namespace}/{type}/{version}`
    ProviderVersion(ProviderAddress, Version),
    /// `/v1/providers/{namespace}/{type}/{version}/download/{os}/{arch}`
    ProviderDownload(ProviderAddress, Version, Platform),
    /// `/v1/modules/{namespace}/{name}/{system}/versions`
    ModuleVersions(ModuleAddress),
    /// `/v1/modules/{namespace}/{name}/{system}/{version}/download`
    ModuleDownload(ModuleAddress, Version),
    /// `/v1/modules/{namespace}/{name}/{system}/download`: the newest version.
    ModuleNewest(ModuleAddress),
    /// `/v1/modules/{namespace}/{name}/{system}`: the details of the newest version.
    Module(ModuleAddress),
    /// `/v1/modules/{namespace}/{name}/{system}/{version}`
    ModuleVersion(ModuleAddress, Version),
    /// `/v1/providers/{namespace}/{type}`: the details of the newest version.
    Provider(ProviderAddress),
    /// A list of packages.
    List(ListRoute),
}

/// A list of packages in the shape of the public registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListRoute {
    /// `/v1/modules`
    Modules,
    /// `/v1/modules/{namespace}`
    ModulesOf(ModuleNamespace),
    /// `/v1/modules/{namespace}/{name}`: the target systems of a module.
    ModulesNamed(ModuleNamespace, ModuleName),
    /// `/v1/modules/search`
    ModuleSearch,
    /// `/v1/providers`
    Providers,
    /// `/v1/providers/{namespace}`
    ProvidersOf(Namespace),
}

impl TerraformRoute {
    /// Parses the segments after `/v1/`; `None` if they match no route.
    #[inline(never)]
    pub(super) fn parse(segments: &[&str]) -> Result<Option<Self>, Problem> {
        Ok(Some(match segments {
            ["providers", namespace, provider_type, "versions"] => {
                Self::ProviderVersions(provider(namespace, provider_type).map_err(missing)?)
            }
            [
                "providers",
                namespace,
                provider_type,
                version,
                "download",
                os,
                arch,
            ] => Self::ProviderDownload(
                provider(namespace, provider_type).map_err(missing)?,
                Version::parse_request(version).map_err(missing)?,
                Platform::new(os, arch).map_err(missing)?,
            ),
            ["modules", module @ ..] if module.len() > 2 => {
                return Self::parse_module(None, module);
            }
            ["providers", namespace, provider_type, version] => Self::ProviderVersion(
                provider(namespace, provider_type).map_err(missing)?,
                Version::parse_request(version).map_err(missing)?,
            ),
            ["providers", namespace, provider_type] => {
                Self::Provider(provider(namespace, provider_type).map_err(missing)?)
            }
            _ => return ListRoute::parse(segments).map(|list| list.map(Self::List)),
        }))
    }

    /// Parses the segments after `/v1/modules/`, or after `/origins/{hostname}/v1/modules/`, below which only the routes of
    /// clients exist; `None` if they match no route.
    #[inline(never)]
    pub(super) fn parse_module(
        hostname: Option<&str>,
        segments: &[&str],
    ) -> Result<Option<Self>, Problem> {
        let [namespace, name, system, rest @ ..] = segments else {
            return Ok(None);
        };
        let address = ModuleAddress {
            hostname: hostname.map(str::parse).transpose().map_err(missing)?,
            ..module(namespace, name, system).map_err(missing)?
        };
        let version = |text: &str| Version::parse_request(text).map_err(missing);
        Ok(Some(match rest {
            ["versions"] => Self::ModuleVersions(address),
            [it, "download"] => Self::ModuleDownload(address, version(it)?),
            ["download"] => Self::ModuleNewest(address),
            [it] if hostname.is_none() => Self::ModuleVersion(address, version(it)?),
            [] if hostname.is_none() => Self::Module(address),
            _ => return Ok(None),
        }))
    }
}

impl ListRoute {
    /// Parses the segments after `/v1/`; `None` if they match no route.
    fn parse(segments: &[&str]) -> Result<Option<Self>, Problem> {
        Ok(Some(match segments {
            ["modules"] => Self::Modules,
            ["modules", SEARCH] => Self::ModuleSearch,
            ["modules", namespace] => Self::ModulesOf(namespace.parse().map_err(missing)?),
            ["modules", namespace, name] => Self::ModulesNamed(
                namespace.parse().map_err(missing)?,
                name.parse().map_err(missing)?,
            ),
            ["providers"] => Self::Providers,
            ["providers", namespace] => Self::ProvidersOf(namespace.parse().map_err(missing)?),
            _ => return Ok(None),
        }))
    }
}
