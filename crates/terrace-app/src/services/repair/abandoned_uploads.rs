//! Removes staged uploads that were never published.

use terrace_core::limits;
use terrace_core::storage::key::{BytesKey, STAGED};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Host};
use crate::services::repair::step;
use crate::services::repair::step::{MIN_OPERATIONS, RepairStep, StepFlow};

/// The page size of a listing.
const UPLOADS_PER_LISTING: u32 = 200;

/// Removes abandoned staged uploads. Nothing ever refers to them, and a client that publishes them after all
/// is asked to upload them again.
pub(crate) async fn sweep<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<StepFlow, Failure> {
    let archives = ctx.host.archives();
    let now = ctx.host.clock().now();
    loop {
        let after = Some(step.position.after.as_str()).filter(|after| !after.is_empty());
        let page = archives
            .list_bytes(STAGED, after, UPLOADS_PER_LISTING)
            .await?;
        step.spend(1);
        for object in page.objects {
            if step.reported_names() >= limits::REPAIRED_NAMES || !step.affords(MIN_OPERATIONS) {
                return Ok(StepFlow::Pause);
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
            step.position.after = object.name;
        }
        if !page.is_truncated {
            return Ok(StepFlow::Continue);
        }
    }
}
