//! The paths of OCI Distribution below `/v2/`, for generated repositories.

use crate::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use crate::model::own_hosts::OwnHosts;
use crate::model::package::Package;
use terrace_base::untrusted::{QUOTED_CHARS, line};

use crate::http::oci_error::{OciCode, OciError};
use crate::model::oci::is_name;
use crate::oci::pushed::{RepositoryPath, split};

/// A request of an OCI client to a generated repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedRequest {
    /// The repository.
    pub repository: GeneratedRepository,
    /// The path within the repository.
    pub path: RepositoryPath,
}

/// A repository that is generated from published releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GeneratedRepository {
    /// `providers/{namespace}/{type}`
    Hosted(ProviderAddress),
    /// `providers/{hostname}/{namespace}/{type}`
    Provider(MirroredAddress),
    /// `modules/{namespace}/{name}/{system}`
    Module(ModuleAddress),
}

impl GeneratedRequest {
    /// Parses the path after `/v2/`.
    ///
    /// # Errors
    /// The error code of the specification, with the value and the rule.
    pub fn parse(path: &str) -> Result<Self, OciError> {
        let (name, path) = split(path)?;
        let repository = GeneratedRepository::parse(&name)?;
        match path? {
            RepositoryPath::Uploads | RepositoryPath::Upload(_) => Err(read_only()),
            path => Ok(Self { repository, path }),
        }
    }
}

impl GeneratedRepository {
    /// Parses the name of a repository.
    ///
    /// # Errors
    /// If the name is invalid, or not that of a generated repository.
    pub fn parse(name: &str) -> Result<Self, OciError> {
        if !is_name(name) {
            return Err(OciError::new(
                OciCode::NameInvalid,
                "the name of a repository must consist of lower-case letters and digits, with . _ __ or dashes between them, in parts separated by /",
            ));
        }
        let parsed = match name.split_once('/') {
            Some(("providers", address)) if address.matches('/').count() > 1 => {
                address.parse().map(Self::Provider)
            }
            Some(("providers", address)) => address.parse().map(Self::Hosted),
            Some(("modules", address)) => ModuleAddress::parse_hosted(address).map(Self::Module),
            _ => return Err(no_such_repository(name)),
        };
        parsed.map_err(|_| no_such_repository(name))
    }

    /// Returns the name of a package's repository.
    pub fn of(package: &Package) -> String {
        match package {
            Package::Provider(address) => format!("providers/{address}"),
            Package::Mirrored(address) => format!("providers/{address}"),
            Package::Module(address) => format!("modules/{address}"),
        }
    }

    /// Returns the package of which this is the repository.
    pub fn package(self, own: &OwnHosts<'_>) -> Package {
        match self {
            Self::Hosted(address) => Package::Provider(address),
            Self::Provider(address) => own.package(address),
            Self::Module(address) => Package::Module(address),
        }
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
        let own = OwnHosts::new("https://own.example.com", &[]);
        for package in [
            Package::Provider("acme/widget".parse().unwrap()),
            Package::Mirrored("registry.example.com/acme/widget".parse().unwrap()),
            Package::Mirrored("registry.example.com/my_org/widget".parse().unwrap()),
            Package::Module("acme/vpc/aws".parse().unwrap()),
        ] {
            let path = format!("{}/tags/list", GeneratedRepository::of(&package));
            let GeneratedRequest { repository, path } = GeneratedRequest::parse(&path).unwrap();
            assert_eq!(
                (repository.package(&own), path),
                (package, RepositoryPath::Tags)
            );
        }
        let long =
            GeneratedRequest::parse("providers/own.example.com/acme/widget/tags/list").unwrap();
        let hosted = Package::Provider("acme/widget".parse().unwrap());
        assert_eq!(long.repository.package(&own), hosted);
    }
}
