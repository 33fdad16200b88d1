//! Walks over the indices, and removes those that follow from no fact.

use terrace_core::index::ExpectedIndices;
use terrace_core::maintenance::repair::{Position, Section};
use terrace_core::model::package::Package;
use terrace_core::storage::key::{FactKey, IndexKey, PushedIndex};

use crate::context::Context;
use crate::documents::releases;
use crate::failure::Failure;
use crate::host::{Facts as _, Host, Indices as _, StoreError};
use crate::index::expected_indices;
use crate::oci::{pushed_contents, pushed_index_refresh};
use crate::read::index_backfill;
use crate::repair::step::REPAIRED_NAMES;
use crate::repair::step::{
    MIN_OPERATIONS, MIN_OPERATIONS_FOR_LISTS, PackageIndices, RepairStep, StepFlow,
};
use crate::repair::{catalog_walk, step};

/// How many indices of a package are removed before the package is examined again: each takes two operations.
const MAX_REMOVED_INDICES: usize = 10;

/// The outcome of examining keys of a package.
struct ExaminedKeys {
    /// How many keys were examined.
    count: usize,
    removed: Vec<String>,
}

/// Checks the keys of all indices, a package or a single key at a time.
pub(crate) async fn repair_indices<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<StepFlow, Failure> {
    let prefix = match &step.only {
        Some(package) => format!("{package}/"),
        None => String::new(),
    };
    loop {
        if !step.would_afford(MIN_OPERATIONS) {
            return Ok(StepFlow::Pause);
        }
        step.spend(1);
        let cursor = step.position.page.clone();
        let indices = ctx.host.indices();
        let page = match indices.list_keys(&prefix, cursor).await {
            // The cursor may belong to a namespace that no longer exists; the position to continue after is
            // known.
            Err(error) if step.position.page.is_some() => {
                ctx.host.log(&format!("repair: {error}"));
                step.position.page = None;
                step.spend(1);
                indices.list_keys(&prefix, None).await?
            }
            page => page?,
        };
        step.cost.kv_lists = step.cost.kv_lists.saturating_add(1);
        let listed = page.keys.len();
        let after = step.position.after.clone();
        let keys = page.keys.into_iter().filter(|key| *key > after);
        if repair_keys(ctx, step, keys.collect()).await == StepFlow::Pause {
            return Ok(StepFlow::Pause);
        }
        step.spend_names(listed);
        match page.cursor {
            Some(cursor) => step.position.page = Some(cursor),
            None => return Ok(StepFlow::Continue),
        }
    }
}

async fn repair_keys<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    names: Vec<String>,
) -> StepFlow {
    let mut names = names.into_iter().peekable();
    while let Some(name) = names.next() {
        let Some(key) = index_key(ctx, &name) else {
            step.position.after = name;
            continue;
        };
        let going = match key.package().cloned() {
            Some(package) => {
                // One listing of a package's releases covers all its keys.
                let group = format!("{package}/");
                let mut keys = vec![(name, key)];
                while let Some(name) = names.next_if(|name| name.starts_with(&group)) {
                    keys.extend(index_key(ctx, &name).map(|key| (name, key)));
                }
                repair_group(ctx, step, &package, &keys).await
            }
            None => repair_alone(ctx, step, name, &key).await,
        };
        if going == StepFlow::Pause {
            return StepFlow::Pause;
        }
    }
    StepFlow::Continue
}

/// Returns the position after the keys of the package, or the key, that comes next.
pub(crate) async fn skip_item<P: Host>(
    ctx: &Context<'_, P>,
    position: Position,
) -> Result<Position, Failure> {
    let page = ctx.host.indices().list_keys("", position.page.clone());
    let page = page.await?;
    let mut keys = page.keys.into_iter().filter(|key| *key > position.after);
    let Some(first) = keys.next() else {
        return Ok(match page.cursor {
            Some(cursor) => Position {
                page: Some(cursor),
                ..position
            },
            None => Position::start(Section::Indices),
        });
    };
    let package = IndexKey::parse(&first).and_then(|key| key.package().cloned());
    let same = package.map(|package| format!("{package}/"));
    let last = same.and_then(|group| keys.take_while(|key| key.starts_with(&group)).last());
    let after = last.unwrap_or(first);
    Ok(Position { after, ..position })
}

/// Parses the name of a listed index.
fn index_key<P: Host>(ctx: &Context<'_, P>, name: &str) -> Option<IndexKey> {
    let key = IndexKey::parse(name);
    if key.is_none() {
        ctx.host
            .log(&format!("repair: {name:?} is not an index: skipped"));
    }
    key
}

/// Checks keys of one package, and again each time the maximum number has been removed.
async fn repair_group<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
    mut keys: &[(String, IndexKey)],
) -> StepFlow {
    while let Some((first, _)) = keys.first() {
        if step.reported_names() >= REPAIRED_NAMES || !step.affords(MIN_OPERATIONS_FOR_LISTS) {
            return StepFlow::Pause;
        }
        let examined = remove_stale(ctx, step, package, keys).await;
        let ExaminedKeys { count, removed } = examined.unwrap_or_else(|failure| {
            step::note_failed(ctx, step, first.clone(), failure);
            ExaminedKeys {
                count: keys.len().min(MAX_REMOVED_INDICES),
                removed: Vec::new(),
            }
        });
        step.report.looked_at += u32::try_from(count).unwrap_or_default();
        step.report.removed.extend(removed);
        let (done, rest) = keys.split_at(count);
        if let Some((last, _)) = done.last() {
            step.position.after.clone_from(last);
        }
        keys = rest;
    }
    StepFlow::Continue
}

