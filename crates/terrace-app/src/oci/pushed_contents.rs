//! The contents of repositories that clients push to: reads and writes their facts, computes their expected
//! indices, and decides who sees them.

use terrace_core::auth::access::{Caller, Visibility};
use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::model::package::Package;
use terrace_core::model::status::{Refusal, StatusDocument};
use terrace_core::oci::pushed::{
    ContentReference, LinkDocument, ListedTag, PushedManifest, TagDocument, blob_index,
    manifest_index, tags_index,
};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, PushedFact, PushedIndex};

use crate::access::status;
use crate::context::Context;
use crate::documents;
use crate::failure::Failure;
use crate::host::{Condition, Facts as _, Host};
use crate::index::expected_indices;
use crate::removal::garbage;

/// The digests that a manifest refers to.
#[derive(Debug, Default)]
pub(crate) struct References {
    pub(crate) blobs: Vec<Digest>,
    pub(crate) manifests: Vec<Digest>,
}

impl References {
    fn of(text: &str) -> Result<Self, Failure> {
        let manifest = PushedManifest::parse(text.as_bytes());
        let manifest = manifest.map_err(|error| Failure::corrupt(error.message()))?;
        let mut references = Self::default();
        for reference in manifest.references() {
            match *reference {
                ContentReference::Blob(digest) => references.blobs.push(digest),
                ContentReference::Manifest(digest) => references.manifests.push(digest),
            }
        }
        Ok(references)
    }
}

/// Returns the view that a caller has of a repository.
pub(crate) fn visibility<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    repository: &RepositoryName,
) -> Visibility {
    let owner = ctx.config.oci_providers.owner(repository);
    ctx.config.access.visibility(caller, &owner)
}

/// Returns the expected document of an index; `None` if nothing has this name.
pub(crate) async fn index<P: Host>(
    ctx: &Context<'_, P>,
    index: &PushedIndex,
) -> Result<Option<IndexDocument>, Failure> {
    match index {
        PushedIndex::Tags(repository) => {
            let mut tags = list_tags(ctx, repository).await?;
            let holds = ctx.config.oci_providers.address(repository).is_some();
            let statuses = status_of(ctx, repository).await?;
            tags.retain(|listed| refusal(&statuses, &listed.tag).is_none());
            Ok(tags_index(repository, holds, &tags))
        }
        PushedIndex::Tag(repository, name) => {
            let Some(TagDocument { digest, .. }) = tag(ctx, repository, name).await? else {
                return Ok(None);
            };
            let statuses = status_of(ctx, repository).await?;
            match refusal(&statuses, name) {
                Some(refusal) => Ok(Some(IndexDocument::tombstone(refusal))),
                None => stored_manifest_index(ctx, repository, digest).await,
            }
        }
        PushedIndex::Manifest(repository, digest) => {
            let statuses = status_of(ctx, repository).await?;
            if statuses.refuses_any() {
                let tags = list_tags(ctx, repository).await?;
                let names = tags.iter().filter(|it| it.document.digest == *digest);
                let mut refusals = names.filter_map(|it| refusal(&statuses, &it.tag));
                if let Some(refusal) = refusals.next() {
                    return Ok(Some(IndexDocument::tombstone(refusal)));
                }
            }
            let Some(text) = manifest(ctx, repository, *digest).await? else {
                return Ok(None);
            };
            if statuses.refuses_any() {
                let blobs = References::of(&text)?.blobs;
                if let Some(tombstone) = revoked_blob(ctx, repository, &blobs).await? {
                    return Ok(Some(tombstone));
                }
            }
            built(text, *digest).map(Some)
        }
        PushedIndex::Blob(repository, digest) => {
            let Some(link) = link(ctx, repository, *digest).await? else {
                return Ok(None);
            };
            match revoked_blob(ctx, repository, &[*digest]).await? {
                Some(tombstone) => Ok(Some(tombstone)),
                None => Ok(Some(blob_index(&link, *digest))),
            }
        }
    }
}

/// Returns the index of the first of these blobs that is a zip only of revoked or blocked versions, of the provider in a
/// repository.
pub(crate) async fn revoked_blob<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    blobs: &[Digest],
) -> Result<Option<IndexDocument>, Failure> {
    let Some(address) = ctx.config.oci_providers.address(repository) else {
        return Ok(None);
    };
    let digests = blobs.iter().filter_map(|digest| match digest {
        Digest::Sha256(digest) => Some(*digest),
        Digest::Sha512(_) => None,
    });
    expected_indices::revoked_content(ctx, &Package::Mirrored(address), digests).await
}

