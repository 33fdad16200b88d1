//! Leases on work that one request at a time does, and none for a while after a failure: fetches from an origin.
//!
//! A lease is a small document in R2. It is taken by compare-and-swap and expires by itself, so a Worker that is killed
//! blocks others only until then.

use std::fmt;

use terrace_core::storage::key::{FactKey, Lease};
use terrace_core::upstream::pull::PULL_SECONDS;

use crate::context::Context;
use crate::documents::BUSY_TRIES;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, StoreError};

/// The duration of a lease for documents, in seconds: longer than fetching all of them and the writes
/// afterwards may take.
const DOCUMENTS_SECONDS: u32 = 2 * PULL_SECONDS;

/// The duration of a lease for bytes, in seconds. It is renewed while they are being stored.
pub(crate) const BYTES_SECONDS: u32 = 30;

/// The interval at which a lease is renewed, in seconds.
pub(crate) const RENEWAL_SECONDS: u32 = 10;

/// How long the work is not tried again after a failure, in seconds.
const PAUSE_SECONDS: u32 = 30;

/// The result of an attempt to take a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseState {
    /// This request has the lease.
    Acquired,
    /// Another request has the lease, and is at work.
    HeldByOther,
    /// No request has the lease, because the work failed recently.
    Paused,
}

/// Takes a lease, unless another request has it. After a success it need not be returned: the result is stored, and no
/// request does the same work until the lease expires.
pub(crate) async fn acquire<P: Host>(
    ctx: &Context<'_, P>,
    lease: &Lease,
) -> Result<LeaseState, Failure> {
    let key = FactKey::Lease(lease.clone());
    let facts = ctx.host.facts();
    let now = ctx.host.clock().now();
    let condition = match facts.get(&key).await? {
        None => Condition::Absent,
        Some(fact) => match LeaseRecord::parse(&fact.bytes) {
            Some(LeaseRecord { until, failed }) if until > now.0 => {
                return Ok(if failed {
                    LeaseState::Paused
                } else {
                    LeaseState::HeldByOther
                });
            }
            _ => Condition::Unchanged(fact.etag),
        },
    };
    let held = LeaseRecord {
        until: now.plus(seconds_of(lease)).0,
        failed: false,
    };
    match facts.put(&key, &held.to_string(), &[], condition).await {
        Ok(Some(_)) => Ok(LeaseState::Acquired),
        Ok(None) | Err(StoreError::Busy(_)) => Ok(LeaseState::HeldByOther),
        Err(error) => Err(error.into()),
    }
}

/// Extends a lease.
pub(crate) async fn renew<P: Host>(ctx: &Context<'_, P>, lease: &Lease) {
    hold(ctx, lease, seconds_of(lease), false).await;
}

/// After a failure, blocks the lease for a while.
pub(crate) async fn pause_after_failure<P: Host, T>(
    ctx: &Context<'_, P>,
    lease: &Lease,
    result: Result<T, Failure>,
) -> Result<T, Failure> {
    if result.is_err() {
        hold(ctx, lease, PAUSE_SECONDS, true).await;
    }
    result
}

/// Writes a lease that this request has. A failure does no harm: the lease expires by itself.
async fn hold<P: Host>(ctx: &Context<'_, P>, lease: &Lease, seconds: u32, failed: bool) {
    let key = FactKey::Lease(lease.clone());
    for _ in 0..BUSY_TRIES {
        let until = ctx.host.clock().now().plus(seconds).0;
        let held = LeaseRecord { until, failed }.to_string();
        let written = ctx.host.facts().put(&key, &held, &[], Condition::Any);
        match written.await {
            Ok(_) => return,
            // It was written less than a second ago.
            Err(StoreError::Busy(_)) => ctx.host.clock().sleep(1).await,
            Err(error) => return ctx.host.log(&format!("storage: {error}")),
        }
    }
}

fn seconds_of(lease: &Lease) -> u32 {
    match lease {
        Lease::Versions(_) | Lease::Release(..) => DOCUMENTS_SECONDS,
        Lease::Package(_) | Lease::Catalog => BYTES_SECONDS,
    }
}

/// The contents of a lease: `{until}` in seconds since 1970, and ` failed` if the work failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeaseRecord {
    until: u64,
    failed: bool,
}

impl LeaseRecord {
    fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let (until, failed) = match text.strip_suffix(" failed") {
            Some(until) => (until, true),
            None => (text, false),
        };
        let until = until.parse().ok()?;
        Some(Self { until, failed })
    }
}

impl fmt::Display for LeaseRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = if self.failed { " failed" } else { "" };
        write!(f, "{}{failed}", self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Workers of before and after a deployment must honour each other's leases.
    #[test]
    fn a_lease_is_pinned() {
        for (failed, text) in [(false, "1800000000"), (true, "1800000000 failed")] {
            let until = 1_800_000_000;
            let held = LeaseRecord { until, failed };
            assert_eq!(held.to_string(), text, "this needs a migration");
            assert_eq!(LeaseRecord::parse(text.as_bytes()), Some(held));
        }
    }
}
