//! Writes and removes manifests and tags.

use std::cell::RefCell;

use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::problem::Problem;
use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::oci::pushed::{
    ContentReference, ListedTag, PushedManifest, TagDocument, referrer_metadata,
};
use terrace_core::storage::key::{BytesKey, FactKey, PushedFact};

use crate::concurrent::{Boxed, all};
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Condition, Facts as _, Host, StoreError};
use crate::oci::{pushed_contents, pushed_index_refresh};
use crate::removal::garbage;
use crate::{documents, json};

/// How many digests an error lists.
const MISSING_DIGESTS_SHOWN: usize = 5;

/// How often a manifest is written while others delete it.
const MANIFEST_WRITE_ATTEMPTS: usize = 5;

/// A pushed manifest, before it is stored.
pub(crate) struct PushedDocument {
    pub(crate) digest: Digest,
    pub(crate) text: String,
    pub(crate) manifest: PushedManifest,
    /// The tags that will refer to it.
    pub(crate) tags: Vec<Tag>,
    /// Its subject, and its descriptor in the subject's list of referrers.
    pub(crate) referrer: Option<(Digest, String)>,
}

/// Rejects a manifest if its repository lacks something that it refers to.
pub(crate) async fn check_references<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    references: &[ContentReference],
) -> Result<(), Failure> {
    let missing = RefCell::new(Vec::new());
    let missing_here = &missing;
    let look = |reference: &ContentReference| -> Boxed<'_> {
        let (digest, fact) = match *reference {
            ContentReference::Blob(digest) => {
                (digest, PushedFact::Link(repository.clone(), digest))
            }
            ContentReference::Manifest(digest) => {
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
    let named = missing
        .iter()
        .take(MISSING_DIGESTS_SHOWN)
        .map(String::as_str);
    let named: Vec<&str> = named.collect();
    let (count, named) = (missing.len(), named.join(", "));
    let message = format!(
        "the manifest refers to {count} blobs or manifests that are not in {repository}: push them first: {named}"
    );
    Err(OciError::new(OciCode::ManifestBlobUnknown, message).into())
}

/// Rejects a manifest that was erased, or that refers to erased content.
pub(crate) async fn check_kept<P: Host>(
    ctx: &Context<'_, P>,
    sent: &PushedDocument,
) -> Result<(), Failure> {
    let fence = garbage::fence(ctx).await?;
    let references = sent.manifest.references().iter();
    let digests = references.map(|reference| match *reference {
        ContentReference::Blob(digest) | ContentReference::Manifest(digest) => digest,
    });
    for digest in std::iter::once(sent.digest).chain(digests) {
        garbage::ensure_not_erased(ctx, BytesKey::Blob(digest), &fence).await?;
    }
    Ok(())
}

/// Writes the facts, and repeats that until the manifest exists afterwards: a concurrent deletion then lists
/// the tags only after they were written. Then refreshes the indices.
pub(crate) async fn store<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    sent: &PushedDocument,
) -> Result<(), Failure> {
    let fact = PushedFact::Manifest(repository.clone(), sent.digest);
    let key = FactKey::Pushed(fact);
    for _ in 0..MANIFEST_WRITE_ATTEMPTS {
        write(ctx, repository, sent).await?;
        if ctx.host.facts().revision(&key).await?.is_some() {
            // An erasure lists the manifests after it has made the tombstone.
            if let Err(failure) = garbage::ensure_kept(ctx, BytesKey::Blob(sent.digest)).await {
                if matches!(failure, Failure::Problem(Problem::Gone(_))) {
                    discard(ctx, repository, sent.digest).await?;
                }
                return Err(failure);
            }
            if !sent.tags.is_empty() {
                pushed_index_refresh::mark_changed(ctx, repository).await?;
            }
            return pushed_index_refresh::refresh_manifest(
                ctx,
                repository,
                sent.digest,
                &sent.tags,
            )
            .await;
        }
    }
    Err(StoreError::Busy(key.to_string()).into())
}

/// Writes the manifest before the facts that refer to it. A repetition does no harm.
async fn write<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    sent: &PushedDocument,
) -> Result<(), Failure> {
    let fact = PushedFact::Manifest(repository.clone(), sent.digest);
    pushed_contents::put(ctx, fact, &sent.text, &[]).await?;
    if let Some((subject, descriptor)) = &sent.referrer {
        let fact = PushedFact::Referrer(repository.clone(), *subject, sent.digest);
        let metadata = referrer_metadata(&sent.manifest);
        pushed_contents::put(ctx, fact, descriptor, &metadata).await?;
    }
    let document = TagDocument::of(sent.digest, &sent.manifest, ctx.unique_number());
    let metadata = document.to_metadata();
    let document = json::text(&document)?;
    for tag in &sent.tags {
        let fact = PushedFact::Tag(repository.clone(), tag.clone());
        pushed_contents::put(ctx, fact, &document, &metadata).await?;
    }
    Ok(())
}

