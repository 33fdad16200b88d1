//! Manifests and tags, pushed and deleted.

use std::cell::RefCell;

use terrace_core::digest::Sha256;
use terrace_core::key::{FactKey, PushedFact, PushedIndex};
use terrace_core::limits;
use terrace_core::oci::pushed::{
    ManifestName, ManifestReference, PushedManifest, PushedPath, TagDocument,
};
use terrace_core::oci::{Digest, OciCode, OciError, Query, RepositoryName, Tag};
use terrace_core::problem::Problem;
use terrace_core::read::CONTENT_DIGEST;
use terrace_core::reply::{CachePolicy, Reply};

use super::{corrupt, denied};
use crate::app::{App, Boxed, Failure, all, content_length};
use crate::store::{BodyError, Facts as _, Platform, Request};

/// How many digests an error names.
const NAMED: usize = 5;

impl<P: Platform> App<'_, P> {
    pub(super) async fn push_manifest<R>(
        &self,
        repository: RepositoryName,
        name: ManifestName,
        mut request: R,
    ) -> Result<Reply<P::Stream>, Failure>
    where
        R: Request<Stream = P::Stream>,
    {
        let bytes = manifest_body(&mut request).await?;
        let (digest, tags) = match name {
            ManifestName::Tag(tag) => (Digest::Sha256(Sha256::of(&bytes)), vec![tag]),
            ManifestName::Digest(digest) => {
                let tags = tags_in(Query(request.query())).map_err(denied)?;
                if digest.of_same_kind(&bytes) != digest {
                    let told = format!("what was sent does not have the digest {digest}");
                    return Err(denied(OciError::new(OciCode::DigestInvalid, told)));
                }
                (digest, tags)
            }
        };
        let content_type = request.header("content-type");
        let text = String::from_utf8(bytes).map_err(|_| {
            denied(OciError::new(
                OciCode::ManifestInvalid,
                "the body is no text",
            ))
        })?;
        let manifest = PushedManifest::pushed(text.as_bytes(), content_type.as_deref());
        let manifest = manifest.map_err(denied)?;
        // What is to be installed must be whole. Elsewhere parts may be missing: of an index, say, the platforms
        // that nobody here needs, without which it would have another digest.
        if self.config.oci_providers.address(&repository).is_some() {
            self.check_references(&repository, manifest.references())
                .await?;
        }
        // What contradicts a mirrored release is not tagged.
        for tag in &tags {
            self.mirror_pushed(&repository, tag, &manifest, request.origin())
                .await?;
        }
        self.store_manifest(&repository, digest, &text, &manifest, &tags)
            .await?;
        let by_digest = PushedPath::Manifest(ManifestName::Digest(digest));
        let mut reply = Reply::new(201, CachePolicy::NoStore)
            .with("location", by_digest.location(&repository))
            .with(CONTENT_DIGEST, digest.to_string());
        if let Some(subject) = manifest.subject() {
            reply = reply.with("oci-subject", subject.to_string());
        }
        if !tags.is_empty() {
            let tags: Vec<&str> = tags.iter().map(Tag::as_str).collect();
            reply = reply.with("oci-tag", tags.join(", "));
        }
        Ok(reply)
    }

    /// Everything that a manifest refers to must be in its repository.
    async fn check_references(
        &self,
        repository: &RepositoryName,
        references: &[ManifestReference],
    ) -> Result<(), Failure> {
        let missing = RefCell::new(Vec::new());
        let missing_here = &missing;
        let look = |reference: &ManifestReference| -> Boxed<'_> {
            let (digest, fact) = match *reference {
                ManifestReference::Blob(digest) => {
                    (digest, PushedFact::Link(repository.clone(), digest))
                }
                ManifestReference::Manifest(digest) => {
                    (digest, PushedFact::Manifest(repository.clone(), digest))
                }
            };
            Box::pin(async move {
                let facts = self.platform.facts();
                if facts.revision(&FactKey::Pushed(fact)).await?.is_none() {
                    missing_here.borrow_mut().push(digest.to_string());
                }
                Ok(())
            })
        };
        all(references.iter().map(look).collect()).await?;
        let missing = missing.into_inner();
        if missing.is_empty() {
            return Ok(());
        }
        let named = missing.iter().take(NAMED).map(String::as_str);
        let named: Vec<&str> = named.collect();
        let (count, named) = (missing.len(), named.join(", "));
        let told = format!("{repository} does not have {count} of what this refers to: {named}");
        Err(denied(OciError::new(OciCode::ManifestBlobUnknown, told)))
    }

    /// The manifest before what names it. The same again does no harm.
    async fn store_manifest(
        &self,
        repository: &RepositoryName,
        digest: Digest,
        text: &str,
        manifest: &PushedManifest,
        tags: &[Tag],
    ) -> Result<(), Failure> {
        let fact = PushedFact::Manifest(repository.clone(), digest);
        self.put_pushed(fact, text, &[]).await?;
        if let Some(subject) = manifest.subject() {
            let descriptor = manifest.referrer(text.as_bytes(), digest);
            let fact = PushedFact::Referrer(repository.clone(), subject, digest);
            let descriptor = descriptor.map_err(corrupt)?;
            self.put_pushed(fact, &descriptor, &[]).await?;
        }
        let document = TagDocument::of(digest, manifest);
        let metadata = document.to_metadata();
        let document = serde_json::to_string(&document).map_err(corrupt)?;
        for tag in tags {
            let fact = PushedFact::Tag(repository.clone(), tag.clone());
            self.put_pushed(fact, &document, &metadata).await?;
        }
        if !tags.is_empty() {
            self.mark_tags(repository).await?;
        }
        self.index_manifests(repository, Some(digest), tags).await
    }

    /// Makes the indices of a manifest and of tags what the facts say; if there are tags, their list, too.
    async fn index_manifests(
        &self,
        repository: &RepositoryName,
        digest: Option<Digest>,
        tags: &[Tag],
    ) -> Result<(), Failure> {
        let manifest = digest.map(|digest| PushedIndex::Manifest(repository.clone(), digest));
        let list = (!tags.is_empty()).then(|| PushedIndex::Tags(repository.clone()));
        let tags = tags.iter();
        let tags = tags.map(|tag| PushedIndex::Tag(repository.clone(), tag.clone()));
        let indices = manifest.into_iter().chain(tags).chain(list);
        let write =
            |index| -> Boxed<'_> { Box::pin(async move { self.index_pushed(&index).await }) };
        all(indices.map(write).collect()).await
    }

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
        let tags = [tag];
        // Also where it is gone: what was broken off after the fact has left its index.
        self.remove_tags(repository, &tags).await?;
        self.mark_tags(repository).await?;
        self.index_manifests(repository, None, &tags).await?;
        let [tag] = tags;
        match was_there {
            true => Ok(()),
            false => Err(unknown(format!("{repository} has no tag {tag}"))),
        }
    }

    /// What names a manifest goes before it, and is written down until its indices are gone: so that what
    /// is broken off can be done again.
    async fn delete_by_digest(
        &self,
        repository: &RepositoryName,
        digest: Digest,
    ) -> Result<(), Failure> {
        let facts = self.platform.facts();
        let removal = PushedFact::Removal(repository.clone(), digest);
        let begun: Option<Vec<String>> = self.document(&FactKey::Pushed(removal.clone())).await?;
        let text = self.manifest(repository, digest).await?;
        if text.is_none() && begun.is_none() {
            self.index_manifests(repository, Some(digest), &[]).await?;
            return Err(unknown(format!("{repository} has no manifest {digest}")));
        }
        let listed = self.list_tags(repository).await?.into_iter();
        let named = listed.filter(|listed| listed.document.digest == digest);
        let named: Vec<Tag> = named.map(|listed| listed.tag).collect();
        let begun = begun.unwrap_or_default();
        let begun = begun.iter().filter_map(|text| Tag::parse(text));
        let gone: Vec<Tag> = begun.filter(|tag| !named.contains(tag)).collect();
        let tags: Vec<Tag> = named.iter().chain(&gone).cloned().collect();
        if !tags.is_empty() {
            let texts: Vec<&str> = tags.iter().map(Tag::as_str).collect();
            let document = serde_json::to_string(&texts).map_err(corrupt)?;
            self.put_pushed(removal.clone(), &document, &[]).await?;
        }
        self.remove_tags(repository, &named).await?;
        if !tags.is_empty() {
            self.mark_tags(repository).await?;
        }
        let text = text.unwrap_or_default();
        let manifest = PushedManifest::parse(text.as_bytes()).ok();
        if let Some(subject) = manifest.and_then(|manifest| manifest.subject()) {
            let fact = PushedFact::Referrer(repository.clone(), subject, digest);
            facts.delete(&FactKey::Pushed(fact)).await?;
        }
        let fact = PushedFact::Manifest(repository.clone(), digest);
        facts.delete(&FactKey::Pushed(fact)).await?;
        self.index_manifests(repository, Some(digest), &tags)
            .await?;
        if !tags.is_empty() {
            facts.delete(&FactKey::Pushed(removal)).await?;
        }
        Ok(())
    }

    async fn remove_tags(&self, repository: &RepositoryName, tags: &[Tag]) -> Result<(), Failure> {
        for tag in tags {
            let fact = PushedFact::Tag(repository.clone(), tag.clone());
            self.platform.facts().delete(&FactKey::Pushed(fact)).await?;
        }
        Ok(())
    }
}

