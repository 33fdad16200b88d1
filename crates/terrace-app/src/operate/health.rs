//! The health check.

use std::pin::pin;

use futures_util::future::{Either, join, select};
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::read::IndexForm;
use terrace_core::storage::key::{FactKey, IndexKey};

use crate::context::Context;
use crate::host::{Clock as _, Facts as _, Host, Indices as _, StoreError};
use crate::outcome::Handled;

/// How long the health check waits for KV or R2, in seconds. A read of either takes milliseconds, and load balancers and uptime
/// monitors wait for 5 to 30 seconds: they are to receive the answer that names the part.
const HEALTH_SECONDS: u32 = 3;

/// Reads from KV and from R2, and reports which of them fails, or takes too long; the log states why. The contents do not
/// matter, nor whether the keys exist.
pub(crate) async fn health<P: Host>(ctx: &Context<'_, P>) -> Handled<P::Stream> {
    let (index, seconds) = (IndexKey::Revocations, limits::LIST_CACHE_SECONDS);
    let kv = ctx.host.indices().get(&index, IndexForm::Text, seconds);
    let r2 = ctx.host.facts().revision(&FactKey::AuditHead);
    let (kv, r2) = join(in_time(ctx, "KV", kv), in_time(ctx, "R2", r2)).await;
    let (kv, r2) = (state_of(ctx, kv.err()), state_of(ctx, r2.err()));
    let status = if [kv, r2] == [WORKS; 2] { 200 } else { 503 };
    let text = format!("{{\"kv\":\"{kv}\",\"r2\":\"{r2}\"}}\n");
    Ok(Reply::json(status, CachePolicy::NoStore, text).into())
}

/// Returns the result of a read, or an error if it takes too long.
async fn in_time<P: Host, T>(
    ctx: &Context<'_, P>,
    part: &str,
    read: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let seconds = HEALTH_SECONDS;
    let limit = pin!(ctx.host.clock().sleep(seconds));
    match select(pin!(read), limit).await {
        Either::Left((read, _)) => read,
        Either::Right(_) => Err(StoreError::Failed {
            operation: format!("check {part}"),
            cause: format!("it has not answered for {seconds} seconds"),
        }),
    }
}

fn state_of<P: Host>(ctx: &Context<'_, P>, error: Option<StoreError>) -> &'static str {
    match error {
        None => WORKS,
        Some(error) => {
            ctx.host.log(&format!("storage: {error}"));
            FAILS
        }
    }
}

const WORKS: &str = "ok";

const FAILS: &str = "does not answer";
