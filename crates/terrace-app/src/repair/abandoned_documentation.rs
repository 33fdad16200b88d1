//! Removes documentation that waits for a release and was given up, and documentation with an erased text: a request that
//! added it, or erased the archives of its version, may have ended midway.

use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::maintenance::repair::{Position, Section};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::storage::documentation::DOCUMENTATION_REMOVAL_SECONDS;
use terrace_core::storage::documentation::DocumentationDocument;
use terrace_core::storage::key::{ArchiveKey, BytesKey, DOCUMENTATION, FactKey};

use crate::context::Context;
use crate::documentation::documentation_removal::DocumentRemoval;
use crate::documentation::{documentation_removal, documenter};
use crate::documents;
use crate::documents::{documentation, releases};
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Facts as _, Host, ListedFact};
use crate::removal::garbage;
use crate::removal::garbage::GcFence;
use crate::repair::comparison::counted;
use crate::repair::step;
use crate::repair::step::REPAIRED_NAMES;
use crate::repair::step::{MIN_OPERATIONS, MIN_OPERATIONS_FOR_LISTS, RepairStep, StepFlow};

/// The smallest and the largest page of a listing. The next step lists the rest of a page again.
const FACTS_PER_LISTING: (u32, u32) = (20, 200);

/// The versions of a package that are published: one listing serves all its documents.
struct Published {
    package: Package,
    releases: Vec<ListedFact>,
}

/// The listings that serve several documents.
#[derive(Default)]
struct Known {
    /// The versions of the package that was visited last.
    published: Option<Published>,
    /// The garbage marks, among them the tombstones.
    fence: Option<GcFence>,
}

/// Removes abandoned documentation. A publisher who continues after all sends the same documentation again; that stores
/// it again long before it would be removed.
pub(crate) async fn sweep<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<StepFlow, Failure> {
    let (smallest, largest) = FACTS_PER_LISTING;
    let mut known = Known::default();
    loop {
        let after = Some(step.position.after.as_str()).filter(|after| !after.is_empty());
        let limit = step.names_left.clamp(smallest, largest);
        let page = ctx.host.facts().list(DOCUMENTATION, after, limit).await?;
        step.spend(1);
        step.spend_names(page.facts.len());
        for fact in page.facts {
            if visit(ctx, step, &mut known, &fact).await? == StepFlow::Pause {
                return Ok(StepFlow::Pause);
            }
            step.position = Position::after(Section::Documentation, fact.name);
        }
        if !page.is_truncated {
            return Ok(StepFlow::Continue);
        }
        if !step.would_afford(MIN_OPERATIONS) {
            return Ok(StepFlow::Pause);
        }
    }
}

