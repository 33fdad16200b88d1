//! The paths of OCI Distribution below `/v2/`, for generated repositories.

use crate::limits;
use crate::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use crate::model::own_hosts::OwnHosts;
use crate::model::package::Package;
use crate::model::version::Version;
use terrace_base::digest::Sha256;
use terrace_base::untrusted::{QUOTED_CHARS, line};

use crate::http::oci_error::{OciCode, OciError};
use crate::model::oci::{is_name, tag};

/// A request of an OCI client to a generated repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedRequest {
    /// The repository.
    pub repository: GeneratedRepository,
    /// The path within the repository.
    pub path: GeneratedPath,
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

/// A path within a generated repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GeneratedPath {
    /// `tags/list`
    Tags,
    /// `manifests/{reference}`
    Manifest(GeneratedReference),
    /// `blobs/{digest}`
    Blob(Sha256),
    /// `referrers/{digest}`
    Referrers(Sha256),
}

/// A reference to a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GeneratedReference {
    /// A tag, which is a version.
    Tag(Version),
    /// A digest.
    Digest(Sha256),
}

impl GeneratedRequest {
    /// Parses the path after `/v2/`.
    ///
    /// # Errors
    /// The error code of the specification, with the value and the rule.
    pub fn parse(path: &str) -> Result<Self, OciError> {
        if path.len() > limits::PATH_BYTES {
            let limit = limits::PATH_BYTES;
            return Err(OciError::new(
                OciCode::NameInvalid,
                format!(
                    "the path is {} bytes long, at most {limit} are allowed",
                    path.len()
                ),
            ));
        }
        let segments: Vec<&str> = path.split('/').collect();
        let (name, path) = match segments.as_slice() {
            [name @ .., "tags", "list"] => (name, Ok(GeneratedPath::Tags)),
            [name @ .., "manifests", reference] => (name, manifest(reference)),
            [.., "blobs", "uploads", _] | [.., "blobs", "uploads"] => return Err(read_only()),
            [name @ .., "blobs", digest] => (name, parse_digest(digest).map(GeneratedPath::Blob)),
            [name @ .., "referrers", digest] => {
                (name, parse_digest(digest).map(GeneratedPath::Referrers))
            }
            _ => return Err(no_such_repository(path)),
        };
        Ok(Self {
            repository: repository(name)?,
            path: path?,
        })
    }
}

impl GeneratedRepository {
    /// Parses the name of a repository.
    ///
    /// # Errors
    /// If the name is invalid, or not that of a generated repository.
    pub fn parse(name: &str) -> Result<Self, OciError> {
        let segments: Vec<&str> = name.split('/').collect();
        repository(&segments)
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

fn repository(name: &[&str]) -> Result<GeneratedRepository, OciError> {
    let unknown = |_| no_such_repository(&name.join("/"));
    let text = name.join("/");
    if !is_name(&text) {
        return Err(OciError::new(
            OciCode::NameInvalid,
            "the name of a repository must consist of lower-case letters and digits, with . _ __ or dashes between them, in parts separated by /",
        ));
    }
    match name {
        ["providers", namespace, provider_type] => {
            let address = format!("{namespace}/{provider_type}");
            address
                .parse()
                .map(GeneratedRepository::Hosted)
                .map_err(|_| unknown(()))
        }
        ["providers", hostname, namespace, provider_type] => {
            let address = format!("{hostname}/{namespace}/{provider_type}");
            address
                .parse()
                .map(GeneratedRepository::Provider)
                .map_err(|_| unknown(()))
        }
        ["modules", namespace, name, system] => {
            let address = format!("{namespace}/{name}/{system}");
            address
                .parse()
                .map(GeneratedRepository::Module)
                .map_err(|_| unknown(()))
        }
        _ => Err(unknown(())),
    }
}

fn manifest(reference: &str) -> Result<GeneratedPath, OciError> {
    if reference.contains(':') {
        return Ok(GeneratedPath::Manifest(GeneratedReference::Digest(
            parse_digest(reference)?,
        )));
    }
    match tag::parse(reference) {
        Some(version) => Ok(GeneratedPath::Manifest(GeneratedReference::Tag(version))),
        None => Err(OciError::new(
            OciCode::ManifestUnknown,
            "the tags of this repository are versions, such as 1.2.3 or 1.2.3-rc.1_build.5",
        )),
    }
}

fn parse_digest(text: &str) -> Result<Sha256, OciError> {
    let digest = text.strip_prefix("sha256:");
    let is_lower = |text: &&str| !text.bytes().any(|byte| byte.is_ascii_uppercase());
    digest
        .filter(is_lower)
        .and_then(|digest| digest.parse().ok())
        .ok_or_else(|| {
            OciError::new(
                OciCode::DigestInvalid,
                "a digest must be sha256: followed by 64 lower-case hexadecimal digits",
            )
        })
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
                (package, GeneratedPath::Tags)
            );
        }
        let long =
            GeneratedRequest::parse("providers/own.example.com/acme/widget/tags/list").unwrap();
        let hosted = Package::Provider("acme/widget".parse().unwrap());
        assert_eq!(long.repository.package(&own), hosted);
    }
}
