//! Publishes: reads the stored state, lets the core plan, and executes the steps.

use std::collections::BTreeMap;

use futures_util::future::{join, try_join, try_join_all};
use terrace_core::http::problem::Problem;
use terrace_core::index::PublishedDigests;
use terrace_core::model::status::KeyStatus;
use terrace_core::publish::{
    Accepted, ArchiveState, ExpectedArchive, ObservedState, Plan, Publication, PublishStep,
    StoredRelease, release_metadata,
};
use terrace_core::storage::key::{ArchiveKey, FactKey};
use terrace_core::storage::release::Release;
use terrace_openpgp::{KeyId, SigningKey};

use crate::archives::{staging, stored_archives};
use crate::concurrent::Boxed;
use crate::context::Context;
use crate::documents::{keys, releases};
use crate::failure::Failure;
use crate::host::{
    Archives as _, Clock as _, Condition, Facts as _, Host, Indices as _, Payload, StoreError,
    Stored,
};
use crate::index::index_refresh::LastWrite;
use crate::index::{index_refresh, index_writer};
use crate::removal::garbage;
use crate::removal::garbage::{GcFence, being_removed};
use crate::{concurrent, documents};

/// The outcome of a publish.
pub(crate) enum PublishOutcome {
    /// Everything is stored.
    Whole(Accepted),
    /// These archives are missing.
    Lacks(Vec<ExpectedArchive>),
}

/// Publishes from stored archives or, if the caller must prove possession (`requires_possession`), from the archives
/// staged for this release.
pub(crate) async fn publish<P: Host>(
    ctx: &Context<'_, P>,
    publication: &Publication,
    requires_possession: bool,
) -> Result<PublishOutcome, Failure> {
    let (package, version) = (publication.package(), publication.version());
    loop {
        let release = releases::stored(ctx, &package, version);
        let (fence, existing) = try_join(garbage::fence(ctx), release).await?;
        let observed = observe(ctx, publication, requires_possession, &fence, existing);
        let seen = observed.await?;
        match publication.plan(seen, ctx.host.clock().now()) {
            Plan::Erased(message) => return Err(Problem::Gone(message).into()),
            Plan::Conflict(reasons) => return Err(Problem::Conflict(reasons).into()),
            Plan::Invalid(reasons) => return Err(Problem::Invalid(reasons).into()),
            Plan::Upload(missing) => return Ok(PublishOutcome::Lacks(missing)),
            Plan::Execute(steps, accepted) => {
                if execute(ctx, steps, &fence, LastWrite::AuditEntry).await? {
                    return Ok(PublishOutcome::Whole(accepted));
                }
                // Another publisher has written the release. It is never removed and never loses anything, so this ends.
            }
        }
    }
}

/// Reads everything that the plan depends on. An existing release that settles the publish suffices.
async fn observe<P: Host>(
    ctx: &Context<'_, P>,
    publication: &Publication,
    requires_possession: bool,
    fence: &GcFence,
    mut existing: Option<StoredRelease>,
) -> Result<ObservedState, Failure> {
    let settles = |stored: &StoredRelease| publication.is_settled_by(&stored.release);
    if existing.as_ref().is_some_and(settles) {
        return Ok(ObservedState::settled(existing, None));
    }
    let package = publication.package();
    let version = publication.version();
    let may_be_lost = existing.is_none();
    let read_digests = async {
        if !may_be_lost {
            return None;
        }
        let read = releases::published_digests_if_listed(ctx, &package, version).await;
        // A publish proceeds without them if KV fails.
        read.unwrap_or_else(|failure| {
            ctx.report(failure);
            None
        })
    };
    let (published, inspected) = match requires_possession {
        // The staged archives are promoted only if the version is not lost.
        true => (read_digests.await, None),
        false => {
            let (published, inspected) = join(read_digests, inspect(ctx, publication, fence)).await;
            (published, Some(inspected))
        }
    };
    let differs = |it: &PublishedDigests| publication.repeats(it).is_err();
    let is_lost = published.as_ref().is_some_and(differs);
    if is_lost {
        // Another publisher may have committed it between the two reads.
        existing = releases::stored(ctx, &package, version).await?;
    }
    if existing.as_ref().map_or(is_lost, settles) {
        return Ok(ObservedState::settled(existing, published));
    }
    let ((keys, key_statuses), archives) = match inspected {
        Some(inspected) => inspected?,
        None => {
            let keys = verifying_keys(ctx, publication);
            try_join(keys, staging::promote(ctx, publication, fence)).await?
        }
    };
    Ok(ObservedState {
        existing,
        published,
        keys,
        key_statuses,
        archives,
    })
}

