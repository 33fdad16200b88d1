//! Requests to the second bucket.

use terrace_core::http::problem::Problem;
use terrace_core::storage::archive_url::Upload;
use terrace_core::storage::fallback::{
    self, BUCKET_PAGE_BYTES, BUCKET_REQUEST_SECONDS, BucketPage, COPY_SECONDS, FallbackBucket,
};
use terrace_core::storage::key::{AUDIT, BytesKey};
use terrace_core::upstream::origin::Fetched;
use terrace_presign::SignedMethod;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{BucketRequest, Clock as _, Host, Upstream as _};

/// How many seconds another server has to answer while the registry examines itself.
pub(crate) const EXAMINED_SECONDS: u32 = 5;

/// Maximum length of an answer that is only read for its error, in bytes.
const ERROR_BYTES: u64 = 4_096;

/// Returns a page of the objects with keys that begin with `prefix`, after the key `after`, within `seconds`.
pub(crate) async fn list<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    prefix: &str,
    (after, limit): (Option<&str>, u32),
    seconds: u32,
) -> Result<BucketPage, Failure> {
    let url = fallback.listing(prefix, after, limit, ctx.host.clock().now());
    let request = BucketRequest::of(SignedMethod::Get, url, BUCKET_PAGE_BYTES);
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
        headers,
        body: Some((length, stream)),
        ..BucketRequest::of(SignedMethod::Put, url, ERROR_BYTES)
    };
    let what = format!("store {key}");
    let answer = ask(ctx, fallback, &what, (request, COPY_SECONDS)).await?;
    match answer.status {
        200..=299 => Ok(()),
        _ => Err(refused(&what, &answer)),
    }
}

/// Removes an object, if there is a second bucket. Succeeds if it is not stored.
pub(crate) async fn discard<P: Host>(ctx: &Context<'_, P>, key: BytesKey) -> Result<(), Failure> {
    match &ctx.config.fallback {
        Some(fallback) => remove(ctx, fallback, key, BUCKET_REQUEST_SECONDS).await,
        None => Ok(()),
    }
}

/// Removes an object within `seconds`, unless the bucket has documents. Succeeds if the object is not stored.
pub(crate) async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    key: BytesKey,
    seconds: u32,
) -> Result<(), Failure> {
    ensure_without_documents(ctx, fallback, seconds).await?;
    let method = SignedMethod::Delete;
    let url = fallback.request(method, key, ctx.host.clock().now());
    let request = BucketRequest::of(method, url, ERROR_BYTES);
    let what = format!("remove {key}");
    let answer = ask(ctx, fallback, &what, (request, seconds)).await?;
    match answer.status {
        200..=299 | 404 => Ok(()),
        _ => Err(refused(&what, &answer)),
    }
}

/// Notes that this request has found the bucket to be without documents.
struct WithoutDocuments;

/// Checks, once in a request, that the bucket has no documents of a registry. Each change of a registry adds one to its audit log. The
/// main bucket under another name would protect nothing, and the one of another registry would lose archives.
///
/// # Errors
/// If it has, or does not answer within `seconds`.
pub(crate) async fn ensure_without_documents<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    seconds: u32,
) -> Result<(), Failure> {
    if ctx.recall::<WithoutDocuments>().is_some() {
        return Ok(());
    }
    let page = list(ctx, fallback, AUDIT, (None, 1), seconds).await?;
    if page.objects.is_empty() {
        ctx.remember(WithoutDocuments);
        return Ok(());
    }
    let message = "the second bucket has the documents of a registry (audit/…): it is the main bucket, or that of another registry; \
                   set TERRACE_S3_FALLBACK_BUCKET to a bucket of its own";
    Err(Problem::Conflict(vec![message.to_owned()]).into())
}

/// Returns whether the bucket keeps versions of removed objects; `None` if it does not state it, because it does not know versions
/// or the key pair may not ask.
pub(crate) async fn keeps_versions<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
) -> Option<bool> {
    let url = fallback.versioning(ctx.host.clock().now());
    let request = BucketRequest::of(SignedMethod::Get, url, ERROR_BYTES);
    let what = "state its versioning";
    let asked = ask(ctx, fallback, what, (request, EXAMINED_SECONDS)).await;
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

/// Returns the failure for an answer without success. A refusal is a conflict with the settings, which no retry resolves.
fn refused(what: &str, answer: &Fetched) -> Failure {
    let text = String::from_utf8_lossy(&answer.body);
    let code = fallback::error_code(&text).map_or_else(String::new, |code| format!(" ({code})"));
    let status = answer.status;
    // S3 answers a signature for another region with 400.
    let is_refusal = matches!(status, 401 | 403 | 404) || code.starts_with(" (Authorization");
    match is_refusal {
        true => {
            let message = format!(
                "the second bucket cannot {what}: it answers with status {status}{code}; correct the TERRACE_S3_FALLBACK_… settings, the \
                 rights of the key pair, or the rules that lock objects"
            );
            Problem::Conflict(vec![message]).into()
        }
        false => failed(what, &format!("it answers with status {status}{code}")),
    }
}

fn failed(what: &str, cause: &str) -> Failure {
    Failure::Origin(format!(
        "the second bucket cannot {what}: {cause}; if this continues, check the bucket and the TERRACE_S3_FALLBACK_… settings"
    ))
}
