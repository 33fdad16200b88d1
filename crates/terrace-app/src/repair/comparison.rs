//! Compares stored indices with their expected documents.

use terrace_core::http::reply::Body;
use terrace_core::limits;
use terrace_core::model::version::Version;
use terrace_core::read::StoredIndex;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::IndexKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Host, Indices as _};
use crate::repair::step::RepairStep;

/// The result of comparing one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared {
    /// KV has this index, byte for byte.
    Same,
    /// KV does not have the key.
    Missing,
    /// KV has something else, or cannot be read.
    Different,
}

/// The difference between KV and a few indices, some of which should be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Difference {
    /// There is none.
    None,
    /// An expected index is missing, or has other contents.
    Contents,
    /// KV has an index that should be missing.
    Surplus,
}

impl Difference {
    fn of(is_same: bool, has_surplus: bool) -> Self {
        match (is_same, has_surplus) {
            (_, true) => Self::Surplus,
            (false, false) => Self::Contents,
            (true, false) => Self::None,
        }
    }
}

/// Compares indices, up to [`limits::INDICES_AT_ONCE`] of them in one operation.
pub(crate) async fn compare<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    expected: &[&(IndexKey, IndexDocument)],
) -> Vec<Compared> {
    compare_shared(ctx, step, expected, &|_| false).await
}

/// Compares indices like [`compare`]. Versions with the same bytes share the index of their digest, which names
/// the version that wrote it last: it may be any that `is_installable`.
async fn compare_shared<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    expected: &[&(IndexKey, IndexDocument)],
    is_installable: &dyn Fn(&Version) -> bool,
) -> Vec<Compared> {
    let mut compared = Vec::new();
    for some in expected.chunks(limits::INDICES_AT_ONCE) {
        step.spend(1);
        step.count_reads(some.len());
        let keys: Vec<&IndexKey> = some.iter().map(|(key, _)| key).collect();
        let indices = ctx.host.indices();
        match indices.get_all(&keys, limits::LIST_CACHE_SECONDS).await {
            Ok(found) => {
                let results = some.iter().zip(found);
                let results =
                    results.map(|((_, expected), found)| of(found, expected, is_installable));
                compared.extend(results);
            }
            Err(error) => {
                ctx.host.log(&format!("storage: {error}"));
                compared.extend(some.iter().map(|_| Compared::Different));
            }
        }
    }
    compared
}

/// Returns whether KV has all of these indices.
pub(crate) async fn all_same<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    expected: &[(IndexKey, IndexDocument)],
) -> bool {
    all_same_shared(ctx, step, expected, &|_| false).await
}

/// Returns whether KV has all of these indices, as [`compare_shared`] compares them.
pub(crate) async fn all_same_shared<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    expected: &[(IndexKey, IndexDocument)],
    is_installable: &dyn Fn(&Version) -> bool,
) -> bool {
    let expected: Vec<&(IndexKey, IndexDocument)> = expected.iter().collect();
    let compared = compare_shared(ctx, step, &expected, is_installable).await;
    compared.iter().all(|it| *it == Compared::Same)
}

/// Compares a few indices in one operation, some of which should be missing. If KV cannot be read, all of them differ.
pub(crate) async fn difference<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    expected: &[(IndexKey, IndexDocument)],
    missing: &[IndexKey],
) -> Difference {
    let present = expected.iter().map(|(key, document)| (key, Some(document)));
    let all: Vec<(&IndexKey, Option<&IndexDocument>)> = present
        .chain(missing.iter().map(|key| (key, None)))
        .collect();
    step.spend(1);
    step.count_reads(all.len());
    let keys: Vec<&IndexKey> = all.iter().map(|(key, _)| *key).collect();
    let indices = ctx.host.indices();
    let found = match indices.get_all(&keys, limits::LIST_CACHE_SECONDS).await {
        Ok(found) => found,
        Err(error) => {
            ctx.host.log(&format!("storage: {error}"));
            return Difference::of(false, !missing.is_empty());
        }
    };
    let (mut is_same, mut has_surplus) = (true, false);
    for ((_, expected), found) in all.into_iter().zip(found) {
        match expected {
            Some(expected) => is_same &= of(found, expected, &|_| false) == Compared::Same,
            None => has_surplus |= found.is_some(),
        }
    }
    Difference::of(is_same, has_surplus)
}

/// Runs an operation, and spends the storage operations that it takes: how many a status requires depends on
/// the other versions of its package.
pub(crate) async fn counted<P: Host, T>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    operation: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let began = ctx.operations();
    let result = operation.await;
    step.spend((ctx.operations() - began) as usize);
    result
}

fn of<S>(
    found: Option<StoredIndex<S>>,
    expected: &IndexDocument,
    is_installable: &dyn Fn(&Version) -> bool,
) -> Compared {
    let Some(mut found) = found else {
        return Compared::Missing;
    };
    let version = found.metadata.content.as_mut();
    if let Some(version) = version.and_then(|content| content.version.as_mut())
        && is_installable(version)
        && let Some(content) = &expected.metadata.content
        && let Some(expected) = &content.version
    {
        version.clone_from(expected);
    }
    let is_text = matches!(&found.body, Body::Text(text) if *text == expected.text);
    match is_text && found.metadata == expected.metadata {
        true => Compared::Same,
        false => Compared::Different,
    }
}
