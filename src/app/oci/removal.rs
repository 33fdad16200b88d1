//! Manifests and tags, deleted.

use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::oci::pushed::{ListedTag, ManifestName, PushedManifest, TagDocument};
use terrace_core::storage::key::{FactKey, PushedFact};

use super::{corrupt, denied};
use crate::app::{App, Failure};
use crate::store::{Condition, Facts as _, Platform};

impl<P: Platform> App<'_, P> {
    pub(super) async fn delete_manifest(
        &self,
        repository: RepositoryName,
        name: ManifestName,
    ) -> Result<Reply<P::Stream>, Failure> {
        match name {
            ManifestName::Tag(tag) => self.delete_tag(&repository, tag).await?,
            ManifestName::Digest(digest) => self.delete_by_digest(&repository, digest).await?,
        }
        Ok(Reply::new(202, CachePolicy::NoStore))
    }

    async fn delete_tag(&self, repository: &RepositoryName, tag: Tag) -> Result<(), Failure> {
        let was_there = self.tag(repository, &tag).await?.is_some();
        let fact = PushedFact::Tag(repository.clone(), tag.clone());
        // Also where it is gone: what was broken off after the fact has left its index.
        self.platform.facts().delete(&FactKey::Pushed(fact)).await?;
        self.mark_tags(repository).await?;
        let tags = [tag];
        self.index_tags(repository, &tags).await?;
        let [tag] = tags;
        match was_there {
            true => Ok(()),
            false => Err(unknown(format!("{repository} has no tag {tag}"))),
        }
    }

    /// The manifest goes before the tags that name it. Who pushes it at the same time either finds that
    /// it is gone, and writes everything again, or has written its tags before they are listed here.
    async fn delete_by_digest(
        &self,
        repository: &RepositoryName,
        digest: Digest,
    ) -> Result<(), Failure> {
        let was_there = self.remove_manifest(repository, digest).await?;
        let listed = self.list_tags(repository).await?.into_iter();
        let (mut tags, mut was_named) = (Vec::new(), false);
        // Also those that are gone already: what was broken off has left their indices.
        for ListedTag { tag, document } in listed.filter(|it| it.document.digest == digest) {
            if !document.is_gone {
                was_named = true;
                self.bury_tag(repository, &tag, digest).await?;
            }
            tags.push(tag);
        }
        if !tags.is_empty() {
            self.mark_tags(repository).await?;
        }
        self.index_manifests(repository, digest, &tags).await?;
        match was_there || was_named {
            true => Ok(()),
            false => Err(unknown(format!("{repository} has no manifest {digest}"))),
        }
    }

    /// Removes a manifest, and first that it refers to another; tells whether it was there.
    async fn remove_manifest(
        &self,
        repository: &RepositoryName,
        digest: Digest,
    ) -> Result<bool, Failure> {
        let facts = self.platform.facts();
        let text = self.manifest(repository, digest).await?;
        let manifest = text
            .as_ref()
            .map(|text| PushedManifest::parse(text.as_bytes()));
        if let Some(Ok(manifest)) = manifest
            && let Some(subject) = manifest.subject()
        {
            let fact = PushedFact::Referrer(repository.clone(), subject, digest);
            facts.delete(&FactKey::Pushed(fact)).await?;
        }
        let fact = PushedFact::Manifest(repository.clone(), digest);
        facts.delete(&FactKey::Pushed(fact)).await?;
        Ok(text.is_some())
    }

    /// Says of a tag that it is gone with its manifest, unless one of them is there again meanwhile.
    async fn bury_tag(
        &self,
        repository: &RepositoryName,
        tag: &Tag,
        digest: Digest,
    ) -> Result<(), Failure> {
        let facts = self.platform.facts();
        let key = FactKey::Pushed(PushedFact::Tag(repository.clone(), tag.clone()));
        let manifest = FactKey::Pushed(PushedFact::Manifest(repository.clone(), digest));
        // Each time somebody else has written it, so this ends.
        while let Some(fact) = facts.get(&key).await? {
            let document = serde_json::from_slice(&fact.bytes);
            let mut document: TagDocument = document.map_err(corrupt)?;
            let is_other = document.is_gone || document.digest != digest;
            if is_other || facts.revision(&manifest).await?.is_some() {
                break;
            }
            document.is_gone = true;
            let text = serde_json::to_string(&document).map_err(corrupt)?;
            let (metadata, unchanged) = (document.to_metadata(), Condition::Unchanged(fact.etag));
            let put = self.put_document(&key, &text, &metadata, unchanged);
            if put.await?.is_some() {
                break;
            }
        }
        Ok(())
    }
}

fn unknown(told: String) -> Failure {
    denied(OciError::new(OciCode::ManifestUnknown, told))
}
