//! Reads: one index, and the facts only when there is none.

use terrace_core::http::reply::{Body, Reply};
use terrace_core::http::request_line::IndexState;
use terrace_core::read::{Answered, FinishError, Found, Lookup};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::IndexKey;

use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Clock as _, Host, Indices as _};
use crate::services::catalog::pick;
use crate::services::oci::catalog as oci_catalog;
use crate::services::pull::puller;
use crate::services::{catalog, releases};

pub(crate) async fn read<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    origin: &str,
) -> Reply<P::Stream> {
    if let Some(reply) = lookup.blocked(&ctx.config.pull, None) {
        return reply;
    }
    let found = ctx
        .host
        .indices()
        .get(&lookup.key, lookup.form, lookup.cache_seconds)
        .await;
    let meter = ctx.host.meter();
    let mut is_replaced = false;
    match found {
        Ok(Some(found)) => {
            let now = ctx.host.clock().now();
            match lookup.answer(found, ctx.config, origin, now) {
                Answered::Fresh(reply) => {
                    meter.saw_index(IndexState::Hit);
                    return reply;
                }
                Answered::Stale(reply, address) => {
                    meter.saw_index(IndexState::Hit);
                    ctx.defer(Task::Refresh(address));
                    return reply;
                }
                Answered::Unfit => {
                    meter.saw_index(IndexState::Unfit);
                    is_replaced = true;
                }
                Answered::Corrupt => {
                    meter.saw_index(IndexState::Corrupt);
                    let told = format!("index {} is corrupt", lookup.key);
                    ctx.host.log(&told);
                }
            }
        }
        Ok(None) => meter.saw_index(IndexState::Miss),
        // R2 can answer when KV cannot.
        Err(error) => {
            meter.saw_index(IndexState::Miss);
            ctx.host.log(&format!("storage: {error}"));
        }
    }
    match read_facts(ctx, lookup, origin, is_replaced).await {
        Ok(reply) => reply,
        Err(failure) => lookup.problem(&ctx.report(failure)),
    }
}

/// The slow way: KV has nothing, or what `is_replaced`, and R2 decides whether there is nothing.
async fn read_facts<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    origin: &str,
    is_replaced: bool,
) -> Result<Reply<P::Stream>, Failure> {
    let document = match &lookup.key {
        IndexKey::Versions(package)
        | IndexKey::MirrorVersions(package)
        | IndexKey::Tags(package) => {
            let at_origin = puller::refresh_if_due(ctx, package).await;
            let lists = catalog::version_lists(ctx, package).await?;
            let wanted = lists.into_iter().find(|(key, _)| *key == lookup.key);
            match (wanted, at_origin) {
                (None, Err(failure)) => return Err(failure),
                (Some((_, document)), Err(failure)) => {
                    // Nothing is stored, and nothing known.
                    if document
                        .metadata
                        .pull
                        .as_ref()
                        .is_some_and(|pull| pull.is_empty)
                    {
                        return Err(failure);
                    }
                    ctx.report(failure);
                    return answer(ctx, lookup, document, origin);
                }
                // Not worth to be written: it is too old already.
                (Some((_, document)), Ok(false)) => {
                    return answer(ctx, lookup, document, origin);
                }
                (wanted, Ok(_)) => wanted.map(|(_, document)| document),
            }
        }
        IndexKey::Version(package, version) | IndexKey::Tag(package, version) => {
            let release = match releases::find(ctx, package, version).await? {
                Some(release) => Some(release),
                None => puller::fetch(ctx, package, version).await?,
            };
            match release {
                Some(release) => pick(&lookup.key, catalog::version_indices(ctx, &release).await?),
                None => None,
            }
        }
        IndexKey::Content(package, digest) => catalog::content(ctx, package, *digest).await?,
        IndexKey::Pushed(index) => oci_catalog::index(ctx, index).await?,
        // No route leads here.
        IndexKey::Revocations => None,
    };
    let Some(document) = document else {
        return Ok(lookup.not_found());
    };
    let pull = document.metadata.pull.as_ref();
    if is_replaced || pull.is_none_or(|pull| !pull.is_empty) {
        ctx.defer(Task::Rebuild(lookup.key.clone()));
    }
    answer(ctx, lookup, document, origin)
}

fn answer<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    document: IndexDocument,
    origin: &str,
) -> Result<Reply<P::Stream>, Failure> {
    let IndexDocument { text, metadata } = document;
    let found = Found {
        metadata,
        body: Body::Text(text),
    };
    match finish(ctx, lookup, found, origin) {
        Ok(reply) => Ok(reply),
        Err(FinishError::Problem(problem)) => Err(problem.into()),
        Err(FinishError::Corrupt) => Err(Failure::Corrupt(lookup.key.to_string())),
    }
}

fn finish<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    found: Found<P::Stream>,
    origin: &str,
) -> Result<Reply<P::Stream>, FinishError> {
    let urls = ctx.config.archive_urls.as_ref();
    let now = ctx.host.clock().now();
    lookup.finish(found, urls, origin, &ctx.config.pull, now)
}
