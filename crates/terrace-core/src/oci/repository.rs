//! The paths of OCI Distribution below `/v2/`, for generated repositories.

use crate::model::address::ModuleAddress;
use crate::model::package::Package;
use terrace_base::untrusted::{QUOTED_CHARS, line};

use crate::http::oci_error::{OciCode, OciError};
use crate::model::oci::is_name;
use crate::oci::pushed::{RepositoryPath, split};

/// A request of an OCI client to a generated repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedRequest {
    /// The package that the name of the repository states. It is not resolved yet: before use, it passes through
    /// [`OwnHosts::hosted`](crate::model::own_hosts::OwnHosts::hosted).
    pub package: Package,
    /// The path within the repository.
    pub path: RepositoryPath,
}

impl GeneratedRequest {
    /// Parses the path after `/v2/`.
    ///
    /// # Errors
    /// The error code of the specification, with the value and the rule.
    pub fn parse(path: &str) -> Result<Self, OciError> {
        let (name, path) = split(path)?;
        let package = package_of(&name)?;
        match path? {
            RepositoryPath::Uploads | RepositoryPath::Upload(_) => Err(read_only()),
            path => Ok(Self { package, path }),
        }
    }
}

/// Returns the package that a generated repository is named after. It is not resolved yet: before use, it passes through
/// [`OwnHosts::hosted`](crate::model::own_hosts::OwnHosts::hosted).
///
/// # Errors
/// If the name is invalid, or not that of a generated repository.
pub fn package_of(name: &str) -> Result<Package, OciError> {
    if !is_name(name) {
        return Err(OciError::new(
            OciCode::NameInvalid,
            "the name of a repository must consist of lower-case letters and digits, with . _ __ or dashes between them, in parts separated by /",
        ));
    }
    let parsed = match name.split_once('/') {
        Some(("providers", address)) if address.matches('/').count() > 1 => {
            address.parse().map(Package::Mirrored)
        }
        Some(("providers", address)) => address.parse().map(Package::Provider),
        Some(("modules", address)) => ModuleAddress::parse_hosted(address).map(Package::Module),
        _ => return Err(no_such_repository(name)),
    };
    parsed.map_err(|_| no_such_repository(name))
}

/// Returns the name of a package's repository.
pub fn repository_of(package: &Package) -> String {
    match package {
        Package::Provider(address) => format!("providers/{address}"),
        Package::Mirrored(address) => format!("providers/{address}"),
        Package::Module(address) => format!("modules/{address}"),
    }
}

fn no_such_repository(name: &str) -> OciError {
    let name = line(name).at_most(QUOTED_CHARS);
    OciError::new(
        OciCode::NameUnknown,
        format!(
            "there is no repository {name}: repositories are named providers/<hostname>/<namespace>/<type> and \
             modules/<namespace>/<name>/<system>"
        ),
    )
}

/// The error for a push to a generated repository.
fn read_only() -> OciError {
    OciError::new(
        OciCode::Unsupported,
        "this repository is generated from published releases, so clients cannot push to it: use `terrace publish`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_repository_is_parsed() {
        for package in [
            Package::Provider("acme/widget".parse().unwrap()),
            Package::Mirrored("registry.example.com/acme/widget".parse().unwrap()),
            Package::Mirrored("registry.example.com/my_org/widget".parse().unwrap()),
            Package::Module("acme/vpc/aws".parse().unwrap()),
        ] {
            let path = format!("{}/tags/list", repository_of(&package));
            let path_of_tags = RepositoryPath::Tags;
            let parsed = GeneratedRequest::parse(&path);
            assert_eq!(
                parsed,
                Ok(GeneratedRequest {
                    package,
                    path: path_of_tags
                })
            );
        }
    }
}
