//! Checks the versions of one package, and then its lists.

use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey, RELEASES};
use terrace_core::storage::release::Release;

use crate::context::Context;
use crate::documents::releases;
use crate::failure::Failure;
use crate::host::{Facts as _, Host};
use crate::index::expected_indices::{Indexed, PackageIndices, PackageStatus};
use crate::index::{expected_indices, index_refresh};
use crate::repair::step::REPAIRED_NAMES;
use crate::repair::step::{MIN_OPERATIONS, MIN_OPERATIONS_FOR_LISTS, RepairStep, StepFlow};
use crate::repair::{catalog_walk, comparison, step};

/// How many listed names count as much as comparing the indices of one version: it takes a millisecond of CPU,
/// because every manifest is made and hashed.
const NAMES_OF_A_VERSION: u32 = 50;

/// The page size of a listing of one package. The next step lists the rest of a page again.
const VERSIONS_PER_LISTING: u32 = 200;

/// Checks the versions of the package that the position is inside of, and then its lists.
pub(super) async fn repair_package<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
) -> Result<StepFlow, Failure> {
    let prefix = FactKey::releases_of(package);
    loop {
        let after = step
            .position
            .package()
            .map(|(_, version)| version.to_owned());
        let after = after.filter(|version| !version.is_empty());
        let facts = ctx.host.facts();
        let page = facts
            .list(&prefix, after.as_deref(), VERSIONS_PER_LISTING)
            .await?;
        step.spend(1);
        if page.facts.is_empty() && after.is_none() {
            return Ok(StepFlow::Continue);
        }
        for fact in page.facts {
            if step.reported_names() >= REPAIRED_NAMES || !step.affords(MIN_OPERATIONS) {
                return Ok(StepFlow::Pause);
            }
            check_version(ctx, step, package, fact.name).await;
        }
        if !page.is_truncated {
            break;
        }
    }
    if step.position.is_incomplete {
        // The lists stay different, so that the next walk visits the versions again.
        return Ok(StepFlow::Continue);
    }
    if !step.affords(MIN_OPERATIONS_FOR_LISTS) {
        return Ok(StepFlow::Pause);
    }
    let repaired = repair_lists(ctx, step, package).await;
    step::note(
        ctx,
        step,
        IndexKey::Tags(package.clone()).to_string(),
        repaired,
    );
    Ok(StepFlow::Continue)
}

async fn check_version<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
    name: String,
) {
    let after = format!("{package}/{name}");
    let key = format!("{RELEASES}{after}");
    match FactKey::parse(&key) {
        Some(FactKey::Release(of, version)) if of == *package => {
            let repaired = repair_version(ctx, step, package, &version).await;
            // A document that cannot be read fails again; anything else may succeed in the next walk.
            let may_succeed =
                matches!(&repaired, Err(failure) if !matches!(failure, Failure::Corrupt(_)));
            step.position.is_incomplete |= may_succeed;
            step::note(ctx, step, key, repaired);
        }
        _ => ctx
            .host
            .log(&format!("repair: {key} is not the key of a fact: skipped")),
    }
    step.position.after = after;
}

/// Checks a package's lists, all together.
pub(super) async fn repair_lists<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
) -> Result<bool, Failure> {
    let expected = expected_indices::package_lists(ctx, package);
    let mut expected = comparison::counted(ctx, step, expected).await?;
    expected.lists.retain(|(_, list)| is_stored(list));
    if comparison::all_same(ctx, step, &expected.lists).await {
        return catalog_walk::repair_card(ctx, step, package, &expected.overview).await;
    }
    write_lists(ctx, step, package, Some(&expected)).await
}

/// Writes a package's lists, all together.
pub(super) async fn write_lists<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
    expected: Option<&PackageIndices>,
) -> Result<bool, Failure> {
    step.count_writes(expected.map_or(0, |it| it.lists.len()));
    let refreshed = index_refresh::refresh_lists(ctx, package);
    let change = comparison::counted(ctx, step, refreshed).await?;
    catalog_walk::after_card(ctx, step, package, change).await;
    Ok(true)
}

/// Returns whether a list is stored. One that only states that there is nothing is created for the reader.
pub(super) fn is_stored(list: &IndexDocument) -> bool {
    !list.metadata.pull.as_ref().is_some_and(|it| it.is_empty)
}

async fn repair_version<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
    version: &Version,
) -> Result<bool, Failure> {
    let mut status = step.package_status.take();
    let expected = expected_version_indices(ctx, &mut status, package, version);
    let expected = comparison::counted(ctx, step, expected).await;
    step.package_status = status;
    step.spend_names(NAMES_OF_A_VERSION as usize);
    let Some((release, expected)) = expected? else {
        return Ok(false);
    };
    let revoked = revoked_versions(step);
    let is_installable = |version: &Version| !revoked.contains(version);
    if comparison::all_same_shared(ctx, step, &expected, &is_installable).await {
        return Ok(false);
    }
    step.count_writes(expected.len());
    comparison::counted(ctx, step, index_refresh::refresh_version(ctx, &release)).await?;
    Ok(true)
}

/// Returns the revoked versions of the package whose status was read last.
fn revoked_versions(step: &RepairStep) -> Vec<Version> {
    let status = step.package_status.as_ref();
    status.map_or_else(Vec::new, |(_, status)| status.revoked_versions())
}

/// Returns a release, and its expected indices.
async fn expected_version_indices<P: Host>(
    ctx: &Context<'_, P>,
    known: &mut Option<(Package, PackageStatus)>,
    package: &Package,
    version: &Version,
) -> Result<Option<(Release, Indexed)>, Failure> {
    let Some(release) = releases::find(ctx, package, version).await? else {
        return Ok(None);
    };
    let status = package_status(ctx, known, package).await?;
    let expected = expected_indices::version_indices_with(ctx, status, &release).await?;
    Ok(Some((release, expected)))
}

/// Returns the status of a package, read once in a step. A concurrent change of the status refreshes the
/// indices itself, and a repair that writes them reads the status again.
async fn package_status<'s, P: Host>(
    ctx: &Context<'_, P>,
    known: &'s mut Option<(Package, PackageStatus)>,
    package: &Package,
) -> Result<&'s PackageStatus, Failure> {
    let (_, status) = match known.take().filter(|(of, _)| of == package) {
        Some(of_package) => known.insert(of_package),
        None => {
            let mut status = expected_indices::package_status(ctx, package).await?;
            status.list_documented(ctx, package).await?;
            known.insert((package.clone(), status))
        }
    };
    Ok(status)
}
