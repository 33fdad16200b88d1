//! The content of pushed repositories, and everything in it that refers to other content.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use terrace_core::api::admin::FactBody;
use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::oci::empty_config_digest;
use terrace_core::oci::pushed::{ContentReference, PushedManifest, Reference, TagDocument};
use terrace_core::storage::key::{FactKey, MANIFESTS, PushedFact};

use super::stored::{each_fact, not_understood};
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;

/// A manifest in a repository that clients push to, as `REPOSITORY@DIGEST` or `REPOSITORY:TAG`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestSpec {
    pub(crate) repository: RepositoryName,
    pub(crate) reference: Reference,
}

impl FromStr for ManifestSpec {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let reference = |text: &str| match text.split_once('@') {
            Some((repository, name)) => Some((
                repository.to_owned(),
                Reference::Digest(Digest::parse(name).ok()?),
            )),
            None => {
                let (repository, name) = text.rsplit_once(':')?;
                Some((repository.to_owned(), Reference::Tag(Tag::parse(name)?)))
            }
        };
        let spec = reference(text).and_then(|(repository, reference)| {
            let repository = RepositoryName::parse(&repository).ok()?;
            Some(Self {
                repository,
                reference,
            })
        });
        spec.ok_or(
            "it must be REPOSITORY@DIGEST or REPOSITORY:TAG, such as team/app:1.0.0; versions of packages are erased by their \
             address",
        )
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

/// The names of repositories.
pub(crate) type Repositories = BTreeSet<String>;

/// The pushed content of a registry.
#[derive(Debug, Default)]
pub(crate) struct PushedContent {
    /// The repositories that have a blob, by its digest.
    links: BTreeMap<Digest, Repositories>,
    /// The digests that manifests refer to, by repository and digest.
    manifests: BTreeMap<(String, Digest), BTreeSet<Digest>>,
    /// The manifests of tags, by repository and tag.
    tags: BTreeMap<(String, String), TagDocument>,
    /// The repositories with a manifest that cannot be read.
    damaged: Repositories,
}

impl PushedContent {
    /// Reads everything.
    ///
    /// # Errors
    /// A manifest cannot be read: it may refer to any content.
    pub(crate) fn read(client: &Client<'_>, output: &Output) -> Result<Self, Failure> {
        let (content, damaged) = Self::read_most(client, output)?;
        not_understood(damaged).map(|()| content)
    }

    /// Reads everything that can be read, and returns the keys of the rest. A repository with a manifest that cannot be read
    /// uses everything that it has.
    pub(crate) fn read_most(
        client: &Client<'_>,
        output: &Output,
    ) -> Result<(Self, Vec<String>), Failure> {
        let mut content = Self::default();
        let mut damaged = Vec::new();
        for prefix in [LINKS, MANIFESTS, TAGS] {
            each_fact(client, prefix, output, |fact| {
                content.add(&fact).unwrap_or_else(|| damaged.push(fact.key));
                Ok(())
            })?;
        }
        Ok((content, damaged))
    }

    /// Adds a document; `None` if it cannot be read.
    fn add(&mut self, fact: &FactBody) -> Option<()> {
        match FactKey::parse(&fact.key)? {
            FactKey::Pushed(PushedFact::Link(repository, digest)) => {
                let repositories = self.links.entry(digest).or_default();
                repositories.insert(repository.to_string());
            }
            FactKey::Pushed(PushedFact::Manifest(repository, digest)) => {
                let Ok(manifest) = PushedManifest::parse(fact.document.as_bytes()) else {
                    self.damaged.insert(repository.to_string());
                    return None;
                };
                let named = manifest.references().iter().map(|it| match it {
                    ContentReference::Blob(digest) | ContentReference::Manifest(digest) => *digest,
                });
                let key = (repository.to_string(), digest);
                self.manifests.insert(key, named.collect());
            }
            FactKey::Pushed(PushedFact::Tag(repository, name)) => {
                // A tag uses nothing that its manifest does not use.
                if let Ok(tag) = serde_json::from_str(&fact.document) {
                    let key = (repository.to_string(), name.to_string());
                    self.tags.insert(key, tag);
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Returns the digest of a manifest that its repository has, or that was erased.
    pub(crate) fn manifest(
        &self,
        spec: &ManifestSpec,
        is_erased: impl Fn(&Digest) -> bool,
    ) -> Option<Digest> {
        let repository = spec.repository.to_string();
        let (digest, is_removed) = match &spec.reference {
            Reference::Digest(digest) => (*digest, false),
            Reference::Tag(tag) => {
                let tag = self.tags.get(&(repository.clone(), tag.to_string()))?;
                (tag.digest, tag.is_tombstone)
            }
        };
        let exists = !is_removed && self.manifests.contains_key(&(repository, digest));
        (exists || is_erased(&digest)).then_some(digest)
    }

    /// Adds everything that a manifest refers to, directly or through another manifest of its repository. The empty
    /// configuration, which manifests share, is left out.
    pub(crate) fn add_references(
        &self,
        repository: &str,
        digest: Digest,
        found: &mut BTreeSet<Digest>,
    ) {
        let empty = Digest::Sha256(empty_config_digest());
        let named = self.manifests.get(&(repository.to_owned(), digest));
        for named in named.into_iter().flatten().copied() {
            if named != empty && found.insert(named) {
                self.add_references(repository, named, found);
            }
        }
    }

    /// Returns the repositories that have a digest, as a blob or as a manifest.
    pub(crate) fn repositories(&self, digest: Digest) -> Repositories {
        let links = self.links.get(&digest).into_iter().flatten();
        let manifests = self.manifests.keys().filter(|(_, it)| *it == digest);
        let homes = links.chain(manifests.map(|(repository, _)| repository));
        homes.cloned().collect()
    }

    /// Returns whether a repository has a manifest with this digest, or one that refers to it or may do so.
    pub(crate) fn uses(&self, repository: &str, digest: Digest) -> bool {
        let mut manifests = self.manifests.iter();
        let is_used = manifests.any(|((name, manifest), named)| {
            name == repository && (*manifest == digest || named.contains(&digest))
        });
        is_used || self.damaged.contains(repository)
    }

    /// Returns the manifests that refer to a digest, except for these, as `REPOSITORY@DIGEST`.
    pub(crate) fn referring(
        &self,
        digest: Digest,
        but_for: &BTreeSet<Digest>,
    ) -> impl Iterator<Item = String> {
        let manifests = self.manifests.iter();
        let referring = manifests.filter(move |((_, manifest), named)| {
            named.contains(&digest) && !but_for.contains(manifest)
        });
        referring.map(|((repository, manifest), _)| format!("{repository}@{manifest}"))
    }

    /// Returns whether a repository has a digest, or a manifest refers to it.
    pub(crate) fn is_used(&self, digest: Digest) -> bool {
        self.links.contains_key(&digest)
            || self.manifests.values().any(|named| named.contains(&digest))
    }

    /// Returns whether a digest is that of a manifest.
    pub(crate) fn is_manifest(&self, digest: Digest) -> bool {
        self.manifests
            .keys()
            .any(|(_, manifest)| *manifest == digest)
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
