//! Webhooks: the events of the audit log, delivered to receivers.
//!
//! Each webhook has a position in the audit log. A deliverer takes the webhook by compare-and-swap for a limited time, sends
//! the events after the position in order, and then stores the new position. A deliverer that is killed leaves the old
//! position, so that an event may be delivered twice, under the same ID, but is never lost.

pub(crate) mod handler;

use futures_util::future::join_all;
use terrace_base::time::UnixTime;
use terrace_core::limits;
use terrace_core::maintenance::audit::AuditEntry;
use terrace_core::maintenance::webhook_event::Event;
use terrace_core::model::webhook_id::WebhookId;
use terrace_core::storage::key::FactKey;
use terrace_core::storage::webhook::{Webhook, WebhookList, WebhookState};

use crate::context::Context;
use crate::documents::{audit, format};
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Host, Upstream as _, WebhookRequest};
use crate::outcome::Progress;
use crate::{documents, json};

/// Time after which a run of deliveries begins no further one, in seconds. After an answer, the platform ends a Worker after
/// 30.
const WEBHOOK_RUN_SECONDS: u64 = 15;

/// Maximum number of audit entries that one run looks at for a webhook.
const WEBHOOK_ENTRIES: u32 = 50;

/// Maximum number of characters of a failure's reason that are stored.
const WEBHOOK_RESULT_CHARS: usize = 200;

/// The status of a receiver that wants no more deliveries.
const GONE: u16 = 410;

/// The result of one delivery.
pub(crate) struct Attempt {
    /// Whether the receiver accepted it.
    pub(crate) is_accepted: bool,
    /// Whether the receiver wants no more deliveries.
    is_final: bool,
    /// The HTTP status, or the reason why there is none.
    pub(crate) result: String,
}

/// Returns all webhooks. Without any, it costs one read.
pub(crate) async fn all<P: Host>(ctx: &Context<'_, P>) -> Result<WebhookList, Failure> {
    let list = documents::read(ctx, &FactKey::Webhooks).await?;
    Ok(list.unwrap_or_default())
}

/// Changes the list of webhooks, and returns the result of `change`, which is called again if another request has changed the
/// list in the meantime.
pub(crate) async fn change<P: Host, T>(
    ctx: &Context<'_, P>,
    change: impl Fn(&mut WebhookList) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let key = FactKey::Webhooks;
    loop {
        let (list, unchanged) = documents::read_for_change::<_, WebhookList>(ctx, &key).await?;
        let mut list = list.unwrap_or_default();
        let result = change(&mut list)?;
        let text = json::text(&list)?;
        let written = documents::put(ctx, &key, &text, &[], unchanged);
        if written.await?.is_some() {
            return Ok(result);
        }
    }
}

/// Returns the state of a webhook.
pub(crate) async fn state<P: Host>(
    ctx: &Context<'_, P>,
    webhook: &Webhook,
) -> Result<WebhookState, Failure> {
    let (state, _) = state_for_change(ctx, webhook).await?;
    Ok(state)
}

async fn state_for_change<P: Host>(
    ctx: &Context<'_, P>,
    webhook: &Webhook,
) -> Result<(WebhookState, Condition), Failure> {
    let key = FactKey::WebhookState(webhook.id);
    let (state, unchanged) = documents::read_for_change(ctx, &key).await?;
    Ok((
        state.unwrap_or_else(|| WebhookState::of(webhook)),
        unchanged,
    ))
}

/// Changes the state of a webhook.
pub(crate) async fn change_state<P: Host>(
    ctx: &Context<'_, P>,
    webhook: &Webhook,
    change: impl Fn(&mut WebhookState),
) -> Result<(), Failure> {
    loop {
        let (mut state, unchanged) = state_for_change(ctx, webhook).await?;
        change(&mut state);
        if put_state(ctx, webhook.id, &state, unchanged).await? {
            return Ok(());
        }
    }
}

async fn put_state<P: Host>(
    ctx: &Context<'_, P>,
    id: WebhookId,
    state: &WebhookState,
    condition: Condition,
) -> Result<bool, Failure> {
    let key = FactKey::WebhookState(id);
    let text = json::text(state)?;
    let written = documents::put(ctx, &key, &text, &[], condition).await?;
    Ok(written.is_some())
}

