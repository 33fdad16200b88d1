//! Refreshes the indices of pushed content: each follows one fact.

use std::collections::HashSet;

use terrace_core::model::address::MirroredAddress;
use terrace_core::model::oci::{Digest, RepositoryName, Tag};
use terrace_core::model::version::Version;
use terrace_core::oci::pushed::TagDocument;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{IndexKey, PushedFact, PushedIndex};

use crate::access::rules;
use crate::concurrent::{Boxed, all};
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Host, Indices as _, StoreError};
use crate::index::index_writer;
use crate::index::index_writer::Writing;
use crate::oci::pushed_contents;

/// Writes or removes an index, so that it matches its fact.
pub(crate) async fn refresh<P: Host>(
    ctx: &Context<'_, P>,
    index: &PushedIndex,
) -> Result<(), Failure> {
    let writing = Writing::alone();
    let write = || -> Boxed<'_> {
        Box::pin(async {
            if pushed_contents::is_of_provider(ctx, index) {
                rules::read_facts(ctx).await?;
            }
            let document = pushed_contents::index(ctx, index).await?;
            Ok(write(ctx, index, document.as_ref(), &writing).await?)
        })
    };
    match index_writer::until_current(ctx, &index.fact(), &writing, &write).await? {
        true => Ok(()),
        false => Err(StoreError::Busy(index.to_string()).into()),
    }
}

async fn write<P: Host>(
    ctx: &Context<'_, P>,
    index: &PushedIndex,
    document: Option<&IndexDocument>,
    writing: &Writing,
) -> Result<(), StoreError> {
    let key = IndexKey::Pushed(index.clone());
    match document {
        Some(document) => writing.put(ctx, &key, document).await,
        None => ctx.host.indices().delete(&key).await,
    }
}

/// Refreshes the indices of repositories that contain a version of a mirrored provider, after its status
/// changed.
pub(crate) async fn refresh_versions<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    version: &Version,
) -> Result<(), Failure> {
    let Some(tag) = Tag::of(version) else {
        return Ok(());
    };
    for repository in ctx.config.oci_providers.repositories(address) {
        let Some(TagDocument { digest, .. }) = pushed_contents::tag(ctx, &repository, &tag).await?
        else {
            continue;
        };
        mark_changed(ctx, &repository).await?;
        let mut indices = vec![
            PushedIndex::Tag(repository.clone(), tag.clone()),
            PushedIndex::Manifest(repository.clone(), digest),
            PushedIndex::Tags(repository.clone()),
        ];
        let targets = pushed_contents::references_of(ctx, &repository, digest)
            .await?
            .manifests;
        for target in targets {
            indices.push(PushedIndex::Manifest(repository.clone(), target));
            let blobs = pushed_contents::references_of(ctx, &repository, target)
                .await?
                .blobs;
            let blobs = blobs.into_iter();
            indices.extend(blobs.map(|blob| PushedIndex::Blob(repository.clone(), blob)));
        }
        let mut written = HashSet::new();
        // All platforms share one config.
        indices.retain(|index| written.insert(index.to_string()));
        for index in indices {
            refresh(ctx, &index).await?;
        }
    }
    Ok(())
}

/// Refreshes the indices of a manifest and of tags and, if there are tags, their list.
pub(crate) async fn refresh_manifest<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
    tags: &[Tag],
) -> Result<(), Failure> {
    let manifest = PushedIndex::Manifest(repository.clone(), digest);
    refresh(ctx, &manifest).await?;
    refresh_tags(ctx, repository, tags).await
}

pub(crate) async fn refresh_tags<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    tags: &[Tag],
) -> Result<(), Failure> {
    let list = (!tags.is_empty()).then(|| PushedIndex::Tags(repository.clone()));
    let tags = tags.iter();
    let tags = tags.map(|tag| PushedIndex::Tag(repository.clone(), tag.clone()));
    let write = |index| -> Boxed<'_> { Box::pin(async move { refresh(ctx, &index).await }) };
    all(tags.chain(list).map(write).collect()).await
}

/// Changes the marker of a repository, after a change of its tags or a removal: a concurrent writer of the list of tags writes it
/// again, and processes with indices of their own find those that are too old.
pub(crate) async fn mark_changed<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
) -> Result<(), Failure> {
    let change = PushedFact::Change(repository.clone());
    pushed_contents::put(ctx, change, &ctx.change_marker(), &[]).await
}
