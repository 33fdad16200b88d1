//! Adds and removes rules that are stored in the registry.

use terrace_core::auth::access::Caller;
use terrace_core::auth::oidc::{RuleDocument, RuleKind, RuleRemoval, StoredRule};
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::model::rule_id::RuleId;
use terrace_core::storage::key::FactKey;

use crate::access::rules;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Host};
use crate::index::{index_refresh, index_writer};
use crate::{documents, json};

/// Stores a rule under a new ID, unless an equal one is active: a request that failed midway can be repeated.
/// Returns the ID and the document of that rule. `reused_key` is the problem of a request with the ID of another rule.
pub(crate) async fn add<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    id: RuleId,
    (kind, rule): (RuleKind, &StoredRule),
    reused_key: &dyn Fn() -> Problem,
) -> Result<(RuleId, RuleDocument), Failure> {
    let is_equal = |it: &RuleDocument| it.kind == kind && it.rule == rule.text();
    let mut active = rules::all(ctx).await?;
    let (added, document) = match active.iter().position(|(_, it)| is_equal(it)) {
        Some(place) => active.swap_remove(place),
        None => {
            ensure_room(active.len(), caller)?;
            let document = RuleDocument {
                kind,
                rule: rule.text().to_owned(),
                created: ctx.host.clock().now(),
                by: caller.name(),
                removed: None,
            };
            let document = match write(ctx, id, &document, Condition::Absent).await? {
                true => document,
                false => added_before(ctx, id, is_equal, reused_key).await?,
            };
            (id, document)
        }
    };
    publish(ctx).await?;
    Ok((added, document))
}

/// Returns the rule that an earlier attempt of the same request added.
async fn added_before<P: Host>(
    ctx: &Context<'_, P>,
    id: RuleId,
    is_equal: impl Fn(&RuleDocument) -> bool,
    reused_key: &dyn Fn() -> Problem,
) -> Result<RuleDocument, Failure> {
    let known: Option<RuleDocument> = documents::read(ctx, &FactKey::Rule(id)).await?;
    match known {
        Some(known) if !is_equal(&known) => Err(reused_key().into()),
        Some(known) if known.is_active() => Ok(known),
        _ => {
            let message = format!(
                "an earlier attempt of this request added rule {id}, which was removed since: add it again with another \
                 Idempotency-Key"
            );
            Err(Problem::Conflict(vec![message]).into())
        }
    }
}

/// Checks that a caller may store a further rule.
fn ensure_room(stored: usize, caller: &Caller) -> Result<(), Problem> {
    let (max, name) = match caller.is_admin() {
        true => (limits::STORED_RULES, "STORED_RULES"),
        false => (limits::DELEGATED_RULES, "DELEGATED_RULES"),
    };
    if stored < max {
        return Ok(());
    }
    let reason = format!(
        "the registry stores {stored} rules, and this token may add one below {max} ({name}): remove one first"
    );
    Err(Problem::Invalid(vec![reason]))
}

/// Removes a rule. Returns `false` if the caller may not manage it, as if it did not exist.
pub(crate) async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    id: RuleId,
) -> Result<bool, Failure> {
    let key = FactKey::Rule(id);
    loop {
        let (known, unchanged) = documents::read_for_change::<_, RuleDocument>(ctx, &key).await?;
        let Some(known) = known.filter(|known| may_manage(caller, known)) else {
            return Ok(false);
        };
        if known.is_active() {
            let removal = RuleRemoval {
                at: ctx.host.clock().now(),
                by: caller.name(),
            };
            let removed = RuleDocument {
                removed: Some(removal),
                ..known
            };
            if !write(ctx, id, &removed, unchanged).await? {
                continue;
            }
        }
        publish(ctx).await?;
        return Ok(true);
    }
}

/// Returns whether a caller may see and remove a rule: if it has every scope that the rule grants.
pub(crate) fn may_manage(caller: &Caller, document: &RuleDocument) -> bool {
    let covers = |rule: StoredRule| caller.lacks(rule.required_scopes()).is_none();
    caller.is_admin() || document.parse().is_ok_and(covers)
}

async fn write<P: Host>(
    ctx: &Context<'_, P>,
    id: RuleId,
    document: &RuleDocument,
    condition: Condition,
) -> Result<bool, Failure> {
    let (key, text, metadata) = (
        FactKey::Rule(id),
        json::text(document)?,
        document.to_metadata(),
    );
    let written = documents::put(ctx, &key, &text, &metadata, condition);
    Ok(written.await?.is_some())
}

/// Writes the index after a change, also if the request of the change ended too early.
async fn publish<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    index_writer::rewrite_change_marker(ctx, &FactKey::RuleChange).await?;
    index_refresh::refresh_rules(ctx).await
}
