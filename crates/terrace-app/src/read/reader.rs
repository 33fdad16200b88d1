//! Answers the reads that no index answers, from the facts.

use terrace_core::http::reply::{Body, Reply};
use terrace_core::limits;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::read::{FinishError, IndexForm, Lookup, StoredIndex, StoredIndices};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::IndexKey;
use terrace_core::storage::release::Release;

use crate::context::{Context, Task};
use crate::documents::releases;
use crate::driver::{MissReason, ReadIndices};
use crate::failure::Failure;
use crate::host::{Clock as _, Host, Indices as _, StoreError};
use crate::index::catalog::shards;
use crate::index::catalog::shards::Shard;
use crate::index::expected_indices;
use crate::index::expected_indices::pick;
use crate::oci::pushed_contents;
use crate::pull::puller;

/// Answers a read from the facts, and logs why its index did not answer it.
pub(crate) async fn read<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    origin: &str,
    miss: MissReason,
) -> Reply<P::Stream> {
    log_miss(ctx, lookup, &miss);
    match read_facts(ctx, lookup, origin, miss).await {
        Ok(reply) => reply,
        Err(failure) => lookup.problem(&ctx.report(failure)),
    }
}

/// Logs why an index did not answer a read, if that is a failure.
pub(crate) fn log_miss<P: Host>(ctx: &Context<'_, P>, lookup: &Lookup, miss: &MissReason) {
    match miss {
        MissReason::Absent(_) | MissReason::Unfit => {}
        MissReason::Failed(error) => log_failure(ctx, error),
        MissReason::Corrupt => ctx.host.log(&format!(
            "the index {} in KV is corrupt: answering from R2",
            lookup.key
        )),
    }
}

/// Reads the indices under these keys in one operation.
pub(crate) async fn indices<P: Host>(
    ctx: &Context<'_, P>,
    keys: Vec<&IndexKey>,
    form: IndexForm,
    cache_seconds: u32,
) -> Result<ReadIndices<P::Stream>, StoreError> {
    let indices = ctx.host.indices();
    if let [key] = keys.as_slice() {
        return Ok(indices.get(key, form, cache_seconds).await?.into());
    }
    let mut found = indices.get_all(&keys, cache_seconds).await?.into_iter();
    Ok(ReadIndices {
        first: found.next().flatten(),
        others: found.collect(),
    })
}

/// The text of an index, for a handler.
#[derive(Debug, Clone)]
pub(crate) struct IndexText {
    pub(crate) text: String,
    pub(crate) etag: String,
}

impl From<IndexDocument> for IndexText {
    fn from(document: IndexDocument) -> Self {
        Self {
            text: document.text,
            etag: document.metadata.etag,
        }
    }
}

impl IndexText {
    /// Returns the text of an index that was read as text.
    fn of<S>(found: StoredIndex<S>) -> Option<Self> {
        let etag = found.metadata.etag;
        match found.body {
            Body::Text(text) => Some(Self { text, etag }),
            Body::Empty | Body::Stream(_) => None,
        }
    }
}

/// Returns the text of an index, from the facts if KV does not have it; `None` if the facts hold nothing for it.
pub(crate) async fn text<P: Host>(
    ctx: &Context<'_, P>,
    key: &IndexKey,
) -> Result<Option<IndexText>, Failure> {
    match stored(ctx, key).await {
        Ok(Some(found)) => Ok(Some(found)),
        Ok(None) => replaced(ctx, key, "").await,
        Err(error) => {
            log_failure(ctx, &error);
            replaced(ctx, key, "").await
        }
    }
}

/// Returns the texts of indices that one operation reads. If KV does not have the first, it is built from the facts; the
/// others may be absent.
pub(crate) async fn texts<P: Host>(
    ctx: &Context<'_, P>,
    keys: &[&IndexKey],
) -> Result<Vec<Option<IndexText>>, Failure> {
    let mut texts = match all_stored(ctx, keys).await {
        Ok(found) => found,
        Err(error) => {
            log_failure(ctx, &error);
            Vec::new()
        }
    };
    texts.resize(keys.len(), None);
    if let (Some(first @ None), Some(key)) = (texts.first_mut(), keys.first()) {
        *first = replaced(ctx, key, "").await?;
    }
    Ok(texts)
}

