//! Mounts blobs from another repository, so that the client need not upload them.

use terrace_core::auth::access::{Caller, Owner, Visibility};
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::oci::pushed::LinkDocument;
use terrace_core::oci::{EMPTY_CONFIG, empty_config_digest, package_of};
use terrace_core::storage::index_document::ContentMetadata;
use terrace_core::storage::key::{ArchiveKey, BytesKey};

use crate::archives::stored_archives;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Archives as _, Host, Payload, StoreError, Stored};
use crate::index::expected_indices;
use crate::oci::pushed_contents;

/// Prepares to mount a blob into a repository: stores its bytes among the blobs if they are not there, and
/// returns the link to add; `None` unless the caller may read such a blob. `origin` is the registry's own, as the client reached it.
pub(crate) async fn prepare_mount<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    repository: &RepositoryName,
    from: Option<&str>,
    digest: Digest,
    origin: &str,
) -> Result<Option<LinkDocument>, Failure> {
    let Some(from) = from else {
        if !ctx.config.access.may_read_all(caller) {
            return prepare_pushed(ctx, caller, repository, digest).await;
        }
        let head = ctx.host.archives().head(BytesKey::Blob(digest));
        return Ok(head.await?.map(|head| LinkDocument { size: head.size }));
    };
    if let Ok(from) = RepositoryName::parse(from) {
        return prepare_pushed(ctx, caller, &from, digest).await;
    }
    let own = OwnHosts::new(origin, &ctx.config.hostnames);
    match (package_of(from), digest) {
        (Ok(package), Digest::Sha256(_)) => {
            prepare_published(ctx, caller, own.hosted(package), digest).await
        }
        _ => Ok(None),
    }
}

/// Looks up a blob in a repository that clients push to.
async fn prepare_pushed<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    from: &RepositoryName,
    digest: Digest,
) -> Result<Option<LinkDocument>, Failure> {
    let nowhere = RepositoryName::hidden();
    let from = match pushed_contents::visibility(ctx, caller, from) {
        Visibility::Public | Visibility::Private => from,
        // Performs the same operations as for a missing repository.
        Visibility::Hidden | Visibility::Unauthenticated => &nowhere,
    };
    let Some(link) = pushed_contents::link(ctx, from, digest).await? else {
        return Ok(None);
    };
    let is_revoked = pushed_contents::revoked_blob(ctx, from, &[digest])
        .await?
        .is_some();
    Ok(Some(link).filter(|_| !is_revoked))
}

/// Looks up a blob in a repository generated from published releases, and copies it to the blobs.
async fn prepare_published<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    package: Package,
    digest: Digest,
) -> Result<Option<LinkDocument>, Failure> {
    let visibility = ctx.config.access.visibility(caller, &Owner::of(&package));
    let package = match visibility {
        Visibility::Public | Visibility::Private
            if digest == Digest::Sha256(empty_config_digest()) =>
        {
            return mount_empty_config(ctx).await.map(Some);
        }
        Visibility::Public | Visibility::Private => package,
        // Performs the same operations as for a missing package.
        Visibility::Hidden | Visibility::Unauthenticated => package.hidden(),
    };
    let Digest::Sha256(sha256) = digest else {
        return Ok(None);
    };
    let document = expected_indices::content(ctx, &package, sha256).await?;
    // The index of a revoked version has no content.
    let content = document.and_then(|document| document.metadata.content);
    let Some(zip) = content.filter(|it| it.media_type.is_none() && serves(ctx, &package, it))
    else {
        return Ok(None);
    };
    let archive = ArchiveKey::zip(sha256);
    let is_there = stored_archives::copy(ctx, archive.into(), BytesKey::Blob(digest)).await?;
    Ok(is_there.then_some(LinkDocument { size: zip.size }))
}

/// Returns whether the operator allows the version with this content to be served.
fn serves<P: Host>(ctx: &Context<'_, P>, package: &Package, content: &ContentMetadata) -> bool {
    match (package, &content.version) {
        (Package::Mirrored(address), Some(version)) => !ctx.config.pull.blocks(address, version),
        _ => true,
    }
}

/// Stores the config of all manifests of published releases: no archive contains it.
async fn mount_empty_config<P: Host>(ctx: &Context<'_, P>) -> Result<LinkDocument, Failure> {
    let archives = ctx.host.archives();
    let key = BytesKey::Blob(Digest::Sha256(empty_config_digest()));
    if archives.head(key).await?.is_none() {
        let bytes = Payload::Bytes(EMPTY_CONFIG.as_bytes().to_vec());
        match archives.store(key, bytes).await {
            Ok(Stored::Yes) => {}
            Ok(Stored::DigestMismatch) => return Err(Failure::Damaged(key.to_string())),
            // Another request is storing it.
            Err(StoreError::Busy(_)) if archives.head(key).await?.is_some() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let size = EMPTY_CONFIG.len() as u64;
    Ok(LinkDocument { size })
}
