//! Walks over the facts that are not about a package's releases, and checks the indices of each.

use terrace_core::maintenance::repair::{Position, Section};
use terrace_core::model::package::Package;
use terrace_core::storage::key::{BytesKey, FactKey, IndexKey, PushedFact, PushedIndex, RULES};

use crate::access::{auth, rules};
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Facts as _, Host};
use crate::oci::{blobs, manifests, pushed_contents, pushed_index_refresh};
use crate::read::index_backfill;
use crate::removal::garbage;
use crate::removal::garbage::GcFence;
use crate::repair::step::REPAIRED_NAMES;
use crate::repair::step::{MIN_OPERATIONS, MIN_OPERATIONS_FOR_LISTS, RepairStep, StepFlow};
use crate::repair::{comparison, step, version_walk};

/// The page size of a listing. The next step lists the rest of a page again.
const FACTS_PER_LISTING: u32 = 200;

/// Checks the facts of a section, one after the other.
pub(crate) async fn repair_facts<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<StepFlow, Failure> {
    let section = step.position.section;
    let mut fence = None;
    loop {
        let after = Some(step.position.after.as_str()).filter(|after| !after.is_empty());
        let facts = ctx.host.facts();
        let page = facts
            .list(section.prefix(), after, FACTS_PER_LISTING)
            .await?;
        step.spend(1);
        if !page.facts.is_empty() && fence.is_none() && needs_marks(section) {
            fence = Some(comparison::counted(ctx, step, garbage::fence(ctx)).await?);
        }
        for fact in page.facts {
            let at = (section, fact.name);
            if repair_fact(ctx, step, at, fence.as_ref()).await == StepFlow::Pause {
                return Ok(StepFlow::Pause);
            }
        }
        if !page.is_truncated {
            return Ok(StepFlow::Continue);
        }
    }
}

/// Returns whether the facts of a section may have a digest that was erased: a push that has read the mark before may have
/// ended before its second look.
fn needs_marks(section: Section) -> bool {
    matches!(section, Section::Manifests | Section::Links)
}

async fn repair_fact<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    (section, name): (Section, String),
    fence: Option<&GcFence>,
) -> StepFlow {
    let key = format!("{}{name}", section.prefix());
    let Some(fact) = FactKey::parse(&key) else {
        ctx.host
            .log(&format!("repair: {key} is not the key of a fact: skipped"));
        step.position.after = name;
        return StepFlow::Continue;
    };
    // A group is a repository, which also has a list of tags.
    let group = name.strip_suffix(after_last(&name, ':'));
    let group = group.unwrap_or_default().to_owned();
    if step.reported_names() >= REPAIRED_NAMES {
        return StepFlow::Pause;
    }
    if !step.position.after.starts_with(&group)
        && let FactKey::Pushed(PushedFact::Tag(repository, _)) = &fact
    {
        if !step.affords(MIN_OPERATIONS_FOR_LISTS) {
            return StepFlow::Pause;
        }
        let list = PushedIndex::Tags(repository.clone());
        let repaired = repair_pushed(ctx, step, &list).await;
        step::note(ctx, step, list.to_string(), repaired);
        step.position = Position::after(section, group);
    }
    if !step.affords(MIN_OPERATIONS) {
        return StepFlow::Pause;
    }
    let repaired = match &fact {
        FactKey::Origin(address) => {
            let package = Package::Mirrored(address.clone());
            version_walk::repair_lists(ctx, step, &package).await
        }
        FactKey::Pushed(pushed) => match remove_erased(ctx, step, pushed, fence).await {
            Ok(false) => match index_of(pushed) {
                Some(index) => repair_pushed(ctx, step, &index).await,
                None => Ok(false),
            },
            removed => removed.map(|_| false),
        },
        FactKey::Garbage(bytes) => repair_erased(ctx, step, *bytes).await,
        _ => Ok(false),
    };
    step::note(ctx, step, key, repaired);
    step.position = Position::after(section, name);
    StepFlow::Continue
}

/// Removes bytes that were erased and are stored again.
async fn repair_erased<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    bytes: BytesKey,
) -> Result<bool, Failure> {
    let removed = garbage::remove_again(ctx, bytes);
    if comparison::counted(ctx, step, removed).await? {
        step.report.removed.push(bytes.to_string());
    }
    Ok(false)
}

/// Removes a manifest or a link if its digest was erased. Returns whether it was.
async fn remove_erased<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    fact: &PushedFact,
    fence: Option<&GcFence>,
) -> Result<bool, Failure> {
    let (PushedFact::Manifest(repository, digest) | PushedFact::Link(repository, digest)) = fact
    else {
        return Ok(false);
    };
    let bytes = BytesKey::Blob(*digest);
    if !fence.is_some_and(|fence| fence.has_mark(bytes)) {
        return Ok(false);
    }
    let remove = async {
        if !garbage::is_erased(ctx, bytes).await? {
            return Ok(false);
        }
        match fact {
            PushedFact::Manifest(..) => manifests::discard(ctx, repository, *digest).await?,
            _ => blobs::unlink(ctx, repository, *digest).await?,
        };
        Ok(true)
    };
    let is_removed = comparison::counted(ctx, step, remove).await?;
    if is_removed {
        let key = FactKey::Pushed(fact.clone());
        step.report.removed.push(key.to_string());
    }
    Ok(is_removed)
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
    if comparison::all_same(ctx, step, &expected).await {
        return Ok(false);
    }
    step.count_writes(1);
    step.spend(3 + operations as usize);
    pushed_index_refresh::refresh(ctx, index).await?;
    Ok(true)
}

/// Checks an index that follows from all facts of a section.
pub(crate) async fn repair_list<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    key: IndexKey,
) -> Result<StepFlow, Failure> {
    if !step.affords(MIN_OPERATIONS_FOR_LISTS) {
        return Ok(StepFlow::Pause);
    }
    let repaired = repair_listed(ctx, step, &key).await;
    step::note(ctx, step, key.to_string(), repaired);
    Ok(StepFlow::Continue)
}

async fn repair_listed<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    key: &IndexKey,
) -> Result<bool, Failure> {
    step.spend(1);
    let expected = match key {
        // A registry that never had a rule has no such index until an exchange or a sign-in looks for it.
        IndexKey::Rules if facts_are_missing(ctx, RULES).await? => return Ok(false),
        IndexKey::Rules => rules::index(ctx).await?.document(),
        _ => auth::revocations(ctx).await?.index(),
    };
    let expected = vec![(key.clone(), expected)];
    if comparison::all_same(ctx, step, &expected).await {
        return Ok(false);
    }
    step.count_writes(1);
    step.spend(4);
    index_backfill::backfill(ctx, key).await?;
    Ok(true)
}

async fn facts_are_missing<P: Host>(ctx: &Context<'_, P>, prefix: &str) -> Result<bool, Failure> {
    let page = ctx.host.facts().list(prefix, None, 1).await?;
    Ok(page.facts.is_empty())
}

/// Returns the part after the last separator; everything if there is none.
fn after_last(name: &str, separator: char) -> &str {
    name.rsplit(separator).next().unwrap_or(name)
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
