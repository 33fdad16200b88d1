//! The admin routes for copies of a registry: they list and verify the stored archives and blobs, and return
//! upload URLs for missing ones.

use terrace_core::api::admin::{
    StoredAnswer, StoredArchive, UploadBody, UploadsAnswer, UploadsBody, VerifyAnswer, VerifyBody,
    WrongBytes,
};
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::storage::key::BytesKey;

use crate::archives::stored_archives;
use crate::body::check_count;
use crate::context::Context;
use crate::documents::inventory;
use crate::documents::inventory::Inventory;
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Host};
use crate::outcome::{Call, Handled};
use crate::removal::garbage;
use crate::{json, listing};

/// Maximum number of objects in one list of stored bytes: a page of storage.
const STORED_AT_ONCE: u32 = 1_000;

/// Maximum number of objects in such a list if each has a signed URL, which takes five HMACs.
const STORED_URLS_AT_ONCE: u32 = 100;

/// Number of stored bytes after which a request that verifies digests starts no further object: a few seconds
/// of CPU. Paid plans start at 30 s, and an object may have 5 GB.
const VERIFY_BYTES: u64 = 1024 * 1024 * 1024;

/// Maximum number of objects that one request hashes again. Each takes one operation.
const VERIFIED_AT_ONCE: u32 = 100;

/// Lists stored bytes, with download URLs if the query asks for them.
pub(crate) async fn list<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    listing::only(&call, &["after", "urls"])?;
    let with_urls = listing::flag(&call, "urls")?;
    let urls = match (with_urls, &ctx.config.archive_urls) {
        (false, _) => None,
        (true, Some(urls)) => Some(urls),
        (true, None) => return Err(no_signer().into()),
    };
    let copies = ctx.config.fallback.as_ref().filter(|_| with_urls);
    let limit = match urls {
        Some(_) => STORED_URLS_AT_ONCE,
        None => STORED_AT_ONCE,
    };
    let after = call.after();
    let listed = inventory::page(ctx, after.as_deref(), limit).await?;
    let now = ctx.host.clock().now();
    let mut answer = StoredAnswer {
        now,
        next: listed.next(),
        ..StoredAnswer::default()
    };
    let Inventory { prefix, page } = listed;
    for object in page.objects {
        let key = format!("{prefix}{}", object.name);
        let Some(bytes) = BytesKey::parse_key(&key) else {
            answer.unknown.push(key);
            continue;
        };
        answer.archives.push(StoredArchive {
            key,
            size: object.size,
            stored_at: object.stored_at,
            url: urls.map(|urls| urls.uncached(&call.origin, bytes, now)),
            copy_url: copies.map(|copies| copies.urls().download("", bytes, now)),
        });
    }
    Ok(json::reply(200, &answer)?.into())
}

/// Hashes stored bytes again, natively: they do not enter wasm.
pub(crate) async fn verify<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let VerifyBody { after } = json::parse(&call.body)?;
    let limit = VERIFIED_AT_ONCE;
    let listed = inventory::page(ctx, after.as_deref(), limit).await?;
    let mut answer = VerifyAnswer {
        next: listed.next(),
        ..VerifyAnswer::default()
    };
    let Inventory { prefix, page } = listed;
    let mut last = None;
    for object in page.objects {
        if answer.bytes >= VERIFY_BYTES {
            answer.next = last;
            break;
        }
        let text = format!("{prefix}{}", object.name);
        last = Some(text.clone());
        let Some(key) = BytesKey::parse_key(&text) else {
            continue;
        };
        let digest = ctx.host.archives().digest(key).await?;
        answer.looked_at += 1;
        answer.bytes += object.size;
        if digest != Some(key.digest()) {
            let digest = digest.map(|digest| digest.to_string());
            answer.wrong.push(WrongBytes { key: text, digest });
        }
    }
    Ok(json::reply(200, &answer)?.into())
}

/// Returns upload URLs for those archives of a copy that are not stored.
pub(crate) async fn ask_for_copies<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
) -> Handled<P::Stream> {
    let UploadsBody { archives } = json::parse(&call.body)?;
    check_count(archives.len(), limits::UPLOADS_AT_ONCE)?;
    let Some(urls) = &ctx.config.archive_urls else {
        return Err(no_signer().into());
    };
    let (limit, why) = urls.upload_limit();
    let fence = garbage::fence(ctx).await?;
    let mut answer = UploadsAnswer::default();
    for UploadBody { key: text, size } in archives {
        let key = BytesKey::parse_key(&text).ok_or_else(|| {
            Problem::BadRequest(format!(
                "{text:?} is not the key of an archive or a blob: it must be archives/<sha256>.<extension> or \
                     oci/blobs/<algorithm>/<digits>"
            ))
        })?;
        match stored_archives::is_stored(ctx, key, Some(size), &fence).await {
            // Documents that refer to an erased archive are not imported either.
            Ok(true) | Err(Failure::Problem(Problem::Gone(_))) => continue,
            Ok(false) => {}
            Err(failure) => return Err(failure),
        }
        if size > limit {
            let message =
                format!("{text} has {size} bytes: the maximum for an upload is {limit} ({why})");
            return Err(Problem::Invalid(vec![message]).into());
        }
        answer.missing.push(stored_archives::missing(
            ctx,
            text,
            key,
            size,
            urls,
            &call.origin,
        ));
    }
    Ok(json::reply(200, &answer)?.into())
}

pub(crate) fn no_signer() -> Problem {
    Problem::Misconfigured("archive URLs cannot be signed: set TERRACE_ADMIN_TOKEN, TERRACE_URL_SECRET or the TERRACE_S3_… variables".to_owned())
}
