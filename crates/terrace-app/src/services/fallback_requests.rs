//! Requests to the second bucket.

use terrace_core::limits;
use terrace_core::storage::archive_url::Upload;
use terrace_core::storage::fallback::{self, BucketPage, FallbackBucket};
use terrace_core::storage::key::BytesKey;
use terrace_core::upstream::origin::Fetched;
use terrace_presign::SignedMethod;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{BucketRequest, Clock as _, Host, Upstream as _};

/// Maximum length of an answer that is only read for its error, in bytes.
const ERROR_BYTES: u64 = 4_096;

/// Returns a page of the objects with keys that begin with `prefix`, after the key `after`.
pub(crate) async fn list<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    prefix: &str,
    (after, limit): (Option<&str>, u32),
) -> Result<BucketPage, Failure> {
    let url = fallback.listing(prefix, after, limit, ctx.host.clock().now());
    let request = BucketRequest {
        method: SignedMethod::Get,
        url,
        headers: Vec::new(),
        body: None,
        max_bytes: limits::BUCKET_PAGE_BYTES,
    };
    let seconds = limits::BUCKET_REQUEST_SECONDS;
    let answer = ask(ctx, fallback, "list", (request, seconds)).await?;
    if answer.status != 200 {
        return Err(refused("list", &answer));
    }
    let text = String::from_utf8_lossy(&answer.body);
    BucketPage::parse(&text).map_err(|error| failed("list", &error.to_string()))
}

/// Stores an object of `length` bytes. The bucket verifies a SHA-256 digest.
pub(crate) async fn store<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    key: BytesKey,
    (length, stream): (u64, P::Stream),
) -> Result<(), Failure> {
    let Upload { url, headers } = fallback.upload(key, ctx.host.clock().now());
    let request = BucketRequest {
        method: SignedMethod::Put,
        url,
        headers,
        body: Some((length, stream)),
        max_bytes: ERROR_BYTES,
    };
    let what = format!("store {key}");
    let answer = ask(ctx, fallback, &what, (request, limits::COPY_SECONDS)).await?;
    match answer.status {
        200..=299 => Ok(()),
        _ => Err(refused(&what, &answer)),
    }
}

/// Asks for an object, or removes it, within `seconds`. Returns whether the bucket answers that it has it, or removes it; an absent
/// object is no failure.
pub(crate) async fn ask_about<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    (method, key): (SignedMethod, BytesKey),
    seconds: u32,
) -> Result<bool, Failure> {
    let what = match method {
        SignedMethod::Delete => format!("remove {key}"),
        _ => format!("describe {key}"),
    };
    let request = BucketRequest {
        method,
        url: fallback.request(method, key, ctx.host.clock().now()),
        headers: Vec::new(),
        body: None,
        max_bytes: ERROR_BYTES,
    };
    let answer = ask(ctx, fallback, &what, (request, seconds)).await?;
    match answer.status {
        200..=299 => Ok(true),
        404 => Ok(false),
        _ => Err(refused(&what, &answer)),
    }
}

/// Removes an object, if there is a second bucket. Succeeds if it is not stored.
pub(crate) async fn discard<P: Host>(ctx: &Context<'_, P>, key: BytesKey) -> Result<(), Failure> {
    if let Some(fallback) = &ctx.config.fallback {
        let seconds = limits::BUCKET_REQUEST_SECONDS;
        ask_about(ctx, fallback, (SignedMethod::Delete, key), seconds).await?;
    }
    Ok(())
}

/// Returns whether the bucket keeps versions of removed objects; `None` if it does not state it, because it does not know versions
/// or the key pair may not ask.
pub(crate) async fn keeps_versions<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
) -> Option<bool> {
    let request = BucketRequest {
        method: SignedMethod::Get,
        url: fallback.versioning(ctx.host.clock().now()),
        headers: Vec::new(),
        body: None,
        max_bytes: ERROR_BYTES,
    };
    let what = "state its versioning";
    let asked = ask(ctx, fallback, what, (request, limits::EXAMINED_SECONDS)).await;
    let answer = asked.ok().filter(|answer| answer.status == 200)?;
    fallback::keeps_versions(&String::from_utf8_lossy(&answer.body))
}

async fn ask<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    what: &str,
    (request, seconds): (BucketRequest<P::Stream>, u32),
) -> Result<Fetched, Failure> {
    let guard = fallback.guard();
    let asked = ctx.host.upstream().ask_bucket(request, &guard, seconds);
    asked
        .await
        .map_err(|error| failed(what, &error.to_string()))
}

fn refused(what: &str, answer: &Fetched) -> Failure {
    failed(what, &format!("it answers with status {}", answer.status))
}

fn failed(what: &str, cause: &str) -> Failure {
    Failure::Origin(format!("the second bucket cannot {what}: {cause}"))
}
