//! Begins, continues, completes, describes and cancels uploads.

use terrace_core::http::oci_error::{OciCode, OciError};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::model::oci::{Digest, RepositoryName, UploadId};
use terrace_core::oci::pushed::{RepositoryPath, UploadSession};

use crate::body::content_length;
use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Host, Request};
use crate::oci::uploads::{UploadPayload, names};
use crate::oci::{blobs, mounts, uploads};
use crate::outcome::{Call, Handled};

/// Recommended chunk length, in bytes, sent as `OCI-Chunk-Min-Length` in the 202 of each new upload:
/// `UPLOAD_CHUNKS` of them are 4 GB. Shorter chunks are accepted too, as long as there are not too many.
const UPLOAD_CHUNK_BYTES: u64 = 5 * 1024 * 1024;

pub(crate) async fn begin<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    repository: RepositoryName,
    mut request: R,
) -> Handled<P::Stream> {
    let query = call.query();
    // If the blob cannot be mounted, for any reason, the client may upload it.
    let mount = query.value("mount");
    if let Some(digest) = mount.and_then(|mount| Digest::parse(&mount).ok()) {
        let from = query.value("from");
        let prepared = mounts::prepare_mount(
            ctx,
            &call.caller,
            &repository,
            from.as_deref(),
            digest,
            &call.origin,
        );
        if let Some(link) = prepared.await? {
            return Ok(blobs::add_link(ctx, &repository, digest, link.size)
                .await?
                .into());
        }
    }
    let digest = query.value("digest");
    let digest = digest.map(|it| Digest::parse(&it)).transpose()?;
    let algorithm = query.value("digest-algorithm");
    if algorithm.is_some_and(|name| !matches!(name.as_ref(), "sha256" | "sha512")) {
        let message = "digest-algorithm must be sha256 or sha512";
        return Err(OciError::new(OciCode::DigestInvalid, message).into());
    }
    let now = ctx.host.clock().now();
    let id = UploadId::new(now, ctx.host.random());
    let session = UploadSession::new(&repository);
    ctx.defer(Task::SweepUploads);
    if let Some(digest) = digest {
        let body = body_of(&mut request)?;
        let upload = (id, session);
        let received = blobs::receive(ctx, &call.caller, &repository, upload, digest, body).await?;
        return Ok(received.into());
    }
    uploads::put_session(ctx, id, &session, Condition::Absent).await?;
    let min = UPLOAD_CHUNK_BYTES.to_string();
    let reply = progress(202, &repository, id, &session).with("oci-chunk-min-length", min);
    Ok(reply.into())
}

pub(crate) async fn append<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    repository: RepositoryName,
    id: UploadId,
    mut request: R,
) -> Handled<P::Stream> {
    let (mut session, unchanged) = uploads::session(ctx, &repository, id).await?;
    let body = chunk_of(&repository, id, &session, &mut request)?;
    if uploads::store_body(ctx, id, &mut session, body).await?
        && !uploads::put_session(ctx, id, &session, unchanged).await?
    {
        let message = "another chunk of this upload was received at the same time";
        let error = OciError::new(OciCode::BlobUploadInvalid, message).with_status(416);
        return Err(error.into());
    }
    Ok(progress(202, &repository, id, &session).into())
}

pub(crate) async fn complete<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    repository: RepositoryName,
    id: UploadId,
    mut request: R,
) -> Handled<P::Stream> {
    let digest = call.query().value("digest").unwrap_or_default();
    let digest = Digest::parse(&digest)?;
    let Some((session, _)) = uploads::find_session(ctx, &repository, id).await? else {
        let known = blobs::linked_before(ctx, &repository, digest, UploadId::unknown()).await?;
        return Ok(known.into());
    };
    let body = chunk_of(&repository, id, &session, &mut request)?;
    let upload = (id, session);
    let received = blobs::receive(ctx, &call.caller, &repository, upload, digest, body).await?;
    Ok(received.into())
}

/// Returns the body of a request, if it continues where the upload ended.
fn chunk_of<R: Request>(
    repository: &RepositoryName,
    id: UploadId,
    session: &UploadSession,
    request: &mut R,
) -> Result<UploadPayload<R::Stream>, Failure> {
    let range = request.header("content-range");
    let body = body_of(request)?;
    let accepted = session.accepts(range.as_deref(), body.length());
    let declared_length = accepted.map_err(|error| {
        let location = RepositoryPath::Upload(id).location(repository);
        let error = error.with_header("location", location);
        error.with_header("range", session.range())
    })?;
    Ok(match body {
        UploadPayload::Unsized(stream, _) => UploadPayload::Unsized(stream, declared_length),
        body => body,
    })
}

pub(crate) async fn describe<P: Host>(
    ctx: &Context<'_, P>,
    repository: RepositoryName,
    id: UploadId,
) -> Handled<P::Stream> {
    let (session, _) = uploads::session(ctx, &repository, id).await?;
    Ok(progress(204, &repository, id, &session).into())
}

pub(crate) async fn cancel<P: Host>(
    ctx: &Context<'_, P>,
    repository: RepositoryName,
    id: UploadId,
) -> Handled<P::Stream> {
    let (session, _) = uploads::session(ctx, &repository, id).await?;
    uploads::discard(ctx, names(id, &session)).await?;
    Ok(Reply::new(204, CachePolicy::NoStore).into())
}

fn body_of<R: Request>(request: &mut R) -> Result<UploadPayload<R::Stream>, Failure> {
    let length = match request.header("content-length") {
        Some(_) => Some(content_length(request)?),
        None => None,
    };
    let max = limits::WORKER_BODY_BYTES;
    if length.is_some_and(|length| length > max) {
        return Err(too_large(max).into());
    }
    Ok(match (length, request.stream()) {
        (Some(0), _) | (None, None) => UploadPayload::Nothing,
        (Some(length), Some(stream)) => UploadPayload::Sized(stream, length),
        (None, Some(stream)) => UploadPayload::Unsized(stream, None),
        (Some(_), None) => {
            return Err(Problem::BadRequest(
                "the request has no body: send the bytes of the blob or chunk as the body"
                    .to_owned(),
            )
            .into());
        }
    })
}

fn too_large(max: u64) -> OciError {
    let message = format!(
        "Cloudflare accepts request bodies of at most {max} bytes: send the blob in chunks, or publish \
         it with `terrace publish`, which uploads archives directly to storage"
    );
    OciError::new(OciCode::SizeInvalid, message).with_status(413)
}

/// Returns the reply that describes the progress of an upload.
pub(crate) fn progress<S>(
    status: u16,
    repository: &RepositoryName,
    id: UploadId,
    session: &UploadSession,
) -> Reply<S> {
    Reply::new(status, CachePolicy::NoStore)
        .with("location", RepositoryPath::Upload(id).location(repository))
        .with("range", session.range())
        .with("docker-upload-uuid", id.to_string())
}