/// Returns the text of an index, if KV has it.
pub(crate) async fn stored<P: Host>(
    ctx: &Context<'_, P>,
    key: &IndexKey,
) -> Result<Option<IndexText>, StoreError> {
    let seconds = limits::LIST_CACHE_SECONDS;
    let found = ctx.host.indices().get(key, IndexForm::Text, seconds).await;
    Ok(found?.and_then(IndexText::of))
}

/// Returns the texts of the indices that KV has, read by one operation.
pub(crate) async fn all_stored<P: Host>(
    ctx: &Context<'_, P>,
    keys: &[&IndexKey],
) -> Result<Vec<Option<IndexText>>, StoreError> {
    let seconds = limits::LIST_CACHE_SECONDS;
    let found = ctx.host.indices().get_all(keys, seconds).await?;
    let texts = found.into_iter().map(|it| it.and_then(IndexText::of));
    Ok(texts.collect())
}

/// Returns the text of an index as it follows from the facts, and writes it after the response; `None` if it is `stale`, the
/// text that was read. A read may find the same damage again and again, and must not write each time.
pub(crate) async fn replaced<P: Host>(
    ctx: &Context<'_, P>,
    key: &IndexKey,
    stale: &str,
) -> Result<Option<IndexText>, Failure> {
    let MadeIndex {
        document,
        is_worth_writing,
    } = make(ctx, key).await?;
    let document = document.filter(|document| document.text != stale);
    if document.is_some() && is_worth_writing {
        ctx.defer(Task::BackfillIndex(key.clone()));
    }
    Ok(document.map(IndexText::from))
}

/// Logs that KV failed: R2 can answer.
fn log_failure<P: Host>(ctx: &Context<'_, P>, error: &StoreError) {
    ctx.host.log(&format!("storage: {error}"));
}

/// Answers a read after a KV miss, or from an index to replace: R2 decides whether the key exists.
async fn read_facts<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    origin: &str,
    miss: MissReason,
) -> Result<Reply<P::Stream>, Failure> {
    let absences = ctx.host.cache().absences();
    let list = lookup.package_list(&ctx.config.pull);
    let search = list.map(|list| (list, absences.begin_search(ctx.host.clock().now())));
    let Some(found) = indices_of_facts(ctx, lookup, miss).await? else {
        if let Some(missed) = lookup.missed_content()
            && let Some(message) = pushed_contents::erasure(ctx, missed).await?
        {
            return Ok(lookup.erased(message));
        }
        if let Some((list, search)) = search {
            absences.remember(list, search);
        }
        return Ok(lookup.not_found());
    };
    match finish(ctx, lookup, found, origin) {
        Ok(reply) => Ok(reply),
        Err(FinishError::Problem(problem)) => Err(problem.into()),
        Err(FinishError::Corrupt) => Err(Failure::Corrupt(lookup.key.to_string())),
    }
}

/// Returns the indices of a read as they follow from the facts, and writes them after the response; `None` if the facts hold
/// nothing for the first.
pub(crate) async fn indices_of_facts<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    miss: MissReason,
) -> Result<Option<StoredIndices<P::Stream>>, Failure> {
    let MadeIndex {
        document,
        is_worth_writing,
    } = make(ctx, &lookup.key).await?;
    let Some(document) = document else {
        return Ok(None);
    };
    let mut others = Vec::new();
    for key in &lookup.others {
        others.push(make(ctx, key).await?.document.map(found));
    }
    let pull = document.metadata.pull.as_ref();
    let is_replaced = matches!(miss, MissReason::Unfit);
    if is_worth_writing && (is_replaced || pull.is_none_or(|pull| !pull.is_empty)) {
        let keys = match miss {
            MissReason::Absent(keys) => keys,
            MissReason::Failed(_) | MissReason::Unfit | MissReason::Corrupt => {
                lookup.keys().cloned().collect()
            }
        };
        for key in keys {
            ctx.defer(Task::BackfillIndex(key));
        }
    }
    Ok(Some(StoredIndices {
        first: found(document),
        others,
    }))
}

