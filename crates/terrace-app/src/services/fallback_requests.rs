//! Requests to the second bucket.

use std::cell::RefCell;
use std::rc::Rc;

use terrace_core::limits;
use terrace_core::storage::archive_url::Upload;
use terrace_core::storage::fallback::{BucketPage, FallbackBucket};
use terrace_core::storage::key::BytesKey;
use terrace_core::upstream::origin::Fetched;
use terrace_presign::SignedMethod;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{BucketRequest, Clock as _, Host, Upstream as _};

/// Maximum length of an answer that is only read for its error, in bytes.
const ERROR_BYTES: u64 = 4_096;

/// The objects that this request could not remove from the second bucket.
#[derive(Debug, Default)]
struct Left(RefCell<Vec<String>>);

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

/// Removes an object, if there is a second bucket. Succeeds if it is not stored.
pub(crate) async fn discard<P: Host>(ctx: &Context<'_, P>, key: BytesKey) -> Result<(), Failure> {
    let Some(fallback) = &ctx.config.fallback else {
        return Ok(());
    };
    let request = BucketRequest {
        method: SignedMethod::Delete,
        url: fallback.request(SignedMethod::Delete, key, ctx.host.clock().now()),
        headers: Vec::new(),
        body: None,
        max_bytes: ERROR_BYTES,
    };
    let what = format!("remove {key}");
    let seconds = limits::BUCKET_REQUEST_SECONDS;
    let answer = ask(ctx, fallback, &what, (request, seconds)).await?;
    match answer.status {
        200..=299 | 404 => Ok(()),
        _ => Err(refused(&what, &answer)),
    }
}

/// Removes an object, which has a mark by which the repair finds it if the bucket cannot be reached. Returns whether it is removed.
pub(crate) async fn discard_or_leave<P: Host>(ctx: &Context<'_, P>, key: BytesKey) -> bool {
    let Err(failure) = discard(ctx, key).await else {
        return true;
    };
    ctx.report(failure);
    let left = ctx.recall::<Left>().unwrap_or_else(|| {
        ctx.remember(Left::default());
        ctx.recall::<Left>().unwrap_or_default()
    });
    left.0.borrow_mut().push(key.to_string());
    false
}

/// Returns the keys of the objects that this request could not remove from the second bucket.
pub(crate) fn left<P: Host>(ctx: &Context<'_, P>) -> Vec<String> {
    let left: Option<Rc<Left>> = ctx.recall();
    left.map_or_else(Vec::new, |left| left.0.borrow().clone())
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
