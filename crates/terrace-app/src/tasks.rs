//! Tasks performed after the response has been sent.

use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::Host;
use crate::services::oci::uploads;
use crate::services::pull::{commit, puller};
use crate::services::{auth, format, rebuild, staging};

/// Performs a task. No client waits for it, so failures are only logged.
pub async fn perform<P: Host>(ctx: &Context<'_, P>, task: Task<P::Stream>) {
    let performed = match permit(ctx, &task).await {
        Ok(true) => act(ctx, task).await,
        Ok(false) => Ok(()),
        Err(failure) => Err(failure),
    };
    if let Err(failure) = performed {
        ctx.report(failure);
    }
}

/// Returns whether this version may perform a task.
async fn permit<P: Host>(ctx: &Context<'_, P>, task: &Task<P::Stream>) -> Result<bool, Failure> {
    match task {
        Task::Revocations => Ok(true),
        _ => format::may_write(ctx).await,
    }
}

async fn act<P: Host>(ctx: &Context<'_, P>, task: Task<P::Stream>) -> Result<(), Failure> {
    match task {
        Task::Rebuild(key) => rebuild::index(ctx, &key).await,
        Task::Refresh(address) => puller::refresh_list(ctx, address).await,
        Task::Store(pulled) => commit::store(ctx, *pulled).await,
        Task::Revocations => auth::read_revocations(ctx).await.map(drop),
        Task::Discard(names) => uploads::discard(ctx, names).await,
        Task::Sweep => uploads::sweep(ctx).await,
        Task::DiscardStaged(staged) => staging::discard_staged(ctx, staged).await,
    }
}
