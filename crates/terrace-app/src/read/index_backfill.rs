//! The task that writes the index that a reader has missed, after its response. `index_refresh` writes the
//! indices of a change.

use terrace_core::index::card::CardChange;
use terrace_core::limits;
use terrace_core::model::package::Package;
use terrace_core::read::IndexForm;
use terrace_core::storage::key::IndexKey;
use terrace_core::storage::release::Release;

use crate::access::rules;
use crate::context::Context;
use crate::documents::releases;
use crate::failure::Failure;
use crate::host::{Host, Indices as _, StoreError};
use crate::index::catalog::shards::Shard;
use crate::index::catalog::{merged, shards};
use crate::index::expected_indices::pick;
use crate::index::index_writer::Writing;
use crate::index::{expected_indices, index_refresh, index_writer};
use crate::oci::pushed_index_refresh;

/// Writes an index that a reader missed, after the response. A failure does no harm: the next read will try
/// again.
pub(crate) async fn backfill<P: Host>(ctx: &Context<'_, P>, key: &IndexKey) -> Result<(), Failure> {
    match key {
        IndexKey::Versions(package)
        | IndexKey::MirrorVersions(package)
        | IndexKey::Overview(package)
        | IndexKey::Tags(package) => version_lists(ctx, package).await,
        IndexKey::Version(package, version) | IndexKey::Tag(package, version) => {
            match releases::find(ctx, package, version).await? {
                Some(release) => version_indices(ctx, key, &release).await,
                None => Ok(()),
            }
        }
        // The other indices of the version need not be missing.
        IndexKey::About(package, version) => match releases::find(ctx, package, version).await? {
            Some(release) => index_refresh::refresh_about(ctx, &release).await,
            None => Ok(()),
        },
        IndexKey::Content(package, digest) => {
            match expected_indices::release_with(ctx, package, *digest).await? {
                Some(release) => version_indices(ctx, key, &release).await,
                None => Ok(()),
            }
        }
        IndexKey::Pushed(index) => pushed_index_refresh::refresh(ctx, index).await,
        IndexKey::Revocations => index_refresh::refresh_revocations(ctx).await,
        IndexKey::Rules => index_refresh::refresh_rules(ctx).await,
        // The scheduled event writes it, from the later one of two states.
        IndexKey::Failover | IndexKey::FailoverCopy => Ok(()),
        IndexKey::Catalog(owner) | IndexKey::Symbols(owner) => {
            let shard = match key {
                IndexKey::Catalog(_) => Shard::Packages,
                _ => Shard::Symbols,
            };
            let refreshed = shards::refresh(ctx, owner, shard, CardChange::Unchanged);
            refreshed.await.map(drop)
        }
        IndexKey::MergedCatalog(_) => merged::rebuild_in_turn(ctx).await.map(drop),
    }
}

async fn version_indices<P: Host>(
    ctx: &Context<'_, P>,
    key: &IndexKey,
    release: &Release,
) -> Result<(), Failure> {
    // The edge may cache the absence of an index for long. A read with a shorter cache time looks again, and
    // there may be nothing to write.
    let seconds = limits::LIST_CACHE_SECONDS;
    let found = ctx.host.indices().get(key, IndexForm::Stream, seconds);
    let expected = pick(key, expected_indices::protocol_indices(ctx, release).await?)
        .map(|expected| expected.metadata);
    if matches!(found.await, Ok(Some(found)) if Some(&found.metadata) == expected.as_ref()) {
        return Ok(());
    }
    index_refresh::refresh_version(ctx, release).await
}

/// Writes the lists once, and again only if that may have replaced newer ones. If it cannot find out, it leaves none.
async fn version_lists<P: Host>(ctx: &Context<'_, P>, package: &Package) -> Result<(), Failure> {
    let writing = Writing::coalesced(IndexKey::Tags(package.clone()));
    let written = match write_lists_once(ctx, package, &writing).await {
        Ok(true) => return Ok(()),
        Ok(false) => index_refresh::refresh_package(ctx, package).await,
        Err(failure) => Err(failure),
    };
    if written.is_err() {
        writing.withdraw(ctx).await;
    }
    written
}

/// Writes the lists. Returns whether they are the newest, or those of another request are.
async fn write_lists_once<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    writing: &Writing,
) -> Result<bool, Failure> {
    let before = releases::change_revision(ctx, package).await?;
    rules::read_before_writing(ctx, package).await?;
    let lists = expected_indices::version_lists(ctx, package).await?;
    match index_writer::write(ctx, &lists, writing).await {
        // Another request has just written them.
        Err(StoreError::Busy(_)) if !writing.has_written() => return Ok(true),
        Ok(()) | Err(StoreError::Busy(_)) => {}
        // The write may have taken effect.
        Err(error) => ctx.host.log(&format!("storage: {error}")),
    }
    Ok(releases::change_revision(ctx, package).await? == before)
}
