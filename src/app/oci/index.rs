//! The indices of what was pushed: each follows one fact.

use std::collections::HashSet;

use terrace_core::model::address::MirroredAddress;
use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::model::package::Package;
use terrace_core::model::status::{Reason, Standings};
use terrace_core::model::version::Version;
use terrace_core::oci::pushed::{
    LinkDocument, ListedTag, ManifestReference, PushedManifest, TagDocument, blob_index,
    manifest_index, tags_index,
};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey, PushedFact, PushedIndex};

use super::corrupt;
use crate::app::{App, Boxed, Failure};
use crate::store::{Facts as _, Indices as _, Platform, StoreError};

/// The digests that a manifest refers to.
#[derive(Debug, Default)]
struct References {
    blobs: Vec<Digest>,
    manifests: Vec<Digest>,
}

impl References {
    fn of(text: &str) -> Result<Self, Failure> {
        let manifest = PushedManifest::parse(text.as_bytes());
        let manifest = manifest.map_err(|error| corrupt(error.message()))?;
        let mut references = Self::default();
        for reference in manifest.references() {
            match *reference {
                ManifestReference::Blob(digest) => references.blobs.push(digest),
                ManifestReference::Manifest(digest) => references.manifests.push(digest),
            }
        }
        Ok(references)
    }
}

