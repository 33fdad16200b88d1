//! The content of pushed repositories, and everything in it that refers to other content.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::oci::empty_config_digest;
use terrace_core::oci::pushed::{ContentReference, PushedManifest, Reference, TagDocument};
use terrace_core::storage::key::{FactKey, MANIFESTS, PushedFact};

use super::stored::each_fact;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;

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

/// The prefixes of the documents about pushed content.
const LINKS: &str = "oci/links/";

const TAGS: &str = "oci/tags/";

/// Digests, by their texts.
pub(crate) type Digests = BTreeSet<String>;

/// The names of repositories.
pub(crate) type Repositories = BTreeSet<String>;

/// The pushed content of a registry.
#[derive(Debug, Default)]
pub(crate) struct PushedContent {
    /// The repositories that have a blob, by its digest.
    links: BTreeMap<String, Repositories>,
    /// The digests that manifests refer to, by repository and digest.
    manifests: BTreeMap<(String, String), Digests>,
    /// The digests of manifests, by repository and tag.
    tags: BTreeMap<(String, String), String>,
    /// The digests of removed manifests, by repository and tag.
    removed_tags: BTreeMap<(String, String), String>,
}

impl PushedContent {
    /// Reads everything.
    pub(crate) fn read(client: &Client<'_>, output: &Output) -> Result<Self, Failure> {
        let mut content = Self::read_links(client, output)?;
        content.read_manifests(client, output)?;
        each_fact(client, TAGS, output, |fact| {
            let tag = serde_json::from_str::<TagDocument>(&fact.document);
            if let Some(FactKey::Pushed(PushedFact::Tag(repository, name))) =
                FactKey::parse(&fact.key)
                && let Ok(tag) = tag
            {
                let key = (repository.to_string(), name.to_string());
                let tags = match tag.is_tombstone {
                    true => &mut content.removed_tags,
                    false => &mut content.tags,
                };
                tags.insert(key, tag.digest.to_string());
            }
            Ok(())
        })?;
        Ok(content)
    }

    /// Reads which repositories have which blobs.
    pub(crate) fn read_links(client: &Client<'_>, output: &Output) -> Result<Self, Failure> {
        let mut content = Self::default();
        each_fact(client, LINKS, output, |fact| {
            if let Some(FactKey::Pushed(PushedFact::Link(repository, digest))) =
                FactKey::parse(&fact.key)
            {
                let repositories = content.links.entry(digest.to_string()).or_default();
                repositories.insert(repository.to_string());
            }
            Ok(())
        })?;
        Ok(content)
    }

    fn read_manifests(&mut self, client: &Client<'_>, output: &Output) -> Result<(), Failure> {
        let mut damaged = Vec::new();
        each_fact(client, MANIFESTS, output, |fact| {
            let Some(FactKey::Pushed(PushedFact::Manifest(repository, digest))) =
                FactKey::parse(&fact.key)
            else {
                return Ok(());
            };
            match PushedManifest::parse(fact.document.as_bytes()) {
                Ok(manifest) => {
                    let named = manifest.references().iter().map(digest_of);
                    let key = (repository.to_string(), digest.to_string());
                    self.manifests.insert(key, named.collect());
                }
                Err(_) => damaged.push(format!(
                    "{:?} is not a manifest that can be read, and may refer to any content: nothing is erased or removed",
                    fact.key
                )),
            }
            Ok(())
        })?;
        match damaged.is_empty() {
            true => Ok(()),
            false => Err(Failure::Refused(damaged)),
        }
    }

    /// Returns the digest of a manifest, and `None` if its repository does not have it.
    pub(crate) fn manifest(&self, spec: &ManifestSpec) -> Option<String> {
        let repository = spec.repository.to_string();
        let digest = match &spec.reference {
            Reference::Digest(digest) => digest.to_string(),
            Reference::Tag(tag) => self.tag(&spec.repository, tag)?,
        };
        let key = (repository, digest);
        let exists = self.manifests.contains_key(&key);
        exists.then_some(key.1)
    }

    /// Returns the digest that a removed manifest had, if its name still states it.
    pub(crate) fn removed_manifest(&self, spec: &ManifestSpec) -> Option<String> {
        match &spec.reference {
            Reference::Digest(digest) => Some(digest.to_string()),
            Reference::Tag(tag) => {
                let key = (spec.repository.to_string(), tag.to_string());
                let tags = [&self.tags, &self.removed_tags];
                tags.iter().find_map(|tags| tags.get(&key)).cloned()
            }
        }
    }

    fn tag(&self, repository: &RepositoryName, tag: &Tag) -> Option<String> {
        let key = (repository.to_string(), tag.to_string());
        self.tags.get(&key).cloned()
    }

    /// Adds everything that a manifest refers to, directly or through another manifest of its repository. The empty
    /// configuration, which manifests share, is left out.
    pub(crate) fn add_references(&self, repository: &str, digest: &str, found: &mut Digests) {
        let key = (repository.to_owned(), digest.to_owned());
        let empty = Digest::Sha256(empty_config_digest()).to_string();
        for named in self.manifests.get(&key).into_iter().flatten() {
            if *named != empty && found.insert(named.clone()) {
                self.add_references(repository, named, found);
            }
        }
    }

    /// Returns the repositories that have a digest, as a blob or as a manifest.
    pub(crate) fn repositories(&self, digest: &str) -> Repositories {
        let links = self.links.get(digest).into_iter().flatten();
        let manifests = self.manifests.keys();
        let manifests = manifests.filter(|(_, manifest)| manifest == digest);
        links
            .chain(manifests.map(|(repository, _)| repository))
            .cloned()
            .collect()
    }

    /// Returns whether a repository has a manifest with this digest, or one that refers to it.
    pub(crate) fn uses(&self, repository: &str, digest: &str) -> bool {
        self.manifests.iter().any(|((name, manifest), named)| {
            name == repository && (manifest == digest || named.contains(digest))
        })
    }

    /// Returns the manifests that refer to a digest, except for these, as `REPOSITORY@DIGEST`.
    pub(crate) fn referring(&self, digest: &str, but_for: &Digests) -> BTreeSet<String> {
        let manifests = self.manifests.iter();
        let referring = manifests
            .filter(|((_, manifest), named)| named.contains(digest) && !but_for.contains(manifest));
        referring
            .map(|((repository, manifest), _)| format!("{repository}@{manifest}"))
            .collect()
    }

    /// Returns whether a repository has a digest, or a manifest refers to it.
    pub(crate) fn is_used(&self, digest: &str) -> bool {
        self.links.contains_key(digest)
            || self.manifests.values().any(|named| named.contains(digest))
    }

    /// Returns whether a digest is that of a manifest.
    pub(crate) fn is_manifest(&self, digest: &str) -> bool {
        self.manifests
            .keys()
            .any(|(_, manifest)| manifest == digest)
    }
}

fn digest_of(reference: &ContentReference) -> String {
    match reference {
        ContentReference::Blob(digest) | ContentReference::Manifest(digest) => digest.to_string(),
    }
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
        let module = "modules/acme/vpc/aws:1.0.0";
        for text in [
            "",
            "team/app",
            "Team/App:1.0.0",
            "team/app:",
            "team/app@1.0.0",
            module,
        ] {
            assert!(text.parse::<ManifestSpec>().is_err(), "{text}");
        }
    }
}
