//! Downloads and uploads of archives at Worker-signed URLs, streamed natively between the client and the bucket, or the
//! platform's cache of archives.

use terrace_core::http::problem::Problem;
use terrace_core::http::range::{self, ByteRange};
use terrace_core::http::reply::{Body, CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::read::CONTENT_DIGEST;
use terrace_core::storage::failover::ServingBucket;
use terrace_core::storage::key::BytesKey;
use terrace_core::storage::signed_path::SignedPath;
use terrace_presign::SignedMethod;

use crate::access::auth;
use crate::body::content_length;
use crate::context::Context;
use crate::documents::failover;
use crate::failure::Failure;
use crate::host::{
    Archives as _, CacheRequest, CachedArchive, Clock as _, Host, Payload, Request, Stored,
};
use crate::outcome::Handled;
use crate::removal::garbage;

/// Answers `HEAD` with the length of an archive.
pub(crate) async fn describe<P: Host>(
    ctx: &Context<'_, P>,
    path: SignedPath,
) -> Handled<P::Stream> {
    if let Some(reply) = without_bucket(ctx, &path, true, None).await? {
        return Ok(reply.into());
    }
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
    let range = request.header("range");
    if let Some(reply) = without_bucket(ctx, &path, false, range.as_deref()).await? {
        return Ok(reply.into());
    }
    let reply = match range {
        Some(range) => part(ctx, &path, &range).await?,
        None => whole(ctx, &path).await?,
    };
    Ok(reply.into())
}

/// Checks the URL. Returns the answer that does not come from the main bucket, if there is one.
async fn without_bucket<P: Host>(
    ctx: &Context<'_, P>,
    path: &SignedPath,
    is_head: bool,
    range: Option<&str>,
) -> Result<Option<Reply<P::Stream>>, Problem> {
    check(ctx, path, SignedMethod::Get, 0)?;
    let method = match is_head {
        true => SignedMethod::Head,
        false => SignedMethod::Get,
    };
    Ok(match of_fallback(ctx, path, method).await {
        Some(reply) => Some(reply),
        None => from_cache(ctx, path, is_head, range).await,
    })
}

async fn whole<P: Host>(
    ctx: &Context<'_, P>,
    path: &SignedPath,
) -> Result<Reply<P::Stream>, Failure> {
    let opened = ctx.host.archives().open(path.object).await?;
    let (size, stream) = opened.ok_or_else(archive_not_found)?;
    Ok(described(path, size).with_body(Body::Stream(stream)))
}

/// Returns a redirect to the copy of an archive while the second bucket serves downloads: the URL may be older than that. The
/// cache of archives is not asked, because it reads the main bucket.
///
/// `None` also for bytes that may have been erased, because a copy of them may be left.
async fn of_fallback<P: Host>(
    ctx: &Context<'_, P>,
    path: &SignedPath,
    method: SignedMethod,
) -> Option<Reply<P::Stream>> {
    let fallback = ctx.config.fallback.as_ref()?;
    if failover::serving(ctx).await == ServingBucket::Main || may_be_erased(ctx, path.object).await
    {
        return None;
    }
    let url = fallback.request(method, path.object, ctx.host.clock().now());
    let reply = Reply::new(302, CachePolicy::NoStore).with("location", url);
    Some(reply.fenced())
}

/// Returns whether bytes may have been erased, also if that is not known.
async fn may_be_erased<P: Host>(ctx: &Context<'_, P>, key: BytesKey) -> bool {
    match auth::may_have_erased(ctx, key.digest()).await {
        Ok(may_be_erased) => may_be_erased,
        Err(failure) => {
            ctx.report(failure);
            true
        }
    }
}

/// Returns an archive, or the requested part of it, from the platform's cache of archives, or a redirect to the bucket if it is
/// too large for that cache. The URL has been checked: neither its signature nor a header of the client reaches the cache.
///
/// `None` if the registry has no such cache, or if storage must decide: about bytes that may have been erased, about an
/// archive that the cache does not find, and about a range that it does not cut out.
async fn from_cache<P: Host>(
    ctx: &Context<'_, P>,
    path: &SignedPath,
    is_head: bool,
    range: Option<&str>,
) -> Option<Reply<P::Stream>> {
    let key = path.object;
    let urls = ctx.config.archive_urls.as_ref()?;
    if !urls.is_cached() || matches!(key, BytesKey::Staged(_)) {
        return None;
    }
    // Several ranges are answered with the whole archive; the platform might answer with parts of another form.
    if range.is_some_and(|range| range.contains(',')) {
        return None;
    }
    if may_be_erased(ctx, key).await {
        return None;
    }
    let request = CacheRequest {
        key,
        is_head,
        range,
    };
    let cached = match ctx.host.cached_archive(request).await {
        Ok(cached) => cached?,
        Err(error) => {
            ctx.host.log(&format!("cache of archives: {error}"));
            return None;
        }
    };
    ctx.host.meter().note_cache(cached.state);
    match (cached.status, range) {
        (200, None) => all_of(path, is_head, cached),
        (206, Some(_)) if cached.content_range.is_some() => Some(part_of(path, cached)),
        (413, _) if !is_head => {
            let url = urls.presigned(key, ctx.host.clock().now(), path.expires())?;
            Some(Reply::new(302, CachePolicy::NoStore).with("location", url))
        }
        _ => None,
    }
}

fn all_of<S>(path: &SignedPath, is_head: bool, cached: CachedArchive<S>) -> Option<Reply<S>> {
    let reply = match cached.length {
        Some(size) => described(path, size),
        // A HEAD asks for nothing else.
        None if is_head => return None,
        None => described_without_length(path),
    };
    Some(match cached.stream {
        Some(stream) if !is_head => reply.with_body(Body::Stream(stream)),
        _ => reply,
    })
}

fn part_of<S>(path: &SignedPath, cached: CachedArchive<S>) -> Reply<S> {
    let mut reply =
        Reply::new(206, CachePolicy::NoStore).with_stored_type(path.object.content_type());
    if let Some(length) = cached.length {
        reply = reply.with("content-length", length.to_string());
    }
    if let Some(range) = cached.content_range {
        reply = reply.with("content-range", range);
    }
    match cached.stream {
        Some(stream) => reply.with_body(Body::Stream(stream)),
        None => reply,
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
        ByteRange::Full => return whole(ctx, path).await,
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
pub(crate) async fn receive<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    path: SignedPath,
    mut request: R,
) -> Handled<P::Stream> {
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
    described_without_length(path).with("content-length", size.to_string())
}

fn described_without_length<S>(path: &SignedPath) -> Reply<S> {
    Reply::new(200, CachePolicy::NoStore)
        .with_stored_type(path.object.content_type())
        .with("accept-ranges", "bytes")
        .with(CONTENT_DIGEST, path.object.digest().to_string())
}
