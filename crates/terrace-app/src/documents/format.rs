//! Write permission by version: a version of Terrace that is older than the stored documents only reads.

use terrace_core::http::problem::Problem;
use terrace_core::storage::format::{FormatDocument, WriteDecision, Writer};
use terrace_core::storage::key::FactKey;

use crate::context::Context;
use crate::documents::failover;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, StoreError};
use crate::{documents, json};

/// Maximum number of times that the document is read while other isolates write it.
const TRIES: u32 = 5;

/// Checks that this version may change the stored documents. An isolate remembers this for
/// [`FORMAT_SECONDS`](terrace_core::storage::format::FORMAT_SECONDS), so that most changes need no read for it.
///
/// # Errors
/// If only newer versions may, if a newer version has just begun to write, or while the second bucket serves downloads.
pub(crate) async fn ensure_may_write<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    failover::ensure_main_serves(ctx).await?;
    let key = FactKey::Format;
    let writer = Writer::current();
    let now = ctx.host.clock().now();
    if ctx.host.cache().may_write(now) {
        return Ok(());
    }
    for _ in 0..TRIES {
        let read = documents::read_for_change::<_, FormatDocument>(ctx, &key);
        let (stored, condition) = read.await?;
        match writer.decide(stored.as_ref(), now) {
            WriteDecision::Allowed => {
                ctx.host.cache().remember_may_write(now);
                return Ok(());
            }
            WriteDecision::Store(document) => {
                store(ctx, &document, condition).await?;
            }
            WriteDecision::Wait(seconds) => return Err(not_yet(seconds).into()),
            WriteDecision::Refused(oldest) => return Err(writer.refusal(&oldest).into()),
        }
    }
    Err(StoreError::Busy(key.to_string()).into())
}

/// Returns whether this version may change the stored documents. If not, a read that would otherwise store
/// something only answers.
///
/// # Errors
/// If storage does not answer.
pub(crate) async fn may_write<P: Host>(ctx: &Context<'_, P>) -> Result<bool, Failure> {
    match ensure_may_write(ctx).await {
        Ok(()) => Ok(true),
        Err(Failure::Problem(_)) => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Raises the oldest writer to that of a copy, if the copy's is newer.
///
/// # Errors
/// If this version is older than the copy's oldest writer.
pub(crate) async fn raise<P: Host>(
    ctx: &Context<'_, P>,
    copied: &FormatDocument,
) -> Result<(), Failure> {
    let key = FactKey::Format;
    let writer = Writer::current();
    if copied.oldest_writer > writer.version {
        return Err(writer.refusal(&copied.oldest_writer).into());
    }
    for _ in 0..TRIES {
        let read = documents::read_for_change::<_, FormatDocument>(ctx, &key);
        let (Some(stored), condition) = read.await? else {
            ensure_may_write(ctx).await?;
            continue;
        };
        let Some(raised) = stored.raised_to(copied, ctx.host.clock().now()) else {
            return Ok(());
        };
        if store(ctx, &raised, condition).await? {
            return Ok(());
        }
    }
    Err(StoreError::Busy(key.to_string()).into())
}

fn not_yet(seconds: u64) -> Problem {
    let message = format!(
        "a newer version of Terrace has just begun to write to this registry: send the same request again in {seconds} seconds"
    );
    Problem::NotYet(message, seconds)
}

/// Stores the document. Returns `false` if another isolate was faster.
async fn store<P: Host>(
    ctx: &Context<'_, P>,
    document: &FormatDocument,
    condition: Condition,
) -> Result<bool, Failure> {
    let text = json::text(document)?;
    let facts = ctx.host.facts();
    match facts.put(&FactKey::Format, &text, &[], condition).await {
        Ok(written) => Ok(written.is_some()),
        // The next read returns the document of the other isolate.
        Err(StoreError::Busy(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
