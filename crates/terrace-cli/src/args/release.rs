//! The command line of `terrace release`.

use std::fmt;
use std::str::FromStr;

use clap::{Args, Subcommand};
use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::package::Package;
use terrace_core::model::status::Reason;
use terrace_core::model::version::Version;

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
    /// users who have it in a lock file. Requires the admin scope.
    Revoke(StatusArguments),
    /// Undo a deprecation, withdrawal or revocation
    ///
    /// Undoing a revocation requires the admin scope.
    Restore(StatusArguments),
    /// Show the status of a package and of its versions
    Show {
        /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
        /// <hostname>/<namespace>/<type> for a mirrored provider
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
/// `registry.example.com/acme/widget` for a mirrored provider.
#[derive(Debug, Clone)]
pub(crate) struct PackageSpec {
    pub(crate) package: Package,
    pub(crate) version: Option<Version>,
}

impl PackageSpec {
    /// Returns whether a version is given.
    pub(crate) fn is_version(&self) -> bool {
        self.version.is_some()
    }
}

impl FromStr for PackageSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, version) = match text.split_once('@') {
            Some((address, version)) => (address, Some(version)),
            None => (text, None),
        };
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
                let hint = hint_of_source(address);
                return Err(format!(
                    "it must be <namespace>/<type>, <namespace>/<name>/<system> or \
                     <hostname>/<namespace>/<type>, optionally followed by @<version>{hint}"
                ));
            }
        };
        let version = version.map(str::parse).transpose();
        Ok(Self {
            package: package.map_err(|error| error.to_string())?,
            version: version
                .map_err(|error: terrace_core::model::version::VersionError| error.to_string())?,
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
    fn the_source_of_a_module_is_refused_with_a_hint() {
        for (text, is_source) in [
            ("127.0.0.1:8811/acme/vpc/aws", true),
            ("r.example.com/acme/vpc/aws@1.0.0", true),
            ("localhost:8787/acme/vpc/aws", true),
            ("a/b/c/d", false),
            ("acme", false),
        ] {
            let message = text.parse::<PackageSpec>().unwrap_err();
            let has_hint = message.ends_with("; leave out the registry's hostname");
            assert_eq!(has_hint, is_source, "{text}: {message}");
        }
    }
}
