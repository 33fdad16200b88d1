//! Adds, lists and removes the rules that are stored in the registry.

use terrace_core::api::admin::{RemovedRule, RuleAnswer, RuleBody, RuleList};
use terrace_core::auth::oidc::{MirrorBlock, StoredRule};
use terrace_core::http::problem::Problem;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::rule_id::RuleId;

use crate::access::{auth, rules};
use crate::context::Context;
use crate::host::Host;
use crate::outcome::{AuditDetails, Call, Handled, Outcome};
use crate::tokens::rule_changes;
use crate::{json, listing};

/// `POST /admin/v1/rules`
pub(crate) async fn add<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    // The rule decides who may publish, so it must not depend on which of two members counts.
    terrace_jose::json::parse(&call.body)
        .map_err(|error| Problem::BadRequest(format!("the body: {error}")))?;
    let RuleBody { kind, rule } = json::parse(&call.body)?;
    let rule = StoredRule::from_value(kind, rule);
    let rule = rule.map_err(|error| Problem::Invalid(vec![error.to_string()]))?;
    match rule.block() {
        Some(block) => check_block(ctx, &call, block)?,
        None => auth::ensure_may_grant(&call.caller, rule.required_scopes())?,
    }
    let new = RuleId::new(call.id_of_created(ctx.host.random()));
    let reused = || call.reused_key(&format!("rule {new}"));
    let added = rule_changes::add(ctx, &call.caller, new, (kind, &rule), &reused).await?;
    let (id, document) = added;
    // An earlier attempt with the same idempotency key may have added it.
    let is_new = id == new;
    let path = format!("/admin/v1/rules/{id}");
    let status = if is_new { 201 } else { 200 };
    let reply = json::reply(status, &RuleAnswer::new(id, &document))?;
    let reply = reply.with("location", path.clone());
    // An earlier attempt of this request may have added it, without an entry. A rule of another caller is none of it.
    let is_own = is_new || document.by == call.caller.name();
    let entry = match is_own {
        true => AuditDetails::Makes(path),
        false => AuditDetails::Request,
    };
    Ok(Outcome::new(reply, entry))
}

/// Checks who blocks a part of the mirror, and which.
fn check_block<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    block: &MirrorBlock,
) -> Result<(), Problem> {
    if !call.caller.is_admin() {
        let message = "blocking mirrored packages requires the scope admin";
        return Err(Problem::Forbidden(message.to_owned()));
    }
    let hostname = &block.providers.hostname;
    if OwnHosts::new(&call.origin, &ctx.config.hostnames).include(hostname) {
        let message = format!(
            "{hostname} is this registry itself: revoke the versions of its packages instead (terrace release revoke)"
        );
        return Err(Problem::Invalid(vec![message]));
    }
    Ok(())
}

/// `GET /admin/v1/rules`
pub(crate) async fn list<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    listing::only(&call, &[])?;
    let mut all = rules::all(ctx).await?;
    all.retain(|(_, document)| rule_changes::may_manage(&call.caller, document));
    let rules = all.iter();
    let rules = rules.map(|(id, document)| RuleAnswer::new(*id, document));
    let list = RuleList {
        rules: rules.collect(),
    };
    Ok(json::reply(200, &list)?.into())
}

/// `DELETE /admin/v1/rules/{id}`
pub(crate) async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    id: RuleId,
) -> Handled<P::Stream> {
    if rule_changes::remove(ctx, &call.caller, id).await? {
        return Ok(json::reply(200, &RemovedRule { removed: id })?.into());
    }
    // Unlike other deletions of something missing, it is no retry of a change that might lack its audit entry.
    let problem = Problem::NotFound(format!("there is no rule {id}"));
    Ok(Outcome::new(problem.reply(), AuditDetails::None))
}
