//! Manifests and tags, pushed.

use std::cell::RefCell;

use terrace_base::digest::Sha256;
use terrace_core::http::form::Query;
use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::oci::pushed::{
    ManifestName, ManifestReference, PushedManifest, PushedPath, TagDocument, referrer_metadata,
};
use terrace_core::read::CONTENT_DIGEST;
use terrace_core::storage::key::{FactKey, PushedFact, PushedIndex};

use super::{corrupt, denied};
use crate::app::{App, Boxed, Failure, all, content_length};
use crate::store::{BodyError, Facts as _, Platform, Request, StoreError};

/// How many digests an error names.
const NAMED: usize = 5;

/// How often a manifest is written that others delete at the same time.
const WRITES: usize = 5;

/// A manifest on its way in.
struct Sent {
    digest: Digest,
    text: String,
    manifest: PushedManifest,
    /// What will name it.
    tags: Vec<Tag>,
    /// What it is about, and how the list of what refers to that describes it.
    referrer: Option<(Digest, String)>,
}

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
        let sent = read_manifest(name, &mut request).await?;
        // What is to be installed must be whole. Elsewhere parts may be missing: of an index, say, the platforms
        // that nobody here needs, without which it would have another digest.
        if self.config.oci_providers.address(&repository).is_some() {
            self.check_references(&repository, sent.manifest.references())
                .await?;
        }
        // What contradicts a mirrored release is not tagged.
        self.mirror_pushed(&repository, &sent.tags, &sent.manifest, request.origin())
            .await?;
        self.store_manifest(&repository, &sent).await?;
        let by_digest = PushedPath::Manifest(ManifestName::Digest(sent.digest));
        let mut reply = Reply::new(201, CachePolicy::NoStore)
            .with("location", by_digest.location(&repository))
            .with(CONTENT_DIGEST, sent.digest.to_string());
        if let Some((subject, _)) = sent.referrer {
            reply = reply.with("oci-subject", subject.to_string());
        }
        if !sent.tags.is_empty() {
            let tags: Vec<&str> = sent.tags.iter().map(Tag::as_str).collect();
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

    /// Writes the facts, until those that name the manifest are known to have come before whoever deletes
    /// it would look for them; and then the indices.
    async fn store_manifest(
        &self,
        repository: &RepositoryName,
        sent: &Sent,
    ) -> Result<(), Failure> {
        let fact = PushedFact::Manifest(repository.clone(), sent.digest);
        let key = FactKey::Pushed(fact);
        for _ in 0..WRITES {
            self.write_manifest(repository, sent).await?;
            if self.platform.facts().revision(&key).await?.is_some() {
                if !sent.tags.is_empty() {
                    self.mark_tags(repository).await?;
                }
                return self
                    .index_manifests(repository, sent.digest, &sent.tags)
                    .await;
            }
        }
        Err(StoreError::Busy(key.to_string()).into())
    }

    /// The manifest before what names it. The same again does no harm.
    async fn write_manifest(
        &self,
        repository: &RepositoryName,
        sent: &Sent,
    ) -> Result<(), Failure> {
        let fact = PushedFact::Manifest(repository.clone(), sent.digest);
        self.put_pushed(fact, &sent.text, &[]).await?;
        if let Some((subject, descriptor)) = &sent.referrer {
            let fact = PushedFact::Referrer(repository.clone(), *subject, sent.digest);
            let metadata = referrer_metadata(&sent.manifest);
            self.put_pushed(fact, descriptor, &metadata).await?;
        }
        let document = TagDocument::of(sent.digest, &sent.manifest, self.unique_number());
        let metadata = document.to_metadata();
        let document = serde_json::to_string(&document).map_err(corrupt)?;
        for tag in &sent.tags {
            let fact = PushedFact::Tag(repository.clone(), tag.clone());
            self.put_pushed(fact, &document, &metadata).await?;
        }
        Ok(())
    }

    /// Makes the indices of a manifest and of tags what the facts say; if there are tags, their list, too.
    pub(super) async fn index_manifests(
        &self,
        repository: &RepositoryName,
        digest: Digest,
        tags: &[Tag],
    ) -> Result<(), Failure> {
        let manifest = PushedIndex::Manifest(repository.clone(), digest);
        self.index_pushed(&manifest).await?;
        self.index_tags(repository, tags).await
    }

    pub(super) async fn index_tags(
        &self,
        repository: &RepositoryName,
        tags: &[Tag],
    ) -> Result<(), Failure> {
        let list = (!tags.is_empty()).then(|| PushedIndex::Tags(repository.clone()));
        let tags = tags.iter();
        let tags = tags.map(|tag| PushedIndex::Tag(repository.clone(), tag.clone()));
        let write =
            |index| -> Boxed<'_> { Box::pin(async move { self.index_pushed(&index).await }) };
        all(tags.chain(list).map(write).collect()).await
    }
}

/// What is pushed, understood as far as that goes without storage.
async fn read_manifest<R: Request>(name: ManifestName, request: &mut R) -> Result<Sent, Failure> {
    let bytes = manifest_body(request).await?;
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
    let no_text = |_| {
        denied(OciError::new(
            OciCode::ManifestInvalid,
            "the body is no text",
        ))
    };
    let text = String::from_utf8(bytes).map_err(no_text)?;
    let manifest = PushedManifest::pushed(text.as_bytes(), content_type.as_deref());
    let manifest = manifest.map_err(denied)?;
    let referrer = match manifest.subject() {
        Some(subject) => {
            let descriptor = manifest.referrer(text.as_bytes(), digest);
            Some((subject, descriptor.map_err(denied)?))
        }
        None => None,
    };
    Ok(Sent {
        digest,
        text,
        manifest,
        tags,
        referrer,
    })
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
