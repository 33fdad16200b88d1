//! Reads that no index answers: the facts decide.

use terrace_core::http::reply::{Body, Reply};
use terrace_core::read::{FinishError, Found, FoundIndices, Lookup};
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

/// Answers a read from the facts, and logs why its index did not answer it.
pub(crate) async fn read<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    origin: &str,
    miss: Miss,
) -> Reply<P::Stream> {
    match &miss {
        Miss::Absent(_) | Miss::Unfit => {}
        // R2 can answer when KV cannot.
        Miss::Failed(error) => ctx.host.log(&format!("storage: {error}")),
        Miss::Corrupt => ctx.host.log(&format!(
            "the index {} in KV is corrupt: answering from R2",
            lookup.key
        )),
    }
    match read_facts(ctx, lookup, origin, miss).await {
        Ok(reply) => reply,
        Err(failure) => lookup.problem(&ctx.report(failure)),
    }
}

/// Answers a read after a KV miss, or from an index to replace: R2 decides whether the key exists.
async fn read_facts<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    origin: &str,
    miss: Miss,
) -> Result<Reply<P::Stream>, Failure> {
    let Made {
        document,
        is_lasting,
    } = make(ctx, &lookup.key).await?;
    let Some(document) = document else {
        return Ok(lookup.not_found());
    };
    let mut others = Vec::new();
    for key in &lookup.others {
        others.push(make(ctx, key).await?.document);
    }
    let pull = document.metadata.pull.as_ref();
    let is_replaced = matches!(miss, Miss::Unfit);
    if is_lasting && (is_replaced || pull.is_none_or(|pull| !pull.is_empty)) {
        let keys = match miss {
            Miss::Absent(keys) => keys,
            Miss::Failed(_) | Miss::Unfit | Miss::Corrupt => lookup.keys().cloned().collect(),
        };
        for key in keys {
            ctx.defer(Task::Rebuild(key));
        }
    }
    answer(ctx, lookup, document, others, origin)
}

/// An index that was made from the facts.
struct Made {
    /// The index; `None` if the facts hold nothing for it.
    document: Option<IndexDocument>,
    /// Whether it is worth to be written: one that its origin could not confirm is too old already.
    is_lasting: bool,
}

/// Makes the index of a key from the facts.
async fn make<P: Host>(ctx: &Context<'_, P>, key: &IndexKey) -> Result<Made, Failure> {
    let document = match key {
        IndexKey::Versions(package)
        | IndexKey::MirrorVersions(package)
        | IndexKey::Tags(package) => {
            let at_origin = puller::refresh_if_due(ctx, package).await;
            let lists = catalog::version_lists(ctx, package).await?;
            let wanted = lists.into_iter().find(|(listed, _)| listed == key);
            match (wanted, at_origin) {
                (None, Err(failure)) => return Err(failure),
                (Some((_, document)), Err(failure)) => {
                    // Nothing is stored, and the origin's list is unknown.
                    if document
                        .metadata
                        .pull
                        .as_ref()
                        .is_some_and(|pull| pull.is_empty)
                    {
                        return Err(failure);
                    }
                    ctx.report(failure);
                    return Ok(Made::outdated(document));
                }
                (Some((_, document)), Ok(false)) => return Ok(Made::outdated(document)),
                (wanted, Ok(_)) => wanted.map(|(_, document)| document),
            }
        }
        IndexKey::Version(package, version) | IndexKey::Tag(package, version) => {
            let release = match releases::find(ctx, package, version).await? {
                Some(release) => Some(release),
                None => puller::fetch(ctx, package, version).await?,
            };
            match release {
                Some(release) => pick(key, catalog::version_indices(ctx, &release).await?),
                None => None,
            }
        }
        IndexKey::Content(package, digest) => catalog::content(ctx, package, *digest).await?,
        IndexKey::Pushed(index) => oci_catalog::index(ctx, index).await?,
        // No route leads to this index.
        IndexKey::Revocations => None,
    };
    Ok(Made {
        document,
        is_lasting: true,
    })
}

impl Made {
    fn outdated(document: IndexDocument) -> Self {
        Self {
            document: Some(document),
            is_lasting: false,
        }
    }
}

fn answer<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    first: IndexDocument,
    others: Vec<Option<IndexDocument>>,
    origin: &str,
) -> Result<Reply<P::Stream>, Failure> {
    let others = others.into_iter().map(|it| it.map(found));
    let found = FoundIndices {
        first: found(first),
        others: others.collect(),
    };
    match finish(ctx, lookup, found, origin) {
        Ok(reply) => Ok(reply),
        Err(FinishError::Problem(problem)) => Err(problem.into()),
        Err(FinishError::Corrupt) => Err(Failure::Corrupt(lookup.key.to_string())),
    }
}

fn found<S>(document: IndexDocument) -> Found<S> {
    let IndexDocument { text, metadata } = document;
    let body = Body::Text(text);
    Found { metadata, body }
}

fn finish<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    found: FoundIndices<P::Stream>,
    origin: &str,
) -> Result<Reply<P::Stream>, FinishError> {
    let urls = ctx.config.archive_urls.as_ref();
    let now = ctx.host.clock().now();
    lookup.finish(found, urls, origin, &ctx.config.pull, now)
}