/// Delivers the waiting events of all webhooks: makes progress if it looked at any entry, each of which takes operations. A failure of
/// one webhook is logged and does not affect the others.
pub(crate) async fn deliver<P: Host>(ctx: &Context<'_, P>) -> Result<Progress, Failure> {
    let WebhookList { webhooks } = all(ctx).await?;
    if webhooks.is_empty() || !format::may_write(ctx).await? {
        return Ok(Progress::None);
    }
    let runs = webhooks.iter().map(|webhook| deliver_to(ctx, webhook));
    let mut deliveries = Progress::None;
    for run in join_all(runs).await {
        match run {
            Ok(Progress::None) => {}
            Ok(Progress::Made) => deliveries = Progress::Made,
            Err(failure) => drop(ctx.report(failure)),
        }
    }
    Ok(deliveries)
}

/// Delivers the waiting events of a webhook, until there are none or a limit is reached.
async fn deliver_to<P: Host>(ctx: &Context<'_, P>, webhook: &Webhook) -> Result<Progress, Failure> {
    let until = ctx.host.clock().now().0 + WEBHOOK_RUN_SECONDS;
    let mut run = Run {
        until: UnixTime(until),
        entries: WEBHOOK_ENTRIES,
        deliveries: limits::WEBHOOK_DELIVERIES,
    };
    // An entry that was written after the end of the log was seen, and before the webhook was free again, is found by the
    // next turn: its own request found the webhook taken.
    while let Some((mut state, lease)) = take(ctx, webhook, &run).await? {
        let walked = run.walk(ctx, webhook, &mut state).await;
        release(ctx, webhook, state, lease).await?;
        if !walked? {
            break;
        }
    }
    Ok(match run.entries {
        WEBHOOK_ENTRIES => Progress::None,
        _ => Progress::Made,
    })
}

/// Takes a webhook with waiting entries, unless another deliverer has it or it must pause. Returns its state and the end of the
/// lease.
async fn take<P: Host>(
    ctx: &Context<'_, P>,
    webhook: &Webhook,
    run: &Run,
) -> Result<Option<(WebhookState, UnixTime)>, Failure> {
    let now = ctx.host.clock().now();
    let (mut state, unchanged) = state_for_change(ctx, webhook).await?;
    if run.is_over(now)
        || !state.is_due(now)
        || next_entry(ctx, state.delivered).await? == Next::End
    {
        return Ok(None);
    }
    // Before its first delivery, and after its removal, a webhook has no state.
    if unchanged == Condition::Absent && !exists(ctx, webhook.id).await? {
        return Ok(None);
    }
    let lease = now.plus(limits::WEBHOOK_LEASE_SECONDS);
    state.busy_until = Some(lease);
    let taken = put_state(ctx, webhook.id, &state, unchanged).await?;
    Ok(taken.then_some((state, lease)))
}

async fn exists<P: Host>(ctx: &Context<'_, P>, id: WebhookId) -> Result<bool, Failure> {
    let WebhookList { webhooks } = all(ctx).await?;
    Ok(webhooks.iter().any(|webhook| webhook.id == id))
}

/// Stores the progress of a deliverer, unless its lease has expired and another one has taken the webhook.
async fn release<P: Host>(
    ctx: &Context<'_, P>,
    webhook: &Webhook,
    state: WebhookState,
    lease: UnixTime,
) -> Result<(), Failure> {
    let (stored, unchanged) = state_for_change(ctx, webhook).await?;
    if stored.busy_until != Some(lease) {
        return Ok(());
    }
    let state = WebhookState {
        busy_until: None,
        ..state
    };
    put_state(ctx, webhook.id, &state, unchanged).await?;
    Ok(())
}

/// The limits of one run for one webhook.
struct Run {
    until: UnixTime,
    entries: u32,
    deliveries: u32,
}

impl Run {
    fn is_over(&self, now: UnixTime) -> bool {
        now >= self.until || self.entries == 0 || self.deliveries == 0
    }

