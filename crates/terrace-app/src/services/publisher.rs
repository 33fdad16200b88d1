//! Publishes: reads the stored state, lets the core plan, and executes the steps.

use std::collections::BTreeMap;

use terrace_core::http::problem::Problem;
use terrace_core::index::DescribedVersion;
use terrace_core::model::package::Package;
use terrace_core::model::provenance::Provenance;
use terrace_core::model::version::Version;
use terrace_core::publish::{
    ExpectedArchive, ObservedState, Plan, Publication, PublishStep, StoredRelease, release_metadata,
};
use terrace_core::storage::key::FactKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{
    Archives as _, Clock as _, Condition, Facts as _, Host, Payload, StoreError, Stored,
};
use crate::services::garbage::{GcFence, being_removed};
use crate::services::{
    documents, garbage, index_refresh, index_writer, keys, releases, staging, stored_archives,
};

/// The outcome of executing a plan.
pub(crate) enum Executed {
    /// All steps were executed.
    All,
    /// Another publisher wrote the release first.
    WrittenByAnother,
}

impl Executed {
    pub(crate) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }
}

/// The outcome of a publish.
pub(crate) enum PublishOutcome {
    /// Everything is stored.
    Whole {
        /// Whether this publish committed something: a new release, or additions to a mirrored one.
        commits: bool,
        /// The job that published the release first, if it was a job with a verified identity.
        provenance: Option<Provenance>,
        /// Warnings for the publisher.
        warnings: Vec<String>,
    },
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
    loop {
        let fence = garbage::fence(ctx).await?;
        let seen = observe(ctx, publication, requires_possession, &fence).await?;
        match publication.plan(seen, ctx.host.clock().now()) {
            Plan::Erased(message) => return Err(Problem::Gone(message).into()),
            Plan::Conflict(reasons) => return Err(Problem::Conflict(reasons).into()),
            Plan::Invalid(reasons) => return Err(Problem::Invalid(reasons).into()),
            Plan::Upload(missing) => return Ok(PublishOutcome::Lacks(missing)),
            Plan::Execute {
                steps,
                commits,
                provenance,
                warnings,
            } => match execute(ctx, steps, &fence).await? {
                Executed::All => {
                    return Ok(PublishOutcome::Whole {
                        commits,
                        provenance,
                        warnings,
                    });
                }
                // Each iteration means that another publisher has written the release. It is never removed
                // and never loses anything, so this ends.
                Executed::WrittenByAnother => {}
            },
        }
    }
}

/// Reads everything that the plan depends on. An existing release that settles the publish suffices.
async fn observe<P: Host>(
    ctx: &Context<'_, P>,
    publication: &Publication,
    requires_possession: bool,
    fence: &GcFence,
) -> Result<ObservedState, Failure> {
    let package = publication.package();
    let version = publication.version();
    let mut existing = releases::stored(ctx, &package, version).await?;
    let mut described = None;
    if existing.is_none() {
        described = still_described(ctx, &package, version).await;
    }
    let differs = |it: &DescribedVersion| publication.repeats(it).is_err();
    let is_lost = described.as_ref().is_some_and(differs);
    if is_lost {
        // Another publisher may have committed it between the two reads.
        existing = releases::stored(ctx, &package, version).await?;
    }
    let settles = |stored: &StoredRelease| publication.is_settled_by(&stored.release);
    if existing.as_ref().map_or(is_lost, settles) {
        return Ok(ObservedState {
            existing,
            described,
            keys: Vec::new(),
            key_statuses: BTreeMap::new(),
            archives: Vec::new(),
        });
    }
    let (keys, key_statuses) = match publication {
        Publication::Provider(provider) => {
            keys::verifying(ctx, &provider.address.namespace).await?
        }
        Publication::Mirror(_) | Publication::Module(_) => Default::default(),
    };
    let archives = match requires_possession {
        true => staging::promote(ctx, publication, fence).await?,
        false => stored_archives::states(ctx, &publication.archives(), fence).await?,
    };
    Ok(ObservedState {
        existing,
        described,
        keys,
        key_statuses,
        archives,
    })
}

/// Returns the description of a version, as [`releases::described_if_listed`] does. A publish proceeds without it if
/// KV fails.
async fn still_described<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Option<DescribedVersion> {
    match releases::described_if_listed(ctx, package, version).await {
        Ok(described) => described,
        Err(failure) => {
            ctx.report(failure);
            None
        }
    }
}

/// Executes the steps of a plan in order, each again while its key is rate limited. Ends early if another
/// publisher has committed first.
pub(crate) async fn execute<P: Host>(
    ctx: &Context<'_, P>,
    steps: Vec<PublishStep>,
    fence: &GcFence,
) -> Result<Executed, Failure> {
    for step in steps {
        let executed =
            documents::retry_while_busy(ctx, async || execute_step(ctx, &step, fence).await)
                .await?;
        if let Executed::WrittenByAnother = executed {
            return Ok(executed);
        }
    }
    Ok(Executed::All)
}

async fn execute_step<P: Host>(
    ctx: &Context<'_, P>,
    step: &PublishStep,
    fence: &GcFence,
) -> Result<Executed, Failure> {
    let facts = ctx.host.facts();
    match step {
        PublishStep::StoreArchive(key, bytes) => {
            if !garbage::claim(ctx, (*key).into(), fence).await? {
                return Err(being_removed((*key).into()).into());
            }
            let archives = ctx.host.archives();
            let payload = Payload::Bytes(bytes.clone());
            match archives.store((*key).into(), payload).await {
                Ok(Stored::Yes) => {}
                Ok(Stored::DigestMismatch) => {
                    return Err(Failure::Damaged(key.to_string()));
                }
                Err(StoreError::Busy(operation)) => {
                    // Another request is storing the same bytes.
                    let head = archives.head((*key).into()).await?;
                    if head.and_then(|head| head.sha256) != Some(key.digest) {
                        return Err(StoreError::Busy(operation).into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        PublishStep::CreateRelease(release) => {
            garbage::ensure_fresh(ctx, fence)?;
            let key = FactKey::Release(release.package(), release.version().clone());
            let document = release.to_document();
            let metadata = release_metadata(release);
            let written = facts
                .put(&key, &document, &metadata, Condition::Absent)
                .await?;
            if written.is_none() {
                return Ok(Executed::WrittenByAnother);
            }
        }
        PublishStep::GrowRelease(release, etag) => {
            garbage::ensure_fresh(ctx, fence)?;
            let key = FactKey::Release(release.package(), release.version().clone());
            let document = release.to_document();
            let metadata = release_metadata(release);
            let unchanged = Condition::Unchanged(etag.clone());
            let written = facts.put(&key, &document, &metadata, unchanged).await?;
            if written.is_none() {
                return Ok(Executed::WrittenByAnother);
            }
        }
        PublishStep::MarkChanged(package) => {
            index_writer::rewrite_change_marker(ctx, &FactKey::Change(package.clone())).await?
        }
        PublishStep::IndexVersion(release) => index_refresh::publish_version(ctx, release).await?,
        PublishStep::IndexLists(package) => index_refresh::publish_lists(ctx, package).await?,
    }
    Ok(Executed::All)
}
