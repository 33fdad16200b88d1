//! Manifests and tags: written and removed.

use std::cell::RefCell;

use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::oci::pushed::{
    ListedTag, ManifestReference, PushedManifest, TagDocument, referrer_metadata,
};
use terrace_core::storage::key::{FactKey, PushedFact};

use crate::concurrent::{Boxed, all};
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Condition, Facts as _, Host, StoreError};
use crate::json;
use crate::services::documents;
use crate::services::oci::error::denied;
use crate::services::oci::{catalog as oci_catalog, indexer as oci_indexer};

/// How many digests an error names.
const NAMED: usize = 5;

/// How often a manifest is written that others delete at the same time.
const WRITES: usize = 5;

/// A manifest on its way in.
pub(crate) struct PushedDocument {
    pub(crate) digest: Digest,
    pub(crate) text: String,
    pub(crate) manifest: PushedManifest,
    /// What will name it.
    pub(crate) tags: Vec<Tag>,
    /// What it is about, and how the list of what refers to that describes it.
    pub(crate) referrer: Option<(Digest, String)>,
}

/// Everything that a manifest refers to must be in its repository.
pub(crate) async fn check_references<P: Host>(
    ctx: &Context<'_, P>,
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
            let facts = ctx.host.facts();
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
pub(crate) async fn store<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    sent: &PushedDocument,
) -> Result<(), Failure> {
    let fact = PushedFact::Manifest(repository.clone(), sent.digest);
    let key = FactKey::Pushed(fact);
    for _ in 0..WRITES {
        write(ctx, repository, sent).await?;
        if ctx.host.facts().revision(&key).await?.is_some() {
            if !sent.tags.is_empty() {
                oci_indexer::mark_tags(ctx, repository).await?;
            }
            return oci_indexer::refresh_manifest(ctx, repository, sent.digest, &sent.tags).await;
        }
    }
    Err(StoreError::Busy(key.to_string()).into())
}

/// The manifest before what names it. The same again does no harm.
async fn write<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    sent: &PushedDocument,
) -> Result<(), Failure> {
    let fact = PushedFact::Manifest(repository.clone(), sent.digest);
    oci_catalog::put(ctx, fact, &sent.text, &[]).await?;
    if let Some((subject, descriptor)) = &sent.referrer {
        let fact = PushedFact::Referrer(repository.clone(), *subject, sent.digest);
        let metadata = referrer_metadata(&sent.manifest);
        oci_catalog::put(ctx, fact, descriptor, &metadata).await?;
    }
    let document = TagDocument::of(sent.digest, &sent.manifest, ctx.unique_number());
    let metadata = document.to_metadata();
    let document = json::text(&document)?;
    for tag in &sent.tags {
        let fact = PushedFact::Tag(repository.clone(), tag.clone());
        oci_catalog::put(ctx, fact, &document, &metadata).await?;
    }
    Ok(())
}

pub(crate) async fn delete_tag<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    tag: Tag,
) -> Result<(), Failure> {
    let was_there = oci_catalog::tag(ctx, repository, &tag).await?.is_some();
    let fact = PushedFact::Tag(repository.clone(), tag.clone());
    // Also where it is gone: what was broken off after the fact has left its index.
    ctx.host.facts().delete(&FactKey::Pushed(fact)).await?;
    oci_indexer::mark_tags(ctx, repository).await?;
    let tags = [tag];
    oci_indexer::refresh_tags(ctx, repository, &tags).await?;
    let [tag] = tags;
    match was_there {
        true => Ok(()),
        false => Err(unknown(format!("{repository} has no tag {tag}"))),
    }
}

/// The manifest goes before the tags that name it. Who pushes it at the same time either finds that
/// it is gone, and writes everything again, or has written its tags before they are listed here.
pub(crate) async fn delete_by_digest<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
) -> Result<(), Failure> {
    let was_there = remove(ctx, repository, digest).await?;
    let listed = oci_catalog::list_tags(ctx, repository).await?.into_iter();
    let (mut tags, mut was_named) = (Vec::new(), false);
    // Also those that are gone already: what was broken off has left their indices.
    for ListedTag { tag, document } in listed.filter(|it| it.document.digest == digest) {
        if !document.is_gone {
            was_named = true;
            bury_tag(ctx, repository, &tag, digest).await?;
        }
        tags.push(tag);
    }
    if !tags.is_empty() {
        oci_indexer::mark_tags(ctx, repository).await?;
    }
    oci_indexer::refresh_manifest(ctx, repository, digest, &tags).await?;
    match was_there || was_named {
        true => Ok(()),
        false => Err(unknown(format!("{repository} has no manifest {digest}"))),
    }
}

/// Removes a manifest, and first that it refers to another; tells whether it was there.
async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
) -> Result<bool, Failure> {
    let facts = ctx.host.facts();
    let text = oci_catalog::manifest(ctx, repository, digest).await?;
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
async fn bury_tag<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    tag: &Tag,
    digest: Digest,
) -> Result<(), Failure> {
    let facts = ctx.host.facts();
    let key = FactKey::Pushed(PushedFact::Tag(repository.clone(), tag.clone()));
    let manifest = FactKey::Pushed(PushedFact::Manifest(repository.clone(), digest));
    // Each time somebody else has written it, so this ends.
    while let Some(fact) = facts.get(&key).await? {
        let document = serde_json::from_slice(&fact.bytes);
        let mut document: TagDocument = document.map_err(Failure::corrupt)?;
        let is_other = document.is_gone || document.digest != digest;
        if is_other || facts.revision(&manifest).await?.is_some() {
            break;
        }
        document.is_gone = true;
        let text = json::text(&document)?;
        let (metadata, unchanged) = (document.to_metadata(), Condition::Unchanged(fact.etag));
        let put = documents::put(ctx, &key, &text, &metadata, unchanged);
        if put.await?.is_some() {
            break;
        }
    }
    Ok(())
}

fn unknown(told: String) -> Failure {
    denied(OciError::new(OciCode::ManifestUnknown, told))
}