/// Checks a key that belongs to no package.
async fn repair_alone<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    name: String,
    key: &IndexKey,
) -> StepFlow {
    if step.reported_names() >= REPAIRED_NAMES || !step.affords(MIN_OPERATIONS) {
        return StepFlow::Pause;
    }
    let removed = match key {
        IndexKey::Pushed(index) => remove_stale_pushed(ctx, step, index).await,
        IndexKey::Catalog(_) | IndexKey::Symbols(_) | IndexKey::MergedCatalog(_) => {
            catalog_walk::remove_stale(ctx, step, key).await
        }
        _ => Ok(Vec::new()),
    };
    step.report.looked_at += 1;
    match removed {
        Ok(removed) => step.report.removed.extend(removed),
        Err(failure) => step::note_failed(ctx, step, name.clone(), failure),
    }
    step.position.after = name;
    StepFlow::Continue
}

/// Removes at most [`MAX_REMOVED_INDICES`] indices of a package that follow from none of its releases.
///
/// A concurrent publish of such a release either has changed the marker before the second check, and gets its indices
/// again; or it reads KV after that, and writes them itself.
async fn remove_stale<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
    keys: &[(String, IndexKey)],
) -> Result<ExaminedKeys, Failure> {
    let made = made(ctx, step, package).await?;
    let mut stale: Vec<(usize, &IndexKey)> = keys
        .iter()
        .map(|(_, key)| key)
        .enumerate()
        .filter(|(_, key)| !made.indices.includes(key))
        .collect();
    // The lists of a pulled provider may state that there is nothing.
    if made.indices.is_empty() && matches!(package, Package::Mirrored(_)) {
        let lists = expected_indices::version_lists(ctx, package).await?;
        step.spend(2);
        stale.retain(|(_, key)| !lists.iter().any(|(list, _)| list == *key));
    }
    // The keys after the removed ones are examined again.
    let next = stale.get(MAX_REMOVED_INDICES).map(|(at, _)| *at);
    stale.truncate(MAX_REMOVED_INDICES);
    let (mut removed, mut lost) = (Vec::new(), Vec::new());
    for (_, key) in &stale {
        if let Some(release) = lost_release(ctx, step, key).await? {
            lost.push(release);
            continue;
        }
        step.spend(1);
        step.count_writes(1);
        remove_index(ctx, key).await?;
        removed.push(key.to_string());
    }
    if !stale.is_empty() && releases::change_revision(ctx, package).await? != made.change {
        for (_, key) in &stale {
            index_backfill::backfill(ctx, key).await?;
        }
    } else {
        for release in &lost {
            ctx.host.log(&format!(
                "repair: the release {release} is LOST: KV has its index, and R2 has no release; restore it from \
                 a copy (terrace admin import), or publish the same bytes again"
            ));
        }
        step.report.lost.extend(lost);
    }
    step.package_indices = Some(made);
    Ok(ExaminedKeys {
        count: next.unwrap_or(keys.len()),
        removed,
    })
}

/// Returns the release that an index remains of, as `ADDRESS@VERSION`, if it is lost and the operator has not
/// accepted that. Its index is kept: it proves that the version was published, and with which bytes, so that
/// no others take its place.
async fn lost_release<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    key: &IndexKey,
) -> Result<Option<String>, Failure> {
    let IndexKey::Version(package, version) = key else {
        return Ok(None);
    };
    let release = FactKey::Release(package.clone(), version.clone());
    if step.accepted.contains(&release) {
        return Ok(None);
    }
    step.spend(1);
    step.count_reads(1);
    let described = releases::described(ctx, package, version).await?;
    Ok(described.map(|_| format!("{}@{version}", package.address())))
}

/// Returns the indices that follow from the releases of a package. They are listed once in a step, as long as
/// the marker does not change.
async fn made<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
) -> Result<PackageIndices, Failure> {
    step.spend(1);
    let change = releases::change_revision(ctx, package).await?;
    let known = step.package_indices.take();
    let known = known.filter(|made| made.package == *package && made.change == change);
    if let Some(made) = known {
        return Ok(made);
    }
    let releases = releases::list(ctx, package).await?;
    step.spend(1 + releases.len() / 1_000);
    step.spend_names(releases.len());
    Ok(PackageIndices {
        package: package.clone(),
        change,
        indices: ExpectedIndices::of(releases),
    })
}

async fn remove_stale_pushed<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    index: &PushedIndex,
) -> Result<Vec<String>, Failure> {
    step.spend(1);
    let is_there = match index {
        // Their facts outlive them: the marker outlives the last tag, and a tag outlives its manifest.
        PushedIndex::Tags(_) | PushedIndex::Tag(..) => {
            step.spend(2);
            pushed_contents::index(ctx, index).await?.is_some()
        }
        _ => ctx.host.facts().revision(&index.fact()).await?.is_some(),
    };
    if is_there {
        return Ok(Vec::new());
    }
    step.spend(4);
    step.count_writes(1);
    pushed_index_refresh::refresh(ctx, index).await?;
    Ok(vec![index.to_string()])
}

async fn remove_index<P: Host>(ctx: &Context<'_, P>, key: &IndexKey) -> Result<(), Failure> {
    match ctx.host.indices().delete(key).await {
        // Another request has just written it; the next walk examines it again.
        Err(StoreError::Busy(_)) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
