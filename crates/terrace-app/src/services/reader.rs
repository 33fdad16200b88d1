//! Reads that no index answers: the facts decide.

use terrace_core::http::reply::{Body, Reply};
use terrace_core::read::{FinishError, Found, Lookup};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::IndexKey;

use crate::context::{Context, Task};
use crate::driver::Miss;
use crate::failure::Failure;
use crate::host::{Clock as _, Host};
use crate::services::catalog::pick;
use crate::services::oci::catalog as oci_catalog;
use crate::services::pull::puller;
use crate::services::{catalog, releases};

/// Answers a read from the facts, and logs why its index did not.
pub(crate) async fn read<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    origin: &str,
    miss: Miss,
) -> Reply<P::Stream> {
    match &miss {
        Miss::Absent | Miss::Unfit => {}
        // R2 can answer when KV cannot.
        Miss::Failed(error) => ctx.host.log(&format!("storage: {error}")),
        Miss::Corrupt => ctx.host.log(&format!("index {} is corrupt", lookup.key)),
    }
    let is_replaced = matches!(miss, Miss::Unfit);
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
