//! Lists the audit log.

use futures_util::future::join_all;
use terrace_core::api::admin::AuditPage;
use terrace_core::storage::key::{AUDIT, FactKey};

use crate::context::Context;
use crate::documents::audit;
use crate::documents::audit::AT;
use crate::failure::Failure;
use crate::host::{Facts as _, Host, ListedFact};
use crate::outcome::{Call, Handled};
use crate::{json, listing};

/// Maximum number of audit log entries in one response. Each is read from storage.
const AUDIT_AT_ONCE: u32 = 200;

/// Lists entries as they are stored, ascending, after the one with the number `after`.
pub(crate) async fn list<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    listing::only(&call, &["after", "since"])?;
    let after = listing::number_of("after", call.after().as_deref())?;
    let after = after.map(|number| format!("{number:012}"));
    let since = call.query().value("since");
    let since = listing::number_of("since", since.as_deref())?.unwrap_or_default();
    let facts = ctx.host.facts();
    // The newest number is read before the entries: an entry written in between would otherwise seem to be
    // missing.
    let newest = audit::newest_known(ctx).await?;
    let limit = AUDIT_AT_ONCE;
    let page = facts.list(AUDIT, after.as_deref(), limit).await?;
    let is_recent = |fact: &&ListedFact| {
        let at = fact.value(AT).and_then(|at| at.parse::<u64>().ok());
        at.is_none_or(|at| at >= since)
    };
    let numbers = page.facts.iter().filter(is_recent);
    let numbers = numbers.filter_map(|fact| fact.name.parse().ok());
    let read = numbers.map(async |number| {
        let text = facts.get(&FactKey::Audit(number)).await?;
        let text = text.map(|fact| String::from_utf8_lossy(&fact.bytes).into_owned());
        Ok::<_, Failure>(text.unwrap_or_default())
    });
    let entries = join_all(read).await.into_iter();
    let entries = entries.collect::<Result<Vec<String>, Failure>>()?;
    let last = page.facts.last().filter(|_| page.is_truncated);
    let next = last.and_then(|fact| fact.name.parse().ok());
    Ok(json::reply(
        200,
        &AuditPage {
            entries,
            next,
            newest,
        },
    )?
    .into())
}
