//! Walks over the packages, and compares the lists of each. The versions of a package are visited only if its
//! lists are evidence of a difference.
//!
//! # Why the lists are evidence
//! Every change of a package writes the lists last. So if a change broke off, the lists differ, until another
//! change of the same package writes them. The repair keeps to that order: it writes the lists of a package
//! after the indices of its versions. A revocation must not depend on that, so the index of each revoked
//! version is compared with the lists.

use terrace_core::limits;
use terrace_core::maintenance::repair::Position;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey, RELEASES};

use crate::context::Context;
use crate::documents::releases;
use crate::failure::Failure;
use crate::host::{Facts as _, Host, ListedFact};
use crate::index::expected_indices;
use crate::index::expected_indices::PackageIndices;
use crate::repair::comparison::Compared;
use crate::repair::step::REPAIRED_NAMES;
use crate::repair::step::{MIN_OPERATIONS, RepairStep, StepFlow};
use crate::repair::version_walk::{is_stored, repair_package, write_lists};
use crate::repair::{catalog_walk, comparison, step};

/// The smallest and the largest page of a listing of packages; the largest is R2's own
/// (<https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#r2listoptions>).
const NAMES_PER_LISTING: (u32, u32) = (50, 1_000);

/// How many keys a bulk read must have room for to compare another package: its lists, and a revoked version.
const KEYS_OF_A_PACKAGE: usize = 6;

/// How many bytes of expected lists are compared at once. A bulk read of KV returns 25 MB at most
/// (<https://developers.cloudflare.com/kv/api/read-key-value-pairs/#multiple-key-requests-with-get>).
const COMPARED_BYTES: usize = 8 * 1024 * 1024;

/// A package of a listing, with its releases.
#[derive(Debug)]
struct ListedPackage {
    package: Package,
    /// Its versions, each with the object of its release.
    releases: Vec<(Version, ListedFact)>,
}

/// A package with its expected indices; without them if they could not be determined.
#[derive(Debug)]
struct Candidate {
    package: Package,
    expected: Option<PackageIndices>,
}

/// The repair that a package needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needed {
    Nothing,
    /// Only lists are missing.
    Lists,
    /// A list differs, which is evidence that the indices of versions may differ, too.
    Versions,
}

/// Checks packages, one after the other.
pub(crate) async fn repair_packages<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<StepFlow, Failure> {
    enter_only_package(step);
    loop {
        if let Some((package, _)) = step.position.package() {
            if repair_package(ctx, step, &package).await? == StepFlow::Pause {
                return Ok(StepFlow::Pause);
            }
            step.position = Position::past(&package);
            if step.only.is_some() {
                return Ok(StepFlow::Continue);
            }
        }
        if step.reported_names() >= REPAIRED_NAMES || !step.affords(MIN_OPERATIONS) {
            return Ok(StepFlow::Pause);
        }
        if step.is_full {
            match next_package(ctx, step).await? {
                Some(package) => step.position = Position::inside(&package),
                None => return Ok(StepFlow::Continue),
            }
            continue;
        }
        let (packages, is_last) = list_packages(ctx, step).await?;
        let count = packages.len();
        let checked = check_packages(ctx, step, packages).await;
        if step.position.package().is_none() && checked == count && is_last {
            return Ok(StepFlow::Continue);
        }
    }
}

/// Returns the position after the package that comes next, or that the position is inside of.
pub(crate) async fn skip_item<P: Host>(
    ctx: &Context<'_, P>,
    position: Position,
) -> Result<Position, Failure> {
    if let Some((package, _)) = position.package() {
        return Ok(Position::past(&package));
    }
    let mut step = RepairStep::new(None, position, 0);
    let package = next_package(ctx, &mut step).await?;
    Ok(package.map_or(step.position, |package| Position::past(&package)))
}

/// Begins with the versions of the only package to examine, unless an earlier step has.
fn enter_only_package(step: &mut RepairStep) {
    let current = step.position.package().map(|(package, _)| package);
    if let Some(only) = &step.only
        && current.as_ref() != Some(only)
    {
        step.position = Position::inside(only);
    }
}

/// Returns the next package of a full walk.
async fn next_package<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<Option<Package>, Failure> {
    let mut packages = Vec::new();
    let mut after = step.position.after.clone();
    loop {
        let name = Some(after.as_str()).filter(|after| !after.is_empty());
        step.spend(1);
        let page = ctx.host.facts().list(RELEASES, name, 1).await?;
        let Some(fact) = page.facts.into_iter().next() else {
            return Ok(None);
        };
        after.clone_from(&fact.name);
        add_release(ctx, &mut packages, fact);
        if let Some(listed) = packages.pop() {
            return Ok(Some(listed.package));
        }
    }
}

/// Lists the next packages, each with all its releases: at least one, unless there is none. Returns whether
/// they are the last ones.
async fn list_packages<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<(Vec<ListedPackage>, bool), Failure> {
    let (smallest, largest) = NAMES_PER_LISTING;
    let mut packages = Vec::new();
    let mut after = step.position.after.clone();
    loop {
        let limit = step.names_left.clamp(smallest, largest);
        let name = Some(after.as_str()).filter(|after| !after.is_empty());
        step.spend(1);
        let page = ctx.host.facts().list(RELEASES, name, limit).await?;
        step.spend_names(page.facts.len());
        let Some(last) = page.facts.last() else {
            return Ok((packages, true));
        };
        after.clone_from(&last.name);
        for fact in page.facts {
            add_release(ctx, &mut packages, fact);
        }
        if !page.is_truncated {
            return Ok((packages, true));
        }
        // The last package may have more releases. It is listed again, unless it is the only one.
        if packages.len() > 1 {
            packages.pop();
            return Ok((packages, false));
        }
    }
}