    /// Delivers the events of the entries after the position, and advances it. Returns whether it reached the end of the log, and
    /// was not interrupted by a failed delivery or a limit.
    async fn walk<P: Host>(
        &mut self,
        ctx: &Context<'_, P>,
        webhook: &Webhook,
        state: &mut WebhookState,
    ) -> Result<bool, Failure> {
        loop {
            if self.is_over(ctx.host.clock().now()) {
                return Ok(false);
            }
            let entry = match next_entry(ctx, state.delivered).await? {
                Next::End => return Ok(true),
                Next::Entry(entry) => Some(entry),
                Next::Unreadable => None,
            };
            self.entries -= 1;
            // An imported log has entries that are older than the webhook.
            let entry = entry.filter(|entry| entry.at >= webhook.created);
            let repositories = &ctx.config.oci_providers;
            let event = entry.as_deref().and_then(|it| Event::of(it, repositories));
            if let Some(event) = event.filter(|event| webhook.wants(event.kind, &event.owners)) {
                self.deliveries -= 1;
                let message_id = format!("msg_{}_{}", webhook.id, state.delivered + 1);
                let event = event.limited_to(&webhook.owners());
                let attempt = send(ctx, webhook, &message_id, &event).await;
                if !note(ctx, webhook, state, attempt) {
                    return Ok(false);
                }
            }
            state.delivered += 1;
        }
    }
}

/// The entry of the audit log after a position.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// There is none.
    End,
    /// The entry.
    Entry(Box<AuditEntry>),
    /// The entry was removed from the bucket or damaged, and later ones exist or may.
    Unreadable,
}

async fn next_entry<P: Host>(ctx: &Context<'_, P>, position: u64) -> Result<Next, Failure> {
    let found = read_entry(ctx, position + 1).await?;
    if found != Next::End || audit::newest_known(ctx).await? <= position {
        return Ok(found);
    }
    // The head follows its entry. So an entry that is missing still was removed, and not written since the first look.
    match read_entry(ctx, position + 1).await? {
        Next::End => Ok(Next::Unreadable),
        found => Ok(found),
    }
}

/// Reads an entry; [`Next::End`] if it does not exist.
async fn read_entry<P: Host>(ctx: &Context<'_, P>, number: u64) -> Result<Next, Failure> {
    match documents::read::<_, AuditEntry>(ctx, &FactKey::Audit(number)).await {
        Ok(Some(entry)) => Ok(Next::Entry(Box::new(entry))),
        Ok(None) => Ok(Next::End),
        Err(Failure::Corrupt(what)) => {
            ctx.report(Failure::Corrupt(what));
            Ok(Next::Unreadable)
        }
        Err(failure) => Err(failure),
    }
}

/// Sends an event to a receiver.
pub(crate) async fn send<P: Host>(
    ctx: &Context<'_, P>,
    webhook: &Webhook,
    message_id: &str,
    event: &Event,
) -> Attempt {
    let body = event.body(webhook.format);
    let now = ctx.host.clock().now();
    let keys = ctx.config.access.webhook_keys();
    let signatures = keys.map(|keys| keys.signatures(webhook.id, message_id, now, &body));
    let delivery = WebhookRequest {
        url: webhook.url().to_string(),
        headers: vec![
            ("webhook-id", message_id.to_owned()),
            ("webhook-timestamp", now.0.to_string()),
            ("webhook-signature", signatures.unwrap_or_default()),
        ],
        body,
    };
    let upstream = ctx.host.upstream();
    let guard = webhook.guard();
    let sent = upstream.notify(&delivery, &guard, limits::WEBHOOK_SECONDS);
    match sent.await {
        Ok(status) => Attempt {
            is_accepted: (200..300).contains(&status),
            is_final: status == GONE,
            result: status.to_string(),
        },
        Err(error) => Attempt {
            is_accepted: false,
            is_final: false,
            result: error.0.chars().take(WEBHOOK_RESULT_CHARS).collect(),
        },
    }
}

/// Records the result of a delivery in the state, and returns whether it was a success. A failure is logged.
fn note<P: Host>(
    ctx: &Context<'_, P>,
    webhook: &Webhook,
    state: &mut WebhookState,
    attempt: Attempt,
) -> bool {
    if attempt.is_accepted {
        state.succeed(attempt.result);
        return true;
    }
    let (id, host) = (webhook.id, webhook.host());
    let line = format!("webhook {id} to {host}: {}", attempt.result);
    let now = ctx.host.clock().now();
    match state.fail(attempt.result, attempt.is_final, now) {
        true => ctx.host.log(&format!(
            "{line}; it is disabled: repair the receiver, then send a test (terrace webhook test {id})"
        )),
        false => ctx.host.log(&line),
    }
    false
}
