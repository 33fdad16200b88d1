//! Downloads and uploads of archives at Worker-signed URLs, streamed natively between the client and the bucket.

use terrace_core::http::problem::Problem;
use terrace_core::http::range::{self, ByteRange};
use terrace_core::http::reply::{Body, CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::read::CONTENT_DIGEST;
use terrace_core::storage::failover::ServingBucket;
use terrace_core::storage::signed_path::SignedPath;
use terrace_presign::SignedMethod;

use crate::context::Context;
use crate::failure::Failure;
use crate::handlers::body::content_length;
use crate::handlers::outcome::Handled;
use crate::host::{Archives as _, Clock as _, Host, Payload, Request, Stored};
use crate::services::{failover, garbage};

/// Answers `HEAD` with the length of an archive.
pub(crate) async fn describe<P: Host>(
    ctx: &Context<'_, P>,
    path: SignedPath,
) -> Handled<P::Stream> {
    check(ctx, &path, SignedMethod::Get, 0)?;
    let head = ctx.host.archives().head(path.object).await?;
    let head = head.ok_or_else(archive_not_found)?;
    Ok(described(&path, head.size).into())
}

/// Sends an archive, or the byte range that a client requests.
pub(crate) async fn send<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    path: SignedPath,
    request: R,
) -> Handled<P::Stream> {
    check(ctx, &path, SignedMethod::Get, 0)?;
    if let Some(reply) = of_fallback(ctx, &path).await {
        return Ok(reply.into());
    }
    if let Some(range) = request.header("range") {
        return Ok(part(ctx, &path, &range).await?.into());
    }
    let opened = ctx.host.archives().open(path.object).await?;
    let (size, stream) = opened.ok_or_else(archive_not_found)?;
    Ok(described(&path, size)
        .with_body(Body::Stream(stream))
        .into())
}

/// Returns a redirect to the copy of an archive while the second bucket serves downloads: the URL may be older than that. A
/// `HEAD` gets none, because a bucket answers it only at a URL of its own.
async fn of_fallback<P: Host>(ctx: &Context<'_, P>, path: &SignedPath) -> Option<Reply<P::Stream>> {
    let fallback = ctx.config.fallback.as_ref()?;
    match failover::serving(ctx).await {
        ServingBucket::Main => None,
        ServingBucket::Fallback => {
            let now = ctx.host.clock().now();
            let url = fallback.urls().download("", path.object, now);
            let reply = Reply::new(302, CachePolicy::NoStore).with("location", url);
            Some(reply.fenced())
        }
    }
}

/// Sends the byte range that a client requests to resume a download.
async fn part<P: Host>(
    ctx: &Context<'_, P>,
    path: &SignedPath,
    range: &str,
) -> Result<Reply<P::Stream>, Failure> {
    let archives = ctx.host.archives();
    let size = archives
        .head(path.object)
        .await?
        .ok_or_else(archive_not_found)?
        .size;
    let (first, last) = match range::requested_range(range, size) {
        ByteRange::Unsatisfiable => {
            let reply = Reply::new(416, CachePolicy::NoStore).fenced();
            return Ok(reply.with("content-range", format!("bytes */{size}")));
        }
        ByteRange::Partial { first, last } => (first, last),
        ByteRange::Full => {
            let opened = archives.open(path.object).await?;
            let (size, stream) = opened.ok_or_else(archive_not_found)?;
            return Ok(described(path, size).with_body(Body::Stream(stream)));
        }
    };
    let length = last - first + 1;
    let opened = archives.open_part(path.object, first, length).await?;
    let stream = opened.ok_or_else(archive_not_found)?;
    Ok(Reply::new(206, CachePolicy::NoStore)
        .with_stored_type(path.object.content_type())
        .with("content-length", length.to_string())
        .with("content-range", format!("bytes {first}-{last}/{size}"))
        .with_body(Body::Stream(stream)))
}

/// Stores an archive.
pub(crate) async fn receive<P: Host, R>(
    ctx: &Context<'_, P>,
    path: SignedPath,
    mut request: R,
) -> Handled<P::Stream>
where
    R: Request<Stream = P::Stream>,
{
    let size = content_length(&request)?;
    if size > limits::WORKER_BODY_BYTES {
        return Err(Problem::TooLarge(limits::WORKER_BODY_BYTES).into());
    }
    check(ctx, &path, SignedMethod::Put, size)?;
    let Some(stream) = request.stream() else {
        return Err(Problem::BadRequest(
            "the request has no body: send the bytes of the archive or blob as the body".to_owned(),
        )
        .into());
    };
    // Before the bytes are stored: a URL may have been signed before the erasure.
    garbage::ensure_kept(ctx, path.object).await?;
    let archives = ctx.host.archives();
    match archives.store(path.object, Payload::Stream(stream)).await? {
        Stored::Yes => Ok(Reply::new(201, CachePolicy::NoStore).into()),
        Stored::DigestMismatch => Err(Problem::Invalid(vec![format!(
            "the body does not have the digest {}",
            path.object.digest()
        )])
        .into()),
    }
}

fn check<P: Host>(
    ctx: &Context<'_, P>,
    path: &SignedPath,
    method: SignedMethod,
    size: u64,
) -> Result<(), Problem> {
    let urls = ctx.config.archive_urls.as_ref();
    let signer = urls
        .and_then(|urls| urls.path_signer())
        .ok_or_else(archive_not_found)?;
    signer
        .check(path, method, size, ctx.host.clock().now())
        .map_err(|error| Problem::Forbidden(error.to_string()))
}

fn archive_not_found() -> Problem {
    Problem::NotFound("the archive does not exist".to_owned())
}

fn described<S>(path: &SignedPath, size: u64) -> Reply<S> {
    Reply::new(200, CachePolicy::NoStore)
        .with_stored_type(path.object.content_type())
        .with("content-length", size.to_string())
        .with("accept-ranges", "bytes")
        .with(CONTENT_DIGEST, path.object.digest().to_string())
}