fn add_release<P: Host>(ctx: &Context<'_, P>, packages: &mut Vec<ListedPackage>, fact: ListedFact) {
    let key = format!("{RELEASES}{}", fact.name);
    let Some(FactKey::Release(package, version)) = FactKey::parse(&key) else {
        ctx.host
            .log(&format!("repair: {key} is not the key of a fact: skipped"));
        return;
    };
    let release = (version, fact);
    match packages.last_mut() {
        Some(last) if last.package == package => last.releases.push(release),
        _ => packages.push(ListedPackage {
            package,
            releases: vec![release],
        }),
    }
}

/// Checks packages until one needs a repair, or the budget is used up. The position is then after the last one
/// that was checked, or inside of the package to repair. Returns how many were checked.
async fn check_packages<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    packages: Vec<ListedPackage>,
) -> usize {
    let mut packages = packages.into_iter().peekable();
    let mut checked = 0;
    while packages.peek().is_some() {
        let candidates = candidates(ctx, step, &mut packages).await;
        let needed = needed(ctx, step, &candidates).await;
        for (candidate, needed) in candidates.into_iter().zip(needed) {
            let package = candidate.package;
            checked += 1;
            if needed == Needed::Versions {
                step.position = Position::inside(&package);
                return checked;
            }
            let repaired = match needed {
                Needed::Lists => {
                    write_lists(ctx, step, &package, candidate.expected.as_ref()).await
                }
                _ => match &candidate.expected {
                    Some(it) => catalog_walk::repair_card(ctx, step, &package, &it.overview).await,
                    None => Ok(false),
                },
            };
            step::note(
                ctx,
                step,
                IndexKey::Tags(package.clone()).to_string(),
                repaired,
            );
            step.position = Position::past(&package);
        }
        if step.reported_names() >= REPAIRED_NAMES || !step.affords(MIN_OPERATIONS) {
            return checked;
        }
    }
    checked
}

/// Determines the expected indices of as many packages as one bulk read compares.
async fn candidates<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    packages: &mut std::iter::Peekable<impl Iterator<Item = ListedPackage>>,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let (mut keys, mut bytes) = (0, 0);
    while let Some(listed) = packages.next_if(|_| {
        let has_room =
            keys + KEYS_OF_A_PACKAGE <= limits::INDICES_AT_ONCE && bytes < COMPARED_BYTES;
        candidates.is_empty() || (has_room && step.affords(MIN_OPERATIONS))
    }) {
        let package = listed.package.clone();
        let expected = expected(ctx, step, listed).await;
        if let Some(expected) = &expected {
            keys += expected.lists.len() + expected.revoked.len();
            bytes += expected
                .lists
                .iter()
                .map(|(_, it)| it.text.len())
                .sum::<usize>();
        }
        let is_unknown = expected.is_none();
        candidates.push(Candidate { package, expected });
        if is_unknown {
            break;
        }
    }
    candidates
}

/// Returns the expected indices of a package, as far as they are stored; `None` if they cannot be determined.
async fn expected<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    listed: ListedPackage,
) -> Option<PackageIndices> {
    let expected = comparison::counted(ctx, step, async {
        let mut releases = Vec::new();
        for (version, fact) in &listed.releases {
            let release = releases::listed(ctx, &listed.package, version.clone(), fact);
            releases.extend(release.await?);
        }
        expected_indices::package_indices(ctx, &listed.package, releases).await
    });
    match expected.await {
        Ok(mut expected) => {
            expected.lists.retain(|(_, list)| is_stored(list));
            Some(expected)
        }
        // Each version is checked instead, and then the lists again.
        Err(failure) => {
            ctx.report(failure);
            None
        }
    }
}

/// Compares the indices of packages, and returns the repair that each needs.
async fn needed<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    candidates: &[Candidate],
) -> Vec<Needed> {
    let expected = candidates.iter().filter_map(|it| it.expected.as_ref());
    let expected = expected.flat_map(|it| it.lists.iter().chain(&it.revoked));
    let expected: Vec<&(IndexKey, IndexDocument)> = expected.collect();
    let compared = comparison::compare(ctx, step, &expected).await;
    let mut compared = compared.into_iter();
    let of_candidate = |it: &Candidate| {
        let Some(expected) = &it.expected else {
            return Needed::Versions;
        };
        let lists: Vec<Compared> = compared.by_ref().take(expected.lists.len()).collect();
        let revoked: Vec<Compared> = compared.by_ref().take(expected.revoked.len()).collect();
        needed_for(&lists, &revoked)
    };
    candidates.iter().map(of_candidate).collect()
}

/// Returns the repair that follows from the comparison of a package's lists and revoked versions.
fn needed_for(lists: &[Compared], revoked: &[Compared]) -> Needed {
    // The first list is written before the others, so these may be missing although the versions are complete;
    // so may those that an older version of Terrace did not write.
    let is_first_missing = lists.first() == Some(&Compared::Missing);
    let is_any_different = lists.contains(&Compared::Different);
    let is_revocation_missing = revoked.iter().any(|it| *it != Compared::Same);
    if is_first_missing || is_any_different || is_revocation_missing {
        Needed::Versions
    } else if lists.contains(&Compared::Missing) {
        Needed::Lists
    } else {
        Needed::Nothing
    }
}