impl<P: Platform> App<'_, P> {
    /// Makes an index what its fact says.
    pub(in crate::app) async fn index_pushed(&self, index: &PushedIndex) -> Result<(), Failure> {
        let write = || -> Boxed<'_> {
            Box::pin(async {
                let document = self.pushed_index(index).await?;
                Ok(self.write_pushed(index, document.as_ref()).await?)
            })
        };
        match self.follow(&index.fact(), &write).await? {
            true => Ok(()),
            false => Err(StoreError::Busy(index.to_string()).into()),
        }
    }

    async fn write_pushed(
        &self,
        index: &PushedIndex,
        document: Option<&IndexDocument>,
    ) -> Result<(), StoreError> {
        let key = IndexKey::Pushed(index.clone());
        match document {
            Some(document) => self.platform.indices().put(&key, document).await,
            None => self.platform.indices().delete(&key).await,
        }
    }

    /// What an index should be; `None` when there is nothing of this name.
    pub(in crate::app) async fn pushed_index(
        &self,
        index: &PushedIndex,
    ) -> Result<Option<IndexDocument>, Failure> {
        match index {
            PushedIndex::Tags(repository) => {
                let mut tags = self.list_tags(repository).await?;
                let holds = self.config.oci_providers.address(repository).is_some();
                let standings = self.standings_of(repository).await?;
                tags.retain(|listed| revoked(&standings, &listed.tag).is_none());
                tags_index(repository, holds, &tags).map_err(corrupt)
            }
            PushedIndex::Tag(repository, tag) => {
                let Some(TagDocument { digest, .. }) = self.tag(repository, tag).await? else {
                    return Ok(None);
                };
                let standings = self.standings_of(repository).await?;
                match revoked(&standings, tag) {
                    Some(reason) => Ok(Some(IndexDocument::gone(reason))),
                    None => self.manifest_index(repository, digest).await,
                }
            }
            PushedIndex::Manifest(repository, digest) => {
                let standings = self.standings_of(repository).await?;
                if standings.revokes_any() {
                    let tags = self.list_tags(repository).await?;
                    let names = tags.iter().filter(|it| it.document.digest == *digest);
                    let mut reasons = names.filter_map(|it| revoked(&standings, &it.tag));
                    if let Some(reason) = reasons.next() {
                        return Ok(Some(IndexDocument::gone(reason)));
                    }
                }
                let Some(text) = self.manifest(repository, *digest).await? else {
                    return Ok(None);
                };
                if standings.revokes_any() {
                    let blobs = References::of(&text)?.blobs;
                    if let Some(gone) = self.revoked_blob(repository, &blobs).await? {
                        return Ok(Some(gone));
                    }
                }
                let index = manifest_index(text, *digest);
                index.map(Some).map_err(|error| corrupt(error.message()))
            }
            PushedIndex::Blob(repository, digest) => {
                let Some(link) = self.link(repository, *digest).await? else {
                    return Ok(None);
                };
                match self.revoked_blob(repository, &[*digest]).await? {
                    Some(gone) => Ok(Some(gone)),
                    None => Ok(Some(blob_index(&link, *digest))),
                }
            }
        }
    }

    /// Returns the index of the first of these blobs that are zips of revoked versions only, of the provider that a
    /// repository holds.
    pub(super) async fn revoked_blob(
        &self,
        repository: &RepositoryName,
        blobs: &[Digest],
    ) -> Result<Option<IndexDocument>, Failure> {
        let Some(address) = self.config.oci_providers.address(repository) else {
            return Ok(None);
        };
        let digests = blobs.iter().filter_map(|digest| match digest {
            Digest::Sha256(digest) => Some(*digest),
            Digest::Sha512(_) => None,
        });
        self.revoked_content(&Package::Mirrored(address), digests)
            .await
    }

    /// Reads what a manifest refers to; nothing where it is not there.
    async fn references_of(
        &self,
        repository: &RepositoryName,
        digest: Digest,
    ) -> Result<References, Failure> {
        match self.manifest(repository, digest).await? {
            Some(text) => References::of(&text),
            None => Ok(References::default()),
        }
    }

    /// What is said of the provider that a repository holds.
    async fn standings_of(&self, repository: &RepositoryName) -> Result<Standings, Failure> {
        match self.config.oci_providers.address(repository) {
            Some(address) => self.standings(&Package::Mirrored(address)).await,
            None => Ok(Standings::default()),
        }
    }

    /// Makes the indices of repositories that hold a version of a mirrored provider what is said of it.
    pub(in crate::app) async fn index_pushed_versions(
        &self,
        address: &MirroredAddress,
        version: &Version,
    ) -> Result<(), Failure> {
        let Some(tag) = Tag::of(version) else {
            return Ok(());
        };
        for repository in self.config.oci_providers.repositories(address) {
            let Some(TagDocument { digest, .. }) = self.tag(&repository, &tag).await? else {
                continue;
            };
            self.mark_tags(&repository).await?;
            let mut indices = vec![
                PushedIndex::Tag(repository.clone(), tag.clone()),
                PushedIndex::Manifest(repository.clone(), digest),
                PushedIndex::Tags(repository.clone()),
            ];
            let targets = self.references_of(&repository, digest).await?.manifests;
            for target in targets {
                indices.push(PushedIndex::Manifest(repository.clone(), target));
                let blobs = self.references_of(&repository, target).await?.blobs;
                let blobs = blobs.into_iter();
                indices.extend(blobs.map(|blob| PushedIndex::Blob(repository.clone(), blob)));
            }
            let mut written = HashSet::new();
            // All platforms have the same config.
            indices.retain(|index| written.insert(index.to_string()));
            for index in indices {
                self.index_pushed(&index).await?;
            }
        }
        Ok(())
    }

    async fn manifest_index(
        &self,
        repository: &RepositoryName,
        digest: Digest,
    ) -> Result<Option<IndexDocument>, Failure> {
        let Some(text) = self.manifest(repository, digest).await? else {
            return Ok(None);
        };
        let index = manifest_index(text, digest);
        index.map(Some).map_err(|error| corrupt(error.message()))
    }

    /// A manifest as it was pushed.
    pub(super) async fn manifest(
        &self,
        repository: &RepositoryName,
        digest: Digest,
    ) -> Result<Option<String>, Failure> {
        let key = FactKey::Pushed(PushedFact::Manifest(repository.clone(), digest));
        let fact = self.platform.facts().get(&key).await?;
        let text = fact.map(|fact| String::from_utf8(fact.bytes));
        text.transpose()
            .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))
    }

    /// What a tag names, unless it is gone.
    pub(super) async fn tag(
        &self,
        repository: &RepositoryName,
        tag: &Tag,
    ) -> Result<Option<TagDocument>, Failure> {
        let fact = PushedFact::Tag(repository.clone(), tag.clone());
        let document: Option<TagDocument> = self.document(&FactKey::Pushed(fact)).await?;
        Ok(document.filter(|document| !document.is_gone))
    }

    pub(super) async fn link(
        &self,
        repository: &RepositoryName,
        digest: Digest,
    ) -> Result<Option<LinkDocument>, Failure> {
        let fact = PushedFact::Link(repository.clone(), digest);
        self.document(&FactKey::Pushed(fact)).await
    }

    /// All tags of a repository, with those that are gone. Where a copy of the bucket has lost an object's
    /// metadata, its document tells.
    pub(super) async fn list_tags(
        &self,
        repository: &RepositoryName,
    ) -> Result<Vec<ListedTag>, Failure> {
        let prefix = PushedFact::tags_of(repository);
        let mut tags = Vec::new();
        for fact in self.list_all(&prefix).await? {
            let Some(tag) = Tag::parse(&fact.name) else {
                self.platform
                    .log(&format!("{prefix}{} is no tag: passed over", fact.name));
                continue;
            };
            let told = TagDocument::from_metadata(|name| {
                let found = fact.metadata.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.as_str())
            });
            let document = match told {
                Some(document) => Some(document),
                None => {
                    let fact = PushedFact::Tag(repository.clone(), tag.clone());
                    self.document(&FactKey::Pushed(fact)).await?
                }
            };
            tags.extend(document.map(|document| ListedTag { tag, document }));
        }
        Ok(tags)
    }
}

/// Why what is tagged as a version must not be installed, if so.
fn revoked<'s>(standings: &'s Standings, tag: &Tag) -> Option<&'s Reason> {
    tag.version()
        .and_then(|version| standings.revoked(&version))
}
