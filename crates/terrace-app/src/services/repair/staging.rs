//! Staged uploads that were never published.

use terrace_core::limits;
use terrace_core::storage::key::{BytesKey, STAGED};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Host};
use crate::services::repair::step;
use crate::services::repair::step::{AT_LEAST, Going, Step};

/// The page size of a listing.
const PAGE: u32 = 200;

/// Removes abandoned staged uploads. Nothing ever refers to them, and a client that publishes them after all
/// is asked to upload them again.
pub(crate) async fn sweep<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut Step,
) -> Result<Going, Failure> {
    let archives = ctx.host.archives();
    let now = ctx.host.clock().now();
    loop {
        let behind = Some(step.position.behind.as_str()).filter(|behind| !behind.is_empty());
        let page = archives.list_bytes(STAGED, behind, PAGE).await?;
        step.spend(1);
        for object in page.objects {
            if step.names() >= limits::REPAIRED_NAMES || !step.affords(AT_LEAST) {
                return Ok(Going::Pausing);
            }
            step.report.looked_at += 1;
            let age = now.0.saturating_sub(object.stored_at.0);
            if age > limits::UPLOAD_ABANDONED_SECONDS
                && let Ok(key @ BytesKey::Staged(_)) = object.name.parse()
            {
                step.spend(1);
                match archives.discard(key).await {
                    Ok(()) => step.report.removed.push(key.to_string()),
                    Err(error) => step::note(ctx, step, key.to_string(), Err(error.into())),
                }
            }
            step.position.behind = object.name;
        }
        if !page.is_cut {
            return Ok(Going::On);
        }
    }
}
