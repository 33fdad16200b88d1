//! Walks over the facts, and checks the indices of each.

use terrace_core::http::reply::Body;
use terrace_core::limits;
use terrace_core::maintenance::repair::{Position, Section};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::read::StoredIndex;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey, PushedFact, PushedIndex};
use terrace_core::storage::release::Release;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Facts as _, Host, Indices as _};
use crate::services::expected_indices::{Indexed, PackageStatus};
use crate::services::oci::{pushed_contents, pushed_index_refresh};
use crate::services::repair::step;
use crate::services::repair::step::{
    MIN_OPERATIONS, MIN_OPERATIONS_FOR_LISTS, RepairStep, StepFlow,
};
use crate::services::{auth, expected_indices, index_refresh, releases};

/// The page size of a listing. The next step lists the rest of a page again.
const FACTS_PER_LISTING: u32 = 200;

/// Checks the facts of a section, one after the other.
pub(crate) async fn repair_facts<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<StepFlow, Failure> {
    let section = step.position.section;
    // The part of the names before those that are listed.
    let within = match &step.only {
        Some(package) => format!("{package}/"),
        None => String::new(),
    };
    let prefix = format!("{}{within}", section.prefix());
    loop {
        let after = step.position.after.strip_prefix(within.as_str());
        let after = after.filter(|after| !after.is_empty());
        let page = ctx
            .host
            .facts()
            .list(&prefix, after, FACTS_PER_LISTING)
            .await?;
        step.spend(1);
        for fact in page.facts {
            let name = format!("{within}{}", fact.name);
            if repair_fact(ctx, step, section, name).await == StepFlow::Pause {
                return Ok(StepFlow::Pause);
            }
        }
        if !page.is_truncated {
            return Ok(StepFlow::Continue);
        }
    }
}

async fn repair_fact<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    section: Section,
    name: String,
) -> StepFlow {
    let key = format!("{}{name}", section.prefix());
    let Some(fact) = FactKey::parse(&key) else {
        ctx.host
            .log(&format!("repair: {key} is not the key of a fact: skipped"));
        step.position.after = name;
        return StepFlow::Continue;
    };
    // A group is a package or a repository, which also has lists.
    let separator = match section {
        Section::Releases | Section::Origins => '/',
        _ => ':',
    };
    let group = name.strip_suffix(after_last(&name, separator));
    let group = group.unwrap_or_default().to_owned();
    if step.reported_names() >= limits::REPAIRED_NAMES {
        return StepFlow::Pause;
    }
    if !step.position.after.starts_with(&group)
        && let Some(list) = list_of(&fact)
    {
        if !step.affords(MIN_OPERATIONS_FOR_LISTS) {
            return StepFlow::Pause;
        }
        repair_lists(ctx, step, list).await;
        step.position = Position::after(section, group);
    }
    if !step.affords(MIN_OPERATIONS) {
        return StepFlow::Pause;
    }
    let repaired = match &fact {
        FactKey::Release(package, version) => repair_version(ctx, step, package, version).await,
        FactKey::Origin(address) => {
            let package = Package::Mirrored(address.clone());
            repair_versions(ctx, step, &package).await
        }
        FactKey::Pushed(pushed) => match index_of(pushed) {
            Some(index) => repair_pushed(ctx, step, &index).await,
            None => Ok(false),
        },
        _ => Ok(false),
    };
    step::note(ctx, step, key, repaired);
    step.position = Position::after(section, name);
    StepFlow::Continue
}

async fn repair_lists<P: Host>(ctx: &Context<'_, P>, step: &mut RepairStep, list: IndexKey) {
    let name = list.to_string();
    let repaired = match &list {
        IndexKey::Pushed(index) => repair_pushed(ctx, step, index).await,
        key => match key.package() {
            Some(package) => repair_versions(ctx, step, package).await,
            None => Ok(false),
        },
    };
    step::note(ctx, step, name, repaired);
}

/// Checks a package's lists, all together.
async fn repair_versions<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
) -> Result<bool, Failure> {
    let began = ctx.operations();
    let expected = expected_indices::version_lists(ctx, package).await;
    spend_since(ctx, step, began);
    let mut expected = expected?;
    // A list that only states that there is nothing is created for the reader, and not stored.
    let is_empty = |it: &IndexDocument| it.metadata.pull.as_ref().is_some_and(|it| it.is_empty);
    expected.retain(|(_, document)| !is_empty(document));
    if differing(ctx, step, &expected).await.is_empty() {
        return Ok(false);
    }
    let began = ctx.operations();
    let written = index_refresh::refresh_lists(ctx, package).await;
    spend_since(ctx, step, began);
    written.map(|()| true)
}

async fn repair_version<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
    version: &Version,
) -> Result<bool, Failure> {
    let began = ctx.operations();
    let expected = expected_version_indices(ctx, step, package, version).await;
    spend_since(ctx, step, began);
    let Some((release, expected)) = expected? else {
        return Ok(false);
    };
    if differing(ctx, step, &expected).await.is_empty() {
        return Ok(false);
    }
    let began = ctx.operations();
    let written = index_refresh::refresh_version(ctx, &release).await;
    spend_since(ctx, step, began);
    written.map(|()| true)
}