/// Describes the erasure of content that does not exist; `None` if it was not erased.
pub(crate) async fn erasure<P: Host>(
    ctx: &Context<'_, P>,
    index: &PushedIndex,
) -> Result<Option<String>, Failure> {
    let digest = match index {
        PushedIndex::Manifest(_, digest) | PushedIndex::Blob(_, digest) => Some(*digest),
        PushedIndex::Tag(..) => {
            let tag: Option<TagDocument> = documents::read(ctx, &index.fact()).await?;
            tag.map(|tag| tag.digest)
        }
        PushedIndex::Tags(_) => None,
    };
    match digest {
        Some(digest) => garbage::erasure_of(ctx, digest).await,
        None => Ok(None),
    }
}

/// Returns the references of a manifest; none if it does not exist.
pub(crate) async fn references_of<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
) -> Result<References, Failure> {
    match manifest(ctx, repository, digest).await? {
        Some(text) => References::of(&text),
        None => Ok(References::default()),
    }
}

/// Returns whether an index depends on the status of a mirrored provider, which has the tags of its repository as
/// versions.
pub(crate) fn is_of_provider<P: Host>(ctx: &Context<'_, P>, index: &PushedIndex) -> bool {
    let (PushedIndex::Tags(repository)
    | PushedIndex::Tag(repository, _)
    | PushedIndex::Manifest(repository, _)
    | PushedIndex::Blob(repository, _)) = index;
    ctx.config.oci_providers.address(repository).is_some()
}

/// Returns the status of the provider in a repository.
async fn status_of<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
) -> Result<StatusDocument, Failure> {
    match ctx.config.oci_providers.address(repository) {
        Some(address) => status::applied(ctx, &Package::Mirrored(address)).await,
        None => Ok(StatusDocument::default()),
    }
}

async fn stored_manifest_index<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
) -> Result<Option<IndexDocument>, Failure> {
    let text = manifest(ctx, repository, digest).await?;
    text.map(|text| built(text, digest)).transpose()
}

/// Returns the index of a stored manifest.
fn built(text: String, digest: Digest) -> Result<IndexDocument, Failure> {
    let index = manifest_index(text, digest);
    index.map_err(|error| Failure::corrupt(error.message()))
}

/// Returns a manifest as it was pushed.
pub(crate) async fn manifest<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
) -> Result<Option<String>, Failure> {
    let key = FactKey::Pushed(PushedFact::Manifest(repository.clone(), digest));
    let fact = ctx.host.facts().get(&key).await?;
    let text = fact.map(|fact| String::from_utf8(fact.bytes));
    text.transpose()
        .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))
}

/// Returns the document of a tag, unless it is a tombstone.
pub(crate) async fn tag<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    tag: &Tag,
) -> Result<Option<TagDocument>, Failure> {
    let fact = PushedFact::Tag(repository.clone(), tag.clone());
    let document: Option<TagDocument> = documents::read(ctx, &FactKey::Pushed(fact)).await?;
    Ok(document.filter(|document| !document.is_tombstone))
}

/// Returns the link of a blob in a repository; `None` if the repository does not have the blob.
pub(crate) async fn link<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
) -> Result<Option<LinkDocument>, Failure> {
    let fact = PushedFact::Link(repository.clone(), digest);
    documents::read(ctx, &FactKey::Pushed(fact)).await
}

/// Lists all tags of a repository, including tombstones. If a copy of the bucket has lost an object's
/// metadata, its document is read.
pub(crate) async fn list_tags<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
) -> Result<Vec<ListedTag>, Failure> {
    let prefix = PushedFact::tags_of(repository);
    let mut tags = Vec::new();
    for fact in documents::list(ctx, &prefix).await? {
        let Some(tag) = Tag::parse(&fact.name) else {
            ctx.host
                .log(&format!("{prefix}{} is not a tag: skipped", fact.name));
            continue;
        };
        let document = match TagDocument::from_metadata(|name| fact.value(name)) {
            Some(document) => Some(document),
            None => {
                let fact = PushedFact::Tag(repository.clone(), tag.clone());
                documents::read(ctx, &FactKey::Pushed(fact)).await?
            }
        };
        tags.extend(document.map(|document| ListedTag { tag, document }));
    }
    Ok(tags)
}

/// Writes a fact of a repository, whatever is stored under its key.
pub(crate) async fn put<P: Host>(
    ctx: &Context<'_, P>,
    fact: PushedFact,
    document: &str,
    metadata: &[(&str, String)],
) -> Result<(), Failure> {
    let key = FactKey::Pushed(fact);
    let put = documents::put(ctx, &key, document, metadata, Condition::Any);
    put.await.map(drop)
}

/// Returns the reason why the version of a tag must not be installed, if it is revoked or blocked.
fn refusal<'s>(statuses: &'s StatusDocument, tag: &Tag) -> Option<Refusal<'s>> {
    tag.version().and_then(|version| statuses.refusal(&version))
}
