//! The command line of `terrace release`.

use std::fmt;
use std::str::FromStr;

use clap::{Args, Subcommand};
use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::package::Package;
use terrace_core::model::status::Reason;
use terrace_core::model::version::Version;

use super::EXIT_CODES;

#[derive(Debug, Subcommand)]
pub(crate) enum ReleaseCommand {
    /// Warn the users of a package or a version: something else is better
    ///
    /// It stays as it is. Both clients print the reason on every init, of a provider; of a module there
    /// is no such thing.
    #[command(after_help = EXIT_CODES)]
    Deprecate(StatusArguments),
    /// Warn the users of a version that should not have been published
    ///
    /// It stays in the lists, since lock files that name it would break: the reason, which both clients
    /// print of a provider, should name the version to use instead.
    #[command(after_help = EXIT_CODES)]
    Withdraw(StatusArguments),
    /// Let nobody install a version any more
    ///
    /// It leaves every list and is answered 410 with the reason. Whoever has it in a lock file cannot
    /// install it again. Takes the scope admin.
    #[command(after_help = EXIT_CODES)]
    Revoke(StatusArguments),
    /// Take back what was said
    #[command(after_help = EXIT_CODES)]
    Restore(StatusArguments),
    /// Show what is said of a package
    #[command(after_help = EXIT_CODES)]
    Show {
        /// The package, as in `deprecate`
        address: PackageSpec,
    },
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// <hostname>/<namespace>/<type> for a mirrored provider, with @<version> behind it
    pub(crate) address: PackageSpec,
    /// Why: one line, which users read
    #[arg(long)]
    pub(crate) reason: Reason,
}

/// A package, perhaps with a version: `acme/widget@1.2.0` for a provider, `acme/vpc/aws` for a module,
/// `registry.example.com/acme/widget` for a mirrored provider.
#[derive(Debug, Clone)]
pub(crate) struct PackageSpec {
    pub(crate) package: Package,
    pub(crate) version: Option<Version>,
}

impl PackageSpec {
    /// Whether it names a version.
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
                return Err(
                    "this is no <namespace>/<type>, <namespace>/<name>/<system> or \
                            <hostname>/<namespace>/<type>, with @<version> behind it"
                        .to_owned(),
                );
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
    fn an_address_says_by_its_parts_what_it_is() {
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
}
