//! Jobs: the work of the scheduled event, of which the platform limits the CPU time and the operations of all together.

use terrace_core::limits;
use terrace_core::storage::failover::ServingBucket;

use crate::context::Context;
use crate::copies::{failover_changes, walk as copy};
use crate::documents::format;
use crate::failure::Failure;
use crate::host::{Clock as _, Host};
use crate::index::catalog::merged;
use crate::outcome::Progress;
use crate::repair::periodic as repair;
use crate::webhooks;

/// A job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Job {
    /// Waiting events are delivered to webhooks.
    Deliver,
    /// The periodic repair takes a step, which continues where the last one ended.
    Repair,
    /// A page of the two buckets is compared, and the second one completed.
    Copy,
}

impl Job {
    /// The jobs, in the order in which they are tried in a minute that is reserved for none of them.
    const ALL: [Self; 3] = [Self::Deliver, Self::Repair, Self::Copy];

    /// Returns the minute, of each [`limits::REPAIR_TURN_MINUTES`], in which the job is tried first, so that neither a failing
    /// receiver nor a long queue of deliveries stops it.
    fn minute(self) -> Option<u64> {
        match self {
            Self::Deliver => None,
            Self::Repair => Some(4),
            Self::Copy => Some(1),
        }
    }

    async fn run<P: Host>(
        self,
        ctx: &Context<'_, P>,
        is_its_turn: bool,
    ) -> Result<Progress, Failure> {
        match self {
            Self::Deliver => webhooks::deliver(ctx).await,
            Self::Repair => Ok(repair::run(ctx).await),
            Self::Copy => copy::run(ctx, is_its_turn).await,
        }
    }
}

/// Rebuilds the merged catalogue if that is due, and runs the first job that has something to do, beginning with the one that is
/// tried first in this minute. With a second bucket, the last change of the serving bucket is completed before.
pub async fn run_job<P: Host>(ctx: &Context<'_, P>) {
    // Nothing is changed while the second bucket serves downloads, and R2 may not answer.
    if ctx.config.fallback.is_some()
        && failover_changes::watch(ctx).await == ServingBucket::Fallback
    {
        return;
    }
    if let Err(failure) = merge_catalog(ctx).await {
        drop(ctx.report(failure));
    }
    let minute = ctx.host.clock().now().0 / 60 % limits::REPAIR_TURN_MINUTES;
    let is_its_turn = |job: &Job| job.minute() == Some(minute);
    let first = Job::ALL.into_iter().find(is_its_turn);
    let others = Job::ALL.into_iter().filter(|job| !is_its_turn(job));
    for job in first.into_iter().chain(others) {
        match job.run(ctx, is_its_turn(&job)).await {
            Ok(Progress::Made) => return,
            Ok(Progress::None) => {}
            Err(failure) => drop(ctx.report(failure)),
        }
    }
}

/// Rebuilds the catalogue that a change could not, because it was not its turn.
async fn merge_catalog<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    match format::may_write(ctx).await? {
        true => merged::if_due(ctx).await,
        false => Ok(()),
    }
}
