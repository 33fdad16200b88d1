//! Reads the rules that are stored in the registry: for the token exchange, for sign-in, and for indices that are written
//! and packages that are fetched of mirrored packages. No read that an index answers needs them.

use std::rc::Rc;

use terrace_core::auth::oidc::{RuleDocument, RuleIndex, StoredRules};
use terrace_core::model::package::Package;
use terrace_core::model::rule_id::RuleId;
use terrace_core::model::status::ReleaseStatus;
use terrace_core::storage::key::{FactKey, IndexKey, RULES};

use crate::access::auth;
use crate::context::{Context, Task};
use crate::documents;
use crate::failure::Failure;
use crate::host::{Clock as _, Host, ListedFact};

/// The rules of the facts, read by a request that writes indices.
struct OfFacts(Rc<StoredRules>);

/// Returns the block that a rule sets for a mirrored package.
pub(crate) async fn block_of<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<Option<ReleaseStatus>, Failure> {
    let rules = match ctx.recall::<OfFacts>() {
        Some(of_facts) => Rc::clone(&of_facts.0),
        None => cached(ctx, WhenEmpty::Leave).await?,
    };
    Ok(rules.blocks.status_of(package))
}

/// Reads the facts about rules, for the indices of a package that this request writes next. The cached rules may lack a rule of the
/// last minute: an index made by them would stay when the rule is known everywhere.
pub(crate) async fn read_before_writing<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<(), Failure> {
    match package.origin() {
        Some(_) => read_facts(ctx).await,
        None => Ok(()),
    }
}

/// Reads the facts about rules, for the rest of this request.
pub(crate) async fn read_facts<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let (rules, _) = index(ctx).await?.parse();
    ctx.remember(OfFacts(Rc::new(rules)));
    Ok(())
}

/// Returns the valid rules. Reads nothing while the isolate's cache is fresh, so that many requests with worthless tokens
/// cause few reads.
pub(crate) async fn current<P: Host>(ctx: &Context<'_, P>) -> Result<Rc<StoredRules>, Failure> {
    cached(ctx, WhenEmpty::Write).await
}

/// What becomes of a missing index of a registry without rules.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenEmpty {
    /// It is written, so that no flood of worthless tokens lists the facts.
    Write,
    /// It stays missing.
    Leave,
}

async fn cached<P: Host>(
    ctx: &Context<'_, P>,
    when_empty: WhenEmpty,
) -> Result<Rc<StoredRules>, Failure> {
    let began = ctx.host.clock().now();
    if let Some(rules) = ctx.host.cache().rules(began) {
        return Ok(rules);
    }
    let key = IndexKey::Rules;
    let stored = match auth::stored_index::<_, RuleIndex>(ctx, &key).await {
        Some(stored) => stored,
        None => {
            let stored = index(ctx).await?;
            if when_empty == WhenEmpty::Write || stored != RuleIndex::default() {
                ctx.defer(Task::BackfillIndex(key));
            }
            stored
        }
    };
    let (rules, faults) = stored.parse();
    for fault in faults {
        ctx.host.log(&format!("access: {fault}"));
    }
    let rules = Rc::new(rules);
    ctx.host.cache().store_rules(rules.clone(), began);
    Ok(rules)
}

/// Returns the index of the active rules, according to the facts.
pub(crate) async fn index<P: Host>(ctx: &Context<'_, P>) -> Result<RuleIndex, Failure> {
    Ok(RuleIndex::of(all(ctx).await?))
}

/// Returns all active rules, by their IDs. A damaged document is logged: it must not stop the others.
pub(crate) async fn all<P: Host>(
    ctx: &Context<'_, P>,
) -> Result<Vec<(RuleId, RuleDocument)>, Failure> {
    let mut all = Vec::new();
    for fact in documents::list(ctx, RULES).await? {
        let Ok(id) = fact.name.parse() else { continue };
        match document(ctx, id, &fact).await {
            Ok(document) => all.extend(document.map(|it| (id, it))),
            Err(Failure::Corrupt(what)) => ctx.host.log(&format!("corrupt: {what}")),
            Err(failure) => return Err(failure),
        }
    }
    all.retain(|(_, document): &(_, RuleDocument)| document.is_active());
    Ok(all)
}

async fn document<P: Host>(
    ctx: &Context<'_, P>,
    id: RuleId,
    fact: &ListedFact,
) -> Result<Option<RuleDocument>, Failure> {
    match RuleDocument::from_metadata(&fact.metadata) {
        Some(document) => Ok(document),
        None => documents::read(ctx, &FactKey::Rule(id)).await,
    }
}