/// The keys of a namespace, and their status.
type Keys = (Vec<SigningKey>, BTreeMap<KeyId, KeyStatus>);

/// Reads the keys that may have signed a publication, and the states of its archives.
async fn inspect<P: Host>(
    ctx: &Context<'_, P>,
    publication: &Publication,
    fence: &GcFence,
) -> Result<(Keys, Vec<ArchiveState>), Failure> {
    let archives = publication.archives();
    // All at once: a release has few, each takes the memory of a zip's tail, and the platform itself lets six operations wait for
    // their results (<https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections>).
    let states = archives
        .iter()
        .map(|it| stored_archives::state(ctx, it, fence));
    try_join(verifying_keys(ctx, publication), try_join_all(states)).await
}

/// Returns the keys that may have signed a publication; none if it names its own key, or has none.
async fn verifying_keys<P: Host>(
    ctx: &Context<'_, P>,
    publication: &Publication,
) -> Result<Keys, Failure> {
    match publication {
        Publication::Provider(provider) => keys::verifying(ctx, &provider.address.namespace).await,
        Publication::Mirror(_) | Publication::Module(_) => Ok(Keys::default()),
    }
}

/// Executes the steps of a plan in order, each again while its key is rate limited; those that store bytes, which nothing
/// refers to yet, at once. Ends early, with `false`, if another publisher has committed first.
pub(crate) async fn execute<P: Host>(
    ctx: &Context<'_, P>,
    steps: Vec<PublishStep>,
    fence: &GcFence,
    last: LastWrite,
) -> Result<bool, Failure> {
    let mut storing: Vec<Boxed<'_>> = Vec::new();
    for step in &steps {
        if let PublishStep::StoreArchive(key, bytes) = step {
            storing.push(Box::pin(async move {
                let store = async || store_document(ctx, *key, bytes, fence).await;
                documents::retry_while_busy(ctx, store).await
            }));
        }
    }
    concurrent::all(storing).await?;
    for step in &steps {
        let execute = async || execute_step(ctx, step, fence, last).await;
        if !documents::retry_while_busy(ctx, execute).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Stores a signed document.
async fn store_document<P: Host>(
    ctx: &Context<'_, P>,
    key: ArchiveKey,
    bytes: &[u8],
    fence: &GcFence,
) -> Result<(), Failure> {
    if !garbage::claim(ctx, key.into(), fence).await? {
        return Err(being_removed(key.into()).into());
    }
    let archives = ctx.host.archives();
    let payload = Payload::Bytes(bytes.to_vec());
    match archives.store(key.into(), payload).await {
        Ok(Stored::Yes) => Ok(()),
        Ok(Stored::DigestMismatch) => Err(Failure::Damaged(key.to_string())),
        Err(StoreError::Busy(operation)) => {
            // Another request is storing the same bytes.
            let head = archives.head(key.into()).await?;
            match head.and_then(|head| head.sha256) == Some(key.digest) {
                true => Ok(()),
                false => Err(StoreError::Busy(operation).into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

async fn execute_step<P: Host>(
    ctx: &Context<'_, P>,
    step: &PublishStep,
    fence: &GcFence,
    last: LastWrite,
) -> Result<bool, Failure> {
    match step {
        // They are stored already.
        PublishStep::StoreArchive(..) => Ok(true),
        PublishStep::CreateRelease(release) => commit(ctx, release, Condition::Absent, fence).await,
        PublishStep::GrowRelease(release, etag) => {
            commit(ctx, release, Condition::Unchanged(etag.clone()), fence).await
        }
        PublishStep::RefreshIndices(release, scope) => {
            let change = FactKey::Change(release.package());
            index_writer::rewrite_change_marker(ctx, &change).await?;
            index_refresh::publish_release(ctx, release, *scope, last).await?;
            Ok(true)
        }
        PublishStep::RemoveIndices(keys) => {
            let remove = |key| -> Boxed<'_> {
                Box::pin(async move { Ok(ctx.host.indices().delete(key).await?) })
            };
            concurrent::all(keys.iter().map(remove).collect()).await?;
            Ok(true)
        }
    }
}

/// Writes the document of a release: the commit.
async fn commit<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
    condition: Condition,
    fence: &GcFence,
) -> Result<bool, Failure> {
    garbage::ensure_fresh(ctx, fence)?;
    let key = FactKey::Release(release.package(), release.version().clone());
    let (document, metadata) = (release.to_document(), release_metadata(release));
    let facts = ctx.host.facts();
    let written = facts.put(&key, &document, &metadata, condition).await?;
    Ok(written.is_some())
}
