//! Blobs: stored and linked.

use terrace_core::auth::access::Caller;
use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::model::oci::UploadId;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::oci::empty_config;
use terrace_core::oci::pushed::{LinkDocument, PushedPath, UploadSession};
use terrace_core::read::CONTENT_DIGEST;
use terrace_core::storage::key::{BytesKey, IndexKey, PushedFact, PushedIndex};

use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Archives as _, Host, Payload, StoreError, Stored, Uploads as _};
use crate::json;
use crate::services::oci::error::denied;
use crate::services::oci::uploads::{UploadBody, names};
use crate::services::oci::{catalog as oci_catalog, uploads};

/// Makes a blob of what has come of an upload and the rest of it.
pub(crate) async fn receive<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    repository: &RepositoryName,
    (id, mut session): (UploadId, UploadSession),
    digest: Digest,
    body: UploadBody<P::Stream>,
) -> Result<Reply<P::Stream>, Failure> {
    let (stored, size) = match body {
        UploadBody::Sized(stream, length) if session.is_empty() => {
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
        // Until its blob is in the repository the upload stays: this may have to be sent again.
        Some(Stored::Yes) => Ok(link(ctx, repository, digest, size).await?),
        Some(Stored::DigestMismatch) => {
            let told = format!("what was sent does not have the digest {digest}");
            Err(denied(OciError::new(OciCode::DigestInvalid, told)))
        }
        None => {
            let told = "a part of this upload is lost: begin another";
            let error = OciError::new(OciCode::BlobUploadInvalid, told);
            linked_before(ctx, repository, digest, error).await
        }
    };
    ctx.defer(Task::Discard(names(id, &session)));
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

/// Whether the bytes of a blob are there that this caller may read anyhow. All repositories share
/// them, and storage takes one write of a key a second: ORAS brings the same empty config with each
/// push. Of what was sent nobody knows the digest then, so it proves no right to read.
async fn has_bytes<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    digest: Digest,
) -> Result<bool, Failure> {
    let is_open =
        ctx.config.access.lets_read_all(caller) || digest == Digest::Sha256(empty_config());
    let archives = ctx.host.archives();
    Ok(is_open && archives.head(BytesKey::Blob(digest)).await?.is_some())
}

/// **The commit** of a blob: from here on it is in the repository. Clients have looked for it
/// before, and edges remember that there was none; so its index does not wait for a reader.
pub(crate) async fn link<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
    size: u64,
) -> Result<Reply<P::Stream>, Failure> {
    let link = LinkDocument { size };
    if oci_catalog::link(ctx, repository, digest).await?.as_ref() != Some(&link) {
        let document = json::text(&link)?;
        let fact = PushedFact::Link(repository.clone(), digest);
        oci_catalog::put(ctx, fact, &document, &[]).await?;
        let index = PushedIndex::Blob(repository.clone(), digest);
        ctx.defer(Task::Rebuild(IndexKey::Pushed(index)));
    }
    Ok(created(repository, digest))
}

/// The answer to who completes an upload that is not whole any more: the request that did may have
/// been this one, whose answer was lost.
pub(crate) async fn linked_before<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    digest: Digest,
    otherwise: OciError,
) -> Result<Reply<P::Stream>, Failure> {
    match oci_catalog::link(ctx, repository, digest).await? {
        Some(_) => Ok(created(repository, digest)),
        None => Err(denied(otherwise)),
    }
}

fn created<S>(repository: &RepositoryName, digest: Digest) -> Reply<S> {
    Reply::new(201, CachePolicy::NoStore)
        .with("location", PushedPath::Blob(digest).location(repository))
        .with(CONTENT_DIGEST, digest.to_string())
}
