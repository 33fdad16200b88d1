//! What is done once the client has its answer.

use crate::context::{Context, Task};
use crate::host::Host;
use crate::services::oci::uploads;
use crate::services::pull::{commit, puller};
use crate::services::{auth, rebuild, staging};

/// Does it. Nobody waits for it, so what goes wrong is only logged.
pub async fn perform<P: Host>(ctx: &Context<'_, P>, task: Task<P::Stream>) {
    let performed = match task {
        Task::Rebuild(key) => rebuild::index(ctx, &key).await,
        Task::Refresh(address) => puller::refresh_list(ctx, address).await,
        Task::Store(pulled) => commit::store(ctx, *pulled).await,
        Task::Revocations => auth::read_revocations(ctx).await.map(drop),
        Task::Discard(names) => uploads::discard(ctx, names).await,
        Task::Sweep => uploads::sweep(ctx).await,
        Task::DiscardStaged(incoming) => staging::discard(ctx, incoming).await,
    };
    if let Err(failure) = performed {
        ctx.report(failure);
    }
}