/// Spends the operations since `began`. How many a status requires depends on the others of its package.
fn spend_since<P: Host>(ctx: &Context<'_, P>, step: &mut RepairStep, began: u32) {
    step.spend((ctx.operations() - began) as usize);
}

/// Returns a release, and its expected indices.
async fn expected_version_indices<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    package: &Package,
    version: &Version,
) -> Result<Option<(Release, Indexed)>, Failure> {
    let Some(release) = releases::find(ctx, package, version).await? else {
        return Ok(None);
    };
    let status = package_status(ctx, step, package).await?;
    let expected = expected_indices::version_indices_with(ctx, status, &release).await?;
    Ok(Some((release, expected)))
}

/// Returns the status of a package, read once in a step. A concurrent change of the status refreshes the
/// indices itself, and a repair that writes them reads the status again.
async fn package_status<'s, P: Host>(
    ctx: &Context<'_, P>,
    step: &'s mut RepairStep,
    package: &Package,
) -> Result<&'s PackageStatus, Failure> {
    let known = step.package_status.take().filter(|(of, _)| of == package);
    let (_, status) = match known {
        Some(known) => step.package_status.insert(known),
        None => {
            let status = expected_indices::package_status(ctx, package).await?;
            step.package_status.insert((package.clone(), status))
        }
    };
    Ok(status)
}

async fn repair_pushed<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    index: &PushedIndex,
) -> Result<bool, Failure> {
    let began = ctx.operations();
    let expected = pushed_contents::index(ctx, index).await?;
    let operations = ctx.operations() - began;
    step.spend(operations as usize);
    // An index without a fact is found by the walk over the indices.
    let Some(document) = expected else {
        return Ok(false);
    };
    let expected = vec![(IndexKey::Pushed(index.clone()), document)];
    if differing(ctx, step, &expected).await.is_empty() {
        return Ok(false);
    }
    step.spend(3 + operations as usize);
    pushed_index_refresh::refresh(ctx, index).await?;
    Ok(true)
}

pub(crate) async fn repair_revocations<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<StepFlow, Failure> {
    if !step.affords(MIN_OPERATIONS_FOR_LISTS) {
        return Ok(StepFlow::Pause);
    }
    let repaired = repair_revoked(ctx, step).await;
    step::note(ctx, step, IndexKey::Revocations.to_string(), repaired);
    Ok(StepFlow::Continue)
}

async fn repair_revoked<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<bool, Failure> {
    step.spend(1);
    let revocations = auth::revocations(ctx).await?;
    let expected = revocations.index();
    let expected = vec![(IndexKey::Revocations, expected)];
    if differing(ctx, step, &expected).await.is_empty() {
        return Ok(false);
    }
    step.spend(4);
    index_refresh::refresh_revocations(ctx).await?;
    Ok(true)
}

/// Returns those indices that are missing or differ from their expected documents. If KV cannot be read, all
/// of them are returned.
async fn differing<'w, P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    expected: &'w Indexed,
) -> Vec<&'w IndexKey> {
    let mut differing = Vec::new();
    for some in expected.chunks(limits::INDICES_AT_ONCE) {
        step.spend(1);
        let keys: Vec<&IndexKey> = some.iter().map(|(key, _)| key).collect();
        let indices = ctx.host.indices();
        match indices.get_all(&keys, limits::LIST_CACHE_SECONDS).await {
            Ok(found) => {
                let differs = some.iter().zip(found).filter(|((_, expected), found)| {
                    !found.as_ref().is_some_and(|found| is_same(found, expected))
                });
                differing.extend(differs.map(|((key, _), _)| key));
            }
            Err(error) => {
                ctx.host.log(&format!("storage: {error}"));
                differing.extend(some.iter().map(|(key, _)| key));
            }
        }
    }
    differing
}

/// Whether KV has this index, byte for byte.
fn is_same<S>(found: &StoredIndex<S>, expected: &IndexDocument) -> bool {
    let is_text = matches!(&found.body, Body::Text(text) if *text == expected.text);
    is_text && found.metadata == expected.metadata
}

/// Returns the part after the last separator; everything if there is none.
fn after_last(name: &str, separator: char) -> &str {
    name.rsplit(separator).next().unwrap_or(name)
}

/// Returns the list that contains a fact, in addition to the fact's own index.
fn list_of(fact: &FactKey) -> Option<IndexKey> {
    match fact {
        FactKey::Release(package, _) => Some(IndexKey::Tags(package.clone())),
        FactKey::Pushed(PushedFact::Tag(repository, _)) => {
            Some(IndexKey::Pushed(PushedIndex::Tags(repository.clone())))
        }
        _ => None,
    }
}

/// Returns the index that follows from a fact about pushed content.
fn index_of(fact: &PushedFact) -> Option<PushedIndex> {
    match fact.clone() {
        PushedFact::Link(repository, digest) => Some(PushedIndex::Blob(repository, digest)),
        PushedFact::Manifest(repository, digest) => Some(PushedIndex::Manifest(repository, digest)),
        PushedFact::Tag(repository, tag) => Some(PushedIndex::Tag(repository, tag)),
        _ => None,
    }
}
