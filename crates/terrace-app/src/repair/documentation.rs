//! Removes documentation that waits for a release and was given up, and documentation with an erased text: a request that
//! added it, or erased the archives of its version, may have ended midway.

use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::storage::documentation::DocumentationDocument;
use terrace_core::storage::key::{ArchiveKey, BytesKey, FactKey};

use crate::context::Context;
use crate::documentation::documentation_removal::DocumentRemoval;
use crate::documentation::{documentation_removal, documenter};
use crate::documents;
use crate::documents::{documentation, releases};
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Host, ListedFact};
use crate::removal::garbage;
use crate::repair::step::{
    MIN_OPERATIONS, MIN_OPERATIONS_FOR_LISTS, Published, RepairStep, StepFlow,
};

impl<P: Host> RepairStep<'_, '_, P> {
    /// Removes a document if it is abandoned, or if its text was erased. Comparing it with known listings takes no operation. A
    /// publisher who continues after all sends the same documentation again; that stores it again long before it would be
    /// removed.
    pub(super) async fn sweep_documentation(
        &mut self,
        fact: &ListedFact,
        package: Package,
        version: Version,
    ) -> Result<StepFlow, Failure> {
        let mut is_new = false;
        let of_package = match self.published.take().filter(|it| it.package == package) {
            Some(of_package) => of_package,
            // This also covers the removal: a second question would stop a step that may visit one item only.
            None if self.affords(MIN_OPERATIONS_FOR_LISTS) => {
                is_new = true;
                let listed = documents::list(self.ctx, &FactKey::releases_of(&package)).await?;
                self.spend_names(listed.len());
                // A tombstone has no documentation.
                let released = listed.into_iter().filter(|fact| !releases::is_erased(fact));
                Published {
                    package: package.clone(),
                    releases: released.collect(),
                }
            }
            None => return Ok(StepFlow::Pause),
        };
        let marks = self.marks().await?;
        let of_package = self.published.insert(of_package);
        let version_name = version.to_string();
        let mut releases = of_package.releases.iter();
        let release = releases.find(|release| release.name == version_name);
        let is_published = release.is_some();
        let archive = documentation::archive_of(self.ctx, fact).await?;
        let erased = archive.filter(|archive| marks.has_mark(BytesKey::from(*archive)));
        let is_suspect = match release {
            _ if erased.is_some() => true,
            Some(release) if !marks.is_empty() => {
                let listed = releases::listed(self.ctx, &package, version.clone(), release);
                match listed.await {
                    Ok(listed) => listed.is_some_and(|listed| marks.marks_part_of(&listed)),
                    Err(failure @ Failure::Corrupt(_)) => {
                        let key = FactKey::Release(package, version);
                        self.note_failed(key.to_string(), failure);
                        return Ok(StepFlow::Continue);
                    }
                    Err(failure) => return Err(failure),
                }
            }
            _ => false,
        };
        if is_published && !is_suspect {
            return Ok(StepFlow::Continue);
        }
        let operations = match is_suspect {
            true => MIN_OPERATIONS_FOR_LISTS,
            false => MIN_OPERATIONS,
        };
        if !is_new && !self.affords(operations) {
            return Ok(StepFlow::Pause);
        }
        let key = FactKey::Documentation(package, version);
        let removed = match self.remove_if_erased(&key, is_suspect, erased).await {
            Ok(false) if !is_published => remove_if_abandoned(self.ctx, &key).await,
            removed => removed,
        };
        self.note_removed(key.to_string(), removed);
        Ok(StepFlow::Continue)
    }

    /// Removes suspect documentation if it was erased, or if it describes a release with an erased archive. Returns whether it
    /// was.
    async fn remove_if_erased(
        &mut self,
        key: &FactKey,
        is_suspect: bool,
        archive: Option<ArchiveKey>,
    ) -> Result<bool, Failure> {
        let FactKey::Documentation(package, version) = key else {
            return Ok(false);
        };
        let ctx = self.ctx;
        if !is_suspect {
            return Ok(false);
        }
        if let Some(archive) = archive
            && garbage::is_erased(ctx, archive.into()).await?
        {
            // The tombstone does not remove the bytes that an upload has stored since, or another request has left.
            // The scheduled copy removes a copy of them.
            ctx.host.archives().discard(archive.into()).await?;
            let removal = DocumentRemoval {
                package: package.clone(),
                version: version.clone(),
                only: Some(archive.digest),
            };
            documentation_removal::remove(ctx, &[removal], ctx.operations()).await?;
            return Ok(true);
        }
        let Some(release) = releases::find(ctx, package, version).await? else {
            return Ok(false);
        };
        let marks = self.marks().await?;
        match garbage::ensure_release_kept(ctx, &release, &marks).await {
            Err(Failure::Problem(Problem::Gone(_))) => {
                documentation_removal::discard_in_repair(ctx, package, version).await?;
                Ok(true)
            }
            kept => kept.map(|()| false),
        }
    }
}

/// Removes a document if it is old enough, and if the version was not published since the listing. The mark fails if it was
/// stored again; a publisher does not replace a document with a recent mark, and is told to repeat the request.
async fn remove_if_abandoned<P: Host>(
    ctx: &Context<'_, P>,
    key: &FactKey,
) -> Result<bool, Failure> {
    let FactKey::Documentation(package, version) = key else {
        return Ok(false);
    };
    let (document, unchanged) = documentation::find_for_change(ctx, key).await?;
    let now = ctx.host.clock().now();
    let is_abandoned = |it: &DocumentationDocument| {
        now.since(it.changed_at()) > limits::DOCUMENTATION_ABANDONED_SECONDS
    };
    let Some(document) = document.filter(is_abandoned) else {
        return Ok(false);
    };
    if is_published(ctx, package, version).await? {
        return Ok(false);
    }
    let marked = documentation::put(ctx, key, &document.in_removal(now), unchanged).await?;
    if !marked
        || is_published(ctx, package, version).await?
        || !documentation::remove(ctx, key, Some(now)).await?
    {
        return Ok(false);
    }
    if is_published(ctx, package, version).await? {
        // The publish may have found the documentation.
        documenter::refresh(ctx, package, version).await?;
    }
    Ok(true)
}

async fn is_published<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<bool, Failure> {
    let release = releases::find(ctx, package, version).await?;
    Ok(release.is_some_and(|release| release.erased().is_none()))
}
