//! Tasks performed after the response has been sent.

use std::collections::VecDeque;

use crate::access::auth;
use crate::archives::staging;
use crate::context::{Context, Task};
use crate::documents::{failover, format};
use crate::failure::Failure;
use crate::host::Host;
use crate::index::catalog::{merged, shards};
use crate::oci::uploads;
use crate::pull::{commit, puller};
use crate::read::index_backfill;
use crate::webhooks;

/// Performs tasks, and those that they defer. No client waits for them, so failures are only logged. The merged catalogue is
/// rebuilt last, and once for all changes, because its turn may take a while to come.
pub async fn perform<P: Host>(ctx: &Context<'_, P>, tasks: Vec<Task<P::Stream>>) {
    let mut waiting = VecDeque::from(tasks);
    let mut merges = false;
    loop {
        let task = match waiting.pop_front() {
            Some(Task::MergeCatalog) => {
                merges = true;
                continue;
            }
            Some(task) => task,
            None if std::mem::take(&mut merges) => Task::MergeCatalog,
            None => break,
        };
        let performed = match permit(ctx, &task).await {
            Ok(true) => act(ctx, task).await,
            Ok(false) => Ok(()),
            Err(failure) => Err(failure),
        };
        if let Err(failure) = performed {
            ctx.report(failure);
        }
        waiting.extend(ctx.take_tasks());
    }
}

/// Returns whether this version may perform a task.
async fn permit<P: Host>(ctx: &Context<'_, P>, task: &Task<P::Stream>) -> Result<bool, Failure> {
    match task {
        Task::ReadRevocations | Task::ReadFailover => Ok(true),
        _ => format::may_write(ctx).await,
    }
}

async fn act<P: Host>(ctx: &Context<'_, P>, task: Task<P::Stream>) -> Result<(), Failure> {
    match task {
        Task::BackfillIndex(key) => index_backfill::backfill(ctx, &key).await,
        Task::RefreshOriginList(address) => puller::refresh_list(ctx, address).await,
        Task::StorePulled(pulled) => commit::store(ctx, *pulled).await,
        Task::ReadRevocations => auth::read_revocations(ctx).await.map(drop),
        Task::ReadFailover => {
            failover::read(ctx).await;
            Ok(())
        }
        Task::DiscardUpload(names) => uploads::discard(ctx, names).await,
        Task::SweepUploads => uploads::sweep(ctx).await,
        Task::DiscardStaged(staged) => staging::discard_staged(ctx, staged).await,
        Task::RefreshCatalog(package, change) => shards::publish(ctx, &package, change).await,
        Task::MergeCatalog => merged::after_change(ctx).await,
        Task::MergeCatalogIfDue => merged::if_due(ctx).await,
        Task::DeliverWebhooks => webhooks::deliver(ctx).await.map(drop),
    }
}
