//! The turns of requests that rebuild the merged catalogue: one at a time, and no more than the writes of KV allow.
//!
//! `leases/catalog` is `{busy until} {full at}`, in seconds since 1970: when the next rebuild may begin at the latest, and when the
//! bucket of tokens, of which each rebuild takes one, is full again. A rebuild that fails, or is killed, stays busy until its time ends.

use std::fmt;

use terrace_base::time::UnixTime;
use terrace_core::storage::key::{FactKey, Lease};

use crate::context::Context;
use crate::documents;
use crate::documents::lease::BYTES_SECONDS;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, StoreError};

/// Time for which a rebuild that does not end keeps others from beginning, in seconds: as long as the platform keeps a request
/// alive after its response.
const BUSY_SECONDS: u32 = BYTES_SECONDS;

/// Number of rebuilds that may follow each other at once.
const TOKENS: u64 = 5;

/// Time until another rebuild may follow, in seconds: 480 a day. The free plan allows 1,000 KV writes a day.
const TOKEN_SECONDS: u64 = 180;

/// The turn of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    busy_until: u64,
    full_at: u64,
}

/// Takes the turn; `None` if another request has it, or there have been too many.
pub(super) async fn take<P: Host>(ctx: &Context<'_, P>) -> Result<Option<Turn>, Failure> {
    let facts = ctx.host.facts();
    let stored = facts.get(&key()).await?;
    let last = stored.as_ref().and_then(|fact| Turn::parse(&fact.bytes));
    let now = ctx.host.clock().now();
    let Some(turn) = Turn::after(last, now, ctx.host.limits_index_writes()) else {
        return Ok(None);
    };
    let condition = stored.map_or(Condition::Absent, |fact| Condition::Unchanged(fact.etag));
    match facts.put(&key(), &turn.to_string(), &[], condition).await {
        Ok(written) => Ok(written.map(|_| turn)),
        Err(StoreError::Busy(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Ends a turn, unless its time is over and another request may have the next one.
pub(super) async fn end<P: Host>(ctx: &Context<'_, P>, turn: Turn) -> Result<(), Failure> {
    let now = ctx.host.clock().now();
    if now.0 >= turn.busy_until {
        return Ok(());
    }
    let ended = Turn {
        busy_until: now.0,
        ..turn
    };
    documents::put(ctx, &key(), &ended.to_string(), &[], Condition::Any).await?;
    Ok(())
}

fn key() -> FactKey {
    FactKey::Lease(Lease::Catalog)
}

impl Turn {
    /// Returns the turn that follows the last one; `None` if none may yet.
    fn after(last: Option<Self>, now: UnixTime, is_limited: bool) -> Option<Self> {
        let last = last.unwrap_or(Self {
            busy_until: 0,
            full_at: 0,
        });
        let full_at = last
            .full_at
            .clamp(now.0, now.0.saturating_add(TOKENS * TOKEN_SECONDS));
        let is_empty = full_at - now.0 > (TOKENS - 1) * TOKEN_SECONDS;
        // A time further ahead is that of a clock that was wrong.
        let is_busy = (now.0 + 1..=now.plus(BUSY_SECONDS).0).contains(&last.busy_until);
        if is_busy || (is_limited && is_empty) {
            return None;
        }
        Some(Self {
            busy_until: now.plus(BUSY_SECONDS).0,
            full_at: full_at.saturating_add(TOKEN_SECONDS),
        })
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let (busy_until, full_at) = str::from_utf8(text).ok()?.split_once(' ')?;
        Some(Self {
            busy_until: busy_until.parse().ok()?,
            full_at: full_at.parse().ok()?,
        })
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.busy_until, self.full_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    #[test]
    fn five_turns_follow_each_other_and_one_more_each_three_minutes() {
        let mut last = None;
        let mut next = |now: UnixTime| {
            let turn = Turn::after(last, now, true)?;
            assert_eq!(Turn::after(Some(turn), now.plus(29), true), None, "busy");
            last = Some(Turn {
                busy_until: now.0,
                ..turn
            });
            Some(turn)
        };
        for _ in 0..TOKENS {
            assert!(next(NOW).is_some());
        }
        assert_eq!(next(NOW.plus(179)), None);
        assert!(next(NOW.plus(180)).is_some());
        assert_eq!(next(NOW.plus(180)), None);
        let unlimited = Turn::after(last, NOW.plus(180), false);
        assert!(unlimited.is_some());
    }
}
