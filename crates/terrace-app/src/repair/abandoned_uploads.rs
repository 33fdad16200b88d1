//! Removes staged uploads that were never published, or that contain erased archives.

use terrace_core::limits;
use terrace_core::storage::key::{ArchiveKey, BytesKey, STAGED};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Host};
use crate::removal::garbage;
use crate::removal::garbage::GcFence;
use crate::repair::comparison::counted;
use crate::repair::step;
use crate::repair::step::REPAIRED_NAMES;
use crate::repair::step::{MIN_OPERATIONS, RepairStep, StepFlow};

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
        let mut fence = None;
        if !page.objects.is_empty() {
            fence = Some(counted(ctx, step, garbage::fence(ctx)).await?);
        }
        for object in page.objects {
            if step.reported_names() >= REPAIRED_NAMES || !step.affords(MIN_OPERATIONS) {
                return Ok(StepFlow::Pause);
            }
            step.report.looked_at += 1;
            let age = now.0.saturating_sub(object.stored_at.0);
            if let Ok(key @ BytesKey::Staged(staged)) = object.name.parse()
                && (age > limits::UPLOAD_ABANDONED_SECONDS
                    || is_erased(ctx, step, staged.archive, fence.as_ref()).await?)
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

/// Returns whether an archive was erased. Only one with a mark costs an operation.
async fn is_erased<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
    archive: ArchiveKey,
    fence: Option<&GcFence>,
) -> Result<bool, Failure> {
    match fence.is_some_and(|fence| fence.has_mark(archive.into())) {
        true => counted(ctx, step, garbage::is_erased(ctx, archive.into())).await,
        false => Ok(false),
    }
}
