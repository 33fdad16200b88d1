//! The name of a package on the command line.

use std::fmt;
use std::str::FromStr;

use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use crate::error::Failure;

/// A package, optionally with a version: `acme/widget@1.2.0` for a provider, `acme/vpc/aws` for a module, and for a mirrored one
/// the hostname of its registry before that. The hostname of the registry itself may precede the address,
/// as in configurations; [`PackageSpec::at`] removes it.
#[derive(Debug, Clone)]
pub(crate) struct PackageSpec {
    pub(crate) package: Package,
    pub(crate) version: Option<Version>,
    /// The hostname before the address, if the address has one and is not that of a mirrored package.
    host: Option<String>,
}

impl PackageSpec {
    /// Returns whether a version is given.
    pub(crate) fn is_version(&self) -> bool {
        self.version.is_some()
    }

    /// Returns the package without the hostname of the registry, and optionally its port.
    ///
    /// # Errors
    /// The hostname is that of another registry.
    pub(crate) fn at(&self, registry: &str) -> Result<Self, Failure> {
        let is_own = |host: &str| host.eq_ignore_ascii_case(registry);
        let package = match (&self.package, &self.host) {
            (_, Some(host)) if !is_own(host) => {
                return Err(Failure::Usage(format!(
                    "{host} is not the hostname of the registry, which is {registry}: leave it out, or set TERRACE_URL to \
                     the registry that has {self}"
                )));
            }
            (Package::Mirrored(address), _) if is_own(address.hostname.as_str()) => {
                Package::Provider(address.provider.clone())
            }
            (Package::Module(address), _)
                if address
                    .hostname
                    .as_ref()
                    .is_some_and(|it| is_own(it.as_str())) =>
            {
                Package::Module(address.clone().without_hostname())
            }
            (package, _) => package.clone(),
        };
        Ok(Self {
            package,
            version: self.version.clone(),
            host: None,
        })
    }
}

/// Splits the hostname of a registry from an address that has one, unless it may be the address of a mirrored package.
fn split_host(address: &str) -> (Option<&str>, &str) {
    let (host, rest) = address.split_once('/').unwrap_or_default();
    let has_port = host.contains(':');
    let is_host = has_port || host.eq_ignore_ascii_case("localhost");
    match rest.split('/').count() {
        2 | 3 if is_host => (Some(host), rest),
        _ => (None, address),
    }
}

impl FromStr for PackageSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, version) = match text.split_once('@') {
            Some((address, version)) => (address, Some(version)),
            None => (text, None),
        };
        let (host, address) = split_host(address);
        let parts: Vec<&str> = address.split('/').collect();
        let is_mirrored = parts.first().is_some_and(|host| host.contains('.'));
        let package = match parts.len() {
            2 => address
                .parse()
                .map(|it: ProviderAddress| Package::Provider(it)),
            3 if is_mirrored => address
                .parse()
                .map(|it: MirroredAddress| Package::Mirrored(it)),
            3 => address.parse().map(|it: ModuleAddress| Package::Module(it)),
            // Both public names mean one copy: a block under the other name would block nothing.
            4 => address
                .parse()
                .map(|it: ModuleAddress| Package::Module(it.mirrored())),
            _ => {
                let message = "it must be <namespace>/<type> or <namespace>/<name>/<system>, after <hostname>/ if it is \
                               mirrored, optionally followed by @<version>";
                return Err(message.to_owned());
            }
        };
        let version = version.map(str::parse).transpose();
        Ok(Self {
            package: package.map_err(|error| error.to_string())?,
            version: version
                .map_err(|error: terrace_core::model::version::VersionError| error.to_string())?,
            host: host.map(str::to_owned),
        })
    }
}

impl fmt::Display for PackageSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.package.address())?;
        match &self.version {
            Some(version) => write!(f, "@{version}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_an_address_determine_the_kind_of_package() {
        type Is = fn(&Package) -> bool;
        let kinds: [(&str, Is); 5] = [
            ("acme/widget", |it| matches!(it, Package::Provider(_))),
            ("acme/widget@1.0.0", |it| matches!(it, Package::Provider(_))),
            ("acme/vpc/aws", |it| matches!(it, Package::Module(_))),
            ("a.test/acme/widget@1.0.0-b", |it| {
                matches!(it, Package::Mirrored(_))
            }),
            ("a.test/acme/vpc/aws@1.0.0", |it| {
                matches!(it, Package::Module(_)) && it.origin().is_some()
            }),
        ];
        for (text, is_kind) in kinds {
            let spec: PackageSpec = text.parse().unwrap();
            assert!(is_kind(&spec.package), "{text}");
            assert_eq!(spec.to_string(), text);
        }
        let spec: PackageSpec = "registry.terraform.io/acme/vpc/aws".parse().unwrap();
        assert_eq!(spec.to_string(), "registry.opentofu.org/acme/vpc/aws");
        for text in ["", "acme", "a/b/c/d", "acme/widget@", "acme/widget@1"] {
            assert!(text.parse::<PackageSpec>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_hostname_of_the_registry_may_precede_an_address() {
        let here = "127.0.0.1:8811";
        for (registry, text, expected) in [
            (here, "127.0.0.1:8811/acme/vpc/aws", "acme/vpc/aws"),
            (here, "127.0.0.1:8811/a/w@1.0.0", "a/w@1.0.0"),
            ("r.test", "R.test/acme/vpc/aws@1.0.0", "acme/vpc/aws@1.0.0"),
            ("r.test", "r.test/acme/widget", "acme/widget"),
            ("r.test", "a.test/acme/widget", "a.test/acme/widget"),
            ("r.test", "a.test/acme/vpc/aws", "a.test/acme/vpc/aws"),
        ] {
            let spec: PackageSpec = text.parse().unwrap();
            assert_eq!(spec.at(registry).unwrap().to_string(), expected, "{text}");
        }
        let spec: PackageSpec = "r.test:8787/acme/widget".parse().unwrap();
        assert!(spec.at("s.test").is_err());
    }
}
