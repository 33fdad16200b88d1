//! Stores, links and deletes blobs.

use terrace_core::auth::access::Caller;
use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::model::oci::{Digest, RepositoryName, UploadId};
use terrace_core::oci::empty_config_digest;
use terrace_core::oci::pushed::{LinkDocument, RepositoryPath, UploadSession};
use terrace_core::read::CONTENT_DIGEST;
use terrace_core::storage::key::{BytesKey, IndexKey, PushedFact, PushedIndex};

use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Archives as _, Facts as _, Host, Payload, StoreError, Stored, Uploads as _};
use crate::json;
use crate::oci::uploads::{UploadPayload, names};
use crate::oci::{pushed_contents, pushed_index_refresh, uploads};
use crate::outcome::Handled;
use crate::removal::garbage;

/// Completes a blob from the uploaded chunks and the rest in the request's body.
pub(crate) async fn receive<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    repository: &RepositoryName,
    (id, mut session): (UploadId, UploadSession),
    digest: Digest,
    body: UploadPayload<P::Stream>,
) -> Result<Reply<P::Stream>, Failure> {
    let (stored, size) = match body {
        UploadPayload::Sized(stream, length) if session.is_empty() => {
            let key = BytesKey::Blob(digest);
            let stored = ctx.host.archives().store(key, Payload::Stream(stream));
            (stored.await.map(Some), length)
        }
        body => {
            uploads::store_body(ctx, id, &mut session, body).await?;
            let stored = assemble(ctx, id, &session, digest).await;
            (stored, session.size())
        }
    };
    let stored = match stored {
        Err(StoreError::Busy(_)) if has_bytes(ctx, caller, digest).await? => Some(Stored::Yes),
        stored => stored?,
    };
    let answer = match stored {
        // The upload stays until its blob is in the repository, because this request may have to be retried.
        Some(Stored::Yes) => match add_link(ctx, repository, digest, size).await {
            // No retry of this upload succeeds.
            Err(failure @ Failure::Problem(Problem::Gone(_))) => Err(failure),
            linked => Ok(linked?),
        },
        Some(Stored::DigestMismatch) => {
            let message = format!("the uploaded bytes do not have the digest {digest}");
            Err(OciError::new(OciCode::DigestInvalid, message).into())
        }
        None => {
            let message = "a part of this upload is missing: start a new upload";
            let error = OciError::new(OciCode::BlobUploadInvalid, message);
            linked_before(ctx, repository, digest, error).await
        }
    };
    ctx.defer(Task::DiscardUpload(names(id, &session)));
    answer
}

async fn assemble<P: Host>(
    ctx: &Context<'_, P>,
    id: UploadId,
    session: &UploadSession,
    digest: Digest,
) -> Result<Option<Stored>, StoreError> {
    let chunks = session.chunks(id);
    if chunks.is_empty() {
        let nothing = Payload::Bytes(Vec::new());
        let stored = ctx.host.archives().store(BytesKey::Blob(digest), nothing);
        return stored.await.map(Some);
    }
    ctx.host.uploads().assemble(&chunks, digest).await
}

/// Returns whether the bytes of a blob are stored, if this caller may read them anyway. All repositories
/// share them, and storage allows one write per key and second: ORAS uploads the same empty config with each
/// push. The digest of the uploaded bytes is then unknown, so they prove no right to read.
async fn has_bytes<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    digest: Digest,
) -> Result<bool, Failure> {
    let is_open =
        ctx.config.access.may_read_all(caller) || digest == Digest::Sha256(empty_config_digest());
    let archives = ctx.host.archives();
    Ok(is_open && archives.head(BytesKey::Blob(digest)).await?.is_some())
}

/// **The commit** of a blob: it adds the blob to the repository. Clients have looked for the blob before, and
/// edges cache its absence, so its index is written without waiting for a reader. A blob that is marked as garbage is kept;
/// one that was erased is refused, and removed if this request has stored it. The mark is read again after the link, because
/// an erasure that has made its tombstone in between may have listed the repositories before.
pub(crate) async fn add_link<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
    size: u64,
) -> Result<Reply<P::Stream>, Failure> {
    let link = LinkDocument { size };
    let blob = BytesKey::Blob(digest);
    match garbage::claim_blob(ctx, digest).await {
        // Also without a mark: a removal that has ended since the bytes were stored or found took its mark along.
        Ok(()) if ctx.host.archives().head(blob).await?.is_some() => {}
        Ok(()) => return Err(garbage::being_removed(blob).into()),
        Err(Failure::Problem(problem @ Problem::Gone(_))) => {
            ctx.host.archives().discard(blob).await?;
            return Err(problem.into());
        }
        Err(failure) => return Err(failure),
    }
    if pushed_contents::link(ctx, repository, digest)
        .await?
        .as_ref()
        != Some(&link)
    {
        let document = json::text(&link)?;
        let fact = PushedFact::Link(repository.clone(), digest);
        pushed_contents::put(ctx, fact, &document, &[]).await?;
        if let Err(failure) = garbage::ensure_kept(ctx, blob).await {
            if matches!(failure, Failure::Problem(Problem::Gone(_))) {
                unlink(ctx, repository, digest).await?;
                ctx.host.archives().discard(blob).await?;
            }
            return Err(failure);
        }
        let index = PushedIndex::Blob(repository.clone(), digest);
        ctx.defer(Task::BackfillIndex(IndexKey::Pushed(index)));
    }
    Ok(created(repository, digest))
}

/// Answers a request to delete a blob.
pub(crate) async fn delete<P: Host>(
    ctx: &Context<'_, P>,
    repository: RepositoryName,
    digest: Digest,
) -> Handled<P::Stream> {
    if !unlink(ctx, &repository, digest).await? {
        let message = format!("{repository} has no blob {digest}");
        return Err(OciError::new(OciCode::BlobUnknown, message).into());
    }
    Ok(Reply::new(202, CachePolicy::NoStore).into())
}

/// Removes a blob from a repository, and its index. Returns whether the repository had it.
pub(crate) async fn unlink<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
) -> Result<bool, Failure> {
    let link = pushed_contents::link(ctx, repository, digest).await?;
    let index = PushedIndex::Blob(repository.clone(), digest);
    // Also if the link is missing: a removal that failed after removing the fact left its index.
    ctx.host.facts().delete(&index.fact()).await?;
    pushed_index_refresh::mark_changed(ctx, repository).await?;
    pushed_index_refresh::refresh(ctx, &index).await?;
    Ok(link.is_some())
}

/// Returns the reply to the completion of an upload that has since been removed. The request that completed it
/// may have been this one, with a lost response.
pub(crate) async fn linked_before<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
    otherwise: OciError,
) -> Result<Reply<P::Stream>, Failure> {
    match pushed_contents::link(ctx, repository, digest).await? {
        Some(_) => Ok(created(repository, digest)),
        None => Err(otherwise.into()),
    }
}

fn created<S>(repository: &RepositoryName, digest: Digest) -> Reply<S> {
    Reply::new(201, CachePolicy::NoStore)
        .with(
            "location",
            RepositoryPath::Blob(digest).location(repository),
        )
        .with(CONTENT_DIGEST, digest.to_string())
}