/// The body, whether its length is told or not.
async fn manifest_body<R: Request>(request: &mut R) -> Result<Vec<u8>, Failure> {
    let most = limits::MANIFEST_BYTES;
    let too_large = || Failure::from(Problem::TooLarge(most));
    let read = match request.header("content-length") {
        Some(_) if content_length(request)? > most => return Err(too_large()),
        Some(_) => request.bytes().await,
        None => request.bytes_up_to(most).await,
    };
    let bytes = read.map_err(|BodyError(cause)| {
        Problem::BadRequest(format!("the body could not be read to its end: {cause}"))
    })?;
    if bytes.len() as u64 > most {
        return Err(too_large());
    }
    Ok(bytes)
}

/// The tags that a manifest is to have which is pushed by its digest.
fn tags_in(query: Query<'_>) -> Result<Vec<Tag>, OciError> {
    let most = limits::TAGS_AT_ONCE;
    let mut tags: Vec<Tag> = Vec::new();
    for text in query.values("tag") {
        let tag = Tag::parse(&text).ok_or_else(|| {
            let told = "a tag has 1 to 128 letters, digits and _ . -";
            OciError::new(OciCode::ManifestInvalid, told)
        })?;
        if !tags.contains(&tag) {
            tags.push(tag);
        }
        if tags.len() > most {
            let told = format!("at most {most} tags can be pushed at once");
            return Err(OciError::new(OciCode::SizeInvalid, told).with_status(414));
        }
    }
    Ok(tags)
}

fn unknown(told: String) -> Failure {
    denied(OciError::new(OciCode::ManifestUnknown, told))
}