/// An index that was built from the facts.
struct MadeIndex {
    /// The index; `None` if the facts hold nothing for it.
    document: Option<IndexDocument>,
    /// Whether the index is worth writing. One that its origin could not confirm is already outdated.
    is_worth_writing: bool,
}

/// Builds the index of a key from the facts.
async fn make<P: Host>(ctx: &Context<'_, P>, key: &IndexKey) -> Result<MadeIndex, Failure> {
    let document = match key {
        IndexKey::Versions(package)
        | IndexKey::MirrorVersions(package)
        | IndexKey::Overview(package)
        | IndexKey::Tags(package) => {
            let at_origin = puller::refresh_if_due(ctx, package).await;
            let lists = expected_indices::version_lists(ctx, package).await?;
            let expected = lists.into_iter().find(|(listed, _)| listed == key);
            match (expected, at_origin) {
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
                    return Ok(MadeIndex::outdated(document));
                }
                (Some((_, document)), Ok(false)) => return Ok(MadeIndex::outdated(document)),
                // The next read makes it again: the rule that blocks the provider may have been removed.
                (Some((_, document)), Ok(true)) if document.metadata.is_outdated_block() => {
                    return Ok(MadeIndex::outdated(document));
                }
                (expected, Ok(_)) => expected.map(|(_, document)| document),
            }
        }
        IndexKey::About(package, version) => match find_or_fetch(ctx, package, version).await? {
            Some(release) => Some(expected_indices::about(ctx, &release).await?.1),
            None => None,
        },
        IndexKey::Version(package, version) | IndexKey::Tag(package, version) => {
            match find_or_fetch(ctx, package, version).await? {
                Some(release) => pick(
                    key,
                    expected_indices::protocol_indices(ctx, &release).await?,
                ),
                None => None,
            }
        }
        IndexKey::Content(package, digest) => {
            expected_indices::content(ctx, package, *digest).await?
        }
        IndexKey::Pushed(index) => pushed_contents::index(ctx, index).await?,
        IndexKey::Catalog(owner) => shards::index(ctx, owner, Shard::Packages).await?,
        IndexKey::Symbols(owner) => shards::index(ctx, owner, Shard::Symbols).await?,
        // No single read rebuilds the catalogue of all owners.
        IndexKey::MergedCatalog(_) => None,
        // No route leads to these indices.
        IndexKey::Revocations | IndexKey::Rules | IndexKey::Failover | IndexKey::FailoverCopy => {
            None
        }
    };
    Ok(MadeIndex {
        document,
        is_worth_writing: true,
    })
}

/// Returns the release of a version, fetched from its origin if it is not stored.
async fn find_or_fetch<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<Option<Release>, Failure> {
    match releases::find(ctx, package, version).await? {
        Some(release) => Ok(Some(release)),
        None => puller::fetch(ctx, package, version).await,
    }
}

impl MadeIndex {
    fn outdated(document: IndexDocument) -> Self {
        Self {
            document: Some(document),
            is_worth_writing: false,
        }
    }
}

fn found<S>(document: IndexDocument) -> StoredIndex<S> {
    let IndexDocument { text, metadata } = document;
    let body = Body::Text(text);
    StoredIndex { metadata, body }
}

fn finish<P: Host>(
    ctx: &Context<'_, P>,
    lookup: &Lookup,
    found: StoredIndices<P::Stream>,
    origin: &str,
) -> Result<Reply<P::Stream>, FinishError> {
    let urls = ctx.config.download_urls(ctx.host.cache().last_serving());
    let now = ctx.host.clock().now();
    lookup.finish(found, urls, origin, &ctx.config.pull, now)
}