/// Removes a document if it is abandoned, or if its text was erased. Comparing it with the `known` listings takes no operation.
async fn visit<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    known: &mut Known,
    fact: &ListedFact,
) -> Result<StepFlow, Failure> {
    let name = &fact.name;
    let key = FactKey::parse(&format!("{DOCUMENTATION}{name}"));
    let Some(FactKey::Documentation(package, version)) = key else {
        ctx.host.log(&format!(
            "repair: {DOCUMENTATION}{name} is not the key of a fact: skipped"
        ));
        return Ok(StepFlow::Continue);
    };
    let has_room = step.reported_names() < REPAIRED_NAMES;
    let found = known.published.take().filter(|it| it.package == package);
    let (of_package, is_new) = match found {
        Some(of_package) => (known.published.insert(of_package), false),
        // This also covers the removal: a second question would stop a step that may visit one item only.
        None if has_room && step.affords(MIN_OPERATIONS_FOR_LISTS) => {
            let of_package = published(ctx, step, package.clone()).await?;
            (known.published.insert(of_package), true)
        }
        None => return Ok(StepFlow::Pause),
    };
    let fence = match known.fence.take() {
        Some(fence) => known.fence.insert(fence),
        None => {
            let fence = counted(ctx, step, garbage::fence(ctx)).await?;
            known.fence.insert(fence)
        }
    };
    let version_name = version.to_string();
    let mut releases = of_package.releases.iter();
    let release = releases.find(|release| release.name == version_name);
    let archive = documentation::archive_of(ctx, fact).await?;
    let erased = archive.filter(|archive| fence.has_mark(BytesKey::from(*archive)));
    let is_suspect = match release {
        _ if erased.is_some() => true,
        Some(_) if fence.is_empty() => false,
        Some(release) => match releases::listed(ctx, &package, version.clone(), release).await {
            Ok(listed) => listed.is_some_and(|listed| fence.marks_part_of(&listed)),
            Err(failure @ Failure::Corrupt(_)) => {
                let key = FactKey::Release(package, version);
                step::note_failed(ctx, step, key.to_string(), failure);
                return Ok(StepFlow::Continue);
            }
            Err(failure) => return Err(failure),
        },
        None => false,
    };
    if release.is_some() && !is_suspect {
        return Ok(StepFlow::Continue);
    }
    let operations = match is_suspect {
        true => MIN_OPERATIONS_FOR_LISTS,
        false => MIN_OPERATIONS,
    };
    if !(is_new || has_room && step.affords(operations)) {
        return Ok(StepFlow::Pause);
    }
    let removed = match release {
        _ if is_suspect => {
            let at = (&package, &version);
            counted(ctx, step, remove_erased(ctx, at, erased, fence)).await
        }
        _ => Ok(false),
    };
    match removed {
        Ok(false) if release.is_none() => remove_if_abandoned(ctx, step, package, version).await,
        removed => note_removed(ctx, step, FactKey::Documentation(package, version), removed),
    }
    Ok(StepFlow::Continue)
}

/// Removes documentation that was erased, or that describes a release with an erased archive. Returns whether it was.
async fn remove_erased<P: Host>(
    ctx: &Context<'_, P>,
    (package, version): (&Package, &Version),
    archive: Option<ArchiveKey>,
    fence: &GcFence,
) -> Result<bool, Failure> {
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
    match garbage::ensure_release_kept(ctx, &release, fence).await {
        Err(Failure::Problem(Problem::Gone(_))) => {
            documentation_removal::discard_in_repair(ctx, package, version).await?;
            Ok(true)
        }
        kept => kept.map(|()| false),
    }
}

async fn published<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: Package,
) -> Result<Published, Failure> {
    let prefix = FactKey::releases_of(&package);
    let listed = counted(ctx, step, documents::list(ctx, &prefix)).await?;
    step.spend_names(listed.len());
    // A tombstone has no documentation.
    let released = listed.into_iter().filter(|fact| !releases::is_erased(fact));
    let releases = released.collect();
    Ok(Published { package, releases })
}

async fn remove_if_abandoned<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: Package,
    version: Version,
) {
    let key = FactKey::Documentation(package, version);
    let removed = counted(ctx, step, try_remove(ctx, &key)).await;
    note_removed(ctx, step, key, removed);
}

fn note_removed<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    key: FactKey,
    removed: Result<bool, Failure>,
) {
    step.report.looked_at += 1;
    match removed {
        Ok(true) => step.report.removed.push(key.to_string()),
        Ok(false) => {}
        Err(failure) => step::note_failed(ctx, step, key.to_string(), failure),
    }
}

/// Removes a document if it is old enough, and if the version was not published since the listing.
///
/// Storage has no conditional removal. So the document is marked first, by compare-and-swap: that fails if it was stored
/// again. A publisher does not replace a document with a recent mark, and is told to repeat the request.
async fn try_remove<P: Host>(ctx: &Context<'_, P>, key: &FactKey) -> Result<bool, Failure> {
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
    let document = document.in_removal(now);
    let (text, metadata) = (document.to_document(), document.metadata());
    let marked = documents::put(ctx, key, &text, &metadata, unchanged).await?;
    if marked.is_none() || is_published(ctx, package, version).await? {
        return Ok(false);
    }
    if ctx.host.clock().now().since(now) > DOCUMENTATION_REMOVAL_SECONDS / 2 {
        return Ok(false);
    }
    ctx.host.facts().delete(key).await?;
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