/// Deletes a tag, and refreshes its indices.
pub(crate) async fn delete_tag<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    tag: Tag,
) -> Result<(), Failure> {
    let was_there = pushed_contents::tag(ctx, repository, &tag).await?.is_some();
    let fact = PushedFact::Tag(repository.clone(), tag.clone());
    // Also if the tag is missing: a deletion that failed after removing the fact left its index.
    ctx.host.facts().delete(&FactKey::Pushed(fact)).await?;
    pushed_index_refresh::mark_changed(ctx, repository).await?;
    let tags = [tag];
    pushed_index_refresh::refresh_tags(ctx, repository, &tags).await?;
    let [tag] = tags;
    match was_there {
        true => Ok(()),
        false => Err(unknown(format!("{repository} has no tag {tag}"))),
    }
}

/// Deletes a manifest, if it exists, before the tags that refer to it. A concurrent push either finds the manifest missing
/// and writes everything again, or has written its tags before they are listed here. Returns whether there was anything to
/// delete.
pub(crate) async fn discard<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
) -> Result<bool, Failure> {
    let was_there = remove(ctx, repository, digest).await?;
    let listed = pushed_contents::list_tags(ctx, repository)
        .await?
        .into_iter();
    let (mut tags, mut was_named) = (Vec::new(), false);
    // Also those that are tombstones already: a deletion that failed midway left their indices.
    for ListedTag { tag, document } in listed.filter(|it| it.document.digest == digest) {
        if !document.is_tombstone {
            was_named = true;
            write_tombstone(ctx, repository, &tag, digest).await?;
        }
        tags.push(tag);
    }
    pushed_index_refresh::mark_changed(ctx, repository).await?;
    pushed_index_refresh::refresh_manifest(ctx, repository, digest, &tags).await?;
    Ok(was_there || was_named)
}

/// Removes the entry of a manifest in its subject's referrers, and then the manifest. Returns whether it
/// existed.
async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
) -> Result<bool, Failure> {
    let facts = ctx.host.facts();
    let text = pushed_contents::manifest(ctx, repository, digest).await?;
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

/// Turns a tag into a tombstone, unless the tag or its manifest has been pushed again in the meantime.
async fn write_tombstone<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    tag: &Tag,
    digest: Digest,
) -> Result<(), Failure> {
    let facts = ctx.host.facts();
    let key = FactKey::Pushed(PushedFact::Tag(repository.clone(), tag.clone()));
    let manifest = FactKey::Pushed(PushedFact::Manifest(repository.clone(), digest));
    // Each iteration means that another request has written the tag, so this ends.
    while let Some(fact) = facts.get(&key).await? {
        let document = serde_json::from_slice(&fact.bytes);
        let mut document: TagDocument = document.map_err(Failure::corrupt)?;
        let is_other = document.is_tombstone || document.digest != digest;
        if is_other || facts.revision(&manifest).await?.is_some() {
            break;
        }
        document.is_tombstone = true;
        let text = json::text(&document)?;
        let (metadata, unchanged) = (document.to_metadata(), Condition::Unchanged(fact.etag));
        let put = documents::put(ctx, &key, &text, &metadata, unchanged);
        if put.await?.is_some() {
            break;
        }
    }
    Ok(())
}

pub(super) fn unknown(message: String) -> Failure {
    OciError::new(OciCode::ManifestUnknown, message).into()
}
