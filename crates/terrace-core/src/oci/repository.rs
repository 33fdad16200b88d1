//! The paths of OCI Distribution, below `/v2/`.

use crate::limits;
use crate::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use crate::model::own_hosts::OwnHosts;
use crate::model::package::Package;
use crate::model::version::Version;
use terrace_base::digest::Sha256;
use terrace_base::untrusted::{QUOTED_CHARS, line};

use crate::http::oci_error::{OciCode, OciError};
use crate::model::oci::is_name;
use crate::model::oci::tag;

/// What an OCI client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciRequest {
    /// Where.
    pub repository: Repository,
    /// What.
    pub path: OciPath,
}

/// A repository that is made of what is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repository {
    /// `providers/{namespace}/{type}`
    Hosted(ProviderAddress),
    /// `providers/{hostname}/{namespace}/{type}`
    Provider(MirroredAddress),
    /// `modules/{namespace}/{name}/{system}`
    Module(ModuleAddress),
}

/// What is asked of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OciPath {
    /// `tags/list`
    Tags,
    /// `manifests/{reference}`
    Manifest(Reference),
    /// `blobs/{digest}`
    Blob(Sha256),
    /// `referrers/{digest}`
    Referrers(Sha256),
}

/// How a manifest is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// By a tag, which is a version.
    Tag(Version),
    /// By its digest.
    Digest(Sha256),
}

impl OciRequest {
    /// Reads what follows `/v2/`.
    ///
    /// # Errors
    /// The error of the specification, told with the value and the rule.
    pub fn parse(path: &str) -> Result<Self, OciError> {
        if path.len() > limits::PATH_BYTES {
            let most = limits::PATH_BYTES;
            return Err(OciError::new(
                OciCode::NameInvalid,
                format!("a path has at most {most} bytes"),
            ));
        }
        let segments: Vec<&str> = path.split('/').collect();
        let (name, path) = match segments.as_slice() {
            [name @ .., "tags", "list"] => (name, Ok(OciPath::Tags)),
            [name @ .., "manifests", reference] => (name, manifest(reference)),
            [.., "blobs", "uploads", _] | [.., "blobs", "uploads"] => return Err(read_only()),
            [name @ .., "blobs", digest] => (name, parse_digest(digest).map(OciPath::Blob)),
            [name @ .., "referrers", digest] => {
                (name, parse_digest(digest).map(OciPath::Referrers))
            }
            _ => return Err(no_such_repository(path)),
        };
        Ok(Self {
            repository: repository(name)?,
            path: path?,
        })
    }
}

impl Repository {
    /// Reads the name of a repository.
    ///
    /// # Errors
    /// That it is none, or that of a repository that clients push to.
    pub fn parse(name: &str) -> Result<Self, OciError> {
        let segments: Vec<&str> = name.split('/').collect();
        repository(&segments)
    }

    /// The name of a package's repository.
    pub fn of(package: &Package) -> String {
        match package {
            Package::Provider(address) => format!("providers/{address}"),
            Package::Mirrored(address) => format!("providers/{address}"),
            Package::Module(address) => format!("modules/{address}"),
        }
    }

    /// Whose repository it is.
    pub fn package(self, own: &OwnHosts<'_>) -> Package {
        match self {
            Self::Hosted(address) => Package::Provider(address),
            Self::Provider(address) => own.package(address),
            Self::Module(address) => Package::Module(address),
        }
    }
}

fn repository(name: &[&str]) -> Result<Repository, OciError> {
    let unknown = |_| no_such_repository(&name.join("/"));
    let text = name.join("/");
    if !is_name(&text) {
        return Err(OciError::new(
            OciCode::NameInvalid,
            "the name of a repository has lower-case letters and digits, with single separators . _ - between them",
        ));
    }
    match name {
        ["providers", namespace, provider_type] => {
            let address = format!("{namespace}/{provider_type}");
            address
                .parse()
                .map(Repository::Hosted)
                .map_err(|_| unknown(()))
        }
        ["providers", hostname, namespace, provider_type] => {
            let address = format!("{hostname}/{namespace}/{provider_type}");
            address
                .parse()
                .map(Repository::Provider)
                .map_err(|_| unknown(()))
        }
        ["modules", namespace, name, system] => {
            let address = format!("{namespace}/{name}/{system}");
            address
                .parse()
                .map(Repository::Module)
                .map_err(|_| unknown(()))
        }
        _ => Err(unknown(())),
    }
}

fn manifest(reference: &str) -> Result<OciPath, OciError> {
    if reference.contains(':') {
        return Ok(OciPath::Manifest(Reference::Digest(parse_digest(
            reference,
        )?)));
    }
    match tag::parse(reference) {
        Some(version) => Ok(OciPath::Manifest(Reference::Tag(version))),
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
                "a digest is sha256: and 64 lower-case hexadecimal digits",
            )
        })
}

fn no_such_repository(name: &str) -> OciError {
    let name = line(name).at_most(QUOTED_CHARS);
    OciError::new(
        OciCode::NameUnknown,
        format!(
            "there is no repository {name}: they are providers/<hostname>/<namespace>/<type> and \
             modules/<namespace>/<name>/<system>"
        ),
    )
}

/// Why nothing can be pushed.
fn read_only() -> OciError {
    OciError::new(
        OciCode::Unsupported,
        "repositories are made of what is published: use `terrace publish`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_name_of_a_repository_reads_back() {
        let own = OwnHosts::new("https://own.example.com", &[]);
        for package in [
            Package::Provider("acme/widget".parse().unwrap()),
            Package::Mirrored("registry.example.com/acme/widget".parse().unwrap()),
            Package::Module("acme/vpc/aws".parse().unwrap()),
        ] {
            let path = format!("{}/tags/list", Repository::of(&package));
            let OciRequest { repository, path } = OciRequest::parse(&path).unwrap();
            assert_eq!((repository.package(&own), path), (package, OciPath::Tags));
        }
        let long = OciRequest::parse("providers/own.example.com/acme/widget/tags/list").unwrap();
        let hosted = Package::Provider("acme/widget".parse().unwrap());
        assert_eq!(long.repository.package(&own), hosted);
    }

    proptest! {
        #[test]
        fn no_path_panics(path in "\\PC{0,200}") {
            let _ = OciRequest::parse(&path);
        }
    }
}
