//! Blocks of all mirrored packages of a namespace or host: a rule that the registry stores.

use serde_json::json;
use terrace_core::api::admin::RuleBody;
use terrace_core::auth::oidc::RuleKind;
use terrace_core::model::mirrored_part::MirroredPart;
use terrace_core::model::status::Reason;

use super::list::{BlockedPart, blocked_parts, stored_packages};
use super::propagation::{rewrite_versions, settle};
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::registry::client::Client;

/// Blocks all packages of a part of the mirror. The rule is added first: from then on nothing is fetched. Then the indices
/// of the stored packages are written.
pub(super) fn block(
    client: &Client<'_>,
    part: &MirroredPart,
    reason: &Reason,
    output: &Output,
) -> Result<(), Failure> {
    let before = of_part(client, part, output)?;
    let rule = json!({ "providers": part.to_string(), "reason": reason.to_string() });
    let kind = RuleKind::Block;
    let added = client.add_rule(&RuleBody { kind, rule })?;
    // A block of the same part for another reason is replaced.
    for older in before.iter().filter(|it| it.id != added.id) {
        client.remove_rule(older.id)?;
    }
    let stored = rewrite(client, part, output)?;
    let text = format!(
        "all packages of {part} are blocked, {} of them stored (everywhere within a minute): {reason}",
        stored.len()
    );
    let report = json!({ "status": "ok", "rule": added, "stored": stored });
    output.result(&[text], &report);
    Ok(())
}

/// Lifts the block of a part of the mirror. Blocks of a single package, and of the whole host, stay.
pub(super) fn unblock(
    client: &Client<'_>,
    part: &MirroredPart,
    output: &Output,
) -> Result<(), Failure> {
    let before = of_part(client, part, output)?;
    if let Some(latest) = before.iter().map(|it| it.created).max() {
        settle(latest, output);
    }
    for block in &before {
        client.remove_rule(block.id)?;
    }
    // Even without a block, an earlier attempt may have been interrupted.
    let stored = rewrite(client, part, output)?;
    let mut text = match before.is_empty() {
        false => format!("{part} is no longer blocked (everywhere within a minute)"),
        true => format!("{part} was not blocked"),
    };
    let left = blocked_parts(client, output)?;
    text.push_str(&still_blocked(&left, |it| {
        let is_public = it.hostname.is_public() && part.hostname.is_public();
        it != part
            && (is_public || it.hostname == part.hostname)
            && (it.namespace.is_none() || it.namespace == part.namespace)
    }));
    let ids: Vec<_> = before.iter().map(|it| it.id).collect();
    let report = json!({ "status": "ok", "removed": ids, "stored": stored });
    output.result(&[text], &report);
    Ok(())
}

/// Returns a note about the first block of a part that applies, for the end of a sentence.
pub(super) fn still_blocked(
    parts: &[BlockedPart],
    applies: impl Fn(&MirroredPart) -> bool,
) -> String {
    let found = parts.iter().find(|it| applies(&it.block.providers));
    found.map_or_else(String::new, |it| {
        let part = &it.block.providers;
        format!(
            ", but {part} is blocked with all its packages: {}",
            it.block.reason
        )
    })
}

/// Returns the blocks of exactly this part.
fn of_part(
    client: &Client<'_>,
    part: &MirroredPart,
    output: &Output,
) -> Result<Vec<BlockedPart>, Failure> {
    let mut blocks = blocked_parts(client, output)?;
    blocks.retain(|it| it.block.providers == *part);
    Ok(blocks)
}

/// Writes the indices of all stored packages of a part, and returns their addresses.
fn rewrite(
    client: &Client<'_>,
    part: &MirroredPart,
    output: &Output,
) -> Result<Vec<String>, Failure> {
    let addresses = Vec::from_iter(stored_packages(client, part, output)?);
    if !addresses.is_empty() {
        let count = plural(addresses.len(), "stored package");
        output.progress(&format!("{part} has {count}"));
    }
    for address in &addresses {
        rewrite_versions(client, address, output)?;
    }
    Ok(addresses)
}
