//! Lists every stored document as it is, and restores documents from a copy.

use futures_util::future::join_all;
use terrace_core::api::admin::{FactBody, FactsAnswer, RefusedFact, RestoreAnswer, RestoreBody};
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::storage::key::{FactKey, IndexKey, NOT_EXPORTED};

use crate::backup::restore;
use crate::backup::restore::{Import, RestoreOutcome};
use crate::body::check_count;
use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Facts as _, Host};
use crate::index::index_writer;
use crate::outcome::{Call, Handled};
use crate::{json, listing};

/// Size of the documents in one list of facts after which no further ones are added, in bytes. The
/// documents that are read together may exceed it.
const FACTS_BYTES: usize = 1024 * 1024;

/// How many documents are read at once: as many connections as a Worker may have open
/// (<https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections>).
const CONCURRENT_READS: usize = 6;

/// Lists documents as they are stored. None of them contains a secret.
pub(crate) async fn list<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    listing::only(&call, &["after", "prefix"])?;
    let query = call.query();
    let prefix = query.value("prefix").unwrap_or_default();
    let after = call.after();
    let (keys, is_truncated) = fact_keys(ctx, &prefix, after.as_deref()).await?;
    let mut answer = FactsAnswer::default();
    let mut last = None;
    let mut bytes = 0;
    for some in keys.chunks(CONCURRENT_READS) {
        if bytes >= FACTS_BYTES {
            break;
        }
        let read = some.iter().map(async |text| match FactKey::parse(text) {
            Some(key) => (text, Some(ctx.host.facts().get(&key).await)),
            None => (text, None),
        });
        for (text, read) in join_all(read).await {
            last = Some(text.clone());
            let Some(read) = read else {
                answer.unknown.push(text.clone());
                continue;
            };
            match read?.map(|fact| String::from_utf8(fact.bytes)) {
                Some(Ok(document)) => {
                    bytes += document.len();
                    let key = text.clone();
                    answer.facts.push(FactBody { key, document });
                }
                Some(Err(_)) => answer.unreadable.push(text.clone()),
                // It was removed after it was listed.
                None => {}
            }
        }
    }
    answer.next = last.filter(|last| is_truncated || Some(last) != keys.last());
    Ok(json::reply(200, &answer)?.into())
}

/// Returns the keys of a page of facts, and whether there are more.
async fn fact_keys<P: Host>(
    ctx: &Context<'_, P>,
    prefix: &str,
    after: Option<&str>,
) -> Result<(Vec<String>, bool), Failure> {
    let mut after = match after.filter(|after| !after.is_empty()) {
        None => None,
        Some(after) => match after.strip_prefix(prefix) {
            Some(name) => Some(name.to_owned()),
            None => return Err(Problem::invalid_cursor(after).into()),
        },
    };
    // Keys that are not exported are listed only if the prefix asks for them.
    let skipped_prefix = |key: &str| {
        let mut prefixes = NOT_EXPORTED.iter();
        prefixes
            .find(|it| key.starts_with(**it) && !prefix.starts_with(**it))
            .copied()
    };
    let limit = limits::FACTS_AT_ONCE;
    let mut keys = Vec::new();
    'pages: loop {
        let facts = ctx.host.facts();
        let page = facts.list(prefix, after.as_deref(), limit).await?;
        for fact in page.facts {
            let key = format!("{prefix}{}", fact.name);
            if let Some(skipped) = skipped_prefix(&key) {
                // In ASCII, `0` follows the slash.
                let end = format!("{}0", skipped.trim_end_matches('/'));
                after = end.strip_prefix(prefix).map(str::to_owned);
                continue 'pages;
            }
            if u64::try_from(keys.len()).unwrap_or_default() >= limit.into() {
                return Ok((keys, true));
            }
            after = Some(fact.name);
            keys.push(key);
        }
        if !page.is_truncated {
            return Ok((keys, false));
        }
    }
}

/// `PUT /admin/v1/facts`
pub(crate) async fn restore<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let RestoreBody { facts } = json::parse(&call.body)?;
    check_count(facts.len(), limits::RESTORED_AT_ONCE)?;
    let mut import = Import::begin(ctx).await?;
    let mut answer = RestoreAnswer::default();
    for FactBody { key, document } in facts {
        match restore::document(ctx, &key, &document, &mut import).await? {
            RestoreOutcome::Created => answer.created.push(key),
            RestoreOutcome::Unchanged => answer.unchanged.push(key),
            RestoreOutcome::Conflict => answer.conflicts.push(key),
            RestoreOutcome::Refused(reason) => answer.refused.push(RefusedFact { key, reason }),
            RestoreOutcome::Erased(reason) => answer.erased.push(RefusedFact { key, reason }),
        }
    }
    // A request that listed the releases before these commits checks the marker after its write, and lists
    // again.
    for key in import.changed.into_values() {
        // Restored revocations, and rules, take effect at once.
        let index = match key {
            FactKey::RevocationChange => Some(IndexKey::Revocations),
            FactKey::RuleChange => Some(IndexKey::Rules),
            _ => None,
        };
        if let Some(index) = index {
            ctx.defer(Task::BackfillIndex(index));
        }
        index_writer::rewrite_change_marker(ctx, &key).await?;
    }
    Ok(json::reply(200, &answer)?.into())
}
