//! The command line of `terrace admin erase`.

use std::fmt;
use std::str::FromStr;

use clap::{ArgGroup, Args};
use terrace_base::digest::Sha256;
use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::model::status::Reason;
use terrace_core::oci::pushed::Reference;

use super::release::PackageSpec;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("subject").required(true).args(["address", "archives", "manifests", "blobs"])))]
pub(crate) struct EraseArguments {
    /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// <hostname>/<namespace>/<type> for a mirrored provider; followed by @<version> for one version, otherwise all
    /// versions are erased
    pub(crate) address: Option<PackageSpec>,
    /// An archive, by its SHA-256, instead of a version. May be given several times
    #[arg(long = "archive", value_name = "SHA256")]
    pub(crate) archives: Vec<Sha256>,
    /// A manifest that a client has pushed, as <repository>@<digest> or <repository>:<tag>, with the manifests and blobs that it
    /// refers to. May be given several times
    #[arg(long = "manifest", value_name = "REPOSITORY@DIGEST")]
    pub(crate) manifests: Vec<ManifestSpec>,
    /// A blob that a client has pushed, by its digest, such as sha256:…, in all repositories. May be given several times
    #[arg(long = "blob", value_name = "DIGEST", value_parser = digest)]
    pub(crate) blobs: Vec<Digest>,
    /// The reason: one line, which users and publishers read
    #[arg(long)]
    pub(crate) reason: Reason,
    /// Also erase archives and pushed content that other versions, repositories or manifests have. These can then no longer be
    /// installed
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Erase, instead of listing what would be erased
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A manifest in a repository that clients push to, as `REPOSITORY@DIGEST` or `REPOSITORY:TAG`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestSpec {
    pub(crate) repository: RepositoryName,
    pub(crate) reference: Reference,
}

/// A text is not a [`ManifestSpec`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it must be REPOSITORY@DIGEST or REPOSITORY:TAG, such as team/app:1.0.0; versions of packages are erased by their address"
)]
pub(crate) struct ManifestSpecError;

impl FromStr for ManifestSpec {
    type Err = ManifestSpecError;

    fn from_str(text: &str) -> Result<Self, ManifestSpecError> {
        let (repository, reference) = match text.split_once('@') {
            Some((repository, name)) => {
                let digest = Digest::parse(name).map_err(|_| ManifestSpecError)?;
                (repository, Reference::Digest(digest))
            }
            None => {
                let (repository, name) = text.rsplit_once(':').ok_or(ManifestSpecError)?;
                let tag = Tag::parse(name).ok_or(ManifestSpecError)?;
                (repository, Reference::Tag(tag))
            }
        };
        let repository = RepositoryName::parse(repository).map_err(|_| ManifestSpecError)?;
        Ok(Self {
            repository,
            reference,
        })
    }
}

impl fmt::Display for ManifestSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reference {
            Reference::Tag(tag) => write!(f, "{}:{tag}", self.repository),
            Reference::Digest(digest) => write!(f, "{}@{digest}", self.repository),
        }
    }
}

fn digest(text: &str) -> Result<Digest, String> {
    Digest::parse(text)
        .map_err(|_| "it must be a digest, such as sha256: and 64 hexadecimal digits".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_named_by_its_digest_or_a_tag() {
        let digest = format!("team/app@sha256:{}", "1".repeat(64));
        for text in ["team/app:1.0.0", &digest] {
            let spec: ManifestSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
        }
        for text in [
            "",
            "team/app",
            "Team/App:1.0.0",
            "team/app:",
            "team/app@1.0.0",
            "modules/acme/vpc/aws:1.0.0",
        ] {
            assert_eq!(
                text.parse::<ManifestSpec>(),
                Err(ManifestSpecError),
                "{text}"
            );
        }
    }
}
