//! Packages, which versions belong to, and the files of a provider's version.
//!
//! The word has two meanings. A [`Package`] has versions: it is a provider or a module. In names such as
//! [`PulledPackage`] and `PackageDocument`, as in the protocols, it is the zip of one version for one platform.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use crate::model::name::{Hostname, ModuleNamespace, Namespace};
use crate::model::platform::Platform;
use crate::model::version::Version;

/// A package, which versions belong to: a provider or a module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Package {
    /// A provider that this registry hosts.
    Provider(ProviderAddress),
    /// A provider of another registry.
    Mirrored(MirroredAddress),
    /// A module, which this registry hosts or mirrors.
    Module(ModuleAddress),
}

/// The kind of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackageKind {
    /// A module.
    Module,
    /// A provider, published here or mirrored.
    Provider,
}

impl fmt::Display for PackageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Module => "module",
            Self::Provider => "provider",
        })
    }
}

/// The zip of a pulled provider for one platform, which its origin offers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PulledPackage {
    /// The address of the provider.
    pub address: MirroredAddress,
    /// The version of the package.
    pub version: Version,
    /// The platform of the package.
    pub platform: Platform,
}

impl Package {
    /// The registry of a mirrored package; `None` for a package that this registry hosts.
    pub fn origin(&self) -> Option<&Hostname> {
        match self {
            Self::Provider(_) => None,
            Self::Mirrored(address) => Some(&address.hostname),
            Self::Module(address) => address.hostname.as_ref(),
        }
    }

    /// Returns whether OCI clients can get the package.
    pub fn has_repository(&self) -> bool {
        !matches!(self, Self::Module(address) if address.hostname.is_some())
    }

    /// The kind of the package.
    pub fn kind(&self) -> PackageKind {
        match self {
            Self::Module(_) => PackageKind::Module,
            Self::Provider(_) | Self::Mirrored(_) => PackageKind::Provider,
        }
    }

    /// Returns a package of the same kind that cannot be published, for lookups of hidden packages.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        match &mut self {
            Self::Provider(address) => address.namespace = Namespace::hidden(),
            Self::Module(address) => match &mut address.hostname {
                Some(hostname) => *hostname = Hostname::hidden(),
                None => address.namespace = ModuleNamespace::hidden(),
            },
            Self::Mirrored(address) => address.hostname = Hostname::hidden(),
        }
        self
    }

    /// Returns the address as users write it; `Display` writes the storage key.
    pub fn address(&self) -> String {
        match self {
            Self::Provider(address) => address.to_string(),
            Self::Mirrored(address) => address.to_string(),
            Self::Module(address) => address.to_string(),
        }
    }
}

impl Package {
    /// Parses the storage key of a package, as written by `Display`.
    pub fn parse_key(text: &str) -> Option<Self> {
        let package = if let Some(address) = text.strip_prefix("modules/") {
            Self::Module(address.parse().ok()?)
        } else if let Some(address) = text.strip_prefix("providers/hosted/") {
            Self::Provider(address.parse().ok()?)
        } else {
            Self::Mirrored(text.strip_prefix("providers/")?.parse().ok()?)
        };
        (package.to_string() == text).then_some(package)
    }

    /// Parses an address as users write it: `namespace/type`, `namespace/name/system`, or either
    /// after the hostname of its registry. Only hostnames contain a dot.
    pub fn parse_address(text: &str) -> Option<Self> {
        let provider = |text: &str| text.parse::<ProviderAddress>().ok().map(Self::Provider);
        let mirrored = |text: &str| text.parse::<MirroredAddress>().ok().map(Self::Mirrored);
        let module = |text: &str| text.parse::<ModuleAddress>().ok().map(Self::Module);
        provider(text)
            .or_else(|| mirrored(text))
            .or_else(|| module(text))
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider(address) => write!(f, "providers/hosted/{address}"),
            Self::Mirrored(address) => write!(f, "providers/{address}"),
            Self::Module(address) => write!(f, "modules/{address}"),
        }
    }
}

impl fmt::Display for PulledPackage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            version,
            platform,
        } = self;
        write!(f, "{address}/{version}/{platform}")
    }
}

/// Returns the file name that clients and mirrors expect for a package (clients.md 5.11).
pub fn package_filename(
    address: &ProviderAddress,
    version: &Version,
    platform: &Platform,
) -> String {
    let provider_type = &address.provider_type;
    format!("terraform-provider-{provider_type}_{version}_{platform}.zip")
}

/// Returns the name of the manifest of a version in SHA256SUMS, as GoReleaser writes it.
pub fn manifest_filename(address: &ProviderAddress, version: &Version) -> String {
    let provider_type = &address.provider_type;
    format!("terraform-provider-{provider_type}_{version}_manifest.json")
}
