//! The command line of `terrace release`.

use std::fmt;
use std::str::FromStr;

use clap::{Args, Subcommand};
use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::package::Package;
use terrace_core::model::status::Reason;
use terrace_core::model::version::Version;

use crate::error::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum ReleaseCommand {
    /// Warn the users of a package or a version, because something else is better
    ///
    /// It stays available. For a provider, both clients print the reason on every init; for a module
    /// they print nothing.
    Deprecate(StatusArguments),
    /// Warn the users of a version that should not have been published
    ///
    /// The version stays available, because lock files that contain it would break otherwise. The reason, which
    /// both clients print for a provider, should name the version to use instead.
    Withdraw(StatusArguments),
    /// Block a version, so that it can no longer be installed
    ///
    /// The version disappears from all lists, and requests for it get status 410 with the reason. This includes
    /// users who have it in a lock file.
    Revoke(StatusArguments),
    /// Undo a deprecation, withdrawal or revocation
    ///
    /// Undoing a revocation requires the scope admin:<namespace> or admin.
    Restore(StatusArguments),
    /// Show the versions of a package with the status that clients see, or one of them
    ///
    /// A version is also revoked if the key that signed it is.
    Show {
        /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
        /// <hostname>/<namespace>/<type> for a mirrored provider; followed by @<version> for one version
        address: PackageSpec,
    },
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// <hostname>/<namespace>/<type> for a mirrored provider; followed by @<version> for one version
    pub(crate) address: PackageSpec,
    /// The reason: one line, which users read
    #[arg(long)]
    pub(crate) reason: Reason,
}

/// A package, optionally with a version: `acme/widget@1.2.0` for a provider, `acme/vpc/aws` for a module,
/// `registry.example.com/acme/widget` for a mirrored provider. The hostname of the registry itself may precede the address,
/// as in configurations; [`PackageSpec::at`] removes it.
#[derive(Debug, Clone)]
pub(crate) struct PackageSpec {
    pub(crate) package: Package,
    pub(crate) version: Option<Version>,
    /// The hostname before the address, if the address has one and is not that of a mirrored provider.
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
            (Package::Mirrored(address), _) if is_own(&address.hostname.to_string()) => {
                Package::Provider(address.provider.clone())
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

/// Splits the hostname of a registry from an address that has one, unless it is the address of a mirrored provider.
fn split_host(address: &str) -> (Option<&str>, &str) {
    let (host, rest) = address.split_once('/').unwrap_or_default();
    let has_port = host.contains(':');
    let is_host = has_port || host.contains('.') || host.eq_ignore_ascii_case("localhost");
    match rest.split('/').count() {
        3 if is_host => (Some(host), rest),
        2 if is_host && (has_port || !host.contains('.')) => (Some(host), rest),
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
            _ => {
                let message = "it must be <namespace>/<type>, <namespace>/<name>/<system> or \
                               <hostname>/<namespace>/<type>, optionally followed by @<version>";
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

/// Returns the end of a message about an address that is none, for the source of a module as configurations contain it:
/// with the hostname of the registry.
pub(super) fn hint_of_source(address: &str) -> &'static str {
    let host = address.split('/').next().unwrap_or_default();
    let is_host = host.contains(['.', ':']) || host == "localhost";
    match is_host && address.split('/').count() == 4 {
        true => "; leave out the registry's hostname",
        false => "",
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
        for (text, kind) in [
            ("acme/widget", "provider"),
            ("acme/widget@1.0.0", "provider"),
            ("acme/vpc/aws", "module"),
            ("a.example/acme/widget@1.0.0-b", "mirrored"),
        ] {
            let spec: PackageSpec = text.parse().unwrap();
            let found = match spec.package {
                Package::Provider(_) => "provider",
                Package::Module(_) => "module",
                Package::Mirrored(_) => "mirrored",
            };
            assert_eq!(found, kind, "{text}");
            assert_eq!(spec.to_string(), text);
        }
        for text in [
            "",
            "acme",
            "a/b/c/d",
            "acme/widget@",
            "acme/widget@1",
            "acme//aws",
        ] {
            assert!(text.parse::<PackageSpec>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_hostname_of_the_registry_may_precede_an_address() {
        for (registry, text, expected) in [
            (
                "127.0.0.1:8811",
                "127.0.0.1:8811/acme/vpc/aws",
                "acme/vpc/aws",
            ),
            (
                "127.0.0.1:8811",
                "127.0.0.1:8811/acme/widget@1.0.0",
                "acme/widget@1.0.0",
            ),
            (
                "r.example.com",
                "R.example.com/acme/vpc/aws@1.0.0",
                "acme/vpc/aws@1.0.0",
            ),
            ("r.example.com", "r.example.com/acme/widget", "acme/widget"),
            ("localhost", "localhost/acme/widget", "acme/widget"),
            (
                "r.example.com",
                "a.example.com/acme/widget",
                "a.example.com/acme/widget",
            ),
            ("r.example.com", "acme/vpc/aws", "acme/vpc/aws"),
        ] {
            let spec: PackageSpec = text.parse().unwrap();
            assert_eq!(spec.at(registry).unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn the_hostname_of_another_registry_is_refused() {
        for text in [
            "r.example.com/acme/vpc/aws",
            "r.example.com:8787/acme/widget",
        ] {
            let spec: PackageSpec = text.parse().unwrap();
            let message = spec.at("s.example.com").unwrap_err().to_string();
            assert!(
                message.contains("which is s.example.com: leave it out"),
                "{message}"
            );
        }
    }
}
